"""`bracket_tool_call`: a call in square brackets, as gateways flatten a conversation's history.

Also read: `[Tool Use: N({…})]`, `[Calling tool: N with arguments: {…}]`, and `[tool: N]` or `[Tool Call: N (ID: I)]`
with the object after it, maybe with a label before it or in a fence.
"""

import re
from dataclasses import dataclass

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_words import CALL_WORDS, NameInWords
from toolcalls.text.scanner import Scanner, Step

ABOUT = About(
    form="agents and gateways",
    written_by="models that have seen their past calls in this form",
    source="github-copilot-api-vscode #79, meridian #94, openclaw #90288",
    example="""\
[Tool call: read_file({"path": "src/a.ts"})]""",
)

_LABELS = ("Arguments", "arguments", "Args", "args", "Input", "input", "Parameters", "parameters")

_GAPS = ("\n", " ", "")
_ID = re.compile(r"[ \t]{0,4}\((?:(?:ID|Id|id|call_id)[ \t]?[:=][ \t]?|(?<=[ \t]\())(?!null\))[\w.:-]{1,128}\)")
_ID_ARRIVES = re.compile(r"[ \t]{0,4}(?:\([\w.:= \t-]{0,144})?")


@dataclass(frozen=True)
class _Bracketed(NameInWords):
    def identifier(self, scan: Scanner) -> Step[int]:
        """In parentheses, with a word before it or a blank before them: else they hold arguments."""
        while True:
            found = _ID.match(scan.text, scan.pos)
            if found is not None:
                return len(found.group())
            if scan.ended or _ID_ARRIVES.fullmatch(scan.text, scan.pos) is None:
                return 0
            yield


DIALECT = _Bracketed(
    "bracket_tool_call",
    opening=tuple(f"[{words}:" for words in CALL_WORDS),
    behind=(
        ("(", (")", "]")),
        *((f"]{gap}{label}:", ()) for gap in _GAPS for label in _LABELS),
        *((f"]{gap}{fence}", ("```",)) for gap in _GAPS for fence in ("```json", "```")),
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
