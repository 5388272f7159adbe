"""Text that arrives in pieces, read as though it were all here. The only place that holds text back.

A grammar is a generator. It asks the scanner for what it wants to know; where the text so far cannot tell, the scanner
yields, and the reader resumes it when the next piece is there or the text has ended. So a grammar reads like one for a
whole string, and the same code serves a stream, a whole reply and a replay.

`text[pos:]` is what nobody has read yet. What a grammar consumes goes to `taken`, in order, and stays there until the
reader drains it: shown as text, taken away as markup, or put back by `rewind` when the place turned out to be no call.
Nothing is ever read twice but by `rewind`, and `text` is as short as what is undecided.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable
from functools import lru_cache

# Finds what matters in a piece; false, as None is, for nothing.
type Search = Callable[[str], object]

# A grammar step: yields when it must see more text, returns its result.
type Step[T] = Generator[None, None, T]

# White space that a grammar looks over between two tags. Past it the tags do not belong together: a look-ahead is not
# consumed, so it must be short to stay linear.
MAX_SPACE = 1024
SPACE = " \t\r\n"


def prefixes_of(literals: Iterable[str]) -> frozenset[str]:
    """All proper prefixes of `literals`, the empty one too."""
    return frozenset({literal[:size] for literal in literals for size in range(len(literal))})


def past(text: str, at: int, characters: str = SPACE) -> int:
    """Where the first character from `at` on stands that is none of these; the end of the text for none."""
    while at < len(text) and text[at] in characters:
        at += 1
    return at


@lru_cache(maxsize=64)
def beginnings(marks: tuple[str, ...]) -> tuple[frozenset[str], int]:
    """All proper prefixes of a dialect's own marks, and the length of the longest mark."""
    return prefixes_of(marks), max(map(len, marks), default=0)


@lru_cache(maxsize=256)
def _in_order(literals: tuple[str, ...]) -> tuple[list[str], int]:
    """`literals` in order, and the length of the longest.

    They may hold the names of a request's tools: a set of all their prefixes would be a hundred times as large.
    """
    return sorted(literals), max(map(len, literals), default=0)


def begins_another(in_order: list[str], part: str) -> bool:
    """Whether one of these literals, in order, is longer than `part` and begins with it."""
    at = bisect_right(in_order, part)
    return at < len(in_order) and in_order[at].startswith(part)


