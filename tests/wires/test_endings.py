"""A finish reason in every frame, as some servers say it (Gemini has): no frame ends the reply but the last.

Strategy: every case of the wires whose frames stand for themselves is sent once as it is, and once with its finish
reason in each of its frames. The client must receive the same, as must the report say it. What it receives is read by
the strict clients, who know one reason only: of those that are in front of others all but the last are taken out.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from support import chatclient, geminiclient, ollamaclient
from support.exchanges import run, words
from support.processorcases import exchange_for as processed
from support.processorcases import route_of
from support.wirecases import FILES, chat_deltas, exchange_for, gemini_replies, ollama_lines
from toolcalls.replies.exchange import Exchange
from toolcalls.wires.frames import Form

DONE = b"data: [DONE]\n\n"
# Native calls become text by the reason of their frame, each frame's in a block of its own.
BETWEEN_BLOCKS = "\n</function_calls>\n\n<function_calls>"
RM = '<invoke name="Bash"><parameter name="command">rm -rf /tm'


@dataclass(frozen=True)
class Speaks:
    """A wire.

    sent      the frames of a case
    body      frames as bytes
    says      a frame with a reason, or without one where it is None
    frames    the frames of a body that a client got
    received  what the strict client makes of a body: text, calls, order, reasoning, reason
    """

    exchange: Callable[[Mapping[str, Any]], Exchange]
    cases: list[dict[str, Any]]
    sent: Callable[[Mapping[str, Any]], list[dict[str, Any]]]
    body: Callable[[list[dict[str, Any]]], bytes]
    says: Callable[[dict[str, Any], str | None], dict[str, Any]]
    reason: Callable[[dict[str, Any]], str | None]
    frames: Callable[[bytes], list[dict[str, Any]]]
    received: Callable[[bytes], tuple[Any, ...]]


def chat_says(frame: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {**frame, "choices": [{**choice, "finish_reason": reason} for choice in frame["choices"]]}


def gemini_says(frame: dict[str, Any], reason: str | None) -> dict[str, Any]:
    (candidate,) = frame["candidates"]
    rest = {key: value for key, value in candidate.items() if key != "finishReason"}
    return {**frame, "candidates": [{**rest, **({} if reason is None else {"finishReason": reason})}]}


def ollama_says(frame: dict[str, Any], reason: str | None) -> dict[str, Any]:
    rest = {key: value for key, value in frame.items() if key not in {"done_reason", *ollamaclient.STATS}}
    if reason is None:
        return {**rest, "done": False}
    return {**rest, "done": True, "done_reason": reason, **ollamaclient.STATS}


def chat_sent(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [chatclient.chunk(delta, finish) for delta, finish in chat_deltas(case)]


def chat_body(frames: list[dict[str, Any]]) -> bytes:
    return b"".join(map(chatclient.event, frames)) + DONE


def chat_received(body: bytes) -> tuple[Any, ...]:
    got = chatclient.received(body).choices[0]
    calls = [(call["name"], call["arguments"]) for call in got.calls]
    return got.text, calls, got.order, got.reasoning, got.finish


def gemini_received(body: bytes) -> tuple[Any, ...]:
    got = geminiclient.received(body).candidates[0]
    return got.text, got.calls, got.order, got.reasoning, got.finish, got.signatures, got.others


def ollama_received(body: bytes) -> tuple[Any, ...]:
    got = ollamaclient.received(body)
    return got.text, got.calls, got.order, got.reasoning, got.finish


def events(body: bytes) -> list[dict[str, Any]]:
    datas = (line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: "))
    return [json.loads(data) for data in datas if data != b"[DONE]"]


def speaks(name: str, form: Form, *rest: Any) -> Speaks:
    return Speaks(partial(exchange_for, name, form=form), FILES[name]["cases"], *rest)


SPEAKS = {
    "openai_chat": speaks(
        "openai_chat", "sse", chat_sent, chat_body, chat_says,
        lambda frame: frame["choices"][0]["finish_reason"], events, chat_received,
    ),
    "gemini": speaks(
        "gemini", "sse", gemini_replies, lambda frames: geminiclient.body_of(frames, "sse"), gemini_says,
        lambda frame: frame["candidates"][0].get("finishReason"), events, gemini_received,
    ),
    "ollama": speaks(
        "ollama", "ndjson", ollama_lines, ollamaclient.body_of, ollama_says, lambda frame: frame.get("done_reason"),
        lambda body: [json.loads(line) for line in body.splitlines()], ollama_received,
    ),
}  # fmt: skip
EACH = [
    pytest.param(speaks, case, id=f"{name}: {case['title']}")
    for name, speaks in SPEAKS.items()
    for case in speaks.cases
    if not case.get("whole_only")
]
every_wire = pytest.mark.parametrize("speaks", SPEAKS.values(), ids=SPEAKS)


def everywhere(speaks: Speaks, case: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The case's body as it is, and with its reason in every frame."""
    frames = speaks.sent(case)
    reason = speaks.reason(frames[-1])
    return speaks.body(frames), speaks.body([speaks.says(frame, reason) for frame in frames])


