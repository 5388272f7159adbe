"""Condition 5: where the request already holds, word for word, the text of a candidate that is still coming.

A text of the request may be there in another form than the one in which a model repeats it: escaped, coloured,
numbered, as strings of a program. `text/echo_forms.py` takes such layers off, and says what of both sides is compared
(`bare`): words and marks, not white space, quotes and escapes. What stands at the end of one text and goes on in the
next is searched as well (`_seams`): a result comes in parts, or line by line.

Strategy. A text's layers are taken off when a candidate comes that it may hold (`RequestText.may_hold`), and not before
the candidate is long enough to differ from others. An `EchoTrace` follows one candidate. It begins with the places at
which the candidate's first characters stand, and every further piece is compared at those places alone. So a piece
costs its own length for each place that is left, and no part of the candidate is looked at twice. The places of a
beginning are searched for once, when the first candidate begins so, and remembered: nearly all candidates of a reply
begin alike (an opener, a tool's name).

Where the request holds a beginning more than `_MAX_LOCATIONS` times, the places are not kept. Then only the first one
is known, and the next one is searched for when the candidate differs there: the text that a candidate repeats never
comes before the place at which its beginning was found first.

Searching is bounded by `_BUDGET` characters, or a few times the request's length: past it every candidate that would
have to be searched for counts as an echo, since a doubt is text. No reply of a real model comes near it.
"""

from collections.abc import Sequence

from toolcalls.text.echo_forms import (
    Bare,
    Canonical,
    bare,
    canonical,
    joined_literals,
    line_prefixes,
    literal_quotes,
    readings,
    without_prefixes,
    words_of,
)
from toolcalls.text.request_text import RequestText

_HEAD = 24  # characters of a candidate by which places are remembered: an opener and a bit of the name
_MAX_HEADS = 256  # beginnings that are remembered
_MIN_FIRST = 4  # characters of a first line that says something of the lines before which it stands
_MAX_PREFIXES = 4  # forms of what comes before a first line that are taken off one text
_MAX_LOCATIONS = 1024  # places of one beginning that are kept
_BUDGET = 256 * 1024 * 1024  # characters that may be searched for one request
_BUDGET_PER_CHAR = 16  # or so many times its length
_SEAM = 1024  # characters of each end of a text that may belong together with its neighbours'

# Which text of the request, and where in it.
type Location = tuple[int, int]


class EchoIndex:
    """The texts of one request that a reply may repeat. Nothing is looked at before the first candidate."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._given = [text if isinstance(text, RequestText) else RequestText(text) for text in texts if text]
        self._unread = list(range(len(self._given)))  # numbers of texts that hold the beginning of no candidate so far
        self._texts: list[str] = []  # the readings of the others
        self._known: set[str] = set()  # the same, but for those that took something off lines
        self._seams: list[str] | None = None  # what may stand across two texts; None while nobody has asked
        self._size = sum(map(len, self._given))
        self._searched = 0  # characters
        self._by_head: dict[str, tuple[Location, ...] | None] = {}
        self._as_given: dict[str, Location | None] = {}  # the first place of a beginning in the texts as they are
        # First lines of candidates whose line prefixes are known, in the order in which they came.
        self._firsts: dict[str, None] = {}
        # The number of a text, and a form of what comes before its lines.
        self._line_prefixes: set[tuple[int, str]] = set()
        self._added: set[str] = set()  # texts that came after the first ones
        self._joined: set[tuple[int, str]] = set()  # the number of a text, and the quotes whose strings were joined

    def add(self, text: str) -> None:
        """One more text, for candidates that begin from now on. What was found in the others stays where it is."""
        if not text or text in self._added:  # some servers say it with each chunk
            return
        self._added.add(text)
        self._unread.append(len(self._given))
        self._given.append(RequestText(text))
        self._size += len(text)
        self._by_head.clear()
        self._as_given.clear()

    def trace(self, text: str) -> "EchoTrace | None":
        """Follows a candidate that begins with `text`; None when that stands nowhere in the request."""
        if not self._given:
            return None
        made = EchoTrace(self, text.lstrip())
        return made if made.stands else None

    def learn(self, first: str) -> None:
        """Also search the texts without the line prefixes that stand in front of a candidate's first line.

        first   the beginning of that line
        """
        if len(first) < _MIN_FIRST or first in self._firsts or len(self._firsts) == _MAX_HEADS:
            return
        self._firsts[first] = None
        unread = set(self._unread)
        for number in range(len(self._given)):
            if number not in unread:
                self._learn_in(number, first)

    def _read_for(self, start: str) -> None:
        """Add the readings of the texts that may hold `start`, a candidate's beginning, in one of their forms."""
        words, unread = words_of(start), []
        for number in self._unread:
            text = self._given[number]
            self._searched += len(text)
            if not text.may_hold(words):
                unread.append(number)
                continue
            for reading in text.readings:
                if reading and reading not in self._known:
                    self._known.add(reading)
                    self._texts.append(reading)
                    self._size += len(reading)
            for first in self._firsts:
                self._learn_in(number, first)
        self._read_seams(words)
        if len(unread) < len(self._unread):
            self._unread = unread
            self._by_head.clear()

    def _read_seams(self, words: Sequence[str]) -> None:
        """Search what stands across two texts as well, where these words are in it."""
        if self._seams is None:
            self._seams = [_seams(self._given, joint) for joint in ("", "\n")] if len(self._given) > 1 else []
        for seams in [one for one in self._seams if all(word in one for word in words)]:
            self._seams.remove(seams)
            self._texts.append(bare(canonical(seams)))
            self._searched += len(seams)
            self._by_head.clear()

    def _learn_in(self, number: int, first: str) -> None:
        """Add the readings of one text without its line prefixes, or without the strings that hold its lines."""
        for variant in self._given[number].variants:
            if self.exhausted:
                return
            self._searched += len(variant)
            for prefix in line_prefixes(variant, first):
                had = sum(known == number for known, _ in self._line_prefixes)
                if (number, prefix) in self._line_prefixes or had == _MAX_PREFIXES:
                    continue
                self._line_prefixes.add((number, prefix))
                self._texts.append(without_prefixes(variant, prefix))
                self._searched += len(variant)
                self._by_head.clear()
            for quote in sorted(literal_quotes(variant, first)):
                if (number, quote) not in self._joined:
                    self._joined.add((number, quote))
                    self._join(number, quote)

    def _join(self, number: int, quote: str) -> None:
        """Also search a text as the string literals of a program, one for each line."""
        joined = (one for variant in self._given[number].variants for one in joined_literals(variant, quote))
        for text in dict.fromkeys(reading for one in joined for reading in readings(one)):
            self._texts.append(text)
            self._searched += len(text)
            self._by_head.clear()

    @property
    def exhausted(self) -> bool:
        """Whether no more may be searched."""
        return self._searched >= max(_BUDGET, _BUDGET_PER_CHAR * self._size)

    def locations(self, start: str) -> tuple[Location, ...] | None:
        """Where a candidate's beginning stands, in the readings; None for more places than are kept."""
        if start not in self._by_head:
            self._read_for(start)
            if len(self._by_head) == _MAX_HEADS:
                return None
            self._by_head[start] = self._all(Bare().feed(start))
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
            self._searched += len(text) + (len(quoted) if found < 0 else found) - at
            if found >= 0:
                return number, found
            number, at = number + 1, 0
        return None

    def is_at(self, text: str, location: Location, ahead: int) -> bool:
        """Whether `text` stands `ahead` characters after a place."""
        number, at = location
        return number < len(self._texts) and self._texts[number].startswith(text, at + ahead)

    def first_as_given(self, start: str, since: Location | None) -> Location | None:
        """The first place, from a place on, of `start` in the texts as they are: what is there, is in a form.

        since   where less of it stood; None for a beginning
        """
        if since is None and start in self._as_given:
            return self._as_given[start]
        number, at = since or (0, 0)
        found = None
        while found is None and number < len(self._given):
            text = self._given[number]
            place = -1 if text.is_coloured else text.find(start, at)
            self._searched += (len(text) if place < 0 else place) - at
            if place >= 0:
                found = number, place
            number, at = number + 1, 0
        if since is None and len(self._as_given) < _MAX_HEADS:
            self._as_given[start] = found
        return found


