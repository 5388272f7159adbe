"""APIs that say in other words what Chat Completions or Messages says: how each says a reply, and who reads it.

`TRANSLATED` is the table: a row for each API, or model, in each form. What the base API's cases (`tests/cases/wires`)
and damaged calls (`damagedcalls`) say holds for it, too.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from support import anthropicclient, chatclient, cohereclient, converseclient, interactionsclient, invokeclient
from support.casefiles import openai_tools
from support.damagedcalls import REQUEST, Damage, anthropic_streamed, chat_streamed, streamed, whole
from support.exchanges import of_case, of_request
from support.wirecases import (
    FILES,
    Case,
    Tools,
    anthropic_events,
    anthropic_request,
    chat_deltas,
    chat_request,
    chat_whole,
    check_anthropic,
    check_chat,
)
from toolcalls.replies.exchange import Exchange
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form


@dataclass(frozen=True)
class Base:
    """An API whose replies others say in their words.

    events, body     a case's reply: what a stream consists of; as one body
    damaged_events   what a stream with damaged calls consists of
    damaged_stream   that in the API's own words
    check            assert that a client got of a reply what its case says
    """

    wire: str
    events: Callable[[Case], Any]
    body: Callable[[Case], bytes]
    damaged_events: Callable[[Damage], Any]
    damaged_stream: Callable[[Damage], bytes]
    check: Callable[[Case, Any, Exchange], None]

    def damaged_body(self, damage: Damage) -> bytes:
        return json.dumps(whole(self.wire, damage.calls, damage.text), separators=(",", ":")).encode()

    def said(self, damage: Damage, *, streams: bool) -> bytes:
        return self.damaged_stream(damage) if streams else self.damaged_body(damage)


def _chat_deltas(damage: Damage) -> list[tuple[Any, str | None]]:
    chunks = chat_streamed(damage.calls, damage.text, "")
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    return [(choice["delta"], choice["finish_reason"]) for choice in choices]


def _chat_stream(damage: Damage) -> bytes:
    return b"".join([*map(chatclient.event, chat_streamed(damage.calls, damage.text, "")), b"data: [DONE]\n\n"])


CHAT = Base("openai_chat", chat_deltas, chat_whole, _chat_deltas, _chat_stream, check_chat)
MESSAGES = Base(
    "anthropic",
    anthropic_events,
    lambda case: anthropicclient.whole(anthropic_events(case)),
    lambda damage: list(anthropic_streamed(damage.calls, damage.text, "")),
    lambda damage: streamed("anthropic", damage.calls, damage.text),
    check_anthropic,
)


@dataclass(frozen=True)
class Translated:
    """An API in one form.

    request   the members of a request with these tools
    said      a reply of the base API in this one's words: the events of a stream, or one body
    heard     what the base API's strict client makes of a body, once a client of this one has read it
    lacks     words that are only in cases and reasons of damage that cannot occur here; () where requests are the base
              API's, too
    model     the name that a request says, where the form of its replies depends on it
    """

    wire: str
    form: Form
    base: Base
    request: Callable[[Tools], Mapping[str, Any]]
    said: Callable[[Any], bytes]
    heard: Callable[[bytes], Any]
    lacks: tuple[str, ...] = ()
    model: str = "m"

    @property
    def streams(self) -> bool:
        return self.form != "whole"

    @property
    def cases(self) -> list[Case]:
        return [
            case
            for case in FILES[self.base.wire]["cases"]
            if "reply" in case
            and (self.streams or case.get("whole", True))
            and (not self.lacks or "request" not in case)
            and not any(word in json.dumps(case) for word in self.lacks)
        ]

    def body(self, case: Case) -> bytes:
        return self.said(self.base.events(case) if self.streams else self.base.body(case))

    def exchange(self, case: Case) -> Exchange:
        tools = openai_tools(case.get("tools", FILES[self.base.wire]["tools"]) or {})
        return of_case(all_wires()[self.wire], case, self.request(tools), self.form)

    def suffers(self, damage: Damage) -> bool:
        """Whether a reply can be damaged so."""
        return self.base.wire in (damage.streamed if self.streams else damage.whole) and damage.reason not in self.lacks

    def damaged(self, damage: Damage) -> bytes:
        return self.said(self.base.damaged_events(damage) if self.streams else self.base.damaged_body(damage))

    def damaged_exchange(self, route: Route) -> Exchange:
        request = replace(REQUEST, model=self.model)
        return of_request(all_wires()[self.wire], request, route, form=self.form, seed=b"s")


def interactions_request(tools: Tools) -> dict[str, Any]:
    return {"input": "Go.", "tools": [{"type": "function", **one["function"]} for one in tools]}


def converse_request(tools: Tools) -> dict[str, Any]:
    functions = [tool["function"] for tool in tools]
    declared = [
        {"toolSpec": {"name": one["name"], "inputSchema": {"json": one.get("parameters", {})}}} for one in functions
    ]
    return {"messages": [], **({"toolConfig": {"tools": declared}} if declared else {})}


def claude_request(tools: Tools) -> dict[str, Any]:
    return {"anthropic_version": "bedrock-2023-05-31", **anthropic_request(tools)}


def nova_request(tools: Tools) -> dict[str, Any]:
    return {"schemaVersion": "messages-v1", **converse_request(tools)}


def _heard_claude(body: bytes) -> anthropicclient.Reply:
    return anthropicclient.understood(json.loads(body.replace(b'"toolu_bdrk_', b'"toolu_')))


def _heard_nova(body: bytes) -> anthropicclient.Reply:
    return converseclient.understood(body.replace(b"toolu_bdrk_", b"tooluse_"))


# The event has a call's number, only the one that begins a call names it, and one may be given no arguments.
COHERE_LACKS = ("without a number", "no_index", "empty_arguments", "repeated_name", "changed_id")
# Blocks of Messages alone, members of its requests, and a reason that it gives in two members.
CONVERSE_LACKS = ("redacted_thinking", "mcp_tool_use", "stop_sequence", "cache_control")
NOVA_LACKS = CONVERSE_LACKS[:3]
INTERACTIONS_LACKS = (
    *CONVERSE_LACKS,
    *("pause_turn", "refusal", "model_context_window_exceeded", "citations_delta", "cited_text", "server_tool_use"),
    "upstream_stop: null",
)
CLAUDE, NOVA = "anthropic.claude-made-up-v1:0", "us.amazon.nova-made-up-v1:0"


def _both(api: Translated, said: Callable[[bytes], bytes], heard: Callable[[bytes], Any]) -> Iterator[Translated]:
    """An API's streams, and its whole replies."""
    yield from (api, replace(api, form="whole", said=said, heard=heard))


