"""Argument text <-> JSON text, by schema. Nothing here builds a value: text goes in, text comes out.

Strategy. A value keeps the spelling that the model gave it (law 11): what is strict JSON already passes as it is, so
that big integers, `1e400`, `1.10`, key order, duplicate keys and inner white space survive; only what is not JSON is
respelt (`007`, `True`). Loading and dumping again would lose all of these.

Types come from the declared schema (`schema.py`, whose names are here too) and are tried in the order null, integer,
number, boolean, object, array, string. Where a string may be as well, a number is one only as JSON writes it: `007` and
`+49` are text then. Where the schema names none, the dialect's own rule holds.

Strict JSON (RFC 8259) is recognised here by regular expressions for the flat parts and an explicit stack for nesting:
every ready-made decoder has a depth limit (RecursionError), an integer limit or takes `NaN`, and all build values that
nobody looks at. All quantifiers are possessive, so nothing backtracks and work is linear; memory is 8 bytes a level.
Python literals inside an object (`{'a': True}`) are not JSON and not repaired here (but in `shapes/arguments.py`, where
a schema asks for an object): such text is a string.

Everything is total: only `members` and `items` raise, and only ValueError.
"""

import json
import re
from json.encoder import encode_basestring

from toolcalls.values.json_tokens import STRING as _STRING
from toolcalls.values.schema import STRING, Types, declared_keys, parameter_types, required_keys
from toolcalls.values.spans import whole

__all__ = [
    "STRING",
    "Types",
    "canonical",
    "declared_keys",
    "escape",
    "fitting",
    "is_json",
    "is_object",
    "items",
    "members",
    "parameter_types",
    "quote",
    "required_keys",
    "same_arguments",
    "to_json",
    "to_text",
    "value_end",
]

# --- strict JSON ------------------------------------------------------------------------------------------------------

_SPACES = " \t\n\r"  # RFC 8259, 2: no other character is white space
_WS = r"[ \t\n\r]*+"
_NUM = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
_FLAT = rf"(?:{_STRING}|{_NUM}|true|false|null)"

_space = re.compile(_WS)
_string = re.compile(_STRING)
_number = re.compile(_NUM)
_scalar = re.compile(_FLAT)
_key = re.compile(rf"{_WS}({_STRING}){_WS}:{_WS}")
# All flat items that are followed by a comma, in one step; what comes after must be one more item.
_flat_items = re.compile(rf"(?:{_WS}{_FLAT}{_WS},)*+{_WS}")
_flat_members = re.compile(rf"(?:{_WS}{_STRING}{_WS}:{_WS}{_FLAT}{_WS},)*+")


def _end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    """Where the match at `pos` ends; ValueError naming the offset when there is none."""
    found = pattern.match(text, pos)
    if found is None:
        raise ValueError(f"not strict JSON at offset {pos}")
    return found.end()


def _next_value(text: str, pos: int, closer: str) -> int:
    """From after `{`, `[` or `,` to the next value that is nested or last in its container."""
    if closer == "]":
        return _end(_flat_items, text, pos)
    return _end(_key, text, _end(_flat_members, text, pos))


def value_end(text: str, pos: int) -> int:
    """The offset after the value that starts at `pos`; ValueError when there is none."""
    closers: list[str] = []
    while True:
        opener = text[pos : pos + 1]
        if opener and opener in "{[":
            closer = "}" if opener == "{" else "]"
            inside = _end(_space, text, pos + 1)
            if not text.startswith(closer, inside):
                closers.append(closer)
                pos = _next_value(text, inside, closer)
                continue
            pos = inside + 1
        else:
            pos = _end(_scalar, text, pos)
        while closers:
            pos = _end(_space, text, pos)
            if text.startswith(",", pos):
                pos = _next_value(text, pos + 1, closers[-1])
                break
            if not text.startswith(closers[-1], pos):
                raise ValueError(f"not strict JSON at offset {pos}")
            closers.pop()
            pos += 1
        else:
            return pos


def is_json(text: str) -> bool:
    """Whether the text is one strict JSON value (RFC 8259) with nothing but white space around it.

    Any depth, any number of digits; no NaN or Infinity, no BOM. A lone surrogate that is in a string as a character
    (not as an escape) is accepted: the grammar allows it, and only UTF-8 cannot carry it.
    """
    try:
        return _end(_space, text, value_end(text, _end(_space, text, 0))) == len(text)
    except ValueError:
        return False


def is_object(text: str) -> bool:
    """Whether the text is one strict JSON object with nothing but white space around it."""
    try:
        members(text)
    except ValueError:
        return False
    return True


def members(text: str) -> list[tuple[str, str]]:
    """The members of a JSON object text as (decoded key, raw JSON text of the value), in order, duplicates kept.

    ValueError naming the character offset when the text is not one whole strict JSON object.
    """
    return [(str(key), text[start:end]) for key, start, end in whole(text, value_end, "{")]


