r"""A Python string that is in text, read piece by piece and written as the inside of a JSON string.

All prefixes that give text (`r`, `u`), single and triple quotes, and every escape; adjacent strings are one, as in
Python. `b` and `f` strings are no text, so they are none. What is not Python but certain in meaning is read too: raw
line ends in a plain string, an escape that is not whole (both characters stand), and quotes inside the string that
should have been escaped. So a plain quote closes only where the grammar can go on after it, or where nothing speaks
for it being data: in `"say "hi" now"` the inner two are data, in `"a" + "b"` they are not, and the value is none.

Python 3.12, Lexical analysis, 2.4: https://docs.python.org/3.12/reference/lexical_analysis.html#literals
"""

import re
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from toolcalls.shapes import CallSink
from toolcalls.shapes.words import character
from toolcalls.text.scanner import MAX_SPACE, Scanner, Step
from toolcalls.values.conversion import escape

type Keep = Callable[[str], None]
type GoesOn = Callable[[int], Step[bool]]

_QUOTES = ('"""', "'''", '"', "'")
_OPENERS = {prefix + quote: (quote, prefix in {"r", "R"}) for prefix in ("", "r", "R", "u", "U") for quote in _QUOTES}
_LITERALS = tuple(_OPENERS)

# What ends a run of a string's plain characters.
_MATTERS = {quote: re.compile(rf"[{quote[0]}\\\r\n]" if len(quote) == 1 else rf"[{quote[0]}\\]") for quote in _QUOTES}
# Plain characters and escapes of one character, one after the other.
_RUNS = {quote: re.compile(rf"(?:[^{matters.pattern[1:]}++|\\[\\'\"abfnrtv])*+") for quote, matters in _MATTERS.items()}

# A character that cannot be right after a string in an expression that anybody writes: the quote before it is data.
_INSIDE = re.compile(r"[\w$<>/~{@!?&|^\\]")

_SIMPLE = {
    "\n": "",
    "\\": "\\\\",
    "'": "'",
    '"': '\\"',
    "a": "\\u0007",
    "b": "\\b",
    "f": "\\f",
    "n": "\\n",
    "r": "\\r",
    "t": "\\t",
    "v": "\\u000b",
}
# The same escapes in a text that was made the inside of a JSON string, to be replaced one kind after the other. A
# backslash comes first, lest it begin another one, and has a character in its place that no such text holds. Those that
# JSON has as well (`b`, `f`, `n`, `r`, `t`) lose one of their two backslashes.
_ESCAPED = (
    (escape("\\\\"), "\0"),
    *((escape(f"\\{char}"), _SIMPLE[char]) for char in "\"'av"),
    ("\\\\", "\\"),
    ("\0", "\\\\"),
)
_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEX = re.compile(r"[0-9A-Fa-f]*+")
_OCTAL = re.compile(r"[0-7]{1,3}+")
_MAX_NAME = 128  # characters of a Unicode name in `\N{...}`, more than any has


def starts_string(scan: Scanner, ahead: int = 0) -> Step[bool]:
    """Whether a string begins `ahead` characters from here."""
    return (yield from scan.among(_LITERALS, ahead)) is not None


def string(scan: Scanner, sink: CallSink, keep: Keep, goes_on: GoesOn, *, direct: bool = False) -> Step[bool]:
    """Read the strings that begin here, one after the other, as one. `keep` is given it without its JSON quotes.

    goes_on   whether the grammar can go on so many characters from here
    direct    `keep` is the call's own, so that a piece that is all string may leave unread

    Returns whether the string is closed.
    """
    while True:
        opener = yield from scan.among(_LITERALS)
        if opener is None:
            return False
        scan.take(len(opener))
        quote, raw = _OPENERS[opener]
        if not (yield from _Body(scan, sink, keep, goes_on, quote, raw=raw, direct=direct).read()):
            return False
        space = yield from scan.space()
        if space >= MAX_SPACE or not (yield from starts_string(scan, space)):
            return True
        scan.take(space)


