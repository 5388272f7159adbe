"""Requests that are rewritten, through a real mitmdump: what the upstream is asked, and what a replay asks again."""

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import anthropicclient, geminiclient, ollamaclient, responsesclient
from support.loopback import CALL, EVENTS, Host, Reply, calls_in, host, post, streamed
from support.loopback import asked as question
from toolcalls.flows import flow_metadata

CONFIG = """
routes:
  - {name: lower, client: native, upstream: text, dialects: [hermes, invoke], rewrite_request: true}
"""
LISTED = '<tool_call>{"name": "Bash", "arguments": {"command": "ls -la"}}</tool_call>'


ODD = {"type": "function", "function": {"name": "x" * 5000}}  # no reader takes such a name


@pytest.mark.parametrize("coding", ["", "gzip"], ids=["plain", "gzip"])
def test_the_upstream_reads_tools_in_its_prompt(running: Host, coding: str) -> None:
    body = question()
    headers = {"content-encoding": coding} if coding else {}
    sent = zlib.compress(body, wbits=31) if coding else body
    got, flow = running.ask(Reply(streamed(LISTED), EVENTS), sent, headers)
    seen = json.loads(running.upstream.asked[-1].body)
    assert "tools" not in seen
    assert '"name": "Bash"' in seen["messages"][0]["content"]
    assert "content-encoding" not in running.upstream.asked[-1].headers
    assert calls_in(got.body) == [("Bash", '{"command": "ls -la"}')]
    assert flow_metadata.original_request_body(flow) == body
    assert "request: 1 tool into the prompt (hermes)" in flow.metadata[flow_metadata.REPORT]["evidence"]


def test_a_lone_surrogate_hinders_nothing_and_stays(running: Host) -> None:
    body = json.dumps({**json.loads(question()), "messages": [{"role": "user", "content": "\ud800"}]}).encode()
    got, flow = running.ask(Reply(streamed(CALL), EVENTS), body)
    seen = running.upstream.asked[-1].body
    assert b'{"role": "user", "content": "\\ud800"}' in seen
    assert "tools" not in json.loads(seen)
    assert calls_in(got.body) == [("Bash", '{"command":"ls -la"}')]
    assert "request: 1 tool into the prompt (hermes)" in flow.metadata[flow_metadata.REPORT]["evidence"]


def test_a_request_that_cannot_be_rewritten_passes_and_says_so(running: Host) -> None:
    body = json.dumps({**json.loads(question()), "tools": [ODD]}).encode()
    call = json.dumps("x" * 5000)
    got, flow = running.ask(
        Reply(streamed(f'<tool_call>{{"name": {call}, "arguments": {{}}}}</tool_call>'), EVENTS), body
    )
    assert running.upstream.asked[-1].body == body
    assert calls_in(got.body) == []
    why = f"the request passes unchanged: hermes can hold no call of {'x' * 64}…"
    assert why in flow.metadata[flow_metadata.REPORT]["evidence"]


def test_a_tool_that_cannot_be_told_does_not_keep_the_others_from_the_prompt(running: Host) -> None:
    asked = json.loads(question())
    body = json.dumps({**asked, "tools": [ODD, *asked["tools"]]}).encode()
    got, flow = running.ask(Reply(streamed(CALL), EVENTS), body)
    prompt = json.loads(running.upstream.asked[-1].body)["messages"][0]["content"]
    assert '"name": "Bash"' in prompt
    assert "xx" not in prompt
    assert calls_in(got.body) == [("Bash", '{"command":"ls -la"}')]
    left_out = f"request: left out: {'x' * 64}…, which hermes cannot hold"
    assert left_out in flow.metadata[flow_metadata.REPORT]["evidence"]


def test_what_is_left_out_stands_in_the_view_and_in_the_log(running: Host) -> None:
    asked = json.loads(question())
    body = json.dumps({**asked, "tools": [*asked["tools"], {"type": "web_search"}]}).encode()
    _, flow = running.ask(Reply(streamed(LISTED), EVENTS), body)
    assert "tools" not in json.loads(running.upstream.asked[-1].body)
    left_out = "request: left out: web_search, which only the provider runs"
    assert left_out in flow.metadata[flow_metadata.REPORT]["evidence"]
    running.dump.wait_for(left_out)


