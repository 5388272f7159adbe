"""The wire `openai_responses` beyond its cases, which `test_cases` runs, and its laws.

Strategy: what leaves when, and how, with a client of its own (`responsesclient`); then any text through the
wire against what the reader makes of it; then the recorded streams, which must leave as they came on every kind of
route.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.casefiles import load
from support.dialectcases import as_read
from support.exchanges import as_received, in_pieces, of_kind, of_request, only_whole_knows, run, words
from support.readings import assert_total, meaning, read, read_back, shown, verdicts
from support.repository import shared_path
from support.responsesclient import Reply, received, stream, take_items, whole, written
from support.sampling import SAMPLED, some
from support.strategies import DIALECTS, KINDS, STANDARD, TOOLS, cut, damaged, decodable, law, replies, routes
from support.wirecases import check_responses, responses_events
from support.wirecases import exchange_for as case_exchange
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import Kind
from toolcalls.route import Access, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import calls_in

WIRE = all_wires()["openai_responses"]
FILE = load("wires", "openai_responses")
STREAMED = [pytest.param(case, id=case["title"]) for case in FILE["cases"] if not case.get("whole_only")]


def exchange_for(case: Mapping[str, Any], form: Form = "sse") -> Exchange:
    return case_exchange("openai_responses", case, form)


def law_exchange(route: Route, kind: Kind = "lift", *, form: Form = "sse", dialect: str = "invoke") -> Exchange:
    return of_kind(WIRE, TOOLS, route, kind, form=form, dialect=dialect)


@pytest.mark.parametrize("case", STREAMED)
def test_a_stream_that_names_and_numbers_nothing_is_the_same(case: dict[str, Any]) -> None:
    """Some servers send neither event names nor numbers, and end with `[DONE]`."""
    plain = [{key: event[key] for key in event if key != "sequence_number"} for event in responses_events(case)]
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in plain) + b"data: [DONE]\n\n"
    exchange = exchange_for(case)
    out = run(exchange, [body])
    assert out.endswith(b"data: [DONE]\n\n")
    told = [json.loads(line[6:]) for line in out.split(b"\n") if line.startswith(b"data: {")]
    assert not any("sequence_number" in event for event in told)
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(told)]
    check_responses(case, received(written(numbered)), exchange)
    assert (out == body) == case.get("same", False)


def test_text_that_can_be_no_call_leaves_in_the_callback_that_brought_it() -> None:
    exchange = exchange_for({})
    events = stream([["Hello", " wor", "ld < 3 and <b>", "\n", "`x`", " > y\n", "<invo"]])
    frames = [written([event]) for event in events]
    out = [exchange.feed(frame) for frame in frames]
    assert out[2:4] == [b"", b""], "what opens a message leaves with its first text"
    assert out[4] == b"".join(frames[2:5])
    assert out[5:10] == frames[5:10]
    assert out[10] == b""


def test_a_whole_item_of_a_call_is_told_before_the_next_item_comes() -> None:
    """An agent that acts on `output_item.done` need not wait for the end."""
    exchange = exchange_for({})
    events = stream([['<invoke name="Noop"></invoke>', "\n", "So."]])
    out = b"".join([exchange.feed(written([event])) for event in events[:7]])
    assert b"response.output_item.done" in out


def test_an_error_lets_go_what_is_held() -> None:
    exchange = exchange_for({})
    head = written(stream([["a <inv"]], "broken")[:5])
    error = written([{"type": "error", "code": "x", "message": "the model is overloaded", "sequence_number": 5}])
    assert exchange.feed(head + error) == head + error


def test_a_response_that_failed_completes_nothing() -> None:
    exchange = exchange_for({})
    events = stream([['<invoke name="Bash"><parameter name="command">rm']], "broken")[:5]
    head = {**events[0]["response"], "status": "failed", "error": {"code": "x", "message": "y"}}
    out = run(exchange, [written([*events, {"type": "response.failed", "sequence_number": 5, "response": head}])])
    assert b"function_call_arguments.done" not in out
    assert b'"type":"response.failed"' in out
    assert words(exchange) == ["truncated cut_off Bash (invoke)"]


def test_a_multiplexed_stream_keeps_its_id() -> None:
    events = [{**event, "stream_id": "s1"} for event in stream(['<invoke name="Noop"></invoke>'])]
    out = run(exchange_for({}), [written(events)])
    told = [json.loads(line[6:]) for line in out.split(b"\n") if line.startswith(b"data: ")]
    assert {event["stream_id"] for event in told} == {"s1"}


def test_a_function_in_a_namespace_is_called_there() -> None:
    declared = [{"type": "namespace", "name": "mcp__x", "tools": [{"type": "function", "name": "look"}]}]
    call = '<invoke name="look"></invoke>'
    for form in ("sse", "whole"):
        exchange = exchange_for({"tools": {}, "request": {"tools": declared}}, form)
        events = stream([call])
        for event in (events[0], events[-1]):
            event["response"] = {**event["response"], "tools": declared}
        out = run(exchange, [written(events) if form == "sse" else whole(events)])
        last = out if form == "whole" else json.dumps(received(out).items)
        body = json.loads(last)
        (item,) = body["output"] if form == "whole" else body
        assert (item["name"], item["namespace"]) == ("look", "mcp__x")


@pytest.mark.parametrize("form", ["sse", "whole"])
@pytest.mark.parametrize("kind", ["function", "custom"])
def test_a_namespace_is_known_from_the_request_where_the_reply_is_silent(form: Form, kind: str) -> None:
    """An upstream that was told of its tools in the prompt says nothing of them in its reply."""
    declared = [{"type": "namespace", "name": "mcp__x", "tools": [{"type": kind, "name": "look"}]}]
    exchange = exchange_for({"tools": {}, "request": {"tools": declared}}, form)
    events = stream(['<invoke name="look"><parameter name="input">a</parameter></invoke>'])
    for event in (events[0], events[-1]):
        event["response"] = {**event["response"], "tools": []}
    out = run(exchange, [written(events) if form == "sse" else whole(events)])
    (item,) = received(out).items if form == "sse" else json.loads(out)["output"]
    assert (item["name"], item["namespace"]) == ("look", "mcp__x")


@pytest.mark.parametrize("form", ["sse", "whole"])
def test_tools_of_one_name_in_two_namespaces_are_told_apart(form: Form) -> None:
    look = {"type": "function", "name": "look"}
    declared = [{"type": "namespace", "name": name, "tools": [look]} for name in ("mcp__x", "mcp__y")]
    exchange = exchange_for({"tools": {}, "request": {"tools": declared}}, form)
    events = stream(['<invoke name="mcp__y.look"></invoke>\n<invoke name="mcp__x.look"></invoke>'])
    out = run(exchange, [written(events) if form == "sse" else whole(events)])
    items = received(out).items if form == "sse" else json.loads(out)["output"]
    assert [(item["name"], item["namespace"]) for item in items] == [("look", "mcp__y"), ("look", "mcp__x")]


def test_text_parts_of_one_message_stay_apart() -> None:
    part = {"type": "output_text", "annotations": []}
    texts = ["a\n", '<invoke name="Noop"></invoke>', "b"]
    item = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
    output = [{**item, "content": [{**part, "text": text} for text in texts]}]
    body = {
        "id": "r",
        "status": "completed",
        "incomplete_details": None,
        "output": output,
        "output_text": "".join(texts),
    }
    reply = Reply()
    take_items(reply, json.loads(run(exchange_for({}, "whole"), [json.dumps(body).encode()])))
    assert (reply.text, reply.order) == ("a\nb", "tct")


def test_an_annotation_stays_with_the_text_that_a_call_closes() -> None:
    """Told between the deltas, at the ends of part and item, and in the whole response."""
    cite = {"type": "url_citation", "start_index": 0, "end_index": 3, "url": "u", "title": "t"}
    events = stream([["See.\n", '<invoke name="Noop">', "</invoke>"]])
    first = next(place for place, event in enumerate(events) if event["type"] == "response.output_text.delta")
    where = {key: events[first][key] for key in ("item_id", "output_index", "content_index")}
    added = {"type": "response.output_text.annotation.added", **where, "annotation_index": 0, "annotation": cite}
    events = [*events[: first + 1], added, *events[first + 1 :]]
    for event in events:
        item = event.get("item", {})
        for part in (event.get("part", {}), *item.get("content", ())):
            part["annotations"] = [cite] if part.get("text") else part.get("annotations", [])
    body = written([{**event, "sequence_number": number} for number, event in enumerate(events)])
    out = run(exchange_for({}), [body])
    reply = received(out)
    assert (reply.text, reply.order) == ("See.\n", "tc")
    told = [json.loads(line[6:]) for line in out.decode().split("\n") if line.startswith("data: ")]
    parts = [event["part"] for event in told if event["type"] == "response.content_part.done"]
    done = next(event["item"] for event in told if event["type"] == "response.output_item.done")
    parts += [done["content"][0], told[-1]["response"]["output"][0]["content"][0]]
    assert [part["annotations"] for part in parts] == [[cite]] * 3


def test_text_that_comes_before_its_part_is_told_of_stays_in_what_is_said_of_it() -> None:
    """F21: events out of order. The end of the text says all of it, also where a call is taken."""
    events = stream([["See", ".\n", '<invoke name="Noop"></invoke>']])
    at = next(number for number, event in enumerate(events) if event["type"] == "response.content_part.added")
    events[at : at + 2] = events[at + 1], events[at]
    out = run(exchange_for({}), [written([{**event, "sequence_number": at} for at, event in enumerate(events)])])
    told = [json.loads(line[6:]) for line in out.decode().split("\n") if line.startswith("data: ")]
    assert "".join(event["delta"] for event in told if event["type"] == "response.output_text.delta") == "See.\n"
    assert [event["text"] for event in told if event["type"] == "response.output_text.done"] == ["See.\n"]
    assert any(event["type"] == "response.function_call_arguments.done" for event in told)


def test_a_second_part_says_its_own_text_and_no_more() -> None:
    """Two parts in one message, the second with a call: what is said at its end is its own."""
    first, second = stream(["One.\n"]), stream([["Two.\n", '<invoke name="Noop"></invoke>']])
    parts = [event for event in first if "content_index" in event]
    more = [{**event, "content_index": 1} for event in second if "content_index" in event]
    at = first.index(parts[-1]) + 1
    events = [*first[:at], *more, *first[at:]]
    out = run(exchange_for({}), [written([{**event, "sequence_number": at} for at, event in enumerate(events)])])
    told = [json.loads(line[6:]) for line in out.decode().split("\n") if line.startswith("data: ")]
    assert [event["text"] for event in told if event["type"] == "response.output_text.done"] == ["One.\n", "Two.\n"]


def test_an_annotation_of_one_reply_is_in_no_other() -> None:
    """Where a server does not say that a part begins, the part is ours: what is noted of it is this reply's alone."""
    call = '<invoke name="Noop"></invoke>'
    before = run(exchange_for({}), [written(stream([f"a\n{call}\nb"]))])
    where = {"item_id": "m", "output_index": 0, "content_index": 0}
    cite = {"type": "url_citation", "url": "https://example.test/of-somebody-else"}
    kind = "response.output_text"
    events = [
        {"type": f"{kind}.delta", **where, "delta": "See.\n"},
        {"type": f"{kind}.annotation.added", **where, "annotation_index": 0, "annotation": cite},
        {"type": f"{kind}.delta", **where, "delta": call},
    ]
    told = run(exchange_for({}), [written(events)]).decode()
    closed = [json.loads(line[6:]) for line in told.split("\n") if line.startswith("data: ") and "part.done" in line]
    assert [event["part"]["annotations"] for event in closed] == [[cite]]
    assert run(exchange_for({}), [written(stream([f"a\n{call}\nb"]))]) == before


