"""Calls whose arguments are JSON, put together again from what a dialect writes: its marks around JSON of any text.

Nothing is escaped here, so that a string may hold what a model forgets to escape.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache

from support.taggedcalls import TOOLS
from toolcalls.dialects import all_dialects
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox

_MARK = "ZcontentZ"
_STRING = re.compile(rf'"content"\s*:\s*"{_MARK}"')
# What stands between the quotes of a string, the value that it is, and the repair: a path and a pattern are told from
# what JSON says of their backslashes, and an entity is text.
STRINGS: Mapping[str, tuple[str, str, str]] = {
    "a path": (r"C:\work\notes\readme.md", r"C:\work\notes\readme.md", "invalid_escape"),
    "a path of escapes alone": (r"C:\temp\new", r"C:\temp\new", "invalid_escape"),
    "escapes behind a word": (r"type C:\temp\new.txt", "type C:\temp\new.txt", ""),
    "a pattern": (r"\bfoo\b and \d+", r"\bfoo\b and \d+", "invalid_escape"),
    "a pattern of brackets": (r"^\s*\(\w+\)$", r"^\s*\(\w+\)$", "invalid_escape"),
    "entities": ("sed -i 's/&lt;br&gt;//g' x.html", "sed -i 's/&lt;br&gt;//g' x.html", ""),
    "entities for an operator": ("ls 2&gt;/dev/null &amp;&amp; pwd", "ls 2&gt;/dev/null &amp;&amp; pwd", ""),
    "escapes": (r"a\n\tb \"c\" \\d", 'a\n\tb "c" \\d', ""),
}


@cache
def written_around(name: str) -> str | None:
    """What the dialect `name` writes for a call of `Write` whose `content` is a mark; None where that is no JSON."""
    text = all_dialects()[name].write([Call("Write", json.dumps({"path": "a", "content": _MARK}))], Toolbox(TOOLS))
    return text if len(_STRING.findall(text)) == 1 else None


def dialects() -> Sequence[str]:
    """The dialects whose arguments are JSON."""
    return [name for name in all_dialects() if written_around(name) is not None]


def holding(name: str, content: str) -> str:
    """The call with this between the quotes of its `content`."""
    return (written_around(name) or "").replace(_MARK, content)
