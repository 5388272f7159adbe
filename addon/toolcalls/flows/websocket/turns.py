"""The turns of a WebSocket connection as its flow keeps them: the request, and both sides of the reply by message.

A flow holds the messages as they left, those that were dropped, and those that we injected. `flow.metadata` holds what
these do not show:

toolcalls_messages   messages that were changed: [from the client?, number, content as it came]; the number counts the
                     messages of that side from 0, without those that we injected
toolcalls_turns      the report of each reply that was read (`report.make_report`), with `number`: which message
                     asked for it

Metadata may come from a file, so its types are checked.
"""

import json
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

from toolcalls.flows import flow_metadata

MESSAGES_KEY = "toolcalls_messages"
TURNS_KEY = "toolcalls_turns"

# What ends a reply.
END_TYPES = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"})
REQUEST_TYPE = "response.create"
# The members of events that hold what a model said.
_OUTPUT = ("item", "items", "output", "part", "delta", "text", "arguments", "input")
_BOUNDARY_TYPES = [f'"{kind}"'.encode() for kind in (REQUEST_TYPE, *sorted(END_TYPES))]


def type_and_stream(content: bytes) -> tuple[str, str]:
    """A message's `type` and `stream_id`; "" for what it lacks."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(fields, dict):
        return "", ""
    kind, stream = fields.get("type"), fields.get("stream_id")
    return (kind if isinstance(kind, str) else "", stream if isinstance(stream, str) else "")


def holds_no_output(content: bytes) -> bool:
    """Whether a message is an event without any output of a model: no item, no piece of one, no response with items."""
    try:
        fields = json.loads(content, object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError):
        return False
    if not isinstance(fields, dict) or not isinstance(fields.get("type"), str):
        return False
    response = fields.get("response") or {}
    within = isinstance(response, dict) and not (response.get("output") or response.get("output_text"))
    return within and not any(fields.get(key) for key in _OUTPUT)


def _unambiguous(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. Raises ValueError where it has a key twice: parsers differ in which they take."""
    made = dict(members)
    if len(made) < len(members):
        raise ValueError("a key comes twice")
    return made


def _boundary_type(content: bytes) -> tuple[str, str]:
    """`type_and_stream` of a message that begins or ends a reply, or names a stream; ("", "") for any other."""
    if b'"stream_id"' in content or any(word in content for word in _BOUNDARY_TYPES):
        return type_and_stream(content)
    return "", ""


def line_of(content: bytes) -> bytes:
    """A message as one line: raw line ends are white space in JSON."""
    return content.replace(b"\r", b" ").replace(b"\n", b" ")


class MessageNumbers:
    """Numbers the messages of each side as they come."""

    def __init__(self) -> None:
        self._next = {True: 0, False: 0}

    def number(self, message: WebSocketMessage) -> int | None:
        """The message's number on its side; None for one that we injected."""
        if is_injected(message):
            return None
        self._next[message.from_client] += 1
        return self._next[message.from_client] - 1


def is_injected(message: WebSocketMessage) -> bool:
    """Whether we injected a message in front of another one: it never came from the server."""
    return message.injected and not message.from_client


def store_original(flow: http.HTTPFlow, message: WebSocketMessage, number: int, content: bytes) -> None:
    """Keep the content that a message had when it came."""
    flow.metadata.setdefault(MESSAGES_KEY, []).append(
        [message.from_client, number, flow_metadata.metadata_bytes(content)]
    )


def store_report(flow: http.HTTPFlow, number: int, report: Mapping[str, Any]) -> None:
    """Keep the report of the turn that the client's message `number` asked for, instead of an earlier one."""
    stored = flow_metadata.writable({**report, "number": number})
    reports = turn_reports(flow)
    if any(one["number"] == number for one in reports):
        flow.metadata[TURNS_KEY] = [stored if one["number"] == number else one for one in reports]
    else:
        flow.metadata[TURNS_KEY] = [*reports, stored]


def turn_reports(flow: http.HTTPFlow) -> list[dict[str, Any]]:
    """The reports of a connection's turns, in the order of their ends."""
    return [one for one in listed_reports(flow) if _is_numbered(one)]


def listed_reports(flow: http.HTTPFlow) -> list[Any]:
    """What stands where the reports are, unchecked. Another list whenever there is a new report."""
    found = flow.metadata.get(TURNS_KEY)
    return found if isinstance(found, list) else []


