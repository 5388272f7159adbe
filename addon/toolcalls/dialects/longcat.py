"""`longcat`: Hermes' form with a tag of its own."""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="Meituan's LongCat-Flash",
    source="the model's chat template",
    example="""\
<longcat_tool_call>{"name": "read_file", "arguments": {"path": "src/a.ts"}}</longcat_tool_call>""",
)

DIALECT = MarkedJson("longcat", opening=("<longcat_tool_call>",), closing=("</longcat_tool_call>",))
