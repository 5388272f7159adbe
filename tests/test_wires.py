"""The wires, case by case: `tests/cases/wires/*.yaml`. What the upstream sends, what the client receives.

Strategy: a case's reply is built as a stream, sent through an exchange, and decoded by `chatclient`, which is stricter
than any real client. Then the same bytes are cut in two at every place, the kind of places where streams really break,
and sent one by one; and the same reply is sent as one JSON body. Text, calls, finish reason and verdicts must be the
same each time. The `raw` cases say byte for byte what stands on the wire.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from casefiles import canonical, load, openai_tools
from chatclient import HEAD, USAGE, Choice, chunk, event, outer, received
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import VTC_CLIENT_PATTERNS, Route
from toolcalls.wires import all_wires, wire_of
from toolcalls.wires.frames import Form

WIRE = all_wires()["openai_chat"]
FILE = load("wires", "openai_chat")
CASES = [pytest.param(case, id=case["title"]) for case in FILE["cases"]]
STREAMED = [pytest.param(case, id=case["title"]) for case in FILE["cases"] if not case.get("whole_only")]
WHOLE = [pytest.param(case, id=case["title"]) for case in FILE["cases"] if case.get("whole", True)]
RAW = [pytest.param(case, id=case["title"]) for case in FILE["raw"]]
BLANK_LINES = re.compile(rb"(?:\r?\n){2,}")
KEYS = {
    "title", "route", "tools", "request", "reply", "upstream_finish", "same", "text", "reasoning", "calls", "open",
    "order", "finish", "verdicts", "whole", "whole_only",
}  # fmt: skip


def exchange_for(case: Mapping[str, Any], form: Form = "sse") -> Exchange:
    tools = openai_tools(case.get("tools", FILE["tools"]))
    request = WIRE.request(json.dumps({"messages": [], "tools": tools, **case.get("request", {})}).encode())
    route = Route(**{"client": "native", "upstream": "text", **case.get("route", {})})
    decision = decide(route, request, {}, VTC_CLIENT_PATTERNS)
    call_policy, box = call_policy_of(route, request, decision)
    return Exchange(WIRE, call_policy, decision, box, form=form, seed=b"a request")


def deltas(case: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Each delta of the case's reply with its finish reason."""
    reply = [{"content": item} if isinstance(item, str) else dict(item) for item in case["reply"]]
    if "role" not in reply[0]:
        reply.insert(0, dict(HEAD))
    for delta in reply:
        finish = delta.pop("finish", None)
        yield delta, finish
    if finish is None:
        yield {}, case.get("upstream_finish", "stop")


def body_of(case: Mapping[str, Any]) -> bytes:
    events = [event(chunk(delta, finish)) for delta, finish in deltas(case)]
    return b"".join([*events, event(outer([], usage=USAGE)), b"data: [DONE]\n\n"])


