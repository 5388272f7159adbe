"""Which openers are in a text: those of each dialect, found for all dialects at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.requests import present_openers
from toolcalls.text.scanner import SPACE
from toolcalls.values.toolbox import Toolbox


@pytest.mark.parametrize("names", [(), ("read_file", "exec", "Bash")], ids=["no tools", "tools"])
def test_all_openers_at_once_find_what_each_dialect_finds(names: tuple[str, ...]) -> None:
    tools = Toolbox(tuple(Tool(name) for name in names))
    openers = {(dialect.place, opener) for dialect in all_dialects().values() for opener in dialect.openers(names)}
    texts = [
        text
        for _, opener in sorted(openers)
        for text in (opener, f"\n {opener}", f"I say {opener} it", opener[1:], opener[:-1], f"word{opener[1:]}")
    ]
    texts += ["", "I have read part 3.", "a < b, and [1] {x}", "see: (it)"]
    for text in texts:
        each = any(
            text.lstrip(SPACE).startswith(opener) if place == "message" else opener in text for place, opener in openers
        )
        assert present_openers.may_hold_calls(text, tools) is each, text


NAMES = ("Bash", "read_file")
ANYWHERE = frozenset(
    opener for dialect in all_dialects().values() if dialect.place != "message" for opener in dialect.openers(NAMES)
)
PIECES = [*sorted(ANYWHERE), *"<[`>({=:_|/ \n", "<<", "<|", "</", "tool_call", "a", "\ud800", "—"]


@law
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_the_openers_of_a_text_are_found_in_one_pass(text: str) -> None:
    tools = Toolbox(tuple(Tool(name) for name in NAMES))
    for whole in (text, text[1:], text[:-1]):
        assert present_openers.openers_in(whole, tools) == {opener for opener in ANYWHERE if opener in whole}
