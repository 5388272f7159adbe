"""Google Vertex AI from end to end: the official SDKs, a real mitmdump with the addon, a scripted upstream.

Vertex has no API of its own for these models. Its paths name a project, a place and a model, and after them stand the
APIs of Anthropic, Google, OpenAI and Mistral. One mitmdump serves all tests; its configuration has a route for each
kind, chosen by the first part of the path. What an SDK hands to an agent is checked by the strict clients where there
is one for the API.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import anthropic
import openai
import pytest
from google.oauth2.credentials import Credentials

from support import anthropicclient, geminiclient
from support.anthropicclient import stream
from support.fiveroutes import INVOKE, SCHEMAS, TEXT, WITH_ASK, check_flow, exchanged, two_calls
from support.loopback import LIMIT, Host, Reply, post

genai: Any = import_module("google.genai")

CONFIG = WITH_ASK
CLAUDE, GEMINI, LLAMA, MISTRAL = "claude-made-up@20260101", "gemini-x", "meta/llama-made-up-maas", "mistral-x@2411"
PLACE = "/projects/made-up/locations/us-east5"
EVENTS = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}

NATIVE = [("read_file", '{"path": "größe/日本 😀.md"}'), ("now", "{}")]
# What the upstream says is a text and native calls.
KINDS = two_calls(lambda text: (text, []), ("Let me look.", NATIVE))
FUNCTIONS: list[Any] = [
    {"type": "function", "function": {"name": name, "parameters": of}} for name, of in SCHEMAS.items()
]
TALK: list[Any] = [{"role": "user", "content": "go"}]

type Said = tuple[str, list[tuple[str, Any]]]


def cut(text: str, size: int = 5) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDKs look for projects, for keys and for proxies in many places."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


# --- Claude -----------------------------------------------------------------------------------------------------------


def _blocks(text: str, calls: Sequence[tuple[str, str]]) -> list[Any]:
    made = [anthropicclient.call(f"toolu_{at}", name, "", given) for at, (name, given) in enumerate(calls)]
    return [anthropicclient.text(*cut(text)), *made]


def _claude(base: str) -> anthropic.AnthropicVertex:
    return anthropic.AnthropicVertex(
        base_url=f"{base}/v1", region="us-east5", project_id="made-up", access_token="made-up", max_retries=0,
        timeout=LIMIT,
    )  # fmt: skip


_MESSAGE: dict[str, Any] = {
    "model": CLAUDE,
    "max_tokens": 100,
    "messages": TALK,
    "tools": [{"name": name, "input_schema": of} for name, of in SCHEMAS.items()],
}


def _ask_claude(base: str) -> Said:
    with _claude(base) as sdk:
        reply = anthropicclient.understood(sdk.messages.create(**_MESSAGE).to_dict())
    return reply.text, [(call["name"], json.loads(call["arguments"])) for call in reply.calls]


def _stream_claude(base: str) -> Said:
    with _claude(base) as sdk:
        events = [event.to_dict() for event in sdk.messages.create(stream=True, **_MESSAGE)]
    reply = anthropicclient.received(anthropicclient.written(events))
    return reply.text, [(call["name"], json.loads(call["arguments"])) for call in reply.calls]


# --- Gemini -----------------------------------------------------------------------------------------------------------


def _replies(text: str, calls: Sequence[tuple[str, str]]) -> list[Any]:
    made = [{"functionCall": {"name": name, "args": json.loads(given)}} for name, given in calls]
    return [*(geminiclient.reply([part]) for part in [*cut(text), *made]), geminiclient.reply([""], "STOP")]


def _ask_gemini(base: str, *, streamed: bool) -> Said:
    sdk = genai.Client(
        vertexai=True, project="made-up", location="us-east5", credentials=Credentials("made-up"),
        http_options=genai.types.HttpOptions(base_url=base, api_version="v1", timeout=int(LIMIT * 1000)),
    )  # fmt: skip
    declared = [{"name": name, "parameters_json_schema": of} for name, of in SCHEMAS.items()]
    asked: Any = {
        "model": GEMINI,
        "contents": "go",
        "config": genai.types.GenerateContentConfig(tools=[{"function_declarations": declared}]),
    }
    models = sdk.models
    try:
        replies = list(models.generate_content_stream(**asked)) if streamed else [models.generate_content(**asked)]
    finally:
        sdk.close()
    parts = [part for reply in replies for part in reply.candidates[0].content.parts or ()]
    text = "".join(part.text or "" for part in parts)
    return text, [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]


# --- Chat Completions -------------------------------------------------------------------------------------------------


def _message(text: str, calls: Sequence[tuple[str, str]]) -> dict[str, Any]:
    made = [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": given}}
        for at, (name, given) in enumerate(calls)
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def _chat_whole(text: str, calls: Sequence[tuple[str, str]]) -> list[bytes]:
    choice = {"index": 0, "message": _message(text, calls), "finish_reason": "tool_calls" if calls else "stop"}
    return [json.dumps({"id": "c1", "object": "chat.completion", "choices": [choice]}).encode()]


def _chat_events(text: str, calls: Sequence[tuple[str, str]]) -> list[bytes]:
    """Each call comes whole, in a chunk of its own."""
    deltas: list[Any] = [{"role": "assistant", "content": piece} for piece in cut(text)]
    deltas += [
        {"tool_calls": [{"index": at, **one}]} for at, one in enumerate(_message("", calls).get("tool_calls", ()))
    ]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"})
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": LLAMA}
    events = [json.dumps({**head, "choices": [choice]}).encode() for choice in choices]
    return [b"data: " + event + b"\n\n" for event in [*events, b"[DONE]"]]


def _ask_chat(base: str, *, streamed: bool) -> Said:
    url = f"{base}/v1{PLACE}/endpoints/openapi"
    with openai.OpenAI(base_url=url, api_key="made-up", max_retries=0, timeout=LIMIT) as sdk:
        asked: Any = {"model": LLAMA, "messages": TALK, "tools": FUNCTIONS}
        if not streamed:
            message = sdk.chat.completions.create(**asked).choices[0].message
            calls = [call.function for call in message.tool_calls or ()]
            return message.content or "", [(call.name, json.loads(call.arguments)) for call in calls]
        with sdk.chat.completions.stream(**asked) as events:
            message = events.get_final_completion().choices[0].message
    calls = [call.function for call in message.tool_calls or ()]
    return message.content or "", [(call.name, json.loads(call.arguments)) for call in calls]


def _ask_mistral(base: str, *, streamed: bool) -> Said:
    """By hand: the body is that of Mistral's own API."""
    body = json.dumps({"model": MISTRAL, "messages": TALK, "tools": FUNCTIONS, "stream": streamed}).encode()
    server, _, path = base.removeprefix("http://").partition("/")
    method = "streamRawPredict" if streamed else "rawPredict"
    got = post(f"http://{server}", body, path=f"/{path}/v1{PLACE}/publishers/mistralai/models/{MISTRAL}:{method}")
    assert got.ended
    lines = [line.removeprefix(b"data: ") for line in got.body.split(b"\n\n") if line.startswith(b"data: {")]
    choices = [json.loads(payload)["choices"][0] for payload in (lines if streamed else [got.body])]
    told = [choice.get("delta") or choice.get("message") or {} for choice in choices]
    found: dict[int, list[str]] = {}
    for delta in told:
        for at, call in enumerate(delta.get("tool_calls") or ()):
            parts = found.setdefault(call.get("index", at), ["", ""])
            parts[0] += call["function"].get("name") or ""
            parts[1] += call["function"].get("arguments") or ""
    text = "".join(delta.get("content") or "" for delta in told)
    return text, [(name, json.loads(given)) for name, given in found.values()]


