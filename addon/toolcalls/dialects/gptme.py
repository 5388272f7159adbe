"""`gptme`: gptme's form, the tool's name and the call's id behind an at sign, and a JSON object.

The id is any. It could be prose that mentions somebody, so only a declared tool counts, at the start of a line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import override

from toolcalls.shapes import About, Call, Sign
from toolcalls.shapes.headers.name_in_words import NameInWords
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="agents and gateways",
    sign=Sign(strength="form"),
    written_by="gptme, and models that have seen their past calls in its form",
    source="https://gptme.org/docs/tool-formats.html",
    example="""\
@read_file(1): {"path": "src/a.ts"}""",
)

_ID = re.compile(r"\([\w.:-]{1,128}\)")
_ID_ARRIVES = re.compile(r"(?:\([\w.:-]{0,128})?")


@dataclass(frozen=True)
class _AtName(NameInWords):
    @override
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Each declared name up to the id's bracket."""
        return tuple(f"@{name}(" for name in names)

    @override
    def identifier(self, scan: Scanner) -> Step[int]:
        found = yield from scan.match(_ID, _ID_ARRIVES, 0, 160)
        return 0 if found is None else len(found.group())

    @override
    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """Each call with an id of its own."""
        return "\n".join(
            self.write_call(call, tools).replace("(call_1)", f"(call_{number})", 1)
            for number, call in enumerate(calls, 1)
        )


DIALECT = _AtName("gptme", opening=("@",), behind=((":", ()),), layout="@{name}(call_1): {json}", place="start")
