"""One XML element's inside, read while it arrives, up to the closer that counts.

A closer counts where as many elements of the same name were closed as opened inside, and where the grammar can go on
after it; the caller says where that is. In CDATA nothing but `]]>` counts. White space that parts CDATA from the
element's own tags is layout. What is inside goes to a `Sink`: `entities.XmlValue` gives it to a value as it comes,
`Kept` keeps it for `xml_trees`.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple, Protocol

from toolcalls.shapes.tags.entities import CDATA, IN_TEXT, take_section
from toolcalls.shapes.tags.xml_trees import Section
from toolcalls.shapes.words import character
from toolcalls.text.scanner import SPACE, Scanner, Search, Step

_IN_LINES = re.compile(r"[<&\r\n]").search
_MOST_LAYOUT = 64  # characters of a line end with an indentation that may be layout
_MAX_TAG = 512  # characters of an opening tag with its attributes
_OPENING = re.compile(r"<([^\W\d][\w.:-]{0,127}+)([ \t\r\n][^<>]{0,300}+|/)?>")
_ARRIVING = re.compile(r"<(?:[^\W\d][\w.:-]*+(?:[ \t\r\n][^<>]*+|/)?)?")


class Behind(Enum):
    """What comes after a closer."""

    NOTHING = auto()  # that the grammar knows
    MORE = auto()  # with which the grammar goes on
    END = auto()  # which can only follow the element itself, whatever is open in it
    CUT = auto()  # the reply was cut off where nobody can tell


# What stands so many characters from here.
type Look = Callable[[Scanner, int], Step[Behind]]


class Sink(Protocol):
    """Where the inside of an element goes."""

    def text(self, piece: str) -> None:
        """The next piece of what is not in CDATA."""

    def cdata(self, piece: str) -> None:
        """The next piece of what is."""

    def wake_on(self, marked: bool) -> Search | None:
        """What `Scanner.wake_on` may be while more comes, inside CDATA or outside."""


class Kept:
    """Keeps it all."""

    def __init__(self) -> None:
        self.sections: list[Section] = []

    def text(self, piece: str) -> None:
        self.sections.append(Section(False, piece))

    def cdata(self, piece: str) -> None:
        self.sections.append(Section(True, piece))

    def wake_on(self, marked: bool) -> Search | None:  # noqa: ARG002
        return None


class OpeningTag(NamedTuple):
    """An opening tag: its name, its length, whether it closes itself. Attributes are read over."""

    name: str
    length: int
    empty: bool


def opening_tag(scan: Scanner, ahead: int = 0) -> Step[OpeningTag | None]:
    """The opening tag `ahead` characters from here, None where none stands."""
    found = yield from scan.match(_OPENING, _ARRIVING, ahead, _MAX_TAG)
    return None if found is None else OpeningTag(found[1], len(found[0]), (found[2] or "").endswith("/"))


def closing_tag(scan: Scanner, starts: tuple[str, ...], ahead: int = 0) -> Step[int]:
    """The length of the closing tag that begins with one of `starts` (`</name`), with white space in it; 0 for none."""
    start = yield from scan.among(starts, ahead)
    if start is None:
        return 0
    space = yield from scan.space(ahead + len(start))
    return space + 1 - ahead if (yield from scan.starts(">", space)) else 0


def inside(
    scan: Scanner, name: str, sink: Sink, look: Look, ends: Callable[[Scanner, int], Step[bool]] | None = None
) -> Step[bool]:
    """Read what is in an element after its opening tag, and its closer. False where the text ends first.

    ends   whether what stands so many characters from here says that the closer is missing; it is left unread, and the
           line end with the indentation before it, which is counted, is taken and is no text
    """
    opener, closer = f"<{name}", f"</{name}"
    depth = 0
    yield from _cdata_follows(scan)
    while (layout := (yield from _up_to_bracket(scan, sink, lines=ends is not None))) is not None:
        if ends is not None and not depth and (yield from ends(scan, layout)):
            scan.take(layout)
            return True
        if layout:
            sink.text(scan.take(layout))
        literal = yield from scan.among((CDATA, closer, opener))
        size = 1
        if literal == CDATA:
            if not (yield from take_section(scan, sink.cdata, sink.wake_on(True))):
                return False
            if not (yield from _cdata_follows(scan)):
                space = yield from scan.space()
                if size := (yield from closing_tag(scan, (closer,), space)):
                    behind = yield from look(scan, space + size)
                    if behind is not Behind.NOTHING and (behind is not Behind.MORE or not depth):
                        scan.take(space)
            continue
        if literal == closer and (size := (yield from closing_tag(scan, (closer,)))):
            behind = yield from look(scan, size)
            if behind is Behind.END or (behind is Behind.MORE and not depth):
                scan.take(size)
                return True
            if behind is Behind.CUT:
                scan.take(scan.rest())
                return False
            depth = max(0, depth - 1)
        elif literal == opener:
            following = yield from character(scan, len(opener))
            depth += following != "" and following in f">{SPACE}"
        half = not size and scan.ended and not scan.text[scan.pos + len(closer) :].strip(SPACE)
        if half or (literal is None and scan.stops_short((closer,))):
            scan.take(scan.rest())  # cut off in the closer: not shown as if it were the value
            return False
        sink.text(scan.take(size or 1))
    return False


def _cdata_follows(scan: Scanner) -> Step[bool]:
    """Whether CDATA is here after white space, which is layout then and is taken."""
    space = yield from scan.space()
    follows = yield from scan.starts(CDATA, space)
    scan.take(space if follows else 0)
    return follows


def _up_to_bracket(scan: Scanner, sink: Sink, *, lines: bool) -> Step[int | None]:
    """Give the sink the text up to the next `<`. None where the text has ended.

    lines   all but a line end with an indentation right before it, whose length is returned
    """
    while True:
        found = scan.text.find("<", scan.pos)
        stop = len(scan.text) if found < 0 else found
        layout = _layout(scan.text, scan.pos, stop) if lines and not (found < 0 and scan.ended) else 0
        if stop - layout > scan.pos:
            sink.text(scan.take(stop - layout - scan.pos))
        if found >= 0:
            return layout
        if scan.ended:
            return None
        wake_on = sink.wake_on(False)
        scan.wake_on = None if layout else _IN_LINES if lines and wake_on is IN_TEXT else wake_on
        yield
        scan.wake_on = None


def _layout(text: str, start: int, stop: int) -> int:
    """How long the line end is that a stretch ends with, with the blanks after it; 0 for none, and a longer one."""
    blanks = stop
    while blanks > start and text[blanks - 1] in " \t" and stop - blanks <= _MOST_LAYOUT:
        blanks -= 1
    begin = blanks
    if begin > start and text[begin - 1] in "\r\n":
        begin -= 2 if text.endswith("\r\n", start, begin) else 1
    return stop - begin if begin < blanks and stop - begin <= _MOST_LAYOUT else 0
