"""Calls in members and lines that some client reads and this addon does not, where a rule may block calls.

pydantic's aliases accept `function_call` for `functionCall`, Go any capitals, httpx ends lines at more characters than
SSE and NDJSON have, and JSON may escape the letters of a key. A frame with such a call is left out, also where it holds
a call that may pass. Without such a rule all of it passes as it is.
"""

import json
from typing import Any

import pytest

from support import cohereclient, converseclient
from support.processorcases import no_reactors, route_of
from toolcalls.processors import Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.replies.unread_calls import UNREAD_CALL, UNREAD_WHOLE
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision, call_policy_of
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

ARGUMENTS = {"command": "rm -rf x"}
WORDS = json.dumps(ARGUMENTS)
NO_BASH = route_of({"access": {"rules": [{"name": "no", "action": "block", "tools": "Bash"}]}})
UNGUARDED = Route(mend=())
GOOD = {"name": "read_file", "arguments": '{"path":"a"}'}
BAD = {"name": "Bash", "arguments": WORDS}
GOOD_ENTRY = {"index": 0, "id": "a", "type": "function", "function": GOOD}
BAD_ENTRY = {"index": 1, "id": "b", "type": "function", "function": BAD}


def sse(payload: Any, *, key: str = "", spelt: str = "") -> bytes:
    return b"data: " + spell(payload, key, spelt) + b"\n\n"


def spell(payload: Any, key: str = "", spelt: str = "") -> bytes:
    return json.dumps(payload).replace(f'"{key}"', f'"{spelt}"').encode()


def chat(choice: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "finish_reason": finish, **choice}]}


def gemini(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0}]}


def ollama(**message: Any) -> dict[str, Any]:
    return {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "", **message}, "done": False}


def cohere(message: dict[str, Any]) -> bytes:
    return cohereclient.frame({"type": "tool-call-start", "index": 0, "delta": {"message": message}})


def converse(*uses: dict[str, Any]) -> bytes:
    start = {"contentBlockIndex": 0, "start": {key: use for one in uses for key, use in one.items()}}
    return converseclient.frame("contentBlockStart", start)


CAMEL = {"functionCall": {"name": "read_file", "args": {"path": "a"}}}
SNAKE = {"function_call": {"name": "Bash", "args": ARGUMENTS}}
OWN = {"functionCall": {"name": "Bash", "args": ARGUMENTS}}
O_GOOD = [{"function": {"name": "read_file", "arguments": {"path": "a"}}}]
O_BAD = [{"function": {"name": "Bash", "arguments": ARGUMENTS}}]
PIECE = {"index": 0, "function": {"arguments": ""}}

