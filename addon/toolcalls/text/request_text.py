"""A text of a request, and what its forms may hold, before any is made.

Taking off layers costs far more than searching, and few texts of a request hold what a candidate begins with in any
form. `RequestText.may_hold` excludes the others: no form has other words than the text, unless escapes hide them. What
is made all the same is remembered, since each turn of a conversation repeats the texts of the ones before it.
"""

import re
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Literal

from toolcalls.text.echo_forms import ENTITY, VARIANTS, in_other_words, is_page, readings, variants, without_escapes

_REMEMBERED = 4 << 20  # characters of variants, and as many of readings, that are kept twice (`_Remembered`)
# Escapes that may stand for any character: codes, and entities other than those of HTML's own characters.
_CODED = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|(?:0?33|e)\[)")
_NAMED = re.compile(r"&(?:amp;)*+(?!(?:amp|apos);|(?:lt|gt|quot|nbsp)\b)[A-Za-z#]")


class _Remembered:
    """What is made of a text, remembered.

    Kept are the latest ones, up to `_REMEMBERED` characters, and as many of those before them. Several threads may ask;
    at worst two make the same.
    """

    def __init__(self, make: Callable[[str], Iterable[str]]) -> None:
        self._make = make
        self._latest: dict[str, tuple[str, ...]] = {}
        self._before: dict[str, tuple[str, ...]] = {}
        self._size = 0  # of the latest ones, in characters

    def __call__(self, text: str) -> tuple[str, ...]:
        made = self._latest.get(text)
        if made is not None:
            return made
        made = self._before.get(text) or tuple(self._make(text))
        size = len(text) + sum(map(len, made))
        if size > _REMEMBERED:
            return made
        if self._size + size > _REMEMBERED:
            self._before, self._latest, self._size = self._latest, {}, 0
        self._latest[text] = made
        self._size += size
        return made


class RequestText(str):
    """A text of a request, whose forms are made when they are asked for."""

    @cached_property
    def hidden(self) -> Literal["none", "rare", "any"]:
        """Which characters escapes, entities or colours may hide in it; rare ones are not `_is_usual`."""
        if self.is_coloured or is_page(self):  # a page's tags may stand within words
            return "any"
        if "&" in self and ENTITY.search(self) is not None and _NAMED.search(self) is not None:
            return "any"
        codes = {found[0] for found in _CODED.finditer(self)} if "\\" in self else ()
        if not codes:
            return "none"
        meant = map(_meant, codes)
        return "any" if any(_is_usual(one) or "\x1b" in one for one in meant) else "rare"  # that begins colours

    @cached_property
    def is_coloured(self) -> bool:
        """Whether it may hold what only terminals read."""
        return "\x1b" in self or "^[[" in self

    def may_hold(self, words: Iterable[str]) -> bool:
        """Whether one of its forms may hold all these `words_of` a text. False is certain, True is not."""
        words = list(words)
        if self.hidden == "none" or (self.hidden != "any" and all(map(_is_usual, words))):
            return all(_is_in(word, self) for word in words)
        forms = self.variants
        return len(forms) == VARIANTS or any(all(_is_in(word, form) for word in words) for form in forms)

    @cached_property
    def variants(self) -> tuple[str, ...]:
        return _variants_of(str(self))

    @cached_property
    def readings(self) -> tuple[str, ...]:
        return _readings_of(str(self))


_variants_of = _Remembered(variants)


def _all_readings(text: str) -> Iterable[str]:
    for variant in _variants_of(text):
        yield from readings(variant)
        yield from in_other_words(variant)


_readings_of = _Remembered(_all_readings)


def _is_in(word: str, text: str) -> bool:
    return word in text or ("_" in word and word.replace("_", r"\_") in text)


def _is_usual(text: str) -> bool:
    """Whether all of it is printable ASCII, which other escapes, entities and colours are made of."""
    return text.isascii() and text.isprintable()


@lru_cache(4096)  # programs have the same few in many places
def _meant(code: str) -> str:
    """What a `_CODED` stands for."""
    return without_escapes(code)
