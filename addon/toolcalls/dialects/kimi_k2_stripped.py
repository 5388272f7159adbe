"""`kimi_k2_stripped`: what is left of Kimi K2's calls where a server takes the special tokens away, or the first ones.

Only the name of a declared tool distinguishes it from prose, so it is searched for by those names only.
"""

import re
from dataclasses import dataclass

from toolcalls.shapes import About, Sign
from toolcalls.shapes.headers.name_in_header import Header

ABOUT = About(
    form="header and JSON",
    sign=Sign(strength="rest", alone=True, empty=True),
    written_by="servers that remove Kimi K2's special tokens",
    source="public reports",
    example="""\
functions.read_file:0{"path": "src/a.ts"}""",
)


@dataclass(frozen=True)
class _Stripped(Header):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The beginning of a header of each declared tool, also without its prefix, where a counter is in it."""
        return (
            *(f"functions.{name}:" for name in names),
            *(f"{name}:{digit}" for name in names for digit in "0123456789"),
        )


DIALECT = _Stripped(
    "kimi_k2_stripped",
    opening=(),
    header=re.compile(
        r"(?:functions\.|(?=[^\s{}\"<]+:\d+\s*<\|tool_call_argument_begin\|>))"
        r"(?P<name>[^\n{}\"<]+):\d+\s*(?:<\|tool_call_argument_begin\|>)?\s*"
    ),
    end=(),
    template="functions.{name}:{index}{arguments}",
    place="start",
)
