"""Results of tools that the model writes itself (`reading/invented_results.py`): what waits of one, where it ends."""

import pytest

from support.quoting import TOOLS, written
from toolcalls.events import Event, Markup, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route

BEGUN = f"{written('hermes')}\n<tool_response>"
PIECES = ["\nab", "c <", " def </tool", " x </tool_resp", "onse", "> y", " z"]
LEFT = ["\nab", "c ", "< def ", "</tool x ", "", "</tool_response> y", " z"]


def left(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text | Markup))


@pytest.mark.parametrize("drop", [False, True])
def test_only_what_may_be_its_closer_waits(drop: bool) -> None:
    reader = Reader(CallPolicy(Route(drop_invented_results=drop), Request(tools=TOOLS)))
    reader.feed(BEGUN)
    events = [reader.feed(piece) for piece in PIECES]
    assert [left(one) for one in events] == LEFT
    shown = "".join(event.text for one in events for event in one if isinstance(event, Text))
    assert shown == (" y z" if drop else "".join(PIECES))
    (verdict,) = [event for one in events for event in one if isinstance(event, Verdict)]
    place = BEGUN.index("<tool_response>")
    end = len(BEGUN + "".join(PIECES)) - len(" y z")
    assert (verdict.status, verdict.start, verdict.end) == ("declined", place, end)
    assert reader.finish(cut=False) == []


@pytest.mark.parametrize("size", [1, 40])
def test_one_without_a_closer_goes_to_the_end(size: int) -> None:
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS)))
    text = f"{BEGUN}\nabc </tool_"
    events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
    events += reader.finish(cut=False)
    assert left(events) == text
    assert [event.end for event in events if isinstance(event, Verdict)][-1:] == [len(text)]
