"""What of a value contradicts a JSON Schema in every word of it, by `jsonschema`. Asked only of calls that are mended.

Beside `validation`, which knows types and missing members alone and takes the schemas that agents really send, this one
knows `enum`, `const`, bounds and which branch of `oneOf` a value belongs to. A schema that is none by its own standard
(`type: STRING`), or that would need more than this file allows, gives no answer.

Schemas and values come from elsewhere: nothing is fetched, no pattern is searched for, and the work is bounded.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from typing import Any

_MOST_SCHEMA = 256 * 1024  # characters of a schema
_MOST_VALUE = 256 * 1024  # characters of a value
_MOST_REFERENCES = 5_000  # that one check follows

type Place = tuple[str | int, ...]


class _TooMuchWork(Exception):
    """A check follows too many references."""


@cache
def _of(module: str) -> Any:
    """A module of the library, which takes its time to load and is seldom asked."""
    return import_module(module)


class SchemaCheck:
    """Checks values by one schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._left = _MOST_REFERENCES

    @cached_property
    def _validator(self) -> Any:
        """The library's, made when it is first asked; None where the schema cannot be used."""
        try:
            text = json.dumps(self._schema)
            if len(text) > _MOST_SCHEMA or "patternProperties" in text:
                return None
            draft = _of("jsonschema").Draft202012Validator
            draft.check_schema(self._schema)
            words = {"$ref": self._followed, "$dynamicRef": _unknown, "pattern": _unknown, "uniqueItems": _unknown}
            made = _of("jsonschema.validators").extend(draft, words)
            return made(self._schema, registry=_of("referencing").Registry())
        except (_of("jsonschema.exceptions").SchemaError, TypeError, ValueError, RecursionError):
            return None

    def errors(self, value: Any, size: int) -> set[tuple[Place, str]] | None:
        """Each place that contradicts the schema, with the word that says so; None for no answer.

        size   how many characters the value has as JSON
        """
        if self._validator is None or size > _MOST_VALUE:
            return None
        self._left = _MOST_REFERENCES
        try:
            return {(tuple(error.absolute_path), str(error.validator)) for error in self._validator.iter_errors(value)}
        except (
            _of("jsonschema.exceptions").UnknownType,
            _of("referencing.exceptions").Unresolvable,
            _TooMuchWork,
            RecursionError,
            ArithmeticError,
            TypeError,
            re.error,
        ):
            return None

    def _followed(self, validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[Any]:
        self._left -= 1
        if self._left < 0:
            raise _TooMuchWork
        yield from (
            _of("jsonschema").Draft202012Validator.VALIDATORS["$ref"](validator, reference, instance, schema) or ()
        )


def _unknown(_validator: Any, _word: Any, _instance: Any, _schema: Any) -> Iterator[Any]:
    """A word that is not looked at."""
    return iter(())
