"""JSON objects as their members, with duplicates: parsers differ in which of two members of one name they take."""

import json
from typing import Any


class Members(dict[str, Any]):
    """An object of which duplicates are kept. As `object_pairs_hook`, it stands for each object of a JSON text."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def members_of(value: Any) -> list[tuple[str, str]]:
    """Each name with its value as JSON text, of an object or of a string that holds one; of anything else none."""
    if isinstance(value, str):
        try:
            value = json.loads(value, object_pairs_hook=Members, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            return []
    return [(key, json.dumps(one)) for key, one in value.pairs] if isinstance(value, Members) else []