# --- what a request says ----------------------------------------------------------------------------------------------


def test_a_request() -> None:
    body = {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "Mind the gap."}]},
            {"type": "message", "role": "user", "content": "go"},
            {"type": "reasoning", "id": "rs", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I go."}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "gone"}]},
            {"type": "custom_tool_call_output", "call_id": "d", "output": "patched"},
            None,
        ],
        "tools": [
            {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
            {"type": "web_search"},
            {"type": "custom", "name": "apply_patch", "description": "p"},
            {
                "type": "custom",
                "name": "sql",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: X"},
            },
            {"type": "local_shell"},
            {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "g"}]},
        ],
        "text": {"format": {"type": "json_schema", "name": "x", "schema": {}}},
    }
    request = request_of(WIRE, json.dumps(body).encode())
    assert [(tool.name, tool.description, tool.form) for tool in request.tools] == [
        ("f", "d", ""), ("apply_patch", "p", "custom_tool_call"), ("sql", "", "custom_tool_call"), ("g", "", ""),
    ]  # fmt: skip
    patch, sql = request.tools[1:3]
    assert patch.schema == {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    assert sql.schema["properties"]["input"]["description"] == "Text of this lark grammar:\nstart: X"
    assert (request.system, request.assistant) == ("Be brief.\nMind the gap.", ("I go.",))
    assert request.quotable == ("go", "gone", "patched")
    assert request.response_format
    assert not request_of(WIRE, b'{"input":"x","text":{"format":{"type":"text"}}}').response_format
    assert request_of(WIRE, b'{"input":"hello"}').quotable == ("hello",)


@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        (None, "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "f"}, "f"),
        ({"type": "custom", "name": "f"}, "f"),
        ({"type": "web_search"}, "web_search"),
        ({"type": []}, "required"),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, "auto"),
    ],
)
def test_the_choice(choice: object, meant: str) -> None:
    assert request_of(WIRE, json.dumps({"input": "x", "tool_choice": choice}).encode()).tool_choice == meant


