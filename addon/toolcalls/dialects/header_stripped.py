"""`header_stripped`: a tool's name and its arguments with the mark between them left, and what begins the call lost.

The marks are Mistral's `[ARGS]` and DeepSeek's `<｜tool▁sep｜>`, which no prose holds after a tool's name. A name
could begin any line, so it counts only directly in front of such a mark, at the start of a line, and if it is
declared.
"""

import re
from dataclasses import dataclass

from toolcalls.shapes import About, Sign
from toolcalls.shapes.headers.name_in_header import Header

ABOUT = About(
    form="header and JSON",
    sign=Sign(strength="form", empty=True),
    written_by="servers that cut off the beginning of Mistral's and DeepSeek's calls",
    source="public reports",
    example="""\
read_file[ARGS]{"path": "src/a.ts"}""",
)

_MARKS = ("[ARGS]", "[CALL_ID]", "<｜tool▁sep｜>", "<|tool▁sep|>", "<|tool_sep|>")


@dataclass(frozen=True)
class _Stripped(Header):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Each declared name with a mark after it."""
        heads = [f"{name}{gap}" for name in names for gap in ("", "\n")]
        return tuple(f"{head}{mark}" for head in heads for mark in (_MARKS[2:] if head[-1] == "\n" else _MARKS))


DIALECT = _Stripped(
    "header_stripped",
    opening=(),
    header=re.compile(
        r"(?P<name>[\w.:/-]+(?: [\w.:/-]+)*)\s*"
        r"(?:\[CALL_ID\]\s*\w*\s*)?(?:\[ARGS\]|<[｜|]tool[▁_]sep[｜|]>)\s*(?:```json)?\s*"
    ),
    end=(),
    template="{name}[ARGS]{arguments}",
    place="start",
)
