"""Python literals as JSON: what `ast.literal_eval` reads must come out as the same value, cut anywhere.

Strategy: values are written by `repr`, and by a second writer that uses the prefixes, quotes and number spellings that
`repr` does not; Python itself says what they mean. Then texts made of pieces of literals: where Python reads a value
that JSON has, we read the same, and where it reads none, any call that we make of it names a repair.
"""

import ast
import json
import math
import warnings
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.sampling import examples
from toolcalls.events import CallEnd, CallPiece, Event, Markup, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route

ROUTE = Route(client="native", upstream="text", dialects=("llama4_pythonic",))
TOOLS = (Tool("f"),)

law = examples(150)

_texts = st.text(max_size=8) | st.lists(st.sampled_from(["'", '"', "\\", "\n", "a", ", b=", ")]", "\\u", "'''"])).map(
    "".join
)
_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts
_keys = _texts | st.integers()
values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=8,
)
_pieces = st.sampled_from(
    ["'", '"', "'''", "\\", "r", "b", "u", "\n", " ", "x", "1", "0", "_", ".", "e5", "-", "+", "j", "0x", "ff", ",",
     "[", "]", "(", ")", "{", "}", ":", "True", "None", "nan", "\\n", "\\x41", "\\101", "\\N{BULLET}", "\\u00e9"]
)  # fmt: skip


def read(pieces: list[str]) -> tuple[str | None, list[str]]:
    """The argument JSON of the call in the pieces, None where none is complete, and the repairs."""
    reader = Reader(CallPolicy(ROUTE, Request(tools=TOOLS)))
    events: list[Event] = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.finish(cut=False)
    assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == "".join(pieces)
    repairs = [name for event in events if isinstance(event, Verdict) for name in event.repairs]
    if not any(isinstance(event, CallEnd) for event in events):
        return None, repairs
    return "".join(event.json for event in events if isinstance(event, CallPiece)), repairs


def call(literal: str) -> str:
    return f"<|python_start|>[f(a={literal})]<|python_end|>"


def plain(value: Any) -> str:
    """A value as JSON, with the freedoms that it leaves taken away. Raises where JSON has none."""
    return json.dumps(value, allow_nan=False)


@law
@given(values, st.lists(st.integers(0, 80), max_size=6))
def test_what_python_writes_is_read_as_itself(value: Any, places: list[int]) -> None:
    text = call(repr(value))
    ends = sorted({0, *(place for place in places if place < len(text)), len(text)})
    found, repairs = read([text[start:end] for start, end in pairwise(ends)])
    assert found is not None
    assert plain(json.loads(found)) == plain({"a": value})
    assert repairs == []
    assert (found, repairs) == read([text]) == read(list(text))


@law
@given(st.lists(_pieces, max_size=8).map("".join))
def test_what_python_means_is_what_is_read(literal: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = ast.literal_eval(literal.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = ...
    found, repairs = read([call(literal)])
    assert (found, repairs) == read(list(call(literal)))
    if value is ...:
        assert found is None or repairs, found
        return
    if _holds_set(value):  # of which only those of strings and numbers are read
        assert found is None or _same({"a": value}, json.loads(found))
        return
    try:
        expected = plain({"a": value})
    except (TypeError, ValueError):
        assert found is None
        return
    assume(expected.isascii() and not _infinite(value))
    assert found is not None
    assert plain(json.loads(found)) == expected


@pytest.mark.whole
@pytest.mark.parametrize("quote", ["'", '"'])
def test_escapes_of_one_character_in_any_order(quote: str) -> None:
    parts = ["\\\\", "\\n", '\\"', "\\'", "\\a", "n", '"' if quote == "'" else "'"]
    runs = ["".join(run) for size in range(5) for run in product(parts, repeat=size)]
    literal = f"[{', '.join(quote + run + quote for run in runs)}]"
    found, repairs = read([call(literal)])
    assert (json.loads(found or "null"), repairs) == ({"a": ast.literal_eval(literal)}, [])


def _holds_set(value: Any) -> bool:
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    return isinstance(value, set) or (isinstance(value, list | tuple | dict) and any(map(_holds_set, inner)))


def _same(value: Any, found: Any) -> bool:
    """Whether JSON holds what Python means, in which sets have no order."""
    if isinstance(value, set):
        return isinstance(found, list) and set(found) == value
    if isinstance(value, dict):
        members = {key if isinstance(key, str) else plain(key): inner for key, inner in value.items()}
        return members.keys() == found.keys() and all(_same(inner, found[key]) for key, inner in members.items())
    if isinstance(value, list | tuple):
        return len(value) == len(found) and all(_same(*pair) for pair in zip(value, found, strict=True))
    return plain(value) == plain(found)


@pytest.mark.parametrize(
    ("literal", "json_"),
    [
        ("{1}", "[1]"),
        ("{'b', \"a\"}", '["b", "a"]'),
        ("{ 1 , 2.5, True, }", "[ 1 , 2.5, true ]"),
        ("[{1}, {'k': {2, 3}}, {}]", '[[1], {"k": [2, 3]}, {}]'),
        ("({'x'}, {})", '[["x"], {}]'),
        ("({1: 2})", '{"1": 2}'),
        ("{'it' 's'}", '["its"]'),
        ("{1: 2, 3}", None),
        ("{1, 2: 3}", None),
        ("{(1, 2)}", None),
        ("{b'x'}", None),
    ],
)
def test_a_set_of_strings_and_numbers_is_an_array(literal: str, json_: str | None) -> None:
    found, repairs = read([call(literal)])
    assert (found, repairs) == read(list(call(literal)))
    assert found == (None if json_ is None else f'{{"a":{json_}}}')


def _infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


@pytest.mark.parametrize("literal", ["1e400", "-1E+400", "9" * 5000, "0." + "1" * 400])
def test_numbers_keep_every_digit(literal: str) -> None:
    assert read([call(literal)])[0] == f'{{"a":{literal}}}'


@pytest.mark.parametrize("base", ["0x", "0o", "0b"])
def test_a_number_too_long_to_convert_is_none(base: str) -> None:
    assert read([call(base + "1" * 3000)])[0] == f'{{"a":{int(base + "1" * 3000, 0)}}}'
    assert read([call(base + "1" * 5000)])[0] is None


@pytest.mark.parametrize(("opener", "few", "many"), [("[", 500, 600), ("(", 1000, 1100), ("{1:", 500, 600)])
def test_nesting_has_a_limit(opener: str, few: int, many: int) -> None:
    """The route's for what becomes containers of JSON, the grammar's own for brackets that become nothing."""
    closer = {"[": "]", "(": ")", "{1:": "}"}[opener]
    assert read([call(opener * few + "1" + closer * few)])[0] is not None
    assert read([call(opener * many + "1" + closer * many)])[0] is None
