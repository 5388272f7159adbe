"""The wire `ollama`, case by case (`tests/cases/wires/ollama.yaml`), streamed and whole, and its laws.

Strategy: as for the other wires. A reply is sent as lines of JSON and as one object, and read by `ollamaclient`; the
same bytes are cut in two at every place and sent one by one. Laws over generated texts compare with the reader;
recorded streams must leave byte for byte.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casefiles import load, openai_tools
from conftest import shared_path
from ollamaclient import STATS, Reply, body_of, call, line, received
from test_laws import DIALECTS, TOOLS, calls, cut, law, meaning, read, replies, routes, shown, verdicts
from test_wires import run, words
from toolcalls.events import Markup
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.evidence import Decision, Kind, call_policy_of, decide
from toolcalls.route import VTC_CLIENT_PATTERNS, Route
from toolcalls.shapes import Call
from toolcalls.wires import all_wires, wire_of
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import calls_in

WIRE = all_wires()["ollama"]
FILE = load("wires", "ollama")
CASES = [pytest.param(case, id=case["title"]) for case in FILE["cases"]]
WHOLE = [pytest.param(case, id=case["title"]) for case in FILE["cases"] if case.get("whole", True)]
KEYS = {
    "title", "route", "tools", "request", "reply", "upstream_finish", "same", "text", "reasoning", "calls", "order",
    "finish", "verdicts", "whole",
}  # fmt: skip


def exchange_for(case: Mapping[str, Any], form: Form = "ndjson") -> Exchange:
    tools = openai_tools(case.get("tools", FILE["tools"]))
    request = WIRE.request(json.dumps({"messages": [], "tools": tools, **case.get("request", {})}).encode())
    route = Route(**{"client": "native", "upstream": "text", **case.get("route", {})})
    decision = decide(route, request, {}, VTC_CLIENT_PATTERNS)
    call_policy, box = call_policy_of(route, request, decision)
    return Exchange(WIRE, call_policy, decision, box, form=form, seed=b"a request")


def sent(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The case's lines."""
    lines = []
    for item in case["reply"]:
        message = {"content": item} if isinstance(item, str) else dict(item)
        finish = message.pop("finish", None)
        lines.append(line(message, finish))
    return lines if lines[-1]["done"] else [*lines, line("", case.get("upstream_finish", "stop"))]


