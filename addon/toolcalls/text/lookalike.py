"""Openers that only look like ones: other letters, fullwidth forms, and characters between them that show nothing.

Such text is never a call, since tags count only as they are spelt; but a person who reads it sees a call, so it gets a
verdict. Strategy: the skeleton of a text (Unicode Technical Standard 39, section 4) is compared with the skeletons of
the openers, character by character, and only where a character that is not ASCII is at or after one that may begin
an opener. So ASCII text costs nothing, and other text one search for those characters.

What is looked for begins in ASCII as an opener does, or with its first character in another form. Both are known when
they arrive, so what may still become a look-alike is held like what may become an opener, and no cut matters.

https://www.unicode.org/reports/tr39/#Confusable_Detection, NFKC: https://www.unicode.org/reports/tr15/
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from toolcalls.text.scanner import prefixes_of

_HIDDEN = re.compile(
    "[\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
MOST_HIDDEN = 16  # characters that show nothing in one tag; with more of them it is no tag to anybody

# Letters and signs that are drawn like those of openers; NFKC knows the rest (fullwidth, mathematical, roman numerals).
_DRAWN_LIKE = {
    "a": "\u0430\u0251\u03b1", "b": "\u042c\u0184", "c": "\u0441\u03f2\u1d04", "d": "\u0501", "e": "\u0435\u04bd\u212e",
    "g": "\u0261\u0581", "h": "\u04bb\u0570", "i": "\u0456\u0131\u03b9", "j": "\u0458\u03f3", "k": "\u043a\u03ba",
    "l": "\u04cf\u01c0\u05c0", "m": "\u043c", "n": "\u0578\u057c", "o": "\u043e\u03bf\u0585\u1d0f", "p": "\u0440\u03c1",
    "q": "\u051b\u0566", "s": "\u0455\ua731", "t": "\u0442\u03c4", "u": "\u057d\u03c5\u1d1c", "v": "\u0475\u03bd\u1d20",
    "w": "\u051d\u0461\u1d21", "x": "\u0445\u03c7", "y": "\u0443\u03b3", "z": "\u1d22",
    "A": "\u0410\u0391", "B": "\u0412\u0392", "C": "\u0421\u03f9", "D": "\u13a0", "E": "\u0415\u0395", "G": "\u050c",
    "H": "\u041d\u0397", "I": "\u0406\u0399", "J": "\u0408", "K": "\u041a\u039a", "L": "\u13de", "M": "\u041c\u039c",
    "N": "\u039d", "O": "\u041e\u039f", "P": "\u0420\u03a1", "Q": "\u051a", "R": "\u13a1", "S": "\u0405",
    "T": "\u0422\u03a4", "U": "\u054d", "V": "\u0474", "X": "\u0425\u03a7", "Y": "\u0423\u03a5", "Z": "\u0396",
    "<": "\u2039\u02c2\u276e\u1438\u27e8\u2329", ">": "\u203a\u02c3\u276f\u1433\u27e9\u232a",
    "[": "\u27e6\u301a", "]": "\u27e7\u301b", "|": "\u2223\u2502\u2503\u01c1\u23d0",
    "_": "\u2581\u02cd\u2017", "-": "\u2010\u2012\u2013\u2212", "/": "\u2044\u2215\u2571", ":": "\u0589\u2236\ua789",
    "=": "\ua78a\u2e40", '"': "\u201c\u201d\u201f\u02ba", "'": "\u2018\u2019\u02b9",
}  # fmt: skip
_LIKE = {character: drawn for drawn, characters in _DRAWN_LIKE.items() for character in characters}


class LookAlike(NamedTuple):
    """What looks like an opener from `start` to `end`. `literal`: which one; "" where more text must tell."""

    start: int
    end: int
    literal: str


@lru_cache(maxsize=4096)
def _drawn(character: str) -> str | None:
    """The ASCII that a character is drawn like, "" for one that shows nothing; None for any other."""
    if character.isascii():
        return character
    if _HIDDEN.match(character):
        return ""
    normal = "".join(_LIKE.get(one, one) for one in unicodedata.normalize("NFKC", character))
    return normal if normal.isascii() else _LIKE.get(character)


def skeleton(text: str) -> str | None:
    """`text` in the ASCII that it is drawn like; None where a character is like none."""
    drawn = [_drawn(character) for character in text]
    return None if None in drawn else "".join(character or "" for character in drawn)


class Spellings:
    """Openers as they are spelt and as they are drawn. Words are left out: they are in any prose. Never changes."""

    def __init__(self, literals: Iterable[str]) -> None:
        exact = tuple(dict.fromkeys(literal for literal in literals if not literal[0].isalnum()))
        self.exact = frozenset(exact)
        self.beginnings = prefixes_of(exact)
        self.drawn = {drawn: literal for literal in reversed(exact) if (drawn := skeleton(literal))}
        self.drawn_beginnings = prefixes_of(self.drawn)


class LookAlikes:
    """Finds text that looks like one of some openers. Never changes.

    Their spellings are worked out where a character that may be part of one follows what may begin one, and not before:
    they are many, and hardly any text has such a place.
    """

    def __init__(self, signs: frozenset[str], longest: int, spellings: Callable[[], Spellings]) -> None:
        """`signs`: the first characters of the openers but for words; `longest`: the length of the longest opener."""
        self._spellings = spellings
        self._longest = 2 * longest  # a character may be drawn like two
        self.first = _drawn_like(signs)

    def find(self, text: str, start: int, stop: int) -> LookAlike | None:
        """The first look-alike that begins in a stretch, or the end of the text that may still become one.

        The text goes on after its end, or what is said of its end does not matter any more.
        """
        if text.isascii():
            return None
        for found in self.first.finditer(text, start, stop):
            begin = found.start()
            other = _NOT_ASCII.search(text, begin, begin + self._longest)
            if other is not None and _drawn(other.group()) is not None:
                look = self._at(text, begin, self._spellings())
                if look is not None:
                    return look
        return None

    def _at(self, text: str, start: int, spellings: Spellings) -> LookAlike | None:
        drawn, hidden, odd = "", 0, False
        for place in range(start, len(text)):
            character = text[place]
            if not odd and not character.isascii():
                # What comes before it was held if it begins an opener as it is spelt, and only then.
                odd = text[start:place] in spellings.beginnings
                if not odd:
                    return None
            like = _drawn(character)
            hidden += like == ""
            if like is None or hidden > MOST_HIDDEN:
                return None
            drawn += like
            literal = spellings.drawn.get(drawn)
            if literal is not None and like:
                spelt = text[start : place + 1]
                return None if spelt in spellings.exact or spelt.isascii() else LookAlike(start, place + 1, literal)
            if drawn not in spellings.drawn_beginnings:
                return None
        return LookAlike(start, len(text), "") if odd else None


@lru_cache(maxsize=64)
def _drawn_like(signs: frozenset[str]) -> re.Pattern[str]:
    """Finds one of these characters, or one that is drawn like it."""
    drawn = {skeleton(sign) for sign in signs} - {None, ""}
    other = "".join(sorted(one for one in _all_forms() if _drawn(one) in drawn))
    spelt = "".join(sorted(sign for sign in drawn if sign))
    return re.compile(f"[{re.escape(spelt)}{other}]") if drawn else re.compile(r"(?!)")


@lru_cache(maxsize=1)
def _all_forms() -> tuple[str, ...]:
    """Characters that are not ASCII and may be drawn like a sign that begins an opener."""
    compatible = (chr(code) for code in (*range(0xFE50, 0xFE70), *range(0xFF01, 0xFF61)))
    return (*_LIKE, *compatible)