_odd = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "name", "role", "content", "output", "tools", "mode"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@law
@given(_odd, st.sampled_from(["input", "tools", "tool_choice", "text", "instructions", "model"]))
def test_no_request_raises_anything_but_a_value_error(value: object, key: str) -> None:
    request = request_of(WIRE, json.dumps({"input": "x", key: value}).encode())
    assert isinstance(request.tools, tuple)


# --- laws -------------------------------------------------------------------------------------------------------------


@law
@given(st.data(), replies.filter(bool).map(decodable), routes)
def test_a_client_receives_what_the_reader_reads(data: st.DataObject, text: str, route: Route) -> None:
    body = written(stream([data.draw(cut(text))]))
    exchange = law_exchange(route)
    out = run(exchange, data.draw(cut(body)))
    reply = received(out)
    events = read(route, [text])
    assert reply.text == shown(events)
    assert [(call["name"], call["arguments"]) for call in reply.calls] == [
        (call.name, call.arguments) for call in calls_in(events)
    ]
    assert [as_read(verdict) for _, verdict in exchange.verdicts] == [as_read(verdict) for verdict in verdicts(events)]
    if shown(events) == text:
        assert out == body


@law
@given(st.data(), replies.filter(bool).map(decodable), routes, st.sampled_from(KINDS), st.sampled_from(DIALECTS))
def test_live_and_whole_are_the_same_however_the_bytes_are_cut(
    data: st.DataObject, text: str, route: Route, kind: Kind, dialect: str
) -> None:
    events = stream([data.draw(cut(text))])
    body = written(events)
    once, again, one = (law_exchange(route, kind, form=form, dialect=dialect) for form in ("sse", "sse", "whole"))
    out = run(once, [body])
    assert run(again, data.draw(cut(body))) == out
    assert once.verdicts == again.verdicts
    if kind == "observe":
        assert out == body
    if only_whole_knows(one, [text]):
        return
    live, at_once = received(out), Reply()
    take_items(at_once, json.loads(run(one, [whole(events)])))
    assert (live.text, live.calls, live.open, live.order) == (
        at_once.text, at_once.calls, at_once.open, at_once.order
    )  # fmt: skip
    assert once.verdicts == one.verdicts


