"""Condition 5: where the request already holds, word for word, the text of a candidate that is still coming.

What a tool read stands in its result in the tool's own form: inside JSON, as a string of a program, as HTML, with
numbered, quoted, dated or wrapped lines, as a diff. A model that repeats it leaves all that away. So each text is
searched as it is, and with such layers taken off (`variants`, `readings`). Where lines end counts on neither side:
there stands one blank, whatever white space there was. And a tool that writes something in front of one line does so in
front of each: what stands before a candidate's first line is removed from all lines that begin alike (`line_prefixes`).

Strategy. An `EchoTrace` follows one candidate. It begins with the places at which the candidate's first characters
stand, and every further piece is compared at those places alone. So a piece costs its own length for each place that is
left, and no part of the candidate is looked at twice. The places of a beginning are searched for once, when the first
candidate begins so, and remembered: nearly all candidates of a reply begin alike (an opener, a tool's name).

Where the request holds a beginning more than `_MAX_LOCATIONS` times, the places are not kept. Then only the first one
is known, and the next one is searched for when the candidate differs there: the text that a candidate repeats never
stands before the place at which its beginning was found first.

Searching is bounded by `_BUDGET` characters, or a few times the request's length: past it every candidate that would
have to be searched for counts as an echo, since a doubt is text. No reply of a real model comes near it.
"""

import html
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

_HEAD = 24  # characters of a candidate by which places are remembered: an opener and a bit of the name
_MAX_HEADS = 256  # beginnings that are remembered
_MIN_FIRST = 4  # characters of a first line that says something of the lines before which it stands
_MAX_LOCATIONS = 1024  # places of one beginning that are kept
_BUDGET = 256 * 1024 * 1024  # characters that may be searched for one request
_BUDGET_PER_CHAR = 16  # or so many times its length

# Which text of the request, and where in it.
type Location = tuple[int, int]

