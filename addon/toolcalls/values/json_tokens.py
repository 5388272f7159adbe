"""The tokens of JSON as tables: what the `transducer` looks up while it reads them character by character."""

import re
from collections.abc import Callable

# An escape, as a part of a pattern.
ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
# A string that is strict JSON, likewise.
STRING = rf'"[^"\\\x00-\x1f]*+(?:{ESCAPE}[^"\\\x00-\x1f]*+)*+"'
DIGITS = "0123456789"
# The escapes of a string that mean one thing whatever else is in it.
_PLAIN_ESCAPE = r'\\(?:["\\/nrt]|u[0-9a-fA-F]{4})'


def _run(special: str) -> Callable[[str, int], re.Match[str] | None]:
    r"""Matches the longest run of a string's content that is strict JSON; `special` characters end it.

    So do `\b` and `\f`, which may have been meant as a backslash and a letter, and a raw surrogate: the grammar allows
    it, but UTF-8 cannot carry it.
    """
    plain = rf"[^{special}\\\x00-\x1f\ud800-\udfff]*+"
    return re.compile(rf"{plain}(?:{_PLAIN_ESCAPE}{plain})*+").match


def _stop(special: str) -> Callable[[str], re.Match[str] | None]:
    """Finds what is not plain in a piece of a string's content, or is written otherwise by `conversion.escape`."""
    return re.compile(rf"[{special}\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]").search


_SPECIAL = {'"': '"', "'": "\"'", "`": '"`'}  # the quotes that end a run, by the quote that opened the string
# By the quote: matches the longest run of a string's content, from an offset on, that is strict JSON and decided.
STRING_RUNS = {quote: _run(special) for quote, special in _SPECIAL.items()}
# By the same: finds what is not plain in a piece of a string's content. A piece without it is JSON as it is.
STRING_STOPS = {quote: _stop(special) for quote, special in _SPECIAL.items()}
# The entities that escaping for HTML writes, as content of a JSON string.
ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '\\"', "&#34;": '\\"', "&#39;": "'", "&apos;": "'"}
# Matches what may be the beginning of an escape, at the end of a piece.
PART_OF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?|U[0-9a-fA-F]{0,7})?\Z").match
# By the quote: matches an escape of Python's or JavaScript's. Its groups: what stands for itself, the digits of a code.
OTHER_ESCAPE = {
    quote: re.compile(rf"\\(?:([{itself}])|x([0-9a-fA-F]{{2}})|U(00(?:10|0[0-9a-fA-F])[0-9a-fA-F]{{4}}))").match
    for quote, itself in {'"': "'", "'": "'", "`": "'`$"}.items()
}

_LITERALS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
# By the first letter: the literal, and what it is in JSON.
LITERALS = {literal[0]: (literal, json) for literal, json in _LITERALS.items()}

# The parts of a number: what may come next, and the part that it begins or continues.
_LEADING = {"0": "zero"} | dict.fromkeys("123456789", "integer")
_EXPONENT = {"e": "e", "E": "e"}
NUMBER: dict[str, dict[str, str]] = {
    "start": {"-": "sign"} | _LEADING,
    "sign": _LEADING,
    "zero": {".": "point"} | _EXPONENT,
    "integer": dict.fromkeys(DIGITS, "integer") | {".": "point"} | _EXPONENT,
    "point": dict.fromkeys(DIGITS, "fraction"),
    "fraction": dict.fromkeys(DIGITS, "fraction") | _EXPONENT,
    "e": dict.fromkeys("+-", "e sign") | dict.fromkeys(DIGITS, "exponent"),
    "e sign": dict.fromkeys(DIGITS, "exponent"),
    "exponent": dict.fromkeys(DIGITS, "exponent"),
}
# The parts after which a number may end.
WHOLE_NUMBER = frozenset({"zero", "integer", "fraction", "exponent"})
