"""From end to end: Google's own SDK, a real mitmdump with the addon, a scripted upstream; all on loopback.

Strategy: one mitmdump with a route for each kind, chosen by the first part of the path, as in `test_openai_chat`. What
is checked is what the SDK hands to an agent: text, function calls, finish reason, usage. The array form, which the SDK
never asks for, is fetched by hand.
"""

import json
from importlib import import_module
from typing import Any

import pytest

from support.fiveroutes import one_call
from support.geminiclient import USAGE, Body, body_of, received, reply
from support.loopback import LIMIT, Host, Reply, post
from toolcalls.flows import flow_metadata

pytest.importorskip("google.genai")
genai: Any = import_module("google.genai")
types: Any = import_module("google.genai.types")

CONFIG = """
routes:
  - {name: lift, match: {path: "/lift/*", model: "gemini-*"}, client: native, upstream: text}
  - {name: lower, match: {path: "/lower/*"}, client: invoke, upstream: native}
  - {name: observe, match: {path: "/observe/*"}, client: native, upstream: native}
"""
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [
    {"function_declarations": [{"name": "read_file", "parameters_json_schema": SCHEMA}, {"name": "now"}]},
]
NATIVE = {"functionCall": {"name": "read_file", "args": {"path": "größe/日本 😀.md"}}, "thoughtSignature": "c2ln"}
KINDS = one_call(NATIVE)


def upstream(said: list[Any], form: Body, *, envelope: bool = False, early: str | None = None) -> Reply:
    """`early`: the finish reason of all frames but the last."""
    replies = [*(reply([one], early) for one in said), reply([""], "STOP")]
    if form == "whole":
        replies = [reply(said, "STOP")]
    body = body_of(replies, form, envelope=envelope)
    kind = "text/event-stream" if form == "sse" else "application/json; charset=UTF-8"
    return Reply([body[at : at + 50] for at in range(0, len(body), 50)], {"content-type": kind})


@pytest.mark.parametrize("way", ["stream", "stream that stops in every frame", "whole"])
@pytest.mark.parametrize("route", KINDS)
def test_the_sdk(running: Host, route: str, way: str) -> None:
    said, text, calls, status = KINDS[route]
    if way == "whole" and route == "lift":
        said = ["".join(said)]
    early = None if way == "stream" else "STOP"
    running.upstream.replies = [upstream(said, "whole" if way == "whole" else "sse", early=early)]
    base = f"/{route}{running.prefix()}"
    options = types.HttpOptions(
        base_url=running.dump.url + base, timeout=int(LIMIT * 1000), api_version="v1beta", client_args={"verify": False}
    )
    asking = {"model": "gemini-x", "contents": "Go.", "config": types.GenerateContentConfig(tools=TOOLS)}
    with genai.Client(api_key="made-up", http_options=options) as client:
        if way != "whole":
            chunks = list(client.models.generate_content_stream(**asking))
            path = f"{base}/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
        else:
            chunks = [client.models.generate_content(**asking)]
            path = f"{base}/v1beta/models/gemini-x:generateContent"
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    assert "".join(part.text or "" for part in parts) == text
    assert [(part.function_call.name, part.function_call.args) for part in parts if part.function_call] == calls
    assert chunks[-1].candidates[0].finish_reason.value == "STOP"
    assert chunks[-1].usage_metadata.total_token_count == USAGE["totalTokenCount"]
    signatures = [part.thought_signature for part in parts if part.thought_signature]
    assert signatures == ([] if route == "lift" else [b"sig"])
    data = running.flow(path).metadata[flow_metadata.REPORT]
    assert [verdict["status"] for verdict in data["verdicts"]] == [status]
    assert data["model"] == "gemini-x"


@pytest.mark.parametrize("envelope", [False, True], ids=["bare", "envelope"])
def test_an_array_that_grows(running: Host, envelope: bool) -> None:
    said, text, calls, _ = KINDS["lift"]
    running.upstream.replies = [upstream(said, "json_array", envelope=envelope)]
    path = f"/lift{running.prefix()}/models/gemini-x:streamGenerateContent"
    request: dict[str, Any] = {"contents": [{"parts": [{"text": "Go."}]}], "tools": [
        {"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": SCHEMA}]},
    ]}  # fmt: skip
    body = json.dumps({"model": "gemini-x", "request": request} if envelope else request).encode()
    got = post(running.dump.url, body, path=path)
    candidate = received(got.body, "json_array", envelope=envelope).candidates[0]
    assert (candidate.text, candidate.calls, candidate.finish) == (text, calls, "STOP")
