"""Replies over WebSocket, message by message: what the Responses API does over a connection that stays open.

https://developers.openai.com/api/docs/guides/websocket-mode. The client sends `response.create` messages, each with the
body of a request; the server answers with the events of a stream, each a message; with `stream_id` several replies run
side by side. A message is read as one line of a stream, so the exchange is the same as for SSE.

mitmproxy's rules: a hook sees one whole message, and may replace or drop it; messages that it injects leave later than
those that have already arrived, and get mixed up with one that is still arriving. So the messages that must leave
before the one in hand are put in front of it, in the connection that mitmproxy is about to write it to. That is not
mitmproxy's public interface; where it is not found, replies pass unread, and the log says so. mitmproxy cuts a text of
changed length every 4000 bytes and replaces characters that it cuts, so longer ones leave with escapes for all that is
not ASCII. What is held when the connection closes can be sent no more, and the log says that, too.

A connection from a file is read again from its messages as they came (`replay`), and none of them changes.

`refuse_websocket` answers the upgrade with 426 instead, and a client like Codex goes on with SSE at once.

A server that refuses the result of a lifted call, which it has kept as text, is made to ask for the whole conversation
(`recalled`).
"""

import json
import logging
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.proxy.layers.websocket import WebsocketConnection, WebsocketLayer
from mitmproxy.websocket import WebSocketMessage
from wsproto.events import Event, TextMessage
from wsproto.frame_protocol import Opcode

from toolcalls.config import select
from toolcalls.insight import report
from toolcalls.mitm.exchange_plan import ExchangePlan, ReplyNotParsed, plan_for
from toolcalls.mitm.websocket_turns import (
    END_TYPES,
    REQUEST_TYPE,
    MessageNumbers,
    line_of,
    messages_as_received,
    type_and_stream,
)
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.call_memory import Recalled, sent_again
from toolcalls.route import Config
from toolcalls.wires import Wire, wire_of

logger = logging.getLogger(__name__)

_WIRES = frozenset({"openai_responses"})  # the APIs that have such a form
_FRAGMENT = 3900  # bytes, with room to mitmproxy's 4000
_REMEMBERED = 1_000_000  # characters of earlier turns that may still be quoted
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def wire_for(request: http.Request) -> Wire | None:
    """The API whose WebSocket form a request asks for."""
    if request.method != "GET" or request.headers.get("upgrade", "").lower() != "websocket":
        return None
    wire = wire_of(request.path)
    return wire if wire is not None and wire.name in _WIRES else None


def is_ours(flow: http.HTTPFlow) -> bool:
    """Whether a flow is a connection on which replies come that the addon reads."""
    return flow.websocket is not None and wire_for(flow.request) is not None


def refusal(wire: Wire, request: http.Request, config: Config) -> http.Response | None:
    """The answer to an upgrade where the configuration refuses it. The model is not known yet, so no route names it."""
    route = select(config, host=request.pretty_host, path=request.path, model="", wire=wire.name)
    if not route.refuse_websocket:
        return None
    body = {
        "error": {"type": "websocket_refused", "message": "WebSocket is switched off here; send the request by POST"}
    }
    # RFC 9110, section 15.5.22: the answer says which protocol will do.
    headers = {"content-type": "application/json", "upgrade": "HTTP/1.1", "connection": "upgrade"}
    return http.Response.make(426, json.dumps(body), headers)


