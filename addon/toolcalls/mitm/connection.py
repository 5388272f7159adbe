"""The turns of a WebSocket connection, as its flow keeps them: what was asked, and both sides of the reply, message by
message.

A flow holds the messages as they left, those that were dropped, and those that we put in. Beside them stands in
`flow.metadata`, because it cannot be told from these:

toolcalls_messages   messages that left otherwise than they came: [from the client?, number, content as it came]; the
                     number counts the messages of that side from 0, without those that we put in
toolcalls_turns      the report of each reply that was read (`report.of`), with `number`: which message asked for it

Whatever stands there may come from a file, so nothing of it is trusted to have the right type.
"""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

from toolcalls.mitm import store

MESSAGES = "toolcalls_messages"
TURNS = "toolcalls_turns"

# What ends a reply.
ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"})
ASKS = "response.create"
_WORDS = [f'"{kind}"'.encode() for kind in (ASKS, *sorted(ENDS))]


def about(content: bytes) -> tuple[str, str]:
    """A message's type and its stream; "" where it names none."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(fields, dict):
        return "", ""
    kind, stream = fields.get("type"), fields.get("stream_id")
    return (kind if isinstance(kind, str) else "", stream if isinstance(stream, str) else "")


def _about_quickly(content: bytes) -> tuple[str, str]:
    """`about` for a message of which no other type matters than those that begin and end a reply."""
    if b'"stream_id"' in content or any(word in content for word in _WORDS):
        return about(content)
    return "", ""


def line_of(content: bytes) -> bytes:
    """A message as one line: raw line ends are white space in JSON."""
    return content.replace(b"\r", b" ").replace(b"\n", b" ")


class Counter:
    """Numbers the messages of each side as they come."""

    def __init__(self) -> None:
        self._next = {True: 0, False: 0}

    def number(self, message: WebSocketMessage) -> int | None:
        """The message's number on its side; None for one of ours."""
        if is_ours(message):
            return None
        self._next[message.from_client] += 1
        return self._next[message.from_client] - 1


def is_ours(message: WebSocketMessage) -> bool:
    """Whether a message was put in front of another one, and never came from the server."""
    return message.injected and not message.from_client


def keep_original(flow: http.HTTPFlow, message: WebSocketMessage, number: int, content: bytes) -> None:
    """Keep what a message said when it came."""
    flow.metadata.setdefault(MESSAGES, []).append([message.from_client, number, store.as_body(content)])


def keep_report(flow: http.HTTPFlow, number: int, report: Mapping[str, Any]) -> None:
    """Keep the report of the turn that the client's message `number` asked for; another one of it goes."""
    kept = [one for one in reports_of(flow) if one.get("number") != number]
    flow.metadata[TURNS] = [*kept, store.writable({**report, "number": number})]


def reports_of(flow: http.HTTPFlow) -> list[dict[str, Any]]:
    """The reports of a connection's turns, in the order of their ends."""
    found = flow.metadata.get(TURNS)
    listed = found if isinstance(found, list) else []
    return [one for one in listed if isinstance(one, dict) and isinstance(one.get("number"), int)]


def originals_of(flow: http.HTTPFlow) -> dict[tuple[bool, int], bytes]:
    """What messages said that left otherwise, by their side and number."""
    found = flow.metadata.get(MESSAGES)
    return {
        (bool(one[0]), one[1]): one[2]
        for one in (found if isinstance(found, list) else ())
        if isinstance(one, list) and len(one) == 3 and isinstance(one[1], int) and isinstance(one[2], bytes)
    }


def came(flow: http.HTTPFlow) -> Iterator[tuple[WebSocketMessage, bytes | None]]:
    """The messages in order, each with what it said when it came; None for one of ours."""
    changed = originals_of(flow)
    counter = Counter()
    for message in flow.websocket.messages if flow.websocket is not None else ():
        number = counter.number(message)
        yield message, None if number is None else changed.get((message.from_client, number), message.content)


@dataclass(slots=True)
class Side:
    """One side of a reply: its messages as lines, and when they came, in microseconds since the request."""

    lines: list[bytes] = field(default_factory=list)
    microseconds: list[int] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        """All of it."""
        return b"".join(self.lines)

    @property
    def sizes(self) -> list[int]:
        """The size of each message as a line."""
        return [len(line) for line in self.lines]


@dataclass(slots=True)
class Turn:
    """One request of a connection and its reply.

    number     which message of the client's asked for it
    sent       what the upstream got instead of `asked`, None where that is the same
    messages   the places of its messages among all, its request first
    ended      seconds since the epoch, None for a reply that broke off
    """

    number: int
    asked: bytes
    sent: bytes | None
    started: float
    messages: list[int]
    upstream: Side = field(default_factory=Side)
    client: Side = field(default_factory=Side)
    ended: float | None = None

    def take(self, message: WebSocketMessage, place: int, original: bytes | None) -> None:
        """The next message of its reply."""
        self.messages.append(place)
        after = max(0, round((message.timestamp - self.started) * 1_000_000))
        sides = [(self.upstream, original), (self.client, None if message.dropped else message.content)]
        for side, content in sides:
            if content is not None:
                side.lines.append(line_of(content) + b"\n")
                side.microseconds.append(after)


def turns_of(flow: http.HTTPFlow) -> list[Turn]:
    """The turns of a connection, in the order in which they were asked for."""
    turns: list[Turn] = []
    open_: dict[str, deque[Turn]] = {}
    asked = -1
    for place, (message, original) in enumerate(came(flow)):
        if message.from_client:
            asked += 1
        if not message.is_text:
            continue
        content = message.content if original is None else original
        kind, stream = _about_quickly(content)
        if message.from_client and kind == ASKS:
            sent = message.content if message.content != content else None
            turn = Turn(asked, content, sent, message.timestamp, [place])
            turns.append(turn)
            open_.setdefault(stream, deque()).append(turn)
        elif not message.from_client and open_.get(stream):
            turn = open_[stream][0]
            turn.take(message, place, original)
            if original is not None and kind in ENDS:
                turn.ended = message.timestamp
                open_[stream].popleft()
    return turns