class Scanner:
    """The unread text, the text consumed but undecided, and whether more can come."""

    __slots__ = (
        "_weighed", "_weight", "cut", "ended", "passed", "pos", "streamed", "taken", "taken_size", "text", "wake_on"
    )  # fmt: skip

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        self.passed = 0  # characters that were in front of `text`: `passed + pos` stays the same for a place
        self.taken: list[str] = []
        self.taken_size = 0
        self._weighed = self._weight = 0  # how many pieces of `taken` have been weighed, and their bytes
        self.ended = False
        self.cut = False
        # Set by a grammar that waits inside a string argument: finds what it must look at. A piece without any such
        # thing is argument from its first character to its last, and the grammar need not even be resumed.
        self.wake_on: Search | None = None
        self.streamed = 0  # characters of such pieces that left unread

    def feed(self, piece: str) -> None:
        """Append a piece to the unread text."""
        self.text = self.text[self.pos :] + piece if self.pos < len(self.text) else piece
        self.passed += self.pos
        self.pos = 0

    def end(self, *, cut: bool) -> None:
        """No more text comes. `cut`: the reply broke off or ran into its length limit, so nothing may be completed."""
        self.ended = True
        self.cut = cut

    def take(self, count: int) -> str:
        """Consume `count` characters that are there."""
        stop = self.pos + count
        piece = self.text[self.pos : stop]
        self.pos = stop
        self.taken.append(piece)
        self.taken_size += count
        return piece

    def drain(self, size: int | None = None) -> str:
        """What was consumed since the last drain, joined, or the first `size` characters of it.

        It is decided now and forgotten here.
        """
        self._weighed = self._weight = 0
        if size is None or size >= self.taken_size:
            drained = self.taken[0] if len(self.taken) == 1 else "".join(self.taken)
            self.taken.clear()
            self.taken_size = 0
            return drained
        number = there = 0
        while there < size:
            there += len(self.taken[number])
            number += 1
        drained = "".join(self.taken[:number])
        self.taken[:number] = [drained[size:]] if there > size else []
        self.taken_size -= size
        return drained[:size]

    def taken_from(self, start: int) -> str:
        """What was consumed and not drained, without its first `start` characters."""
        parts: list[str] = []
        at = self.taken_size
        for piece in reversed(self.taken):
            if at <= start:
                break
            parts.append(piece)
            at -= len(piece)
        return "".join(reversed(parts))[max(0, start - at) :]

    def weight(self) -> int:
        """How many bytes of UTF-8 were consumed and not drained. Each piece is looked at once."""
        for piece in self.taken[self._weighed :]:
            self._weight += len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogatepass"))
        self._weighed = len(self.taken)
        return self._weight

    @property
    def held(self) -> int:
        """How many characters were fed and not drained."""
        return self.taken_size + len(self.text) - self.pos

    def held_weight(self) -> int:
        """How many bytes of UTF-8 were fed and not drained, at most."""
        unread = len(self.text) - self.pos
        return self.weight() + (unread if self.text.isascii() else 4 * unread)

    def rewind(self, size: int = 0) -> None:
        """Put back what was consumed and not drained, all but its first `size` characters, to be read again."""
        whole = "".join(self.taken)
        back = self.taken_size - size
        if back <= self.pos:  # it still is in `text`, which may be long
            self.pos -= back
        else:
            self.text = whole[size:] + self.text[self.pos :]
            self.passed += self.pos - back
            self.pos = 0
        self.taken = [whole[:size]]
        self.taken_size = size
        self._weighed = self._weight = 0

    def starts(self, literal: str, ahead: int = 0) -> Step[bool]:
        """Whether `literal` stands `ahead` characters from here. Waits only while it still may."""
        while True:
            at = self.pos + ahead
            if self.text.startswith(literal, at):
                return True
            rest = len(self.text) - at
            if self.ended or rest >= len(literal) or not literal.startswith(self.text[at:]):
                return False
            yield

    def among(self, literals: tuple[str, ...], ahead: int = 0) -> Step[str | None]:
        """The longest of `literals` that stands `ahead` characters from here, or None. Waits only while one may."""
        in_order, longest = _in_order(literals)
        while True:
            at = self.pos + ahead
            tail = self.text[at : at + longest]
            if self.ended or not begins_another(in_order, tail):
                break
            yield
        if not tail.startswith(literals):
            return None
        return max((literal for literal in literals if tail.startswith(literal)), key=len)

    def find(self, literal: str, ahead: int, limit: int) -> Step[int]:
        """The offset of the first `literal` from `ahead` on that ends before `limit`; -1 for none."""
        while (at := self.text.find(literal, self.pos + ahead, self.pos + limit)) < 0:
            if self.ended or self.rest() >= limit:
                return -1
            ahead = max(ahead, self.rest() - len(literal) + 1)
            yield
        return at - self.pos

    def search(self, pattern: re.Pattern[str], ahead: int, limit: int, longest: int) -> Step[re.Match[str] | None]:
        """The first match of `pattern` from `ahead` on that ends before `limit`, None for none.

        longest   characters of the part of a match that may be here already
        """
        begin = ahead
        while (found := pattern.search(self.text, self.pos + begin, self.pos + limit)) is None:
            if self.ended or self.rest() >= limit:
                return None
            begin = max(ahead, self.rest() - longest)
            yield
        return found

    def half(self, literal: str) -> int:
        """How many characters at the end of the unread text may begin `literal`."""
        text, at = self.text, max(self.pos, len(self.text) - len(literal) + 1)
        while (at := text.find(literal[0], at)) >= 0:
            if literal.startswith(text[at:]):
                return len(text) - at
            at += 1
        return 0

    def match(
        self, whole: re.Pattern[str], part: re.Pattern[str], ahead: int, longest: int
    ) -> Step[re.Match[str] | None]:
        """What `whole` matches `ahead` characters from here, None where it cannot: offsets are those of `text`.

        part      matches all that may still become it
        longest   characters that it may have
        """
        while True:
            at, limit = self.pos + ahead, self.pos + ahead + longest
            found = whole.match(self.text, at, limit)
            if found is not None or self.ended or len(self.text) >= limit:
                return found
            if part.fullmatch(self.text, at) is None:
                return None
            yield

    def stops_short(self, literals: tuple[str, ...], ahead: int = 0) -> bool:
        """Whether the text has ended inside one of `literals`, `ahead` characters from here, or right before one."""
        if not self.ended:
            return False
        text, at = self.text, past(self.text, self.pos + ahead)
        rest = text[at : at + _in_order(literals)[1]]  # at most as long as the longest of them
        return at + len(rest) == len(text) and any(literal.startswith(rest) for literal in literals)

    def rest(self) -> int:
        """How many characters are unread."""
        return len(self.text) - self.pos

    def space(self, ahead: int = 0) -> Step[int]:
        """The offset of the first character, from `ahead` on, that is not white space. Looks over MAX_SPACE at most."""
        offset = ahead
        while True:
            text, end = self.text, len(self.text)
            at = self.pos + offset
            while at < end and text[at] in SPACE:
                at += 1
            offset = at - self.pos
            if at < end or self.ended or offset - ahead > MAX_SPACE:
                return min(offset, ahead + MAX_SPACE)
            yield
