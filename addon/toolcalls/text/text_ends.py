"""The beginning and the end of a text that arrives in pieces, and how many lines are between them: memory is bounded.

What is kept depends on the text alone, not on how it was cut.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

FIRST, LAST = 16 * 1024, 32 * 1024  # characters that are kept


class Part(NamedTuple):
    """A part of the text.

    at, line   where it begins: in characters of the whole text, and its line, the first one is 1
    column     characters of that line in front of it
    """

    at: int
    line: int
    column: int
    text: str


class TextEnds:
    """A text as far as it is kept. `size`: the characters of all of it."""

    __slots__ = ("_column", "_dropped", "_first", "_last", "_lines", "size")

    def __init__(self) -> None:
        self.size = 0
        self._first: list[str] = []  # what comes first, and what follows it until there is too much
        self._last: deque[str] = deque()
        self._dropped = 0  # characters in front of `_last`
        self._lines = self._column = 0  # of what was dropped

    def add(self, text: str) -> None:
        """The text goes on."""
        self.size += len(text)
        last = self._last
        if last:
            last.append(text)
        else:
            self._first.append(text)
            if self.size > FIRST + LAST:
                self._overflows()
        while last and self.size - self._dropped - len(last[0]) >= LAST:
            self._drop(last.popleft())

    def _overflows(self) -> None:
        """The text is too long: from here on its first characters and its last ones are kept apart."""
        kept = "".join(self._first)
        self._first = [kept[:FIRST]]
        self._drop(kept[:FIRST])
        self._last.append(kept[FIRST:])

    def _drop(self, text: str) -> None:
        self._dropped += len(text)
        self._lines, self._column = _behind(text, self._lines, self._column)

    def parts(self) -> Iterator[Part]:
        """The text, or its beginning and its end."""
        yield Part(0, 1, 0, "".join(self._first))
        if self._last:
            text = "".join(self._last)
            over = max(0, len(text) - LAST)
            lines, column = _behind(text[:over], self._lines, self._column)
            yield Part(self._dropped + over, lines + 1, column, text[over:])


def place_in(part: Part, at: int) -> tuple[int, int]:
    """The line and the column, both from 1 on, of a character of the whole text that is in this part."""
    lines, column = _behind(part.text[: at - part.at], part.line - 1, part.column)
    return lines + 1, column + 1


def _behind(text: str, lines: int, column: int) -> tuple[int, int]:
    """How many lines end, and how many characters of the next one there are, behind a text that begins there."""
    ended = text.count("\n")
    return lines + ended, len(text) - text.rfind("\n") - 1 if ended else column + len(text)
