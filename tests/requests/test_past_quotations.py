"""What is quoted in a past turn of several blocks is no past call."""

import pytest

from support.quoting import CALL, TOOLS, written
from toolcalls.requests.rewriting.to_native import any_name_policy, as_native, calls_of
from toolcalls.requests.turns import Block, PastCall, Text, Turn
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
