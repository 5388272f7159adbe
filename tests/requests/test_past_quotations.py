"""What is quoted in a past turn of several blocks is no past call."""

import pytest

from support.quoting import CALL, TOOLS, written
from toolcalls.requests.conversation import Block, PastCall, Text, Turn
from toolcalls.requests.rewriting.to_native import any_name_policy, as_native, calls_of
from toolcalls.values.toolbox import Toolbox

HERMES = Text(written("hermes"))


def natively(*blocks: Block) -> list[str]:
    """The names of the calls that a turn of these blocks holds, as native ones."""
    return [
        call.name
        for call in calls_of(as_native(Turn("assistant", blocks), 0, any_name_policy("hermes"), Toolbox(TOOLS)))
    ]


@pytest.mark.parametrize("opener", ["```xml\n", "Write `", "<!-- ", "<example>\n", "> So: ", "cat > x <<EOF\n"])
def test_a_quotation_goes_on_in_the_next_block_of_a_turn(opener: str) -> None:
    assert natively(Text("So:\n\n"), Text(opener), HERMES) == []


def test_a_block_outside_of_a_quotation_begins_a_line() -> None:
    assert natively(Text("So:"), HERMES) == [CALL.name]


def test_a_native_call_ends_a_paragraph() -> None:
    assert natively(Text("Write `"), PastCall("1", "other", "{}"), HERMES) == ["other", CALL.name]


def test_a_draft_before_a_closer_of_reasoning_is_no_past_call() -> None:
    """The chat template opened the reasoning, so the text shows its closer only."""
    draft = f"Shall I?\n{HERMES.text}\nNo.\n</think>\n"
    assert natively(Text(draft)) == []
    assert natively(Text(draft + HERMES.text)) == [CALL.name]
    assert natively(Text(f"<think>\nHm.\n</think>\n{HERMES.text}\nClosed with </think>.")) == [CALL.name]
    assert natively(Text("```\n"), Text(f"</think>\n```\n{HERMES.text}")) == [CALL.name]