@dataclass(slots=True)
class _Body:
    """The inside of one string, after its opening quote."""

    scan: Scanner
    sink: CallSink
    keep: Keep
    goes_on: GoesOn
    quote: str
    raw: bool
    direct: bool
    nested: int = 0  # quotes that were data and may have their closing one before them

    def read(self) -> Step[bool]:
        """Up to its closing quote. Returns whether there is one."""
        scan, matters = self.scan, _MATTERS[self.quote].search
        run = None if self.raw else _RUNS[self.quote].match
        while True:
            if run is not None and (plain := run(scan.text, scan.pos)) and plain.group():
                self.keep(_unescaped(scan.take(plain.end() - plain.start())))
            found = matters(scan.text, scan.pos)
            stop = len(scan.text) if found is None else found.start()
            if stop > scan.pos:
                self.keep(escape(scan.take(stop - scan.pos)))
            if found is None:
                if scan.ended:
                    return False
                scan.wake_on = matters if self.direct else None
                yield
                scan.wake_on = None
            elif found.group() == "\\":
                if not (yield from self._backslash()):
                    return False
            elif found.group() != self.quote[0]:
                self.sink.note_repair("raw_newline")
                self.keep(escape(scan.take(1)))
            elif (yield from self._closes()):
                scan.take(len(self.quote))
                return True
            else:
                self.keep(escape(scan.take(1)))

    def _closes(self) -> Step[bool]:
        """Whether the quote that is here is the closing one."""
        scan = self.scan
        if len(self.quote) == 3:
            return (yield from scan.starts(self.quote))
        if (yield from self.goes_on(1)):
            return True
        following = yield from character(scan, 1)
        if _INSIDE.match(following):
            self.nested += 1
        elif self.nested:
            self.nested -= 1
        else:
            return True
        self.sink.note_repair("nested_quotes")
        return False

    def _backslash(self) -> Step[bool]:
        """Read an escape, or the backslash alone of one that Python does not know. False where the text ends in it."""
        scan = self.scan
        char = yield from character(scan, 1)
        if not char:
            scan.take(1)
            return False
        if self.raw:  # a quote after a backslash closes nothing, and both stay
            self.keep(escape(scan.take(2)))
        elif char in _SIMPLE:
            self.keep(_SIMPLE[char])
            scan.take(2)
        elif char == "\r":
            scan.take(3 if (yield from character(scan, 2)) == "\n" else 2)
        elif char in "01234567":
            yield from character(scan, 3)
            found = _OCTAL.match(scan.text, scan.pos + 1)
            digits = found.group() if found else char
            self.keep(escape(chr(int(digits, 8))))
            scan.take(1 + len(digits))
        elif char in _DIGITS:
            yield from self._hex(char)
        elif char == "N":
            yield from self._named()
        else:  # Python keeps the backslash of an escape that it does not know
            self.keep(escape(scan.take(1)))
        return True

    def _hex(self, kind: str) -> Step[None]:
        r"""`\xhh`, `\uxxxx` or `\Uxxxxxxxx`."""
        scan, size = self.scan, _DIGITS[kind]
        yield from character(scan, 1 + size)
        begin = scan.pos + 2
        found = _HEX.match(scan.text, begin, begin + size)
        digits = found.group() if found else ""
        if len(digits) == size and int(digits, 16) <= sys.maxunicode:
            self.keep(f"\\u{digits}" if kind == "u" else escape(chr(int(digits, 16))))
            scan.take(2 + size)
        else:
            self._not_whole()

    def _named(self) -> Step[None]:
        r"""`\N{NAME}`."""
        scan, size = self.scan, 2
        if (yield from character(scan, size)) == "{":
            while size < _MAX_NAME and (yield from character(scan, size)) not in {"", "}", "\n", self.quote[0]}:
                size += 1
            name = scan.text[scan.pos + 3 : scan.pos + size]
            found = _lookup(name) if scan.text[scan.pos + size : scan.pos + size + 1] == "}" else None
            if found is not None:
                self.keep(escape(found))
                scan.take(size + 1)
                return
        self._not_whole()

    def _not_whole(self) -> None:
        self.sink.note_repair("invalid_escape")
        self.keep(escape(self.scan.take(1)))


def _unescaped(run: str) -> str:
    """Plain characters and escapes of one character, as the inside of a JSON string."""
    json = escape(run)
    if "\\" in run:
        for escaped, char in _ESCAPED:
            json = json.replace(escaped, char)
    return json


def _lookup(name: str) -> str | None:
    """The character, or characters, of a Unicode name; None for no such name."""
    try:
        return unicodedata.lookup(name)
    except KeyError:
        return None
