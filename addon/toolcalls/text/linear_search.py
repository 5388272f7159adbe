"""Regular expressions in time that is linear in the text, by RE2 (https://github.com/google/re2/wiki/WhyRE2).

RE2 knows no lookaround, no back references and nothing of Unicode's words, and spells some things otherwise than
Python. So an expression is taken apart by Python's own parser and spelt anew, twice: for texts of ASCII, where words
and letter case are the same to both, and for all others. What RE2 lacks is left out, or widened to what it may hold, so
that whatever the expression finds, RE2 finds, too. Where nothing was widened, RE2's answer is the answer; where
something was, only its "no" is.

The parser is none of what Python documents. Where it is missing, or says something unknown, nothing is spelt anew.
"""

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import re2

_ASCII = tuple(map(chr, range(128)))
_NOTHING = r"[^\x{0}-\x{10FFFF}]"
_ANYTHING = r"[\x{0}-\x{10FFFF}]"
_NOT_ASCII = (0x80, 0x10FFFF)
_MOST_REPEATS = 1000  # RE2's own limit (https://github.com/google/re2/wiki/Syntax)
_MEMORY = 8 << 20  # bytes for one expression's states
_SET_MEMORY = 32 << 20  # bytes for those of many
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


class LinearSearch:
    """One expression, asked in linear time. Nothing is compiled before it is asked."""

    __slots__ = ("_flags", "_programs", "_text")

    def __init__(self, text: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._text = text
        self._flags = flags
        self._programs: dict[tuple[bool, bool], _Program | None] = {}

    def finds(self, text: str, *, whole: bool = False) -> bool | None:
        """Whether the expression is found in a text, or (`whole`) matches all of it; None: only Python can tell."""
        ascii_only = text.isascii()
        key = (ascii_only, whole)
        program = self._programs[key] if key in self._programs else self._compile(*key)
        if program is None:
            return None
        try:
            found: bool = program.run.search(text.encode()) is not None
        except UnicodeEncodeError:  # a lone surrogate, which UTF-8 does not have
            return None
        if found and not text and r"\B" in self._text:
            return None  # in an empty text Python finds it only from 3.14 on
        return None if found and not program.exact else found

    def _compile(self, ascii_only: bool, whole: bool) -> "_Program | None":
        made = self._programs[ascii_only, whole] = _compiled(self._text, self._flags, ascii_only, whole)
        return made


class LinearSearches:
    """Many texts and expressions, looked for in one pass. Nothing is compiled before it is asked.

    They are some hundreds at most: RE2 takes 10 µs to compile one, and refuses thousands.
    """

    __slots__ = ("_all", "_asked", "_search", "_unspelt", "_wanted")

    def __init__(self, wanted: Iterable[str | re.Pattern[str]]) -> None:
        self._wanted = tuple(wanted)
        self._all = frozenset(range(len(self._wanted)))
        self._search: Any = None
        self._asked: tuple[int, ...] = ()  # the place in `wanted` of each that RE2 looks for
        self._unspelt = self._all  # of the others

    def possible(self, text: str) -> frozenset[int]:
        """Where in `wanted` those stand that may be found in a text. No other one is found in it."""
        if self._search is None:
            self._compile()
        try:
            found = self._search(text.encode())
        except UnicodeEncodeError:  # a lone surrogate, which UTF-8 does not have
            return self._all
        return self._unspelt.union(self._asked[one] for one in found or ())

    def _compile(self) -> None:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _SET_MEMORY
        made, asked = re2.Set.SearchSet(options), list[int]()
        for place, one in enumerate(self._wanted):
            try:
                spelt = (
                    (re2.escape(one), True) if isinstance(one, str) else _respelt(one.pattern, one.flags & ~re.UNICODE)
                )
                if spelt is not None:
                    made.Add(spelt[0])
                    asked.append(place)
            except (re2.error, UnicodeEncodeError):  # too large for RE2; a lone surrogate
                continue
        try:
            made.Compile()
        except re2.error:  # too many: all are possible in any text
            self._search = lambda _text: None
            return
        self._search, self._asked = made.Match, tuple(asked)
        self._unspelt = self._all.difference(asked)


@dataclass(frozen=True, slots=True)
class _Program:
    """An expression for RE2. exact: it finds nothing that Python's would not find."""

    run: Any
    exact: bool


class _Unknown(Exception):
    """Python's parser says something that this module does not know."""


def parsed(text: str, flags: int = 0) -> Any:
    """An expression as the parser inside `re` reads it, which is undocumented; None where Python has no such parser."""
    parser: Any = getattr(re, "_parser", None)
    return None if parser is None else parser.parse(text, flags)


def _respelt(text: str, flags: int, *, ascii_only: bool = False, whole: bool = False) -> tuple[str, bool] | None:
    """An expression in RE2's syntax, widened by what RE2 lacks, and whether it is exact; None if it cannot be spelt."""
    speller = _Speller(ascii_only=ascii_only, whole=whole)
    try:
        read = parsed(text, flags)
        if read is None:
            return None
        spelt = speller.sequence(read, re.RegexFlag(read.state.flags), last=True)
    except (_Unknown, RecursionError):
        return None
    return spelt, speller.exact


def _compiled(text: str, flags: re.RegexFlag, ascii_only: bool, whole: bool) -> _Program | None:
    """The expression compiled by RE2; None where it cannot be."""
    made = _respelt(text, int(flags), ascii_only=ascii_only, whole=whole)
    if made is None:
        return None
    spelt, exact = made
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    try:
        return _Program(re2.compile((rf"\A(?:{spelt})\z" if whole else spelt).encode(), options), exact)
    except re2.error:
        return None


class _Speller:
    """Spells what Python's parser read for RE2. exact: nothing was widened so far."""

    def __init__(self, *, ascii_only: bool, whole: bool) -> None:
        self._ascii_only = ascii_only
        self._whole = whole
        self.exact = True

    def sequence(self, items: Iterable[Any], flags: re.RegexFlag, *, last: bool = False) -> str:
        """Items in a row. `last`: nothing of the expression follows them."""
        row = list(items)
        return "".join(self._spelt(str(kind), value, flags, last and number == len(row))
                       for number, (kind, value) in enumerate(row, 1))  # fmt: skip

    def _spelt(self, kind: str, value: Any, flags: re.RegexFlag, last: bool) -> str:
        if kind in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
            return self._character(kind, value, flags)
        if kind in _REPEATS:
            self.exact = self.exact and kind != "POSSESSIVE_REPEAT"
            return self._repeat(value, flags)
        if kind == "BRANCH":
            return f"(?:{'|'.join(self.sequence(one, flags, last=last) for one in value[1])})"
        if kind == "SUBPATTERN":
            _, added, taken, inside = value
            return f"(?:{self.sequence(inside, (flags | added) & ~re.RegexFlag(taken), last=last)})"
        if kind == "AT":
            return self._place(str(value), flags, last)
        self.exact = False
        if kind == "ATOMIC_GROUP":
            return f"(?:{self.sequence(value, flags)})"
        if kind in {"ASSERT", "ASSERT_NOT"}:
            return ""
        if kind in {"GROUPREF", "GROUPREF_EXISTS", "FAILURE"}:
            return f"{_ANYTHING}*"
        raise _Unknown(kind)

    def _repeat(self, value: tuple[int, Any, Any], flags: re.RegexFlag) -> str:
        least, most, inside = value
        has_end = str(most) != "MAXREPEAT"
        self.exact = self.exact and least <= _MOST_REPEATS and (not has_end or most <= _MOST_REPEATS)
        end = most if has_end and most <= _MOST_REPEATS else ""
        return f"(?:{self.sequence(inside, flags)}){{{min(least, _MOST_REPEATS)},{end}}}"

    def _place(self, kind: str, flags: re.RegexFlag, last: bool) -> str:
        lines = bool(flags & re.MULTILINE)
        if kind == "AT_BEGINNING_STRING" or (kind == "AT_BEGINNING" and not lines):
            return r"\A"
        if kind == "AT_BEGINNING":
            return "(?m:^)"
        if kind == "AT_END_STRING" or (kind == "AT_END" and last and self._whole):
            return r"\z"
        if kind == "AT_END" and lines:
            return "(?m:$)"
        if kind == "AT_END" and last:
            return r"\n?\z"
        if kind in {"AT_BOUNDARY", "AT_NON_BOUNDARY"} and (self._ascii_only or flags & re.ASCII):
            return r"\b" if kind == "AT_BOUNDARY" else r"\B"
        self.exact = False
        return ""

    def _character(self, kind: str, value: Any, flags: re.RegexFlag) -> str:
        """One character, as a class."""
        if kind == "ANY":
            return _ANYTHING if flags & re.DOTALL else r"[^\n]"
        items = [("LITERAL", value)] if kind != "IN" else [(str(one), what) for one, what in value]
        negated = kind == "NOT_LITERAL" or items[0][0] == "NEGATE"
        items = [one for one in items if one[0] != "NEGATE"]
        held = frozenset().union(*(_held(*one, flags) for one in items))
        members = [sign for sign in _ASCII if (sign in held) != negated]
        ranges = [(ord(sign), ord(sign)) for sign in members]
        if not self._ascii_only:
            by_category = any(one == "CATEGORY" for one, _ in items) and not flags & re.ASCII
            if by_category or flags & re.IGNORECASE:
                self.exact = False
                ranges.append(_NOT_ASCII)
            else:
                others = [span for one in items for span in _beyond_ascii(*one)]
                ranges.extend(_without(others) if negated else others)
        return f"[{''.join(map(_range, ranges))}]" if ranges else _NOTHING


@lru_cache(1024)
def _held(kind: str, value: Any, flags: re.RegexFlag) -> frozenset[str]:
    """The characters of ASCII that a part of a class holds."""
    if kind == "LITERAL" and not flags & re.IGNORECASE:
        return frozenset({chr(value)}).intersection(_ASCII)
    return frozenset(sign for sign in _ASCII if _holds(sign, kind, value, flags))


def _holds(sign: str, kind: str, value: Any, flags: re.RegexFlag) -> bool:
    """Whether a part of a class holds a character of ASCII."""
    if kind == "CATEGORY":
        if str(value) not in _CATEGORIES:
            raise _Unknown(value)
        return re.fullmatch(_CATEGORIES[str(value)], sign, flags & re.ASCII) is not None
    forms = _other_cases(sign, flags & re.ASCII) if flags & re.IGNORECASE else (sign,)
    if kind == "LITERAL":
        return any(ord(form) == value for form in forms)
    if kind == "RANGE":
        return any(value[0] <= ord(form) <= value[1] for form in forms)
    raise _Unknown(kind)


@cache
def _other_cases(sign: str, flags: re.RegexFlag) -> tuple[str, ...]:
    """All characters that `re` takes for one of ASCII where case does not count."""
    if sign not in string.ascii_letters:
        return (sign,)
    same = re.compile(sign, re.IGNORECASE | flags)
    return tuple(one for one in map(chr, range(0x2200)) if same.fullmatch(one))


def _beyond_ascii(kind: str, value: Any) -> Iterator[tuple[int, int]]:
    """The non-ASCII characters that a part of a class holds, as ranges. A category holds ASCII alone."""
    if kind == "CATEGORY":
        if str(value).startswith("CATEGORY_NOT_"):
            yield _NOT_ASCII
        return
    first, last = (value, value) if kind == "LITERAL" else value
    if last > 0x7F:
        yield max(first, 0x80), last


def _without(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The ranges of non-ASCII characters outside of these ranges."""
    at = 0x80
    for first, last in sorted(ranges):
        if at < first:
            yield at, first - 1
        at = max(at, last + 1)
    if at <= _NOT_ASCII[1]:
        yield at, _NOT_ASCII[1]


def _range(span: tuple[int, int]) -> str:
    return rf"\x{{{span[0]:X}}}-\x{{{span[1]:X}}}"
