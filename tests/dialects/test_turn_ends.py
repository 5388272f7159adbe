"""A token with which a model ends its turn, left in the text by the server, costs no call and does not show beside one.

Strategy: calls as each dialect writes them, and every such token after them. Each dialect reads the same calls as
without the token, by name and among all dialects, whole and one character at a time.
"""

import json

import pytest

from support.sampling import a_few, some
from support.strategies import tool
from toolcalls.dialects import all_dialects
from toolcalls.events import Text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.text.turn_ends import TURN_ENDS
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, write

TOOLS = (tool("Bash", command="string"), tool("Read", path="string", line="integer"))
CALLS = (Call("Bash", '{"command": "pwd"}'), Call("Read", '{"path": "a.ts", "line": 7}'))


def _read(text: str, dialects: tuple[str, ...] | None, size: int) -> tuple[list[tuple[str, object]], str]:
    """The calls, and what shows beside them."""
    reader = Reader(CallPolicy(Route(dialects=dialects), Request(tools=TOOLS)))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=False)]
    shown = "".join(event.text for event in events if isinstance(event, Text))
    return [(call.name, json.loads(call.arguments)) for call in calls_in(events)], shown.strip()


@pytest.mark.sampled(20)
@pytest.mark.parametrize("dialect", all_dialects())
def test_the_end_of_the_turn_behind_calls(dialect: str) -> None:
    try:
        written = write(dialect, CALLS, Toolbox(TOOLS))
    except Unwritable:
        written = write(dialect, CALLS[:1], Toolbox(TOOLS))  # it holds one call
    for dialects in ((dialect,), None):
        without = _read(written, dialects, len(written))
        assert without[0]
        for end in some(a_few(TURN_ENDS, len(TURN_ENDS) // 2, dialect), 5, dialect):
            for text in (f"{written}{end}", f"{written}\n{end}\n"):
                for size in (len(text), 1):
                    assert _read(text, dialects, size) == without, (text, size)
