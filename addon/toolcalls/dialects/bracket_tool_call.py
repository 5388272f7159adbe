"""`bracket_tool_call`: a call in square brackets, as gateways flatten a conversation's history.

    [Tool call: read_file({"path": "src/a.ts"})]

Written by models that have seen their past calls so (github-copilot-api-vscode #79, meridian #94, openclaw #90288),
also as `[Tool Use: N({…})]` and as `[tool: N]` with the object behind it.
"""

from toolcalls.shapes.namedjson import NamedJson

_WORDS = ("Tool call", "Tool Call", "tool call", "tool_call", "Tool Use", "Tool use", "tool use", "tool_use", "Tool")

DIALECT = NamedJson(
    "bracket_tool_call",
    opening=tuple(f"[{words}:" for words in (*_WORDS, "tool")),
    behind=(("(", (")", "]")), ("]", ())),
    layout="[Tool call: {name}({json})]",
)
