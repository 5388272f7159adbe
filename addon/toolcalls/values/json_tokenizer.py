r"""The tokens of JSON that arrives in pieces, which may be cut anywhere: in an escape, between two surrogates.

    Marks       what stands outside of strings, one mark after the other, whatever else the text is
    Nesting     how many containers are open, and where the first one is closed
    StringText  what a string says

Strategy: what a piece has of a string is passed by one compiled pattern, so work grows with the marks and the pieces.
No text is kept but the beginning of an escape. Who asks whether the text is JSON at all reads with the `transducer`.
"""

import json
import re
import sys
from collections.abc import Callable
from functools import lru_cache

from toolcalls.values.json_tokens import ESCAPE

_BRACKETS = "[]{}"

type _Match = Callable[[str, int], re.Match[str]]


class Marks:
    """Finds marks outside of strings.

    marks   the characters that are marks
    within  those that are marks inside strings as well

    quote    what closes the string that is open, "" outside of strings. A user sets it where a mark opens one
    escaped  the last piece ended after a backslash
    """

    __slots__ = ("_inside", "_outside", "_within", "escaped", "quote")

    def __init__(self, marks: str, within: str = "") -> None:
        self.quote = ""
        self._within = within
        self._outside, self._inside = _patterns(marks, within)
        self.escaped = False

    def next(self, piece: str, at: int) -> int:
        """The offset after the next mark in `piece[at:]`, which is the character before it; -1 where there is none.

        `at` is 0, or what was returned for the same piece before.
        """
        end = len(piece)
        while at < end:
            if self.quote:
                at = self._inside[self.quote](piece, at + self.escaped).end()
                self.escaped = at < end and piece[at] == "\\"  # only the last character can be a lone one
                if self.escaped or at == end:
                    return -1
                at += 1
                if piece[at - 1] in self._within:
                    return at
                self.quote = ""
            at = self._outside(piece, at).end()
            if at < end:
                at += 1
                if piece[at - 1] != '"':
                    return at
                self.quote = '"'
        return -1


@lru_cache(maxsize=64)
def _patterns(marks: str, within: str) -> tuple[_Match, dict[str, _Match]]:
    """What matches everything up to a mark or to a string that goes on; by the quote, the contents of a string.

    Where a string may hold marks, none is passed as a whole. All of these match anywhere, if only nothing.
    """
    plain = {quote: rf"[^{quote}\\{re.escape(within)}]*+" for quote in "\"'"}
    contents = {quote: rf"{one}(?:\\.{one})*+" for quote, one in plain.items()}
    others = rf'[^"{re.escape(marks)}]++'
    outside = rf"(?:{others})?+" if within else rf'(?:{others}|"{contents['"']}")*+'
    return _match(outside), {quote: _match(content) for quote, content in contents.items()}


def _match(pattern: str) -> _Match:
    return re.compile(pattern, re.DOTALL).match  # type: ignore[return-value]


class Nesting(Marks):
    """How deep a JSON text nests: its brackets are counted.

    max_depth  how many containers may be open
    to_close   stops where the first container is closed

    depth      how many containers are open
    """

    __slots__ = ("_max_depth", "_to_close", "depth")

    def __init__(self, max_depth: int = sys.maxsize, *, to_close: bool = False) -> None:
        super().__init__(_BRACKETS)
        self.depth = 0
        self._max_depth = max_depth
        self._to_close = to_close

    @property
    def in_string(self) -> bool:
        """Whether the last piece ended inside a string, and not in the middle of an escape."""
        return self.quote != "" and not self.escaped

    def feed(self, piece: str) -> int:
        """Read the next piece. Returns the offset where it stops, -1 where it does not.

        It stops in front of the bracket that opens one container too many, and after the one that closes the first.
        """
        if self.quote and not self.escaped and self.quote not in piece and "\\" not in piece:
            return -1  # most pieces are like this
        at = 0
        while (at := self.next(piece, at)) > 0:
            if piece[at - 1] in "]}":
                self.depth -= 1
                if self._to_close and self.depth <= 0:
                    return at
            elif self.depth == self._max_depth:
                return at - 1
            else:
                self.depth += 1
        return -1


# The contents of a string up to its quote, or to what may go on: an escape, or the first half of a character.
_TEXT = re.compile(
    r'(?:[^"\\]++|\\[^u]|\\u(?![0-9a-fA-F]{0,3}\Z|[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z))*+',
    re.DOTALL,
)
_ANY_ESCAPE = re.compile(rf"({ESCAPE})|\\")


class StringText:
    """What a JSON string says, behind its opening quote. A backslash that escapes nothing stands for itself."""

    __slots__ = ("_part",)

    def __init__(self) -> None:
        self._part = ""  # of an escape, or of a character that two escapes make

    def feed(self, piece: str) -> tuple[str, int]:
        """What is certain with this piece, and the offset in it after the closing quote; -1: the string goes on."""
        text = self._part + piece
        end = _TEXT.match(text).end()  # type: ignore[union-attr] # it matches anything
        closes = text.startswith('"', end)
        behind = end + 1 - len(self._part) if closes else -1
        self._part = "" if closes else text[end:]
        return decoded(text[:end]), behind


def decoded(content: str) -> str:
    """What the content of a string says, without its quotes."""
    if "\\" not in content:
        return content
    return str(json.loads(f'"{_ANY_ESCAPE.sub(_as_json, content)}"', strict=False))


def _as_json(escape: re.Match[str]) -> str:
    return escape[1] or r"\\"
