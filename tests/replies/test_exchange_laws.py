"""The laws over bytes: an exchange of any kind, fed with generated and with damaged streams.

Strategy: the texts and routes of `strategies` as content deltas of a Chat stream, cut anywhere. What leaves is decoded
by `chatclient`. Damaged streams are the same bytes with pieces taken out, doubled and replaced: whatever comes, nothing
may raise, and what no call was taken from must leave as it came.
"""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.chatclient import HEAD, chunk, ending, event, native, received, stream
from support.exchanges import of_kind, run
from support.readings import assert_as_read, assert_total, meaning, read, read_back
from support.strategies import DIALECTS, KINDS, STANDARD, TOOLS, calls, cut, damaged, decodable, law, replies, routes
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange, Form
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import Kind, call_policy_of, decide
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import calls_in

WIRE = all_wires()["openai_chat"]


def exchange_for(route: Route, kind: Kind = "lift", *, form: Form = "sse", dialect: str = "invoke") -> Exchange:
    return of_kind(WIRE, TOOLS, route, kind, form=form, dialect=dialect)


@law
@given(st.data(), replies, routes)
def test_a_client_receives_what_the_reader_reads(data: st.DataObject, text: str, route: Route) -> None:
    text = decodable(text)  # a client cannot decode a lone surrogate
    body = stream(data.draw(cut(text)))
    exchange = exchange_for(route)
    out = run(exchange, data.draw(cut(body)))
    choice = received(out).choices[0]
    events = read(route, [text])
    whole = calls_in(events)
    ended = {call.id for _, call in exchange.client_calls if call.complete}
    names = [call["name"] for call in choice.calls if call["id"] in ended]
    assert_as_read(events, exchange, choice.text, names, same=out == body)
    if choice.finish == "tool_calls":
        assert [(call["name"], call["arguments"]) for call in choice.calls] == whole


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(DIALECTS))
def test_every_kind_gives_the_same_however_the_bytes_are_cut(
    data: st.DataObject, text: str, route: Route, kind: Kind, dialect: str
) -> None:
    body = stream(data.draw(cut(text)))
    ends = data.draw(st.booleans())
    body = body if ends else body[: data.draw(st.integers(0, len(body)))]
    once, again = (exchange_for(route, kind, dialect=dialect) for _ in "12")
    assert run(once, [body], ends=ends) == run(again, data.draw(cut(body)), ends=ends)
    assert once.verdicts == again.verdicts


@law
@given(st.data(), replies, routes)
def test_an_observed_reply_is_the_same_bytes(data: st.DataObject, text: str, route: Route) -> None:
    body = stream(data.draw(cut(text)))
    exchange = exchange_for(route, "observe")
    assert run(exchange, data.draw(cut(body))) == body
    assert {verdict.status for _, verdict in exchange.verdicts} <= {"declined", "truncated", "malformed"}


@law
@given(st.data(), replies, routes, st.sampled_from(DIALECTS))
def test_a_text_clients_own_dialect_is_the_same_bytes(
    data: st.DataObject, text: str, route: Route, dialect: str
) -> None:
    own = Route(client="text", upstream="text", dialects=(dialect,), policy=route.policy)
    body = stream(data.draw(cut(text)))
    one = exchange_for(own, "roundtrip", dialect=dialect)
    out = run(one, data.draw(cut(body)))
    others = [verdict for _, verdict in one.verdicts if verdict.status == "lowered" and verdict.dialect != dialect]
    assert out == body or others  # a route that names a dialect reads its damaged forms with it


@law
@given(st.data(), replies)
def test_a_stream_that_breaks_completes_nothing_more(data: st.DataObject, text: str) -> None:
    body = stream([text])
    place = data.draw(st.integers(0, len(body)))
    whole, part = exchange_for(STANDARD), exchange_for(STANDARD)
    run(whole, [body])
    run(part, [body[:place]], ends=False)
    complete = [[record.arguments for _, record in one.client_calls if record.complete] for one in (part, whole)]
    assert complete[0] == complete[1][: len(complete[0])]