def whole_body_of(case: Mapping[str, Any]) -> bytes:
    """The same reply as one body: texts joined, the pieces of native calls joined."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: dict[int, Any] = {}
    reason = None
    for delta, finish in deltas(case):
        reason = finish or reason
        for key in {"content", "reasoning_content"} & set(delta):
            message[key] = (message.get(key) or "") + delta[key]
        for entry in delta.get("tool_calls", ()):
            known = calls.setdefault(entry["index"], json.loads(json.dumps(entry)))
            if known != entry:
                known["function"]["arguments"] += entry["function"]["arguments"]
    if calls:
        message["tool_calls"] = [{key: call[key] for key in ("id", "type", "function")} for call in calls.values()]
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return json.dumps({**outer([choice], usage=USAGE), "object": "chat.completion"}).encode()


def run(exchange: Exchange, pieces: Iterable[bytes]) -> bytes:
    out = b"".join([exchange.feed(piece) for piece in pieces]) + exchange.close()
    assert exchange.failure is None, repr(exchange.failure)
    return out


def words(exchange: Exchange) -> list[str]:
    """The verdicts in the short form of the case files."""
    return [
        " ".join(
            word for word in (
                verdict.status, verdict.reason, verdict.name or "-", verdict.dialect and f"({verdict.dialect})"
            ) if word
        )
        for _, verdict in exchange.verdicts
    ]  # fmt: skip


def check(case: Mapping[str, Any], got: Choice, exchange: Exchange) -> None:
    assert got.text == case.get("text", "")
    assert got.reasoning == case.get("reasoning", "")
    assert got.finish == case.get("finish", "stop")
    assert words(exchange) == case.get("verdicts", [])
    expected = case.get("calls", [])
    assert [call["name"] for call in got.calls] == [call["name"] for call in [*expected, *case.get("open", [])]]
    for call, want in zip(got.calls, expected, strict=False):
        assert canonical(call["arguments"]) == canonical(want.get("json") or json.dumps(want.get("arguments", {})))
        assert call["id"] == want.get("id", call["id"])
    for call, want in zip(got.calls[len(expected) :], case.get("open", []), strict=True):
        assert call["arguments"] == want["json"]


@pytest.mark.parametrize("case", CASES)
def test_a_case_says_only_what_is_known(case: dict[str, Any]) -> None:
    assert set(case) <= KEYS


@pytest.mark.parametrize("case", STREAMED)
def test_a_client_receives_what_the_author_says(case: dict[str, Any]) -> None:
    exchange, body = exchange_for(case), body_of(case)
    out = run(exchange, [body])
    reply = received(out)
    check(case, reply.choices[0], exchange)
    assert reply.usage == USAGE
    assert (out == body) == case.get("same", False)
    if "order" in case:
        assert reply.choices[0].order == case["order"]


@pytest.mark.parametrize("case", STREAMED)
def test_it_is_the_same_wherever_the_bytes_are_cut(case: dict[str, Any]) -> None:
    body = body_of(case)
    expected = exchange_for(case)
    out = run(expected, [body])
    for at in range(1, len(body)):
        exchange = exchange_for(case)
        assert run(exchange, [body[:at], body[at:]]) == out, f"cut at {at}"
        assert exchange.verdicts == expected.verdicts
    exchange = exchange_for(case)
    assert run(exchange, (body[at : at + 1] for at in range(len(body)))) == out


@pytest.mark.parametrize("case", WHOLE)
def test_a_whole_reply_is_the_same(case: dict[str, Any]) -> None:
    exchange, body = exchange_for(case, "whole"), whole_body_of(case)
    out = run(exchange, [body[:40], body[40:]])
    assert (out == body) == case.get("same", False)
    reply = json.loads(out)
    (choice,) = reply["choices"]
    message = choice["message"]
    calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls", ())]
    assert all(call["type"] == "function" and "index" not in call for call in message.get("tool_calls", ()))
    got = Choice(message["content"] or "", message.get("reasoning_content", ""), choice["finish_reason"], calls)
    check(case, got, exchange)
    assert message["content"] is None or message["content"] or not calls, "an empty text beside calls"
    assert reply["usage"] == USAGE


@pytest.mark.parametrize("case", RAW)
def test_bytes(case: dict[str, str]) -> None:
    written = '<invoke name=\\"Noop\\"></invoke>'
    body = case["in"].replace("CALL", written).encode()
    exchange = exchange_for(case={})
    out = run(exchange, [body])
    (made,) = [record.id for _, record in exchange.client_calls] or [""]
    assert out == (case.get("out") or case["in"]).replace("CALL", written).replace("ID", made).encode()
    for at in range(1, len(body)):
        # An LF that a CRLF was cut off from is one more blank line behind an event, which says nothing.
        again = run(exchange_for(case={}), [body[:at], body[at:]])
        assert BLANK_LINES.split(again) == BLANK_LINES.split(out), f"cut at {at}"
        assert again == out or b"\r" in body, f"cut at {at}"


def test_choices_are_told_apart() -> None:
    call = '<invoke name="Noop"></invoke>'
    half = len(call) // 2
    both = [(0, call[:half]), (1, "Hello <"), (0, call[half:]), (1, "b>"), (1, "\n" + call)]
    body = b"".join([event(chunk(HEAD, index=index)) for index in (0, 1)])
    body += b"".join([event(chunk({"content": text}, index=index)) for index, text in both])
    body += b"".join([event(chunk({}, "stop", index=index)) for index in (0, 1)]) + b"data: [DONE]\n\n"
    exchange = exchange_for({})
    reply = received(run(exchange, [body]))
    assert [choice.text for choice in reply.choices.values()] == ["", "Hello <b>\n"]
    assert [len(choice.calls) for choice in reply.choices.values()] == [1, 1]
    ids = {choice.calls[0]["id"] for choice in reply.choices.values()}
    assert len(ids) == 2
    assert sorted(lane for lane, _ in exchange.verdicts) == [0, 1]


def test_text_that_can_be_no_call_leaves_in_the_callback_that_brought_it() -> None:
    exchange = exchange_for({})
    for text in ("Hello", " wor", "ld < 3 and <b>", "\n", "`x`", " > y\n"):
        frame = event(chunk({"content": text}))
        assert exchange.feed(frame) == frame
    assert exchange.feed(event(chunk({"content": "<invo"}))) == b""


def test_the_same_request_gives_the_same_ids_and_another_gives_others() -> None:
    body = event(chunk({**HEAD, "content": '<invoke name="Noop"></invoke>'}, "stop"))
    request = WIRE.request(json.dumps({"messages": [], "tools": openai_tools(FILE["tools"])}).encode())
    route = Route()
    decision = decide(route, request, {}, ())
    call_policy, tools = call_policy_of(route, request, decision)
    made = []
    for seed in (b"one", b"one", b"two"):
        exchange = Exchange(WIRE, call_policy, decision, tools, form="sse", seed=seed)
        run(exchange, [body])
        made.append(exchange.client_calls[0][1].id)
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize(
    ("path", "ours"),
    [
        ("/v1/chat/completions", True),
        ("/chat/completions?beta=true", True),
        ("/api/v0/chat/completions", True),
        ("/openai/v1/chat/completions/", True),
        ("/v1/completions", False),
        ("/v1/chat/completions/x", False),
        ("/v1/models", False),
    ],
)
def test_the_paths_of_the_wire(path: str, ours: bool) -> None:
    assert (wire_of(path) is WIRE) == ours


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"messages":{}}', b"\xff", b"[" * 100_000])
def test_what_is_no_request_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match="request body"):
        WIRE.request(body)


def test_a_request_of_odd_shapes_is_read_as_far_as_it_goes() -> None:
    body = {
        "messages": [None, {"role": "user", "content": [{"type": "text", "text": "a"}, 3]}, {"role": "tool"}],
        "tools": [None, {"function": None}, {"function": {"name": ""}}, {"function": {"name": "t", "parameters": 3}}],
        "tool_choice": {"type": "function", "function": {"name": "t"}},
        "model": 7,
    }
    request = WIRE.request(json.dumps(body).encode())
    assert [tool.name for tool in request.tools] == ["t"]
    assert request.quotable == ("a",)
    assert (request.model, request.tool_choice) == ("", "t")
