"""The laws over processors: what finds nothing changes nothing, what blocks lets nothing through.

Strategy: the replies of `test_laws` (calls of all dialects, whole, broken and quoted, among text), cut anywhere,
through exchanges of every kind with processors that act, compared with the same exchange without any.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatclient import HEAD, chunk, ending, event, received, stream
from test_exchange_laws import damaged, native
from test_laws import DIALECTS, TOOLS, cut, law, replies, routes
from toolcalls.evidence import Decision, Kind, terms_of
from toolcalls.exchange import Exchange
from toolcalls.processors import Keep, Processors
from toolcalls.request import Request
from toolcalls.route import Access, AccessRule, Condition, Filter, Loops, Reactor, Route
from toolcalls.shapes import Call
from toolcalls.wires import all_wires

KINDS: tuple[Kind, ...] = ("lift", "lower", "roundtrip", "process")
NEVER = "\U0010ffff never said \U0010ffff"
IDLE: dict[str, Any] = {
    "access": Access((AccessRule("never", "allow", arguments=(Condition("*", matches=NEVER),)),)),
    "loops": Loops(action="replace", same_call=60, same_result=60, cycle=0, message=0),
    "reactors": (Reactor("none.py", "keep"),),
    "filters": (Filter("literal", literal=NEVER), Filter("pattern", pattern=f"[x{NEVER}]{{0}}{NEVER}", max_length=40)),
}
CLOSED: dict[str, Any] = {"access": Access((AccessRule("all", "block", message="No."),)), "filters": IDLE["filters"]}


def exchange_for(route: Route, kind: Kind, dialect: str, settings: dict[str, Any], form: Any = "sse") -> Exchange:
    client = "text" if kind in {"lower", "roundtrip"} else "native"
    decision = Decision(kind, client, route.upstream, dialect if client == "text" else None, ())
    terms, tools = terms_of(route, Request(tools=TOOLS), decision)
    processing = Route(**settings)
    processors = Processors(processing, run=lambda *_: Keep()) if settings else None
    wire = all_wires()["openai_chat"]
    return Exchange(wire, terms, decision, tools, form=form, seed=b"s", processors=processors)


def run(exchange: Exchange, pieces: list[bytes], *, ends: bool = True) -> bytes:
    out = b"".join([exchange.feed(piece) for piece in pieces])
    out += exchange.close() if ends else exchange.abort()
    assert exchange.failure is None, repr(exchange.failure)
    return out


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(DIALECTS))
def test_what_finds_nothing_changes_nothing(
    data: st.DataObject, text: str, route: Route, kind: Kind, dialect: str
) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    body = stream(data.draw(cut(text)))
    plain, processed = (exchange_for(route, kind, dialect, settings) for settings in ({}, IDLE))
    expected, out = run(plain, [body]), run(processed, data.draw(cut(body)))
    left, right = received(expected).choices[0], received(out).choices[0]
    assert (right.text, right.calls, right.finish) == (left.text, left.calls, left.finish)
    assert processed.verdicts == plain.verdicts
    if kind == "process" or expected == body:  # else a piece may leave in more or fewer chunks than before
        assert out == expected


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(DIALECTS), st.booleans())
def test_what_blocks_lets_nothing_through(
    data: st.DataObject, text: str, route: Route, kind: Kind, dialect: str, ends: bool
) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    call = Call("Bash", '{"command": "ls"}')
    body = event(chunk({**HEAD, "content": text})) + native(call, 0, data.draw(cut(call.arguments)))
    body += ending("tool_calls") if ends else b""
    exchange, again = (exchange_for(route, kind, dialect, CLOSED) for _ in "12")
    out = run(exchange, [body], ends=ends)
    assert run(again, data.draw(cut(body)), ends=ends) == out
    assert again.verdicts == exchange.verdicts
    assert all(verdict.status in {"blocked", "declined", "malformed", "truncated"} for _, verdict in exchange.verdicts)
    assert exchange.records == []
    assert received(out, ends=ends).choices[0].calls == []


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(["sse", "whole"]), st.booleans())
def test_no_bytes_raise(data: st.DataObject, text: str, route: Route, kind: Kind, form: str, ends: bool) -> None:
    call = Call("Bash", '{"command": "ls"}')
    body = event(chunk({**HEAD, "content": text})) + native(call, 0, [call.arguments]) + ending("tool_calls")
    settings = data.draw(st.sampled_from([IDLE, CLOSED]))
    run(exchange_for(route, kind, "invoke", settings, form), data.draw(cut(data.draw(damaged(body)))), ends=ends)


@pytest.mark.parametrize("kind", ["lift", "roundtrip", "process"])
def test_many_calls_at_once_are_linear(kind: Kind) -> None:
    """Native calls that all end with the reply, as in Chat Completions: each is looked at once."""
    body = [event(chunk(HEAD))]
    for index in range(400):
        body.append(native(Call("Bash", '{"command": "ls"}'), index, ['{"command": ', f'"{index}"}}']))
    exchange = exchange_for(Route(), kind, "invoke", IDLE)
    run(exchange, [*body, ending("tool_calls")])
    assert len(exchange.verdicts) == 400
