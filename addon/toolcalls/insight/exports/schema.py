"""The JSON Schema (draft 2020-12) of a JSON line, made of the fields of the vocabulary."""

from collections.abc import Iterable
from typing import Any

from toolcalls.insight.vocabulary.entries import Field
from toolcalls.insight.vocabulary.fields import FIELDS, SCHEMA, VERSION

_ABOUT = (
    "One line of `toolcalls export --format jsonl`. docs/exports.md says what each field means. Fields that are not "
    "named here may come without a new version."
)


def json_schema() -> dict[str, Any]:
    """The schema as plain data."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:toolcalls:exchange:{VERSION}",
        "title": f"{SCHEMA}, version {VERSION}",
        "description": _ABOUT,
        **_object("", FIELDS),
    }


def _object(path: str, fields: Iterable[Field]) -> dict[str, Any]:
    """An object whose fields' paths begin with `path`."""
    below = [field for field in fields if field.path.startswith(path)]
    own = [field for field in below if "." not in field.path.removeprefix(path)]
    return {
        "type": "object",
        "properties": {field.path.removeprefix(path): _value(field, below) for field in own},
        "required": [field.path.removeprefix(path) for field in own if field.presence == "always"],
    }


def _value(field: Field, fields: Iterable[Field]) -> dict[str, Any]:
    inside = [one for one in fields if one.path.startswith((f"{field.path}.", f"{field.path}[]."))]
    if not inside:
        return dict(field.schema)
    if field.schema["type"] == "array":
        return {**field.schema, "items": _object(f"{field.path}[].", inside)}
    return _object(f"{field.path}.", inside)
