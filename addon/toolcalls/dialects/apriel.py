"""`apriel`: a JSON array in `<tool_calls>` tags, after a line that ends the reasoning.

Apriel 1.5 closes with `[END FINAL RESPONSE]`. The line is removed where a call follows it directly; in front of text it
stays, since nothing says where the reasoning above it began.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="arrays behind a mark",
    written_by="ServiceNow's Apriel 1.5 and 1.6",
    source="the model cards at https://huggingface.co/ServiceNow-AI",
    example="""\
[BEGIN FINAL RESPONSE]
<tool_calls>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]</tool_calls>""",
)

DIALECT = MarkedJson(
    "apriel",
    opening=("<tool_calls>",),
    closing=("</tool_calls>",),
    around=("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"),
    brackets=("[",),
)
