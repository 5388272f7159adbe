"""Condition 5: where the request already holds, word for word, the text of a candidate that is still coming.

A text of the request may stand there in another form than the one in which a model repeats it: escaped, coloured,
numbered, as strings of a program. `text/echo_forms.py` takes such layers off. Where lines end counts on neither side:
there stands one blank, whatever white space there was.

Strategy. An `EchoTrace` follows one candidate. It begins with the places at which the candidate's first characters
stand, and every further piece is compared at those places alone. So a piece costs its own length for each place that is
left, and no part of the candidate is looked at twice. The places of a beginning are searched for once, when the first
candidate begins so, and remembered: nearly all candidates of a reply begin alike (an opener, a tool's name).

Where the request holds a beginning more than `_MAX_LOCATIONS` times, the places are not kept. Then only the first one
is known, and the next one is searched for when the candidate differs there: the text that a candidate repeats never
stands before the place at which its beginning was found first.

Searching is bounded by `_BUDGET` characters, or a few times the request's length: past it every candidate that would
have to be searched for counts as an echo, since a doubt is text. No reply of a real model comes near it.
"""

from collections.abc import Sequence
from functools import cached_property

from toolcalls.text.echo_forms import (
    Plain,
    RequestText,
    joined_literals,
    line_prefixes,
    literal_quotes,
    readings,
    without_prefixes,
)

_HEAD = 24  # characters of a candidate by which places are remembered: an opener and a bit of the name
_MAX_HEADS = 256  # beginnings that are remembered
_MIN_FIRST = 4  # characters of a first line that says something of the lines before which it stands
_MAX_PREFIXES = 4  # forms of what stands before a first line that are taken off one text
_MAX_LOCATIONS = 1024  # places of one beginning that are kept
_BUDGET = 256 * 1024 * 1024  # characters that may be searched for one request
_BUDGET_PER_CHAR = 16  # or so many times its length

# Which text of the request, and where in it.
type Location = tuple[int, int]


