"""Faults on request: what is written, and what it does to a reply."""

import json
import re
from typing import Any

import pytest

from support.converseclient import frame
from support.invokeclient import chunk
from toolcalls.tools.serve.errors import error_plan
from toolcalls.tools.serve.faults import KINDS, fault, faulty
from toolcalls.tools.serve.pacing import Plan
from toolcalls.tools.serve.recording import WEBSOCKET, Asked, Framing, Piece
from toolcalls.wires.eventstream import Message, event_headers, written

CHAT = Asked("POST", "openai_chat")
EVENTS = [b'data: {"a": 1}\n\n', b'event: x\ndata: {"b": 22}\n\n', b"data: [DONE]\n\n"]


def plan(*pieces: bytes, framing: Framing | None = "sse", **more: Any) -> Plan:
    """A reply whose pieces come a second apart."""
    timed = tuple(Piece(float(number), data) for number, data in enumerate(pieces, 1))
    return Plan(200, (), timed, begin=0.5, end=len(pieces) + 1.0, framing=framing, **more)


# The events of a stream in pieces that do not keep to them.
BODY = b"".join(EVENTS)
ODD = plan(BODY[:5], BODY[5:40], BODY[40:])


def spoilt(text: str, given: Plan = ODD, asked: Asked = CHAT) -> Plan:
    made, kinds = faulty(given, [fault(text)], 1, asked)
    assert kinds == ((fault(text).kind,) if made != given else ())
    return made


def body(given: Plan) -> bytes:
    return b"".join(piece.data for piece in given.pieces)


@pytest.mark.parametrize("count", [1, 5, 17, len(BODY) - 1])
def test_cut_at_byte(count: int) -> None:
    made = spoilt(f"cut-at-byte={count}")
    assert body(made) == BODY[:count]
    assert made.cut
    assert spoilt(f"cut-at-byte={len(BODY)}") == ODD


@pytest.mark.parametrize("number", [1, 2, 3])
def test_cut_at_event(number: int) -> None:
    made = spoilt(f"cut-at-event={number}")
    assert body(made) == b"".join(EVENTS[: number - 1])
    assert made.cut
    assert made.end <= ODD.end
    assert spoilt("cut-at-event=4") == ODD


def test_delays() -> None:
    late = spoilt("delay=2.5")
    assert (late.begin, late.end, [piece.moment for piece in late.pieces]) == (3.0, 6.5, [3.5, 4.5, 5.5])
    stalled = spoilt("delay-at-event=2:10")
    assert body(stalled) == BODY
    assert b"".join(piece.data for piece in stalled.pieces if piece.moment < 10) == EVENTS[0]
    assert [piece.moment for piece in stalled.pieces] == [1.0, 2.0, 12.0, 13.0]
    assert stalled.end == ODD.end + 10


@pytest.mark.parametrize("number", [1, 2, 3])
def test_repeat_event(number: int) -> None:
    made = spoilt(f"repeat-event={number}")
    assert body(made) == b"".join([*EVENTS[:number], *EVENTS[number - 1 :]])
    assert not made.cut


@pytest.mark.parametrize(
    ("framing", "events", "bad"),
    [
        ("sse", EVENTS, b'event: x\ndata: {"b"\n\n'),
        ("ndjson", [b'{"a": 1}\n', b'{"b": 22}\n', b"{}\n"], b'{"b"\n'),
        ("messages", [b'{"a": 1}', b'{"b": 22}', b"{}"], b'{"b"'),
        (
            "eventstream",
            [frame("messageStart", {}), frame("messageStop", {"stopReason": "end_turn"}), frame("metadata", {})],
            written(Message(event_headers("messageStop"), b'{"sto')),
        ),
        ("eventstream_chunks", [chunk(b"{}"), chunk(b'{"b": 22}'), chunk(b"{}")], chunk(b'{"b"')),
    ],
)
def test_bad_event(framing: Framing, events: list[bytes], bad: bytes) -> None:
    made = spoilt("bad-event=2", plan(*events, framing=framing))
    assert body(made) == b"".join([events[0], bad, events[2]])
    assert len(made.pieces) == 3


def test_an_error_of_bedrocks_says_its_kind_in_a_header() -> None:
    """boto3 raises by it."""
    for status, kind in ((429, "ThrottlingException"), (400, "ValidationException"), (500, "InternalServerException")):
        made = error_plan(Asked("POST", "bedrock_converse"), status, "Slow down.")
        assert dict(made.headers)[b"x-amzn-errortype"] == kind.encode()
        assert json.loads(body(made)) == {"message": "Slow down."}
    assert b"x-amzn-errortype" not in dict(error_plan(CHAT, 429, "Slow down.").headers)


def test_a_whole_reply_is_one_event_and_says_how_long_it_is() -> None:
    whole = plan(b'{"a": 1', b"234}", framing="whole")
    sized = Plan(200, ((b"content-length", b"11"),), whole.pieces, framing="whole")
    assert body(spoilt("bad-event=1", sized)) == b'{"a":'
    assert spoilt("bad-event=1", sized).headers == ((b"content-length", b"5"),)
    assert spoilt("cut-at-byte=4", sized).headers == sized.headers, "it breaks its word"
    assert spoilt("bad-event=2", sized) == sized


def test_a_message_is_never_cut_in_two() -> None:
    made = spoilt("cut-at-byte=12", plan(b"12345678", b"12345678", framing="messages"))
    assert [piece.data for piece in made.pieces] == [b"12345678"]
    assert made.cut


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ("openai_chat", {"error": {"type": "server_error", "param": None, "code": None}}),
        ("openai_responses", {"error": {"type": "server_error", "param": None, "code": None}}),
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error"}}),
        ("gemini", {"error": {"code": 529, "status": "INTERNAL"}}),
        ("ollama", {}),
    ],
)
def test_a_status_comes_in_the_form_of_the_api(wire: str, said: dict[str, Any]) -> None:
    made = spoilt("status=529", asked=Asked("POST", wire))
    assert (made.status, made.begin, made.framing, made.cut) == (529, 0.5, "whole", False)
    data = json.loads(body(made))
    message = data.pop("error") if wire == "ollama" else data["error"].pop("message")
    assert "--fault status=529" in message
    assert data == said
    over = json.loads(body(spoilt("status=503", asked=Asked(WEBSOCKET, wire))))
    assert (over["type"], over["status"]) == ("error", 503)


def test_a_fault_may_befall_one_reply_and_several_may_one() -> None:
    faults = [fault("2:cut-at-event=3"), fault("delay=1")]
    first, second = (faulty(ODD, faults, number, CHAT) for number in (1, 2))
    assert (body(first[0]), first[1], body(second[0]), second[1]) == (
        BODY,
        ("delay",),
        b"".join(EVENTS[:2]),
        ("cut-at-event", "delay"),
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("cut", "'cut' is not a fault; write one like cut-at-event=3 or 2:status=503"),
        ("0:delay=1", "'0:delay=1' is not a fault"),
        ("explode=1", f"'explode' is not a kind of fault; the kinds are {', '.join(KINDS)}"),
        ("cut-at-event=0", "'cut-at-event=0' needs a whole number from 1"),
        ("cut-at-byte=x", "needs a whole number from 1"),
        ("delay=soon", "needs seconds"),
        ("delay-at-event=3", "needs seconds"),
        ("delay-at-event=x:3", "needs seconds"),
        ("status=200", "'status=200' needs the status of an error, from 400 to 599"),
    ],
)
def test_what_is_no_fault_says_why(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong)):
        fault(text)
