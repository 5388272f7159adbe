"""The wires, case by case: `tests/cases/wires/*.yaml`. What the upstream sends, what the client receives.

Strategy: a case's reply is built as a stream, sent through an exchange, and decoded by `chatclient`, which is stricter
than any real client. Then the same bytes are cut in two at every place, the kind of places where streams really break,
and sent one by one; and the same reply is sent as one JSON body. Text, calls, finish reason and verdicts must be the
same each time. The `raw` cases say byte for byte what is on the wire.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from support.casefiles import load, openai_tools
from support.chatclient import HEAD, chunk, event, received
from support.exchanges import of_request, run
from support.rawbytes import check_raw
from support.wirecases import exchange_for as case_exchange
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.conversation import request_of
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

WIRE = all_wires()["openai_chat"]
FILE = load("wires", "openai_chat")
RAW = [pytest.param(case, id=case["title"]) for case in FILE["raw"]]
BLANK_LINES = re.compile(rb"(?:\r?\n){2,}")


def exchange_for(case: Mapping[str, Any], form: Form = "sse") -> Exchange:
    return case_exchange("openai_chat", case, form)


@pytest.mark.parametrize("case", RAW)
def test_bytes(case: dict[str, str]) -> None:
    check_raw(case)


def test_choices_are_told_apart() -> None:
    call = '<invoke name="Noop"></invoke>'
    half = len(call) // 2
    both = [(0, call[:half]), (1, "Hello <"), (0, call[half:]), (1, "b>"), (1, "\n" + call)]
    body = b"".join([event(chunk(HEAD, index=index)) for index in (0, 1)])
    body += b"".join([event(chunk({"content": text}, index=index)) for index, text in both])
    body += b"".join([event(chunk({}, "stop", index=index)) for index in (0, 1)]) + b"data: [DONE]\n\n"
    exchange = exchange_for({})
    reply = received(run(exchange, [body]))
    assert [choice.text for choice in reply.choices.values()] == ["", "Hello <b>\n"]
    assert [len(choice.calls) for choice in reply.choices.values()] == [1, 1]
    ids = {choice.calls[0]["id"] for choice in reply.choices.values()}
    assert len(ids) == 2
    assert sorted(lane for lane, _ in exchange.verdicts) == [0, 1]


def test_text_that_can_be_no_call_leaves_in_the_callback_that_brought_it() -> None:
    exchange = exchange_for({})
    for text in ("Hello", " wor", "ld < 3 and <b>", "\n", "`x`", " > y\n"):
        frame = event(chunk({"content": text}))
        assert exchange.feed(frame) == frame
    assert exchange.feed(event(chunk({"content": "<invo"}))) == b""


def test_the_same_request_gives_the_same_ids_and_another_gives_others() -> None:
    body = event(chunk({**HEAD, "content": '<invoke name="Noop"></invoke>'}, "stop"))
    request = request_of(WIRE, json.dumps({"messages": [], "tools": openai_tools(FILE["tools"])}).encode())
    made = []
    for seed in (b"one", b"one", b"two"):
        exchange = of_request(WIRE, request, Route(), form="sse", seed=seed)
        run(exchange, [body])
        made.append(exchange.client_calls[0][1].id)
    assert made[0] == made[1] != made[2]


def test_a_request_of_odd_shapes_is_read_as_far_as_it_goes() -> None:
    body = {
        "messages": [None, {"role": "user", "content": [{"type": "text", "text": "a"}, 3]}, {"role": "tool"}],
        "tools": [None, {"function": None}, {"function": {"name": ""}}, {"function": {"name": "t", "parameters": 3}}],
        "tool_choice": {"type": "function", "function": {"name": "t"}},
        "model": 7,
    }
    request = request_of(WIRE, json.dumps(body).encode())
    assert [tool.name for tool in request.tools] == ["t"]
    assert request.quotable == ("a",)
    assert (request.model, request.tool_choice) == ("", "t")
