"""`minimax_m1`: JSON objects in `<tool_calls>` tags, one a line."""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="MiniMax-M1",
    source="the function call guide of https://huggingface.co/MiniMaxAI/MiniMax-M1-80k",
    example="""\
<tool_calls>
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
</tool_calls>""",
)

DIALECT = MarkedJson(
    "minimax_m1", opening=("<tool_calls>",), closing=("</tool_calls>",), brackets=("{",), line="\n", between="\n"
)
