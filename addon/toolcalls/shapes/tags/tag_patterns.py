"""Patterns of tags: which kind of tag stands at a place, looked at before anything of it is consumed.

`Tags` tells apart the kinds of tags that may be at a place. A tag is given as its parts, between which a few blanks
may stand (`< / parameter >`), and line ends, too, in a closing tag. A part may have several
spellings, so a handful of strings covers what servers and models make of a tag. Each look is one regular expression;
where the text ends inside a tag a second one, of all its beginnings, says whether more of it may come.
"""

import re
from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

from toolcalls.text.scanner import SPACE, Scanner, Step


class PatternPart(NamedTuple):
    """A part of a tag without fixed spellings: patterns for all of it and for a beginning, and its first characters."""

    full: str
    partial: str
    first: str


# A part of a tag: a literal, one of several literals ("" for none of them), or what a pattern finds.
type Part = str | tuple[str, ...] | PatternPart
type Parts = tuple[Part, ...]

BARS = ("｜", "｜｜", "‖", "‖‖", "|", "||", "")  # around the word of a token in a tag, as servers spell them
# What closers of other forms begin with that models put behind plain tags, and whose they are.
FOREIGN_PREFIXES = (*(f"{bars}DSML{bars}" for bars in BARS), "minimax:", "xai:", "atem:", "steptml:")
FOREIGN_CALLS = ("invoke", "function")
FOREIGN_WRAPPERS = ("tool_calls", "function_calls", "toolcalls", "calls", "tool_call")

END_OF_NAME = PatternPart(r"(?=[^\w-])", "", "")  # where one of several names may begin another one

_MAX_BLANKS = 8  # at one place inside a tag
_BLANKS = f"[ \t]{{0,{_MAX_BLANKS}}}"
_SPACES = f"[{SPACE}]{{0,{_MAX_BLANKS}}}"
_CLOSES = frozenset({"/", "</"})  # what one of the first parts of a closing tag is
_MAX_SOME = 80  # characters of a part without fixed spellings


class Tags:
    """Several kinds of tags, each with one or more spellings."""

    def __init__(self, **kinds: Iterable[Parts]) -> None:
        forms = {kind: [tuple(part for part in parts if part) for parts in of_kind] for kind, of_kind in kinds.items()}
        every = [parts for of_kind in forms.values() for parts in of_kind]
        kept = {kind: "|".join(map(_whole, of_kind)) for kind, of_kind in forms.items() if of_kind}
        self._whole = re.compile("|".join(f"(?P<{kind}>{of_kind})" for kind, of_kind in kept.items()) or r"(?!)")
        self._part = re.compile("|".join(map(_beginning, every)) or r"(?!)")
        self._longest = max(map(_length, every), default=0)
        self.second = frozenset[str]().union(*(_second(parts) for parts in every))
        """The characters that may follow the first one."""
        self.marks = "".join(sorted(frozenset[str]().union(*map(_first, every)))) or "<"
        """The characters that they begin with."""

    def at(self, scan: Scanner, ahead: int = 0) -> Step[tuple[str, int]]:
        """The kind and the length of the tag `ahead` characters from here; ("", 0) where none can come of it."""
        while True:
            at = scan.pos + ahead
            found = self._whole.match(scan.text, at)
            if found is not None:
                return found.lastgroup or "", found.end() - at
            if scan.ended or not self._arriving(scan.text, at):
                return "", 0
            yield

    def stops_short(self, scan: Scanner, ahead: int = 0) -> bool:
        """Whether the text has ended inside one of the tags, `ahead` characters from here, or right before one."""
        if not scan.ended:
            return False
        text, at = scan.text, scan.pos + ahead
        while at < len(text) and text[at] in SPACE:
            at += 1
        return self._arriving(text, at)

    def stand_in(self, text: str) -> bool:
        """Whether one of them is anywhere in `text`."""
        return self._whole.search(text) is not None

    def _arriving(self, text: str, at: int) -> bool:
        return len(text) - at < self._longest and self._part.match(text, at) is not None


def _spellings(part: Part) -> tuple[str, ...]:
    if isinstance(part, PatternPart):
        return ()
    return (part,) if isinstance(part, str) else tuple(sorted(part, key=len, reverse=True))


