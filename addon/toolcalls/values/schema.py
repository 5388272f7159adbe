"""What a tool's JSON Schema says about the arguments: their keys, which are required, their types. See `values`.

Strategy. The rule that most tool call parsers share: the types of a schema are the union of what `type`, `enum`,
`const`, `anyOf` and `oneOf` name, with the type names that people use instead of JSON Schema's. `$ref` and `allOf`
narrow that union, since both must hold; where they contradict each other, both count. A schema that names no type says
nothing (None), and one such branch of `anyOf` makes the whole `anyOf` say nothing (`anyOf: [{}, {type: null}]` is how
pydantic writes "anything").

Schemas come from clients and may be malformed, cyclic, or wide through references. A malformed part says nothing;
every schema object is read once (a result in progress is the empty set, which adds nothing to a union), and nesting is
bounded, so work is linear in the schema. Nothing here raises.

JSON Schema 2020-12: https://json-schema.org/draft/2020-12/json-schema-core ; JSON Pointer: RFC 6901.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

type Types = frozenset[str]
type _Path = tuple[str | None, ...]

STRING: Types = frozenset({"string"})

_NOTHING: Types = frozenset()
_MAX_DEPTH = 64  # schemas inside schemas; what is deeper says nothing
_NAMES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"string|str|text|varchar|char|enum"), "string"),
    (re.compile(r"integer|u?int[0-9]*|long|short|unsigned"), "integer"),
    (re.compile(r"number|float[0-9]*|double"), "number"),
    (re.compile(r"boolean|bool"), "boolean"),
    (re.compile(r"object|dict"), "object"),
    (re.compile(r"array|arr|list|sequence"), "array"),
    (re.compile(r"null"), "null"),
)


def parameter_types(
    schema: Mapping[str, Any], *path: str | None, root: Mapping[str, Any] | None = None
) -> Types | None:
    """The types that the schema of an argument object declares for one property, or for a place deeper inside.

    path   one key for each object on the way, None for the items of an array; without one, the schema's own value
    root   the schema that references are resolved in, where it is another

    Looks into `properties`, else `patternProperties`, else `additionalProperties`, also after `$ref`, `allOf`, `anyOf`
    and `oneOf`. None when nothing is said: unknown key, no type named, malformed schema.
    """
    return _Resolver(schema if root is None else root).types(schema, path) or None


def required_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The names in a schema's own `required`."""
    names = schema.get("required")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else ()