def items(text: str) -> list[str]:
    """The raw JSON texts of the items of a JSON array text, in order.

    ValueError naming the character offset when the text is not one whole strict JSON array.
    """
    return [text[start:end] for _, start, end in whole(text, value_end, "[")]


# --- strings ----------------------------------------------------------------------------------------------------------

# What the standard encoder leaves raw and some reader, terminal or script would trip over: DEL and C1 controls, the two
# line ends of ECMAScript, surrogates (UTF-8 cannot carry them).
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _as_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def quote(text: str) -> str:
    """The JSON string literal of a text, quotes included.

    Non-ASCII stands as it is; control characters, U+2028 and U+2029 are escaped; a lone surrogate becomes its own
    escape, so that two halves that arrive in separate pieces combine in the joined literal.
    """
    quoted = encode_basestring(text)
    if text.isascii() and "\x7f" not in text:
        return quoted
    return _UNSAFE.sub(_as_escape, quoted)


def escape(text: str) -> str:
    """`quote` without the quotes. Works character by character: escaped pieces, joined, are the escaped whole."""
    return quote(text)[1:-1]


def _unquote(raw: str) -> str:
    """The text of a string literal that `_string` has matched."""
    return str(json.loads(raw)) if "\\" in raw else raw[1:-1]


def to_text(raw: str) -> tuple[str, bool]:
    """A raw JSON value as a dialect without quotes writes it, and whether it was a string.

    A string is decoded (lone surrogates survive); everything else, also what is no JSON, stands as it is.
    """
    trimmed = raw.strip(_SPACES)
    if trimmed.startswith('"') and _string.fullmatch(trimmed):
        return _unquote(trimmed), True
    return raw, False


# --- text to JSON -----------------------------------------------------------------------------------------------------

# ASCII only: digits of other scripts and underscores, which int() takes, are text.
_DECIMAL = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?+([eE][+-]?[0-9]++)?+")


def to_json(text: str, types: Types | None, *, infer: bool = True) -> str:
    """The JSON text of an argument that stands as text.

    types   what the schema declares; only {"string"}: the text as it stands; None: nothing is declared
    infer   without types: an object, array, number, true, false or null that is strict JSON by itself passes as such;
            everything else, and everything when it is False, is a string

    Always gives strict JSON. What fits none of the types passes if it is strict JSON and is a string otherwise.
    """
    if types == STRING:
        return quote(text)
    trimmed = text.strip(_SPACES)
    if types is None:
        inferred = infer and not trimmed.startswith('"') and is_json(trimmed)
        return _carried(trimmed) if inferred else quote(text)
    found = fitting(trimmed, types)
    if found is not None:
        return found
    return _carried(trimmed) if "string" not in types and is_json(trimmed) else quote(text)


def fitting(text: str, types: Types) -> str | None:
    """The JSON text of the first type, string left aside, that the trimmed text fits; None when none does."""
    lowered = text.lower() if len(text) <= 5 else ""
    if "null" in types and (lowered == "null" or text == "None"):
        return "null"
    or_text = "string" in types
    numbers = not or_text or _number.fullmatch(text) is not None
    if numbers and (
        ("integer" in types and (spelt := _integer(text))) or ("number" in types and (spelt := _decimal(text)))
    ):
        return spelt
    if "boolean" in types and lowered in (("true", "false") if or_text else ("true", "1", "false", "0")):
        return "true" if lowered in ("true", "1") else "false"
    opener = text[:1]
    if ("object" in types and opener == "{") or ("array" in types and opener == "["):
        return _carried(text) if is_json(text) else None
    return None


def _integer(text: str) -> str | None:
    """An integer in JSON's spelling: no plus sign, no leading zeros; None when the text is none."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    return ("-" if text[0] == "-" else "") + (digits.lstrip("0") or "0")


def _decimal(text: str) -> str | None:
    """A number in JSON's spelling: also `+1`, `.5`, `5.` and `007.5`; None when the text is none."""
    if _number.fullmatch(text):
        return text
    found = _DECIMAL.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        return None
    fraction = "" if found[3] is None else "." + (found[3] or "0")
    return f"{'-' if found[1] == '-' else ''}{found[2].lstrip('0') or '0'}{fraction}{found[4] or ''}"


def _carried(text: str) -> str:
    """Strict JSON as it stands, but for raw surrogates: they are inside strings, and UTF-8 cannot carry them."""
    return text if text.isascii() else _SURROGATE.sub(_as_escape, text)


def same_arguments(left: str, right: str) -> bool:
    """Whether two argument texts mean the same object."""
    return left == right or canonical(left) == canonical(right)


def canonical(arguments: str) -> str:
    """The one spelling of all argument texts that mean the same object. What is no JSON stands as it is."""
    try:
        return json.dumps(json.loads(arguments, parse_int=str), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
