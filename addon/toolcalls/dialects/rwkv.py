"""`rwkv`: RWKV's form, a heading and a JSON call in a code fence, as the end of a message.

A heading with a fence below it is in any document about calls, so nothing but calls may come after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import override

from toolcalls.shapes import About, Call, Sign
from toolcalls.shapes.json.unmarked_json import UnmarkedJson
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in the open",
    sign=Sign(strength="rest", alone=True),
    written_by="RWKV-7",
    source="vLLM's `rwkv` parser",
    example="""\
**Tool Call:**
```json
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
```""",
)

_HEADINGS = ("**Tool Call:**", "**Tool Call**:", "**Tool call:**", "**Tool Calls:**")
_GAPS = ("\n", "\n\n", "\r\n", " ", "")
_FENCES = (("```json", "```"), ("```", "```"))


@dataclass(frozen=True)
class _Rwkv(UnmarkedJson):
    @override
    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """A heading for each call."""
        return "\n".join(super(_Rwkv, self).write([call], tools) for call in calls)


DIALECT = _Rwkv(
    "rwkv",
    fences=(
        *((f"{heading}{gap}{fence}", end) for fence, end in _FENCES for heading in _HEADINGS for gap in _GAPS),
        *((f"{heading}{gap}", "") for heading in _HEADINGS for gap in ("\n", "\r\n", " ")),
    ),
    place="start",
)
