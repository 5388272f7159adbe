"""`inkling`: messages of special tokens, whose kind of content says what they are.

Beside a call stand `<|content_thinking|>` and `<|content_text|>` messages: their frame is removed, and the first are
reasoning. The name in front of a call may stand without its token, since the prompt ends with it; the name in the JSON
counts.
"""

from dataclasses import dataclass

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.completejson import MAX_NAME
from toolcalls.shapes.jsontags import JsonTags
from toolcalls.text.scanner import Scanner, Step, beginnings
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    since="0.1.0",
    written_by="Inkling",
    source="vLLM's `inkling` parser",
    example="""\
<|message_model|>read_file<|content_invoke_tool_json|>{"name": "read_file", "args": {"path": "src/a.ts"}}\
<|end_message|>""",
)

_MESSAGE = "<|message_model|>"
_CALL = "<|content_invoke_tool_json|>"
_TEXT = "<|content_text|>"
_THINKING = "<|content_thinking|>"
_END = "<|end_message|>"
_FRAME = (_MESSAGE, _TEXT, _THINKING, _END)


@dataclass(frozen=True)
class _Inkling(JsonTags):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The tokens, and each tool's name with the token of a call behind it."""
        return (*_FRAME, _CALL, *(name + _CALL for name in names))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """A call, or one token of the frame around text; a whole thought."""
        frame = yield from scan.among(_FRAME)
        size = len(frame or "")
        header = yield from self._header(scan, size)
        if header is not None and frame in (None, _MESSAGE):
            scan.take(size + header)
            return (yield from super().read(scan, sink, tools))
        if frame is None or not sink.may_remove_frame():
            return False
        scan.take(size)
        sink.mark_frame()
        if frame == _THINKING:
            yield from self._thought(scan, sink)
        return True

    def _header(self, scan: Scanner, ahead: int) -> Step[int | None]:
        """How long the name is that stands `ahead` characters from here, before a call's token; None for no call."""
        size = 0
        while size <= MAX_NAME:
            at = ahead + size
            if at < scan.rest():
                if scan.text[scan.pos + at] == "<":
                    return size if (yield from scan.starts(_CALL, at)) else None
                size += 1
            elif scan.ended:
                return None
            else:
                yield
        return None

    def _thought(self, scan: Scanner, sink: CallSink) -> Step[None]:
        """Reasoning up to the message's end, reported as it comes."""
        prefixes, longest = beginnings((_END,))
        while (at := scan.text.find(_END, scan.pos)) < 0:
            tail = next((size for size in range(min(longest, scan.rest()), 0, -1) if scan.text[-size:] in prefixes), 0)
            scan.take(scan.rest() - (0 if scan.ended else tail))
            sink.mark_reasoning()
            if scan.ended:
                return
            yield
        scan.take(at - scan.pos)
        sink.mark_reasoning()
        scan.take(len(_END))
        sink.mark_frame()


DIALECT = _Inkling("inkling", opening=(_CALL,), closing=(_END,), arguments="args", line="", place="anywhere")
