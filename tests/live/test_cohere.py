"""Cohere's API from end to end: Cohere's SDK, a real mitmdump with the addon, a scripted upstream, all on loopback.

One mitmdump serves all tests; its configuration has a route for each kind, chosen by the first part of the path. What
the SDK hands to an agent is checked by the strict client.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import cohere
import httpx
import pytest

from support import chatclient, cohereclient
from support.fiveroutes import BLOCK, INVOKE, MEANT, TAGGED, TEXT
from support.fiveroutes import CONFIG as FIVE_ROUTES
from support.loopback import EVENTS, LIMIT, Host, Reply
from toolcalls.flows import flow_metadata

CONFIG = (
    FIVE_ROUTES
    + """
  - {name: ask, match: {path: "/ask/*"}, client: native, upstream: text, dialects: [invoke], rewrite_request: true}
"""
)
JSON = {"content-type": "application/json"}


def text(said: str, size: int = 5) -> list[dict[str, Any]]:
    return [{"content": said[at : at + size]} for at in range(0, len(said), size)]


def call(index: int, id_: str, name: str, *pieces: str) -> list[dict[str, Any]]:
    entry = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
    more = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    return [{"tool_calls": [one]} for one in (entry, *more)]


NATIVE = [
    *text("Let me look."),
    *call(0, "call_1", "read_file", '{"path": "größe/', '日本 😀.md"}'),
    *call(1, "call_2", "now", "{}"),
]
# By route: what the upstream says, and what the client gets: text, calls, finish reason, verdicts.
KINDS: dict[str, tuple[list[Any], str, list[tuple[str, dict[str, str]]], str, str]] = {
    "lift": (text(TEXT.format(*INVOKE)), TEXT.format("", ""), MEANT, "tool_calls", "lifted"),
    "lower": (NATIVE, f"Let me look.\n\n{BLOCK}", [], "stop", "lowered"),
    "same": (text(TEXT.format(*INVOKE)), TEXT.format(*INVOKE), [], "stop", "lowered"),
    "other": (text(TEXT.format(*INVOKE)), TEXT.format(*TAGGED), [], "stop", "lowered"),
    "observe": (NATIVE, "Let me look.", MEANT, "tool_calls", "native"),
}
_SCHEMAS: dict[str, Any] = {
    "read_file": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "now": {"type": "object", "properties": {}},
}
ASKED: dict[str, Any] = {
    "model": "command-a",
    "messages": [{"role": "user", "content": "go"}],
    "tools": [{"type": "function", "function": {"name": name, "parameters": of}} for name, of in _SCHEMAS.items()],
}


@contextmanager
def sdk(url: str) -> Iterator[Any]:
    with httpx.Client(trust_env=False, timeout=LIMIT, verify=False) as line:
        yield cohere.ClientV2("made-up", base_url=url, httpx_client=line, log_warning_experimental_features=False)


def _dumped(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(model.json())
    return found


def asked(url: str, *, streamed: bool, **more: Any) -> chatclient.Choice:
    """One request, and what a strict client makes of what the SDK gives."""
    with sdk(url) as client:
        if streamed:
            return cohereclient.told(map(_dumped, client.chat_stream(**{**ASKED, **more})))
        return cohereclient.answered(_dumped(client.chat(**{**ASKED, **more})))


def pieces_of(deltas: Sequence[Mapping[str, Any]], *, streamed: bool) -> list[bytes]:
    finish = "tool_calls" if any("tool_calls" in delta for delta in deltas) else "stop"
    events = list(cohereclient.of_chat([*((delta, None) for delta in deltas), ({}, finish)]))
    if streamed:
        return [*map(cohereclient.frame, events), cohereclient.DONE]
    got = cohereclient.told(events)
    calls = [
        {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": one["arguments"]}}
        for one in got.calls
    ]
    choice = {"message": {"content": got.text, "tool_calls": calls}, "finish_reason": finish}
    return [cohereclient.whole(json.dumps({"choices": [choice]}).encode())]


def ask(
    running: Host, route: str, deltas: Sequence[Mapping[str, Any]], *, streamed: bool, **more: Any
) -> tuple[chatclient.Choice, Any, list[bytes]]:
    """One request: what the SDK makes of its reply, the flow, and what the upstream sent."""
    base = f"/{route}{running.prefix()}"
    pieces = pieces_of(deltas, streamed=streamed)
    running.upstream.asked.clear()
    running.upstream.replies = [Reply(pieces, dict(EVENTS) if streamed else JSON)]
    reply = asked(running.dump.url + base, streamed=streamed, **more)
    return reply, running.flow_under(base + "/"), pieces


def verdicts(flow: Any) -> list[str]:
    return [verdict["status"] for verdict in flow.metadata[flow_metadata.REPORT]["verdicts"]]


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("route", KINDS)
def test_each_kind_of_route(running: Host, route: str, streamed: bool) -> None:
    said, shown, calls, finish, status = KINDS[route]
    reply, flow, pieces = ask(running, route, said, streamed=streamed)
    assert reply.text == shown
    assert [(one["name"], json.loads(one["arguments"])) for one in reply.calls] == calls
    assert reply.finish == finish
    assert verdicts(flow) == [status, status]
    assert flow.metadata[flow_metadata.REPORT]["model"] == "command-a"
    if route in {"same", "observe"}:  # untouched is identical
        assert flow.response.raw_content == b"".join(pieces)


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
def test_a_request_is_rewritten_for_a_text_upstream(running: Host, streamed: bool) -> None:
    past = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "tool_plan": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "noon"},
    ]
    reply, _, _ = ask(running, "ask", text(TEXT.format(*INVOKE)), streamed=streamed, messages=past)
    assert [one["name"] for one in reply.calls] == ["read_file", "now"]
    (sent,) = running.upstream.asked
    body = json.loads(sent.body)
    assert "tools" not in body
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert "read_file" in body["messages"][0]["content"]
    assert '<invoke name="now">' in body["messages"][2]["content"]
    assert "noon" in body["messages"][3]["content"]
