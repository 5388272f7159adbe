"""`mistral`: a token, the tool's name and raw JSON; before tokenizer v11 a JSON array after the token.

Small 3.2 writes `[CALL_ID]` and an id after the name. Some fine-tunes close the array with `[/TOOL_CALLS]`. Models
leave out `[ARGS]`, the array's brackets, write the token twice, or the name in front of it. Both forms are read, the
first is written; the second is:

    [TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "src/a.ts"}}]
"""

import re
from dataclasses import dataclass

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.headers.name_in_header import Header
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import own_arguments
from toolcalls.shapes.words import skip_past
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="header and JSON",
    written_by=(
        "Mistral Small 3, Magistral, Ministral 3, Devstral and Mistral Large 3; with arrays Mistral 7B, Nemo and "
        "their fine-tunes"
    ),
    source="https://github.com/mistralai/mistral-common; vllm #13622, PR#41730, dynamo PR#10725 (leaks)",
    example="""\
[TOOL_CALLS]read_file[ARGS]{"path": "src/a.ts"}""",
)

_MARK = "[TOOL_CALLS]"
_CLOSER = "[/TOOL_CALLS]"
_ARGS = "[ARGS]"
_MOST_MARKS = 2  # in a row
# As an opener the token ends with its first word: that is one itself (`marker`), and would be found first. And with the
# array's bracket too: where xLAM reads the same array, these openers are as long as its own and come first.
_WORD = "[TOOL_CALL"
_OPENERS = (_WORD, _MARK, *(f"{_MARK}{gap}[" for gap in ("", " ", "\n", "\r\n")))

# What is between two tokens where the second one is in the place of `[ARGS]`.
_NAME = re.compile(r"\s*[^\s\[\]{}\"]+\s*")

RESULT = "[TOOL_RESULTS]{text}[/TOOL_RESULTS]"


@dataclass(frozen=True)
class _Mistral(Header):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The token, and each tool's name with the token after it."""
        return (*_OPENERS, *_before_mark(names))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One array, or calls that follow each other."""
        glued = yield from scan.among(_before_mark(tools.names))
        if glued is not None:
            name = glued.removesuffix(_WORD)
            if (yield from self._owns(scan, len(name), "name" in tools.keys(name))):
                scan.take(len(name) + len(_MARK))
                scan.take((yield from scan.space()))
                sink.begin(name)
                sink.note_repair("misplaced_name")
                whole = yield from own_arguments(scan, sink, self._marks, self._begin)
                if whole:
                    sink.end()
                return whole
            scan.take(len(name))  # the end of some text
            sink.mark_text()
        space = 0
        for _ in range(_MOST_MARKS):
            if (yield from scan.starts(_MARK, space)):
                space = yield from scan.space(space + len(_MARK))
        if not space or (yield from scan.among(("[", "{"), space)) is None:
            return (yield from super().read(scan, sink, tools))
        scan.take(space)
        return (yield from self._listed(scan, sink, tools))

    def heading(self, scan: Scanner, ahead: int) -> Step[str | None]:
        """Also one that the reply ends with: nothing closes a call, so one without arguments has nothing after it."""
        found = yield from super().heading(scan, ahead)
        if found and _NAME.fullmatch(found) and (yield from self._owns(scan, ahead + len(found))):
            space = yield from scan.space(ahead + len(found) + len(_MARK))
            return scan.text[scan.pos + ahead : scan.pos + space]
        if found is None and scan.ended and not scan.cut:
            rest = scan.text[scan.pos + ahead :]
            return rest if rest.rstrip().endswith(_ARGS) else None
        return found

    def _owns(self, scan: Scanner, ahead: int, has_name: bool = False) -> Step[bool]:
        """Whether arguments for a tool that is named in front of the token come after it, and no call.

        ahead      where the token stands
        has_name   the tool has a parameter of that name
        """
        if not (yield from scan.starts(_MARK, ahead)):
            return False
        space = yield from scan.space(ahead + len(_MARK))
        if not (yield from scan.starts("{", space)):
            return False
        space = yield from scan.space(space + 1)
        return has_name or not (yield from scan.starts('"name"', space))

    def _listed(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """An array of calls, or objects one after the other."""
        rules = CallRules(follow=(_CLOSER, _MARK), ends=self._marks, closed=False)
        block = CallReader(scan, sink, tools, rules)
        if not (yield from block.body()):
            if block.open and (scan.rest() or not scan.ended):
                sink.fail()
                yield from skip_past(scan, self._marks, before=self._begin)
            return False
        block.end()
        yield from take_surplus(scan, sink, (_CLOSER, _MARK))
        space = yield from scan.space()
        if block.begun and (yield from scan.starts(_CLOSER, space)):
            scan.take(space + len(_CLOSER))
        return block.begun


def _before_mark(names: tuple[str, ...]) -> tuple[str, ...]:
    """Each name with the beginning of the token after it."""
    return tuple(name + _WORD for name in names)


DIALECT = _Mistral(
    "mistral",
    opening=(_MARK,),
    header=re.compile(r"\s*(?P<name>[^\s\[\]{}\"]+)(?:\s*\[CALL_ID\]\s*[\w-]*)?(?:\s*\[(?:ARGS|TOOL_CALLS)\]\s*|\s*)"),
    end=(),
    closers=(_CLOSER,),
    template="[TOOL_CALLS]{name}[ARGS]{arguments}",
)