_APIS = {
    "cohere": _both(
        Translated("cohere", "sse", CHAT, chat_request, cohereclient.written, cohereclient.received, COHERE_LACKS),
        cohereclient.whole,
        cohereclient.understood,
    ),
    "converse": _both(
        Translated(
            "bedrock_converse", "eventstream", MESSAGES, converse_request,
            converseclient.written, converseclient.received, CONVERSE_LACKS,
        ),
        converseclient.whole,
        converseclient.understood,
    ),
    "claude": _both(
        Translated(
            "bedrock", "eventstream_chunks", MESSAGES, claude_request,
            invokeclient.written, invokeclient.received, model=CLAUDE,
        ),
        bytes,
        _heard_claude,
    ),
    "nova": _both(
        Translated(
            "bedrock", "eventstream_chunks", MESSAGES, nova_request,
            invokeclient.nova, invokeclient.received_nova, NOVA_LACKS, NOVA,
        ),
        converseclient.whole,
        _heard_nova,
    ),
    "interactions": _both(
        Translated(
            "gemini_interactions", "sse", MESSAGES, interactions_request,
            interactionsclient.written, interactionsclient.received, INTERACTIONS_LACKS,
        ),
        interactionsclient.whole,
        interactionsclient.understood,
    ),
}  # fmt: skip
TRANSLATED = {name if api.streams else f"{name}, whole": api for name, apis in _APIS.items() for api in apis}
