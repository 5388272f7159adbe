"""`gemma4_stripped`: calls in Gemma's own notation without its special tokens, as Gemini and Gemma leak them.

`call:default_api:N{…}`, `declaration:default_api:N{…}`, `default_api:N{…}` and `call:N{…}`. Strings are in quotes, or
between what is left of the model's marks. It could be prose, so it counts at the start of a line only, and with a
bracket directly after the name of a declared tool; without `default_api` only with a brace, and a declared parameter or
nothing in it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolcalls.shapes import About, Call, CallSink, Sign
from toolcalls.shapes.code.delimited_object import DelimitedObject
from toolcalls.shapes.words import NAME, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="notations",
    sign=Sign(strength="rest", alone=True, empty=True),
    written_by="Gemini and Gemma 4, where a server takes the special tokens away",
    source="public reports",
    example="""\
call:default_api:read_file{path:<|"|>src/a.ts<|"|>}""",
)

_API = "default_api"
_BEFORE = (*(f"{before}{_API}{mark}" for mark in ":." for before in ("call:", "declaration:", "_call:")), f"{_API}:")
_BARE = ("call:", "call: ", "_call:", "_call: ")  # what comes before the name where the API's is gone, too
_BRACKETS = ("{", "(")
_CTRL = "<ctrl46>"  # what Gemini's strings are between
_FIRST = re.compile(rf"""{_CTRL}|["}}\])]""")
_MOST = 512  # characters in which the first string begins, or none does


@dataclass(frozen=True)
class _Stripped(DelimitedObject):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What comes before any name, and before each declared one."""
        return (*_BEFORE, *(f"{before}{name}{{" for before in _BARE for name in names))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        before = yield from scan.among(self.opening)
        if before is None:
            return False
        name = yield from word(scan, NAME, len(before))
        keys = tools.keys(tools.resolve(name))
        if before in _BARE and not (yield from _first_key(scan, len(before) + len(name), keys)):
            return False
        if not tools.means_tool(name) or not (yield from scan.among(_BRACKETS, len(before) + len(name))):
            return False
        inside = len(before) + len(name) + 1
        mark = yield from scan.search(_FIRST, inside, inside + _MOST, len(_CTRL))
        if self.delimiter != _CTRL and mark is not None and mark.group() == _CTRL:
            return (yield from replace(self, delimiter=_CTRL).read(scan, sink, tools))
        return (yield from super().read(scan, sink, tools))

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """One call a line."""
        return "\n".join(self._write_call(call, tools) for call in calls)


def _first_key(scan: Scanner, ahead: int, keys: tuple[str, ...]) -> Step[bool]:
    """Whether a brace is here, and in it one of these keys before a colon, or nothing."""
    if not (yield from scan.starts("{", ahead)):
        return False
    inside = yield from scan.space(ahead + 1)
    if (yield from scan.starts("}", inside)):
        return True
    spelt = tuple(f"{mark}{key}{mark}" for key in keys for mark in ("", '"', "'"))
    key = yield from scan.among(spelt, inside)
    return key is not None and (yield from scan.starts(":", (yield from scan.space(inside + len(key)))))


DIALECT = _Stripped(
    "gemma4_stripped",
    opening=(*_BEFORE, *_BARE),
    closing=("<tool_call|>",),
    delimiter='<|"|>',
    before="",
    place="start",
)
