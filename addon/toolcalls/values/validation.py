"""What of a call's arguments contradicts the tool's schema: values of another type, and missing members.

Strategy: no validator of the whole of JSON Schema. What stops a call is a value whose type no branch of the schema
allows, or a member that is missing; lengths, formats, patterns and members of an enum are the tool's own business. The
types of a place are those of `schema`; `$ref` and `allOf` count beside them, and of `anyOf` and `oneOf` the branch in
which the least is wrong. A schema that is malformed or cyclic says nothing, and the work of one check is bounded.

Nothing here raises.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolcalls.events import Defect
from toolcalls.values.schema import STRING, Types, parameter_types, referred, required_names
from toolcalls.values.spans import place_of

_WORK = 50_000  # places of schema and value that one check looks at; what is left says nothing
_MAX_DEPTH = 64  # values inside values, and schemas inside schemas
_MOST = 16  # mismatches that are reported of one value
_MOST_TEXT = 1_000_000  # characters of a string that is looked into
_ORDER = ("array", "object", "string", "integer", "number", "boolean", "null")

type Step = str | int


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One place that contradicts the schema.

    steps    the way to it: a key for each object, a number for each array
    wanted   the types that the schema allows; None for a member that is required and missing
    got      the type that is there, "" where nothing is
    holds    the type of the value that a string holds as JSON, where the schema wants that type; "" for none
    """

    steps: tuple[Step, ...]
    wanted: Types | None
    got: str = ""
    holds: str = ""


class Validator:
    """Checks values against one schema. Build it once: what it learns of the schema is kept."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = self._root = schema
        self._types: dict[int, Types | None] = {}
        self._work = 0

    def mismatches(self, value: Any, most: int | None = _MOST) -> list[Mismatch]:
        """What contradicts the schema, in the order of the value; a few of many, unless `most` is None."""
        self._work = _WORK
        return self._check(self._root, value, (), 0)[:most]

    def _check(self, schema: Any, value: Any, steps: tuple[Step, ...], depth: int) -> list[Mismatch]:
        self._work -= 1
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or self._work < 0:
            return []
        types = self._types_of(schema)
        got = type_of(value)
        if types and not allows(types, value):
            return [Mismatch(steps, types, got, _held(value, types))]
        found = list(self._inside(schema, value, steps, depth))
        for other in (referred(self._root, schema.get("$ref")), *_branches(schema, "allOf")):
            found += self._check(other, value, steps, depth + 1)
        for word in ("anyOf", "oneOf"):
            if branches := _branches(schema, word):
                found += self._least(branches, value, steps, depth)
        return list(dict.fromkeys(found)) if len(found) > 1 else found

    def _least(self, branches: Sequence[Any], value: Any, steps: tuple[Step, ...], depth: int) -> list[Mismatch]:
        """What is wrong by the branch in which the least is, and which allows the value's own type if one does."""
        best: list[Mismatch] | None = None
        least: tuple[bool, int, int] | None = None
        for branch in branches:
            found = self._check(branch, value, steps, depth + 1)
            if not found:
                return []
            itself = any(one.steps == steps and one.wanted is not None for one in found)
            wrong = itself, len(found), sum(one.wanted is None for one in found)
            if least is None or wrong < least:
                best, least = found, wrong
        return best or []

    def _inside(self, schema: Mapping[str, Any], value: Any, steps: tuple[Step, ...], depth: int) -> Iterator[Mismatch]:
        if isinstance(value, dict):
            for name in required_names(schema):
                if name not in value:
                    yield Mismatch((*steps, name), None)
            properties = schema.get("properties")
            more = schema.get("additionalProperties")
            for key, member in value.items():
                known = isinstance(properties, Mapping) and key in properties
                inner = properties[key] if isinstance(properties, Mapping) and known else more
                if known or "patternProperties" not in schema:
                    yield from self._check(inner, member, (*steps, key), depth + 1)
        elif isinstance(value, list):
            items = schema.get("items")
            first = _branches(schema, "prefixItems") or (_branches(schema, "items"))
            for place, member in enumerate(value):
                inner = first[place] if place < len(first) else items
                yield from self._check(inner, member, (*steps, place), depth + 1)

    def _types_of(self, schema: Mapping[str, Any]) -> Types | None:
        key = id(schema)
        if key not in self._types:
            self._types[key] = parameter_types(schema, root=self._root)
        return self._types[key]


def allows(types: Types, value: Any) -> bool:
    """Whether one of these types is the value's. An integer is a number, and 1.0 is an integer."""
    kind = type_of(value)
    if kind in types or (kind == "integer" and "number" in types):
        return True
    return kind == "number" and "integer" in types and isinstance(value, float) and value.is_integer()


def type_of(value: Any) -> str:
    """The JSON type of a decoded value."""
    if isinstance(value, bool):
        return "boolean"
    kinds: tuple[tuple[Any, str], ...] = (
        (str, "string"), (int, "integer"), (float, "number"), (dict, "object"), (list, "array"),
    )  # fmt: skip
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def words(types: Types) -> str:
    """Types for people: `array or null`."""
    return " or ".join(sorted(types, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER)))


def pointer(steps: Sequence[Step]) -> str:
    """A way into a value as a JSON Pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def defect_of(mismatch: Mismatch, text: str) -> Defect:
    """A mismatch as a defect of the arguments that are in `text`."""
    path = pointer(mismatch.steps)
    if mismatch.wanted is None:
        return Defect("missing_argument", path, at=place_of(text, mismatch.steps[:-1]))
    got = f"string that holds {mismatch.holds}" if mismatch.holds else mismatch.got
    return Defect("wrong_type", path, words(mismatch.wanted), got, place_of(text, mismatch.steps))


def unreadable(text: str) -> tuple[Defect, ...]:
    """Where a text is no JSON; () for one that is."""
    try:
        decoded(text)
    except json.JSONDecodeError as error:
        return (Defect("bad_arguments", wanted="JSON", got=error.msg, at=error.pos),)
    except ValueError:
        pass
    return ()


def decoded(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for what is none, or more than can be decoded."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _held(value: Any, types: Types) -> str:
    """The type of the value that a string holds as JSON, where that is what is wanted and no string is."""
    if not isinstance(value, str) or types >= STRING or len(value) > _MOST_TEXT:
        return ""
    try:
        inner = decoded(value)
    except ValueError:
        return ""
    return type_of(inner) if allows(types, inner) else ""


def _branches(schema: Mapping[str, Any], word: str) -> Sequence[Any]:
    branches = schema.get(word)
    return branches if isinstance(branches, list | tuple) else ()
