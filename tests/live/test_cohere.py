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
from support.fiveroutes import INVOKE, SCHEMAS, TEXT, WITH_ASK, check_flow, exchanged, two_calls
from support.loopback import EVENTS, LIMIT, Host, Reply

CONFIG = WITH_ASK
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
KINDS = two_calls(text, NATIVE, calls="tool_calls", end="stop")
ASKED: dict[str, Any] = {
    "model": "command-a",
    "messages": [{"role": "user", "content": "go"}],
    "tools": [{"type": "function", "function": {"name": name, "parameters": of}} for name, of in SCHEMAS.items()],
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
    pieces = pieces_of(deltas, streamed=streamed)
    upstream = Reply(pieces, dict(EVENTS) if streamed else JSON)
    return *exchanged(running, route, upstream, lambda url: asked(url, streamed=streamed, **more)), pieces


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("route", KINDS)
def test_each_kind_of_route(running: Host, route: str, streamed: bool) -> None:
    said, shown, calls, finish, status = KINDS[route]
    reply, flow, pieces = ask(running, route, said, streamed=streamed)
    assert reply.text == shown
    assert [(one["name"], json.loads(one["arguments"])) for one in reply.calls] == calls
    assert reply.finish == finish
    check_flow(flow, route, status, "command-a", pieces)


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
