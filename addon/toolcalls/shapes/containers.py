"""An object or an array that a schema asks for and that a model wrote in another way than JSON.

Python literals, trailing commas and the like are the transducer's. Here are those that change what the brackets or the
quotes of the whole value are: JSON that was escaped once more, Python's sets and tuples. Each is read only where the
text as it stands is nothing that the schema asks for.
"""

import json
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.values.conversion import Types
from toolcalls.values.transducer import Transducer

_TYPES = {"{": "object", "[": "array"}
_SEQUENCES = {"{": "}", "(": ")"}  # Python's sets and tuples


class Container(NamedTuple):
    """JSON text, and how it was written instead."""

    json: str
    repairs: tuple[Repair, ...]


def container(text: str, types: Types | None) -> Container | None:
    """What trimmed `text`, which is no strict JSON, means as an object or an array of `types`; None for nothing."""
    types = types or frozenset()
    if _TYPES.get(text[:1]) in types:
        found = _read(text) or _unescaped(text)
        if found is not None:
            return found
    closer = _SEQUENCES.get(text[:1])
    if "array" in types and closer is not None and text.endswith(closer) and text[1:-1].strip():
        found = _read(f"[{text[1:-1]}]")
        return None if found is None else Container(found.json, ("python_literal", *found.repairs))
    return None


def _read(text: str) -> Container | None:
    reader = Transducer()
    made, end = reader.feed(text)
    return Container(made, tuple(reader.repairs)) if reader.done and end == len(text) else None


def _unescaped(text: str) -> Container | None:
    """JSON as it is inside a string, `{\\"k\\": 1}`."""
    if '\\"' not in text:
        return None
    try:
        inner = str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return None
    found = _read(inner)
    return None if found is None else Container(found.json, ("escaped_quotes", *found.repairs))
