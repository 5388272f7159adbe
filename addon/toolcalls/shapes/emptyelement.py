"""A call without arguments as one tag that closes itself: `<N/>`, with a few blanks in it."""

import re

from toolcalls.shapes import CallSink
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.nested import NAME
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_EMPTY = re.compile(r"<[ \t]{0,4}([\w.-]+)[ \t]{0,4}/[ \t]{0,4}>")
_MAX_TAG = 256


def empty_openers(names: tuple[str, ...]) -> tuple[str, ...]:
    """What such a tag begins with, for each tool of these names that a tag can have."""
    known = [name for name in dict.fromkeys(names) if NAME.fullmatch(name)]
    return tuple(opener for name in known for opener in (f"<{name}/", f"<{name} ", f"< {name}/", f"< {name} "))


def empty_element(scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
    """Read one that stands here. Returns False where none does."""
    while (found := _EMPTY.match(scan.text, scan.pos)) is None:
        if scan.ended or scan.rest() > _MAX_TAG or ">" in scan.text[scan.pos :] or "\n" in scan.text[scan.pos :]:
            return False
        yield
    if found[1] not in tools.names:
        return False
    scan.take(found.end() - scan.pos)
    sink.begin(found[1])
    Arguments(sink, tools, found[1]).end()
    return True
