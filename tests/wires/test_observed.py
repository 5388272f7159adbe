"""The wires without a place for calls: whatever the route says, each byte leaves as it came, and verdicts are told.

Strategy: one text with a call, in the forms of each wire, on routes that would change it; and the recorded streams.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.casefiles import openai_tools
from support.exchanges import in_pieces, of_request, run, words
from support.repository import shared_path
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import VTC_CLIENT_PATTERNS, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

CALL = '<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'
REQUEST = b'{"model": "m", "prompt": "Go."}'


def _generate(text: str, **more: Any) -> bytes:
    return json.dumps({"model": "m", "created_at": "t", "response": text, "done": False, **more}).encode()


def _completion(text: str, reason: str | None = None) -> bytes:
    return json.dumps({"id": "c", "choices": [{"text": text, "index": 0, "finish_reason": reason}]}).encode()


def _filled(place: str, text: str, reason: str | None = None) -> bytes:
    choice = {"index": 0, place: {"role": "assistant", "content": text}, "finish_reason": reason}
    return json.dumps({"id": "c", "choices": [choice]}).encode()


BODIES: dict[str, tuple[str, Form, bytes]] = {
    "generate, lines": (
        "ollama_generate",
        "ndjson",
        b"\n".join([_generate(CALL[:20]), _generate(CALL[20:]), _generate("", done=True, done_reason="stop"), b""]),
    ),
    "generate, whole": ("ollama_generate", "whole", _generate(CALL, done=True, done_reason="stop")),
    "completions, events": (
        "openai_completions",
        "sse",
        b"".join(
            b"data: " + data + b"\n\n"
            for data in (_completion(CALL[:20]), _completion(CALL[20:]), _completion("", "stop"), b"[DONE]")
        ),
    ),
    "completions, no reason": (
        "openai_completions",
        "sse",
        b"".join(b"data: " + data + b"\n\n" for data in (_completion(CALL), b"[DONE]")),
    ),
    "completions, whole": ("openai_completions", "whole", _completion(CALL, "stop")),
    "fim, events": (
        "mistral_fim",
        "sse",
        b"".join(
            b"data: " + data + b"\n\n"
            for data in (
                _filled("delta", CALL[:20]),
                _filled("delta", CALL[20:]),
                _filled("delta", "", "stop"),
                b"[DONE]",
            )
        ),
    ),
    "fim, whole": ("mistral_fim", "whole", _filled("message", CALL, "stop")),
}
# What is a call only as a whole message, or in the notation of special tokens.
AS_A_WHOLE = {
    "bare_json": '{"name": "Bash", "arguments": {"command": "ls"}}',
    "pythonic": '[Bash(command="ls")]',
    "fenced_json": '```json\n{"name": "Bash", "arguments": {"command": "ls"}}\n```',
    "mistral": '[TOOL_CALLS][{"name": "Bash", "arguments": {"command": "ls"}}]',
}
WHOLE: dict[str, Callable[[str], bytes]] = {
    "mistral_fim": lambda text: _filled("message", text, "stop"),
    "ollama_generate": lambda text: _generate(text, done=True, done_reason="stop"),
    "openai_completions": lambda text: _completion(text, "stop"),
}


@pytest.mark.parametrize("client", ["native", "text"])
@pytest.mark.parametrize("upstream", ["native", "text"])
@pytest.mark.parametrize(("name", "form", "body"), BODIES.values(), ids=BODIES)
def test_nothing_changes_and_the_verdict_is_told(
    name: str, form: Form, body: bytes, client: Any, upstream: Any
) -> None:
    wire = all_wires()[name]
    request = request_of(wire, REQUEST)
    route = Route(client=client, upstream=upstream)
    decision = decide(route, request, {}, VTC_CLIENT_PATTERNS)
    call_policy, tools = call_policy_of(route, request, decision)
    assert decision.kind == "observe"
    assert ("the API has no place for calls" in decision.evidence) == ((client, upstream) != ("native", "native"))
    for size in (len(body), 1, 7):
        exchange = Exchange(wire, call_policy, decision, tools, form=form)
        assert run(exchange, in_pieces(body, size)) == body
        assert words(exchange) == ["declined api_without_calls Bash (invoke)"]


@pytest.mark.parametrize("dialect", AS_A_WHOLE)
@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_message_that_would_be_a_call(name: str, dialect: str) -> None:
    wire = all_wires()[name]
    body = WHOLE[name](AS_A_WHOLE[dialect])
    exchange = of_request(wire, request_of(wire, REQUEST), form="whole")
    assert run(exchange, [body]) == body
    assert words(exchange) == [f"declined api_without_calls Bash ({dialect})"]


def test_a_native_call_where_none_can_be_declared() -> None:
    """Nobody has seen one; it is reported like any other, and passes."""
    call = {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    choice = {"index": 0, "message": {"content": "", "tool_calls": [call]}, "finish_reason": "tool_calls"}
    body = json.dumps({"choices": [choice]}).encode()
    wire = all_wires()["mistral_fim"]
    exchange = of_request(wire, request_of(wire, REQUEST), form="whole")
    assert run(exchange, [body]) == body
    assert [verdict.status for _, verdict in exchange.verdicts] == ["native"]


def test_both_sides_of_a_gap_may_be_repeated() -> None:
    request = request_of(all_wires()["mistral_fim"], b'{"model":"m","prompt":"before","suffix":"behind"}')
    assert request.quotable == ("before", "behind")


@pytest.mark.parametrize("name", ["mistral_fim", "ollama_generate", "openai_completions"])
def test_a_request_is_read(name: str) -> None:
    request = request_of(all_wires()[name], b'{"model":"m","prompt":"Go.","system":"Be brief.","tools":[{}]}')
    assert (request.model, request.tools, request.carries_calls) == ("m", (), False)
    assert request.quotable == ("Go.",)


@pytest.mark.parametrize(("name", "form"), [("ollama-generate", "ndjson"), ("openai-completions", "sse")])
@pytest.mark.parametrize("size", [0, 7, 997])
def test_a_recorded_stream_leaves_as_it_came(name: str, form: Form, size: int) -> None:
    wire = all_wires()[name.replace("-", "_")]
    for row in map(json.loads, shared_path(f"suites/streams/{name}.jsonl").read_text(encoding="utf-8").splitlines()):
        body = row["body"].encode("utf-8", "surrogatepass")
        request = request_of(wire, json.dumps(row["request"]).encode())
        assert run(of_request(wire, request, form=form), in_pieces(body, size)) == body, row["id"]


def test_tools_that_were_declared_are_no_matter() -> None:
    body = json.dumps({"prompt": "Go.", "tools": openai_tools({"Bash": {}})}).encode()
    assert request_of(all_wires()["openai_completions"], body).tools == ()