def _start_of(whole: str) -> tuple[str, int]:
    """As much of a candidate as holds `_HEAD` characters that count, if there are so many, and how many do."""
    rest, size, taken = Bare(), 0, 0
    while size < _HEAD and taken < len(whole):
        step = _HEAD - size
        size += len(rest.feed(whole[taken : taken + step]))
        taken += step
    return whole[:taken], size


def _seams(texts: Sequence[str], joint: str) -> str:
    """The texts one behind the other, of a long one its beginning and its end."""
    return joint.join(text if len(text) <= 2 * _SEAM else f"{text[:_SEAM]}\0{text[-_SEAM:]}" for text in texts)


class EchoTrace:
    """One candidate that is in the request so far. White space at its end does not count until more follows.

    While it is short and is in a text as that is, no form of any text is needed to know that it stands.
    """

    __slots__ = (
        "_as_given", "_bare", "_begun", "_canonical", "_first", "_first_line", "_locations", "_quotable", "_size",
        "_text",
    )  # fmt: skip

    def __init__(self, quotable: EchoIndex, text: str) -> None:
        self._quotable = quotable
        self._canonical, self._bare = Canonical(), Bare()
        self._first_line = Canonical().feed(text.partition("\n")[0]).strip()[:_HEAD]
        self._begun: str | None = ""  # all of it, while it was not searched for in the texts' forms
        self._as_given: Location | None = None  # where it stands meanwhile
        self._locations: tuple[Location, ...] | None = None
        self._first: Location | None = None
        self._size = 0
        self._text: list[str] = []  # all of it, while only the first place is known
        self._begin(self._canonical.feed(text))

    def grow(self, piece: str) -> bool:
        """The candidate goes on with `piece`: whether it still is in the request. Not to be asked after False."""
        text = self._canonical.feed(piece)
        if self._begun is None:
            self._compare(self._bare.feed(text))
        elif text:
            self._begin(self._begun + text)
        return self.stands

    @property
    def stands(self) -> bool:
        """Whether all of it that came is in the request."""
        return self._begun is not None or bool(self._locations) or self._first is not None or self._quotable.exhausted

    def _begin(self, whole: str) -> None:
        """All of a candidate that has not been searched for."""
        self._begun = whole
        if whole and len(whole) < _HEAD:
            self._as_given = self._quotable.first_as_given(whole, self._as_given)
            if self._as_given is not None:
                return
        text = self._bare.feed(whole)
        start, size = _start_of(whole)
        if not size:
            self._bare = Bare()
            return
        self._begun = None
        self._quotable.learn(self._first_line)
        self._locations = self._quotable.locations(start)
        if self._locations is None:
            self._first = (0, 0)
        else:
            self._size = size
        self._compare(text[self._size :])

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
