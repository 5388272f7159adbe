"""Gemini's Interactions API from end to end: Google's SDK, a real mitmdump with the addon, a scripted upstream.

One mitmdump serves all tests; its configuration has a route for each kind, chosen by the first part of the path. What
the SDK hands to an agent is put together as its documentation says and checked by the strict client.
"""

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from support import anthropicclient, interactionsclient
from support.anthropicclient import stream
from support.fiveroutes import INVOKE, SCHEMAS, TEXT, WITH_ASK, check_flow, exchanged, two_calls
from support.loopback import EVENTS, LIMIT, Host, Reply, post
from toolcalls.flows import flow_metadata

genai: Any = import_module("google.genai")
types: Any = import_module("google.genai.types")

CONFIG = WITH_ASK
JSON = {"content-type": "application/json; charset=UTF-8"}


def text(said: str, size: int = 5) -> list[dict[str, Any]]:
    return anthropicclient.text(*(said[at : at + size] for at in range(0, len(said), size)))


NATIVE = [
    text("Let me look."),
    anthropicclient.call("call_1", "read_file", "", '{"path": "größe/', '日本 😀.md"}'),
    anthropicclient.call("call_2", "now"),
]
KINDS = two_calls(lambda said: [text(said)], NATIVE)
ASKED: dict[str, Any] = {
    "model": "gemini-x",
    "input": "go",
    "tools": [{"type": "function", "name": name, "parameters": of} for name, of in SCHEMAS.items()],
}


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def sdk(url: str) -> Iterator[Any]:
    options = types.HttpOptions(
        base_url=url, timeout=int(LIMIT * 1000), api_version="v1beta", client_args={"verify": False},
        retry_options=types.HttpRetryOptions(attempts=1),
    )  # fmt: skip
    made = genai.Client(api_key="made-up", http_options=options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it calls the API experimental
            yield made.interactions
    finally:
        made.close()


def _dumped(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", exclude_unset=True)
    return found


def asked(url: str, *, streamed: bool, **more: Any) -> anthropicclient.Reply:
    """One request, and what a strict client makes of what the SDK gives."""
    with sdk(url) as interactions:
        made = interactions.create(stream=streamed, **{**ASKED, **more})
        if streamed:
            return interactionsclient.told(map(_dumped, made))
        return interactionsclient.understood(json.dumps(_dumped(made)).encode())


def pieces_of(events: Sequence[Any], *, streamed: bool) -> list[bytes]:
    if not streamed:
        return [interactionsclient.whole(anthropicclient.whole(events))]
    return [piece for event in events if (piece := interactionsclient.written([event]))]


def ask(
    running: Host, route: str, events: Sequence[Any], *, streamed: bool, **more: Any
) -> tuple[anthropicclient.Reply, Any, list[bytes]]:
    """One request: what the SDK makes of its reply, the flow, and what the upstream sent."""
    pieces = pieces_of(events, streamed=streamed)
    upstream = Reply(pieces, dict(EVENTS) if streamed else JSON)
    return *exchanged(running, route, upstream, lambda url: asked(url, streamed=streamed, **more)), pieces


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("route", KINDS)
def test_each_kind_of_route(running: Host, route: str, streamed: bool) -> None:
    blocks, shown, calls, stopped, status = KINDS[route]
    reply, flow, pieces = ask(running, route, stream(blocks), streamed=streamed)
    assert reply.text == shown
    assert [(call["name"], json.loads(call["arguments"])) for call in reply.calls] == calls
    assert reply.stop == stopped
    check_flow(flow, route, status, "gemini-x", pieces)


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
def test_a_request_is_rewritten_for_a_text_upstream(running: Host, streamed: bool) -> None:
    past = [
        {"type": "user_input", "content": [{"type": "text", "text": "go"}]},
        {"type": "function_call", "id": "c1", "name": "now", "arguments": {}},
        {"type": "function_result", "call_id": "c1", "name": "now", "result": "noon"},
    ]
    reply, _, _ = ask(running, "ask", stream([text(TEXT.format(*INVOKE))]), streamed=streamed, input=past)
    assert [call["name"] for call in reply.calls] == ["read_file", "now"]
    (sent,) = running.upstream.asked
    body = json.loads(sent.body)
    assert "tools" not in body
    assert "read_file" in body["system_instruction"]
    assert [step["type"] for step in body["input"]] == ["user_input", "model_output", "user_input"]
    assert "noon" in body["input"][-1]["content"][0]["text"]


def test_a_result_whose_call_the_server_has_as_text_is_reported(running: Host) -> None:
    """The server keeps the conversation, and knows of no such call."""
    reply, _, _ = ask(running, "lift", stream([text(TEXT.format(*INVOKE))]), streamed=True)
    id_ = reply.calls[0]["id"].replace("toolu_", "call_")
    results = [{"type": "function_result", "call_id": id_, "name": "read_file", "result": "x"}]
    base = f"/lift{running.prefix()}"
    running.upstream.replies = [Reply(pieces_of(stream([text("Well.")]), streamed=True), dict(EVENTS))]
    body = {**ASKED, "input": results, "previous_interaction_id": "v1_1", "stream": True}
    post(running.dump.url, json.dumps(body).encode(), path=f"{base}/v1beta/interactions")
    evidence = running.flow_under(base + "/").metadata[flow_metadata.REPORT]["evidence"]
    assert any("it holds a result of read_file, whose call is text in what the server keeps" in one for one in evidence)
