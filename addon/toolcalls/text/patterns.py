"""Regular expressions of the user's, which come to an end whatever the text is.

They are asked about names, arguments and text that a model made up, and one such as `(a|aa)+$` tries for years on forty
letters. Nothing can interrupt `re` while it does. The module `regex` (https://pypi.org/project/regex/) reads the same
expressions and takes a time limit, but each match costs some microseconds more.

Strategy: on a text of n characters an expression is tried in at most about n ** (q + 1) * 2 ** a steps, where q counts
what may repeat and a what is one of two, unless a group repeats. So `re` matches where that is little (names, and most
arguments), and `regex`, with its limit, everything else.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

import regex

SECONDS = 1.0  # of the process's own time, so a busy machine changes nothing
_MAX_STEPS = 1_000_000  # about 20 ms
_NO_LIMIT = 1 << 31
_REPEATS = re.compile(r"[*+{]")
_ALTERNATIVES = re.compile(r"\||(?<!\()\?")
_REPEATED_GROUP = re.compile(r"\)\s*[*+{]")
# What `regex` would read as something of its own: `a{e<2}` (about so), `[[:alpha:]]` (a class). `re` has neither.
_LITERAL_BRACE = re.compile(r"(?<!\\)(?<!\\N)\{(?!\d*,?\d*\})")
_LITERAL_COLON = re.compile(r"\[:")


class Match(Protocol):
    """A match."""

    def end(self) -> int:
        """The offset behind it."""

    def expand(self, template: str) -> str:
        """A replacement with its groups filled in."""


class Pattern:
    """One expression. Whatever it is asked raises TimeoutError where the answer takes longer than SECONDS.

    Raises re.error, OverflowError or RecursionError for what is no expression.
    """

    __slots__ = ("_bounded", "_safe_size", "_unbounded", "text")

    def __init__(self, text: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.text = text
        self._unbounded = re.compile(text, flags)
        self._safe_size = _safe_length(text)
        self._bounded = _bounded(text, flags)

    def search(self, text: str) -> bool:
        """Whether it is found in a text."""
        if len(text) <= self._safe_size:
            return self._unbounded.search(text) is not None
        return self._bounded.search(text, timeout=SECONDS) is not None

    def fullmatch(self, text: str) -> bool:
        """Whether it is a whole text."""
        if len(text) <= self._safe_size:
            return self._unbounded.fullmatch(text) is not None
        return self._bounded.fullmatch(text, timeout=SECONDS) is not None

    def match(self, text: str, start: int, end: int) -> Match | None:
        """The match that begins at `start` and ends at `end` or before; what stands before `start` is seen."""
        if end - start <= self._safe_size:
            return self._unbounded.match(text, start, end)
        return self._bounded.match(text, start, end, timeout=SECONDS)


@lru_cache(maxsize=1024)
def compiled(text: str, flags: re.RegexFlag = re.NOFLAG) -> Pattern:
    """An expression, made once. Raises what `Pattern` does."""
    return Pattern(text, flags)


def match_widths(text: str) -> tuple[int, int | None]:
    """How many characters a match of an expression has at least, and at most (None: no end is known).

    `re`'s own parser knows it; it is none of what Python documents, so where it is missing nothing is known.
    """
    parser: Any = getattr(re, "_parser", None)
    if parser is None:
        return 0, None
    least, most = parser.parse(text).getwidth()
    return least, most if most < _NO_LIMIT else None


def any_fullmatch(patterns: Iterable[Pattern], name: str) -> bool:
    """Whether any of some expressions is the whole of a name; one that takes too long to tell is not."""
    for pattern in patterns:
        try:
            if pattern.fullmatch(name):
                return True
        except TimeoutError:
            continue
    return False


def _safe_length(text: str) -> int:
    """How long a text may be for `re`: -1 for none."""
    if _REPEATED_GROUP.search(text):
        return -1
    repeats, either = len(_REPEATS.findall(text)), len(_ALTERNATIVES.findall(text))
    return int((_MAX_STEPS / 2**either) ** (1 / (repeats + 1)))


def _bounded(text: str, flags: re.RegexFlag) -> "regex.Pattern[str]":
    """The same expression for `regex`. Raises re.error for one that it does not take."""
    spelt = _LITERAL_COLON.sub(r"[\\:", _LITERAL_BRACE.sub(r"\\{", text))
    try:
        return regex.compile(spelt, int(flags))
    except regex.error as error:
        raise re.error(str(error)) from error
