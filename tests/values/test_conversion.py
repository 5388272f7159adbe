"""values.py and schema.py: strict JSON, strings, typing by schema, what schemas say."""

import base64
import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.repository import shared_path
from toolcalls.values.conversion import (
    declared_keys,
    escape,
    is_json,
    members,
    parameter_types,
    quote,
    required_keys,
    to_json,
    to_text,
)

TYPES = ("null", "integer", "number", "boolean", "object", "array", "string")
DEEP = 50_000
DIGITS = "7" * 5_000


def suite(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shared_path(f"suites/{name}").read_text(encoding="utf-8").splitlines()]


def types(*names: str) -> frozenset[str]:
    return frozenset(names)


def joined(text: str) -> str:
    """Surrogate halves that are side by side are one character, as in every JSON reader."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


any_text = st.text(alphabet=st.characters(exclude_categories=()))
json_like = st.text(alphabet='{}[]":,\\/ \t\n\r0123456789.+-eEtrufalsn\x00\x7fé\u2028\ud83d\ude00')
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
some_types = st.none() | st.frozensets(st.sampled_from(TYPES))


# --- strict JSON ------------------------------------------------------------------------------------------------------

STRICT = [
    "0", "-0", "-1.5e+10", "1e400", DIGITS, '""', '"\\ud800"', '"\x7f\u2028"', '"é😀"', "[]", "[ ]", "{}", "{ }",
    ' \t\n\r{"a" : [1 , {"a": {}}, []] , "a":null}\n', "[[],[]]", '{"a":{"b":1},"c":[2]}', "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
]  # fmt: skip
LOOSE = [
    "", " ", "007", "+1", ".5", "5.", "1e", "0x1", "1_000", "٣", "３", "NaN", "Infinity", "-Infinity", "True", "None",
    "'a'", '"', '"a', '"\n"', '"\t"', '"\x00"', '"\\x"', '"\\u12g4"', '"\\u123"', "[", "]", "[1", "[1,", "[1,]", "[,]",
    "[1 2]", "{", "{a:1}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1]', "[1}", "{1:2}", "1 1", "[]]", "\ufeff{}", "\x0c1",
    "\xa01", "//x\n1", "[" * DEEP, "[" * DEEP + "}", '{"a":' * DEEP,
]  # fmt: skip


@pytest.mark.parametrize("text", STRICT, ids=lambda text: text[:20])
def test_strict_json_is_json(text: str) -> None:
    assert is_json(text)


@pytest.mark.parametrize("text", LOOSE, ids=lambda text: text[:20])
def test_what_is_not_strict_json_is_not(text: str) -> None:
    assert not is_json(text)


@given(json_like)
def test_is_json_agrees_with_the_standard_library(text: str) -> None:
    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        json.loads(text, parse_constant=refuse)
        expected = True
    except ValueError:
        expected = False
    assert is_json(text) is expected


@given(json_values, st.sampled_from([None, 1]), st.booleans(), st.data())
def test_what_is_dumped_is_json_and_a_prefix_of_a_container_is_not(
    value: Any, indent: int | None, ascii_only: bool, data: st.DataObject
) -> None:
    text = json.dumps([value], indent=indent, ensure_ascii=ascii_only)
    assert is_json(text)
    assert not is_json(text[: data.draw(st.integers(0, len(text) - 1))])


def test_jsontestsuite() -> None:
    counted = {"accept": 0, "reject": 0}
    for row in suite("json_jsontestsuite.jsonl"):
        body = base64.b64decode(row["body_b64"])
        try:
            got = is_json(body.decode("utf-8"))
        except UnicodeDecodeError:
            got = False
        if row["expect"] in counted:
            counted[row["expect"]] += 1
            assert got is (row["expect"] == "accept"), row["name"]
        surrogates = body.decode("utf-8", "surrogateescape")
        assert is_json(to_json(surrogates, None)), row["name"]
    assert counted["accept"] >= 95
    assert counted["reject"] >= 188


@pytest.mark.parametrize("text", ["[" * 200_000, '{"":' * 100_000, '"' + "\\n" * 1_000_000, "[1," * 100_000])
def test_long_unfinished_text_is_no_json_and_raises_nothing(text: str) -> None:
    assert not is_json(text)
    assert is_json(to_json(text, types("object", "array")))


# --- members ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", []),
        (" { } ", []),
        ('{"a":1}', [("a", "1")]),
        ('\n{ "a" : [1, 2] ,\t"b":{"c":{}} }\r', [("a", "[1, 2]"), ("b", '{"c":{}}')]),
        ('{"a":1,"a":1e400,"":1.10}', [("a", "1"), ("a", "1e400"), ("", "1.10")]),
        ('{"\\u0061\\n\\ud800":"\\"}"}', [("a\n\ud800", '"\\"}"')]),
        ('{"n":' + DIGITS + "}", [("n", DIGITS)]),
        ('{"a":' * DEEP + "1" + "}" * DEEP, [("a", '{"a":' * (DEEP - 1) + "1" + "}" * (DEEP - 1))]),
    ],
    ids=["empty", "spaces", "one", "nested", "duplicates", "escapes", "digits", "deep"],
)
def test_members(text: str, expected: list[tuple[str, str]]) -> None:
    assert members(text) == expected


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0), ("[]", 0), (" 1", 1), ("{", 1), ("{a:1}", 1), ('{"a":1', 6), ('{"a":1,}', 7), ('{"a":tru}', 5),
        ('{"a":[1,}', 8), ("{} x", 3), ('{"a":1 "b":2}', 7), ('{"a":' * DEEP, 5 * DEEP),
    ],
    ids=lambda value: str(value)[:12],
)  # fmt: skip
def test_members_names_the_offset(text: str, offset: int) -> None:
    with pytest.raises(ValueError, match=rf"offset {offset}\b"):
        members(text)


@given(json_like)
@example('{"a":1,"a":2}')
def test_members_raises_exactly_where_the_text_is_no_object(text: str) -> None:
    if is_json(text) and text.strip(" \t\n\r").startswith("{"):
        pairs = members(text)
        assert json.loads("{" + ",".join(f"{quote(key)}:{raw}" for key, raw in pairs) + "}") == json.loads(text)
    else:
        with pytest.raises(ValueError, match="offset"):
            members(text)


@given(st.lists(st.tuples(any_text, json_values)))
def test_members_rejoined_is_the_object_with_its_duplicates(pairs: list[tuple[str, Any]]) -> None:
    text = "{" + " , ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs) + "}"
    expected = [(joined(key), value) for key, value in pairs]
    found = [(key, json.loads(raw)) for key, raw in members(text)]
    assert found == expected
    again = "{" + ",".join(f"{quote(key)}:{raw}" for key, raw in members(text)) + "}"
    assert json.loads(again, object_pairs_hook=list) == json.loads(text, object_pairs_hook=list)


# --- strings ----------------------------------------------------------------------------------------------------------


@given(any_text)
@example("\ud83d\ude00")
@example("\x00\x1f\x7f\x85\x9b\u2028\u2029\"\\/'")
def test_quote_is_read_back(text: str) -> None:
    literal = quote(text)
    assert json.loads(literal) == joined(text)
    assert is_json(literal)
    assert literal.encode("utf-8")
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F or c in "\u2028\u2029" for c in literal)


def test_quote_leaves_other_non_ascii_as_it_is() -> None:
    assert quote("äé漢😀\u200b") == '"äé漢😀\u200b"'


@given(any_text, st.lists(st.integers(0, 50)))
def test_escaped_pieces_joined_are_the_escaped_whole(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    assert "".join(escape(text[a:b]) for a, b in itertools.pairwise(places)) == escape(text)


def test_surrogate_halves_in_two_pieces_combine() -> None:
    assert json.loads(f'"{escape("a\ud83d")}{escape("\ude00b")}"') == "a😀b"


@given(any_text)
def test_to_text_decodes_what_quote_wrote(text: str) -> None:
    assert to_text(quote(text)) == (joined(text), True)


@pytest.mark.parametrize("raw", ["1e400", "1.10", '{"a": 1, "a":2}', DIGITS, "null", "", "nonsense", '"open', '"\n"'])
def test_to_text_leaves_everything_else(raw: str) -> None:
    assert to_text(raw) == (raw, False)


# --- text to JSON -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("42", "42"), (" 42\n", "42"), ("-0.50", "-0.50"), ("1e400", "1e400"), (DIGITS, DIGITS), ("true", "true"),
        ("null", "null"), ('{"b":1, "a":2}', '{"b":1, "a":2}'), ("[1 , 2]", "[1 , 2]"),
        ("007", '"007"'), ("+1", '"+1"'), ("NaN", '"NaN"'), ("Infinity", '"Infinity"'), ("True", '"True"'),
        ("None", '"None"'), ("1_000", '"1_000"'), ("３", '"３"'), ("{a: 1}", '"{a: 1}"'), ("[1,]", '"[1,]"'),
        (" x ", '" x "'), ("", '""'), ('"true"', '"\\"true\\""'), ("1 2", '"1 2"'), ("\xa01", '"\xa01"'),
    ],
    ids=lambda value: str(value)[:12],
)  # fmt: skip
def test_without_a_schema_json_literals_are_inferred(text: str, expected: str) -> None:
    assert to_json(text, None) == expected
    assert to_json(text, None, infer=False) == quote(text)


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        ("42", "string", '"42"'),
        (' {"a":1} ', "string", '" {\\"a\\":1} "'),
        ("null", "string", '"null"'),
        ("null", "null string", "null"),
        ("01", "number string", '"01"'),
        ("+49171", "integer string", '"+49171"'),
        (".5", "number string", '".5"'),
        ("10", "integer string", "10"),
        ("-1.50e3", "number string", "-1.50e3"),
        ("1", "boolean string", '"1"'),
        ("TRUE", "boolean string", "true"),
        ("NULL", "null integer", "null"),
        ("None", "null string", "null"),
        ("none", "null string", '"none"'),
        ("nullify", "null string", '"nullify"'),
        ("42", "integer", "42"),
        (" 42\n", "integer", "42"),
        ("007", "integer", "7"),
        ("-007", "integer", "-7"),
        ("+5", "integer", "5"),
        ("000", "integer", "0"),
        ("-0", "integer", "-0"),
        (DIGITS, "integer", DIGITS),
        ("5.0", "integer", "5.0"),
        ("1_000", "integer", '"1_000"'),
        ("３", "integer", '"３"'),
        ("²", "integer", '"²"'),
        ("five", "integer", '"five"'),
        ("-", "integer", '"-"'),
        ("", "integer", '""'),
        ('"5"', "integer", '"5"'),
        ("42", "integer string", "42"),
        ("x", "integer string", '"x"'),
        ("5", "number", "5"),
        ("5.0", "number", "5.0"),
        ("1.10", "number", "1.10"),
        ("1e400", "number", "1e400"),
        ("+.5e-3", "number", "0.5e-3"),
        ("5.", "number", "5.0"),
        ("-007.50", "number", "-7.50"),
        (".", "number", '"."'),
        ("1e", "number", '"1e"'),
        ("nan", "number", '"nan"'),
        ("Infinity", "number", '"Infinity"'),
        ("-inf", "number string", '"-inf"'),
        ("True", "boolean", "true"),
        ("FALSE", "boolean", "false"),
        ("1", "boolean", "true"),
        ("0", "boolean", "false"),
        ("1", "boolean integer", "1"),
        ("yes", "boolean", '"yes"'),
        ("true", "integer", "true"),
        ('{"b":1, "b":2}', "object", '{"b":1, "b":2}'),
        ('\n{"n": 1e400}\n', "object string", '{"n": 1e400}'),
        ("{'a': True}", "object", "\"{'a': True}\""),
        ("{'a': 1}", "object string", "\"{'a': 1}\""),
        ("[1]", "object", "[1]"),
        ("[1]", "object string", '"[1]"'),
        ("[1, 1.0]", "array", "[1, 1.0]"),
        ("", "array", '""'),
        ('["\ud83d"]', "array", '["\\ud83d"]'),
        ("[1]", "", "[1]"),
        ("x", "", '"x"'),
    ],
    ids=lambda value: str(value)[:16],
)
def test_declared_types_decide(text: str, declared: str, expected: str) -> None:
    assert to_json(text, types(*declared.split())) == expected


@given(any_text | json_like | st.sampled_from(STRICT + LOOSE), some_types, st.booleans())
def test_to_json_is_always_strict_json(text: str, declared: frozenset[str] | None, infer: bool) -> None:
    result = to_json(text, declared, infer=infer)
    assert is_json(result)
    assert result.encode("utf-8")


@given(
    st.one_of(st.text(max_size=8), st.text(alphabet="0123456789+-.eE _x", max_size=8)),
    st.sets(st.sampled_from(TYPES)),
)
def test_where_a_string_is_allowed_nothing_is_respelt(text: str, others: set[str]) -> None:
    made = to_json(text, frozenset({"string", *others}))
    assert json.loads(made) == joined(text) or made in {text.strip(), text.strip().lower(), "null"}


@given(any_text)
def test_a_string_comes_back_as_it_was(text: str) -> None:
    assert json.loads(to_json(text, types("string"))) == joined(text)


@given(json_values)
def test_a_value_written_as_text_comes_back_when_its_type_is_declared(value: Any) -> None:
    text, is_string = to_text(json.dumps(value))
    name = next(name for name, kind in PYTHON if isinstance(value, kind))
    assert is_string is (name == "string")
    assert json.loads(to_json(text, types(name))) == value


PYTHON: tuple[tuple[str, Any], ...] = (
    ("null", type(None)), ("boolean", bool), ("integer", int), ("number", float), ("string", str), ("array", list),
    ("object", dict),
)  # fmt: skip


def test_bfcl_arguments_come_back_as_they_were() -> None:
    """Every argument of BFCL, written without quotes and read with the schema of its tool, spelling included."""
    counted = 0
    for row in suite("bfcl_calls.jsonl"):
        schemas = {tool["name"]: tool.get("parameters", {}) for tool in row["tools"]}
        for call in row["calls"]:
            for key, value in call["arguments"].items():
                raw = json.dumps(value, ensure_ascii=False)
                text, _ = to_text(raw)
                assert to_json(text, parameter_types(schemas[call["name"]], key)) == raw, (row["id"], key)
                counted += 1
    assert counted > 2_000


# --- schemas ----------------------------------------------------------------------------------------------------------

DEFINITIONS = {
    "$defs": {
        "name": {"type": "string"},
        "maybe": {"anyOf": [{"$ref": "#/$defs/name"}, {"type": "null"}]},
        "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "integer"}]},
        "only loop": {"$ref": "#/$defs/only%20loop"},
        "a/b~c": {"type": "boolean"},
    },
    "definitions": {"old": {"type": ["array", "null"]}},
}
LONG_CHAIN: dict[str, Any] = {"type": "integer"}
for _ in range(5_000):
    LONG_CHAIN = {"allOf": [LONG_CHAIN]}
WIDE = {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 50} for n in range(60)} | {"60": {"type": "integer"}}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string null"),
        ({"type": "STRING"}, "string"),
        ({"type": "string", "nullable": True}, "string null"),
        ({"type": "string", "enum": ["1", "2"]}, "string"),
        ({"enum": ["a", None, 1, 1.5, True, [], {}]}, "string null integer number boolean array object"),
        ({"const": 3}, "integer"),
        ({"const": None}, "null"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string null"),
        ({"oneOf": [{"type": "integer"}, {"const": "auto"}]}, "integer string"),
        ({"anyOf": [{}, {"type": "null"}]}, None),
        ({"anyOf": [True, {"type": "null"}]}, None),
        ({"anyOf": [False, {"type": "null"}]}, "null"),
        ({"type": "string", "anyOf": [{"format": "date"}, {"format": "time"}]}, "string"),
        ({"allOf": [{"type": ["string", "null"]}, {"type": "string"}]}, "string"),
        ({"allOf": [{"type": "number"}, {"type": "integer"}]}, "integer"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "string integer"),
        ({"allOf": [{"description": "x"}, {"type": "integer"}]}, "integer"),
        ({"$ref": "#/$defs/name"}, "string"),
        ({"$ref": "#/$defs/maybe", "description": "x"}, "string null"),
        ({"$ref": "#/$defs/a~1b~0c"}, "boolean"),
        ({"$ref": "#/$defs/loop"}, "integer"),
        ({"$ref": "#/$defs/only%20loop"}, None),
        ({"$ref": "#/definitions/old"}, "array null"),
        ({"$ref": "#/$defs/maybe/anyOf/1"}, "null"),
        ({"$ref": "#/$defs/maybe/anyOf/7"}, None),
        ({"$ref": "#/$defs/absent"}, None),
        ({"$ref": "#"}, "object"),
        ({"$ref": "other.json#/x"}, None),
        ({"$ref": "#name"}, None),
        ({"$ref": 5}, None),
        ({"properties": {}}, "object"),
        ({"items": {"type": "string"}}, "array"),
        ({"type": "int32"}, "integer"),
        ({"type": "uint8"}, "integer"),
        ({"type": "float64"}, "number"),
        ({"type": "bool"}, "boolean"),
        ({"type": "dict"}, "object"),
        ({"type": "list"}, "array"),
        ({"type": "enum"}, "string"),
        ({"type": "any"}, None),
        ({"type": "interval"}, None),
        ({}, None),
        (True, None),
        (False, None),
        (None, None),
        ("string", None),
        ({"type": {"type": "string"}}, None),
        ({"type": [[], None, 5]}, None),
        ({"anyOf": {"type": "string"}}, None),
        ({"enum": 5}, None),
    ],
    ids=str,
)
def test_types_of_a_property(declared: Any, expected: str | None) -> None:
    schema = {"type": "object", "properties": {"key": declared}, **DEFINITIONS}
    assert parameter_types(schema, "key") == (None if expected is None else types(*expected.split()))
    assert parameter_types(schema, "other") is None


@pytest.mark.parametrize(
    ("schema", "key", "expected"),
    [
        ({"additionalProperties": {"type": "integer"}}, "x", "integer"),
        ({"additionalProperties": True}, "x", None),
        ({"additionalProperties": False}, "x", None),
        ({"properties": {"x": {}}, "additionalProperties": {"type": "integer"}}, "x", None),
        (
            {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": {"type": "null"}},
            "x-1",
            "integer",
        ),
        ({"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": {"type": "null"}}, "y", "null"),
        ({"patternProperties": {"(": {"type": "integer"}}}, "x", None),
        ({"patternProperties": {"^(a+)+$": {"type": "integer"}}}, "a" * 10_000 + "b", None),
        ({"$ref": "#/$defs/args", "$defs": {"args": {"properties": {"x": {"type": "string"}}}}}, "x", "string"),
        ({"allOf": [{"properties": {"y": {}}}, {"properties": {"x": {"type": "string"}}}]}, "x", "string"),
        (
            {"oneOf": [{"properties": {"x": {"type": "string"}}}, {"properties": {"x": {"type": "null"}}}, {}]},
            "x",
            "string null",
        ),
        ({"properties": {"x": LONG_CHAIN}}, "x", None),
        ({"properties": {"x": {"$ref": "#/$defs/30"}}, "$defs": WIDE}, "x", "integer"),
        ({"$ref": "#"}, "x", None),
        ({"properties": []}, "x", None),
        ({"properties": None}, "x", None),
        (None, "x", None),
        ([], "x", None),
    ],
)
def test_where_a_property_is_declared(schema: Any, key: str, expected: str | None) -> None:
    assert parameter_types(schema, key) == (None if expected is None else types(*expected.split()))


@pytest.mark.parametrize(
    ("schema", "declared", "required"),
    [
        ({"properties": {"b": {}, "a": {}}, "required": ["a"]}, ("b", "a"), ("a",)),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": {}}, "required": ["a"]}}}, ("a",), ("a",)),
        (
            {"required": ["a"], "allOf": [{"properties": {"a": 1}}, {"required": ["b", "a"], "properties": {"b": 1}}]},
            ("a", "b"),
            ("a", "b"),
        ),
        ({"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]}, ("a", "b"), ()),
        ({"$ref": "#"}, (), ()),
        ({"properties": ["a"], "required": "abc"}, (), ()),
        ({"properties": {1: {}, "a": {}}, "required": [1, None, "a", ["b"]]}, ("a",), ("a",)),
        ({}, (), ()),
        (None, (), ()),
        (True, (), ()),
        (LONG_CHAIN, (), ()),
    ],
)
def test_keys(schema: Any, declared: tuple[str, ...], required: tuple[str, ...]) -> None:
    assert declared_keys(schema) == declared
    assert required_keys(schema) == required


words = st.sampled_from(
    ["type", "properties", "x", "$ref", "#", "#/properties/x", "#/anyOf/0", "anyOf", "allOf", "enum", "required",
     "items", "additionalProperties", "patternProperties", "string", "integer", "nullable", "const", "^x"]
)  # fmt: skip
schemas = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=5),
)


@given(schemas)
def test_no_schema_raises(schema: Any) -> None:
    found = parameter_types(schema, "x")
    assert found is None or (found and found <= set(TYPES))
    assert all(isinstance(key, str) for key in declared_keys(schema) + required_keys(schema))
