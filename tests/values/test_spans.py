"""spans.py: where values are in a JSON text, and what is said of one that is none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.values.conversion import items, members, value_end
from toolcalls.values.spans import decoded_end, place_at, place_of, whole

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values, max_size=4) | st.lists(values, max_size=4), st.sampled_from([None, 1]))
def test_each_value_is_where_it_is_said_to_be(value: dict[str, Any] | list[Any], indent: int | None) -> None:
    text = f" {json.dumps(value, indent=indent)} "
    for end_of in (value_end, decoded_end):
        found = whole(text, end_of, "[" if isinstance(value, list) else "{")
        inside = list(enumerate(value)) if isinstance(value, list) else list(value.items())
        assert [(step, json.loads(text[start:end])) for step, start, end in found] == inside
    for step, inner in inside:
        pointer = "/" + str(step).replace("~", "~0").replace("/", "~1")
        place = place_at(text, pointer)
        assert place is not None
        assert json.loads(text[slice(*place)]) == inner
        assert place_of(text, [step]) == place[0]


def test_a_place_is_that_of_the_last_of_equal_keys() -> None:
    text = '{"a": 1, "b": {"c": [true, "x"]}, "a": [2]}'
    assert text[place_of(text, ["b", "c", 1]) or 0 :].startswith('"x"')
    assert text[place_of(text, ["a", 0]) or 0 :].startswith("2]")
    assert place_of(text, ["b", 0]) is None
    assert place_of(text, ["z"]) is None
    assert place_of("{", ["a"]) is None
    assert place_of('{"a": 1, b', ["a"]) == 6


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "not a JSON object at offset 0"),
        (" [1]", "not a JSON object at offset 1"),
        ("{ 1", "not a JSON object: no key at offset 2"),
        ('{"a":1, }', "not a JSON object: no key at offset 7"),
        ('{"a":1 ]', "not a JSON object: neither comma nor brace at offset 7"),
        ('{"a":}', "not strict JSON at offset 5"),
        ('{"a":NaN}', "not strict JSON at offset 5"),
        ('{"a":1} 2', "not a JSON object: more text at offset 8"),
    ],
)
def test_what_is_wrong_with_an_object_is_said_with_its_place(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=f"^{error}$"):
        members(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{}", "not a JSON array at offset 0"),
        ("[1,]", "not strict JSON at offset 3"),
        ("[1}", "not a JSON array: neither comma nor bracket at offset 2"),
        ("[] 2", "not a JSON array: more text at offset 3"),
    ],
)
def test_what_is_wrong_with_an_array_is_said_with_its_place(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=f"^{error}$"):
        items(text)
