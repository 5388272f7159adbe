"""The same reply on every wire that can carry calls: what an upstream sends, and what a strict client makes of it.

`SPOKEN` is a table by wire and form, for tests that hold for all of them. The clients are those of each wire's tests.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from support import (
    anthropicclient,
    chatclient,
    cohereclient,
    converseclient,
    geminiclient,
    interactionsclient,
    invokeclient,
    ollamaclient,
    responsesclient,
)
from toolcalls.processors import Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision, call_policy_of, decide
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

type Calls = list[tuple[str, Any]]


@dataclass(frozen=True)
class Spoken:
    """One wire in one form.

    said    the body of a reply whose text comes in these pieces
    heard   the text and the complete calls, each with its decoded arguments, that a client makes of a body; what breaks
            a rule of the API is an AssertionError
    ids     the calls' ids, as the client got them; () where the API has none
    edited  a body in which bytes of the payloads are changed; a binary form has lengths and checksums, too
    """

    wire: str
    form: Form
    said: Callable[[Sequence[str]], bytes]
    heard: Callable[[bytes], tuple[str, Calls]]
    ids: Callable[[bytes], list[str]]
    edited: Callable[[bytes, Callable[[bytes], bytes]], bytes] = lambda body, change: change(body)


def _of_dicts(calls: Sequence[Any]) -> Calls:
    return [(call["name"], json.loads(call["arguments"])) for call in calls]


def _chat(body: bytes) -> tuple[str, Calls]:
    choice = chatclient.received(body).choices[0]
    return choice.text, _of_dicts(choice.calls)


def _cohere(body: bytes) -> tuple[str, Calls]:
    reply = cohereclient.received(body)
    return reply.text, _of_dicts(reply.calls)


def _responses(body: bytes) -> tuple[str, Calls]:
    reply = responsesclient.received(body)
    return reply.text, _of_dicts(reply.calls)


def _anthropic(body: bytes) -> tuple[str, Calls]:
    reply = anthropicclient.received(body)
    return reply.text, [
        (call["name"], json.loads(call.get("input") or call.get("arguments") or "{}")) for call in reply.calls
    ]


def _converse(body: bytes) -> tuple[str, Calls]:
    reply = converseclient.received(body)
    return reply.text, _of_dicts(reply.calls)


def _interactions(body: bytes) -> tuple[str, Calls]:
    reply = interactionsclient.received(body)
    return reply.text, _of_dicts(reply.calls)


def _invoke(body: bytes) -> tuple[str, Calls]:
    reply = invokeclient.received(body)
    return reply.text, _of_dicts(reply.calls)


def _gemini(form: geminiclient.Body) -> Callable[[bytes], tuple[str, Calls]]:
    def heard(body: bytes) -> tuple[str, Calls]:
        got = geminiclient.received(body, form).candidates[0]
        return got.text, list(got.calls)

    return heard


def _gemini_said(form: geminiclient.Body) -> Callable[[Sequence[str]], bytes]:
    def said(pieces: Sequence[str]) -> bytes:
        replies = [geminiclient.reply([piece]) for piece in pieces]
        return geminiclient.body_of([*replies, geminiclient.reply([""], "STOP")], form)

    return said


def _ollama(body: bytes) -> tuple[str, Calls]:
    got = ollamaclient.received(body)
    return got.text, list(got.calls)


SPOKEN = {
    "openai_chat": Spoken(
        "openai_chat",
        "sse",
        chatclient.stream,
        _chat,
        lambda body: [call["id"] for call in chatclient.received(body).choices[0].calls],
    ),
    "cohere": Spoken(
        "cohere",
        "sse",
        cohereclient.said,
        _cohere,
        lambda body: [call["id"] for call in cohereclient.received(body).calls],
    ),
    "openai_responses": Spoken(
        "openai_responses",
        "sse",
        lambda pieces: responsesclient.written(responsesclient.stream([list(pieces)])),
        _responses,
        lambda body: [item["call_id"] for item in responsesclient.received(body).items if "call_id" in item],
    ),
    "anthropic": Spoken(
        "anthropic",
        "sse",
        lambda pieces: anthropicclient.written(anthropicclient.stream([anthropicclient.text(*pieces)])),
        _anthropic,
        lambda body: [call["id"] for call in anthropicclient.received(body).calls],
    ),
    "bedrock_converse": Spoken(
        "bedrock_converse",
        "eventstream",
        lambda pieces: converseclient.written(anthropicclient.stream([anthropicclient.text(*pieces)])),
        _converse,
        lambda body: [call["id"].replace("toolu_", "tooluse_") for call in converseclient.received(body).calls],
        converseclient.edited,
    ),
    "bedrock": Spoken(
        "bedrock",
        "eventstream_chunks",
        lambda pieces: invokeclient.written(anthropicclient.stream([anthropicclient.text(*pieces)])),
        _invoke,
        lambda body: [call["id"].replace("toolu_", "toolu_bdrk_") for call in invokeclient.received(body).calls],
        invokeclient.edited,
    ),
    "gemini_interactions": Spoken(
        "gemini_interactions",
        "sse",
        lambda pieces: interactionsclient.written(anthropicclient.stream([anthropicclient.text(*pieces)])),
        _interactions,
        lambda body: [call["id"].replace("toolu_", "call_") for call in interactionsclient.received(body).calls],
    ),
    "gemini, events": Spoken("gemini", "sse", _gemini_said("sse"), _gemini("sse"), lambda _: []),
    "gemini, array": Spoken("gemini", "json_array", _gemini_said("json_array"), _gemini("json_array"), lambda _: []),
    "ollama": Spoken(
        "ollama",
        "ndjson",
        lambda pieces: ollamaclient.body_of([*map(ollamaclient.line, pieces), ollamaclient.line("", "stop")]),
        _ollama,
        lambda _: [],
    ),
}

# Those whose bodies are text, in which bytes can be changed.
TEXTUAL = {name: spoken for name, spoken in SPOKEN.items() if spoken.form in {"sse", "json_array", "ndjson"}}


def exchange(
    spoken: Spoken,
    tools: Sequence[Tool],
    route: Route | None = None,
    *,
    observes: bool = False,
    processors: Processors | None = None,
) -> Exchange:
    """An exchange of this wire that lifts, or one that only observes."""
    route = route or Route(client="native", upstream="text")
    request = Request(tools=tuple(tools))
    decision = Decision("observe", "native", "native", None, ()) if observes else decide(route, request, {}, ())
    call_policy, toolbox = call_policy_of(route, request, decision)
    wire = all_wires()[spoken.wire]
    return Exchange(wire, call_policy, decision, toolbox, form=spoken.form, seed=b"test", processors=processors)


def through(one: Exchange, body: bytes, size: int = 0) -> bytes:
    """What leaves when a body goes through in pieces of `size` bytes, 0 for one piece."""
    size = size or max(1, len(body))
    return b"".join([one.feed(body[at : at + size]) for at in range(0, len(body), size)]) + one.close()
