"""What a streamed event costs in calls of Python functions, from bytes to bytes: a clock measures the machine.

The bounds are a little above what is counted, so that a slower way shows. Whoever makes an event do less lowers them.
Native calls have theirs beside what makes them pass (`test_argument_pieces.py`), the reader alone in `tests/reading`.
"""

import json
from collections.abc import Callable

import pytest

from support.chatclient import HEAD, chunk, event
from support.exchanges import of_kind
from support.pythoncalls import calls_of
from toolcalls.processors import Keep, Processors
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import Kind
from toolcalls.route import Access, AccessRule, Condition, Route
from toolcalls.wires import all_wires

REQUEST = Request(tools=(Tool("write_to_file", {"properties": {"content": {"type": "string"}}}),))
PROSE = "The quick brown fox jumps over the lazy dog, and does so again. "
BLOCKS = Access((AccessRule("paths", "block", arguments=(Condition("path", outside=("/project",)),)),))
# What comes before the text, the text, and the calls for each event of 4 characters at most.
KINDS: dict[str, tuple[str, str, float]] = {
    "plain text": ("", PROSE, 3.6),
    "text with line ends": ("", PROSE + "\n", 11),
    "signs of HTML": ("", "if a < b then <b>x</b> <i> </ <func <p>\n", 45),
    "a call in tags": ('<invoke name="write_to_file">\n<parameter name="content">', PROSE, 14.5),
    "a call in JSON": ('<tool_call>\n{"name": "write_to_file", "arguments": {"content": "', PROSE, 13.5),
    "a call in tags that a rule holds": ('<invoke name="write_to_file">\n<parameter name="content">', PROSE, 28),
    "a call that a rule holds from a text client": (
        '<invoke name="write_to_file">\n<parameter name="content">',
        PROSE,
        50,
    ),
}


def passing(kind: str, size: int) -> tuple[Callable[[], object], int]:
    """What feeds a reply with so many characters of text, and the number of its events."""
    before, repeated, _ = KINDS[kind]
    text = repeated * (size // len(repeated))
    held = "a rule" in kind
    route = Route(client="native", upstream="text", access=BLOCKS) if held else Route()
    processors = Processors(route, run=lambda *_: Keep()) if held else None
    way: Kind = "roundtrip" if "text client" in kind else "lift"
    exchange = of_kind(
        all_wires()["openai_chat"], REQUEST.tools, route, way, form="sse", dialect="invoke", processors=processors
    )
    for frame in (event(chunk(HEAD)), event(chunk({"content": before})) if before else b""):
        exchange.feed(frame)
    frames = [event(chunk({"content": text[at : at + 4]})) for at in range(0, len(text), 4)]

    def work() -> None:
        for frame in frames:
            exchange.feed(frame)

    return work, len(frames)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_takes_few_calls(kind: str) -> None:
    passing(kind, 400)[0]()  # what is worked out once in a process
    work, events = passing(kind, 10_000)
    assert calls_of(work) / events < KINDS[kind][2]


@pytest.mark.parametrize("kind", KINDS)
def test_the_calls_grow_with_the_reply_and_no_faster(kind: str) -> None:
    """The exponent is 1.03 at most: for eight times as much, 8.5 times the calls."""
    passing(kind, 400)[0]()
    few, many = (calls_of(passing(kind, size)[0]) for size in (5_000, 40_000))
    assert many < few * 8**1.03 + 100


def test_a_large_request_is_read_in_calls_that_grow_with_its_messages_alone() -> None:
    """Not with the size of its texts, which are looked at when a candidate asks."""
    wire = all_wires()["openai_chat"]

    def reading(size: int) -> Callable[[], object]:
        turns = [{"role": "tool", "tool_call_id": f"c{turn}", "content": "a line\n" * size} for turn in range(50)]
        body = json.dumps({"model": "m", "messages": turns}).encode()
        return lambda: request_of(wire, body)

    reading(10)()
    assert calls_of(reading(2_000)) < 1.05 * calls_of(reading(20)) + 20
