"""The same reply on every wire that can carry calls: what an upstream sends, and what a strict client makes of it.

`SPOKEN` is a table by wire and form, for tests that hold for all of them. The clients are those of each wire's tests.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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


def _heard(received: Callable[[bytes], Any]) -> Callable[[bytes], tuple[str, Calls]]:
    def heard(body: bytes) -> tuple[str, Calls]:
        reply = received(body)
        return reply.text, _of_dicts(reply.calls)

    return heard


def _ids(received: Callable[[bytes], Any], prefix: str = "") -> Callable[[bytes], list[str]]:
    """The ids that a client hears; `prefix`: how new ones begin, where the client puts them into Messages' words."""

    def ids(body: bytes) -> list[str]:
        found = [call["id"] for call in received(body).calls]
        return [id_.replace("toolu_", prefix) for id_ in found] if prefix else found

    return ids


def _chat(body: bytes) -> chatclient.Choice:
    return chatclient.received(body).choices[0]


def _anthropic(body: bytes) -> tuple[str, Calls]:
    reply = anthropicclient.received(body)
    return reply.text, [
        (call["name"], json.loads(call.get("input") or call.get("arguments") or "{}")) for call in reply.calls
    ]


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


def _as_message(wire: str, form: Form, client: Any, prefix: str, **more: Any) -> Spoken:
    """An API that says what Messages says: its client puts that into Messages' words, with their ids."""

    def said(pieces: Sequence[str]) -> bytes:
        return bytes(client.written(anthropicclient.stream([anthropicclient.text(*pieces)])))

    return Spoken(wire, form, said, _heard(client.received), _ids(client.received, prefix), **more)


SPOKEN = {
    "openai_chat": Spoken("openai_chat", "sse", chatclient.stream, _heard(_chat), _ids(_chat)),
    "cohere": Spoken("cohere", "sse", cohereclient.said, _heard(cohereclient.received), _ids(cohereclient.received)),
    "openai_responses": Spoken(
        "openai_responses",
        "sse",
        lambda pieces: responsesclient.written(responsesclient.stream([list(pieces)])),
        _heard(responsesclient.received),
        lambda body: [item["call_id"] for item in responsesclient.received(body).items if "call_id" in item],
    ),
    "anthropic": replace(_as_message("anthropic", "sse", anthropicclient, ""), heard=_anthropic),
    "bedrock_converse": _as_message(
        "bedrock_converse", "eventstream", converseclient, "tooluse_", edited=converseclient.edited
    ),
    "bedrock": _as_message("bedrock", "eventstream_chunks", invokeclient, "toolu_bdrk_", edited=invokeclient.edited),
    "gemini_interactions": _as_message("gemini_interactions", "sse", interactionsclient, "call_"),
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
