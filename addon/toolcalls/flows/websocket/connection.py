"""A live WebSocket connection: its replies are read message by message, and messages change as the replies do.

A hook of mitmproxy's sees one whole message, and may replace or drop it. One message can only become several through
`injection`. mitmproxy cuts a text of changed length every 4000 bytes and replaces characters that it cuts, so longer
ones leave with escapes for all that is not ASCII. What is held when the connection closes cannot be sent any more.

A connection from a file is read again from its messages as they were received (`replay`); none of them changes.

A server that keeps the conversation refuses the result of a lifted call, which it has kept as text. Its error is
replaced, so that the client sends the whole conversation again (`sent_again`).

Where a rule may block calls of the connection, no message passes that may hold a call and is read as part of no reply:
one in binary, one before the first request or after the end of a reply, one of an unknown stream (`unread`).
"""

import json
import logging
import re
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

from toolcalls.flows.exchange_plan import ExchangePlan, ReplyNotParsed, plan_for
from toolcalls.flows.websocket.turns import (
    END_TYPES,
    REQUEST_TYPE,
    MessageNumbers,
    holds_no_output,
    line_of,
    messages_as_received,
    type_and_stream,
)
from toolcalls.flows.websocket.upgrade import websocket_wire
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.call_memory import CallMemory, sent_again
from toolcalls.route import Config

logger = logging.getLogger(__name__)

_FRAGMENT = 3900  # bytes, with room to mitmproxy's 4000
_REMEMBERED = 1_000_000  # characters of earlier turns that may still be quoted
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


class _OpenTurn:
    """One request and its reply. `number` is that of the request; `exchange` is None where it is forwarded unparsed."""

    def __init__(self, number: int, plan: ExchangePlan | None) -> None:
        self.number = number
        self.exchange = None if plan is None else plan.exchange("ndjson")
        self.may_change = plan is not None and plan.may_change
        self.may_be_refused = self.may_change and plan is not None and plan.may_be_refused
        self.received: dict[bytes, bytes] = {}  # messages of several lines, by the line they are read as

    def feed(self, content: bytes) -> list[bytes]:
        """The messages that leave when this one has come."""
        if self.exchange is None:
            return [content]
        line = line_of(content)
        if line != content:
            self.received[line] = content
        return self._changed(content, self.exchange.feed(line + b"\n"))

    def _changed(self, content: bytes, out: bytes) -> list[bytes]:
        if not self.may_change:
            return [content]
        return [self.received.pop(line, line) for line in out.split(b"\n") if line]


class QuotableTexts:
    """What may be quoted on a connection: a turn sends only what is new, but its reply may repeat earlier ones too."""

    def __init__(self) -> None:
        self._texts: tuple[str, ...] = ()

    def extend(self, plan: ExchangePlan) -> ExchangePlan:
        """The next turn's plan, with what all turns so far have sent."""
        self._texts += tuple(plan.call_policy.request.quotable)
        while sum(map(len, self._texts)) > _REMEMBERED:
            self._texts = self._texts[1:]
        request = replace(plan.call_policy.request, quotable=self._texts)
        return replace(plan, call_policy=replace(plan.call_policy, request=request))


