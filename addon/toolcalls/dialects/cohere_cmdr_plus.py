"""`cohere_cmdr_plus`: Cohere's Command R and R+, a word and a fenced JSON array.

The tool `directly-answer` means that there is no call. The fence is the dialect's own.
"""

from collections.abc import Sequence

from toolcalls.shapes import About, Call, CallSink, OpenerPlace, Sign
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_closer, take_surplus
from toolcalls.shapes.json.json_arguments import checked
from toolcalls.shapes.words import skip_past
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="arrays behind a mark",
    sign=Sign(strength="form"),
    written_by="Cohere's Command R and R+",
    source="the tool use prompt of https://huggingface.co/CohereLabs/c4ai-command-r-plus",
    example="""\
Action:
```json
[
    {"tool_name": "read_file", "parameters": {"path": "src/a.ts"}}
]
```""",
)

_OPENER = "Action:"
_FENCE = "```"
_NO_CALLS = frozenset({"directly-answer", "directly_answer"})
_RULES = CallRules(arguments="", follow=(_FENCE,), ends=(_FENCE,), no_calls=_NO_CALLS)


class _Action:
    name = "cohere_cmdr_plus"
    place: OpenerPlace = "start"
    stray_words: tuple[str, ...] = ()

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        return (_OPENER,)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Read one array in its fence, after `Action:`."""
        if not (yield from scan.starts(_OPENER)):
            return False
        start = yield from scan.space(len(_OPENER))
        if not (yield from scan.starts(_FENCE, start)):
            return False
        start += len(_FENCE)
        start += len((yield from scan.among(("json",), start)) or "")
        start = yield from scan.space(start)
        if not (yield from scan.starts("[", start)):
            return False
        scan.take(start)
        found = CallReader(scan, sink, tools, _RULES)
        if not (yield from found.array()):
            if found.open and (scan.rest() or not scan.ended):
                sink.fail()
                yield from skip_past(scan, (_FENCE,))
            return False
        yield from take_surplus(scan, sink, (_FENCE,))
        if not (yield from take_closer(scan, sink, (_FENCE,), found.end)):
            return False
        if not found.begun:
            sink.mark_text()  # an answer and no call: no other dialect may read its JSON as one
        return True

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """All calls as one array in a fence; "" for no calls."""
        items = [
            f'    {{"tool_name": {quote(call.name)}, "parameters": {call.arguments}}}' for call in map(checked, calls)
        ]
        return f"{_OPENER}\n{_FENCE}json\n[\n{',\n'.join(items)}\n]\n{_FENCE}" if items else ""


TAUGHT = r"'Action:' followed by"

DIALECT = _Action()