def _one(part: Part) -> str:
    return part.full if isinstance(part, PatternPart) else f"(?:{'|'.join(map(re.escape, _spellings(part)))})"


def _before(parts: Parts, number: int) -> str:
    """What may be in front of the part with this number: white space in a closing tag, else blanks."""
    if not number:
        return ""
    return _SPACES if _is_closing(parts) else _BLANKS


def _is_closing(parts: Parts) -> bool:
    """Whether the tag is a closing one. A first part that may be missing is none of it."""
    begin = int("" in _spellings(parts[0]))
    return not _CLOSES.isdisjoint(parts[begin : begin + 2])


def _whole(parts: Parts) -> str:
    return "".join(_before(parts, number) + _one(part) for number, part in enumerate(parts))


def _beginning(parts: Parts) -> str:
    """A pattern for every proper beginning of the tag that the text ends with."""
    pattern = ""
    for number, part in reversed(list(enumerate(parts))):
        if isinstance(part, PatternPart):
            started = part.partial
        else:
            begun = {spelling[:size] for spelling in _spellings(part) for size in range(max(1, len(spelling)))}
            started = "|".join(map(re.escape, sorted(begun, key=len, reverse=True)))
        following = f"|{_one(part)}{pattern}" if pattern else ""
        pattern = f"{_before(parts, number)}(?:(?:{started})\\Z{following})"
    return pattern


def _length(parts: Parts) -> int:
    sizes = (_MAX_SOME if isinstance(part, PatternPart) else max(map(len, _spellings(part))) for part in parts)
    return sum(sizes) + _MAX_BLANKS * len(parts)


def _first(parts: Parts) -> frozenset[str]:
    """The characters that a tag may begin with."""
    found = set[str]()
    for part in parts:
        found.update(part.first if isinstance(part, PatternPart) else (spelling[:1] for spelling in _spellings(part)))
        if "" not in _spellings(part):
            break
    return frozenset(filter(None, found))


def _second(parts: Parts) -> frozenset[str]:
    """The characters that may come after the first one."""
    blanks = frozenset(SPACE if _is_closing(parts) else " \t")
    found = blanks.union(_first(parts[1:]), (spelling[1:2] for spelling in _spellings(parts[0])))
    return (found | _second(parts[1:]) if "" in _spellings(parts[0]) else found) - {""}


def other_than(bracket: str) -> PatternPart:
    """Anything but this bracket, which is no part of the tag."""
    begun = "|".join(re.escape(bracket[:size]) for size in range(len(bracket) - 1, 0, -1))
    arriving = rf"(?!(?:{begun})\Z)" if begun else ""
    return PatternPart(rf"(?!{re.escape(bracket)}){arriving}(?=[\s\S])", f"(?:{begun})?", "")


def unslashed(*tags: Parts) -> tuple[Parts, ...]:
    """Closing tags without their slash. No blank comes before the bracket: that is how an opening tag begins."""
    return tuple((tag[0], *tag[2:-2], _with(tag[-2], str(tag[-1]))) for tag in tags if tag[1] == "/")


def unbracketed(*tags: Parts) -> tuple[Parts, ...]:
    """Closing tags without their bracket, with another tag after them."""
    follows = [PatternPart(rf"(?=[{SPACE}]{{0,8}}{tag[0]})", rf"[{SPACE}]{{0,8}}", "") for tag in tags]
    return tuple((*tag[:-1], behind) for tag, behind in zip(tags, follows, strict=True))


def lost(tag: Parts) -> Parts:
    """A tag that may have lost its first bracket; a closing one its slash as well, or have it escaped."""
    return (("</", "<\\/", "/", ""), *tag[2:]) if tag[1] == "/" else (("<", ""), *tag[1:])


def _with(part: Part, bracket: str) -> Part:
    if isinstance(part, PatternPart):
        return part._replace(full=part.full + bracket)
    return part + bracket if isinstance(part, str) else tuple(spelling + bracket for spelling in part)


def spelt(*parts: str | tuple[str, ...]) -> tuple[str, ...]:
    """Every spelling of a tag without blanks, the first of each part first."""
    choices = [(part,) if isinstance(part, str) else part for part in parts]
    return tuple(map("".join, product(*choices)))