def required_keys(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys that the argument object must have, also after `$ref` and `allOf`; () when nothing is said."""
    lists = (layer.get("required") for layer in layers(schema, (schema,), ("allOf",)))
    return _distinct(key for names in lists if isinstance(names, list | tuple) for key in names)


def declared_keys(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys that the argument object may have, in order, also after `$ref`, `allOf`, `anyOf` and `oneOf`."""
    maps = (layer.get("properties") for layer in layers(schema, (schema,)))
    return _distinct(key for properties in maps if isinstance(properties, Mapping) for key in properties)


def _distinct(keys: Iterator[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for key in keys if isinstance(key, str)))


def layers(
    root: Any, schemas: Iterable[Any], combinators: tuple[str, ...] = ("allOf", "anyOf", "oneOf")
) -> list[Mapping[str, Any]]:
    """The schemas and all that they refer to, in `root`, or combine; each once, in document order."""
    found: dict[int, Mapping[str, Any]] = {}
    pending: list[Any] = [*schemas][::-1]
    while pending:
        layer = pending.pop()
        if isinstance(layer, Mapping) and id(layer) not in found:
            found[id(layer)] = layer
            inner = [referred(root, layer.get("$ref"))]
            inner.extend(branch for word in combinators for branch in _branches(layer, word))
            pending.extend(reversed(inner))
    return list(found.values())


def _branches(schema: Mapping[str, Any], word: str) -> list[Any]:
    branches = schema.get(word)
    return list(branches) if isinstance(branches, list | tuple) else []


def referred(root: Any, reference: Any) -> Any:
    """What a local reference (`#/$defs/x`) points to; None for any other reference and for what is not there."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    if reference == "#":
        return root
    place = root
    head, *tokens = unquote(reference[1:]).split("/")
    if head:
        return None
    for token in tokens:
        step = token.replace("~1", "/").replace("~0", "~")
        if isinstance(place, Mapping):
            place = place.get(step)
        elif isinstance(place, list | tuple) and step.isascii() and step.isdigit() and len(step) < 6:
            place = place[int(step)] if int(step) < len(place) else None
        else:
            return None
    return place


class _Resolver:
    """Finds types in one schema: the root for references, and what is known of each schema object already."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[tuple[int, _Path], Types | None] = {}

    def types(self, schema: Any, path: _Path, depth: int = 0) -> Types | None:
        """The types at `path` inside a value of `schema`; None: nothing is said; the empty set: no value can be."""
        if schema is False:
            return _NOTHING
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return None
        place = (id(schema), path)
        if place not in self._known:
            self._known[place] = _NOTHING
            self._known[place] = self._read(schema, path, depth + 1)
        return self._known[place]

    def _read(self, schema: Mapping[str, Any], path: _Path, depth: int) -> Types | None:
        found = self._inner(schema, path, depth) if path else _named(schema)
        for word in ("anyOf", "oneOf"):
            branches = [self.types(branch, path, depth) for branch in _branches(schema, word)]
            # A branch that does not mention the key leaves it to the others; one without a type takes any value.
            known = [types for types in branches if types is not None]
            if known and (path or len(known) == len(branches)):
                found = (found or _NOTHING).union(*known)
        for other in (referred(self._root, schema.get("$ref")), *_branches(schema, "allOf")):
            found = _narrowed(found, self.types(other, path, depth))
        if found is None and not path:
            found = _implied(schema)
        return found

    def _inner(self, schema: Mapping[str, Any], path: _Path, depth: int) -> Types | None:
        key, *rest = path
        inner = tuple(rest)
        if key is None:
            return self.types(schema.get("items"), inner, depth) or None
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            return self.types(properties[key], inner, depth)
        patterns = schema.get("patternProperties")
        if isinstance(patterns, Mapping):
            for pattern, named in patterns.items():
                if _matches(pattern, key):
                    return self.types(named, inner, depth)
        return self.types(schema.get("additionalProperties"), inner, depth) or None


def _narrowed(one: Types | None, other: Types | None) -> Types | None:
    """What both allow; everything that either names where they contradict each other."""
    if not one or not other:
        return one or other
    both = one & other
    if ("number" in one and "integer" in other) or ("integer" in one and "number" in other):
        both |= {"integer"}  # every integer is a number
    return both or one | other


def _named(schema: Mapping[str, Any]) -> Types | None:
    """What `type`, `enum`, `const` and OpenAPI's `nullable` name."""
    names = schema.get("type")
    found = {_name(name) for name in (names if isinstance(names, list | tuple) else [names])}
    found.update(_type_of(member) for member in _branches(schema, "enum"))
    if "const" in schema:
        found.add(_type_of(schema["const"]))
    found.discard(None)
    if found and schema.get("nullable") is True:
        found.add("null")
    return frozenset(name for name in found if name is not None) or None


def _name(name: Any) -> str | None:
    """JSON Schema's name of a type; also what people write instead. Gemini writes them in capitals."""
    if not isinstance(name, str) or len(name) > 20:
        return None
    return next((ours for pattern, ours in _NAMES if pattern.fullmatch(name.lower())), None)


def _type_of(value: Any) -> str | None:
    """The JSON type of a value of a parsed schema."""
    if value is None:
        return "null"
    kinds: tuple[tuple[Any, str], ...] = (
        (bool, "boolean"),  # before int: a bool is one
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (Mapping, "object"),
        (list | tuple, "array"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), None)


def _implied(schema: Mapping[str, Any]) -> Types | None:
    """The type that a schema without one still means, by the words that only one type has."""
    if "properties" in schema:
        return frozenset({"object"})
    return frozenset({"array"}) if "items" in schema or "prefixItems" in schema else None


def _matches(pattern: Any, key: str) -> bool:
    """Whether a pattern of `patternProperties` is found in the key.

    The key is a model's, so matching must stay linear: a pattern with more than one quantifier, which may backtrack
    without end, and one that Python cannot read, match nothing.
    """
    if not isinstance(pattern, str) or sum(map(pattern.count, "*+?{")) > 1:
        return False
    try:
        return re.search(pattern, key) is not None
    except (re.error, OverflowError, RecursionError):
        return False
