"""Defects of native calls: each kind is found, with its place, and nothing is found in a sound call."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.events import Defect
from toolcalls.mending.defects import defects_of, is_repeated
from toolcalls.request import Tool
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.validation import Validator

EDIT = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
        "all": {"type": "boolean"},
        "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "mode": {"enum": ["fast", None]},
        "any": {},
    },
    "required": ["path"],
    "$defs": {
        "edit": {
            "type": "object",
            "properties": {"old": {"type": "string"}, "lines": {"type": "array", "items": {"type": "number"}}},
            "required": ["old"],
        }
    },
}
TOOLS = Toolbox([Tool("edit", EDIT), Tool("now", {"type": "object", "properties": {}}), Tool("mcp__fs__read_file")])


def found(name: str, arguments: str) -> list[tuple[str, str]]:
    return [(one.code, one.path) for one in defects_of(name, arguments, TOOLS)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit", '{"path": "a"}'),
        ("edit", '{"path": "a", "edits": [{"old": "x", "lines": [1, 2.5]}], "all": true, "count": null, "mode": null}'),
        ("edit", '{"path": "a", "count": 5.0, "any": "[1]", "other": {}}'),
        ("edit", '{"path": "[1, 2]", "mode": "true"}'),
        ("edit", ' {"path": "a", "count": 12345678901234567890123456789} '),
        ("now", "{}"),
        ("mcp__fs__read_file", '{"whatever": [1e400]}'),
    ],
)
def test_a_sound_call_has_none(name: str, arguments: str) -> None:
    assert defects_of(name, arguments, TOOLS) == ()


@pytest.mark.parametrize(
    ("arguments", "defect"),
    [
        ('{"path": "a", "edits": "[{}]"}', Defect("wrong_type", "/edits", "array", "string that holds array", 23)),
        ('{"path": {"b": 1}}', Defect("wrong_type", "/path", "string", "object", 9)),
        ('{"path": "a", "all": "true"}', Defect("wrong_type", "/all", "boolean", "string that holds boolean", 21)),
        ('{"path": "a", "all": "yes"}', Defect("wrong_type", "/all", "boolean", "string", 21)),
        (
            '{"path": "a", "count": "7"}',
            Defect("wrong_type", "/count", "integer or null", "string that holds integer", 23),
        ),
        ('{"path": "a", "mode": 1}', Defect("wrong_type", "/mode", "string or null", "integer", 22)),
        (
            '{"path": "a", "edits": [{"old": "x"}, {"old": "x", "lines": ["1"]}]}',
            Defect("wrong_type", "/edits/1/lines/0", "number", "string that holds integer", 61),
        ),
        ('{"path": "a", "edits": [{}]}', Defect("missing_argument", "/edits/0/old", at=24)),
        ('{"all": true}', Defect("missing_argument", "/path", at=0)),
        ("", Defect("empty_arguments", wanted="object")),
        (" \n", Defect("empty_arguments", wanted="object")),
        ('{"path": "a"', Defect("bad_arguments", "", "JSON", "Expecting ',' delimiter", 12)),
        ('{"path": "a"}}', Defect("bad_arguments", "", "JSON", "Extra data", 13)),
        ('{"path": NaN}', Defect("bad_arguments", "", "JSON")),
        ("[1]", Defect("bad_arguments", "", "object", "array")),
        ('"{\\"path\\": \\"a\\"}"', Defect("double_encoded", "", "object", "string that holds an object")),
        ('{"path": "a"}{"path": "b"}', Defect("glued_calls", at=13)),
        ('{"path": "a"} \n{"path": "a"}', Defect("repeated_arguments", at=15)),
        ('{"path": "a"} {"path": "a"}', Defect("repeated_arguments", at=14)),
    ],
)
def test_what_is_wrong_with_arguments(arguments: str, defect: Defect) -> None:
    assert defects_of("edit", arguments, TOOLS) == (defect,)


@pytest.mark.parametrize(
    ("name", "defect"),
    [
        ("", Defect("no_name")),
        (" ", Defect("no_name")),
        ("editedit", Defect("repeated_name")),
        ("Edit", Defect("misspelt_name", wanted="edit")),
        ("functions.edit", Defect("misspelt_name", wanted="edit")),
        ("MCP__fs__ReadFile", Defect("misspelt_name", wanted="mcp__fs__read_file")),
        ("edit<|channel|>commentary", Defect("markup_in_name")),
        ("edit<arg_key>path</arg_key>", Defect("markup_in_name")),
        ("view", Defect("undeclared")),
    ],
)
def test_what_is_wrong_with_a_name(name: str, defect: Defect) -> None:
    arguments = '{"path": "a"}'
    assert defects_of(name, arguments, TOOLS) == (defect,)
    assert defects_of(name, arguments, TOOLS, undeclared=True) == (() if defect.code == "undeclared" else (defect,))


def test_without_tools_no_name_is_wrong() -> None:
    assert defects_of("view", "{}", Toolbox()) == ()
    assert defects_of("", "{}", Toolbox()) == (Defect("no_name"),)


@pytest.mark.parametrize(
    "value",
    [
        "a.ts</parameter><parameter=all>true",
        'a.ts</parameter>\n<parameter name="all">true',
        "a.ts</parameter>\n</function>\n</tool_call>",
        "a.ts</arg_value><arg_key>all</arg_key><arg_value>true",
        "a.ts</arg_value>\n</tool_call>",
        "a.ts</parameter></invoke></function_calls>",
        "a.ts</x:parameter>",
        "a.ts<|tool_call_end|>",
        "a.ts<|tool_call_end|><|tool_call_begin|>functions.edit:1",
        "a.ts</parameter></function></tool_call><tool_call><function=edit><parameter=path>b.ts",
        'a.ts</\uff5cDSML\uff5cparameter>\n<\uff5cDSML\uff5cparameter name="all">true',
        "a.ts<|im_end|>\n",
    ],
)
@pytest.mark.parametrize("bracket", ["<", "\\u003c", "\\u003C"])
def test_markup_that_a_value_swallowed(value: str, bracket: str) -> None:
    arguments = json.dumps({"edits": [{"old": value}], "path": "a"}).replace("<", bracket)
    assert defects_of("edit", arguments, TOOLS) == (Defect("markup_in_value", "/edits/0/old", at=19),)


def test_the_next_tag_of_a_dialect_whose_tags_are_the_arguments() -> None:
    swallowed = {"path": "a.ts</path>\n<all>true</all>"}
    assert [one.path for one in defects_of("edit", json.dumps(swallowed), TOOLS)] == ["/path"]
    for sound in ("<path>a.ts</path>\n<all>", "a.ts</path>", "a.ts</path>\n<other>", "a.ts</all><all>"):
        assert defects_of("edit", json.dumps({"path": sound}), TOOLS) == ()


@pytest.mark.parametrize(
    "value",
    [
        "<parameter=path>a.ts</parameter>",
        "# How calls look\n<tool_call>\n<function=x>\n<parameter=a>1</parameter>\n</function>\n</tool_call>",
        'end = text.find("</parameter>")\n',
        "a < b and c > d",
        "<div></div>",
        "The tag </tool_call> ends it, as <tool_call> begins it.",
        "if line == '<|im_end|>': break",
    ],
)
def test_a_value_about_markup_is_sound(value: str) -> None:
    assert defects_of("edit", json.dumps({"path": "a", "edits": [{"old": value}]}), TOOLS) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["path", "edits", "all", "count", "mode", "any", "x"]), JSON))
def test_each_defect_has_its_place(value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1)
    for defect in defects_of("edit", text, TOOLS):
        assert defect.code in {"wrong_type", "missing_argument"}
        assert defect.at is not None
        steps = [step.replace("~1", "/").replace("~0", "~") for step in defect.path.split("/")[1:]]
        place: Any = value
        for step in steps[: len(steps) - (defect.code == "missing_argument")]:
            place = place[int(step)] if isinstance(place, list) else place[step]
        assert json.JSONDecoder().raw_decode(text, defect.at)[0] == place


@given(st.text(max_size=40) | st.sampled_from(['{"a":1}', '{"a":', "[[", '{"path":"a"}{', '"{}"']), st.text(max_size=8))
def test_nothing_raises(arguments: str, name: str) -> None:
    for tools in (TOOLS, Toolbox()):
        assert all(isinstance(one, Defect) for one in defects_of(name, arguments, tools))


@given(JSON, JSON)
def test_any_schema_is_taken(schema: Any, value: Any) -> None:
    for odd in (schema, {"properties": schema, "required": schema, "anyOf": [schema], "$ref": "#"}):
        if isinstance(odd, dict):
            Validator(odd).mismatches(value)


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"allOf": [{"$ref": "#"}]}]}}}
    assert Validator(schema).mismatches({"a": [1]}) == []
    tree: dict[str, Any] = {"type": "object", "properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}}
    value: dict[str, Any] = {"n": "1"}
    for _ in range(10):
        value = {"n": 1, "child": value}
    (only,) = Validator(tree).mismatches(value)
    assert only.steps == ("child",) * 10 + ("n",)


def test_of_several_branches_the_one_that_fits_best_counts() -> None:
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "array"}, "c": {"type": "string"}}, "required": ["b", "c"]},
            {"type": "string"},
        ]
    }
    assert Validator(schema).mismatches({"a": "x"}) == []
    assert [one.steps for one in Validator(schema).mismatches({"b": "[]", "c": "x"})] == [("b",)]
    assert [one.wanted for one in Validator(schema).mismatches(5)] == [frozenset({"object", "string"})]


@pytest.mark.parametrize(("name", "repeated"), [("edit", False), ("editedit", True), ("editx", False), ("", False)])
def test_a_name_is_repeated_where_it_is_there_more_than_once(name: str, repeated: bool) -> None:
    assert is_repeated(name, TOOLS) is repeated
