"""Servers write all members of a class, null where there is nothing: whatever is null says nothing, on every wire.

Strategy: one reply with a call in text, and what the addon makes of it, with a native one. Beside the members that an
API has there, those that are missing are put in as null. What leaves must be the same but for what is null.
"""

import json

import pytest

from support import (
    anthropicclient,
    chatclient,
    cohereclient,
    converseclient,
    geminiclient,
    interactionsclient,
    ollamaclient,
    responsesclient,
)
from support.exchanges import run
from support.nullmembers import REPLIES, changed, each, emptied, filled
from support.spoken import SPOKEN, Spoken, exchange, through
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import Route
from toolcalls.wires import all_wires

TOOLS = [Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}})]
TEXT = 'I look.\n\n<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'
PIECES = [TEXT[at : at + 9] for at in range(0, len(TEXT), 9)]
_MESSAGE = anthropicclient.whole(
    anthropicclient.stream([anthropicclient.thinking("Where?"), anthropicclient.text(TEXT)])
)
_CHAT = json.dumps(chatclient.outer([{"index": 0, "message": {"content": TEXT}, "finish_reason": "stop"}])).encode()
WHOLE = {
    "openai_chat": _CHAT,
    "anthropic": _MESSAGE,
    "bedrock": _MESSAGE,
    "bedrock_converse": converseclient.whole(_MESSAGE),
    "gemini": geminiclient.body_of([geminiclient.reply([TEXT], "STOP")], "whole"),
    "openai_responses": responsesclient.whole(responsesclient.stream([[TEXT]])),
    "cohere": cohereclient.whole(_CHAT),
    "ollama": ollamaclient.body_of([ollamaclient.line(TEXT, "stop")]),
    "gemini_interactions": interactionsclient.whole(_MESSAGE),
}
NAMED = each(REPLIES)
text_and_native = pytest.mark.parametrize("native", [False, True], ids=["text", "native"])


def with_nulls(body: bytes, wire: str, names: str) -> bytes:
    return changed(body, lambda value: filled(value, REPLIES[wire].split(), names.split()))


def told(spoken: Spoken, body: bytes) -> list[bytes]:
    """The payloads of a body without what says nothing."""
    found: list[bytes] = []
    spoken.edited(body, lambda payload: found.append(payload) or payload)  # type: ignore[func-returns-value]
    return [changed(one, emptied) for one in found]


@pytest.mark.parametrize(
    ("spoken", "names"),
    [(one, names) for one in SPOKEN.values() for wire, names in NAMED if wire == one.wire],
    ids=lambda one: f"{one.wire} {one.form}" if isinstance(one, Spoken) else one.partition(" ")[0],
)
@text_and_native
def test_a_stream(spoken: Spoken, names: str, *, native: bool) -> None:
    body = spoken.said(PIECES)
    if native:
        body = through(exchange(spoken, TOOLS), body)
    expected, made = exchange(spoken, TOOLS), exchange(spoken, TOOLS)
    out = through(expected, body)
    given = spoken.edited(body, lambda payload: with_nulls(payload, spoken.wire, names))
    assert given != body or names == "text", "nothing was put in"
    left = through(made, given)
    assert made.verdicts == expected.verdicts
    assert made.notes == expected.notes
    assert told(spoken, left) == told(spoken, out)
    assert not native or left == given, "nothing had to change"


@pytest.mark.parametrize(("wire", "names"), NAMED, ids=[f"{wire} {names.partition(' ')[0]}" for wire, names in NAMED])
@text_and_native
def test_a_whole_reply(wire: str, names: str, *, native: bool) -> None:
    body = WHOLE[wire]
    if native:
        body = run(whole_exchange(wire), [body])
    expected, made = whole_exchange(wire), whole_exchange(wire)
    out = run(expected, [body])
    assert [verdict.status for _, verdict in expected.verdicts] == ["native" if native else "lifted"]
    given = with_nulls(body, wire, names)
    left = run(made, [given])
    assert made.verdicts == expected.verdicts
    assert made.notes == expected.notes
    assert changed(left, emptied) == changed(out, emptied)
    assert not native or left == given, "nothing had to change"


def whole_exchange(wire: str) -> Exchange:
    route = Route(client="native", upstream="text")
    request = Request(tools=tuple(TOOLS))
    decision = decide(route, request, {}, ())
    call_policy, toolbox = call_policy_of(route, request, decision)
    return Exchange(all_wires()[wire], call_policy, decision, toolbox, form="whole", seed=b"test")
