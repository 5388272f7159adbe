"""`named_elements`: a tag for calls with the name in an element of its own, and the arguments as JSON in another.

The elements have several names. With elements in the place of the JSON it is `invoke_legacy` (in `<invoke>`) or `forge`
(in `<tool>`).
"""

from dataclasses import dataclass
from typing import override

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_element import NAME_ELEMENTS, NameInElement

ABOUT = About(
    form="JSON in tags",
    written_by="models under many agents' own prompts",
    source="no model's template; those prompts, and public reports",
    example="""\
<tool_call>
<name>read_file</name>
<arguments>{"path": "src/a.ts"}</arguments>
</tool_call>""",
)

_CALLS = ("tool_call", "function_call", "tool_use", "tool-use", "use_tool")

# Tags that other text has as well: they count only right in front of the name's.
_PLAIN = ("function", "call")


@dataclass(frozen=True)
class _Named(NameInElement):
    @override
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        plain = tuple(f"<{name}>" for name in _PLAIN)
        marked = tuple(opener for opener in super().openers(names) if opener not in plain)
        return (*marked, *(f"{tag}{gap}{element}" for tag in plain for gap in ("", "\n") for element in NAME_ELEMENTS))


DIALECT = _Named("named_elements", opening=tuple(f"<{name}>" for name in (*_CALLS, *_PLAIN)))
