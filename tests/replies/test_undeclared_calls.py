"""A call of a tool that nobody declared has a verdict in each dialect that begins with a tool's name. It stays text."""

import json

import pytest
from replies.test_possible_losses import replied

from toolcalls.dialects import all_dialects
from toolcalls.reading.undeclared_calls import DIALECTS
from toolcalls.request import Tool
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox

OTHER = Tool("draw_map", {"type": "object", "properties": {"place": {"type": "string"}}})
CALL = Call("draw_map", json.dumps({"place": "here"}))


def written(dialect: str) -> str:
    return all_dialects()[dialect].write([CALL], Toolbox((OTHER,)))


@pytest.mark.parametrize("dialect", [*DIALECTS, "zeroclaw"])
def test_it_has_a_verdict_whole_and_in_pieces(dialect: str) -> None:
    text = written(dialect)
    for size in (None, 1, 7, len(text)):
        verdicts = [verdict for _, verdict in replied(text, size=size).verdicts]
        assert [(one.status, one.reason, one.name) for one in verdicts] == [("declined", "undeclared", "draw_map")]
        assert text[verdicts[0].start : verdicts[0].end].strip() == text.strip()


@pytest.mark.parametrize("dialect", ["tagged", "morph_xml"])
def test_an_element_of_a_page_has_none(dialect: str) -> None:
    assert not replied(all_dialects()[dialect].write([CALL], Toolbox((OTHER,)))).verdicts


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if all_dialects()[name].place != "message"])
def test_in_a_quotation_it_is_none(dialect: str) -> None:
    assert not [
        one for _, one in replied(f"So:\n\n~~~\n{written(dialect)}\n~~~\n").verdicts if one.reason == "undeclared"
    ]


def test_a_draft_in_reasoning_that_the_prompt_began_is_none() -> None:
    text = f"I could write\n{written('kimi_k2_stripped')}\n</think>\nAll is well."
    assert not [one for _, one in replied(text).verdicts if one.reason == "undeclared"]


def test_where_nobody_declares_tools_nobody_looks() -> None:
    assert not replied(written("tool_element"), tools=()).verdicts


@pytest.mark.parametrize(
    "text", ["<p>Some text</p>\n<style>\np { color: red; }\n</style>", "The sum is:\n\nf(x) = 2x\n", "a > b\nb > c\n"]
)
def test_what_is_no_call_of_any_tool_has_none(text: str) -> None:
    assert not replied(text).verdicts
