"""`sarashina`: SoftBank's Sarashina, a list of calls as Python prints it after a special token.

Without the token, which servers take away, it is `json_array`.
"""

from dataclasses import dataclass
from typing import override

from toolcalls.shapes import About, Call
from toolcalls.shapes.code.pythonic import python_text
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="arrays behind a mark",
    written_by="SoftBank's Sarashina",
    source="SMG's `sarashina` parser",
    example="""\
<|tool_calls|>[{'name': 'read_file', 'arguments': {'path': 'src/a.ts'}}]""",
)


@dataclass(frozen=True)
class _Sarashina(MarkedJson):
    @override
    def write_call(self, call: Call, tools: Toolbox) -> str:
        return python_text(super().write_call(call, tools))


DIALECT = _Sarashina(
    "sarashina",
    opening=("<|tool_calls|>",),
    closed=False,
    brackets=("[", "{"),
    place="anywhere",
    own=frozenset({"single_quotes", "python_literal"}),
)
