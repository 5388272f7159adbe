"""`toolcalls rewrite` for the wires whose replies are no event streams: the form by content type, or by the body.

Strategy: one reply in every form of its wire, through the command as a script calls it: as jobs with and without a
content type, whole and cut, and over standard input.
"""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import geminiclient, invokeclient, ollamaclient
from support.casefiles import openai_tools
from support.commandline import results, toolcalls
from support.geminiclient import Body

DECLARED = openai_tools({"Bash": {"command": "string"}})
PIECES = ["Go.\n\n<inv", 'oke name="Bash"><parameter name="command">ls</par', "ameter></invoke>"]
CALL = ("Bash", {"command": "ls"})


def _gemini(form: Body) -> bytes:
    replies = [*(geminiclient.reply([piece]) for piece in PIECES), geminiclient.reply([""], "STOP")]
    return geminiclient.body_of([geminiclient.reply(["".join(PIECES)], "STOP")] if form == "whole" else replies, form)


def _got_gemini(form: Body) -> Callable[[bytes], tuple[str, list[Any]]]:
    def got(body: bytes) -> tuple[str, list[Any]]:
        candidate = geminiclient.received(body, form).candidates[0]
        return candidate.text, candidate.calls

    return got


def _ollama(*, whole: bool) -> bytes:
    if whole:
        return ollamaclient.body_of([ollamaclient.line("".join(PIECES), "stop")], b"")
    return ollamaclient.body_of([*map(ollamaclient.line, PIECES), ollamaclient.line("", "stop")])


def _got_ollama(*, whole: bool) -> Callable[[bytes], tuple[str, list[Any]]]:
    def got(body: bytes) -> tuple[str, list[Any]]:
        reply = ollamaclient.received(body, whole=whole)
        return reply.text, reply.calls

    return got


GEMINI: dict[str, Any] = {"contents": [], "tools": [{"functionDeclarations": [tool["function"] for tool in DECLARED]}]}
OLLAMA: dict[str, Any] = {"model": "m", "messages": [], "tools": DECLARED}
FORMS: dict[str, tuple[str, str, dict[str, Any], bytes, Callable[[bytes], tuple[str, list[Any]]]]] = {
    "gemini, events": ("gemini", "text/event-stream", GEMINI, _gemini("sse"), _got_gemini("sse")),
    "gemini, array": ("gemini", "application/json", GEMINI, _gemini("json_array"), _got_gemini("json_array")),
    "gemini, whole": ("gemini", "application/json", GEMINI, _gemini("whole"), _got_gemini("whole")),
    "ollama, lines": ("ollama", "application/x-ndjson", OLLAMA, _ollama(whole=False), _got_ollama(whole=False)),
    "ollama, whole": ("ollama", "application/json", OLLAMA, _ollama(whole=True), _got_ollama(whole=True)),
}


@pytest.mark.parametrize(("wire", "kind", "request_", "body", "got"), FORMS.values(), ids=FORMS)
def test_jobs(
    wire: str, kind: str, request_: dict[str, Any], body: bytes, got: Callable[[bytes], tuple[str, list[Any]]]
) -> None:
    job = {"wire": wire, "request": request_, "body": body.decode(), "client": "native", "upstream": "text"}
    made = results("rewrite", job, {**job, "content_type": kind}, {**job, "chunk": 3})
    for result in made:
        assert "failure" not in result
        assert got(result["body"].encode()) == ("Go.\n\n", [CALL])
        assert [verdict["status"] for verdict in result["verdicts"]] == ["lifted"]


@pytest.mark.parametrize(("wire", "kind", "request_", "body", "got"), FORMS.values(), ids=FORMS)
def test_standard_input(
    wire: str,
    kind: str,  # noqa: ARG001 - it is told by the body
    request_: dict[str, Any],
    body: bytes,
    got: Callable[[bytes], tuple[str, list[Any]]],
    tmp_path: Path,
) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request_), encoding="utf-8")
    run = toolcalls("rewrite", "--wire", wire, "--request", str(path), "--chunk", "5", stdin=body)
    assert run.returncode == 0
    assert got(run.stdout) == ("Go.\n\n", [CALL])


TEXT = "".join(PIECES)
CHOICE = {"index": 0, "finish_reason": "stop"}
WITHOUT_CALLS: dict[str, tuple[str, bytes]] = {  # replies that have no place for calls
    "generate": ("ollama_generate", json.dumps({"model": "m", "response": TEXT, "done": True}).encode()),
    "fim": (
        "mistral_fim",
        json.dumps({"choices": [{"message": {"role": "assistant", "content": TEXT}, **CHOICE}]}, indent=1).encode(),
    ),
    "completions": ("openai_completions", json.dumps({"choices": [{"text": TEXT, **CHOICE}]}, indent=1).encode()),
    "Bedrock, Llama": ("bedrock", json.dumps({"generation": TEXT, "stop_reason": "stop"}, indent=1).encode()),
    "Bedrock, Llama, events": ("bedrock", invokeclient.written([{"generation": TEXT, "stop_reason": "stop"}])),
    "Bedrock, gpt-oss": (
        "bedrock",
        json.dumps({"choices": [{"message": {"role": "assistant", "content": TEXT}, **CHOICE}]}, indent=1).encode(),
    ),
    "Bedrock, gpt-oss, events": (
        "bedrock",
        invokeclient.written([{"choices": [{"delta": {"content": TEXT}, **CHOICE}]}]),
    ),
}


@pytest.mark.parametrize(("wire", "body"), WITHOUT_CALLS.values(), ids=WITHOUT_CALLS)
def test_without_a_request_a_reply_says_whether_it_can_hold_calls(wire: str, body: bytes) -> None:
    """Nothing of such a reply is changed, so no verdict says `lifted`."""
    options = ["--wire", wire, "--client", "native", "--upstream", "text"]
    job = {"wire": wire, "client": "native", "upstream": "text", "tools": DECLARED}
    job["body_base64"] = base64.b64encode(body).decode()
    for result in results("rewrite", job, {**job, "chunk": 3}):
        assert base64.b64decode(result["body_base64"]) == body
        assert [(verdict["status"], verdict["reason"]) for verdict in result["verdicts"]] == [
            ("declined", "api_without_calls")
        ]
    for cut in ([], ["--chunk", "7"]):
        run = toolcalls("rewrite", *options, *cut, stdin=body)
        assert run.stdout == body
        (verdict,) = map(json.loads, run.stderr.splitlines())
        assert (verdict["status"], verdict["reason"]) == ("declined", "api_without_calls")


@pytest.mark.parametrize(
    ("body", "why"), [(b'{"a":1}\n', "one line"), (b'{\n"a":1}\n', "pretty"), (b"{", "cut"), (b"", "empty")]
)
def test_a_body_that_is_no_reply_passes(body: bytes, why: str) -> None:
    for wire in ("gemini", "ollama", "openai_chat"):
        assert toolcalls("rewrite", "--wire", wire, stdin=body).stdout == body, why
