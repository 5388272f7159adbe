"""`inkling`: messages of special tokens, whose kind of content says what they are.

Beside a call stand `<|content_thinking|>` and `<|content_text|>` messages: their frame is removed, and the first are
reasoning. The name in front of a call may stand without its token, since the prompt ends with it; the name in the JSON
counts. A message of another kind, or of another role, is left as it is, with its frame.
"""

import re
from dataclasses import dataclass

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.channels import take_up_to
from toolcalls.shapes.json.json_values import MAX_NAME
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
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
_ROLES = ("<|message_user|>", "<|message_tool|>", "<|message_system|>", "<|message_developer|>")
_CONTENT = "<|content_"
_KIND = re.compile(r"<\|content_[a-z0-9_]{1,40}\|>")
_KIND_PART = re.compile(r"<\|content_[a-z0-9_]{0,40}\|?")


@dataclass(frozen=True)
class _Inkling(MarkedJson):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The tokens, and each tool's name with the token of a call after it."""
        return (*_FRAME, *_ROLES, _CONTENT, _CALL, *(name + _CALL for name in names))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """A call, or one token of the frame around text; a whole thought; a whole message of another kind."""
        frame = yield from scan.among((*_FRAME, *_ROLES))
        size = len(frame or "")
        if frame in (None, _MESSAGE):
            kind, ahead = yield from self._kind(scan, size)
            if kind == _CALL:
                scan.take(ahead)
                return (yield from super().read(scan, sink, tools))
            if kind and kind not in _FRAME:
                frame, size = kind, ahead + len(kind)
        if frame is None or not sink.may_remove_frame():
            return False
        scan.take(size)
        if frame not in _FRAME:
            yield from self._foreign(scan, sink)
            return True
        sink.mark_frame()
        if frame == _THINKING:
            yield from take_up_to(scan, (_END,), sink.mark_reasoning)
            scan.take(min(len(_END), scan.rest()))
            sink.mark_frame()
        return True

    def _kind(self, scan: Scanner, ahead: int) -> Step[tuple[str, int]]:
        """The token that says what a message holds, and where it comes after a name; "" where none does."""
        size = 0
        while size <= MAX_NAME:
            at = ahead + size
            if at < scan.rest() and scan.text[scan.pos + at] != "<":
                size += 1
                continue
            found = _KIND.match(scan.text, scan.pos + at)
            if found is not None:
                return found.group(), at
            rest = scan.text[scan.pos + at :]
            if scan.ended or not (_CONTENT.startswith(rest) or _KIND_PART.fullmatch(rest)):
                break
            yield
        return "", 0

    def _foreign(self, scan: Scanner, sink: CallSink) -> Step[None]:
        """The rest of a message that is none of ours, with its end."""
        sink.mark_text()
        mark = yield from take_up_to(scan, (_END, _MESSAGE, *_ROLES), sink.mark_text)
        if mark == _END:
            scan.take(len(_END))
            sink.mark_text()


DIALECT = _Inkling("inkling", opening=(_CALL,), closing=(_END,), arguments="args", place="anywhere")