_BLANKS = " \t\r"
_LINE_END = re.compile(r"(?:(?<![ \t\r\n])[ \t\r]++)?\n[ \t\r\n]*+")
# The escapes of JSON (RFC 8259, section 7), which most languages share.
_ESCAPES = {r"\n": "\n", r"\"": '"', r"\'": "'", r"\t": "\t", r"\r": "\r", r"\/": "/"}
_CODE = re.compile(r"\\u([0-9A-Fa-f]{4})")
_ENTITY = re.compile(r"&(?:lt|amp|#0*60|#[xX]0*3[cC]);")
_RETURN = re.compile(r"\r(?!\n)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_VARIANTS = 6  # of one text, itself among them
# What tools write before a line: its number (cat -n, grep -n, and what agents use), or the mark of a quotation.
_NUMBER = re.compile(r"(?:[0-9]++(?:[ \t]*+[|\u2502\u2192:]|\t)|(?:> ?)++)[ \t]*+")
_NUMBERED = frozenset("0123456789>")
_CHANGED = frozenset("+-")  # and before a line of a diff
# What stands before a line is like what stands before another by these: numbers, white space, marks of a diff.
_PREFIX_PARTS = re.compile(r"(\s*[0-9]+[:-]?)|(\s+)|([-+])(?=\s*\Z)")
_MAX_PREFIXES = 4  # forms of it that are taken off one variant
_MAX_PREFIX = 120  # characters
_MAX_SEEN = 64  # places of a first line that are looked at


def plain(text: str) -> str:
    """`text` with one blank where its lines end, but for white space before the first one and behind the last."""
    return _LINE_END.sub(" ", text) if "\n" in text else text


def variants(text: str) -> Iterator[str]:
    """A text of the request as it is, and as what escapes in it may stand for, one layer after the other."""
    waiting, known = deque([text]), {text}
    while waiting:
        one = waiting.popleft()
        yield one
        for other in _unescaped_forms(one):
            if other not in known and len(known) < _VARIANTS:
                known.add(other)
                waiting.append(other)


def _unescaped_forms(text: str) -> Iterator[str]:
    if _ENTITY.search(text) is not None:
        yield html.unescape(text)
    if "\\" in text:
        yield _unescaped(text)
    if _RETURN.search(text) is not None:
        yield _RETURN.sub("\n", text)
    if "\x1b" in text:
        yield _COLOUR.sub("", text)
    if '""' in text:  # quotes in CSV
        yield text.replace('""', '"')


def readings(text: str) -> Iterator[str]:
    """A variant as it is, and with numbers of its lines and marks of quotations and diffs taken off."""
    lines = [line.strip(_BLANKS) for line in text.split("\n")]
    yield _joined(lines)
    if any(line[:1] in _NUMBERED for line in lines):
        yield _joined(_NUMBER.sub("", line, 1) if line[:1] in _NUMBERED else line for line in lines)
    if any(line.startswith("@@ ") for line in lines):
        yield _joined(line[1:].lstrip(_BLANKS) if line[:1] in _CHANGED else line for line in lines)


def _joined(lines: Iterable[str]) -> str:
    return " ".join(filter(None, lines))


def line_prefixes(text: str, first: str) -> Iterator[str]:
    """The forms, as patterns, of what stands on its line before `first` in a text."""
    at = text.find(first)
    for _ in range(_MAX_SEEN):
        if at < 0:
            return
        begin = text.rfind("\n", max(0, at - _MAX_PREFIX - 1), at) + 1
        before = text[begin:at]
        if before.strip(_BLANKS) and (begin or at <= _MAX_PREFIX) and not before[-1].isalnum():
            parts = _PREFIX_PARTS.split(before)
            form = "".join(_form(*parts[number : number + 4]) for number in range(0, len(parts), 4))
            yield form
            if "@@ " in text:  # a diff with something before its lines
                yield f"{form}[-+]?"
        at = text.find(first, at + len(first))


def _form(other: str, number: str | None = None, space: str | None = None, sign: str | None = None) -> str:
    like = r"[^\S\n]*+[0-9]++[:-]?+" if number else r"[^\S\n]*+" if space else r"[-+ ]?+" if sign else ""
    return re.escape(other) + like


def _without_prefixes(text: str, prefix: str) -> str:
    """A variant without what stands before its lines, where that has this form."""
    begins = re.compile(prefix)
    return _joined(begins.sub("", line, 1).strip(_BLANKS) for line in text.split("\n"))


class RequestText(str):
    """A text of a request. Each turn of a conversation repeats it, so its variants and readings are computed once."""

    @cached_property
    def variants(self) -> tuple[str, ...]:
        """Its `variants`."""
        return tuple(variants(self))

    @cached_property
    def readings(self) -> tuple[str, ...]:
        """The `readings` of its variants."""
        return tuple(reading for variant in self.variants for reading in readings(variant))


def _unescaped(text: str) -> str:
    return "\\".join(map(_without_escapes, text.split(r"\\")))


def _without_escapes(part: str) -> str:
    """A text without escaped backslashes, with its other escapes taken for what they mean."""
    if "\\" in part:
        for written, meant in _ESCAPES.items():
            part = part.replace(written, meant)
    if r"\u" not in part:
        return part
    made = _CODE.sub(lambda found: chr(int(found[1], 16)), part)
    # Two of these may be the halves of one character; one half alone is none that a reply could hold.
    return made.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class EchoIndex:
    """The texts of one request that a reply may repeat. Nothing is looked at before the first candidate."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._given = [text if isinstance(text, RequestText) else RequestText(text) for text in texts if text]
        self._by_head: dict[str, tuple[Location, ...] | None] = {}
        self._firsts: set[str] = set()  # first lines of candidates whose line prefixes are known
        # The number of a text, and a form of what stands before its lines.
        self._line_prefixes: set[tuple[int, str]] = set()

    @cached_property
    def _texts(self) -> list[str]:
        found = dict.fromkeys(reading for text in self._given for reading in text.readings)
        return [reading for reading in found if reading]

    @cached_property
    def _left(self) -> int:
        return max(_BUDGET, _BUDGET_PER_CHAR * sum(map(len, self._texts)))

    def add(self, text: str) -> None:
        """One more text, for candidates that begin from now on. What was found in the others stays where it is."""
        if not text:
            return
        made = RequestText(text)
        self._given.append(made)
        self._by_head.clear()
        if "_texts" in self.__dict__:
            self._texts.extend(filter(None, dict.fromkeys(made.readings)))
            self._left += _BUDGET_PER_CHAR * len(text)
        for first in sorted(self._firsts):
            self._learn_in(len(self._given) - 1, first)

    def trace(self, text: str) -> "EchoTrace | None":
        """Follows a candidate that begins with `text`; None when that stands nowhere in the request."""
        if not self._given:
            return None
        text = text.lstrip()
        self._learn(text.partition("\n")[0].rstrip())
        made = EchoTrace(self, text)
        return made if made.grow("") else None

    def _learn(self, first: str) -> None:
        """Read the texts without what stands before a candidate's first line, too."""
        if len(first) < _MIN_FIRST or first in self._firsts or len(self._firsts) == _MAX_HEADS:
            return
        self._firsts.add(first)
        for number in range(len(self._given)):
            self._learn_in(number, first)

    def _learn_in(self, number: int, first: str) -> None:
        """The same for one text."""
        for variant in self._given[number].variants:
            if self.exhausted:
                return
            self._left -= len(variant)
            for prefix in line_prefixes(variant, first):
                had = sum(known == number for known, _ in self._line_prefixes)
                if (number, prefix) in self._line_prefixes or had == _MAX_PREFIXES:
                    continue
                self._line_prefixes.add((number, prefix))
                self._texts.append(_without_prefixes(variant, prefix))
                self._left -= len(variant)
                self._by_head.clear()

    @property
    def exhausted(self) -> bool:
        """Whether no more may be searched."""
        return self._left <= 0

    def locations(self, start: str) -> tuple[Location, ...] | None:
        """Where `start` stands; None for more places than are kept."""
        if start not in self._by_head:
            if len(self._by_head) == _MAX_HEADS:
                return None
            self._by_head[start] = self._all(start)
        return self._by_head[start]

    def _all(self, start: str) -> tuple[Location, ...] | None:
        found: list[Location] = []
        location = self.next(start, (0, 0))
        while location is not None:
            found.append(location)
            if len(found) > _MAX_LOCATIONS:
                return None
            location = self.next(start, (location[0], location[1] + 1))
        return None if self.exhausted else tuple(found)

    def next(self, text: str, since: Location) -> Location | None:
        """The first place of `text` from a place on."""
        number, at = since
        while number < len(self._texts) and not self.exhausted:
            quoted = self._texts[number]
            found = quoted.find(text, at)
            self._left -= len(text) + (len(quoted) if found < 0 else found) - at
            if found >= 0:
                return number, found
            number, at = number + 1, 0
        return None

    def is_at(self, text: str, location: Location, ahead: int) -> bool:
        """Whether `text` stands `ahead` characters behind a place."""
        number, at = location
        return self._texts[number].startswith(text, at + ahead)


class EchoTrace:
    """One candidate that stands in the request so far. White space at its end does not count until more follows."""

    __slots__ = ("_first", "_locations", "_quotable", "_size", "_text", "_trailing")

    def __init__(self, quotable: EchoIndex, text: str) -> None:
        self._quotable = quotable
        whole = text.rstrip()
        self._trailing = text[len(whole) :]
        whole = plain(whole)
        self._locations = quotable.locations(whole[:_HEAD])
        self._first: Location | None = None if self._locations is not None else (0, 0)
        self._size = min(len(whole), _HEAD) if self._locations is not None else 0
        self._text: list[str] = []  # all of it, while only the first place is known
        self._trailing = whole[self._size :] + self._trailing

    def grow(self, piece: str) -> bool:
        """The candidate goes on with `piece`: whether it still stands in the request. Not to be asked after False."""
        coming = self._trailing + piece
        text = coming.rstrip()
        self._trailing = coming[len(text) :]
        text = plain(text)
        if self._locations is not None:
            is_at, ahead = self._quotable.is_at, self._size
            if text:
                self._locations = tuple(location for location in self._locations if is_at(text, location, ahead))
                self._size += len(text)
            return bool(self._locations)
        if text and self._first is not None:
            self._text.append(text)
            if not self._quotable.is_at(text, self._first, self._size):
                number, at = self._first
                self._first = self._quotable.next("".join(self._text), (number, at + (self._size > 0)))
            self._size += len(text)
        return self._first is not None or self._quotable.exhausted
