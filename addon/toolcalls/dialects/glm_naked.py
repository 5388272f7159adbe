"""`glm_naked`: a call of `glm_xml` whose opening tag was lost.

    read_file<arg_key>path</arg_key><arg_value>src/a.ts</arg_value></tool_call>

Leaked where a server takes the special token away and leaves the rest (dynamo PR#10144). Only the name of a declared
tool, at the start of a line, begins one. Nobody writes it on purpose.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.shapes import Call, Calls
from toolcalls.shapes.keyvalue import KeyValue
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox


@dataclass(frozen=True)
class _Naked(KeyValue):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Each declared name with a key behind it, also on the next line, as GLM 4.5 writes it."""
        return tuple(f"{name}{gap}<{self.key}>" for name in names for gap in ("", "\n", "\r\n"))

    def speaks(self, text: str) -> bool:  # noqa: ARG002
        """No prompt teaches it."""
        return False

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """One call without its opener."""
        opener = yield from scan.among(self.openers(tools.names))
        if opener is None:
            return False
        name = opener.removesuffix(f"<{self.key}>").rstrip()
        start = yield from scan.space(len(name))
        if (yield from self._head(scan, start)) is None:
            return False
        scan.take(start)
        calls.begin(name)
        return (yield from self.body(scan, calls, tools, name))

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """As `glm_xml` does, without the opening tags; a call without arguments cannot be told from its name."""
        return "\n".join(super(_Naked, self).write([call], tools).removeprefix(f"<{self.call}>") for call in calls)


DIALECT = _Naked("glm_naked", place="start")