class Connection:
    """One connection.

    plan        returns what is done to the reply to a request with this body; None for nothing
    on_end      called once for each exchange, when it is over, with the number of the message that asked for it
    inject      sends the client a message before the one in hand; None where that cannot be done, so no reply is read
    on_change   called with a message that is about to change, and its number on its side
    may_block   whether a rule may block calls of the connection, by the configuration as it is now
    """

    def __init__(
        self,
        plan: Callable[[bytes], ExchangePlan | None],
        on_end: Callable[[int, Exchange], None],
        inject: Callable[[bytes], None] | None,
        on_change: Callable[[WebSocketMessage, int], None],
        may_block: Callable[[], bool] = lambda: False,
    ) -> None:
        self._plan = plan
        self._on_end = on_end
        self._inject = inject
        self._on_change = on_change
        self._may_block = may_block
        self._logged: set[str] = set()  # why messages did not pass
        self._counter = MessageNumbers()
        self._turns: dict[str, deque[_OpenTurn]] = {}
        self._quotable = QuotableTexts()

    def handle(self, message: WebSocketMessage) -> None:
        """The next message of the connection, to be changed or dropped in place."""
        number = self._counter.number(message)
        if number is None or message.dropped:
            return
        if message.from_client:
            if message.is_text and self._inject is not None:
                self._from_client(message, number)
        elif message.is_text:
            self._from_server(message, number)
        else:
            self._unread(message, "it is binary")

    def _unread(self, message: WebSocketMessage, why: str) -> None:
        """Leave out a message of the server's that is not read, where a rule may block a call in it."""
        if not self._may_block():
            return
        message.dropped = True
        if why not in self._logged:  # once for a connection, which a server may fill with such messages
            self._logged.add(why)
            logger.warning(f"toolcalls: a WebSocket message was left out, as a rule may block a call in it: {why}")

    def _change(self, message: WebSocketMessage, number: int, content: bytes) -> None:
        if content != message.content:
            self._on_change(message, number)
            message.content = content

    def _from_client(self, message: WebSocketMessage, number: int) -> None:
        kind, stream = type_and_stream(message.content)
        if kind != REQUEST_TYPE:
            return
        plan = self._plan(message.content)
        if plan is not None:
            plan = self._quotable.extend(plan)
            if plan.request is not None:
                self._change(message, number, _sendable(plan.request[1]))
        self._turns.setdefault(stream, deque()).append(_OpenTurn(number, plan))

    def _from_server(self, message: WebSocketMessage, number: int) -> None:
        content = message.content
        kind, stream = type_and_stream(content)
        turns = self._turns.get(stream)
        if not turns and not holds_no_output(content):
            self._unread(message, "it belongs to no reply")
            return
        if turns and kind == "error" and turns[0].may_be_refused and (again := sent_again(content)) != content:
            logger.info(
                "toolcalls: the server rejected the result of a lifted call; "
                "the client is asked to send the whole conversation again"
            )
            content = again
        out = turns[0].feed(content) if turns else [content]
        if turns and kind in END_TYPES:
            turn = turns.popleft()
            if not turns:
                del self._turns[stream]
            if turn.exchange is not None:
                out += [line for line in turn.exchange.close().split(b"\n") if line]
                self._on_end(turn.number, turn.exchange)
        if not out:
            message.dropped = True
            return
        for one in out[:-1]:
            if self._inject is not None:
                self._inject(one)
        if out[-1] != message.content:
            self._change(message, number, _sendable(out[-1]))

    @property
    def replies_in_progress(self) -> list[tuple[int, Exchange]]:
        """The replies that were asked for and have not ended, each with the number of the message that asked for it."""
        found = [turn for turns in self._turns.values() for turn in turns]
        return sorted(
            ((turn.number, turn.exchange) for turn in found if turn.exchange is not None), key=lambda one: one[0]
        )

    def close(self) -> int:
        """The connection is closed, and nothing can be sent any more; returns how many messages were held."""
        held = 0
        for turns in self._turns.values():
            for turn in turns:
                if turn.exchange is not None:
                    held += turn.exchange.abort().count(b"\n")
                    self._on_end(turn.number, turn.exchange)
        self._turns.clear()
        return held


def replay(flow: http.HTTPFlow, config: Config) -> list[tuple[int, Exchange]]:
    """The replies of a recorded connection by today's configuration, each with the number of the message that asked for
    it, without those that are forwarded unparsed. Raises ReplyNotParsed for a flow that is no such connection.
    """
    wire = websocket_wire(flow.request)
    if wire is None or flow.websocket is None:
        raise ReplyNotParsed("it is no connection with an API that the addon reads")
    found: list[tuple[int, Exchange]] = []
    call_memory = CallMemory()

    def plan(body: bytes) -> ExchangePlan | None:
        try:
            return plan_for(wire, flow.request, config, body, call_memory)
        except ReplyNotParsed:
            return None

    def on_end(number: int, exchange: Exchange) -> None:
        call_memory.reply_ended(exchange)
        found.append((number, exchange))

    again = Connection(plan, on_end, lambda _: None, lambda *_: None)
    for message, original in messages_as_received(flow):
        if original is not None:
            again.handle(WebSocketMessage(message.type, message.from_client, original, message.timestamp))
    again.close()
    return found


def _sendable(content: bytes) -> bytes:
    """JSON that mitmproxy can cut anywhere."""
    if len(content) <= _FRAGMENT or content.isascii():
        return content
    return _NOT_ASCII.sub(_escaped, content.decode(errors="replace")).encode()


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1]
