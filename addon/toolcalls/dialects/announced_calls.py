"""`announced_calls`: words that say that a tool is called, its name, and its arguments, as a whole message.

`Calling tool: N({…})`, `Tool call: N with arguments: {…}`. In brackets it is `bracket_tool_call`. Such a line is prose
where anything else is in its message.
"""

from dataclasses import dataclass
from typing import override

from toolcalls.shapes import About, CallSink, Sign
from toolcalls.shapes.headers.name_in_words import CALL_WORDS, NameInWords
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="agents and gateways",
    sign=Sign(strength="rest", alone=True),
    written_by="models that have seen their past calls in this form",
    source="Rapid-MLX PR#162",
    example="""\
Calling tool: read_file({"path": "src/a.ts"})""",
)

_LABELS = ("with arguments", "with args", "with input", "with parameters", "with", "Arguments", "arguments", "Input")
_VERBS = ("Calling function", "Calling the tool", "Function call", "Calling", "Invoking tool", "Running tool")


@dataclass(frozen=True)
class _Announced(NameInWords):
    @override
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """The calls that are here, one after the other."""
        while (yield from super().read(scan, sink, tools)):
            space = yield from scan.space()
            if (yield from scan.among(self.opening, space)) is None:
                return True
            scan.take(space)
        return False


DIALECT = _Announced(
    "announced_calls",
    opening=tuple(f"{words}:" for words in ("Calling tool", *CALL_WORDS, *_VERBS)),
    behind=(("(", (")",)), *((f"{label}{colon}", ()) for label in _LABELS for colon in (":", "")), ("", ())),
    layout="Calling tool: {name}({json})",
    place="message",
)
