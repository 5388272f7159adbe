"""The limits of one call, `max_call_chars` and `max_depth`, and of held text: met at one character, however text came.

Where a limit is far away, a piece of any usual size is read at once. Where one may be met inside a piece, less of it is
read, in the end one character at a time (`at_once`).
"""

import re
from itertools import repeat

from toolcalls.events import Reason
from toolcalls.reading.candidate import Candidate

# A character of text becomes six of JSON at most (`\u0000`), and a closing tag a few; so many are read at once as fit.
_GROWTH = 8
_AT_ONCE = 64 * 1024
_NESTS = "[{(<"  # what may open a container, in any dialect
_OPENING = re.compile(r"[\[{(<]")


class CallLimits:
    """Counts what a call's grammar reports against the limits.

    free         how many characters can be read at once without a look: no limit is passed inside them
    max_held     bytes of UTF-8 of text that may be undecided
    half         half of `max_call_chars`; below it no piece needs a closer look
    reported_at  the offset in the reply's text where the grammar last reported something of the call's arguments
    """

    __slots__ = ("_far", "_max_chars", "free", "half", "max_depth", "max_held", "reported_at")

    def __init__(self, max_chars: int, max_depth: int, max_held: int) -> None:
        self.max_held = max_held
        self._max_chars = max_chars
        self.max_depth = max_depth
        self.half = max_chars // 2
        self.free = self._far = min(self.half // _GROWTH, max_depth // 2)
        self.reported_at = 0

    def reset(self) -> None:
        """No call is being read, or a new one begins."""
        self.free = self._far

    def add(self, candidate: Candidate, json: str) -> Reason | None:
        """Give a call its next piece of argument JSON, up to the limit that it passes. Returns that limit."""
        candidate.collected = 0
        size = candidate.size + len(json)
        limit: Reason | None = None
        if size <= self.half and candidate.nesting.in_string and '"' not in json and json[-1:] != "\\":
            candidate.size = size  # the usual piece, in the middle of a string
            candidate.pieces.append(json)
            return None
        if size > self._max_chars:
            json, limit = json[: self._max_chars - candidate.size], "max_call_chars"
        excess = candidate.nesting.feed(json)
        if excess >= 0:
            json, limit = json[:excess], "max_depth"
        candidate.size += len(json)
        candidate.pieces.append(json)
        self._watch(candidate)
        return limit

    def collect(self, candidate: Candidate, size: int) -> Reason | None:
        """Count `size` characters that the grammar keeps for a piece to come. Returns the limit that they pass."""
        candidate.collected += size
        self._watch(candidate)
        return "max_call_chars" if candidate.size + candidate.collected > self._max_chars else None

    def keeps_too_much(self, at: int) -> bool:
        """Whether the grammar, which has read to `at`, keeps more than a call may have without reporting it."""
        kept = at - self.reported_at
        if kept <= self.half:
            return False
        self.free = (self._max_chars - kept) // _GROWTH
        return kept > self._max_chars

    def has_room(self, piece: str, held: int) -> bool:
        """Whether a piece can be read without a look after `held` characters of undecided text: no limit is near."""
        return len(piece) <= self.free and 4 * (held + len(piece)) <= self.max_held

    def at_once(self, text: str, start: int, candidate: Candidate | None, at: int, held: int) -> int:
        """How many characters of `text` are to be read at once, from `start` on.

        `candidate`: the call that is open, None for none; `at`: the offset in the reply's text that was read to;
        `held`: bytes of text that is undecided. Past their limit, what is held is looked at after each character.
        """
        size, depth = self._max_chars // _GROWTH, self.max_depth
        if candidate is not None:
            size, depth = self._room(candidate, at - self.reported_at)
        room = max(0, self.max_held - held)
        if not text[start : start + room].isascii():
            room //= 4  # as many bytes as a character may have
        stop = min(len(text), start + max(1, min(size, room, _AT_ONCE)))
        if stop - start > depth and sum(map(text.count, _NESTS, repeat(start), repeat(stop))) > depth:
            for number, opening in enumerate(_OPENING.finditer(text, start, stop)):
                if number == depth:
                    return max(1, opening.start() - start)
        return stop - start

    def _watch(self, candidate: Candidate) -> None:
        """Set `free`: a lot, until the call has come half the way to a limit."""
        self.free = self._far
        if candidate.size + candidate.collected > self.half or candidate.nesting.depth > self.max_depth // 2:
            self.free = min(self._room(candidate, 0))

    def _room(self, candidate: Candidate, unreported: int) -> tuple[int, int]:
        """How many characters, and how many that open a container, come before a limit may be passed."""
        kept = max(candidate.size + candidate.collected, unreported)
        return (self._max_chars - kept) // _GROWTH, self.max_depth - candidate.nesting.depth
