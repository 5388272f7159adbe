"""One XML element's inside, read while it arrives, up to the closer that counts.

A closer counts where as many elements of the same name were closed as opened inside, and where the grammar can go on
after it; the caller says where that is. In CDATA nothing but `]]>` counts. White space that parts CDATA from the
element's own tags is layout. What is inside goes to a `Sink`: `Decoded` gives it to a value as it comes, entities
decoded; `Kept` keeps it for `trees`.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple, Protocol

from toolcalls.shapes.arguments import Value
from toolcalls.shapes.tags.trees import CDATA, CDATA_END, Section, decode
from toolcalls.text.scanner import SPACE, Scanner, Search, Step

_IN_CDATA = re.compile(r"\]").search
_IN_TEXT = re.compile(r"[<&]").search
_IN_LINES = re.compile(r"[<&\r\n]").search
_MOST_LAYOUT = 64  # characters of a line end with an indentation that may be layout
_MAX_TAG = 512  # characters of an opening tag with its attributes
_OPENING = re.compile(r"<([^\W\d][\w.:-]{0,127}+)([ \t\r\n][^<>]{0,300}+|/)?>")
_ARRIVING = re.compile(r"<(?:[^\W\d][\w.:-]*+(?:[ \t\r\n][^<>]*+|/)?)?")
_HALF_ENTITY = re.compile(r"&(?:#[xX]?[0-9A-Fa-f]{0,8}|[a-z]{0,4})\Z")


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
        """The next piece of what does."""

    def wake_on(self, marked: bool) -> Search | None:
        """What `Scanner.wake_on` may be while more comes, inside CDATA or outside."""


class Kept:
    """Keeps it all."""

    def __init__(self) -> None:
        self.sections: list[Section] = []

    def text(self, piece: str) -> None:
        """Keep it."""
        self.sections.append(Section(False, piece))

    def cdata(self, piece: str) -> None:
        """Keep it."""
        self.sections.append(Section(True, piece))

    def wake_on(self, marked: bool) -> Search | None:  # noqa: ARG002
        """Every piece must be kept."""
        return None


class Decoded:
    """Hands it on to a string argument; half an entity waits for its other half."""

    def __init__(self, value: Value) -> None:
        self._value = value
        self._half = ""
        self._marked = False

    def text(self, piece: str) -> None:
        """Entities are decoded once; every other `&` stays."""
        whole = self._half + piece
        half = _HALF_ENTITY.search(whole, max(0, len(whole) - 12))
        self._half = half.group() if half else ""
        self._add(decode(whole[: len(whole) - len(self._half)]))

    def cdata(self, piece: str) -> None:
        """As it is."""
        self._flush()
        self._marked = True
        self._add(piece)

    def wake_on(self, marked: bool) -> Search | None:
        """What cannot stay as it is in what follows."""
        if self._half or self._value.wake_on is None:
            return None
        return _IN_CDATA if marked else _IN_TEXT

    def end(self) -> None:
        """The value is whole."""
        self._flush()
        self._value.end(literal=self._marked)

    def _flush(self) -> None:
        self._add(self._half)
        self._half = ""

    def _add(self, piece: str) -> None:
        if piece:
            self._value.add(piece)


def inside(
    scan: Scanner, name: str, sink: Sink, look: Look, ends: Callable[[Scanner, int], Step[bool]] | None = None
) -> Step[bool]:
    """Read what is in an element after its opening tag, and its closer. False where the text ends first.

    ends   whether what stands so many characters from here says that the closer is missing; it is left unread, and the
           line end with the indentation before it, which is counted, is taken and is no text
    """
    opener, closer = f"<{name}", f"</{name}"
    depth = 0
    space = yield from scan.space()
    if (yield from scan.starts(CDATA, space)):
        scan.take(space)
    while (layout := (yield from _up_to_bracket(scan, sink, lines=ends is not None))) is not None:
        if ends is not None and not depth and (yield from ends(scan, layout)):
            scan.take(layout)
            return True
        if layout:
            sink.text(scan.take(layout))
        literal = yield from scan.among((CDATA, closer, opener))
        size = 1
        if literal == CDATA:
            if not (yield from _section(scan, sink)):
                return False
            space = yield from scan.space()
            if (yield from scan.starts(CDATA, space)):
                scan.take(space)
            elif size := (yield from closing_tag(scan, closer, space)):
                behind = yield from look(scan, space + size)
                if behind is not Behind.NOTHING and (behind is not Behind.MORE or not depth):
                    scan.take(space)
            continue
        if literal == closer and (size := (yield from closing_tag(scan, closer))):
            behind = yield from look(scan, size)
            if behind is Behind.END or (behind is Behind.MORE and not depth):
                scan.take(size)
                return True
            if behind is Behind.CUT:
                scan.take(scan.rest())
                return False
            depth = max(0, depth - 1)
        elif literal == opener:
            depth += yield from _opens(scan, len(opener))
        if not size and scan.ended and not scan.text[scan.pos + len(closer) :].strip(SPACE):
            scan.take(scan.rest())  # cut off in the closer: not shown as if it were the value
            return False
        if literal is None and scan.stops_short((closer,)):
            scan.take(scan.rest())
            return False
        sink.text(scan.take(size or 1))
    return False


class OpeningTag(NamedTuple):
    """An opening tag: its name, its length, whether it closes itself. Attributes are read over."""

    name: str
    length: int
    empty: bool


def opening_tag(scan: Scanner, ahead: int = 0) -> Step[OpeningTag | None]:
    """The opening tag `ahead` characters from here, None where none stands."""
    while True:
        text, at = scan.text, scan.pos + ahead
        found = _OPENING.match(text, at)
        if found is not None:
            return OpeningTag(found[1], found.end() - at, (found[2] or "").endswith("/"))
        if scan.ended or _ARRIVING.fullmatch(text, at, at + _MAX_TAG) is None or len(text) - at >= _MAX_TAG:
            return None
        yield


def closing_tag(scan: Scanner, start: str, ahead: int = 0) -> Step[int]:
    """The length of the tag that begins with `start` (`</name`), white space in it allowed; 0 where none stands."""
    if not (yield from scan.starts(start, ahead)):
        return 0
    space = yield from scan.space(ahead + len(start))
    return space + 1 - ahead if (yield from scan.starts(">", space)) else 0


def character(scan: Scanner, ahead: int) -> Step[str]:
    """The character `ahead` of here, "" where the text has ended."""
    while scan.rest() <= ahead and not scan.ended:
        yield
    return scan.text[scan.pos + ahead : scan.pos + ahead + 1]


def _opens(scan: Scanner, ahead: int) -> Step[int]:
    following = yield from character(scan, ahead)
    return int(following == ">" or (following != "" and following in SPACE))


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
        scan.wake_on = None if layout else _IN_LINES if lines and wake_on is _IN_TEXT else wake_on
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


def _section(scan: Scanner, sink: Sink) -> Step[bool]:
    """One CDATA section with its tags. False where the text ends in it."""
    scan.take(len(CDATA))
    while True:
        text, pos = scan.text, scan.pos
        found = text.find(CDATA_END, pos)
        if found >= 0:
            sink.cdata(scan.take(found - pos))
            scan.take(len(CDATA_END))
            return True
        kept = 2 if text.endswith("]]", pos) else 1 if text.endswith("]", pos) else 0
        if len(text) - kept > pos:
            sink.cdata(scan.take(len(text) - kept - pos))
        if scan.ended:
            scan.take(scan.rest())
            return False
        scan.wake_on = None if kept else sink.wake_on(True)
        yield
        scan.wake_on = None
