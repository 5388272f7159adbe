"""`harmony`: the messages of OpenAI's gpt-oss, whose header names a channel and a recipient.

A header is on one line. The recipient comes before the channel or after it, with `functions.` or bare; the
channel may be repeated after it, and the type of the content may be missing, with its mark or without. A message to a
function is a call and ends where its JSON ends; `<|call|>` may be missing. The analysis channel is reasoning, and the
assistant's other messages without a recipient are text. The builtin tools (`python`, `browser`, `container`) and
messages of other roles are left as they are. Where a server removed the special tokens, it is `harmony_stripped`'s.
"""

import re

from toolcalls.shapes import About, Call, CallSink, Grammar
from toolcalls.shapes.channels import take_up_to
from toolcalls.shapes.headers.recipients import NOISE, PARALLEL, PREFIX, declared, parallel_calls
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import checked, own_arguments
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="channels",
    written_by="OpenAI's gpt-oss",
    source="https://cookbook.openai.com/articles/openai-harmony; Rapid-MLX #480 (leaks)",
    example="""\
<|channel|>analysis<|message|>I must look.<|end|><|start|>assistant\
<|channel|>commentary to=functions.read_file json<|message|>{"path": "src/a.ts"}<|call|>""",
)

RESULT = "<|start|>functions.{name} to=assistant<|channel|>commentary<|message|>{text}<|end|>"

# A header is looked at whole before anything of it counts, so it is bounded.
_MAX_HEADER = 320
_STOP = re.compile(r"<\|message\|>|[{\n]")
_HEAD = (
    r"(?:<\|end\|>)?\s*(?:<\|start\|>\s*(?P<role>[^\s<]*)|(?P<glued>(?!to=)[^\s<]+)(?=<))?"
    r"\s*(?:to=(?P<first>[^\s<]+))?"
    r"\s*(?P<channelled><\|channel\|>\s*(?P<channel>[a-z]*)\s*(?:to=(?P<second>[^\s<]+)(?:\s*<\|channel\|>\s*[a-z]*)?)?)?"
    r"\s*(?:<\|constrain\|>)?\s*"
)
_HEADER = re.compile(rf"{_HEAD}[\w./+-]*\s*{NOISE}")
_NOISY = re.compile(rf"{_HEAD}[^<{{]*")  # between a recipient and the body's mark there may be any words
_MESSAGE = "<|message|>"
_CLOSERS = ("<|call|>", "<|end|>", "<|return|>")
_BEGIN = ("<|start|>", "<|channel|>")
_MARKS = (*_CLOSERS, *_BEGIN)
# Tokens that leak in front of a call's JSON.
_LEAKED = ("<|constrain|>json", "<|constrain|>", _MESSAGE, "json")
_BUILTIN = frozenset({"assistant", "python", "browser", "container"})


