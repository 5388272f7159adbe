"""Damaged native calls on APIs that say in other words what Messages says: what is said and mended of them is the same.

Strategy. Each damage that occurs on Messages is put into Converse's words, into Bedrock's chunks, and into the words of
Gemini's Interactions. Verdicts, notes and the calls that a client gets must be the same, with and without mending,
streamed and whole, and wherever the bytes are cut.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from support import converseclient, interactionsclient, invokeclient
from support.damagedcalls import CALL, DAMAGES, REQUEST, Damage, _anthropic_streamed, streamed, whole
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


@dataclass(frozen=True)
class Words:
    """A way to say what Messages says."""

    wire: str
    form: Form
    said: Callable[[Damage], bytes]


def events_of(damage: Damage) -> list[Any]:
    return list(_anthropic_streamed(damage.calls, damage.text, ""))


def message_of(damage: Damage) -> bytes:
    return json.dumps(whole("anthropic", damage.calls, damage.text), separators=(",", ":")).encode()


MESSAGES = {
    "streamed": Words("anthropic", "sse", lambda damage: streamed("anthropic", damage.calls, damage.text)),
    "whole": Words("anthropic", "whole", message_of),
}
TRANSLATED = {
    "streamed": [
        Words("bedrock_converse", "eventstream", lambda damage: converseclient.written(events_of(damage))),
        Words("bedrock", "eventstream_chunks", lambda damage: invokeclient.written(events_of(damage))),
        Words("bedrock", "eventstream_chunks", lambda damage: invokeclient.nova(events_of(damage))),
        Words("gemini_interactions", "sse", lambda damage: interactionsclient.written(events_of(damage))),
    ],
    "whole": [
        Words("bedrock_converse", "whole", lambda damage: converseclient.whole(message_of(damage))),
        Words("bedrock", "whole", message_of),
        Words("bedrock", "whole", lambda damage: converseclient.whole(message_of(damage))),
        Words("gemini_interactions", "whole", lambda damage: interactionsclient.whole(message_of(damage))),
    ],
}
CASES = [
    pytest.param(
        form, words, damage, route, id=f"{damage.reason}, {damage.title}, {form}, {words.wire}{number}, {route}"
    )
    for damage in DAMAGES
    for form in ("streamed", "whole")
    if "anthropic" in (damage.streamed if form == "streamed" else damage.whole)
    for number, words in enumerate(TRANSLATED[form])
    for route in ROUTES
]


def exchange(of: Words, route: str) -> Exchange:
    return of_request(all_wires()[of.wire], REQUEST, ROUTES[route], form=of.form, seed=b"s")


def seen(of: Words, body: bytes, out: bytes, one: Exchange) -> Any:
    """What is said of a reply, and what its client gets. New ids begin as the API's do."""
    read = replies.read(of.wire, of.form, out, Pieces())
    calls = [(call.name, call.arguments, call.complete, bool(call.id)) for lane in read.lanes for call in lane.calls]
    repairs = [verdict.repairs for _, verdict in one.verdicts]
    texts = "".join(lane.text for lane in read.lanes)
    finish = read.lanes[-1].finish if read.lanes else None
    return words(one), repairs, sorted(note.rule for _, note in one.notes), calls, texts, finish, out == body


@pytest.mark.parametrize(("form", "said", "damage", "route"), CASES)
def test_it_is_as_on_messages(form: str, said: Words, damage: Damage, route: str) -> None:
    expected = MESSAGES[form]
    one = exchange(expected, route)
    body = expected.said(damage)
    wanted = seen(expected, body, run(one, [body]), one)
    for size in (0, 1, 50):
        one = exchange(said, route)
        body = said.said(damage)
        assert seen(said, body, run(one, in_pieces(body, size)), one) == wanted, size


@pytest.mark.parametrize("model", ["anthropic.claude-made-up-v1:0", "us.amazon.nova-made-up-v1:0"])
@pytest.mark.parametrize("form", ["eventstream", "eventstream_chunks", "whole"])
def test_an_error_that_quotes_a_call_becomes_a_reply_with_it(form: Form, model: str) -> None:
    """As gateways in front of Bedrock give it, with the status of an error."""
    raw = '<tool_call>{"name": "edit", "arguments": {"path": "a.ts"}}</tool_call>'
    error = json.dumps({"error": {"code": 500, "message": f"Failed to parse input at pos 0: {raw}"}}).encode()
    assert generation_in(error)
    wire = "bedrock" if form == "eventstream_chunks" else "bedrock_converse"
    request = replace(REQUEST, model=model)
    one = of_request(all_wires()[wire], request, Route(mend=("errors",)), form=form, seed=b"s")
    made = one.answer(error, form, 500)
    assert made is not None
    read = replies.read(wire, form, made, Pieces())
    assert [(call.name, call.complete) for lane in read.lanes for call in lane.calls] == [("edit", True)]
    if form == "eventstream":
        assert converseclient.parsed(made)[-1].keys() == {"metadata"}
    elif form == "eventstream_chunks":
        (first, *_) = map(json.loads, invokeclient.payloads(made))
        assert ("messageStart" in first) == ("nova" in model)


@pytest.mark.parametrize("said", TRANSLATED["streamed"], ids=["converse", "claude", "nova", "interactions"])
def test_a_sound_call_stays_with_all_kinds_of_mending(said: Words) -> None:
    body = said.said(Damage("sound", "", (CALL,)))
    one = exchange(said, "all kinds")
    assert run(one, [body]) == body
    assert words(one) == ["native edit"]
