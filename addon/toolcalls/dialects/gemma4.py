"""`gemma4`: Gemma 4's own notation in special tokens, with its channel of thoughts.

Strings are between `<|"|>` with nothing escaped; numbers, `true`, `false` and `null` are bare; keys are sorted. A
thought becomes reasoning; its first token may be missing at the start of a reply, where its last one closes it all the
same.
"""

from dataclasses import dataclass

from toolcalls.shapes import About, CallSink, Sign
from toolcalls.shapes.code.delimited_object import DelimitedObject
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="notations",
    sign=Sign(rests=("call:",), alone=True),
    written_by="Google's Gemma 4",
    source="chat_template.jinja of https://huggingface.co/google/gemma-4-31B-it",
    example="""\
<|channel>thought
The file first.<channel|><|tool_call>call:read_file{path:<|"|>src/a.ts<|"|>}<tool_call|>""",
)

_CHANNEL, _CLOSED = "<|channel>", "<channel|>"
RESULT = '<|tool_response>response:{name}{value:<|"|>{text}<|"|>}<tool_response|>'


@dataclass(frozen=True)
class _Gemma4(DelimitedObject):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The call's marker, and those of a channel."""
        return (*super().openers(names), _CHANNEL, _CLOSED)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One call, or one channel."""
        mark = yield from scan.among((_CHANNEL, _CLOSED))
        if mark is None:
            return (yield from super().read(scan, sink, tools))
        if not sink.may_remove_frame():
            return False
        scan.take(len(mark))
        sink.mark_frame()
        if mark == _CHANNEL:
            yield from _channel(scan, sink)
        return True


def _channel(scan: Scanner, sink: CallSink) -> Step[None]:
    """The content of a channel, after the line that names it."""
    name = yield from scan.among(("thought\r\n", "thought\n"))
    if name is not None:
        scan.take(len(name))
        sink.mark_frame()
    sink.mark_reasoning()  # before any of it is here, so that it never matters how much comes at once
    while not (yield from scan.starts(_CLOSED)):
        at = scan.text.find("<", scan.pos + 1)
        scan.take((len(scan.text) if at < 0 else at) - scan.pos)
        sink.mark_reasoning()
        if not scan.rest():
            if scan.ended:
                return
            yield
    scan.take(len(_CLOSED))
    sink.mark_frame()


DIALECT = _Gemma4("gemma4", opening=("<|tool_call>",), closing=("<tool_call|>",), delimiter='<|"|>')
