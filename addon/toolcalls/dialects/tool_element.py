"""`tool_element`: an element named after the tool, with the arguments as one JSON object.

In `<toolcall>` tags it is `picoclaw`. It counts only for a declared tool, and where the object's first key is one of
its parameters: any other text in such an element is a value (`zeroclaw`, `tagged`).
"""

from toolcalls.shapes import About, CallSink, Sign
from toolcalls.shapes.headers.name_in_tag import NameInTag
from toolcalls.shapes.json.json_arguments import object_of
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="elements",
    sign=Sign(strength="form", empty=True),
    written_by="models under small agents' own prompts, and models that mix Cline's tags with JSON",
    source="no model's template; those prompts, and public reports",
    example="""\
<read_file>{"path": "src/a.ts"}</read_file>""",
)


class _Element(NameInTag):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Each declared tool's tag."""
        return tuple(f"<{name}>" for name in names)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        opener = yield from scan.among(self.openers(tools.names))
        if opener is None:
            return False
        brace = yield from scan.space(len(opener))
        if not (yield from object_of(scan, tools.keys(opener[1:-1]), brace)):
            return False
        return (yield from super().read(scan, sink, tools))


DIALECT = _Element("tool_element", start="<", closing="</{name}>")
