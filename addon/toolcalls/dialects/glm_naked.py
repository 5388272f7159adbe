"""`glm_naked`: a call of `glm_xml` whose opening tag was lost.

Only the name of a declared tool, at the start of a line, begins one. It is read and never written.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.shapes import About, Call, CallSink, Sign
from toolcalls.shapes.tags.pair_form import PairForm
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="keys and values",
    sign=Sign(strength="form"),
    written_by="servers that remove the special token of `glm_xml` and leave the rest",
    source="dynamo PR#10144",
    example="""\
read_file<arg_key>path</arg_key><arg_value>src/a.ts</arg_value></tool_call>""",
)


@dataclass(frozen=True)
class _Naked(PairForm):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Each declared name with a key after it, also on the next line, as GLM 4.5 writes it."""
        return tuple(f"{name}{gap}<{self.key}>" for name in names for gap in ("", "\n", "\r\n"))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One call without its opener."""
        opener = yield from scan.among(self.openers(tools.names))
        if opener is None:
            return False
        name = opener.removesuffix(f"<{self.key}>").rstrip()
        start = yield from scan.space(len(name))
        if not (yield from self.body_follows(scan, start, self.pairs(tools, name))):
            return False
        scan.take(start)
        sink.begin(name)
        return (yield from self.body(scan, sink, tools, name))

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """As `glm_xml` does, without the opening tags; a call without arguments would be only its name."""
        return "\n".join(super(_Naked, self).write([call], tools).removeprefix(f"<{self.call}>") for call in calls)


DIALECT = _Naked("glm_naked", place="start")
