"""Remembers lifted calls by their ids, for conversations that a server keeps.

Such are `previous_response_id`, `conversation` (Responses API), `thread` (Messages API) and `previous_interaction_id`
(Interactions API).

A client of such a conversation sends only what is new: the result of a call, and not the call. The server has kept what
its model said, and a lifted call was text there, so it refuses a result of a call that it does not know ("No tool call
found for function call output"). Codex does so over WebSocket, where every turn names the one before it.

So calls are remembered when they are lifted. Where the route rewrites requests, the call is in front of its result
again: in the Responses API an item without an `id` of its own is new, whatever the server keeps
(https://developers.openai.com/api/docs/guides/function-calling). What the other two take in front of a result is not
documented, so there, as where requests are not rewritten, a note says what the server will miss.

Over WebSocket there is a way without either: where the server has refused such a request, its error leaves as the one
after which clients send the whole conversation ("previous_response_not_found",
https://developers.openai.com/api/docs/guides/websocket-mode), and the calls with it.

A request that brings its calls itself is left alone, as is a result of a call that nobody here has lifted.

Tools, too, may be in the conversation itself, once (`additional_tools`, which Codex sends for newer models), so that
later requests declare none: they are remembered by the id of the reply.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from hashlib import blake2b
from itertools import groupby
from typing import Protocol
from weakref import WeakSet

from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import Conversation, PastCall, Result, Turn, conversation_of
from toolcalls.requests.evidence import Decision
from toolcalls.requests.rewriting import Rewritten
from toolcalls.values import rawjson
from toolcalls.wires import Wire

_CALLS, _CHARS = 4096, 8_000_000  # how many calls are remembered, and characters of their arguments
_REPLIES = 1024  # of how many replies the tools are remembered
_TOOL_CHARS = 8_000_000  # and characters of their declarations; agents declare the same ones in each conversation
_TAKES_CALLS = "openai_responses"
REFUSED = "the server may refuse the request"
_BAD_REQUEST, _NOT_FOUND = 400, "previous_response_not_found"
# What says that the server keeps the conversation. Only such a request is read for a note.
_KEPT: Mapping[str, tuple[bytes, ...]] = {
    _TAKES_CALLS: (b'"previous_response_id"', b'"conversation"'),
    "anthropic": (b'"thread"',),
    "gemini_interactions": (b'"previous_interaction_id"',),
}


class ReplyCall(Protocol):
    """A call of a reply: `ClientCall`. `dialect` is None for one that the upstream made natively."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def dialect(self) -> str | None: ...
    @property
    def complete(self) -> bool: ...
    @property
    def arguments(self) -> str: ...


class CallSource(Protocol):
    """A reply whose calls are remembered, such as an `Exchange`."""

    @property
    def decision(self) -> Decision: ...
    @property
    def call_policy(self) -> CallPolicy: ...
    @property
    def reply_id(self) -> str: ...
    @property
    def client_calls(self) -> Sequence[tuple[int, ReplyCall]]: ...


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is remembered of replies: lifted calls, and the tools that conversations declare, by the ids of replies."""

    calls: tuple[PastCall, ...] = ()
    tools: dict[str, tuple[Tool, ...]] = field(default_factory=dict)


class _ToolMemory:
    """The tools of the latest conversations, by the ids of their replies, up to a size. Equal tools are kept once."""

    def __init__(self) -> None:
        self._by_reply: dict[str, str] = {}  # the digest of the tools
        self._tools: dict[str, tuple[Tool, ...]] = {}  # by their digest
        self._replies: Counter[str] = Counter()  # that have the tools of a digest
        self._sizes: dict[str, int] = {}

    def of(self, id_: str) -> tuple[Tool, ...]:
        """The tools of a reply's conversation, () where they are not known."""
        return self._tools.get(self._by_reply.get(id_, ""), ())

    def keep(self, id_: str, tools: tuple[Tool, ...]) -> None:
        """Remember the tools of a reply's conversation."""
        self._forget(id_)
        written = json.dumps([astuple(tool) for tool in tools])
        digest = blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        self._tools.setdefault(digest, tools)
        self._sizes[digest] = len(written)
        self._by_reply[id_] = digest
        self._replies[digest] += 1
        while self._by_reply and (len(self._by_reply) > _REPLIES or sum(self._sizes.values()) > _TOOL_CHARS):
            self._forget(next(iter(self._by_reply)))

    def _forget(self, id_: str) -> None:
        digest = self._by_reply.pop(id_, None)
        if digest is None:
            return
        self._replies[digest] -= 1
        if not self._replies[digest]:
            del self._replies[digest], self._tools[digest], self._sizes[digest]


