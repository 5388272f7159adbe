"""A call as one tag that closes itself: `<N/>`, with a few blanks in it, or with its arguments as attributes.

Attributes are arguments where all of them are declared: `<N k="v"/>`, also with the closing tag directly after it.
"""

import re

from toolcalls.shapes import CallSink
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.tags.element_values import NAME
from toolcalls.shapes.tags.entities import unescape
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_ATTRIBUTE = re.compile(r"""\s+([\w.:-]+)\s*=\s*("[^"]*"|'[^']*')""")
_ATTRIBUTES = rf"(?:{_ATTRIBUTE.pattern.replace('(', '(?:')})*+"
_TAG = re.compile(rf"<[ \t]{{0,4}}(?P<name>[\w.-]++)(?P<attributes>{_ATTRIBUTES})\s*+(?P<closed>/)?[ \t]{{0,4}}>")
_PART = re.compile(
    rf"<[ \t]{{0,4}}(?:[\w.-]++(?:{_ATTRIBUTES}"
    r"""(?:\s*/?[ \t]{0,4}|\s+[\w.:-]+\s*(?:=\s*(?:"[^"]*|'[^']*)?)?))?)?"""
)
_MAX_TAG = 4096


def empty_openers(names: tuple[str, ...]) -> tuple[str, ...]:
    """What such a tag begins with, for each tool of these names that a tag can have."""
    known = [name for name in dict.fromkeys(names) if NAME.fullmatch(name)]
    return tuple(
        f"{start}{end}" for name in known for start, ends in ((f"<{name}", "/ \n"), (f"< {name}", "/ ")) for end in ends
    )


def empty_element(scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
    """Read one that is here. Returns False where none does."""
    tag = yield from scan.match(_TAG, _PART, 0, _MAX_TAG)
    if tag is None or tag["name"] not in tools.names:
        return False
    name, size = tag["name"], len(tag.group())
    attributes = _ATTRIBUTE.findall(tag["attributes"])
    keys = {key for key, _ in attributes}
    if len(keys) < len(attributes) or not keys.issubset(tools.keys(name)):
        return False
    if not tag["closed"]:
        space = yield from scan.space(size)
        if not attributes or not (yield from scan.starts(f"</{name}>", space)):
            return False
        size = space + len(f"</{name}>")
    scan.take(size)
    sink.begin(name)
    if attributes:
        sink.note_repair("flat_arguments")
    arguments = Arguments(sink, tools, name)
    for key, written in attributes:
        arguments.text(key, unescape(written[1:-1]))
    arguments.end()
    return True
