"""`named_tags`: a tag for calls that names the tool in an attribute, around the arguments as JSON.

Parameters may stand there in elements of their own, as in `invoke`. It goes before `hermes`, which knows attributes,
too: an object of arguments may have a `name`.
"""

from toolcalls.shapes import About, Call, Unwritable
from toolcalls.shapes.attributed import Attributed
from toolcalls.shapes.entities import escape_attribute
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    since="0.1.0",
    written_by="models under many agents' own prompts, and models that mix Hermes' tag with Claude's attribute",
    source="no model's template; those prompts, and public reports",
    example="""\
<tool_call name="read_file">{"path": "src/a.ts"}</tool_call>""",
)


class _Named(Attributed):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The tags up to the attribute that distinguishes them from other forms."""
        return tuple(f"<{element} name=" for element in (self.call, *self.misspelt))

    def write_call(self, call: Call, tools: Toolbox) -> str:
        """One call's element, with JSON in it."""
        if not call.name or call.name != call.name.strip() or tools.resolve(call.name) != call.name:
            raise Unwritable(f"the name {call.name!r} would be read as {tools.resolve(call.name)!r}")
        members(call.arguments)
        return f'<{self.call} name="{escape_attribute(call.name)}">{call.arguments}</{self.call}>'


DIALECT = _Named("named_tags", wrappers=(), call="tool_call", misspelt=("function_call", "tool_use"))
