"""What a schema says against a value, and what of a schema is not looked at since it would take too much work."""

from typing import Any

import pytest

from toolcalls.values.json_schema import SchemaCheck


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        ({"enum": ["a", "b"]}, "c", {((), "enum")}),
        ({"properties": {"n": {"maximum": 3}}}, {"n": 4}, {(("n",), "maximum")}),
        ({"type": "array", "uniqueItems": True}, [1, 1], set()),
        ({"type": "string", "pattern": "^b"}, "a", set()),
        ({"$dynamicRef": "#nowhere"}, 1, set()),
        ({"patternProperties": {"^b": {"type": "string"}}}, {"b": 1}, None),
        ({"type": "STRING"}, "a", None),
        ({"$ref": "https://example.com/schema.json"}, "a", None),
    ],
    ids=lambda one: next(iter(one), None) if isinstance(one, dict) else None,
)
def test_what_a_schema_says_against_a_value(schema: dict[str, Any], value: Any, errors: set[Any] | None) -> None:
    assert SchemaCheck(schema).errors(value, 10) == errors


def test_a_value_that_is_too_large_is_not_checked() -> None:
    assert SchemaCheck({"enum": ["a"]}).errors("b", 256 * 1024 + 1) is None
