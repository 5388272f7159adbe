"""`granite3`: a JSON array after a special token, with nothing to close it.

Some of them write `<tool_call>` instead, which is also what Hermes begins with, so only an array is read after it. A
closing tag is removed with the calls.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="arrays behind a mark",
    written_by="IBM's Granite 3.0 to 3.3",
    source="vLLM's `granite` parser",
    example="""\
<|tool_call|>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]""",
)

DIALECT = MarkedJson(
    "granite3",
    opening=("<|tool_call|>", "<tool_call>"),
    closing=("</tool_call>", "<|/tool_call|>"),
    closed=False,
    place="anywhere",
    brackets=("[",),
)
