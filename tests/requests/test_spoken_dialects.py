"""How near a call is to what its dialect would write, and what of a text counts as a call of a dialect.

`test_text_clients.py` has what is decided by it.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.requests import spoken_dialects
from toolcalls.requests.spoken_dialects import taught_in
from toolcalls.text.scanner import SPACE
from toolcalls.values.toolbox import Toolbox

SPELLINGS = {  # by distance
    0: '<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n</tool_call>',
    1: '<tool_call>{"name": "a", "arguments": {"x": 1}}</tool_call>',
    2: '<tool_call>\n{"arguments": {"x": 1}, "name": "a"}\n</tool_call>',
    3: "<tool_call>\n{'name': 'a', 'arguments': {'x': 1}}\n</tool_call>",
}


@pytest.mark.parametrize("distance", SPELLINGS)
def test_the_distance_grows_from_white_space_to_spelling_to_repairs(distance: int) -> None:
    fit = spoken_dialects._fit_at(all_dialects()["hermes"], SPELLINGS[distance], 0, Toolbox())
    assert fit is not None
    assert fit.distance == distance


def test_what_a_dialect_reads_and_cannot_write_is_another_spelling() -> None:
    text = "<start_function_call>call:Bash{command:<escape>a <escape> b<escape>}<end_function_call>"
    fit = spoken_dialects._fit_at(all_dialects()["functiongemma"], text, 0, Toolbox())
    assert fit is not None
    assert fit.distance == 2


@pytest.mark.parametrize(
    "text",
    [
        '[TOOL_CALLS][{"name": "a", "arguments": {}}, {"name": "b", "arguments": {"x": }}]',
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
        '<|tool_call_begin|>functions.a:1<|tool_call_argument_begin|>{"x": }<|tool_call_end|>'
        "<|tool_calls_section_end|>",
    ],
    ids=["mistral", "kimi_k2"],
)
def test_a_block_with_a_broken_call_teaches_nothing(text: str) -> None:
    assert taught_in(text) == ()
    assert taught_in(text.replace('{"x": }', "{}")) != ()


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
        assert spoken_dialects._may_hold_calls(text, tools) is each, text


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
        assert spoken_dialects._openers_in(whole, tools) == {opener for opener in ANYWHERE if opener in whole}