def joined_report(turns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The report of a connection with one reply or more: what the latest one's says, with the verdicts of all."""
    one = {
        **{key: value for key, value in turns[-1].items() if key != "number"},
        "verdicts": [verdict for turn in turns for verdict in turn.get("verdicts", ())],
        "notes": [note for turn in turns for note in turn.get("notes", ())],
        "failure": next((turn["failure"] for turn in turns if turn.get("failure")), None),
    }
    return {**one, "worst": report.worst(one), "summary": report.told(one)}


def injector_for(flow: http.HTTPFlow) -> Callable[[bytes], None] | None:
    """What sends the client of a flow a message before the one in hand; None where this mitmproxy has no such place."""
    addons: Any = ctx.master.addons  # its methods have no types
    handler: Any = getattr(addons.get("proxyserver"), "connections", {}).get(flow.client_conn.id)
    layers: list[Any] = [] if handler is None else list(handler.layer.context.layers)
    known = {id(layer) for layer in layers}
    for layer in layers:  # which grows: what a client sends through CONNECT has layers of its own, below the stream
        for stream in getattr(layer, "streams", {}).values():
            child = getattr(stream, "child_layer", None)
            if isinstance(child, WebsocketLayer) and child.flow is flow:
                return _Injector(flow, child.client_ws)
            inner = [one for one in stream.context.layers if id(one) not in known]
            known.update(map(id, inner))
            layers += inner
    return None


class _Injector:
    """Frames that leave in one write with the next that mitmproxy sends. The flow has them as injected messages."""

    def __init__(self, flow: http.HTTPFlow, connection: WebsocketConnection) -> None:
        self._messages = flow.websocket.messages if flow.websocket is not None else []
        self._send: Callable[[Event], bytes] = connection.send
        self._frames = b""
        connection.__dict__["send"] = self._both

    def __call__(self, content: bytes) -> None:
        self._frames += self._send(TextMessage(content.decode(errors="replace")))
        self._messages.insert(-1, WebSocketMessage(Opcode.TEXT, False, content, injected=True))

    def _both(self, event: Event) -> bytes:
        frames, self._frames = self._frames, b""
        return frames + self._send(event)


class _OpenTurn:
    """One request and its reply. `number` is that of the request; `exchange` is None for a reply that passes unread."""

    def __init__(self, number: int, plan: ExchangePlan | None) -> None:
        self.number = number
        self.exchange = None if plan is None else plan.exchange("ndjson")
        self.changes = plan is not None and plan.changes
        self.doomed = self.changes and plan is not None and plan.doomed
        self.spelt: dict[bytes, bytes] = {}  # messages of several lines, by the line they are read as

    def feed(self, content: bytes) -> list[bytes]:
        """The messages that leave when this one has come."""
        if self.exchange is None:
            return [content]
        line = line_of(content)
        if line != content:
            self.spelt[line] = content
        return self._changed(content, self.exchange.feed(line + b"\n"))

    def _changed(self, content: bytes, out: bytes) -> list[bytes]:
        if not self.changes:
            return [content]
        return [self.spelt.pop(line, line) for line in out.split(b"\n") if line]


class QuotableTexts:
    """What may be quoted on a connection: a turn sends only what is new, but its reply may repeat earlier ones too."""

    def __init__(self) -> None:
        self._texts: tuple[str, ...] = ()

    def known_to(self, plan: ExchangePlan) -> ExchangePlan:
        """The next turn's plan, with what all turns so far have sent."""
        self._texts += plan.terms.request.quotable
        while sum(map(len, self._texts)) > _REMEMBERED:
            self._texts = self._texts[1:]
        request = replace(plan.terms.request, quotable=self._texts)
        return replace(plan, terms=replace(plan.terms, request=request))


class Connection:
    """One connection.

    plan     what is done to the reply of a request, from its body; None for nothing
    settle   is given each exchange once, when it is over, with the number of the message that asked for it
    ahead    sends the client a message before the one in hand
    keep     is given a message that is about to change, and its number on its side
    """

    def __init__(
        self,
        plan: Callable[[bytes], ExchangePlan | None],
        settle: Callable[[int, Exchange], None],
        ahead: Callable[[bytes], None],
        keep: Callable[[WebSocketMessage, int], None],
    ) -> None:
        self._plan = plan
        self._settle = settle
        self._ahead = ahead
        self._keep = keep
        self._counter = MessageNumbers()
        self._turns: dict[str, deque[_OpenTurn]] = {}
        self._quotable = QuotableTexts()

    def take(self, message: WebSocketMessage) -> None:
        """The next message of the connection, to be changed or dropped in place."""
        number = self._counter.number(message)
        if number is None or not message.is_text or message.dropped:
            return
        if message.from_client:
            self._from_client(message, number)
        else:
            self._from_server(message, number)

    def _change(self, message: WebSocketMessage, number: int, content: bytes) -> None:
        if content != message.content:
            self._keep(message, number)
            message.content = content

    def _from_client(self, message: WebSocketMessage, number: int) -> None:
        kind, stream = type_and_stream(message.content)
        if kind != REQUEST_TYPE:
            return
        plan = self._plan(message.content)
        if plan is not None:
            plan = self._quotable.known_to(plan)
            if plan.request is not None:
                self._change(message, number, _sendable(plan.request[1]))
        self._turns.setdefault(stream, deque()).append(_OpenTurn(number, plan))

    def _from_server(self, message: WebSocketMessage, number: int) -> None:
        content = message.content
        kind, stream = type_and_stream(content)
        turns = self._turns.get(stream)
        if turns and kind == "error" and turns[0].doomed and (again := sent_again(content)) != content:
            logger.info(
                "toolcalls: the server refused a lifted call's result; the client is asked for everything again"
            )
            content = again
        out = turns[0].feed(content) if turns else [content]
        if turns and kind in END_TYPES:
            turn = turns.popleft()
            if not turns:
                del self._turns[stream]
            if turn.exchange is not None:
                out += [line for line in turn.exchange.close().split(b"\n") if line]
                self._settle(turn.number, turn.exchange)
        if not out:
            message.dropped = True
            return
        for one in out[:-1]:
            self._ahead(one)
        if out[-1] != message.content:
            self._change(message, number, _sendable(out[-1]))

    @property
    def coming(self) -> list[tuple[int, Exchange]]:
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
                    self._settle(turn.number, turn.exchange)
        self._turns.clear()
        return held


# The connections that are read now: who looks at a flow finds here how far its replies are.
open_connections: WeakKeyDictionary[http.HTTPFlow, Connection] = WeakKeyDictionary()


def replies_in_progress(flow: http.HTTPFlow) -> list[tuple[int, Exchange]]:
    """The replies of a connection that are awaited or coming (`Connection.coming`); [] for any other flow."""
    messages = open_connections.get(flow) if flow.websocket is not None else None
    return [] if messages is None else messages.coming


def replay(flow: http.HTTPFlow, config: Config) -> list[tuple[int, Exchange]]:
    """The replies of a recorded connection by today's configuration, each with the number of the message that asked for
    it. Raises Unread for a flow that is no such connection; replies that would pass unread are left out.
    """
    wire = wire_for(flow.request)
    if wire is None or flow.websocket is None:
        raise ReplyNotParsed("it is no connection with an API that the addon reads")
    found: list[tuple[int, Exchange]] = []
    recalled = Recalled()

    def plan(body: bytes) -> ExchangePlan | None:
        try:
            return plan_for(wire, flow.request, config, body, recalled)
        except ReplyNotParsed:
            return None

    def settle(number: int, exchange: Exchange) -> None:
        recalled.keep(exchange)
        found.append((number, exchange))

    again = Connection(plan, settle, lambda _: None, lambda *_: None)
    for message, original in messages_as_received(flow):
        if original is not None:
            again.take(WebSocketMessage(message.type, message.from_client, original, message.timestamp))
    again.close()
    return found


def _sendable(content: bytes) -> bytes:
    """JSON that mitmproxy can cut anywhere."""
    if len(content) <= _FRAGMENT or content.isascii():
        return content
    return _NOT_ASCII.sub(_escaped, content.decode(errors="replace")).encode()


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1]
