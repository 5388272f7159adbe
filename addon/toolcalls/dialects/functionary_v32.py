"""`functionary_v32`: a recipient on its line after `>>>`, and raw JSON for a tool or text for `all`.

The prompt ends with the first `>>>`, so a reply begins without it. A recipient after `>>>` counts where JSON or text
for it follows; a Python prompt (`>>> f()`) does not.
"""

import re
from collections.abc import Sequence

from toolcalls.shapes import About, Call, CallSink, OpenerPlace
from toolcalls.shapes.channels import take_up_to
from toolcalls.shapes.json.jsonvalue import OBJECT_STARTS, checked, json_call
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="header and JSON",
    since="0.1.0",
    written_by="MeetKai's functionary v3.2",
    source="https://github.com/MeetKai/functionary",
    example="""\
all
Let me look.
>>>read_file
{"path": "src/a.ts"}""",
)

_MARK = ">>>"
_ALL = "all"
_MAX_NAME = 256
_NAME = re.compile(r"[^\s{}<>\"]*")


class _Functionary:
    name = "functionary_v32"
    place: OpenerPlace = "message"
    stray_words: tuple[str, ...] = ()

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The mark, or a recipient that a reply may begin with."""
        return (_MARK, *(f"{name}\n" for name in (_ALL, *names))) if names else (_MARK,)

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """All messages that follow each other."""
        some = False
        while (header := (yield from self._header(scan, tools, needs_mark=some))) is not None:
            name, size = header
            if name != _ALL:
                scan.take(size)
                if not (yield from json_call(scan, sink, name, (_MARK,))):
                    return False
            elif not sink.may_remove_frame():
                return some
            else:
                if scan.take(size).startswith(_MARK):
                    sink.mark_frame()
                else:  # the prompt wrote the mark, or the reply just begins with that word
                    sink.mark_text()
                yield from self._text(scan, sink, tools)
            some = True
        return some

    def _header(self, scan: Scanner, tools: Toolbox, *, needs_mark: bool) -> Step[tuple[str, int] | None]:
        """The recipient of a message and the length up to its body; None where no message begins.

        After a recipient that is a tool JSON must stand.
        """
        start = yield from scan.space()
        if (yield from scan.starts(_MARK, start)):
            start += len(_MARK)
        elif needs_mark:
            return None
        while True:
            found = _NAME.match(scan.text, scan.pos + start, scan.pos + start + _MAX_NAME)
            size = len(found[0]) if found else 0
            if scan.rest() > start + size or scan.ended or size >= _MAX_NAME:
                break
            yield
        name = found[0] if found else ""
        end = start + size
        end += yield from scan.starts("\r", end)
        if not name or not (yield from scan.starts("\n", end)):
            return None
        end += 1
        if name == _ALL and _ALL not in tools.names:
            return name, end
        end = yield from scan.space(end)
        return None if (yield from scan.among(OBJECT_STARTS, end)) is None else (name, end)

    def _text(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[None]:
        """Text up to the next message."""
        while (yield from take_up_to(scan, (_MARK,), sink.mark_text)) is not None:
            if (yield from self._header(scan, tools, needs_mark=True)) is not None:
                return
            scan.take(len(_MARK))
            sink.mark_text()

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """A message a call; "" for no calls."""
        return "\n".join(f"{_MARK}{call.name}\n{call.arguments}" for call in map(checked, calls))


TAUGHT = r"^>>>all$"

DIALECT = _Functionary()
