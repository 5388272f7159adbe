"""`module_calls`: a call as code in the open, with the module in which the prompt declares tools before its name.

`default_api.N(k="v")`, `print(default_api.N(…))`, `functions.N({"k": "v"})`, `functions.N{…}`, and
`multi_tool_use.parallel({"tool_uses": […]})`. It could be in prose about code, so it counts at the start of a line
only, with a declared name, and with nothing but further calls after it on that line. Without the module it is
`bare_calls`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.shapes import About, Call, CallSink, Sign
from toolcalls.shapes.code.codecalls import CodeCalls
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="Python",
    sign=Sign(strength="rest", alone=True, empty=True),
    written_by="Gemini, gpt-oss and Kimi, where a server takes the marks around their calls away",
    source="public reports",
    example="""\
default_api.read_file(path="src/a.ts")""",
)

_MODULES = ("default_api.", "functions.")


@dataclass(frozen=True)
class _Module(CodeCalls):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Each declared name after a module, up to its bracket."""
        heads = [f"{lead}{module}{name}" for lead in ("", "print(") for module in _MODULES for name in names]
        return (*(f"{head}{bracket}" for head in heads for bracket in "({"), "multi_tool_use.parallel(")

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """The calls that are here, one a line."""
        if (yield from scan.starts("multi_tool_use.parallel(")):
            return (yield from self.parallel(scan, sink, tools, len("multi_tool_use.parallel(")))
        return (yield from super().read(scan, sink, tools))

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """One call a line, in Gemini's module."""
        return "\n".join(f"{_MODULES[0]}{super(_Module, self).write([call], tools)}" for call in calls)


DIALECT = _Module("module_calls", place="start")