# wire, form, the frames: something in them is a call of Bash for some client
ODD: dict[str, tuple[str, Form, bytes]] = {
    "gemini, the other spelling": ("gemini", "sse", sse(gemini(SNAKE))),
    "gemini, beside a call": ("gemini", "sse", sse(gemini(CAMEL, SNAKE))),
    "gemini, in the same part": ("gemini", "sse", sse(gemini({**CAMEL, **SNAKE}))),
    "gemini, in an array": ("gemini", "json_array", b"[" + spell(gemini(CAMEL, SNAKE)) + b"]"),
    "gemini, whole": ("gemini", "whole", spell(gemini(CAMEL, SNAKE))),
    "gemini, escaped": ("gemini", "sse", sse(gemini(SNAKE), key="function_call", spelt="function\\u005fcall")),
    "gemini, a line": ("gemini", "sse", spell(gemini(OWN)) + b"\n\n"),
    "gemini, an escaped line": (
        "gemini", "sse", spell(gemini(OWN), "functionCall", "\\u0066unctionCall") + b"\n\n",
    ),
    "gemini, a line beside a text": (
        "gemini", "sse", sse(gemini({"text": "a"}))[:-1] + spell(gemini(OWN)) + b"\n\n",
    ),
    "gemini, a line in two frames": ("gemini", "sse", spell(gemini(OWN)).replace(b": [", b":\n\n[", 1) + b"\n\n"),
    "gemini, two payloads": ("gemini", "sse", sse(gemini({"text": "a"}))[:-1] + sse(gemini(OWN))),
    "gemini, behind a comment": (
        "gemini", "sse", ": \u2028data: ".encode() + spell(gemini(OWN)) + b"\n" + sse(gemini({"text": "a"})),
    ),
    "ollama, escaped capitals": (
        "ollama", "ndjson", spell(ollama(tool_calls=O_BAD), "tool_calls", "Tool\\u005fCalls") + b"\n",
    ),
    "ollama, beside a call": ("ollama", "ndjson", spell({**ollama(tool_calls=O_GOOD), "Tool_Calls": O_BAD}) + b"\n"),
    "ollama, whole": ("ollama", "whole", spell({**ollama(tool_calls=O_GOOD), "Tool_Calls": O_BAD})),
    **{
        f"ollama, behind {end!r}": (
            "ollama", "ndjson",
            spell(ollama(content="a")) + end.encode()
            + spell(ollama(tool_calls=O_BAD), "tool_calls", "tool\\u005fcalls") + b"\n",
        )
        for end in ("\r", "\x0b", "\x0c", "\x1e", "\x85", "\u2028")
    },
    "chat, escaped in a place of its own": (
        "openai_chat", "sse",
        sse(chat({"message": {"tool_calls": [BAD_ENTRY]}}), key="tool_calls", spelt="tool\\u005fcalls"),
    ),
    "chat, beside a call": (
        "openai_chat", "sse",
        sse(chat({"delta": {"tool_calls": [GOOD_ENTRY]}, "message": {"tool_calls": [BAD_ENTRY]}})),
    ),
    "chat, beside a piece": (
        "openai_chat", "sse",
        sse(chat({"delta": {"tool_calls": [GOOD_ENTRY]}}))
        + sse(chat({"delta": {"tool_calls": [PIECE]}, "message": {"tool_calls": [BAD_ENTRY]}})),
    ),
    "chat, beside the end of a call": (
        "openai_chat", "sse",
        sse(chat({"delta": {"tool_calls": [GOOD_ENTRY]}}))
        + sse(chat({"delta": {}, "message": {"tool_calls": [BAD_ENTRY]}}, "tool_calls")),
    ),
    "chat, whole": (
        "openai_chat", "whole", spell(chat({"message": {"tool_calls": [GOOD_ENTRY], "Tool_Calls": [BAD_ENTRY]}})),
    ),
    "gemini, nested deep": (
        "gemini", "sse", sse(gemini(SNAKE))[:-3] + b',"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n\n",
    ),
    "cohere, a second one": ("cohere", "sse", cohere({"tool_calls": [GOOD_ENTRY, BAD_ENTRY]})),
    "converse, the other spelling": (
        "bedrock_converse", "eventstream",
        converse({"toolUse": {"toolUseId": "a", "name": "read_file"}}, {"tool_use": {"name": "Bash", **O_BAD[0]}}),
    ),
}  # fmt: skip


def through(wire: str, form: Form, body: bytes, route: Route, step: int = 0) -> tuple[bytes, list[str]]:
    """What leaves, and what is noted as unread."""
    decision = Decision("process", "native", "native", None, ())
    call_policy, tools = call_policy_of(route, Request(tools=(Tool("Bash"), Tool("read_file")), model="m"), decision)
    processors = Processors(route, run=no_reactors) if route.processes else None
    one = Exchange(all_wires()[wire], call_policy, decision, tools, form=form, seed=b"s", processors=processors)
    size = step or len(body)
    out = b"".join(one.feed(body[at : at + size]) for at in range(0, len(body), size)) + one.close()
    assert one.failure is None
    return out, [note.text for _, note in one.notes if note.rule == "unread"]