# --- all of them ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """One API of Vertex: what the upstream sends, what the SDK makes of it, and whose model the flow must name."""

    said: Callable[[str, Sequence[tuple[str, str]]], list[bytes]]
    asks: Callable[[str], Said]
    streamed: bool
    model: str
    path: str


_PUBLISHERS = f"/v1{PLACE}/publishers"
WAYS = {
    "Claude": Way(
        lambda text, calls: [anthropicclient.whole(stream(_blocks(text, calls)))],
        _ask_claude, False, CLAUDE, f"{_PUBLISHERS}/anthropic/models/{CLAUDE}:rawPredict",
    ),
    "Claude, streamed": Way(
        lambda text, calls: [anthropicclient.written([event]) for event in stream(_blocks(text, calls))],
        _stream_claude, True, CLAUDE, f"{_PUBLISHERS}/anthropic/models/{CLAUDE}:streamRawPredict",
    ),
    "Gemini": Way(
        lambda text, calls: [geminiclient.body_of([_joined(_replies(text, calls))], "whole")],
        lambda base: _ask_gemini(base, streamed=False), False, GEMINI,
        f"{_PUBLISHERS}/google/models/{GEMINI}:generateContent",
    ),
    "Gemini, streamed": Way(
        lambda text, calls: [geminiclient.body_of([one]) for one in _replies(text, calls)],
        lambda base: _ask_gemini(base, streamed=True), True, GEMINI,
        f"{_PUBLISHERS}/google/models/{GEMINI}:streamGenerateContent?alt=sse",
    ),
    "openapi": Way(
        _chat_whole, lambda base: _ask_chat(base, streamed=False), False, LLAMA,
        f"/v1{PLACE}/endpoints/openapi/chat/completions",
    ),
    "openapi, streamed": Way(
        _chat_events, lambda base: _ask_chat(base, streamed=True), True, LLAMA,
        f"/v1{PLACE}/endpoints/openapi/chat/completions",
    ),
    "Mistral": Way(
        _chat_whole, lambda base: _ask_mistral(base, streamed=False), False, MISTRAL,
        f"{_PUBLISHERS}/mistralai/models/{MISTRAL}:rawPredict",
    ),
    "Mistral, streamed": Way(
        _chat_events, lambda base: _ask_mistral(base, streamed=True), True, MISTRAL,
        f"{_PUBLISHERS}/mistralai/models/{MISTRAL}:streamRawPredict",
    ),
}  # fmt: skip


