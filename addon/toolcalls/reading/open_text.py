"""Text in which nobody looks for calls in JSON or Python: it is kept as it passes, so that calls in it get a verdict.

Such a call counts only as the whole message, so beside other text its brackets and fences are text and leave at once.
What follows a line that may begin one is kept, up to a bound, and looked at when it ends: at the reply's end, at a call
in another dialect, and at the bound. Lines of prose do not begin like that, and cost nothing.
"""

import re
from collections.abc import Callable, Iterable

from toolcalls.events import Verdict

MOST = 64 * 1024  # characters that are kept at once

# Finds the calls in what was kept: the text, its place in the reply, whether it was cut off.
type Look = Callable[[str, int, bool], list[Verdict]]

_SIGNS = "[<{`~"  # of JSON, of fences, and of what quotes
_LINE_END = re.compile(r"[\n\r]")
_LINE_BEGINS = re.compile(r"[\n\r][ \t]*(?=[^\s])")
_BLANKS = re.compile(r"[ \t]*(?=[^\s])")


class OpenText:
    """The text of one reply that is kept.

    keeps   text is kept now: whatever is shown must be given to `add` or `text`
    """

    def __init__(self, names: Iterable[str], look: Look, *, whole: bool) -> None:
        """`look` finds the calls. `whole`: text is kept from its beginning on, as all of it may be JSON."""
        self._names: dict[str, list[str]] = {}
        for name in filter(None, names):
            self._names.setdefault(name[0], []).append(name)
        self._look = look
        self._whole = whole
        self._pieces: list[str] = []
        self._size = self._start = 0
        self._unsure = False  # what is kept may be the beginning of a tool's name, or of another word
        self._stopped = False
        self._judged: list[tuple[int, int]] = []
        self._found: list[Verdict] = []
        self.keeps = False

    def text(self, text: str, at: int, *, line_start: bool) -> None:
        """Text that is shown, from the offset `at` on."""
        start = 0
        while start < len(text) and not self._stopped:
            if not self.keeps:
                begin = self._beginning(text, start, line_start=line_start)
                if begin is None:
                    return
                self.keeps = True
                self._start = at + begin
                start = begin
            taken, line_start = self._take(text[start:])
            start += taken

    def add(self, piece: str) -> None:
        """A piece inside a line."""
        if self.keeps:
            self._take(piece)

    def beside(self, take: Callable[[str], None]) -> Callable[[str], None]:
        """A function that gives a piece to `take`, and keeps it here as well."""

        def both(piece: str) -> None:
            take(piece)
            self.add(piece)

        return both

    def judged(self, start: int, end: int) -> None:
        """What stands from `start` to `end` has its verdict."""
        if self.keeps and end > self._start:
            self._judged.append((start, end))

    def end(self, *, cut: bool = False) -> None:
        """Look at what is kept. `cut`: the reply broke off."""
        if self.keeps:
            found = self._look("".join(self._pieces), self._start, cut)
            self._found += [one for one in found if not self._has_verdict(one)]
            self._drop()

    def stop(self) -> None:
        """Look at what is kept, and keep nothing more."""
        self.end()
        self._stopped = True

    def verdicts(self) -> list[Verdict]:
        """The verdicts found since the last call."""
        found, self._found = self._found, []
        return found

    def _beginning(self, text: str, start: int, *, line_start: bool) -> int | None:
        """Where a line begins that may begin a call."""
        if self._whole:
            self._whole = False
            return start
        found = _BLANKS.match(text, start) if line_start else None
        found = found or _LINE_BEGINS.search(text, start)
        while found is not None:
            begin = found.end()
            if text[begin] in _SIGNS:
                return begin
            if text[begin] in self._names and self._may_name(text[begin : begin + 256]) is not False:
                self._unsure = True
                return begin
            found = _LINE_BEGINS.search(text, begin)
        return None

    def _may_name(self, line: str) -> bool | None:
        """Whether a line begins with a tool's name and a parenthesis; None where it may become such."""
        word, called, _ = line.partition("(")
        names = self._names[line[0]]
        if called:
            return word.rstrip(" \t") in names
        return None if any(name.startswith(word) for name in names) else False

    def _take(self, text: str) -> tuple[int, bool]:
        """Keep text. Returns how much of it was taken, and whether a line begins after that."""
        if self._unsure:
            named = self._may_name("".join([*self._pieces, text[:256]]))
            self._unsure = named is None
            if named is False:
                self._drop()
                return 0, False
        kept = text if self._size + len(text) < MOST else text[: MOST - self._size]
        self._pieces.append(kept)
        self._size += len(kept)
        if self._size < MOST:
            return len(kept), False
        line = _LINE_END.split("".join(self._pieces))[-1]
        self.end()
        return len(kept), not line.strip(" \t")

    def _drop(self) -> None:
        self.keeps = self._unsure = False
        self._pieces, self._size = [], 0
        self._judged.clear()

    def _has_verdict(self, verdict: Verdict) -> bool:
        return any(verdict.start < end and start < verdict.end for start, end in self._judged)
