"""Where the members of a JSON object and the items of a JSON array are in its text.

What is changed there is put between what stays, so white space, key order and the spelling of numbers survive.
"""

import json
import re
from collections.abc import Iterator

from toolcalls.values.conversion import value_end

_SPACE = re.compile(r"[ \t\n\r]*+")
_KEY = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)

# The step that leads to a value (a key, or a number), and the first and last offset of the value in its text.
type Span = tuple[str | int, int, int]


def spans(text: str, at: int = 0) -> Iterator[Span]:
    """The values inside the strict JSON object or array that begins at `at`; none for any other value.

    Raises ValueError where a value is no strict JSON.
    """
    closer = {"{": "}", "[": "]"}.get(text[at : at + 1], "")
    if not closer:
        return
    at, number = _past(text, at + 1), 0
    while at < len(text) and text[at] != closer:
        step: str | int = number
        if closer == "}":
            key = _KEY.match(text, at)
            if key is None:
                raise ValueError(f"no key at offset {at}")
            step = json.loads(key[0])
            at = _past(text, _past(text, key.end()) + 1)  # after the colon
        end = value_end(text, at)
        yield step, at, end
        at, number = _past(text, end), number + 1
        if text[at : at + 1] == ",":
            at = _past(text, at + 1)


def place_at(text: str, path: str) -> tuple[int, int] | None:
    """The first and last offset of the value at a JSON Pointer in a JSON text; None where there is none.

    Of members with the same key the last one counts.
    """
    at, end = _past(text, 0), len(text)
    try:
        for token in path.split("/")[1:]:
            step = token.replace("~1", "/").replace("~0", "~")
            found = [(begin, behind) for one, begin, behind in spans(text, at) if str(one) == step]
            if not found:
                return None
            at, end = found[-1]
    except (ValueError, IndexError):
        return None
    return at, end


def _past(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at
