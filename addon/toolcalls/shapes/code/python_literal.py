"""A Python literal that is in text, read piece by piece and written as JSON.

Strings, numbers, `True`, `False`, `None` (also as JSON spells them), lists, dicts, tuples and sets of strings and
numbers, nested to MAX_DEPTH with an explicit stack. What may be JSON stays as it was written, white space and digits
too: `1e400` is not infinite, and an integer has as many digits as it has. Where Python and JSON differ the meaning is
kept: `1_000` is 1000, `0xff` is 255, `.5` is 0.5, tuples and sets are arrays, a key that is no string becomes its JSON
text, as `json.dumps` has it. What JSON has no value for is none: bytes, complex numbers, `nan`, names, calls and
operators. Nothing is evaluated.

A number or a word is taken whole before it is written, a string leaves as it comes. A parenthesis is a tuple only when
a comma follows its first item, and a brace opens a dict only when a colon does, so up to there what is in them is kept
back.

Python 3.12: https://docs.python.org/3.12/reference/lexical_analysis.html#numeric-literals
"""

import re
from dataclasses import dataclass, field

from toolcalls.shapes import CallSink
from toolcalls.shapes.code.python_string import GoesOn, Keep, starts_string, string
from toolcalls.shapes.words import character, take_run, word
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.json_tokens import LITERALS
from toolcalls.values.transducer import MAX_DEPTH

_WORDS = dict(LITERALS.values())
_CLOSERS = {"[": "]", "{": "}", "(": ")"}
_BEGINS_ITEM = frozenset("\"'[{(-+.0123456789TFNtfnrRuU")

_NAME = re.compile(r"[\w.(]*+")
_ATOM = re.compile(r"[\w.+-]*+")
_GAP = re.compile(rf"[{SPACE}]*+")
_D = r"[0-9](?:_?[0-9])*+"
_INTEGER = re.compile(r"0(?:_?0)*+|[1-9](?:_?[0-9])*+")
_BASED = re.compile(r"0(?:[xX](?:_?[0-9a-fA-F])++|[oO](?:_?[0-7])++|[bB](?:_?[01])++)")
_FLOAT = re.compile(rf"({_D})?\.({_D})?([eE][+-]?{_D})?|({_D})([eE][+-]?{_D})")
_MAX_BASED = 3500  # digits of an integer in another base: what Python still converts to decimal (4300 digits)


def literal(scan: Scanner, sink: CallSink, keep: Keep, goes_on: GoesOn) -> Step[bool]:
    """One literal that begins here; `keep` is given its JSON in pieces.

    goes_on   whether the grammar around it can go on so many characters from here

    Returns whether it is complete and is one.
    """
    return (yield from _Literal(scan, sink, keep, goes_on).read())


def starts_literal(scan: Scanner, ahead: int) -> Step[bool]:
    """Whether what begins `ahead` characters from here may be a literal: no name, and no string that is no text."""
    if (yield from starts_string(scan, ahead)):
        return True
    first = yield from character(scan, ahead)
    if not first.isalpha() and first != "_":
        return first in _BEGINS_ITEM
    return (yield from word(scan, _NAME, ahead)) in _WORDS


class _Open:
    """A container that is not closed.

    held     where in the held text its bracket goes, while it is undecided which one
    is_set   its braces hold items and no members
    """

    __slots__ = ("closer", "empty", "held", "is_set")

    def __init__(self, closer: str, held: int | None) -> None:
        self.closer = closer
        self.held = held
        self.empty = True
        self.is_set = False


