"""Arguments whose values have another type than the schema declares, as what they can only mean.

A string that is exactly one JSON value of the type that is wanted, and where no string is, is that value; an object,
array, number or boolean where only a string is wanted is the string of its own characters. Nothing else is touched:
what is around a value, and the value's own spelling, stay as the model wrote them.

`TypeWatch` finds the first such value while the arguments come, by its first character; `mended_types` mends all of
them when all is there. Both decide by the same rule, so what has left before the first one is right. Each change is
checked: the schema must refuse the value before it, and nothing that it refuses afterwards may be new or concern that
value.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolcalls.values.conversion import STRING, Types, is_json, quote, value_end
from toolcalls.values.json_schema import Place, SchemaCheck
from toolcalls.values.spans import spans
from toolcalls.values.transducer import Path
from toolcalls.values.validation import Mismatch, Validator, allows

_MAX_DEPTH = 64  # values inside values
_MOST_CHANGES = 500  # of one call
_MOST_ROUNDS = 8  # in which changes are taken back that the schema refuses
_SPACE = " \t\n\r"
_NUMBERS = frozenset("-0123456789")
_NULL = frozenset({"null"})
_NUMERIC = frozenset({"integer", "number"})
_SURROGATE = re.compile("[\ud800-\udfff]")
_OF_MANY = frozenset({"anyOf", "oneOf"})


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """What is asked about the arguments of one tool. `types_at`: the types that are declared for a place."""

    validator: Validator
    check: SchemaCheck
    types_at: Callable[[Path], Types | None]


@dataclass(frozen=True, slots=True)
class TypesMended:
    """Arguments as they were meant, and what was wrong with them."""

    text: str
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True)
class _Change:
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str
    steps: Place


def contradicts(types: Types | None, char: str) -> bool:
    """Whether a value that begins so has another type than these, and one that may be mended. `null` may not."""
    if not types or char == "n":
        return False
    if char in _NUMBERS:
        return not types & _NUMERIC
    kind = {'"': "string", "{": "object", "[": "array", "t": "boolean", "f": "boolean"}.get(char)
    return kind is not None and kind not in types


def mended_types(text: str, schema: ToolSchema) -> TypesMended | None:
    """The arguments, a strict JSON object, with what can be mended for sure; None where nothing can."""
    text_at = len(text) - len(text.lstrip(_SPACE))
    changes = list(_changes(text, text_at, (), (), schema, 0))
    if not changes or len(changes) > _MOST_CHANGES:
        return None
    before = _refused(text, schema)
    refused = {one.steps for one in before.mismatches if one.wanted is not None}
    changes = [change for change in changes if change.steps in refused and before.says(change.steps)]
    for _ in range(_MOST_ROUNDS):
        if not changes:
            return None
        made = _applied(text, changes)
        after = _refused(made, schema)
        kept = [change for change in changes if not after.concerns(change.steps)]
        if len(kept) == len(changes):
            touched = {change.steps for change in changes}
            found = tuple(one for one in before.mismatches if one.steps in touched)
            return None if after.adds_to(before) else TypesMended(made, found)
        changes = kept
    return None


@dataclass(frozen=True, slots=True)
class _Refused:
    """What a schema refuses of arguments: by `validation`, and by `json_schema`, None where that gives no answer."""

    mismatches: list[Mismatch]
    errors: set[tuple[Place, str]] | None

    def says(self, steps: Place) -> bool:
        """Whether the value there is refused, or something around it."""
        return self.errors is None or any(steps[: len(place)] == place for place, _ in self.errors)

    def concerns(self, steps: Place) -> bool:
        """Whether something is refused there or inside, or no branch takes what is around it."""
        inside = [one.steps for one in self.mismatches if one.wanted is not None]
        inside += [place for place, _ in self.errors or ()]
        around = [place for place, word in self.errors or () if word in _OF_MANY]
        return any(place[: len(steps)] == steps for place in inside) or any(
            steps[: len(place)] == place for place in around
        )

    def adds_to(self, before: "_Refused") -> bool:
        """Whether the schema refuses anything now that it did not refuse before."""
        known = {(one.steps, one.wanted is None) for one in before.mismatches}
        if any((one.steps, one.wanted is None) not in known for one in self.mismatches):
            return True
        return self.errors is not None and before.errors is not None and not self.errors <= before.errors


def _refused(text: str, schema: ToolSchema) -> _Refused:
    value = _decoded(text)
    return _Refused(schema.validator.mismatches(value, most=None), schema.check.errors(value, len(text)))


def _changes(text: str, start: int, path: Path, steps: Place, schema: ToolSchema, depth: int) -> Iterator[_Change]:
    """What may be changed inside the container that begins at `start`."""
    for step, begin, end in spans(text, start, value_end):
        place: Path = (*path, None if isinstance(step, int) else step)
        types, char = schema.types_at(place), text[begin]
        if types and contradicts(types, char):
            new = _meant(text[begin:end], types, place, schema, depth)
            if new is not None:
                yield _Change(begin, end, new, (*steps, step))
        elif char in "{[" and depth < _MAX_DEPTH:
            yield from _changes(text, begin, place, (*steps, step), schema, depth + 1)


def _meant(raw: str, types: Types, path: Path, schema: ToolSchema, depth: int) -> str | None:
    """The only value of one of these types that `raw` can mean, as JSON; None where there is no such value."""
    if not raw.startswith('"'):
        return quote(raw) if types - _NULL == STRING else None
    inner = str(json.loads(raw)).strip(_SPACE)
    if inner[:1] in {"", '"'} or contradicts(types, inner[0]) or not is_json(inner):
        return None
    if not allows(types, _decoded(inner)):
        return None
    if inner[0] in "{[" and depth < _MAX_DEPTH:
        inner = _applied(inner, list(_changes(inner, 0, path, (), schema, depth + 1)))
    return inner if inner.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", inner)


def _applied(text: str, changes: Sequence[_Change]) -> str:
    pieces, at = [], 0
    for change in changes:
        pieces += [text[at : change.start], change.new]
        at = change.end
    return "".join([*pieces, text[at:]])


def _decoded(text: str) -> Any:
    """The value of strict JSON. Raises ValueError for what is nested too deep."""
    try:
        return json.loads(text, parse_int=_number)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _number(written: str) -> int:
    return int(written) if len(written) < 4000 else int(written[:4000])  # of its type and size, roughly


class TypeWatch:
    """The `watch` of a `Transducer`: notes the first value whose first character contradicts the schema.

    at  its offset, None for none so far
    """

    def __init__(self, types_at: Callable[[Path], Types | None]) -> None:
        self.at: int | None = None
        self._types_at = types_at

    def __call__(self, path: Path, char: str, offset: int) -> None:
        if self.at is None and len(path) <= _MAX_DEPTH and contradicts(self._types_at(path), char):
            self.at = offset
