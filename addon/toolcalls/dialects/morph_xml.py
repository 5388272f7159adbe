"""`morph_xml`: elements named after the tool, with `<N/>` for a call without arguments.

Only declared tools are called. An array is its name repeated or `<item>`s in an element; an array of objects without
`<item>` is no call. Everything but the self-closing tag and the array's items is as in `tagged`, which is asked first.
"""

from toolcalls.shapes import About, Call, CallSink, Grammar, Sign
from toolcalls.shapes.tags.element_values import NAME
from toolcalls.shapes.tags.self_closing import empty_element, empty_openers
from toolcalls.shapes.tags.tool_elements import ToolElements
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="elements",
    sign=Sign(strength="form"),
    written_by="models under the prompts of ai-sdk-tool-call-middleware and senpi",
    source="ai-sdk-tool-call-middleware #67",
    example="""\
<search>
<query>lift</query>
<tags><item>a</item><item>b</item></tags>
</search>""",
    call=Call("search", '{"query": "lift", "tags": ["a", "b"]}'),
)


_FORM = ToolElements("morph_xml", any_items=False, json=False)


class _Morph(Grammar):
    """The tag-named form, and the tag that is a whole call."""

    name = "morph_xml"
    between = "\n\n"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*_FORM.openers(names), *empty_openers(names))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        if (yield from scan.among(_FORM.openers(tools.names))) is not None:
            return (yield from _FORM.read(scan, sink, tools))
        return (yield from empty_element(scan, sink, tools))

    def write_call(self, call: Call, tools: Toolbox) -> str:
        empty = NAME.fullmatch(call.name) is not None and not members(call.arguments)
        return f"<{call.name}/>" if empty else _FORM.write([call], tools)


DIALECT = _Morph()
