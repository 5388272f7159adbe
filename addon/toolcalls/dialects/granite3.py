"""`granite3`: a JSON array behind a special token, with nothing to close it.

    <|tool_call|>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]

Written by IBM's Granite 3.0 to 3.3; some of them write `<tool_call>` instead, which is also what Hermes begins with, so
only an array is read behind it. A closing tag goes with the calls. Source: vLLM's `granite` parser.
"""

from toolcalls.shapes.jsonlist import JsonList

DIALECT = JsonList(
    "granite3",
    opening=("<|tool_call|>", "<tool_call>"),
    closing=("</tool_call>", "<|/tool_call|>"),
    closed=False,
    place="anywhere",
)
