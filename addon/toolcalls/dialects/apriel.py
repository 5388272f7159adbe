"""`apriel`: a JSON array in `<tool_calls>` tags, behind a line that ends the reasoning.

    [BEGIN FINAL RESPONSE]
    <tool_calls>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]</tool_calls>

Written by ServiceNow's Apriel 1.5 and 1.6; 1.5 closes with `[END FINAL RESPONSE]`. The line goes where a call stands
right behind it; in front of text it stays, since nothing says where the reasoning above it began. Source: the model
cards at https://huggingface.co/ServiceNow-AI.
"""

from toolcalls.shapes.jsonlist import JsonList

DIALECT = JsonList(
    "apriel",
    opening=("<tool_calls>",),
    closing=("</tool_calls>",),
    around=("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"),
)