@law
@given(st.data(), st.lists(calls.filter(lambda call: call.name.strip() != ""), min_size=1, max_size=3), st.booleans())
def test_native_calls_reach_a_text_client_as_calls_that_read_back(
    data: st.DataObject, natives: list[Call], text: bool
) -> None:
    body = event(chunk(HEAD)) + (event(chunk({"content": "Well.\n"})) if text else b"")
    for index, call in enumerate(natives):
        body += native(call, index, data.draw(cut(call.arguments)))
    body += ending("tool_calls")
    dialect = data.draw(st.sampled_from(DIALECTS))
    exchange = exchange_for(Route(client="text", upstream="native"), "lower", dialect=dialect)
    choice = received(run(exchange, data.draw(cut(body)))).choices[0]
    stayed = [Call(call["name"], call["arguments"]) for call in choice.calls]
    assert sorted(meaning([*read_back(choice.text, dialect, natives), *stayed])) == sorted(meaning(natives))
    assert len(exchange.verdicts) == len(natives)


@law
@given(st.data(), st.lists(calls.filter(lambda call: call.name.strip() != ""), min_size=1, max_size=3))
def test_native_calls_pass_a_native_client_as_the_same_bytes(data: st.DataObject, natives: list[Call]) -> None:
    body = event(chunk(HEAD))
    for index, call in enumerate(natives):
        body += native(call, index, data.draw(cut(call.arguments)))
    body += ending("tool_calls")
    exchange = exchange_for(STANDARD)
    assert run(exchange, data.draw(cut(body))) == body
    assert [verdict.status for _, verdict in exchange.verdicts] == ["native"] * len(natives)


def test_a_native_call_behind_a_finish_reason_has_its_verdict() -> None:
    body = event(chunk({**HEAD, "content": "x"}, "stop")) + native(Call("Bash", "{}"), 0, ["{}"]) + ending("tool_calls")
    exchange = exchange_for(STANDARD)
    assert run(exchange, [body]) == body
    assert [verdict.status for _, verdict in exchange.verdicts] == ["native"]


@pytest.mark.parametrize("form", ["sse", "whole"])
def test_a_key_that_is_not_text_is_no_obstacle(form: Form) -> None:
    call = '<invoke name="Bash"></invoke>'
    message = {"role": "assistant", "content": call, "KEY": 1}
    choice = {"index": 0, "message" if form == "whole" else "delta": message, "KEY": 2, "finish_reason": "stop"}
    body = json.dumps({"id": "r", "KEY": 3, "choices": [choice]}).encode().replace(b"KEY", b"\xff")
    exchange = exchange_for(STANDARD, form=form)
    run(exchange, [body if form == "whole" else b"data: " + body + b"\n\n"])
    assert [verdict.status for _, verdict in exchange.verdicts] == ["lifted"]


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(["sse", "whole"]), st.booleans())
def test_no_bytes_raise(data: st.DataObject, text: str, route: Route, kind: Kind, form: Form, ends: bool) -> None:
    call = Call("Bash", '{"command": "ls"}')
    if form == "sse":
        body = event(chunk({**HEAD, "content": text})) + native(call, 0, [call.arguments]) + ending("tool_calls")
    else:
        native_call = {"id": "n0", "type": "function", "function": {"name": "Bash", "arguments": call.arguments}}
        message = {"role": "assistant", "content": text, "tool_calls": [native_call]}
        body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    body = data.draw(damaged(body))
    exchange = exchange_for(route, kind, form=form)
    assert_total(exchange, data.draw(cut(body)), ends=ends)


_words = ["name", "parameters", "properties", "type", "content", "role", "text", "anyOf", "$ref", "enum", "function"]
_odd = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_words), inner, max_size=4),
    max_leaves=25,
)
_odd_tools = st.lists(
    st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": st.just("Bash"), "parameters": _odd})}),
    max_size=2,
)


@law
@given(_odd | _odd_tools, st.sampled_from(["messages", "tools", "tools", "tool_choice", "model"]))
def test_no_request_raises_anything_but_a_value_error(value: object, key: str) -> None:
    body = {"messages": [{"role": "user", "content": value}], key: value}
    assume(isinstance(body["messages"], list))
    request = request_of(WIRE, json.dumps(body).encode())
    for route in (Route(), Route(client="native"), Route(client="text")):
        call_policy, tools = call_policy_of(route, request, decide(route, request, {}, ()))
        reader = Reader(call_policy, tools=tools)
        reader.feed('<invoke name="Bash"><parameter name="command">1</parameter></invoke>')
        reader.finish(cut=False)
        assert isinstance(Toolbox(request.tools).names, tuple)
