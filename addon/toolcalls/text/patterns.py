"""Regular expressions of the user's, which come to an end whatever the text is.

They are asked about names, arguments and text that a model made up, and one such as `(a|aa)+$` tries for years on forty
letters. Nothing can interrupt `re` while it does.

Strategy: RE2 answers in time that is linear in the text (`linear_search`), whatever it holds, and what that costs is
counted in characters, so that the same reply costs the same on every machine. For what it cannot tell (lookaround, back
references, words and capitals beyond ASCII, where a match begins and ends) there is the module `regex`
(https://pypi.org/project/regex/), which reads the same expressions as `re` and takes a time limit. `Work` bounds both
for all expressions of an exchange together.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from time import thread_time
from typing import TYPE_CHECKING, Protocol

from toolcalls.text.linear_search import LinearSearch, parsed

if TYPE_CHECKING:
    import regex

_CHARACTERS = 1 << 28  # under half a second for most expressions
_SECONDS = 1.0  # of the process's own time, so a busy machine changes nothing
_MAX_STEPS = 1_000_000  # about 20 ms
_NO_LIMIT = 1 << 31
_REPEATS = re.compile(r"[*+{]")
_ALTERNATIVES = re.compile(r"\||(?<!\()\?")
_REPEATED_GROUP = re.compile(r"\)\s*[*+{]")
# What `regex` would read as something of its own: `a{e<2}` (about so), `[[:alpha:]]` (a class). `re` has neither.
_LITERAL_BRACE = re.compile(r"(?<!\\)(?<!\\N)\{(?!\d*,?\d*\})")
_LITERAL_COLON = re.compile(r"\[:")


class TooMuchWork(Exception):
    """An answer would cost more than is left for the expressions of this exchange."""


class Work:
    """What the expressions of one exchange may still cost, all of them together.

    characters   that are searched in linear time, counted for each expression anew
    seconds      of computing, for what only backtracking can tell
    """

    __slots__ = ("_characters", "_seconds")

    def __init__(self, *, characters: int = _CHARACTERS, seconds: float = _SECONDS) -> None:
        self._characters = characters
        self._seconds = seconds

    def search(self, size: int) -> None:
        """A text of `size` characters is searched in linear time. Raises TooMuchWork."""
        self._characters -= size
        if self._characters < 0:
            raise TooMuchWork

    def backtrack[T](self, ask: Callable[[float], T]) -> T:
        """The answer of `ask`, which is given the seconds that are left. Raises TooMuchWork."""
        if self._seconds <= 0:
            raise TooMuchWork
        began = thread_time()
        try:
            return ask(self._seconds)
        except TimeoutError:
            self._seconds = 0
            raise TooMuchWork from None
        finally:
            self._seconds -= thread_time() - began


class Match(Protocol):
    """A match."""

    def end(self) -> int:
        """The offset after it."""

    def expand(self, template: str) -> str:
        """A replacement with its groups filled in."""


class Pattern:
    """One expression. Whatever it is asked raises TooMuchWork where the answer would cost more than is left.

    Raises re.error, OverflowError or RecursionError for what is no expression.
    """

    __slots__ = ("_bounded", "_linear", "_safe_size", "_unbounded", "text")

    def __init__(self, text: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.text = text
        self._unbounded = re.compile(text, flags)
        self._safe_size = _safe_length(text)
        self._bounded = _bounded(text, flags)
        self._linear = LinearSearch(text, flags)

    def search(self, text: str, work: Work) -> bool:
        """Whether it is found in a text."""
        work.search(len(text))
        found = self._linear.finds(text)
        if found is None:
            return work.backtrack(lambda seconds: self._bounded.search(text, timeout=seconds) is not None)
        return found

    def fullmatch(self, text: str, work: Work) -> bool:
        """Whether it is a whole text."""
        work.search(len(text))
        found = self._linear.finds(text, whole=True)
        if found is None:
            return work.backtrack(lambda seconds: self._bounded.fullmatch(text, timeout=seconds) is not None)
        return found

    def match(self, text: str, start: int, end: int, work: Work) -> Match | None:
        """The match that begins at `start` and ends at `end` or before; what comes before `start` is seen.

        On a text of n characters an expression is tried in at most about n ** (q + 1) * 2 ** a steps, where q counts
        what may repeat and a what is one of two, unless a group repeats. Where that is little, `re` is quicker.
        """
        if end - start <= self._safe_size:
            return work.backtrack(lambda _: self._unbounded.match(text, start, end))
        return work.backtrack(lambda seconds: self._bounded.match(text, start, end, timeout=seconds))


@lru_cache(maxsize=1024)
def compiled(text: str, flags: re.RegexFlag = re.NOFLAG) -> Pattern:
    """An expression, made once. Raises what `Pattern` does."""
    return Pattern(text, flags)


def match_widths(text: str) -> tuple[int, int | None]:
    """How many characters a match of an expression has at least, and at most (None: no end is known)."""
    read = parsed(text)
    if read is None:
        return 0, None
    least, most = read.getwidth()
    return least, most if most < _NO_LIMIT else None


def any_fullmatch(patterns: Iterable[Pattern], name: str, work: Work) -> bool:
    """Whether one of these expressions matches a whole name. One that costs too much counts as no match."""
    for pattern in patterns:
        try:
            if pattern.fullmatch(name, work):
                return True
        except TooMuchWork:
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
    import regex  # noqa: PLC0415 - it is slow to load, and mitmproxy starts without it

    spelt = _LITERAL_COLON.sub(r"[\\:", _LITERAL_BRACE.sub(r"\\{", text))
    try:
        return regex.compile(spelt, int(flags))
    except regex.error as error:
        raise re.error(str(error)) from error