def test_a_client_replay_asks_the_same_again(running: Host, tmp_path: Path) -> None:
    _, flow = running.ask(Reply(streamed(LISTED), EVENTS))
    first = running.upstream.asked[-1].body
    config = tmp_path / "toolcalls.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    with host(tmp_path, "--set", f"toolcalls_config={config}", "-C", str(running.recording)) as again:
        replayed = again.flow(flow.request.path)
    assert replayed.request.raw_content == first
    assert running.upstream.asked[-1].body == first
    assert flow_metadata.original_request_body(replayed) == question()


SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOLD = [{"type": "function", "function": {"name": "Bash", "parameters": SCHEMA}}]
HI = "list the files"


@dataclass(frozen=True)
class Api:
    """One wire: where it is asked and for what, what an upstream writes, and what a client reads and finds asked."""

    path: str
    request: dict[str, Any]
    reply: bytes
    content_type: str
    calls: Callable[[bytes], list[tuple[str, Any]]]
    system: Callable[[dict[str, Any]], str]


APIS = {
    "openai_responses": Api(
        "/v1/responses",
        {
            "instructions": "Be brief.",
            "input": HI,
            "tools": [{"type": "function", "name": "Bash", "parameters": SCHEMA}],
            "parallel_tool_calls": True,
        },
        responsesclient.written(responsesclient.stream([[LISTED]])),
        "text/event-stream",
        lambda body: [(call["name"], json.loads(call["arguments"])) for call in responsesclient.received(body).calls],
        lambda body: body["instructions"],
    ),
    "anthropic": Api(
        "/v1/messages",
        {
            "max_tokens": 9,
            "system": "Be brief.",
            "messages": [{"role": "user", "content": HI}],
            "tools": [{"name": "Bash", "input_schema": SCHEMA}],
            "tool_choice": {"type": "auto"},
        },
        anthropicclient.written(anthropicclient.stream([anthropicclient.text(LISTED)])),
        "text/event-stream",
        lambda body: [(call["name"], json.loads(call["arguments"])) for call in anthropicclient.received(body).calls],
        lambda body: body["system"],
    ),
    "gemini": Api(
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [{"role": "user", "parts": [{"text": HI}]}],
            "tools": [{"functionDeclarations": [{"name": "Bash", "parametersJsonSchema": SCHEMA}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        },
        geminiclient.body_of([geminiclient.reply([LISTED], "STOP")]),
        "text/event-stream",
        lambda body: list(geminiclient.received(body).candidates[0].calls),
        lambda body: "".join(part["text"] for part in body["systemInstruction"]["parts"]),
    ),
    "ollama": Api(
        "/api/chat",
        {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": HI}], "tools": TOLD},
        ollamaclient.body_of([ollamaclient.line(LISTED), ollamaclient.line("", "stop")]),
        "application/x-ndjson",
        lambda body: list(ollamaclient.received(body).calls),
        lambda body: str(body["messages"][0]["content"]),
    ),
}


@pytest.mark.parametrize("api", APIS.values(), ids=APIS)
def test_on_every_wire_the_upstream_reads_tools_in_its_prompt(running: Host, api: Api) -> None:
    running.upstream.replies = [Reply([api.reply], {"content-type": api.content_type})]
    path = running.prefix() + api.path
    got = post(running.dump.url, json.dumps({"model": "m", "stream": True, **api.request}).encode(), path=path)
    seen = json.loads(running.upstream.asked[-1].body)
    assert not {"tools", "tool_choice", "parallel_tool_calls", "toolConfig"} & set(seen)
    assert api.system(seen).startswith("Be brief.\n\n# Tools\n")
    assert '"name": "Bash"' in api.system(seen)
    assert api.calls(got.body) == [("Bash", {"command": "ls -la"})]
    assert "request: 1 tool into the prompt (hermes)" in running.flow(path).metadata[flow_metadata.REPORT]["evidence"]