class CallMemory:
    """The latest lifted calls of all replies, and the tools that were declared in conversations.

    A client may answer a call before its reply has ended, so running replies are searched, too.
    """

    def __init__(self) -> None:
        self._calls: dict[str, PastCall] = {}
        self._free_chars = _CHARS
        self._tools = _ToolMemory()
        self._latest: tuple[Tool, ...] = ()
        self._running: WeakSet[CallSource] = WeakSet()

    def __bool__(self) -> bool:
        return bool(self._calls or self._running)

    def reply_started(self, reply: CallSource) -> None:
        """Begin to search the calls of this reply."""
        if reply.decision.kind == "lift":
            self._running.add(reply)

    def reply_ended(self, reply: CallSource) -> Remembered:
        """Remember the calls of this reply, and the tools of its request. What that is."""
        request, tools = reply.call_policy.request, {}
        if request.conversation_tools:
            tools = dict.fromkeys(filter(None, (reply.reply_id, request.continues)), request.conversation_tools)
        is_lifted = reply.decision.kind == "lift"
        if is_lifted:
            self._running.discard(reply)
        remembered = Remembered(tuple(_lifted(reply)) if is_lifted else (), tools)
        self.add(remembered)
        return remembered

    def add(self, remembered: Remembered) -> None:
        """Remember calls and tools; the oldest go where they are too many."""
        for id_, tools in remembered.tools.items():
            self._tools.keep(id_, tools)
        for call in remembered.calls:
            self._free_chars += len(self._calls[call.id].arguments) if call.id in self._calls else 0
            self._calls.pop(call.id, None)
            self._calls[call.id] = call
            self._free_chars -= len(call.arguments)
        while self._calls and (self._free_chars < 0 or len(self._calls) > _CALLS):
            self._free_chars += len(self._calls.pop(next(iter(self._calls))).arguments)

    def __getitem__(self, id_: str) -> PastCall | None:
        """The call of an id, None for one that is not known."""
        if id_ in self._calls:
            return self._calls[id_]
        return next((call for reply in list(self._running) for call in _lifted(reply) if call.id == id_), None)

    def unknown_ids(self, wire: Wire, body: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a request needs of a conversation that the server keeps, and is not known here: the ids of the calls
        that it has results of, and of the reply that it goes on from. Native calls, which nobody remembers, are there.
        """
        if not any(mark in body for mark in _KEPT.get(wire.name, ())):
            return (), ()
        try:
            conversation = conversation_of(wire.name, body)
            blocks = [block for turn in conversation.turns for block in turn.blocks]
        except (ValueError, RecursionError):
            return (), ()
        called, continues = {block.id for block in blocks if isinstance(block, PastCall)}, conversation.continues
        results = dict.fromkeys(block.id for block in blocks if isinstance(block, Result))
        replies = (continues,) if continues and not self._tools.of(continues) else ()
        return tuple(id_ for id_ in results if id_ not in called and self[id_] is None), replies

    def assume_latest(self, request: Request) -> None:
        """Take a request's tools for those of the conversation, for requests that continue an unknown reply."""
        self._latest = request.conversation_tools

    def with_tools(self, request: Request) -> Request:
        """A request with the tools of the conversation that it continues."""
        tools = self._tools.of(request.continues) or (self._latest if request.continues else ())
        if not tools:
            return request
        known = {tool.name for tool in request.tools}
        return replace(
            request,
            tools=(*request.tools, *(tool for tool in tools if tool.name not in known)),
            conversation_tools=(
                *request.conversation_tools,
                *(tool for tool in tools if tool.name not in known),
            ),
        )


def _lifted(reply: CallSource) -> Iterator[PastCall]:
    for _, made in reply.client_calls:
        if made.dialect is not None and made.complete:
            yield PastCall(made.id, made.name, made.arguments)


def missing_calls(conversation: Conversation, calls: CallMemory) -> dict[str, PastCall]:
    """The lifted calls, by id, of which a conversation holds the results but not the calls."""
    called: set[str] = set()
    found: dict[str, PastCall] = {}
    for turn in conversation.turns if calls else ():
        for block in turn.blocks:
            if isinstance(block, PastCall):
                called.add(block.id)
            elif isinstance(block, Result) and block.id not in called and (call := calls[block.id]) is not None:
                found[block.id] = call
    return found


def with_missing_calls(wire: str, conversation: Conversation, missing: Mapping[str, PastCall]) -> Rewritten:
    """The conversation with the `missing` calls in front of their results, where the API takes them there."""
    if not missing or wire != _TAKES_CALLS:
        return Rewritten(conversation)
    turns: list[Turn] = []
    for role, group in groupby(conversation.turns, lambda turn: turn.role):
        row = list(group)
        ids = [block.id for turn in row for block in turn.blocks if isinstance(block, Result)] if role == "tool" else []
        calls = [missing[id_] for id_ in dict.fromkeys(ids) if id_ in missing]
        turns.extend([Turn("assistant", tuple(calls))] if calls else [])
        turns.extend(row)
    said = f"{len(missing)} call{'' if len(missing) == 1 else 's'} in front of the results"
    note = f"{said}, since the server keeps the conversation and has them as text"
    return Rewritten(conversation.changed(turns=turns), (note,))


def missing_call_notes(
    wire: str, conversation: Conversation | None, calls: CallMemory | None, *, rewrites: bool
) -> tuple[str, ...]:
    """Notes for a request that holds results without their calls, and is not rewritten."""
    if not calls or conversation is None or (rewrites and wire == _TAKES_CALLS):
        return ()
    if not any(mark in conversation.body for mark in _KEPT.get(wire, ())):
        return ()
    missing = missing_calls(conversation, calls)
    if not missing:
        return ()
    names = ", ".join(dict.fromkeys(call.name for call in missing.values()))
    helps = "; `rewrite_request: true` in its route puts the call in front of it" if wire == _TAKES_CALLS else ""
    return (f"{REFUSED}: it holds a result of {names}, whose call is text in what the server keeps{helps}",)


def sent_again(error: bytes) -> bytes:
    """An error event over WebSocket that answers a request with such results, as the one after which the client sends
    the whole conversation; itself where it says something else.
    """
    fields = rawjson.fields(error)
    error_fields = rawjson.fields(fields.get("error"))
    if rawjson.value(fields.get("status")) != _BAD_REQUEST or not error_fields:
        return error
    return rawjson.written({**fields, "error": {**error_fields, "code": _NOT_FOUND, "param": "previous_response_id"}})
