"""Condition 5: where the request already holds, word for word, the text of a candidate that is still coming.

What a tool read stands in its result as the tool tells it: inside JSON, with its lines numbered or quoted, as a diff or
as HTML. A model that repeats it leaves all that away. So each text is searched as it is, and with such a layer taken
off (`readings`); white space at both ends of a line counts on neither side.

Strategy. A `Trace` follows one candidate. It begins with the places at which the candidate's first characters stand,
and every further piece is compared at those places alone, so a piece costs its own length for each place that is left,
and no part of the candidate is looked at twice. The places of a beginning are searched for once, when the first
candidate begins so, and remembered: nearly all candidates of a reply begin alike (an opener, a tool's name).

Where the request holds a beginning more often than `_PLACES` times, the places are not kept. Then only the first one is
known, and the next one is searched for when the candidate differs there: the text that a candidate repeats never stands
before the place at which its beginning was found first.

Searching is bounded by `_BUDGET` characters, or a few times the request's length: past it every candidate that would
have to be searched for counts as an echo, since a doubt is text. No reply of a real model comes near it.
"""

import html
import re
from collections.abc import Iterator, Sequence
from functools import cached_property

_START = 24  # characters of a candidate by which places are remembered: an opener and a bit of the name
_STARTS = 256  # beginnings that are remembered
_PLACES = 1024  # places of one beginning that are kept
_BUDGET = 256 * 1024 * 1024  # characters that may be searched for one request
_TIMES = 16  # or so many times its length

# Which text of the request, and where in it.
type Place = tuple[int, int]

_BLANKS = " \t\r"
_LINE_END = re.compile(r"(?:(?<![ \t\r])[ \t\r]++)?\n[ \t\r]*+")
# The escapes of JSON (RFC 8259, section 7), which most languages share.
_ESCAPES = {r"\n": "\n", r"\"": '"', r"\'": "'", r"\t": "\t", r"\r": "\r", r"\/": "/"}
_CODE = re.compile(r"\\u([0-9A-Fa-f]{4})")
_NESTED = 2  # JSON in JSON
# What tools write before a line: its number (cat -n, grep -n, and what agents use), or the mark of a quotation.
_NUMBER = re.compile(r"(?:[0-9]++(?:[ \t]*+[|\u2502\u2192:]|\t)|(?:> ?)++)[ \t]*+")
_NUMBERED = frozenset("0123456789>")
_CHANGED = frozenset("+-")  # and before a line of a diff


def plain(text: str) -> str:
    """`text` without white space at the ends of its lines, but before the first one and behind the last."""
    return _LINE_END.sub("\n", text) if "\n" in text else text


def readings(text: str) -> Iterator[str]:
    """A text of the request as it is, and with what tools put round a text that they hand on taken off."""
    for _ in range(_NESTED + 1):
        for reading in (text, html.unescape(text) if "&lt;" in text else ""):
            lines = [line.strip(_BLANKS) for line in reading.split("\n")]
            yield "\n".join(lines)
            if any(line[:1] in _NUMBERED for line in lines):
                yield "\n".join(_NUMBER.sub("", line, 1) if line[:1] in _NUMBERED else line for line in lines)
            if any(line.startswith("@@ ") for line in lines):
                yield "\n".join(line[1:].lstrip(_BLANKS) if line[:1] in _CHANGED else line for line in lines)
        if "\\" not in text:
            return
        text = _unescaped(text)


class Said(str):
    """A text that is asked about again and again, as each turn of a conversation repeats: it is read once."""

    @cached_property
    def readings(self) -> tuple[str, ...]:
        """Its `readings`."""
        return tuple(readings(self))


def _unescaped(text: str) -> str:
    return "\\".join(map(_without_escapes, text.split(r"\\")))


def _without_escapes(part: str) -> str:
    """A text without escaped backslashes, with its other escapes taken for what they mean."""
    if "\\" in part:
        for written, meant in _ESCAPES.items():
            part = part.replace(written, meant)
    if r"\u" not in part:
        return part
    made = _CODE.sub(lambda found: chr(int(found[1], 16)), part)
    # Two of these may be the halves of one character; one half alone is none that a reply could hold.
    return made.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Quotable:
    """The texts of one request that a reply may repeat. Nothing is looked at before the first candidate."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._given = tuple(text for text in texts if text)
        self._starts: dict[str, tuple[Place, ...] | None] = {}

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        given = (text.readings if isinstance(text, Said) else readings(text) for text in self._given)
        found = dict.fromkeys(reading for one in given for reading in one)
        return tuple(reading for reading in found if reading)

    @cached_property
    def _left(self) -> int:
        return max(_BUDGET, _TIMES * sum(map(len, self._texts)))

    def trace(self, text: str) -> "Trace | None":
        """Follows a candidate that begins with `text`; None when that stands nowhere in the request."""
        if not self._given:
            return None
        made = Trace(self, text.lstrip())
        return made if made.grow("") else None

    @property
    def exhausted(self) -> bool:
        """Whether no more may be searched."""
        return self._left <= 0

    def places(self, start: str) -> tuple[Place, ...] | None:
        """Where `start` stands; None for more places than are kept."""
        if start not in self._starts:
            if len(self._starts) == _STARTS:
                return None
            self._starts[start] = self._all(start)
        return self._starts[start]

    def _all(self, start: str) -> tuple[Place, ...] | None:
        found: list[Place] = []
        place = self.next(start, (0, 0))
        while place is not None:
            found.append(place)
            if len(found) > _PLACES:
                return None
            place = self.next(start, (place[0], place[1] + 1))
        return None if self.exhausted else tuple(found)

    def next(self, text: str, since: Place) -> Place | None:
        """The first place of `text` from a place on."""
        number, at = since
        while number < len(self._texts) and not self.exhausted:
            quoted = self._texts[number]
            found = quoted.find(text, at)
            self._left -= len(text) + (len(quoted) if found < 0 else found) - at
            if found >= 0:
                return number, found
            number, at = number + 1, 0
        return None

    def stands(self, text: str, place: Place, ahead: int) -> bool:
        """Whether `text` stands `ahead` characters behind a place."""
        number, at = place
        return self._texts[number].startswith(text, at + ahead)


class Trace:
    """One candidate that stands in the request so far. White space at its end does not count until more follows."""

    __slots__ = ("_blank", "_first", "_places", "_quotable", "_size", "_text")

    def __init__(self, quotable: Quotable, text: str) -> None:
        self._quotable = quotable
        whole = text.rstrip()
        self._blank = text[len(whole) :]
        whole = plain(whole)
        self._places = quotable.places(whole[:_START])
        self._first: Place | None = None if self._places is not None else (0, 0)
        self._size = min(len(whole), _START) if self._places is not None else 0
        self._text: list[str] = []  # all of it, while only the first place is known
        self._blank = whole[self._size :] + self._blank

    def grow(self, piece: str) -> bool:
        """The candidate goes on with `piece`: whether it still stands in the request. Not to be asked after False."""
        coming = self._blank + piece
        text = coming.rstrip()
        self._blank = coming[len(text) :]
        text = plain(text)
        if self._places is not None:
            stands, ahead = self._quotable.stands, self._size
            if text:
                self._places = tuple(place for place in self._places if stands(text, place, ahead))
                self._size += len(text)
            return bool(self._places)
        if text and self._first is not None:
            self._text.append(text)
            if not self._quotable.stands(text, self._first, self._size):
                number, at = self._first
                self._first = self._quotable.next("".join(self._text), (number, at + (self._size > 0)))
            self._size += len(text)
        return self._first is not None or self._quotable.exhausted