def as_if_once(speaks: Speaks, body: bytes) -> bytes:
    """A body without all reasons but the last."""
    frames = speaks.frames(body)
    return speaks.body([*(speaks.says(frame, None) for frame in frames[:-1]), frames[-1]])


@pytest.mark.parametrize(("speaks", "case"), EACH)
def test_a_reason_in_every_frame_ends_nothing_early(speaks: Speaks, case: dict[str, Any]) -> None:
    usual, body = everywhere(speaks, case)
    expected, exchange = speaks.exchange(case), speaks.exchange(case)
    want = speaks.received(run(expected, [usual]))
    out = run(exchange, [body])
    assert sorted(words(exchange)) == sorted(words(expected))
    text, *rest = speaks.received(as_if_once(speaks, out))
    assert (text.replace(BETWEEN_BLOCKS, ""), *rest) == want
    if case.get("same") is True:
        assert out == body
    again = speaks.exchange(case)
    assert run(again, [body[at : at + 1] for at in range(len(body))]) == out


def calling(speaks: Speaks, *pieces: str, **more: Any) -> tuple[Exchange, list[bytes]]:
    """A reply of these texts with a reason in each, which has one frame a piece."""
    case = {"reply": list(pieces), **more}
    frames = [speaks.says(frame, reason_of(speaks, case)) for frame in speaks.sent(case)]
    parts = [speaks.body([frame]).removesuffix(DONE) for frame in frames]
    return speaks.exchange(case), parts


def reason_of(speaks: Speaks, case: Mapping[str, Any]) -> str | None:
    return speaks.reason(speaks.sent(case)[-1])


@every_wire
@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_a_connection_that_breaks_completes_nothing_for_a_reason_that_was_said(speaks: Speaks, policy: str) -> None:
    exchange, parts = calling(speaks, "Go.\n", RM, route={"policy": policy})
    for part in parts[:-1]:  # without the frame that only says the reason
        exchange.feed(part)
    exchange.abort()
    assert [verdict.status for _, verdict in exchange.verdicts] == ["truncated"]


@every_wire
def test_a_connection_that_breaks_behind_a_reason_takes_nothing_from_what_was_whole(speaks: Speaks) -> None:
    text = '<invoke name="Noop"></invoke>\n'
    exchange, parts = calling(speaks, text, "Done.\n")
    out = b"".join(exchange.feed(part) for part in parts)
    rest, whole = exchange.abort(), calling(speaks, text, "Done.\n")[0]
    assert out + rest == run(whole, parts)
    assert words(exchange) == ["lifted Noop (invoke)"]


@every_wire
def test_strict_waits_for_what_comes_behind_a_reason(speaks: Speaks) -> None:
    text = '<invoke name="Noop"></invoke>'
    exchange, parts = calling(speaks, text, " and so on.", route={"policy": "strict"})
    body = b"".join(parts)
    assert run(exchange, [body]) == body
    assert words(exchange) == ["declined not_terminal Noop (invoke)"]
    exchange, parts = calling(speaks, text, "\n", route={"policy": "strict"})
    run(exchange, parts)
    assert words(exchange) == ["lifted Noop (invoke)"]


@every_wire
def test_a_reason_leaves_at_once_where_nothing_is_undecided(speaks: Speaks) -> None:
    exchange, parts = calling(speaks, "Hello", ", world")
    assert [exchange.feed(part) for part in parts] == parts
    assert exchange.close() == b""


def test_done_lets_out_what_waits_at_a_reason() -> None:
    """Servers are free to keep the connection open after it."""
    exchange, parts = calling(SPEAKS["openai_chat"], '<invoke name="Noop"></invoke>', route={"policy": "strict"})
    assert exchange.feed(b"".join(parts)).count(b"tool_calls") == 0
    assert b'"finish_reason":"tool_calls"' in (out := exchange.feed(DONE))
    assert out.endswith(DONE)


def test_what_waits_at_a_reason_has_a_limit() -> None:
    exchange, parts = calling(SPEAKS["openai_chat"], "a <inv", route={"max_frame_bytes": 2048})
    body = b"".join([*parts, *[b": still here\n\n"] * 400])
    assert exchange.feed(body) == body


def native(arguments: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": {"arguments": arguments, **more}}]}


def test_a_rule_sees_all_of_a_native_call_with_a_reason_in_every_chunk() -> None:
    rules = {"access": {"rules": [{"name": "rm", "action": "block", "tools": "Bash", "arguments": {"command": "rm"}}]}}
    exchange = processed(route_of(rules), "process")
    begins = native("", name="Bash")
    begins["tool_calls"][0] |= {"id": "c1", "type": "function"}
    deltas = [{**chatclient.HEAD}, begins, native('{"command": "r'), native('m -rf /"}')]
    out = run(exchange, [b"".join(chatclient.event(chatclient.chunk(delta, "stop")) for delta in deltas) + DONE])
    assert b"m -rf" not in out
    assert [verdict.status for _, verdict in exchange.verdicts] == ["blocked"]