def _joined(replies: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The replies of a stream as one whole reply: parts of text joined, calls after them."""
    parts = [part for reply in replies for part in reply["candidates"][0]["content"]["parts"]]
    text = "".join(part.get("text", "") for part in parts)
    return geminiclient.reply([text, *(part for part in parts if "functionCall" in part)], "STOP")


def ask(
    running: Host, route: str, way: Way, text: str, calls: Sequence[tuple[str, str]]
) -> tuple[Said, Any, list[bytes]]:
    """One request: what the SDK makes of its reply, the flow, and what the upstream sent."""
    pieces = way.said(text, calls)
    upstream = Reply(pieces, EVENTS) if way.streamed else Reply(pieces, JSON, framing="length")
    return *exchanged(running, route, upstream, way.asks), pieces


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("route", KINDS)
def test_each_kind_of_route(running: Host, route: str, way: Way) -> None:
    said, shown, meant, _, status = KINDS[route]
    told, flow, sent = ask(running, route, way, *said)
    assert told == (shown, meant)
    assert flow.request.path.replace("%40", "@").endswith(way.path)
    check_flow(flow, route, status, way.model, sent)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_request_is_rewritten(running: Host, way: Way) -> None:
    """Its tools go into the prompt, in the place that the API has for it; what else it says stays."""
    (_, calls), _, _ = ask(running, "ask", way, TEXT.format(*INVOKE), [])
    assert [name for name, _ in calls] == ["read_file", "now"]
    (asked,) = running.upstream.asked
    body = json.loads(asked.body)
    assert "tools" not in body
    assert "read_file" in asked.body.decode()
    if way.model == CLAUDE:
        assert body["anthropic_version"]
        assert "model" not in body
