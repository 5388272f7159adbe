"""`fenced_json`: JSON calls in a code fence, and nothing else in the message.

The fence says `json`, that it holds calls (`tool_use`), or nothing. The JSON is an object or an array, read as
`bare_json` reads it. A fence with anything else in it is a code block.
"""

from toolcalls.shapes import About, Sign
from toolcalls.shapes.json.unmarked_json import UnmarkedJson

ABOUT = About(
    form="JSON in the open",
    sign=Sign(strength="form", empty=True),
    written_by="Qwen2.5-Coder and other models without a template for calls",
    source="omlx #2565, hermes-agent PR#83023",
    example="""\
```json
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
```""",
)

# The first is written.
_INFO = ("json", "JSON", "", "tool_use", "function_call", "tool_call", "tool_calls", "tool_code")
DIALECT = UnmarkedJson("fenced_json", fences=tuple((f"```{info}", "```") for info in _INFO))
