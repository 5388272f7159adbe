"""The arguments of a native call that come in pieces (`partialArgs`, on Vertex AI), put together."""

import re
from itertools import pairwise
from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]")


def put(target: dict[str, Any], partial: Fields) -> None:
    """Put one piece of streamed arguments where its path says (`$.recipe.items[0].name`); strings go on."""
    path = rawjson.word(partial, "jsonPath")
    steps: list[str | int] = [int(at) if at else key or quoted for key, at, quoted in _STEP.findall(path)]
    found = [rawjson.value(partial[key]) for key in ("stringValue", "numberValue", "boolValue") if key in partial]
    given = found[0] if found else None
    place: Any = target
    for step, following in pairwise(steps):
        inner: Any = [] if isinstance(following, int) else {}
        place = _entered(place, step, inner)
        if place is None:
            return
    if not steps or ("nullValue" not in partial and not found):
        return
    before = _entered(place, steps[-1], given)
    if before is not given and isinstance(before, str) and isinstance(given, str):
        place[steps[-1]] = before + given


def _entered(place: Any, step: str | int, new: Any) -> Any:
    """What is at a step, `new` where nothing did; None where no such step can be taken."""
    if isinstance(place, dict) and isinstance(step, str):
        return place.setdefault(step, new)
    if isinstance(place, list) and isinstance(step, int) and step <= len(place):
        if step == len(place):
            place.append(new)
        return place[step]
    return None
