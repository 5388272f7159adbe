"""`bracket_tool_call`: a call in square brackets, as gateways flatten a conversation's history.

Also read: `[Tool Use: N({…})]`, `[tool: N]` with the object behind it, maybe with a label before it, and
`[Calling tool: N with arguments: {…}]`.
"""

from toolcalls.shapes import About
from toolcalls.shapes.namedjson import NamedJson

ABOUT = About(
    form="agents and gateways",
    since="0.1.0",
    written_by="models that have seen their past calls in this form",
    source="github-copilot-api-vscode #79, meridian #94, openclaw #90288",
    example="""\
[Tool call: read_file({"path": "src/a.ts"})]""",
)

_WORDS = ("Tool call", "Tool Call", "tool call", "tool_call", "Tool Use", "Tool use", "tool use", "tool_use", "Tool")
_CALLING = ("Calling tool", "calling tool", "Called tool", "Call tool", "TOOL CALL")
_USED = ("Used tool", "Using tool", "used tool", "Assistant used tool", "Assistant called tool", "assistant tool call")
_LABELS = ("Arguments", "arguments", "Args", "args", "Input", "input", "Parameters", "parameters")

DIALECT = NamedJson(
    "bracket_tool_call",
    opening=tuple(f"[{words}:" for words in (*_WORDS, *_CALLING, *_USED, "tool")),
    behind=(
        ("(", (")", "]")),
        *((f"]{gap}{label}:", ()) for gap in ("\n", " ", "") for label in _LABELS),
        ("]", ()),
        ("with arguments:", ("]",)),
        ("with arguments", ("]",)),
        ("with args:", ("]",)),
        ("arguments:", ("]",)),
        ("with", ("]",)),
        ("", ("]",)),
    ),
    layout="[Tool call: {name}({json})]",
)
