"""Text of the Responses API that no delta tells: in the end of a text, a part or an item, or in the whole response.

Strategy: every case of the wire is run again with the frames left out that a server of that kind does not send. What
the client is then told must be what the case says, each thing once; what needs no change leaves as it came.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.dialectcases import as_read
from support.exchanges import of_kind, run, same_wherever_it_is_cut, words
from support.readings import read, shown, verdicts
from support.responsesclient import received, stream, written
from support.strategies import TOOLS, cut, decodable, law, replies
from support.wirecases import FILES, responses_events
from support.wirecases import exchange_for as case_exchange
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.writing.writer import calls_in

type Events = list[dict[str, Any]]

_TEXT, _PART, _ITEM = "response.output_text.", "response.content_part.", "response.output_item."


def without(*kinds: str) -> Callable[[Events], Events]:
    """The events without those about a message whose types begin like this."""

    def thinned(events: Events) -> Events:
        items = events[-1]["response"]["output"] if "response" in events[-1] else []
        messages = {place for place, item in enumerate(items) if item["type"] == "message"}
        return [
            event for event in events if not (event["type"].startswith(kinds) and event.get("output_index") in messages)
        ]

    return thinned


WAYS = {
    "text ends": without(f"{_TEXT}delta"),
    "part ends": without(_TEXT),
    "item ends": without(_TEXT, _PART),
    "item without a beginning": without(_TEXT, _PART, f"{_ITEM}added"),
    "whole response": without(_TEXT, _PART, _ITEM),
}
# In a stream that says nothing of its messages, only those cases make sense that have nothing else.
PLAIN = [
    case for case in FILES["openai_responses"]["cases"] if all(isinstance(item, str | list) for item in case["reply"])
]
CASES = [
    pytest.param(way, case, id=f"{way}: {case['title']}")
    for way in WAYS
    for case in (PLAIN if way == "whole response" else FILES["openai_responses"]["cases"])
    if not case.get("whole_only") and any(isinstance(item, str | list) for item in case["reply"])
]


def thin(way: str, events: Events) -> Events:
    return [{**event, "sequence_number": number} for number, event in enumerate(WAYS[way](events))]


def told(events: Iterable[dict[str, Any]]) -> str:
    """All text of the whole response."""
    response = list(events)[-1]["response"]
    messages = (item for item in response["output"] if item["type"] == "message")
    return "".join(part["text"] for item in messages for part in item["content"] if part["type"] == "output_text")


@pytest.mark.parametrize(("way", "case"), CASES)
def test_it_is_read_where_it_stands_first(way: str, case: dict[str, Any]) -> None:
    events = thin(way, responses_events(case))
    body = written(events)
    exchange = case_exchange("openai_responses", case, "sse")
    out = run(exchange, [body])
    assert sorted(words(exchange)) == sorted(case.get("verdicts", []))
    assert (out == body) == case.get("same", False)
    if case.get("same"):
        return
    reply = received(out, late=True)
    assert reply.text == case.get("text", "")
    assert reply.reasoning == case.get("reasoning", "")
    assert reply.status == case.get("status", "completed")
    assert [call["name"] for call in reply.calls] == [call["name"] for call in case.get("calls", [])]
    assert [call["name"] for call in reply.open] == [call["name"] for call in case.get("open", [])]
    assert reply.order == case["order"]


@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_same_wherever_the_bytes_are_cut(way: str) -> None:
    body = written(thin(way, stream(['Go.\n<invoke name="Noop"></invoke>\nSo.', "x <b"])))
    out = run(case_exchange("openai_responses", {}, "sse"), [body])
    assert [call["name"] for call in received(out, late=True).calls] == ["Noop"]
    same_wherever_it_is_cut(lambda: case_exchange("openai_responses", {}, "sse"), body)


def test_text_that_was_told_is_not_read_again() -> None:
    """Nor where a server gives its items other ids and places in the end: some number them anew."""
    events = stream(['<invoke name="Noop"></invoke>'])
    for event in events:
        if event["type"] in {"response.output_item.done", "response.completed"}:
            items = [event["item"]] if "item" in event else event["response"]["output"]
            for item in items:
                item["id"] = "msg_other"
            event["output_index"] = 3
    exchange = case_exchange("openai_responses", {}, "sse")
    run(exchange, [written(events)])
    assert words(exchange) == ["lifted Noop (invoke)"]


def test_a_refusal_beside_such_text_stays() -> None:
    for way in ("item ends", "item without a beginning", "whole response"):
        events = stream(['<invoke name="Noop"></invoke>'])
        for item in (events[-2]["item"], events[-1]["response"]["output"][0]):
            if len(item["content"]) == 1:
                item["content"].append({"type": "refusal", "refusal": "No more."})
        out = run(case_exchange("openai_responses", {}, "sse"), [written(thin(way, events))])
        last = json.loads(out.split(b"\n\n")[-2].split(b"data: ")[1])["response"]["output"]
        assert [item["type"] for item in last] == ["function_call", "message"], way
        assert last[1]["content"] == [{"type": "refusal", "refusal": "No more."}], way


@pytest.mark.parametrize("text", ["Hi.", '<invoke name="Noop"></invoke>'])
def test_another_end_may_follow_such_a_response(text: str) -> None:
    """Without the items of the first one, as an error has none."""
    ends = thin("whole response", stream([text]))
    error = {"type": "error", "code": "server_error", "message": "x", "sequence_number": len(ends)}
    exchange = case_exchange("openai_responses", {}, "sse")
    out = run(exchange, [written([*ends, error])])
    assert out.endswith(b'"message":"x","sequence_number":%d}\n\n' % (out.count(b"event: ") - 1))
    assert (out == written([*ends, error])) == (text == "Hi.")


@law
@given(st.data(), replies.filter(bool).map(decodable), st.sampled_from(list(WAYS)))
def test_a_client_receives_what_the_reader_reads(data: st.DataObject, text: str, way: str) -> None:
    route = Route(client="native", upstream="text")
    body = written(thin(way, stream([text])))
    exchange = of_kind(all_wires()["openai_responses"], TOOLS, route, "lift", form="sse")
    out = run(exchange, data.draw(cut(body)))
    events = read(route, [text])
    assert [as_read(verdict) for _, verdict in exchange.verdicts] == [as_read(verdict) for verdict in verdicts(events)]
    if shown(events) == text:
        assert out == body
        return
    reply = received(out, late=True)
    assert reply.text == shown(events)
    assert [(call["name"], call["arguments"]) for call in reply.calls] == [
        (call.name, call.arguments) for call in calls_in(events)
    ]
