"""What is kept of a request's messages."""

import json
import pickle
from dataclasses import fields
from typing import Any

import pytest
from mitmproxy import http

from support import archives
from toolcalls.flows.exchange_plan import wire_for
from toolcalls.insight.conversation import EXCERPT, Message, RequestSummary, request_opening, request_summary

RECORDED = [flow for flow in archives.recordings() if flow.request.content]


def test_a_message_can_be_sent_to_another_process() -> None:
    every = Message("tool", "a1", 400, "the beginning…", ("read_file",), 2, b"kept")
    assert all(getattr(every, field.name) != field.default for field in fields(Message)), "one field is not tried"
    assert pickle.loads(pickle.dumps(every)) == every


def test_a_message_that_was_sent_has_its_text() -> None:
    body = b'{"messages": [{"role": "user", "content": "%s"}]}' % (b"word " * EXCERPT)
    [message] = request_summary("openai_chat", body).messages
    assert pickle.loads(pickle.dumps(message)).text == "word " * EXCERPT


def _told_by(request: RequestSummary) -> tuple[str, str, int, tuple[Message, ...]]:
    """What an index says of it, with its messages up to the user's first."""
    place = next((place for place, one in enumerate(request.messages) if one.role == "user"), -1)
    return request.model, request.session, request.left_out, request.messages[: place + 1]


@pytest.mark.parametrize("flow", RECORDED, ids=lambda flow: flow.id[:8])
def test_the_opening_of_a_recorded_request_is_what_its_summary_begins_with(flow: http.HTTPFlow) -> None:
    wire = wire_for(flow.request)
    name = "" if wire is None else wire.name
    for turns in (0, 1, 2, 3, 70):
        body = archives.grown(flow, turns, 0)
        assert _told_by(request_opening(name, body)) == _told_by(request_summary(name, body)), turns


SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Fix it."}
MODEL = {"role": "assistant", "content": "I did."}
SAID = {"type": "reasoning", "summary": []}
BODIES: dict[str, tuple[str, Any]] = {
    "the user is the last": ("openai_chat", [SYSTEM] * 3 + [USER]),
    "the user is the fourth of five": ("openai_chat", [SYSTEM] * 3 + [USER, MODEL]),
    "the user comes late": ("openai_chat", [SYSTEM] * 70 + [USER, MODEL]),
    "nobody asks": ("openai_chat", [SYSTEM] * 70),
    "nothing": ("openai_chat", []),
    "more than are kept": ("openai_chat", [USER, *[MODEL] * 5000]),
    "items of one turn": ("openai_responses", [*[SAID] * 5, {"type": "message", **MODEL}, USER, MODEL]),
    "an API that nobody knows": ("no_such_wire", [SYSTEM] * 3 + [USER, MODEL]),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_opening_of_a_request_is_what_its_summary_begins_with(name: str) -> None:
    wire, messages = BODIES[name]
    key = "input" if wire == "openai_responses" else "messages"
    body = json.dumps({"model": "m", "prompt_cache_key": "s1", key: messages}).encode()
    found = request_opening(wire, body)
    assert _told_by(found) == _told_by(request_summary(wire, body))
    assert len(found.messages) == len(_told_by(found)[3]), "messages behind the user's first cost time and tell nothing"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"messages": ' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_what_is_no_request_has_no_opening(body: bytes) -> None:
    assert request_opening("openai_chat", body).messages == ()