@pytest.mark.parametrize("odd", ODD)
def test_a_call_that_only_some_client_reads_is_left_out(odd: str) -> None:
    wire, form, body = ODD[odd]
    for step in (0, 11):
        out, unread = through(wire, form, body, NO_BASH, step)
        assert b"rm -rf" not in out
        assert unread[:1] in ([UNREAD_CALL], [UNREAD_WHOLE])
    assert through(wire, form, body, UNGUARDED) == (body, [])


def test_what_follows_of_a_call_that_was_left_out_is_left_out() -> None:
    body = sse(chat({"delta": {"tool_calls": [GOOD_ENTRY]}, "message": {"tool_calls": [BAD_ENTRY]}}))
    body += sse(chat({"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "more"}}]}}))
    end = sse(chat({"delta": {}}, "tool_calls"))
    out, _ = through("openai_chat", "sse", body + end, NO_BASH)
    assert b"more" not in out
    assert b"finish_reason" in out


VALUES = {"path": "a", "tool_calls": [BAD_ENTRY], "function_call": BAD, "toolUse": BAD}
KEYS = json.dumps({"functionCall": OWN, "tool_calls": [BAD_ENTRY]})
PASSING: dict[str, tuple[str, Form, bytes]] = {
    "gemini, values": ("gemini", "sse", sse(gemini({"functionCall": {"name": "read_file", "args": VALUES}}))),
    "gemini, a text": ("gemini", "sse", sse(gemini({"text": KEYS}))),
    "gemini, two calls": ("gemini", "sse", sse(gemini(CAMEL, CAMEL))),
    "gemini, line ends in a text": ("gemini", "sse", b"data: " + json.dumps(gemini(
        {"text": "a\u2028{\u0085["}), ensure_ascii=False).encode() + b"\n\n"),
    "gemini, one payload on several lines": (
        "gemini", "sse", b"data: " + json.dumps(gemini({"text": "a"}), indent=1).replace("\n", "\ndata: ").encode()
        + b"\n\n",
    ),
    "ollama, values": (
        "ollama", "ndjson",
        spell(ollama(tool_calls=[{"function": {"name": "read_file", "arguments": VALUES}}])) + b"\n",
    ),
    "ollama, CRLF": ("ollama", "ndjson", spell(ollama(content="a")) + b"\r\n" + spell(ollama(content="b")) + b"\r\n"),
    "chat, a text": ("openai_chat", "sse", sse(chat({"delta": {"content": KEYS}}))),
    "chat, two calls in a chunk": (
        "openai_chat", "sse",
        sse(chat({"delta": {"tool_calls": [GOOD_ENTRY, {**BAD_ENTRY, "function": GOOD}]}})),
    ),
    "chat, two pieces in a chunk": (
        "openai_chat", "sse",
        sse(chat({"delta": {"tool_calls": [{**GOOD_ENTRY, "function": {"name": "read_file", "arguments": ""}}]}}))
        + sse(chat({"delta": {"tool_calls": [
            {"index": 0, "function": {"arguments": "{"}}, {"index": 0, "function": {"arguments": "}"}}
        ]}})),
    ),
    "chat, an error on a line": ("openai_chat", "sse", b'{"error": {"message": "no tool_calls", "code": 400}}\n\n'),
    "chat, an error on several lines": (
        "openai_chat", "sse", json.dumps({"error": {"message": "no", "code": 400}}, indent=2).encode() + b"\n\n",
    ),
    "chat, comments": ("openai_chat", "sse", b": ping\n\n" + sse(chat({"delta": {"content": "a"}}))),
    "converse, the provider's own tool": (
        "bedrock_converse", "eventstream",
        converse({"toolUse": {"toolUseId": "a", "name": "search", "type": "server_tool_use"}})
        + converseclient.frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": WORDS}}}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", PASSING)
def test_what_only_speaks_of_calls_passes(row: str) -> None:
    wire, form, body = PASSING[row]
    for step in (0, 11):
        out, unread = through(wire, form, body, NO_BASH, step)
        assert unread == []
        assert out.startswith(body)  # a stream that breaks off may be given an end