@pytest.mark.parametrize("dialect", ["apertus", "json_array", "kimi_k2", "hermes", "invoke"])
@pytest.mark.parametrize("step", [1, 7, 100])
def test_what_closes_a_block_stands_in_the_message_of_its_call(dialect: str, step: int) -> None:
    text = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'
    exchange = law_exchange(STANDARD, "roundtrip", dialect=dialect)
    got = received(run(exchange, [written(stream([[text[at : at + step] for at in range(0, len(text), step)]]))]))
    assert got.order == "t"
    assert meaning(read_back(got.text, dialect)) == [("Bash", '{"command": "ls"}')]


@law
@given(st.data(), replies.filter(bool).map(decodable))
def test_a_stream_that_breaks_completes_nothing_more(data: st.DataObject, text: str) -> None:
    body = written(stream([text]))
    part = law_exchange(STANDARD)
    out = run(part, [body[: data.draw(st.integers(0, len(body)))]], ends=False)
    complete = [record.arguments for _, record in part.client_calls if record.complete]
    assert out.count(b"response.function_call_arguments.done") // 2 == len(complete)


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(["sse", "whole"]), st.booleans())
def test_no_bytes_raise(data: st.DataObject, text: str, route: Route, kind: Kind, form: Form, ends: bool) -> None:
    call = {"type": "function_call", "call_id": "n0", "name": "Bash", "arguments": '{"command": "ls"}'}
    events = stream([[text or "x"], call, "b"])
    body = data.draw(damaged(written(events) if form == "sse" else whole(events)))
    exchange = law_exchange(route, kind, form=form)
    assert_total(exchange, data.draw(cut(body)), ends=ends)