def reports_by_number(flow: http.HTTPFlow, numbers: Collection[int]) -> dict[int, dict[str, Any]]:
    """The reports of the turns with these numbers, as far as there are any. Those that came last are found soonest."""
    found: dict[int, dict[str, Any]] = {}
    for one in reversed(listed_reports(flow)):
        if len(found) == len(numbers):
            break
        if _is_numbered(one) and one["number"] in numbers:
            found.setdefault(one["number"], one)
    return found


def _is_numbered(report: Any) -> bool:
    return isinstance(report, dict) and isinstance(report.get("number"), int)


def original_messages(flow: http.HTTPFlow) -> dict[tuple[bool, int], bytes]:
    """The content that changed messages had when they came, by side and number."""
    return _originals(_kept(flow))


def _kept(flow: http.HTTPFlow) -> list[Any]:
    found = flow.metadata.get(MESSAGES_KEY)
    return found if isinstance(found, list) else []


def _originals(kept: Iterable[Any]) -> dict[tuple[bool, int], bytes]:
    return {
        (bool(one[0]), one[1]): one[2]
        for one in kept
        if isinstance(one, list) and len(one) == 3 and isinstance(one[1], int) and isinstance(one[2], bytes)
    }


def messages_as_received(flow: http.HTTPFlow) -> Iterator[tuple[WebSocketMessage, bytes | None]]:
    """The messages in order, each with the content that it had when it came; None for one that we injected."""
    changed = original_messages(flow)
    counter = MessageNumbers()
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
        """The lines as one body."""
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

    def add(self, message: WebSocketMessage, place: int, original: bytes | None) -> None:
        """The next message of its reply."""
        self.messages.append(place)
        after = max(0, round((message.timestamp - self.started) * 1_000_000))
        sides = [(self.upstream, original), (self.client, None if message.dropped else message.content)]
        for side, content in sides:
            if content is not None:
                side.lines.append(line_of(content) + b"\n")
                side.microseconds.append(after)


class TurnReader:
    """The turns of a connection, read on from where they were read last: it may have a hundred thousand messages, and
    who looks at it while it grows looks again and again.

    turns   in the order in which they were asked for
    fresh   those of them that whoever looks does not have yet, by their place among all (`records_of`)
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.turns: list[Turn] = []
        self.fresh: dict[int, Turn] = {}
        self._last: tuple[WebSocketMessage, bytes, bool] | None = None  # that was read, as it was then
        self._open: dict[str, deque[Turn]] = {}
        self._counter = MessageNumbers()
        self._asked = -1
        self._read = 0  # messages
        self._known = 0  # messages that left otherwise than they came
        self._changed: dict[tuple[bool, int], bytes] = {}

    def new_messages(self, flow: http.HTTPFlow) -> tuple[list[WebSocketMessage], list[Any]]:
        """What has come since, for `read`; all of it where the last message was read before the addon had it in hand,
        which may have changed or dropped it, or put others in front of it.
        """
        messages = flow.websocket.messages if flow.websocket is not None else []
        if self._last is not None:
            message, content, dropped = self._last
            here = self._read <= len(messages) and messages[self._read - 1] is message
            if not here or (message.content, message.dropped) != (content, dropped):
                self._reset()
        return messages[self._read :], _kept(flow)[self._known :]

    def read(self, messages: list[WebSocketMessage], kept: list[Any]) -> None:
        """Go on with the `new_messages`."""
        self._changed.update(_originals(kept))
        self._known += len(kept)
        for message in messages:
            place, self._read = self._read, self._read + 1
            number = self._counter.number(message)
            original = None if number is None else self._changed.get((message.from_client, number), message.content)
            if message.from_client:
                self._asked += 1
            if message.is_text:
                self._assign(message, place, original)
            self._last = message, message.content, message.dropped

    def _assign(self, message: WebSocketMessage, place: int, original: bytes | None) -> None:
        content = message.content if original is None else original
        kind, stream = _boundary_type(content)
        if message.from_client and kind == REQUEST_TYPE:
            sent = message.content if message.content != content else None
            turn = Turn(self._asked, content, sent, message.timestamp, [place])
            self.fresh[len(self.turns)] = turn
            self.turns.append(turn)
            self._open.setdefault(stream, deque()).append(turn)
        elif not message.from_client and self._open.get(stream):
            turn = self._open[stream][0]
            turn.add(message, place, original)
            if original is not None and kind in END_TYPES:
                turn.ended = message.timestamp
                self._open[stream].popleft()


def turns_of(flow: http.HTTPFlow) -> list[Turn]:
    """The turns of a connection, in the order in which they were asked for."""
    reading = TurnReader()
    reading.read(*reading.new_messages(flow))
    return reading.turns
