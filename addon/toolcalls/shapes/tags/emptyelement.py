"""A call as one tag that closes itself: `<N/>`, with a few blanks in it, or with its arguments as attributes.

Attributes are arguments where all of them are declared: `<N k="v"/>`, also with the closing tag directly after it.
"""

import re

from toolcalls.shapes import CallSink
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.tags.entities import unescape
from toolcalls.shapes.tags.nested import NAME
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_NAMED = re.compile(r"<[ \t]{0,4}([\w.-]+)")
_ATTRIBUTE = re.compile(r"""\s+([\w.:-]+)\s*=\s*("[^"]*"|'[^']*')""")
_END = re.compile(r"\s*(/)?[ \t]{0,4}>")
# What may come of the end of a tag that is still arriving.
_PART = re.compile(r"""\s*/?[ \t]{0,4}|\s+[\w.:-]+\s*(?:=\s*(?:"[^"]*"?|'[^']*'?)?)?""")
_MAX_TAG = 4096


def empty_openers(names: tuple[str, ...]) -> tuple[str, ...]:
    """What such a tag begins with, for each tool of these names that a tag can have."""
    known = [name for name in dict.fromkeys(names) if NAME.fullmatch(name)]
    ends = (" ", "\n")
    return tuple(
        opener
        for name in known
        for opener in (f"<{name}/", f"< {name}/", f"< {name} ", *(f"<{name}{end}" for end in ends))
    )


def empty_element(scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
    """Read one that is here. Returns False where none does."""
    attributes: list[tuple[str, str]] = []
    size = 0
    while True:
        text, at, limit = scan.text, scan.pos + size, scan.pos + _MAX_TAG
        if not size:
            named = _NAMED.match(text, at)
            if named is not None and named.end() < len(text):
                name, size = named[1], len(named.group())
                if name not in tools.names:
                    return False
                continue
        else:
            attribute = _ATTRIBUTE.match(text, at, limit)
            if attribute is not None:
                attributes.append((attribute[1], unescape(attribute[2][1:-1])))
                size = attribute.end() - scan.pos
                continue
            end = _END.match(text, at, limit)
            if end is not None:
                break
            if len(text) >= limit or not _PART.fullmatch(text, at):
                return False
        if scan.ended or len(text) >= limit:
            return False
        yield
    size = end.end() - scan.pos
    keys = [key for key, _ in attributes]
    if len(set(keys)) < len(keys) or not set(keys).issubset(tools.keys(name)):
        return False
    closer = f"</{name}>"
    if end[1] is None:
        space = yield from scan.space(size)
        if not attributes or not (yield from scan.starts(closer, space)):
            return False
        size = space + len(closer)
    scan.take(size)
    sink.begin(name)
    if attributes:
        sink.note_repair("flat_arguments")
    arguments = Arguments(sink, tools, name)
    for key, text in attributes:
        arguments.text(key, text)
    arguments.end()
    return True