# --- recorded streams -------------------------------------------------------------------------------------------------


# Calls that the suite does not count: those of built-in tools of the client.
BUILT_IN_DONE = re.compile(
    rb'^data: \{"type":"response.output_item.done"[^\n]*"type":"(?:apply_patch|local_shell|computer)_call"',
    re.MULTILINE,
)


@cache
def recorded() -> Sequence[dict[str, Any]]:
    lines = shared_path("suites/streams/openai-responses.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["as received", 331])
def test_a_recorded_stream_leaves_as_it_came(kind: Kind, way: str | int) -> None:
    """On every kind of route, but for native calls that become text."""
    route = {
        "lift": Route(client="native", upstream="text"),
        "lower": Route(client="text", upstream="native"),
        "roundtrip": Route(client="text", upstream="text"),
        "observe": Route(client="native", upstream="native"),
        "process": Route(client="native", upstream="native", access=Access()),
    }[kind]
    lowered = 0
    for row in some(recorded(), 30, f"{kind} {way}"):
        body = str(row["body"]).encode("utf-8", "surrogatepass")
        request = request_of(WIRE, json.dumps(row.get("request") or {"input": ""}).encode())
        exchange = of_request(WIRE, request, route, form="sse")
        assert exchange.decision.kind == kind
        pieces = in_pieces(body, way) if isinstance(way, int) else as_received(body, row["chunks"] or ())
        out = run(exchange, pieces)
        native = [one for _, one in exchange.verdicts if one.status in {"native", "lowered"}]
        assert len(native) == row["native_calls"] + len(BUILT_IN_DONE.findall(body)), row["id"]
        if any(one.status == "lowered" for one in native):
            lowered += 1
            assert b"response.function_call_arguments" not in out, row["id"]
        else:
            assert out == body, row["id"]
    assert SAMPLED or (lowered > 40) == (kind in {"lower", "roundtrip"})