def joined(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Lines as one: texts and thoughts joined, calls in a row."""
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    for one in lines:
        for key in {"content", "thinking", "tool_calls"} & set(one["message"]):
            new = one["message"][key]
            message[key] = message[key] + new if key in message else new
    return {**lines[-1], "message": message}


def check(case: Mapping[str, Any], got: Reply, exchange: Exchange) -> None:
    assert words(exchange) == case.get("verdicts", [])
    assert got.text == case.get("text", "")
    assert got.reasoning == case.get("reasoning", "")
    assert got.finish == case.get("finish", "stop")
    assert got.calls == [(one["name"], one.get("arguments", {})) for one in case.get("calls", [])]
    assert got.stats == STATS


@pytest.mark.parametrize("case", CASES)
def test_a_case_says_only_what_is_known(case: dict[str, Any]) -> None:
    assert set(case) <= KEYS


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("case", CASES)
def test_a_client_receives_what_the_author_says(case: dict[str, Any], end: bytes) -> None:
    exchange, body = exchange_for(case), body_of(sent(case), end)
    out = run(exchange, [body])
    got = received(out)
    check(case, got, exchange)
    assert out.count(b"\n") == out.count(end)
    assert (out == body) == (case.get("same", False) is True)
    if "order" in case:
        assert got.order == case["order"]


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_same_wherever_the_bytes_are_cut(case: dict[str, Any]) -> None:
    body = body_of(sent(case))
    expected = exchange_for(case)
    out = run(expected, [body])
    for at in range(1, len(body)):
        exchange = exchange_for(case)
        assert run(exchange, [body[:at], body[at:]]) == out, f"cut at {at}"
        assert exchange.verdicts == expected.verdicts
    assert run(exchange_for(case), (body[at : at + 1] for at in range(len(body)))) == out


@pytest.mark.parametrize("case", WHOLE)
def test_a_whole_reply_is_the_same(case: dict[str, Any]) -> None:
    exchange, body = exchange_for(case, "whole"), body_of([joined(sent(case))], b"")
    out = run(exchange, [body[:40], body[40:]])
    check(case, received(out, whole=True), exchange)
    assert (out == body) == bool(case.get("same", False))


def test_a_line_that_nothing_changes_leaves_in_the_callback_that_brought_it() -> None:
    exchange = exchange_for({})
    for text in ("Hello", " wor", "ld < 3 and <b>", "\n", "`x`"):
        frame = body_of([line(text)])
        assert exchange.feed(frame) == frame
    assert exchange.feed(body_of([line("\n<invo")])) == b""


def test_arguments_that_are_written_as_a_string_are_read() -> None:
    body = body_of(
        [line({"tool_calls": [{"function": {"name": "Bash", "arguments": '{"command":"ls"}'}}]}), line("", "stop")]
    )
    exchange = exchange_for({})
    assert run(exchange, [body]) == body
    assert [record.arguments for _, record in exchange.client_calls] == ['{"command":"ls"}']


@pytest.mark.parametrize(
    ("path", "ours"),
    [("/api/chat", True), ("/ollama/api/chat/", True), ("/api/generate", False), ("/v1/chat/completions", False)],
)
def test_the_paths_of_the_wire(path: str, ours: bool) -> None:
    assert (wire_of(path) is WIRE) == ours
    assert WIRE.form(path, "application/x-ndjson") == "ndjson"
    assert WIRE.form(path, "application/json; charset=utf-8") == "whole"


@pytest.mark.parametrize("body", [b"", b"[]", b'{"messages":{}}', b"\xff", b"[" * 100_000])
def test_what_is_no_request_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match="request body"):
        WIRE.request(body)


def test_a_request_is_read() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Go.", "images": ["aGk="]},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "assistant", "content": "I go."},
        {"role": "tool", "content": "done", "tool_name": "Bash"},
        None,
    ]
    body = {"model": "m", "messages": messages, "tools": openai_tools(FILE["tools"]), "format": "json"}
    request = WIRE.request(json.dumps(body).encode())
    assert [tool.name for tool in request.tools] == ["Bash", "Noop"]
    assert (request.model, request.system, request.assistant) == ("m", "Be brief.", ("I go.",))
    assert request.quotable == ("Go.", "done")
    assert request.response_format


# --- laws -------------------------------------------------------------------------------------------------------------


def lawful(route: Route, kind: Kind = "lift", form: Form = "ndjson", dialect: str = "invoke") -> Exchange:
    client = "text" if kind in {"lower", "roundtrip"} else "native"
    decision = Decision(kind, client, route.upstream, dialect if client == "text" else None, ())
    call_policy, tools = call_policy_of(route, Request(tools=TOOLS), decision)
    return Exchange(WIRE, call_policy, decision, tools, form=form)


def in_lines(pieces: Iterable[str]) -> bytes:
    return body_of([*map(line, pieces), line("", "stop")])


@law
@given(st.data(), replies, routes)
def test_a_client_receives_what_the_reader_reads(data: st.DataObject, text: str, route: Route) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    body = in_lines(data.draw(cut(text)))
    exchange = lawful(route)
    out = run(exchange, data.draw(cut(body)))
    got = received(out)
    events = read(route, [text])
    assert got.text == shown(events)
    whole = calls_in(events)
    assert [name for name, _ in got.calls] == [name for name, _ in whole]
    assert [(record.name, record.arguments) for _, record in exchange.client_calls if record.complete] == whole
    assert [verdict for _, verdict in exchange.verdicts] == verdicts(events)
    if not any(isinstance(event, Markup) for event in events):
        assert out == body


@law
@given(st.data(), st.lists(calls.filter(lambda one: one.name.strip() != ""), min_size=1, max_size=3))
def test_native_calls_reach_a_text_client_as_calls_that_read_back(data: st.DataObject, natives: list[Call]) -> None:
    made = [call(one.name, json.loads(one.arguments)) for one in natives]
    body = body_of([line("Well.\n"), line({"tool_calls": made}), line("", "stop")])
    dialect = data.draw(st.sampled_from(DIALECTS))
    exchange = lawful(Route(client="text", upstream="native"), "lower", dialect=dialect)
    got = received(run(exchange, [body]))
    reader = Reader(CallPolicy(Route(policy="lenient", dialects=(dialect,)), Request(tools=TOOLS)))
    read_back = calls_in([*reader.feed(got.text), *reader.finish(cut=False)])
    stayed = [Call(name, json.dumps(arguments)) for name, arguments in got.calls]
    assert sorted(meaning([*read_back, *stayed])) == sorted(meaning(natives))


@law
@given(st.data(), replies, routes, st.sampled_from(["lift", "lower", "roundtrip", "observe"]), st.binary(max_size=6))
def test_no_bytes_raise(data: st.DataObject, text: str, route: Route, kind: Kind, new: bytes) -> None:
    form: Form = data.draw(st.sampled_from(["ndjson", "whole"]))
    body = body_of([line({"content": text, "tool_calls": [call("Bash", {"command": "ls"})]}), line("", "stop")])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body)))
        body = (
            body[:at] + data.draw(st.sampled_from([new, b"", b"null", b"[", b"{", b'"', b"\n", b"}"])) + body[at + 3 :]
        )
    exchange = lawful(route, kind, form)
    out = run(exchange, data.draw(cut(body)))
    if kind == "observe":
        assert out == body


# --- recorded streams -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 7, 997])
def test_a_recorded_stream_leaves_as_it_came(size: int) -> None:
    rows = shared_path("suites/streams/ollama.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, rows):
        body = row["body"].encode("utf-8", "surrogatepass")
        request = WIRE.request(json.dumps(row["request"] or {"messages": []}).encode())
        route = Route(client="native", upstream="text")
        decision = decide(route, request, {}, ())
        call_policy, tools = call_policy_of(route, request, decision)
        exchange = Exchange(WIRE, call_policy, decision, tools, form="ndjson")
        pieces = [body[at : at + size] for at in range(0, len(body), size)] if size else [body]
        assert run(exchange, pieces) == body, row["id"]
        natives = [verdict for _, verdict in exchange.verdicts if verdict.dialect is None]
        assert len(natives) == row["native_calls"], row["id"]
