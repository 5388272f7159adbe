r"""The `Transducer` for JSON in a model's text, which may have lost its escapes, or have been escaped as a whole.

    nested_quotes   {"a": "say "b""}   → {"a": "say \"b\""}, where nothing else can be read (`lost_escapes`)
    escaped_quotes  {\"a\": 1}         → {"a": 1}
    entities        {&quot;a&quot;: 1} → {"a": 1}

    bare_key        {a: 1}             → {"a": 1}, where the first of all keys is bare

Strategy: what does not decide yet is not consumed, and comes again in front of the next piece. An escaped object is
decoded one escape at a time, and read as though each decoded character had come by itself.
"""

import json
import re
from collections.abc import Callable

from toolcalls.values.lost_escapes import end_of_value
from toolcalls.values.transducer import DOUBLED, Transducer

_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_PART = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_BEGINS = '"nrt'  # what a backslash before the first key escapes: its quote, or white space
_ENTITIES = {"&quot;": '"', "&#34;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#39;": "'", "&apos;": "'"}
_QUOTES = ("&quot;", "&#34;")
_LONGEST = max(map(len, _ENTITIES))


class DamagedJson(Transducer):
    """As `Transducer`, with its `entities`."""

    def __init__(self) -> None:
        super().__init__(bare_keys=True, entities=True)
        self._final = False  # no more text comes
        self._had_string = self._escaped_whole = False
        self._unescape = self._unescaped
        self._ends_at = -1  # the offset of the quote that ends the string, where one in it is text
        self._opened_at = -1  # the offset of the quote that opened the string

    def feed(self, text: str, start: int = 0, *, final: bool = False) -> tuple[str, int]:
        """As the `Transducer`'s; but what does not decide yet is not consumed. `final`: no more text comes."""
        self._final, self._waits = final, False
        made, end = "", start
        if not self._escaped_whole:
            made, end = super().feed(text, start)
        if self._escaped_whole:
            rest, end = self._feed_escaped(text, end)
            made += rest
        return made, end

    @property
    def wake_on(self) -> Callable[[str], object] | None:
        """As the `Transducer`'s. An escaped object is decoded character by character."""
        return None if self._escaped_whole else super().wake_on

    def _feed_escaped(self, text: str, start: int) -> tuple[str, int]:
        self._out, self._waits, pos = [], False, start
        self._origin = self._read - start
        while pos < len(text) and not (self.done or self._waits) and self.failed is None:
            pos = self._unescape(text, pos)
        self._read += pos - start
        return "".join(self._out), pos

    def _unescaped(self, text: str, pos: int) -> int:
        """One character of an escaped object, read as what it says."""
        char, size = text[pos], 1
        if char == "\\":
            found = _ESCAPE.match(text, pos)
            if found is None:
                self._waits = not self._final and _PART.fullmatch(text, pos) is not None
                return pos if self._waits else self._fail("no escape", pos)
            char, size = str(json.loads(f'"{found[0]}"')), len(found[0])
        elif char == '"':
            return self._fail("a quote without its escape", pos)
        return self._read_as(char, pos, size)

    def _decoded(self, text: str, pos: int) -> int:
        """One character of an object that was escaped for HTML, read as what it says."""
        char, size = text[pos], 1
        if char == "&":
            found = next((each for each in _ENTITIES if text.startswith(each, pos)), "")
            if not found and not self._final and len(text) - pos < _LONGEST:
                rest = text[pos:]
                self._waits = any(each.startswith(rest) for each in _ENTITIES)
                if self._waits:
                    return pos
            char, size = _ENTITIES.get(found, char), len(found) or 1
        elif char in '"<':
            return self._fail("a character that would be escaped", pos)
        return self._read_as(char, pos, size)

    def _read_as(self, char: str, pos: int, size: int) -> int:
        """The state reads `char`, which `size` characters at `pos` say. Returns the offset after them."""
        while self._state(self, char, 0) == 0 and self.failed is None:
            pass
        return pos if self.failed is not None else pos + size

    def _open_string(self, quote: str, pos: int, *, key: bool) -> int:
        self._had_string = True
        self._opened_at = self._origin + pos
        if key and "bare_key" not in self.repairs:
            self._bare_keys = False  # from here on a word may as well be part of a string that lost its escapes
        return super()._open_string(quote, pos, key=key)

    def _is_escaped(self, text: str, at: int) -> bool:
        if self._had_string or self._escaped_whole or self._comma:
            return False
        if text[at] == "&":
            return self._is_for_html(text, at)
        if at + 1 == len(text):
            self._waits = not self._final
            return self._waits
        if text[at + 1] not in _BEGINS:
            return False
        self._escaped_whole = self._waits = True
        self._repair("escaped_quotes")
        return True

    def _is_for_html(self, text: str, at: int) -> bool:
        if not text.startswith(_QUOTES, at):
            self._waits = not self._final and any(each.startswith(text[at:]) for each in _QUOTES)
            return self._waits
        self._escaped_whole = self._waits = True
        self._unescape = self._decoded
        self._entities = False  # nothing is decoded twice
        self._repair("entities")
        return True

    def _is_text(self, text: str, at: int) -> bool:
        if self._is_key or self._closers[-1:] not in (["}"], [DOUBLED]) or self._quote != '"' or self._escaped_whole:
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
