"""`functionary_v32`: a recipient on its line after `>>>`, and raw JSON for a tool or text for `all`.

The prompt ends with the first `>>>`, so a reply begins without it. A recipient after `>>>` counts where JSON or text
for it follows; a Python prompt (`>>> f()`) does not.
"""

import re

from toolcalls.shapes import About, Call, CallSink, Grammar, Sign
from toolcalls.shapes.channels import take_up_to
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS, checked, json_call
from toolcalls.shapes.words import word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="header and JSON",
    sign=Sign(strength="form", empty=True),
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
_NAME = re.compile(r"[^\n\r{}<>\"]*")


class _Functionary(Grammar):
    name = "functionary_v32"
    place = "message"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The mark, or a recipient that a reply may begin with."""
        return (_MARK, *(f"{name}\n" for name in (_ALL, *names))) if names else (_MARK,)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Read messages in a row, calls and text; each after the first needs the mark."""
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
        name = yield from word(scan, _NAME, start)
        end = start + len(name)
        end += yield from scan.starts("\r", end)
        if not name or not (yield from scan.starts("\n", end)):
            return None
        name, end = name.strip(), end + 1
        if not name or (" " in name and not tools.means_tool(name)):
            return None
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

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        call = checked(call)
        return f"{_MARK}{call.name}\n{call.arguments}"


TAUGHT = r"^>>>all$"

DIALECT = _Functionary()
