"""A request's body means what the standard library reads in it, whatever reads it sooner."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.sampling import examples
from toolcalls.values import rawjson

# What the two decoders may disagree about: numbers past any type, what is no JSON, surrogates, bytes that are no UTF-8.
_ODD = [
    b'{"a": 123456789012345678901234567890, "b": -0, "c": -0.0, "d": 1E5}', b"[1e400, -1e400]", b"[NaN, Infinity]",
    b'{"a": 1, "a": 2}', b'"\\ud800"', b'"\xed\xa0\x80"', b'"\xff"', b"[1,]", b"", b" ", b"{} x", b"\xef\xbb\xbf{}",
    '{"a": "ü"}'.encode("utf-16"), b'"a\nb"', b'"\\x41"', b"01", b"+1", b"'a'", b"[" * 20_000,
]  # fmt: skip
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
)


def meaning(read: object, body: bytes) -> object:
    """What a body means, as text that tells 1 from 1.0 and 0.0 from -0.0; None for what cannot be read."""
    try:
        return repr(read(body))  # type: ignore[operator]
    except (ValueError, RecursionError):
        return None


@pytest.mark.parametrize("body", _ODD, ids=range(len(_ODD)))
def test_odd_bodies_mean_what_the_standard_library_reads(body: bytes) -> None:
    assert meaning(rawjson.loaded, body) == meaning(json.loads, body)


@examples(200)
@given(_VALUES, st.booleans(), st.data())
@example(math.nan, False, None)
def test_bodies_mean_what_the_standard_library_reads(
    value: object, ascii_only: bool, data: st.DataObject | None
) -> None:
    """Also those that are damaged in one place."""
    body = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    at = 0 if data is None else data.draw(st.integers(0, len(body)))
    for one in (body, body[:at] + b"\\" + body[at:], body[:at] + body[at + 1 :]):
        assert meaning(rawjson.loaded, one) == meaning(json.loads, one), one


def test_what_is_no_json_is_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match="the request body is not JSON: Expecting value"):
        rawjson.loaded(b'{"a": }')