class _Harmony(Grammar):
    name = "harmony"
    place = "anywhere"
    between = ""

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What a header begins with: its marks, or a recipient, since the prompt ends with `<|start|>assistant`."""
        # One character short of the channel's mark, which is an opener itself and would be found first.
        glued = (f"{before}{name}<|channel|" for name in names for before in ("", PREFIX, "to="))
        return "<|start|>", "<|channel|>", "<|end|><|start|>", f"to={PREFIX}", *glued

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Read one message with its header and its end: a call, reasoning or text."""
        header = yield from self._header(scan)
        if header is None:
            return False
        framed = yield from scan.starts(_MESSAGE, len(header))
        found = _HEADER.fullmatch(header) or (_NOISY.fullmatch(header) if framed and "to=" in header else None)
        if found is None:
            return False
        whole = framed or found["channelled"] is not None
        recipient = found["first"] or found["second"]
        glued = found["glued"]
        if glued is not None and recipient is None:
            if found["channel"] == "commentary" and (yield from self._object_follows(scan, found.end())):
                recipient = glued
            else:  # the end of some text, after which a message begins
                scan.take(len(glued))
                sink.mark_text()
                return (yield from self.read(scan, sink, tools))
        name = self._called(recipient, tools) if recipient is not None else ""
        if found["role"] not in {None, "", "assistant"} or (recipient is not None and not name):
            return self._not_ours(scan, sink, found.end() + len(_MESSAGE) if framed else 0)
        if name:
            if not whole:
                return False
            scan.take(found.end())
            return (yield from self._call(scan, sink, tools, name, framed=framed))
        if not framed or not sink.may_remove_frame():
            return False
        scan.take(found.end() + len(_MESSAGE))
        sink.mark_frame()
        mark_body = sink.mark_reasoning if found["channel"] == "analysis" else sink.mark_text
        mark = yield from take_up_to(scan, _MARKS, mark_body)
        if mark in _CLOSERS:
            scan.take(len(mark))
        return True

    def _header(self, scan: Scanner) -> Step[str | None]:
        """What comes before the message's body, not consumed; None where no body follows."""
        found = yield from scan.search(_STOP, 0, _MAX_HEADER, len(_MESSAGE))
        if found is None:
            return None
        end = found.start() - scan.pos
        if found.group() == "\n":  # it is part of it only behind a recipient, and right in front of the body
            if "to=" not in scan.text[scan.pos : found.start()]:
                return None
            end = yield from scan.space(end)
            if end > _MAX_HEADER or (yield from scan.among((_MESSAGE, "{"), end)) is None:
                return None
        return scan.text[scan.pos : scan.pos + end]

    def _not_ours(self, scan: Scanner, sink: CallSink, size: int) -> bool:
        """A message that is left as text: its header is shown whole, so that no part of it is read."""
        if not size or not sink.may_remove_frame():
            return False
        scan.take(size)
        sink.mark_text()
        return True

    def _object_follows(self, scan: Scanner, ahead: int) -> Step[bool]:
        if (yield from scan.starts(_MESSAGE, ahead)):
            ahead += len(_MESSAGE)
        return (yield from scan.starts("{", (yield from scan.space(ahead))))

    def _called(self, recipient: str, tools: Toolbox) -> str:
        """The function that a recipient means; "" for the builtin tools and the assistant."""
        if recipient in tools.names and recipient not in _BUILTIN:
            return recipient
        meant = declared(recipient, tools)
        if meant == PARALLEL or (meant is not None and recipient.startswith(PREFIX)):
            return meant
        if recipient.startswith(PREFIX):
            return recipient.removeprefix(PREFIX)
        return "" if recipient.partition(".")[0] in _BUILTIN else recipient

    def _call(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str, *, framed: bool) -> Step[bool]:
        """The body of a message to a function."""
        while True:
            space = yield from scan.space()
            leaked = yield from scan.among(_LEAKED, space)
            if leaked is None:
                break
            scan.take(space + len(leaked))
        scan.take(space)
        empty = (yield from scan.among(_CLOSERS)) is not None
        if not empty and (yield from scan.among(("{", '"'))) is None:
            return False
        if name == PARALLEL and PARALLEL not in tools:
            return (
                not empty and (yield from parallel_calls(scan, sink, tools)) and (yield from self._closed(scan, sink))
            )
        sink.begin(name)
        if not framed:
            sink.note_repair("missing_mark")
        if empty:
            sink.piece("{}")
        elif not (yield from own_arguments(scan, sink, _MARKS, _BEGIN)):
            return False
        return (yield from self._closed(scan, sink))

    def _closed(self, scan: Scanner, sink: CallSink) -> Step[bool]:
        """What comes after a call's JSON. Returns whether all that is consumed is the call's."""
        yield from take_surplus(scan, sink, _MARKS)
        closed = wrong = False
        while not closed:
            space = yield from scan.space()
            closer = yield from scan.among(_CLOSERS, space)
            if closer is None:
                break
            scan.take(space + len(closer))
            closed = closer == "<|call|>"
            wrong = wrong or not closed
        if not closed:
            if scan.stops_short(_CLOSERS):
                scan.take(scan.rest())
                if scan.cut and not wrong:
                    return False
            sink.note_repair("missing_closer")
        sink.end()
        return True

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        call = checked(call)
        return f"<|start|>assistant to={PREFIX}{call.name}<|channel|>commentary json{_MESSAGE}{call.arguments}<|call|>"


DIALECT = _Harmony()