class EchoIndex:
    """The texts of one request that a reply may repeat. Nothing is looked at before the first candidate."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._given = [text if isinstance(text, RequestText) else RequestText(text) for text in texts if text]
        self._by_head: dict[str, tuple[Location, ...] | None] = {}
        self._firsts: set[str] = set()  # first lines of candidates whose line prefixes are known
        # The number of a text, and a form of what stands before its lines.
        self._line_prefixes: set[tuple[int, str]] = set()
        self._added: set[str] = set()  # texts that came behind the first ones
        self._joined: set[tuple[int, str]] = set()  # the number of a text, and the quotes whose strings were joined

    @cached_property
    def _texts(self) -> list[str]:
        found = dict.fromkeys(reading for text in self._given for reading in text.readings)
        return [reading for reading in found if reading]

    @cached_property
    def _left(self) -> int:
        return max(_BUDGET, _BUDGET_PER_CHAR * sum(map(len, self._texts)))

    def add(self, text: str) -> None:
        """One more text, for candidates that begin from now on. What was found in the others stays where it is."""
        if not text or text in self._added:  # some servers say it with each chunk
            return
        made = RequestText(text)
        self._added.add(text)
        self._given.append(made)
        self._by_head.clear()
        if "_texts" in self.__dict__:
            self._texts.extend(filter(None, dict.fromkeys(made.readings)))
            self._left += _BUDGET_PER_CHAR * len(text)
        for first in sorted(self._firsts):
            self._learn_in(len(self._given) - 1, first)

    def trace(self, text: str) -> "EchoTrace | None":
        """Follows a candidate that begins with `text`; None when that stands nowhere in the request."""
        if not self._given:
            return None
        text = text.lstrip()
        self._learn(Plain().feed(text.partition("\n")[0]).strip()[:_HEAD])
        made = EchoTrace(self, text)
        return made if made.stands else None

    def _learn(self, first: str) -> None:
        """Read the texts without what stands before a candidate's first line, and before others like it, too."""
        if len(first) < _MIN_FIRST or first in self._firsts or len(self._firsts) == _MAX_HEADS:
            return
        self._firsts.add(first)
        for number in range(len(self._given)):
            self._learn_in(number, first)

    def _learn_in(self, number: int, first: str) -> None:
        """The same for one text."""
        for variant in self._given[number].variants:
            if self.exhausted:
                return
            self._left -= len(variant)
            for prefix in line_prefixes(variant, first):
                had = sum(known == number for known, _ in self._line_prefixes)
                if (number, prefix) in self._line_prefixes or had == _MAX_PREFIXES:
                    continue
                self._line_prefixes.add((number, prefix))
                self._texts.append(without_prefixes(variant, prefix))
                self._left -= len(variant)
                self._by_head.clear()
            for quote in sorted(literal_quotes(variant, first)):
                if (number, quote) not in self._joined:
                    self._joined.add((number, quote))
                    self._join(number, quote)

    def _join(self, number: int, quote: str) -> None:
        """Read a text as strings of a program, too, each of which holds a line."""
        joined = (one for variant in self._given[number].variants for one in joined_literals(variant, quote))
        for text in dict.fromkeys(reading for one in joined for reading in readings(one)):
            self._texts.append(text)
            self._left -= len(text)
            self._by_head.clear()

    @property
    def exhausted(self) -> bool:
        """Whether no more may be searched."""
        return self._left <= 0

    def locations(self, start: str) -> tuple[Location, ...] | None:
        """Where `start` stands; None for more places than are kept."""
        if start not in self._by_head:
            if len(self._by_head) == _MAX_HEADS:
                return None
            self._by_head[start] = self._all(start)
        return self._by_head[start]

    def _all(self, start: str) -> tuple[Location, ...] | None:
        found: list[Location] = []
        location = self.next(start, (0, 0))
        while location is not None:
            found.append(location)
            if len(found) > _MAX_LOCATIONS:
                return None
            location = self.next(start, (location[0], location[1] + 1))
        return None if self.exhausted else tuple(found)

    def next(self, text: str, since: Location) -> Location | None:
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

    def is_at(self, text: str, location: Location, ahead: int) -> bool:
        """Whether `text` stands `ahead` characters behind a place."""
        number, at = location
        return self._texts[number].startswith(text, at + ahead)


class EchoTrace:
    """One candidate that stands in the request so far. White space at its end does not count until more follows."""

    __slots__ = ("_first", "_locations", "_plain", "_quotable", "_size", "_text")

    def __init__(self, quotable: EchoIndex, text: str) -> None:
        self._quotable = quotable
        self._plain = Plain()
        whole = self._plain.feed(text)
        self._locations = quotable.locations(whole[:_HEAD])
        self._first: Location | None = None if self._locations is not None else (0, 0)
        self._size = min(len(whole), _HEAD) if self._locations is not None else 0
        self._text: list[str] = []  # all of it, while only the first place is known
        self._compare(whole[self._size :])

    def grow(self, piece: str) -> bool:
        """The candidate goes on with `piece`: whether it still stands in the request. Not to be asked after False."""
        self._compare(self._plain.feed(piece))
        return self.stands

    @property
    def stands(self) -> bool:
        """Whether all of it that came stands in the request."""
        return bool(self._locations) or self._first is not None or self._quotable.exhausted

    def _compare(self, text: str) -> None:
        """More of the candidate, against all places that are left."""
        if not text:
            return
        ahead = self._size
        if self._locations is not None:
            is_at = self._quotable.is_at
            self._locations = tuple(location for location in self._locations if is_at(text, location, ahead))
        elif self._first is not None:
            self._text.append(text)
            if not self._quotable.is_at(text, self._first, ahead):
                number, at = self._first
                self._first = self._quotable.next("".join(self._text), (number, at + (ahead > 0)))
        self._size += len(text)
