"""`json_tags`: JSON calls in a tag that no template has, as models mix what they have seen.

Claude's and Olmo's tag with Hermes' object in it, or tags with other names (`<function_invocation>`, which the report
calls drift; `<tool_use>`, after the Messages API). The object, or an array of them, is a call by its keys.
"""

from dataclasses import dataclass
from typing import override

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="models that mix the forms they have seen",
    source="no model's template; ollama #16383",
    example="""\
<function_calls>
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
</function_calls>""",
)

_NAMES = (
    "function_calls",
    "function_invocation",
    "tool_use",
    "tool-use",
    "tool_request",
    "tool_invocation",
    "execute_tool",
    "tool_code",
    "TOOL_CALL",
    "ToolCall",
    "FUNCTION_CALL",
)

# Tags that other text has as well: they count only right in front of an object that begins with a key.
_PLAIN = ("function", "call", "action", "invoke", "request", "calls", "toolcalls")
_GAPS = ("", " ", "\n", "\n  ", "\n    ")


@dataclass(frozen=True)
class _InTags(MarkedJson):
    @override
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        plain = tuple(f"<{name}>" for name in _PLAIN)
        marked = tuple(opener for opener in super().openers(names) if opener not in plain)
        inside = [f'{bracket}{gap}"' for bracket in ("{", "[{") for gap in _GAPS]
        return (*marked, *(f"{tag}{gap}{start}" for tag in plain for gap in _GAPS for start in inside))


DIALECT = _InTags(
    "json_tags",
    opening=tuple(f"<{name}>" for name in (*_NAMES, *_PLAIN)),
    closing=tuple(f"</{name}>" for name in (*_NAMES, *_PLAIN)),
    line="\n",
)
