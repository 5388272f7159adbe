"""How near a call is to what its dialect would write, and what of a text counts as a call of a dialect.

`test_text_clients.py` has what is decided by it.
"""

import pytest

from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.requests import spoken_dialects
from toolcalls.requests.spoken_dialects import begins_with_call, taught_in
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


INVOKE = '<invoke name="a">\n<parameter name="x">1</parameter>\n</invoke>'


def test_calls_side_by_side_in_two_dialects_teach_both() -> None:
    assert taught_in(INVOKE + SPELLINGS[0]) == ("invoke", "hermes")
    assert taught_in(SPELLINGS[0] + INVOKE) == ("hermes", "invoke")


@pytest.mark.parametrize(
    ("before", "taught"),
    [("", True), ("\n", True), ("\n \t", True), ("Use:\n", True), ("(", False), ("Use ", False), ("Use:\n(", False)],
)
def test_a_dialect_whose_calls_begin_a_line_is_taught_there_alone(before: str, taught: bool) -> None:
    text = before + 'functools[{"name": "a", "arguments": {"x": 1}}]'
    assert taught_in(text) == (("phi4_mini",) if taught else ())


@pytest.mark.parametrize("before", ["", "Use:\n"])
def test_a_stray_word_belongs_to_the_call_behind_it(before: str) -> None:
    begin, call = len(before), f"call\n{INVOKE}"
    fits = [
        spoken_dialects._fit_at(all_dialects()["invoke"], f"{before}{call} \n\nSo.", start, Toolbox())
        for start in (begin, begin + 1, begin + len("call\n"))
    ]
    assert fits[0] is not None
    assert (fits[0].start, fits[0].end) == (begin, begin + len(call))
    assert fits[1:] == [None, None]


def test_json_and_code_in_the_open_teach_nothing() -> None:
    call = '{"name": "a", "arguments": {"x": 1}}'
    for text in (call, f"[{call}]", "a(x=1)", "[a(x=1)]"):
        assert not begins_with_call(text, Toolbox((Tool("a"),)))
        assert taught_in(text) == ()
    assert begins_with_call(SPELLINGS[0], Toolbox())
    # `fenced_json`, whose calls are a whole message, begins like it.
    assert taught_in('```tool_call\n{"arguments": {"x": 1}, "name": "a"}\n```') == ("zeroclaw",)
