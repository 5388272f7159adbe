"""The rest of a call, looked at as far as its closer: where a value ends when the tag behind it does not say.

A value's closer counts where the grammar goes on behind it. Where a value holds an opener of its own kind, or behind
its closer stands an element that the call has already or that the tool does not declare, one tag behind it proves
nothing: a file that documents the form has these tags too. There the grammar must go on as far as the call's own
closer, or the reply's end. Of several closers from which it does, the one that balances the openers wins, else the
first.

An opener in a value is the value's, but for that of a parameter that the call lacks and that does not come later: there
the closer in front of it was lost.

What is looked at is kept for the next value of the same call, since the places of its tags stay. It waits for the
call's closer and one tag more, at most `_MOST` characters: at that limit the first closer that qualifies decides.
"""

from bisect import bisect_left
from typing import Final, Literal, NamedTuple, Protocol

from toolcalls.shapes.tags.raw import find_mark
from toolcalls.shapes.words import character
from toolcalls.text.scanner import Scanner, Step

type Kind = Literal["opens", "empty", "closes", "call", "call_end"]

OPENS: Final = "opens"  # a parameter, or an element in its place
EMPTY: Final = "empty"  # one that closes itself
CLOSES: Final = "closes"
CALL: Final = "call"  # a call's opening tag with the beginning of a body after it
CALL_END: Final = "call_end"

_MOST = 64 * 1024  # characters
# Whether elements belong to a call is asked anew for each: marks that are looked at, and elements in each other before
# one is known.
_MOST_LOOKS = 32
_MOST_UNKNOWN = 8
_MOST_WORK = 32  # tags that are gone through again for each tag of the call


class Seen(NamedTuple):
    """A tag that means something.

    element   what its closer is called, the same for all where the form has one closer for all values
    key       the parameter that it opens, "" where it names none
    """

    kind: Kind
    length: int
    element: str = ""
    key: str = ""


