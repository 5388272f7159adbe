"""Content filters: literal and pattern replacements in a reply's text, the same however it was cut.

Strategy: text goes through one row of places. At each place the first filter that matches there wins, and what it puts
there is not looked at again. A match may have at most `max_length` characters, so a place is decided as soon as so many
characters come after it, and long before where it is no beginning of a match: a literal, and a pattern that begins
with plain letters, are held only from their first letters on.
"""

import re
from collections.abc import Sequence

from toolcalls.events import Event, Removed, Text
from toolcalls.route import Filter
from toolcalls.text.patterns import TooMuchWork, Work, compiled

_CONTEXT = 64  # characters before a place that `\b` and look-behinds may see
_PLAIN = re.compile(r"(?:[A-Za-z0-9 _:/@#%&=,;<>'\"!~-]|\\[^A-Za-z0-9])*")
_REPEATS = ("*", "?", "{")


class _Replacement:
    """One filter, compiled. `head` is what every match begins with, "" where that is not known."""

    __slots__ = ("_pattern", "filter", "head", "length", "name")

    def __init__(self, filter_: Filter) -> None:
        self.filter = filter_
        self.name = filter_.name
        self._pattern = compiled(filter_.pattern, re.MULTILINE) if filter_.pattern is not None else None
        self.head = filter_.literal if filter_.literal is not None else head_of(filter_.pattern or "")
        self.length = filter_.max_length if self._pattern else len(self.head)

    def match(self, text: str, at: int, work: Work) -> tuple[int, str] | None:
        """Where the match at `at` ends and what is in its place; None for no match, or an empty one.

        Raises TooMuchWork where the pattern cannot tell.
        """
        if not text.startswith(self.head, at):
            return None
        if self._pattern is None:
            return at + len(self.head), self.filter.replace
        found = self._pattern.match(text, at, min(len(text), at + self.length), work)
        if found is None or found.end() == at:
            return None
        return found.end(), found.expand(self.filter.replace)


def head_of(pattern: str) -> str:
    """The plain text that every match of a pattern begins with, as far as its spelling shows it."""
    if "|" in pattern:
        return ""
    plain = _PLAIN.match(pattern)
    found = plain[0] if plain else ""
    if pattern[len(found) : len(found) + 1] in _REPEATS:
        found = found[:-2] if found[-2:-1] == "\\" else found[:-1]
    return re.sub(r"\\(.)", r"\1", found)


class Filters:
    """The filters of one lane, with what is held of its text.

    counts     by filter, how many places it replaced
    disabled   filters whose pattern cost too much at some place: they replace nothing any more
    """

    def __init__(
        self,
        filters: Sequence[Filter],
        counts: dict[str, int],
        disabled: set[str] | None = None,
        work: Work | None = None,
    ) -> None:
        self._work = work or Work()
        self._all = [_Replacement(filter_) for filter_ in filters]
        self._disabled = set() if disabled is None else disabled
        self._before = ""
        self._held = ""
        self.counts = counts
        heads = {replacement.head for replacement in self._all}
        firsts = "" if "" in heads else "".join(sorted({head[0] for head in heads}))
        self._possible = re.compile(f"[{re.escape(firsts)}]") if firsts else None

    def quiet(self, piece: str) -> bool:
        """Whether nothing can happen to `piece`, so that it need not come here. If it then leaves, call `passed`."""
        return not (self._held or self._possible is None or self._possible.search(piece))

    def passed(self, piece: str) -> None:
        """A quiet piece has left."""
        self._before = (self._before + piece)[-_CONTEXT:]

    def feed(self, text: str) -> list[Event | str]:
        """The next text; returns what is decided: `Text` and `Removed` account for it in order, a `str` is new."""
        if self.quiet(text):
            self.passed(text)
            return [Text(text)]
        self._held += text
        return self._decided(ended=False)

    def flush(self) -> list[Event | str]:
        """No text follows here that a match could go on in."""
        out = self._decided(ended=True) if self._held else []
        self._before = ""
        return out

    def rewrite(self, text: str) -> str:
        """`text`, whole, as those filters leave it that are asked into calls."""
        inside = [replacement for replacement in self._all if replacement.filter.calls]
        return "".join(part if isinstance(part, str) else part.text for part in self._walk(text, 0, inside)[0]
                       if isinstance(part, str | Text))  # fmt: skip

    def _decided(self, *, ended: bool) -> list[Event | str]:
        text = self._before + self._held
        out, at = self._walk(text, len(self._before), self._all, ended=ended)
        self._before, self._held = text[:at][-_CONTEXT:], text[at:]
        return out

    def _match(self, replacement: _Replacement, text: str, at: int) -> tuple[int, str] | None:
        if replacement.name in self._disabled:
            return None
        try:
            return replacement.match(text, at, self._work)
        except TooMuchWork:
            self._disabled.add(replacement.name)
            return None

    def _walk(
        self, text: str, at: int, replacements: Sequence[_Replacement], *, ended: bool = True
    ) -> tuple[list[Event | str], int]:
        """The outcomes for `text` from `at` to the first place that is not decided, and that place."""
        out: list[Event | str] = []
        shown, size = at, len(text)
        possible = self._possible
        while at < size:
            if possible is not None:
                found_first = possible.search(text, at)
                at = found_first.start() if found_first else size
                if found_first is None:
                    break
            if not ended and any(_undecided(text, at, replacement) for replacement in replacements):
                break
            hit = next(((made, one) for one in replacements if (made := self._match(one, text, at)) is not None), None)
            if hit is None:
                at += 1
                continue
            (end, new), one = hit
            if at > shown:
                out.append(Text(text[shown:at]))
            out.append(Removed(text[at:end]))
            if new:
                out.append(new)
            self.counts[one.name] = self.counts.get(one.name, 0) + 1
            at = shown = end
        if at > shown:
            out.append(Text(text[shown:at]))
        return out, at


def _undecided(text: str, at: int, replacement: _Replacement) -> bool:
    """Whether more text may change what a replacement makes of a place."""
    rest = len(text) - at
    if rest >= replacement.length:
        return False
    head = replacement.head
    return text.startswith(head, at) if rest >= len(head) else head.startswith(text[at:])
