"""The texts at which a request has generation stop: read from a body, and left out of it."""

from collections.abc import Sequence

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

type Place = tuple[str, ...]  # the keys that lead to a member of a body


def stops_in(fields: Fields, *places: Place) -> tuple[str, ...]:
    """The texts at which generation stops, which are in one of these places: a list of them, or one alone."""
    return tuple(text for place in places for text in _stops(fields, place))


def keep_stops(fields: Fields, stop: Sequence[str], *places: Place) -> None:
    """Leave out the texts that are not among `stop`."""
    for place in places:
        found = _stops(fields, place)
        left = [text for text in found if text in stop]
        if len(left) < len(found):
            _put(fields, place, left)


def _stops(fields: Fields, place: Place) -> list[str]:
    for key in place[:-1]:
        fields = rawjson.fields(fields.get(key))
    found = rawjson.value(fields.get(place[-1]))
    return [text for text in (found if isinstance(found, list) else [found]) if isinstance(text, str)]


def _put(fields: Fields, place: Place, texts: list[str]) -> None:
    key, *rest = place
    if rest:
        inner = dict(rawjson.fields(fields[key]))
        _put(inner, tuple(rest), texts)
        fields[key] = inner
    elif texts:
        fields[key] = [rawjson.string(text) for text in texts]
    else:
        del fields[key]
