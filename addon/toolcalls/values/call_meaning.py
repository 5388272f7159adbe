"""What a call means, as far as its repetition in another spelling is to be known.

A model that says a call twice, as text and natively, seldom spells it twice alike: a value loses the white space at its
ends, and a member is left out where the other has null or the default that the schema declares. Arguments that differ
in nothing else mean the same.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from toolcalls.values.schema import layers

_MAX_DEPTH = 64  # objects and arrays inside each other; deeper, no default is known


class Declared:
    """What schemas say about one place: the defaults of its value, and what is declared inside.

    root   the schema that references are resolved in
    """

    __slots__ = ("_depth", "_inside", "_layers", "_root", "defaults")

    def __init__(self, root: Any, schemas: Iterable[Any] = (), depth: int = 0) -> None:
        self._root = root
        self._depth = depth
        self._layers = layers(root, schemas)
        self._inside: dict[str | None, Declared] = {}
        self.defaults = {_spelled(layer["default"]) for layer in self._layers if "default" in layer}

    def inside(self, key: str | None) -> "Declared":
        """The same for a member of an object, or with None for the items of an array."""
        if not self._layers:
            return self
        if key not in self._inside:
            found: list[Any] = []
            if self._depth < _MAX_DEPTH:
                for layer in self._layers:
                    properties = layer.get("properties")
                    if key is None:
                        found.append(layer.get("items"))
                    elif isinstance(properties, Mapping):
                        found.append(properties.get(key))
            self._inside[key] = Declared(self._root, found, self._depth + 1)
        return self._inside[key]


NOTHING_DECLARED = Declared({})


def meaning(arguments: str, declared: Declared = NOTHING_DECLARED) -> str:
    """The one spelling of all argument texts that mean the same. What is no JSON stands as it is.

    declared   what the tool's schema says about the arguments
    """
    try:
        return json.dumps(_plain(json.loads(arguments, parse_int=str), declared), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _plain(value: Any, declared: Declared) -> Any:
    """A value without white space at the ends of its texts, and without members that say nothing."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        inside = declared.inside(None)
        return [_plain(item, inside) for item in value]
    if not isinstance(value, dict):
        return value
    members = {}
    for key, member in value.items():
        inside = declared.inside(key)
        plain = _plain(member, inside)
        if plain is not None and not (inside.defaults and _dumped(plain) in inside.defaults):
            members[key] = plain
    return members


def _spelled(default: Any) -> str:
    """A default of a schema, spelled as the values that are compared with it."""
    return meaning(json.dumps(default))


def _dumped(plain: Any) -> str:
    return json.dumps(plain, sort_keys=True)