class Grammar(Protocol):
    """A form's tags, in one call. Places are so many characters `ahead`."""

    @property
    def marks(self) -> str:
        """The characters that they begin with."""

    def seen(self, scan: Scanner, ahead: int) -> Step[Seen | None]:
        """The tag that begins here."""

    def layout(self, scan: Scanner, ahead: int) -> Step[int]:
        """The place behind what means nothing between two tags."""

    def call_over(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether, behind a value, the call ends here without its own closer: the reply ends, another call begins."""

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether, after a call's closer, its block goes on or ends, so that the call ends there indeed."""

    def lacks(self, key: str) -> bool:
        """Whether this is a parameter of the call that it does not have so far."""


class End(NamedTuple):
    """How a value ends.

    how      by its closer; without one in front of the next value (`next`) or of the call's closer (`call_end`); or
             not here: all up to `at` is its own
    at       how far away that is
    length   of the closer
    """

    how: Literal["closer", "next", "call_end", "goes_on"]
    at: int
    length: int = 0


class _Tag(NamedTuple):
    """A tag at its place, which counts from the reply's beginning.

    behind   the place of what follows it after layout
    over     the call is over there
    """

    kind: Kind
    at: int
    end: int
    element: str
    key: str
    behind: int
    over: bool


class RestOfCall:
    """What is ahead in one call, as far as somebody had to know."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._begin(0)

    def _begin(self, at: int) -> None:
        self._from = self._looked = at
        self._tags: list[_Tag] = []
        self._quoted: list[bool] = []  # whether the tag is in a call that is quoted whole
        self._calls: list[int] = []  # quoted calls that are open
        self._ends: list[int] = []  # the call's closers, as it seems: numbers of tags
        self._unclosed: set[int] = set()  # those of them that no value's closer comes before
        self._stopped: Literal["", "ended", "limit"] = ""
        self._judged = (-1, False)
        self._good: list[bool] = []
        self._closers: dict[tuple[str, bool], list[int]] = {}  # those from which it goes on; whether they are quoted
        self._following: list[int] = []
        self._work = 0

    # Collecting

    def _covers(self, at: int) -> bool:
        """Whether what was looked at is enough for a tag that is there. At the limit, only half of it is."""
        return self._from <= at < self._looked and not (self._stopped == "limit" and at - self._from > _MOST // 2)

    def _collect(self, scan: Scanner) -> Step[None]:
        """One tag more, or what stopped."""
        grammar, here = self._grammar, scan.passed + scan.pos
        limit = self._from + _MOST - here
        found = yield from find_mark(scan, grammar.marks, self._looked - here, limit)
        if found < 0:
            self._stopped = "limit" if scan.rest() >= limit else "ended"
            return
        seen = yield from grammar.seen(scan, found)
        self._looked = here + found + (seen.length if seen else 1)
        if seen is None:
            return
        behind, over = found + seen.length, False
        if seen.kind in {CLOSES, EMPTY}:
            over = yield from grammar.call_over(scan, behind)
            behind = yield from grammar.layout(scan, behind)
        number = len(self._tags)
        if seen.kind == CALL:
            self._calls.append(number)
        elif seen.kind == CALL_END and self._calls:
            begun = self._calls.pop()
            self._quoted[begun:] = [True] * (number - begun)
        elif seen.kind == CALL_END:
            before = self._tags[-1] if self._tags else None
            if before is None or before.behind != here + found or before.kind not in {CLOSES, EMPTY}:
                if not (yield from grammar.block_ends(scan, behind)):
                    return
                self._unclosed.add(number)
            self._ends.append(number)
        self._tags.append(
            _Tag(seen.kind, here + found, here + found + seen.length, seen.element, seen.key, here + behind, over)
        )
        self._quoted.append(False)

    # Deciding

    def end_of(self, scan: Scanner, ahead: int, element: str, *, misses: bool = False) -> Step[End]:
        """Where the value ends in which a tag is so many characters `ahead`.

        element   what the value's closer is called
        misses    the tag opens a parameter that the call lacks
        """
        here = scan.passed + scan.pos
        if not self._covers(here + ahead):
            self._begin(here + ahead)
        while not self._stopped and self._looked <= here + ahead:
            yield from self._collect(scan)
        first = bisect_left(self._tags, here + ahead, key=lambda tag: tag.at)
        number = bisect_left(self._ends, first)
        while True:
            while number == len(self._ends) and not self._stopped:
                yield from self._collect(scan)
            last = number >= len(self._ends)
            upto = len(self._tags) if last else self._ends[number] + 1
            self._judge(upto, at_limit=last and self._stopped == "limit")
            closer = self._balanced(first, upto, element)
            if closer is not None:
                return self._at(here, closer)
            if last:
                break
            while len(self._tags) == upto and not self._stopped:
                yield from self._collect(scan)
            after = self._tags[upto] if len(self._tags) > upto else None
            if after is None or after.kind != CLOSES or after.element != element:
                break
            number += 1  # the call's closer was the value's
        end = self._unbalanced(here, first, element, misses=misses, at_limit=last and self._stopped == "limit")
        if end.how == "goes_on" and not last:
            call_end = self._tags[upto - 1]
            if upto - 1 in self._unclosed or (yield from self._grammar.block_ends(scan, call_end.end - here)):
                return End("call_end", call_end.at - here)
        return end

    def goes_on_from(self, scan: Scanner, ahead: int) -> Step[frozenset[str] | None]:
        """The parameters of a call whose elements begin `ahead` characters from here; None where they lead nowhere.

        They lead to the call's closer; where that is far, to a parameter that the call lacks.
        """
        ahead = yield from self._grammar.layout(scan, ahead)
        seen = yield from self._grammar.seen(scan, ahead)
        if seen is None or seen.kind not in {OPENS, EMPTY}:
            return None
        here = scan.passed + scan.pos
        self._begin(here + ahead)
        known, element = bool(seen.key), seen.element
        looks = depth = 0
        while not self._ends and not self._stopped and looks < _MOST_LOOKS:
            looks, seen_so_far = looks + 1, len(self._tags)
            yield from self._collect(scan)
            if known or len(self._tags) == seen_so_far:
                continue
            tag = self._tags[-1]
            depth += (tag.kind == OPENS) - (tag.kind == CLOSES)
            if depth > _MOST_UNKNOWN:
                return None
            before = self._tags[-2].behind if len(self._tags) > 1 else -1
            if tag.kind in {OPENS, EMPTY} and tag.at == before:
                known, element = bool(tag.key), tag.element
            elif tag.kind == CLOSES and tag.element == element:
                follows = yield from character(scan, tag.behind - here)
                if follows and follows not in self._grammar.marks:
                    return None  # what the tool does not declare is not looked for in text
        upto = self._ends[0] + 1 if self._ends else len(self._tags)
        self._judge(upto, at_limit=known and not self._ends and self._stopped != "ended")
        return frozenset(self._keys_from(0) - {""}) if self._good[0] else None

    def _at(self, here: int, number: int) -> End:
        tag = self._tags[number]
        return End("closer", tag.at - here, tag.end - tag.at)

    def _judge(self, upto: int, *, at_limit: bool) -> None:
        """Find out from which of the first tags the grammar goes on as far as the call's closer."""
        if self._judged == (upto, at_limit):
            return
        self._judged = (upto, at_limit)
        lacks = self._grammar.lacks
        self._good, self._following = [False] * upto, [-1] * upto
        self._closers = {}
        paired = self._paired(upto)
        nearest: dict[str, int] = {}  # the next closer from which it does, by what it is called
        unclosed = upto > 0 and upto - 1 in self._unclosed
        begins = False  # further on a parameter begins that the call lacks
        for number in range(upto - 1, -1, -1):
            tag = self._tags[number]
            if tag.kind in {CLOSES, EMPTY}:
                after = self._tags[number + 1] if number + 1 < upto else None
                good = tag.over
                if after is not None and after.at == tag.behind:
                    good = good or after.kind == CALL_END or (after.kind in {OPENS, EMPTY} and self._good[number + 1])
                    self._following[number] = number + 1
                self._good[number] = good
                if good and tag.kind == CLOSES:
                    nearest[tag.element] = number
                    if number not in paired:
                        self._closers.setdefault((tag.element, self._quoted[number]), []).append(number)
            elif tag.kind == OPENS:
                lacking = lacks(tag.key)
                self._following[number] = nearest.get(tag.element, -1)
                good = self._following[number] >= 0 or unclosed or (lacking and (begins or at_limit))
                self._good[number] = good
                begins = begins or (good and lacking)
        for closers in self._closers.values():
            closers.reverse()
        self._work += upto

    def _paired(self, upto: int) -> set[int]:
        """The closers in quoted calls whose openers are in them, too: they end no value around such a call."""
        paired: set[int] = set()
        open_: dict[str, int] = {}
        for number in range(upto):
            tag = self._tags[number]
            if not self._quoted[number]:
                open_.clear()
            elif tag.kind == OPENS:
                open_[tag.element] = open_.get(tag.element, 0) + 1
            elif tag.kind == CLOSES and open_.get(tag.element):
                open_[tag.element] -= 1
                paired.add(number)
        return paired

    def _closer(self, first: int, element: str, *, quoted: bool) -> int | None:
        """The first closer of a value from which the grammar goes on."""
        closers = self._closers.get((element, quoted), [])
        place = bisect_left(closers, first)
        return closers[place] if place < len(closers) else None

    def _balanced(self, first: int, upto: int, element: str) -> int | None:
        """The closer that balances the openers of a value, None where none does."""
        if self._closer(first, element, quoted=False) is None or self._work > _MOST_WORK * len(self._tags) + _MOST:
            return None
        depth = 0
        for number in range(first, upto):
            tag = self._tags[number]
            if tag.element != element or tag.kind not in {OPENS, CLOSES}:
                continue
            if tag.kind == OPENS:
                depth += 1
            elif depth == 0 and self._good[number] and not self._quoted[number]:
                self._work += number - first
                return number
            else:
                depth = max(0, depth - 1)
        self._work += upto - first
        return None

    def _unbalanced(self, here: int, first: int, element: str, *, misses: bool, at_limit: bool) -> End:
        """How the value ends where nothing balances."""
        closer = self._closer(first, element, quoted=False)
        if closer is None and not at_limit:
            closer = self._closer(first, element, quoted=True)
        later = set() if closer is None else self._keys_from(closer)
        if misses and not at_limit and self._good[first] and self._tags[first].key not in later:
            return End("next", self._tags[first].at - here)
        if closer is not None:
            return self._at(here, closer)
        return End("goes_on", self._looked - here)

    def _keys_from(self, number: int) -> set[str]:
        """The parameters that come from a tag on, from which the grammar goes on."""
        keys = set()
        while 0 <= number < len(self._following):
            if self._tags[number].kind in {OPENS, EMPTY}:
                keys.add(self._tags[number].key)
            self._work += 1
            number = self._following[number]
        return keys
