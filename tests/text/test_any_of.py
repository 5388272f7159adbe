"""Any of many literals (`text/any_of.py`), compared with a look for each."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.sampling import examples
from toolcalls.text.any_of import AnyOf, any_literal

PIECES = ("<", "<a", "<ab", "a", "ab", "abc", "[", "|", "\\", ".", "\n", "\r", " ", "\t", "\u00e9", "\U0001f600")
LITERALS = st.lists(st.lists(st.sampled_from(PIECES[:10]), min_size=1, max_size=3).map("".join), max_size=6)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


@examples(300)
@given(literals=LITERALS, text=TEXTS)
def test_it_is_what_a_look_for_each_finds(literals: list[str], text: str) -> None:
    any_of = AnyOf(literals)
    assert any_of.maybe_in(text) == any(literal in text for literal in literals)
    lines = [line.lstrip(" \t") for line in re.split("[\n\r]", text)[1:]]
    assert any_of.maybe_in(text, at_line=True) == any(line.startswith(tuple(literals)) for line in lines)


@examples(300)
@given(literals=LITERALS.filter(bool), text=TEXTS)
def test_the_longest_is_matched(literals: list[str], text: str) -> None:
    found = re.match(any_literal(literals), text)
    there = [literal for literal in literals if text.startswith(literal)]
    assert (found and found[0]) == (max(there, key=len) if there else None)


@pytest.mark.parametrize("at_line", [False, True])
def test_what_only_python_can_tell_may_be_there(at_line: bool) -> None:
    """RE2 reads UTF-8, which has no lone surrogates."""
    assert AnyOf(["<call>"]).maybe_in("a\ud83d", at_line=at_line)
    assert not AnyOf([]).maybe_in("a\ud83d", at_line=at_line)
