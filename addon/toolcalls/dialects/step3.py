"""`step3`: StepFun's Step 3, `invoke` tags with a namespace between special tokens.

The tokens have underscores, where DeepSeek's have `▁`; servers replace their bars by ASCII. Any of them may be missing,
and text after the last is text. Values are taken verbatim.
"""

from collections.abc import Sequence
from functools import cached_property

from toolcalls.shapes import About, Call, CallSink
from toolcalls.shapes.spaced_closers import accept, section_end
from toolcalls.shapes.tags.content import Verbatim
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.words import barred
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    written_by="StepFun's Step 3",
    source="the model's chat template, and vLLM's and SGLang's `step3` parsers (vllm #55082)",
    example="""\
<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read_file">\
<steptml:parameter name="path">src/a.ts</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>""",
)


_BEGIN, _END = barred("tool_calls_begin"), barred("tool_calls_end")
_LEAD = (barred("tool_call_begin"), ("function",), barred("tool_sep"))
_CALL_END = barred("tool_call_end")
_WORD = tuple(f"function{token}" for token in _LEAD[2])


class _Step3(TagForm):
    """The calls' elements, each between tokens of its own."""

    @cached_property
    def ends(self) -> Tags:
        """What ends a call: its closer, or the token that ends a call or the block."""
        return Tags(call_end=[self.closing(self.call)], wrapper_end=[(_CALL_END,), (_END,)])

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The tokens of a block and a call, and an element that lost all of them."""
        return *_BEGIN, *_LEAD[0], *_LEAD[2], *_WORD, "<steptml:invoke"

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Read a block and its calls, or calls without a block."""
        wrapped = yield from scan.among(_BEGIN)
        scan.take(len(wrapped or ""))
        begun = own = False
        while True:
            lead = yield from self._lead(scan)
            tag = yield from self.first(scan, lead)
            if tag is None:
                break
            begun = True
            scan.take(lead)
            if not (yield from self.one(scan, sink, tools, tag)):
                return False
            own = yield from accept(scan, *_CALL_END)
        ended = begun and (yield from section_end(scan, sink, _END) if wrapped else accept(scan, *_END))
        return ended or own

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether another call begins here, with or without the tokens before it."""
        lead = yield from self._lead(scan, ahead)
        return (yield from self.first(scan, lead)) is not None

    def _lead(self, scan: Scanner, ahead: int = 0) -> Step[int]:
        """The place after the tokens before a call, of which any may be missing, and the white space around them."""
        end = yield from scan.space(ahead)
        for part in _LEAD:
            found = yield from scan.among(part, end)
            if found is not None:
                end = yield from scan.space(end + len(found))
        return end

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """All calls between the tokens; "" for no calls."""
        lead = "".join(spellings[0] for spellings in _LEAD)
        blocks = "".join(f"{lead}{self.write_call(call, tools)}{_CALL_END[0]}" for call in calls)
        return f"{_BEGIN[0]}{blocks}{_END[0]}" if blocks else ""


DIALECT = _Step3("step3", wrappers=(), prefix=("steptml:",), content=Verbatim(), line="", place="anywhere")
