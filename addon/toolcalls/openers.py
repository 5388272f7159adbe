"""Where candidates begin: the openers of all dialects that a route reads, found in one linear pass.

`find` gives the next opener in a text; `held` says from where on the end of a text may still become one. Models leak a
stray word alone in front of an opener; where a dialect names such words, they are part of the opener.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from toolcalls.scanner import beginnings
from toolcalls.shapes import Dialect

_NOTHING = re.compile(r"(?!)")


class Opener(NamedTuple):
    """An opener at `start`, with `stray` characters of a leaked word before it that go with it."""

    start: int
    stray: int
    length: int
    dialects: tuple[Dialect, ...]


@lru_cache(maxsize=64)
def openers_of(dialects: tuple[Dialect, ...], names: tuple[str, ...]) -> "Openers":
    """The openers of these dialects where tools of these names are declared; the turns of a session share them."""
    return Openers(dialects, names)


class Openers:
    """The openers of some dialects for one request's tools. Never changes."""

    def __init__(self, dialects: tuple[Dialect, ...], names: tuple[str, ...]) -> None:
        self._dialects: dict[str, tuple[Dialect, ...]] = {}
        strays: dict[str, None] = {}
        for dialect in dialects:
            strays.update(dict.fromkeys(dialect.strays))
            for literal in dialect.openers(names):
                self._dialects[literal] = (*self._dialects.get(literal, ()), dialect)
        literals = tuple(sorted(self._dialects, key=len, reverse=True))
        self._beginnings, self._longest = beginnings(literals)
        self._pattern = re.compile(_any_literal(literals)) if literals else _NOTHING
        characters = {literal[0] for literal in literals}
        self._first = _any_of(characters) or _NOTHING
        self.only_angles = characters <= {"<"}
        # Where a `<` stands only at the start of openers, only the last one in a text can begin one that is arriving.
        self._angled = self.only_angles and all(literal.rfind("<") == 0 for literal in literals)
        self._stray_before = self._stray_at_end = None
        if strays:
            words = "|".join(map(re.escape, strays))
            parts = "|".join(re.escape(part) for part in sorted(beginnings(tuple(strays))[0], reverse=True) if part)
            gap = r"[ \t]*(?:\r?\n)?[ \t]*"
            self._stray_before = re.compile(rf"(?:^|[\n\r])[ \t]*((?:{words}){gap})\Z")
            self._stray_at_end = re.compile(rf"(?:^|[\n\r])[ \t]*((?:{words})[ \t]*\r?(?:\n[ \t]*)?|{parts})\Z")
            self._reach = max(map(len, strays)) + 32

    def possible(self, piece: str) -> bool:
        """Whether `piece` holds a character that begins an opener."""
        return self._first.search(piece) is not None

    def stray(self, piece: str, *, line_start: bool) -> bool:
        """Whether `piece`, in which no opener is possible, ends with what may be a stray word."""
        return self._stray_from(piece, 0, line_start=line_start) < len(piece)

    def find(self, text: str, start: int, *, line_start: bool) -> Opener | None:
        """The first opener at or behind `start`. `line_start`: only white space stands before `start` on its line."""
        match = self._pattern.search(text, start)
        if match is None:
            return None
        dialects = self._dialects[match.group()]
        stray = 0
        if any(dialect.strays for dialect in dialects):
            word = self._stray(self._stray_before, text, start, match.start(), line_start=line_start)
            stray = match.start() - word
        return Opener(match.start(), stray, match.end() - match.start(), dialects)

    def held(self, text: str, start: int, *, line_start: bool) -> int:
        """The offset from which on the end of `text` may still become an opener; len(text) when none may."""
        begin = end = len(text)
        if self._angled:
            last = text.rfind("<", max(start, end - self._longest))
            if last >= 0 and text[last:] in self._beginnings:
                begin = last
        else:
            for match in self._first.finditer(text, max(start, end - self._longest)):
                if text[match.start() :] in self._beginnings:
                    begin = match.start()
                    break
        if begin < end:  # the opener that is arriving may have a stray word before it
            return self._stray(self._stray_before, text, start, begin, line_start=line_start)
        return self._stray_from(text, start, line_start=line_start)

    def _stray_from(self, text: str, start: int, *, line_start: bool) -> int:
        if not (line_start or "\n" in text or "\r" in text):
            return len(text)
        return self._stray(self._stray_at_end, text, start, len(text), line_start=line_start)

    def _stray(self, pattern: re.Pattern[str] | None, text: str, start: int, end: int, *, line_start: bool) -> int:
        """Where a stray word begins that ends at `end`, else `end`."""
        if pattern is None:
            return end
        begin = max(start, end - self._reach)
        # What stands before `begin` decides whether its first line begins there.
        fresh = line_start if begin == start else False
        tail = text[begin:end] if fresh else "x" + text[begin:end]
        found = pattern.search(tail)
        return end if found is None else found.start(1) + begin - (0 if fresh else 1)


def _any_literal(literals: Iterable[str]) -> str:
    """A pattern for any of them, the longest that stands: shared beginnings are tried once, not once for each."""
    following: dict[str, list[str]] = {}
    whole = False
    for literal in literals:
        if literal:
            following.setdefault(literal[0], []).append(literal[1:])
        else:
            whole = True
    if not following:
        return ""
    branches = [re.escape(first) + _any_literal(rest) for first, rest in following.items()]
    joined = branches[0] if len(branches) == 1 and not whole else f"(?:{'|'.join(branches)})"
    return f"{joined}?" if whole else joined


def _any_of(characters: set[str]) -> re.Pattern[str] | None:
    return re.compile("[" + re.escape("".join(sorted(characters))) + "]") if characters else None
