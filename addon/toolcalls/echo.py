"""Condition 5: where the request already holds, word for word, the text of a candidate that is still coming.

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

from collections.abc import Sequence

_START = 24  # characters of a candidate by which places are remembered: an opener and a bit of the name
_STARTS = 256  # beginnings that are remembered
_PLACES = 1024  # places of one beginning that are kept
_BUDGET = 256 * 1024 * 1024  # characters that may be searched for one request
_TIMES = 16  # or so many times its length

# Which text of the request, and where in it.
type Place = tuple[int, int]


class Quotable:
    """The texts of one request that a reply may repeat. Nothing is looked at before the first candidate."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(text for text in texts if text)
        self._starts: dict[str, tuple[Place, ...] | None] = {}
        self._left = max(_BUDGET, _TIMES * sum(map(len, self._texts)))

    def trace(self, text: str) -> "Trace | None":
        """Follows a candidate that begins with `text`; None when that stands nowhere in the request."""
        if not self._texts:
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
