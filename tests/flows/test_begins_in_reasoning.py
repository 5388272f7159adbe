"""A model that closes reasoning which nothing opened begins in reasoning: known from the session's next reply on."""

import json
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from support.damaged import tool
from toolcalls.flows import flow_metadata
from toolcalls.flows.exchange_plan import plan_for, wire_for
from toolcalls.flows.judging import recorded
from toolcalls.mending.reply_watch import says_unopened
from toolcalls.requests.client_memory import ClientMemory
from toolcalls.route import Config

CALL = '<invoke name="Bash">\n<parameter name="command">{}</parameter>\n</invoke>'
DRAFT = f"I could do this:\n{CALL.format('rm -rf build')}\nbut no.\n</think>\n"
TOOLS = [
    {"type": "function", "function": {"name": one.name, "parameters": one.schema}}
    for one in [tool("Bash", command="string")]
]


def asked(said: str, session: str = "s") -> http.HTTPFlow:
    """A flow whose reply is a stream with this text, in pieces of 8 characters."""
    flow = tflow.tflow(resp=True)
    assert flow.response is not None
    flow.request = http.Request.make(
        "POST",
        "http://gpu-box:8000/v1/chat/completions",
        json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "go"}], "tools": TOOLS}),
        {"content-type": "application/json", "x-session-id": session},
    )
    deltas: list[tuple[dict[str, Any], str | None]] = [
        ({"content": said[at : at + 8]}, None) for at in range(0, len(said), 8)
    ]
    chunks = [
        {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in [*deltas, ({}, "stop")]
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    flow.response = http.Response.make(200, body, {"content-type": "text/event-stream"})
    return flow


def replied(flow: http.HTTPFlow, clients: ClientMemory) -> tuple[list[str | None], list[str]]:
    """The reasons of its calls, None for one that was lifted; and its notes."""
    wire = wire_for(flow.request)
    assert wire is not None
    assert flow.response is not None
    assert flow.response.content is not None
    plan = plan_for(wire, flow.request, Config(), clients=clients)
    flow_metadata.store_reasons_first(flow, plan.reasons_first)
    exchange = plan.exchange("sse")
    for piece in flow.response.content.split(b"\n\n"):
        exchange.feed(piece + b"\n\n" if piece else b"")
    exchange.close()
    assert exchange.failure is None
    clients.reply_ended(exchange, reasons_first=any(says_unopened(note) for _, note in exchange.notes))
    return [verdict.reason for _, verdict in exchange.verdicts], [note.text for _, note in exchange.notes]


def test_the_first_reply_shows_it_and_the_next_one_is_read_so() -> None:
    clients = ClientMemory()
    said = DRAFT + CALL.format("ls")
    reasons, notes = replied(asked(said), clients)
    assert reasons == [None, None]  # the draft has left by then, and stays
    assert notes == [
        "the text closes reasoning that nothing in it opened; Bash was called in it, and stays called",
    ]
    again = asked(said)
    assert replied(again, clients)[0] == ["reasoning", None]
    assert replied(asked(said, "another session"), clients)[0] == [None, None]
    # A reply that reasons no more has lost nothing.
    assert replied(asked(CALL.format("ls")), clients)[0] == [None]


@pytest.mark.parametrize("known", [False, True])
def test_a_replay_knows_what_was_known(known: bool) -> None:
    flow = asked(DRAFT + CALL.format("ls"))
    flow_metadata.store_reasons_first(flow, known)
    assert recorded(flow, Config()).plan.call_policy.may_start_in_reasoning == known


def test_sessions_are_bounded() -> None:
    clients = ClientMemory()
    replies = [type("Reply", (), {})() for _ in range(5000)]
    for number, reply in enumerate(replies):
        clients.reply_started(str(number).encode(), reply)
        clients.reply_ended(reply, reasons_first=True)
    assert not clients.begins_in_reasoning(b"0")
    assert clients.begins_in_reasoning(b"4999")
    clients.reply_ended(replies[0], reasons_first=True)  # it is known no more
