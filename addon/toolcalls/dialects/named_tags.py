"""`named_tags`: a tag for calls that names the tool in an attribute, around the arguments as JSON.

Parameters may be there in elements of their own, as in `invoke`, or in the tag as attributes. It goes before
`hermes`, which knows attributes, too: an object of arguments may have a `name`. `<tool name="N">` is also how tools are
declared: it is no call where a tag has an attribute that only a declaration has, nor where it holds nothing and lacks
what the tool requires.
"""

from toolcalls.shapes import About, Call, CallSink
from toolcalls.shapes.json.json_arguments import written_arguments
from toolcalls.shapes.tags.entities import escape_attribute
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.opening_tag import Tag, declared_attributes, other_attributes
from toolcalls.shapes.tags.value_end import CALL_END
from toolcalls.shapes.writable import check_resolved
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    written_by="models under many agents' own prompts, and models that mix Hermes' tag with Claude's attribute",
    source="no model's template; those prompts, and public reports",
    example="""\
<tool_call name="read_file">{"path": "src/a.ts"}</tool_call>""",
)


# Attributes that a call's tag may begin with.
_FIRST = ("name", "tool", "function", "tool_name", "function_name", "id", "call_id", "tool_call_id", "type", "index")


class _Named(TagForm):
    def write_call(self, call: Call, tools: Toolbox) -> str:
        """One call's element, with JSON in it."""
        check_resolved(call.name, tools)
        arguments = written_arguments(call)
        return f'<{self.call} name="{escape_attribute(call.name)}">{arguments}</{self.call}>'


class _Tool(_Named):
    """`<tool name="N">`."""

    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox, tag: Tag) -> Step[bool]:
        """One call. What declares a tool is declined."""
        given = declared_attributes(tag, tools)
        space = yield from scan.space(tag.length)
        hollow = tag.empty or (yield from self.ends.at(scan, space))[0] == CALL_END
        lacks = not given or not given.keys() >= set(tools.required(tools.resolve(tag.name)))
        if other_attributes(tag, tools) or (hollow and lacks):
            scan.take(tag.length)
            return False
        return (yield from super().one(scan, sink, tools, tag._replace(repairs=("misspelt_tag",))))

    def parameter_at(self, scan: Scanner, ahead: int) -> Step[str]:
        """The name in the parameter's tag that is here, "" for none, and for a declaration."""
        tag = yield from self.parameter_here(scan, ahead)
        return tag.name if tag and len(tag.attributes) == 1 else ""


_TOOL = _Tool("named_tags", wrappers=(), call="tool")


class _Either(_Named):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*super().openers(names), "<tool name=")

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        if (yield from scan.starts("<tool name=")):
            return (yield from _TOOL.read(scan, sink, tools))
        return (yield from super().read(scan, sink, tools))


DIALECT = _Either("named_tags", wrappers=(), call="tool_call", misspelt=("function_call", "tool_use"), opened_by=_FIRST)