@dataclass(slots=True)
class _Literal:
    """One literal. `goes_on`: whether the grammar around it can go on so many characters from here."""

    scan: Scanner
    sink: CallSink
    keep: Keep
    goes_on: GoesOn
    _open: list[_Open] = field(default_factory=list)
    _held: list[str] = field(default_factory=list)
    _undecided: int = 0  # parentheses that may be tuples, and braces that may be sets
    _comma: str = ""  # written when an item follows
    _colon: bool = False  # the item that comes is a member's value

    def read(self) -> Step[bool]:
        scan = self.scan
        while True:
            gap = yield from take_run(scan, _GAP)
            char = yield from character(scan)
            top = self._open[-1] if self._open else None
            if top is not None and char == top.closer and not self._colon:
                self._put(gap)
                self._close()
            else:
                self._put(self._comma + gap)
                self._comma = ""
                if top is not None:
                    top.empty = False
                if top is not None and top.closer == "}" and not (self._colon or top.is_set):
                    if not (yield from self._key(top)):
                        return False
                    if not top.is_set:
                        continue
                else:
                    self._colon = False
                    if char and char in _CLOSERS:
                        if len(self._open) == MAX_DEPTH:
                            return False
                        self._begin(char)
                        continue
                    if not (yield from self._scalar()):
                        return False
            if not (yield from self._behind()):
                return False
            if not self._open:
                return True

    def _behind(self) -> Step[bool]:
        """After an item: all closers that follow, and a comma. False where neither stands."""
        scan = self.scan
        while self._open:
            self._put((yield from take_run(scan, _GAP)))
            char = yield from character(scan)
            if char == ",":
                scan.take(1)
                self._comma = ","
                self._tuple(self._open[-1])
                return True
            if char != self._open[-1].closer:
                return False
            self._close()
        return True

    # Containers

    def _begin(self, opener: str) -> None:
        self.scan.take(1)
        closer = _CLOSERS[opener]
        if opener != "[":
            self._undecided += 1
            self._open.append(_Open(closer, len(self._held)))
            self._held.append("")
        else:
            self._open.append(_Open(closer, None))
            self._put(opener)

    def _tuple(self, top: _Open) -> None:
        """A comma is in a parenthesis: it is a tuple."""
        self._opens(top, "[")

    def _opens(self, top: _Open, bracket: str) -> None:
        """It is known by now which bracket a container has in JSON."""
        if top.held is not None:
            self._held[top.held] = bracket
            top.held = None
            self._decided()

    def _close(self) -> None:
        self.scan.take(1)
        self._comma = ""
        top = self._open.pop()
        if top.closer == "}":
            self._opens(top, "{")  # if it is empty
            self._put("]" if top.is_set else "}")
        elif top.held is None:
            self._put("]")
        else:
            if top.empty:
                self._held.append("[]")
            self._decided()

    def _decided(self) -> None:
        self._undecided -= 1
        if not self._undecided:
            self.keep("".join(self._held))
            self._held.clear()

    def _put(self, json: str) -> None:
        if self._undecided:
            self._held.append(json)
        elif json:
            self.keep(json)

    # Items

    def _scalar(self) -> Step[bool]:
        scan = self.scan
        if (yield from starts_string(scan)):
            self._put('"')
            direct = not self._undecided
            if not (yield from string(scan, self.sink, self._put, self._behind_item, direct=direct)):
                return False
            self._put('"')
            return True
        json = _atom((yield from take_run(scan, _ATOM)))
        if json is None:
            return False
        self._put(json)
        return True

    def _key(self, top: _Open) -> Step[bool]:
        """A member's key with its colon, or the first item of a set."""
        scan = self.scan
        if (yield from starts_string(scan)):
            parts: list[str] = []
            goes_on = self._behind_key if top.held is None else self._behind_first
            if not (yield from string(scan, self.sink, parts.append, goes_on)):
                return False
            json = key = '"' + "".join(parts) + '"'
        else:
            number = _atom((yield from take_run(scan, _ATOM)))
            if number is None:
                return False
            json, key = number, quote(number)
        gap = yield from take_run(scan, _GAP)
        char = yield from character(scan)
        if char == ":":
            scan.take(1)
            self._opens(top, "{")
            self._put(f"{key}{gap}:")
            self._colon = True
            return True
        if top.held is None or char not in {",", "}"}:
            return False
        top.is_set = True
        self._opens(top, "[")
        self._put(f"{json}{gap}")
        return True

    def _behind_key(self, ahead: int) -> Step[bool]:
        """Whether a member can go on so many characters from here, after its key."""
        space = yield from self.scan.space(ahead)
        return (yield from character(self.scan, space)) == ":"

    def _behind_first(self, ahead: int) -> Step[bool]:
        """The same of a dict's first key, which may be the first item of a set."""
        return (yield from self._behind_key(ahead)) or (yield from self._behind_item(ahead))

    def _behind_item(self, ahead: int) -> Step[bool]:
        """Whether a container, or the grammar around the literal, can go on so many characters from here."""
        if not self._open:
            return (yield from self.goes_on(ahead))
        scan, closer = self.scan, self._open[-1].closer
        space = yield from scan.space(ahead)
        char = yield from character(scan, space)
        if char != ",":
            return char == closer
        space = yield from scan.space(space + 1)
        char = yield from character(scan, space)
        return char == closer or char in _BEGINS_ITEM


def _atom(word: str) -> str | None:
    """The JSON of a number or a constant; None for everything else."""
    known = _WORDS.get(word)
    if known is not None:
        return known
    sign = "-" if word.startswith("-") else ""
    digits = word[1:] if word[:1] in ("+", "-") else word
    if _INTEGER.fullmatch(digits):
        return sign + (digits.replace("_", "").lstrip("0") or "0")
    if len(digits) <= _MAX_BASED and _BASED.fullmatch(digits):
        return f"{sign}{int(digits, 0)}"
    found = _FLOAT.fullmatch(digits)
    if found is None or not (found[1] or found[2] or found[4]):
        return None
    whole, fraction, exponent = (found[1], found[2], found[3]) if found[4] is None else (found[4], None, found[5])
    point = "" if found[4] is not None else f".{fraction or '0'}"
    return (sign + ((whole or "").lstrip("0_") or "0") + point + (exponent or "")).replace("_", "")
