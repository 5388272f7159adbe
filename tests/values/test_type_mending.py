"""What the schema and a value's own characters decide, and what is left alone."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolcalls.request import Tool
from toolcalls.values.json_schema import SchemaCheck
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.transducer import Transducer
from toolcalls.values.type_mending import ToolSchema, TypeWatch, mended_types


def schema_of(**properties: Any) -> ToolSchema:
    return whole_schema({"type": "object", "properties": properties})


def whole_schema(schema: dict[str, Any]) -> ToolSchema:
    tools = Toolbox([Tool("t", schema)])
    validator = tools.validator("t")
    assert validator is not None
    return ToolSchema(validator, SchemaCheck(schema), lambda path: tools.types("t", *path))


def found_by_watch(pieces: list[str], schema: ToolSchema) -> int | None:
    """The offset of the first value whose type is another."""
    watch = TypeWatch(schema.types_at)
    reader = Transducer(only_object=True, watch=watch)
    for piece in pieces:
        reader.feed(piece)
    return watch.at


def mended(text: str, **properties: Any) -> str | None:
    return _mended(text, schema_of(**properties))


def _mended(text: str, schema: ToolSchema) -> str | None:
    made = mended_types(text, schema)
    return None if made is None else made.text


INTEGER, ARRAY, STRING = {"type": "integer"}, {"type": "array"}, {"type": "string"}


@pytest.mark.parametrize(
    ("text", "schema", "wanted"),
    [
        ('{"a": "5"}', {"anyOf": [INTEGER, ARRAY]}, '{"a": 5}'),
        ('{"a": "5"}', {"anyOf": [INTEGER, STRING]}, None),
        ('{"a": 5}', {"anyOf": [STRING, {"type": "null"}]}, '{"a": "5"}'),
        ('{"a": 5}', {"anyOf": [STRING, ARRAY]}, None),
        ('{"a": "5"}', {"type": "integer", "maximum": 3}, None),
        ('{"a": "5"}', {"enum": [4, 5]}, '{"a": 5}'),
        ('{"a": "5"}', {"enum": [4]}, None),
        ('{"a": "5"}', {"type": "INTEGER"}, '{"a": 5}'),
        ('{"a": "5.0"}', INTEGER, '{"a": 5.0}'),
        ('{"a": "5.5"}', INTEGER, None),
        ('{"a": "NaN"}', {"type": "number"}, None),
        ('{"a": "1e400"}', {"type": "number"}, '{"a": 1e400}'),
        ('{"a": "[1, 2,]"}', ARRAY, None),
        ('{"a": "[[\\"1\\"]]"}', {"type": "array", "items": {"type": "array", "items": INTEGER}}, '{"a": [[1]]}'),
        ('{"a": null}', STRING, None),
        ('{"a": "5", "a": "6"}', INTEGER, '{"a": 5, "a": 6}'),
        ('{"a": "\\ud800[]"}', ARRAY, None),
        ('{"a": "[\\"\\ud800\\"]"}', ARRAY, '{"a": ["\\ud800"]}'),
        ('{"a": {"x": "5"}}', {"type": "object", "additionalProperties": INTEGER}, '{"a": {"x": 5}}'),
        ('{"a": "5"}', {"$ref": "#/properties/b"}, '{"a": 5}'),
        ('{"a": "5"}', {"$ref": "https://example.invalid/s"}, None),
        ('{"a": "{\\"k\\": 1}"}', {"type": "object", "required": ["k"]}, '{"a": {"k": 1}}'),
        ('{"a": "{}"}', {"type": "object", "required": ["k"]}, None),
        ('{"a": ["1", 1]}', {"type": "array", "items": INTEGER, "uniqueItems": True}, '{"a": [1, 1]}'),
        ('{"a": 5}', {"type": "string", "pattern": "^x"}, '{"a": "5"}'),
    ],
)
def test_one_value(text: str, schema: dict[str, Any], wanted: str | None) -> None:
    assert mended(text, a=schema, b=INTEGER) == wanted


@pytest.mark.parametrize(("inner", "wanted"), [("{}", None), ('{"k": 1}', '{"a": {"k": 1}, "b": 1}')])
def test_without_an_answer_of_json_schema_a_value_that_lacks_a_member_stays(inner: str, wanted: str | None) -> None:
    """`b` refers to what is not there, so only the shorter check of our own says what is refused."""
    needs = {"type": "object", "required": ["k"]}
    text = json.dumps({"a": inner, "b": 1})
    assert mended(text, a=needs, b={"$ref": "https://example.invalid/s"}) == wanted


def test_the_branch_that_another_member_names_decides() -> None:
    branches = {
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": kind}, "n": inner}, "required": ["kind", "n"]}
            for kind, inner in (("one", INTEGER), ("all", ARRAY))
        ]
    }
    assert mended('{"a": {"kind": "one", "n": "5"}}', a=branches) == '{"a": {"kind": "one", "n": 5}}'
    assert mended('{"a": {"kind": "all", "n": "[5]"}}', a=branches) == '{"a": {"kind": "all", "n": [5]}}'
    assert mended('{"a": {"kind": "one", "n": "[5]"}}', a=branches) is None


@pytest.mark.parametrize(("count", "is_mended"), [(500, True), (501, False)])
def test_so_many_values_are_mended_and_no_more(count: int, is_mended: bool) -> None:
    schema = {f"n{number}": INTEGER for number in range(count)}
    wanted = json.dumps(dict.fromkeys(schema, 5)) if is_mended else None
    assert mended(json.dumps(dict.fromkeys(schema, "5")), **schema) == wanted


def test_work_is_bounded() -> None:
    """A schema that refers to itself without end, and one that doubles with each reference."""
    doubling = {f"d{n}": {"anyOf": [{"$ref": f"#/properties/d{n + 1}"}] * 2} for n in range(40)}
    assert mended('{"d0": "x", "a": "5"}', **doubling, d40=INTEGER, a=INTEGER) in {None, '{"d0": "x", "a": 5}'}
    assert mended('{"a": "5"}', a={"$ref": "#/properties/a"}) is None


@pytest.mark.parametrize("schema", [{"required": "ab"}, {"type": "INTEGER"}, {"items": {"enum": 1}}])
def test_a_schema_that_is_none_gives_no_answer(schema: dict[str, Any]) -> None:
    assert SchemaCheck(schema).errors({}, 2) is None


@pytest.mark.parametrize(("count", "is_answered"), [(5_000, True), (5_001, False)])
def test_one_check_follows_so_many_references_and_no_more(count: int, is_answered: bool) -> None:
    check = SchemaCheck({"items": {"$ref": "#/$defs/n"}, "$defs": {"n": INTEGER}})
    wanted = {((0,), "type")} if is_answered else None
    for _ in range(2):
        assert check.errors(["x", *range(count - 1)], 1) == wanted


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KINDS: dict[str, type | tuple[type, ...]] = {"array": list, "object": dict, "boolean": bool}


@given(values, st.text(), st.integers(min_value=1, max_value=9))
@example(5, '"', 9)
def test_a_value_that_was_encoded_comes_back(value: Any, before: str, size: int) -> None:
    """Whatever it holds, whatever stands before it, and however it is cut: the watch finds where it begins."""
    kind = next((name for name, of in KINDS.items() if isinstance(value, of)), "number")
    if value is None or isinstance(value, str):
        return
    schema = schema_of(a={"type": kind}, s=STRING, t=STRING)
    raw = json.dumps(value)
    text = json.dumps({"s": '{"a": ', "t": before, "a": raw, "z": [raw]})
    made = mended_types(text, schema)
    assert made is not None
    assert made.text == json.dumps({"s": '{"a": ', "t": before, "a": value, "z": [raw]})
    at = found_by_watch([text[at : at + size] for at in range(0, len(text), size)], schema)
    assert at is not None
    assert text[at:].startswith(json.dumps(raw))


@given(values, st.integers(min_value=1, max_value=9))
def test_a_sound_value_is_nothing_to_the_watch(value: Any, size: int) -> None:
    schema = schema_of(a=STRING, b={"type": "array", "items": INTEGER}, c={})
    text = json.dumps({"a": json.dumps(value), "b": [1, 2], "c": value, "d": {"a": value}})
    assert found_by_watch([text[at : at + size] for at in range(0, len(text), size)], schema) is None
    assert mended_types(text, schema) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"b" 1, "a": "5"}',
        '{"b": 1 1, "a": "5"}',
        '{"b": \u00a01, "a": "5"}',
        '{"b": [1}, "a": "5"}',
        '{"b": , "a": "5"}',
        '{1: 1, "a": "5"}',
        '{"b": 1} {"a": "5"}',
        '["b", {"a": "5"}]',
        '{"b": 1, "a": null "5"}',
    ],
)
def test_what_is_no_json_ends_the_search(text: str) -> None:
    assert found_by_watch([text], schema_of(a=INTEGER, b={})) is None


@pytest.mark.parametrize(("needed", "wanted"), [(["b"], None), (["a"], '{"a": 5}')])
def test_a_value_stays_where_its_type_would_make_another_one_wrong(needed: list[str], wanted: str | None) -> None:
    """`b` is missing only where `a` is the number."""
    only_then = {"if": {"properties": {"a": {"const": 5}}}, "then": {"required": needed}}
    schema = whole_schema({"type": "object", "properties": {"a": INTEGER, "b": STRING}, **only_then})
    assert _mended('{"a": "5"}', schema) == wanted
