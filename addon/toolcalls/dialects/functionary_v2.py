"""`functionary_v2`: messages with a recipient between special tokens, raw JSON for a tool or text for `all`.

The prompt ends with `<|recipient|>`, so a reply begins with the recipient. Each message ends with `<|stop|>` or where
the next one begins.
"""

from toolcalls.shapes import About, Call, CallSink, Grammar
from toolcalls.shapes.channels import take_up_to
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS, json_call, written_arguments
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.words import NAME, check_name, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="header and JSON",
    written_by="MeetKai's functionary v2.2 and v2.4",
    source="https://github.com/MeetKai/functionary (tests/prompt_test_v2.txt)",
    example="""\
<|from|>assistant
<|recipient|>read_file
<|content|>{"path": "src/a.ts"}""",
)

_FROM, _RECIPIENT, _CONTENT, _STOP = "<|from|>assistant", "<|recipient|>", "<|content|>", "<|stop|>"
_ALL = "all"


class _Functionary(Grammar):
    name = "functionary_v2"
    place = "anywhere"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The tokens, or a recipient that a reply may begin with."""
        return _FROM, _RECIPIENT, *(f"{name}\n{_CONTENT}" for name in (_ALL, *names))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Read messages in a row, calls and text; each after the first needs a token before it."""
        some = False
        while (header := (yield from self._header(scan, tools, marked=some))) is not None:
            name, size = header
            if name != _ALL or _ALL in tools.names:
                scan.take(size)
                if not (yield from json_call(scan, sink, name, (_FROM, _RECIPIENT, _STOP))):
                    return False
                yield from accept(scan, _STOP)
            elif not sink.may_remove_frame():
                return some
            else:
                scan.take(size)
                sink.mark_frame()
                if (yield from take_up_to(scan, (_FROM, _RECIPIENT, _STOP), sink.mark_text)) == _STOP:
                    scan.take(len(_STOP))
                    sink.mark_frame()
            some = True
        return some

    def _header(self, scan: Scanner, tools: Toolbox, *, marked: bool) -> Step[tuple[str, int] | None]:
        """The recipient of a message and the length up to its body; None where no message begins.

        After a recipient that is a tool JSON must stand. `marked`: a token must come before it.
        """
        start = yield from scan.space()
        for token in (_FROM, _RECIPIENT):
            if (yield from scan.starts(token, start)):
                start = yield from scan.space(start + len(token))
                marked = False
        name = yield from word(scan, NAME, start)
        end = yield from scan.space(start + len(name))
        if marked or not name or not (yield from scan.starts(_CONTENT, end)):
            return None
        end += len(_CONTENT)
        if name == _ALL and _ALL not in tools.names:
            return name, end
        end = yield from scan.space(end)
        return None if (yield from scan.among(OBJECT_STARTS, end)) is None else (name, end)

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        check_name(call.name, "between tokens")
        arguments = written_arguments(call)
        return f"{_FROM}\n{_RECIPIENT}{call.name}\n{_CONTENT}{arguments}"


DIALECT = _Functionary()
