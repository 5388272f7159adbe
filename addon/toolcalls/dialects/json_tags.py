"""`json_tags`: JSON calls in a tag that no template has, as models mix what they have seen.

    <function_calls>
    {"name": "read_file", "arguments": {"path": "src/a.ts"}}
    </function_calls>

Claude's and Olmo's tag with Hermes' object in it, or tags with other names (`<function_invocation>`: ollama #16383,
which calls it drift; `<tool_use>`, after the Messages API). The object, or an array of them, is a call by its keys.
"""

from toolcalls.shapes.jsontags import JsonTags

_NAMES = ("function_calls", "function_invocation", "tool_use", "tool_request", "tool_invocation")

DIALECT = JsonTags(
    "json_tags",
    opening=tuple(f"<{name}>" for name in _NAMES),
    closing=tuple(f"</{name}>" for name in _NAMES),
)
