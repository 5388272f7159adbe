"""Damaged native calls of Cohere's API: what is said and mended of them is what is on Chat Completions.

Strategy. Each damage that occurs on Chat Completions is put into Cohere's words. Verdicts, notes and the calls that a
client gets must be the same, with and without mending, streamed and whole, and wherever the bytes are cut.
"""

import json
from typing import Any

import pytest

from support import chatclient, cohereclient
from support.damagedcalls import CALL, DAMAGES, REQUEST, Damage, _chat_streamed, whole
from support.exchanges import in_pieces, of_request, run, words
from toolcalls.insight import replies
from toolcalls.insight.exchange_record import Pieces
from toolcalls.mending.error_texts import generation_in
from toolcalls.replies.exchange import Exchange
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

KINDS = ("protocol", "json", "types", "names", "reasoning", "errors")
ROUTES = {
    "told": Route(mend=()),
    "protocol": Route(mend=("protocol",)),
    "all kinds": Route(mend=KINDS),  # type: ignore[arg-type]
    "lifted": Route(client="native", upstream="text", mend=KINDS),  # type: ignore[arg-type]
    "lowered": Route(client="text", client_dialect="invoke", upstream="native", mend=KINDS),  # type: ignore[arg-type]
}
# Cohere numbers calls in events, only the event that begins one names it, and one may be given no arguments.
ONLY_THERE = {"no_index", "empty_arguments", "repeated_name", "changed_id"}
FORMS: tuple[Form, ...] = ("sse", "whole")
CASES = [
    pytest.param(form, damage, route, id=f"{damage.reason}, {damage.title}, {form}, {route}")
    for damage in DAMAGES
    if damage.reason not in ONLY_THERE
    for form in FORMS
    if "openai_chat" in (damage.streamed if form == "sse" else damage.whole)
    for route in ROUTES
]


def body_of(wire: str, form: Form, damage: Damage) -> bytes:
    if form == "whole":
        body = json.dumps(whole("openai_chat", damage.calls, damage.text), separators=(",", ":")).encode()
        return body if wire == "openai_chat" else cohereclient.whole(body)
    chunks = list(_chat_streamed(damage.calls, damage.text, ""))
    if wire == "openai_chat":
        return b"".join([*map(chatclient.event, chunks), cohereclient.DONE])
    choices = [one["choices"][0] for one in chunks if one["choices"]]
    return cohereclient.written((choice["delta"], choice["finish_reason"]) for choice in choices)


def exchange(wire: str, form: Form, route: str) -> Exchange:
    return of_request(all_wires()[wire], REQUEST, ROUTES[route], form=form, seed=b"s")


def seen(wire: str, form: Form, body: bytes, pieces: list[bytes], one: Exchange) -> Any:
    """What is said of a reply, and what its client gets."""
    out = run(one, pieces)
    read = replies.read(wire, form, out, Pieces())
    calls = [(call.name, call.arguments, call.complete, bool(call.id)) for lane in read.lanes for call in lane.calls]
    repairs = [verdict.repairs for _, verdict in one.verdicts]
    texts = "".join(lane.text for lane in read.lanes)
    finish = read.lanes[-1].finish if read.lanes else None
    return words(one), repairs, sorted(note.rule for _, note in one.notes), calls, texts, finish, out == body


@pytest.mark.parametrize(("form", "damage", "route"), CASES)
def test_it_is_as_on_chat_completions(form: Form, damage: Damage, route: str) -> None:
    body = body_of("openai_chat", form, damage)
    wanted = seen("openai_chat", form, body, [body], exchange("openai_chat", form, route))
    body = body_of("cohere", form, damage)
    for size in (0, 1, 50):
        assert seen("cohere", form, body, in_pieces(body, size), exchange("cohere", form, route)) == wanted, size


@pytest.mark.parametrize("form", FORMS)
def test_an_error_that_quotes_a_call_becomes_a_reply_with_it(form: Form) -> None:
    """As gateways give it, with the status of an error."""
    raw = '<tool_call>{"name": "edit", "arguments": {"path": "a.ts"}}</tool_call>'
    error = json.dumps({"error": {"code": 500, "message": f"Failed to parse input at pos 0: {raw}"}}).encode()
    assert generation_in(error)
    one = of_request(all_wires()["cohere"], REQUEST, Route(mend=("errors",)), form=form, seed=b"s")
    made = one.answer(error, form, 500)
    assert made is not None
    read = replies.read("cohere", form, made, Pieces())
    assert [(call.name, call.complete) for lane in read.lanes for call in lane.calls] == [("edit", True)]
    if form == "sse":
        assert [event["type"] for event in cohereclient.parsed(made)][-2:] == ["tool-call-end", "message-end"]


def test_all_events_of_a_call_that_begins_before_the_end_of_another_have_its_own_index() -> None:
    start, more, end = "tool-call-start", "tool-call-delta", "tool-call-end"
    events: list[dict[str, Any]] = []
    for id_ in ("a", "b"):
        call = {"id": id_, "type": "function", "function": {"name": "edit", "arguments": ""}}
        events.append({"type": start, "index": 0, "delta": {"message": {"tool_calls": call}}})
        piece = {"function": {"arguments": '{"path": "a.ts"}'}}
        events.append({"type": more, "index": 0, "delta": {"message": {"tool_calls": piece}}})
    events.append({"type": end, "index": 0})
    out = run(exchange("cohere", "sse", "protocol"), [b"".join(map(cohereclient.frame, events))])
    indices = [(event["type"], event["index"]) for event in cohereclient.parsed(out)]
    assert indices == [(start, 0), (more, 0), (start, 1), (more, 1), (end, 1)]


@pytest.mark.parametrize("form", FORMS)
def test_a_sound_call_stays_with_all_kinds_of_mending(form: Form) -> None:
    body = body_of("cohere", form, Damage("sound", "", (CALL,)))
    one = exchange("cohere", form, "all kinds")
    assert run(one, [body]) == body
    assert words(one) == ["native edit"]
