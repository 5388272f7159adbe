"""The `Transducer` for JSON in a model's text, which may have lost its escapes, or have been escaped as a whole.

A bare key is tolerated where the first of all keys is one.

Strategy: what does not decide yet is not consumed, and comes again in front of the next piece. An escaped object is
decoded from escape to escape, and read as what it says.
"""

import html
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.values.json_tokenizer import decoded
from toolcalls.values.json_tokens import ENTITIES, ESCAPE
from toolcalls.values.lost_escapes import end_of_value
from toolcalls.values.transducer import Transducer


class _Escaping(NamedTuple):
    """How a whole object was escaped.

    begins  what says so where the first key should be
    escape  one escape; `decode` gives what it stands for
    begun   what may become one, at the end of the text
    plain   what stands for itself
    """

    repair: Repair
    begins: tuple[str, ...]
    escape: re.Pattern[str]
    decode: Callable[[str], str]
    begun: re.Pattern[str]
    plain: re.Pattern[str]


def _beginnings(words: Iterable[str]) -> str:
    return "|".join(sorted({word[:size] for word in words for size in range(1, len(word))}))


_SLASHES = _Escaping(
    "escaped_quotes",
    begins=('\\"', r"\n", r"\r", r"\t"),
    escape=re.compile(ESCAPE),
    decode=decoded,
    begun=re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z"),
    plain=re.compile(r'[^"\\]++'),
)
_HTML = _Escaping(
    "entities",
    begins=("&quot;", "&#34;"),
    escape=re.compile("|".join(ENTITIES)),
    decode=html.unescape,
    begun=re.compile(rf"(?:{_beginnings(ENTITIES)})\Z"),
    plain=re.compile(r'[^"<&]++|&'),
)


class DamagedJson(Transducer):
    """As `Transducer`, with all that a model's text may need."""

    def __init__(self) -> None:
        super().__init__(bare_keys=True)
        self._final = False  # no more text comes
        self._had_string = False
        self._escaping: _Escaping | None = None
        self._ends_at = -1  # the offset of the quote that ends the string, where one in it is text
        self._opened_at = -1  # the offset of the quote that opened the string

    def feed(self, text: str, start: int = 0, *, final: bool = False) -> tuple[str, int]:
        """As the `Transducer`'s; but what does not decide yet is not consumed. `final`: no more text comes."""
        self._final, self._waits = final, False
        made, end = super().feed(text, start) if self._escaping is None else ("", start)
        if self._escaping is not None:
            rest, end = self._feed_escaped(self._escaping, text, end)
            made += rest
            self._plain = False
        return made, end

    # --- an object that was escaped as a whole ------------------------------------------------------------------------

    def _other_key(self, text: str, pos: int) -> int:
        if not (self._had_string or self._escaping or self._comma):
            for escaping in (_SLASHES, _HTML):
                if text.startswith(escaping.begins, pos):
                    self._escaping, self._waits = escaping, True
                    self._repair(escaping.repair)
                    return pos
                if not self._final and any(each.startswith(text[pos : pos + 6]) for each in escaping.begins):
                    self._waits = True
                    return pos
        return super()._other_key(text, pos)

    def _feed_escaped(self, escaping: _Escaping, text: str, start: int) -> tuple[str, int]:
        self._waits, pos, out = False, start, list[str]()
        while pos < len(text) and not self.done and self.failed is None:
            found = escaping.escape.match(text, pos)
            said = None if found is None else escaping.decode(found[0])
            if found is None and escaping.begun.match(text, pos) and not self._final:
                break
            found = found or escaping.plain.match(text, pos)
            if found is None:
                self.failed = f"a character without its escape at offset {self.read}"
                break
            made, taken = super().feed(said or found[0])
            out.append(made)
            if said and taken:
                self.read += len(found[0]) - taken
                taken = len(found[0])
            pos += taken
        return "".join(out), pos

    # --- strings ------------------------------------------------------------------------------------------------------

    def _open_string(self, quote: str, pos: int, *, key: bool) -> int:
        self._had_string = True
        self._opened_at = self._origin + pos
        if key and "bare_key" not in self.repairs:
            self._bare_keys = False  # from here on a word may as well be part of a string that lost its escapes
        return super()._open_string(quote, pos, key=key)

    def _goes_on(self, text: str, at: int) -> bool:
        return self._is_text(text, at)

    def _is_text(self, text: str, at: int) -> bool:
        """Whether the quote at `at` does not end the string, or not for sure (`_waits`)."""
        if self._is_key or self._quote != '"' or self._escaping is not None:
            return False
        if not self._closers or self._closers[-1] == "]":
            return False
        here = self._origin + at
        if here == self._opened_at + 1:  # three quotes open a string of another language, and its quotes are no text
            if text.startswith('"', at + 1):
                return False
            if at + 1 == len(text) and not self._final:
                self._waits = True
                return True
        if here > self._ends_at:
            found = end_of_value(text, at, final=self._final)
            self._waits = found < 0
            if found <= at:
                return self._waits
            self._ends_at = self._origin + found
        if here == self._ends_at:
            return False
        self._repair("nested_quotes")
        self._content('\\"')
        return True
