"""From end to end: Ollama's own SDK, a real mitmdump with the addon, a scripted upstream; all on loopback.

Strategy: one mitmdump with a route for each kind, chosen by the first part of the path, as in `test_openai_chat`. What
is checked is what the SDK hands to an agent: text, calls, the reason, counts.
"""

import json
from importlib import import_module
from typing import Any

import pytest

from support.casefiles import openai_tools
from support.fiveroutes import INVOKE, ONE, one_call
from support.loopback import LIMIT, Host, Reply
from support.ollamaclient import STATS, body_of, call, line
from toolcalls.flows import flow_metadata

pytest.importorskip("ollama")
ollama: Any = import_module("ollama")

CONFIG = """
routes:
  - {name: lift, match: {path: "/lift/*"}, client: native, upstream: text}
  - {name: lower, match: {path: "/lower/*"}, client: invoke, upstream: native}
  - {name: observe, match: {path: "/observe/*"}, client: native, upstream: native}
"""
TOOLS = openai_tools({"read_file": {"path": "string"}})
KINDS = one_call({"tool_calls": [call(*ONE)]})


def upstream(said: list[Any], *, stream: bool) -> Reply:
    if stream:
        body = body_of([*map(line, said), line("", "stop")])
    else:
        calls = [one for item in said if isinstance(item, dict) for one in item["tool_calls"]]
        text = "".join(item for item in said if isinstance(item, str))
        body = body_of([line({"content": text, **({"tool_calls": calls} if calls else {})}, "stop")], b"")
    kind = "application/x-ndjson" if stream else "application/json; charset=utf-8"
    return Reply([body[at : at + 50] for at in range(0, len(body), 50)], {"content-type": kind})


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("route", KINDS)
def test_the_sdk(running: Host, route: str, stream: bool) -> None:
    said, text, calls, status = KINDS[route]
    running.upstream.replies = [upstream(said, stream=stream)]
    base = f"/{route}{running.prefix()}"
    with ollama.Client(host=running.dump.url + base, timeout=LIMIT, verify=False) as client:
        answer = client.chat(model="m", messages=[{"role": "user", "content": "Go."}], tools=TOOLS, stream=stream)
        lines = list(answer) if stream else [answer]
    assert "".join(one.message.content or "" for one in lines) == text
    got = [made.function for one in lines for made in one.message.tool_calls or ()]
    assert [(function.name, dict(function.arguments)) for function in got] == calls
    assert (lines[-1].done, lines[-1].done_reason, lines[-1].eval_count) == (True, "stop", STATS["eval_count"])
    verdicts = running.flow(f"{base}/api/chat").metadata[flow_metadata.REPORT]["verdicts"]
    assert [verdict["status"] for verdict in verdicts] == [status]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_completion_is_observed(running: Host, stream: bool) -> None:
    head = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    texts = ["Go.\n", INVOKE[0]] if stream else [f"Go.\n{INVOKE[0]}"]
    lines = [json.dumps({**head, "response": text, "done": not stream}).encode() for text in texts]
    body = (
        b"\n".join([*lines, json.dumps({**head, "response": "", "done": True}).encode(), b""]) if stream else lines[0]
    )
    kind = "application/x-ndjson" if stream else "application/json"
    running.upstream.replies = [Reply([body], {"content-type": kind})]
    base = f"/lift{running.prefix()}"
    with ollama.Client(host=running.dump.url + base, timeout=LIMIT, verify=False) as client:
        answer = client.generate(model="m", prompt="Go.", stream=stream)
        assert "".join(one.response for one in (answer if stream else [answer])) == f"Go.\n{INVOKE[0]}"
    data = running.flow(f"{base}/api/generate").metadata[flow_metadata.REPORT]
    assert [verdict["reason"] for verdict in data["verdicts"]] == ["api_without_calls"]
    assert "the API has no place for calls" in data["evidence"]
