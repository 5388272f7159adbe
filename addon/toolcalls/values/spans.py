"""Where the members of a JSON object and the items of a JSON array are in its text.

What is changed there is put between what stays, so white space, key order and the spelling of numbers survive.
"""

import json
import re
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress

from toolcalls.values.json_tokens import STRING

_WS = r"[ \t\n\r]*+"
_space = re.compile(_WS)
_key = re.compile(rf"{_WS}({STRING}){_WS}:{_WS}")
_KINDS = {"{": ("object", "}", "brace"), "[": ("array", "]", "bracket")}

# The step that leads to a value (a key, or a number), and the first and last offset of the value in its text.
type Span = tuple[str | int, int, int]


def spans(text: str, at: int, end_of: Callable[[str, int], int], opener: str = "") -> Generator[Span, None, int]:
    """The values inside the object or array that begins at `at`. Returns the offset after its closer.

    end_of   where the value at an offset of a text ends; it raises ValueError for what is none
    opener   what must begin there, "" for either

    Raises ValueError naming the character offset where something is wrong.
    """
    if text[at : at + 1] not in ((opener,) if opener else _KINDS):
        raise ValueError(f"not a JSON {_KINDS[opener][0] if opener else 'container'} at offset {at}")
    kind, closer, name = _KINDS[text[at]]
    at, number = at + 1, 0
    end = past_space(text, at)
    while number or not text.startswith(closer, end):
        step: str | int = number
        if closer == "}":
            key = _key.match(text, at)
            if key is None:
                raise ValueError(f"not a JSON object: no key at offset {at if number else end}")
            step, at = json.loads(key[1]) if "\\" in key[1] else key[1][1:-1], key.end()
        else:
            at = past_space(text, at)
        end = end_of(text, at)
        yield step, at, end
        end, number = past_space(text, end), number + 1
        if not text.startswith(",", end):
            break
        at = end + 1
    if not text.startswith(closer, end):
        raise ValueError(f"not a JSON {kind}: neither comma nor {name} at offset {end}")
    return end + 1


def whole(text: str, end_of: Callable[[str, int], int], opener: str) -> list[Span]:
    """The values inside the object or array that is all of the text, but for white space. Raises as `spans`."""
    found: list[Span] = []
    inside = spans(text, past_space(text, 0), end_of, opener)
    try:
        while True:
            found.append(next(inside))
    except StopIteration as ended:
        end = past_space(text, ended.value)
    if end != len(text):
        raise ValueError(f"not a JSON {_KINDS[opener][0]}: more text at offset {end}")
    return found


_decode = json.JSONDecoder().raw_decode


def decoded_end(text: str, at: int) -> int:
    """Where the value at `at` ends that the standard library reads, NaN as well. Raises RecursionError for depth."""
    return _decode(text, at)[1]


def place_of(text: str, steps: Iterable[str | int]) -> int | None:
    """The offset of the value at the path `steps` in a JSON text; None where there is no such value."""
    found = _extent(text, steps)
    return None if found is None else found[0]


def place_at(text: str, path: str) -> tuple[int, int] | None:
    """The first and last offset of the value at a JSON Pointer (RFC 6901); None where there is none."""
    return _extent(text, (token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]))


def _extent(text: str, steps: Iterable[str | int]) -> tuple[int, int] | None:
    """The first and last offset of a value. Of members with the same key the last one counts, as for most readers."""
    place: tuple[int, int] | None = (past_space(text, 0), len(text))
    for step in map(str, steps):
        if place is None:
            return None
        at, place = place[0], None
        with suppress(ValueError, RecursionError):  # what comes behind it need be no JSON
            for key, begin, end in spans(text, at, decoded_end):
                place = (begin, end) if str(key) == step else place
    return place


def past_space(text: str, at: int) -> int:
    """The offset of what follows white space."""
    return _space.match(text, at).end()  # type: ignore[union-attr] # it matches anything
