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

`refuse_websocket` answers the upgrade with 426 instead, and a client like Codex goes on with SSE at once.
"""

import json
import logging
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mitmproxy import ctx, http
from mitmproxy.proxy.layers.websocket import WebsocketConnection, WebsocketLayer
from mitmproxy.websocket import WebSocketMessage
from wsproto.events import Event, TextMessage
from wsproto.frame_protocol import Opcode

from toolcalls import report
from toolcalls.config import select
from toolcalls.exchange import Exchange
from toolcalls.mitm.plan import Plan
from toolcalls.route import Config
from toolcalls.wires import Wire, wire_of

logger = logging.getLogger(__name__)

_WIRES = frozenset({"openai_responses"})  # the APIs that have such a form
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"})
_FRAGMENT = 3900  # bytes, with room to mitmproxy's 4000
_REMEMBERED = 1_000_000  # characters of earlier turns that may still be quoted
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def wire_for(request: http.Request) -> Wire | None:
    """The API whose WebSocket form a request asks for."""
    if request.method != "GET" or request.headers.get("upgrade", "").lower() != "websocket":
        return None
    wire = wire_of(request.path)
    return wire if wire is not None and wire.name in _WIRES else None


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


def joined(earlier: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a connection: what the latest reply's says, with the verdicts of all."""
    both = {
        **data,
        "verdicts": [*earlier["verdicts"], *data["verdicts"]],
        "notes": [*earlier.get("notes", ()), *data["notes"]],
        "failure": earlier["failure"] or data["failure"],
    }
    return {**both, "worst": report.worst(both), "summary": report.told(both)}


def ahead_of(flow: http.HTTPFlow) -> Callable[[bytes], None] | None:
    """What sends the client of a flow a message before the one in hand; None where this mitmproxy has no such place."""
    addons: Any = ctx.master.addons  # its methods have no types
    handler: Any = getattr(addons.get("proxyserver"), "connections", {}).get(flow.client_conn.id)
    for layer in () if handler is None else handler.layer.context.layers:
        for stream in getattr(layer, "streams", {}).values():
            child = getattr(stream, "child_layer", None)
            if isinstance(child, WebsocketLayer) and child.flow is flow:
                return _Ahead(flow, child.client_ws)
    return None


class _Ahead:
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


class _Turn:
    """One request and its reply. `exchange` is None for a reply that passes unread."""

    def __init__(self, plan: Plan | None) -> None:
        self.exchange = None if plan is None else plan.exchange("ndjson")
        self.changes = plan is not None and plan.changes
        self.spelt: dict[bytes, bytes] = {}  # messages of several lines, by the line they are read as

    def feed(self, content: bytes) -> list[bytes]:
        """The messages that leave when this one has come."""
        if self.exchange is None:
            return [content]
        line = content.replace(b"\r", b" ").replace(b"\n", b" ")  # raw line ends are white space in JSON
        if line != content:
            self.spelt[line] = content
        return self._changed(content, self.exchange.feed(line + b"\n"))

    def _changed(self, content: bytes, out: bytes) -> list[bytes]:
        if not self.changes:
            return [content]
        return [self.spelt.pop(line, line) for line in out.split(b"\n") if line]


class Messages:
    """One connection.

    plan     what is done to the reply of a request, from its body; None for nothing
    settle   is given each exchange once, when it is over
    ahead    sends the client a message before the one in hand
    """

    def __init__(
        self,
        plan: Callable[[bytes], Plan | None],
        settle: Callable[[Exchange], None],
        ahead: Callable[[bytes], None],
    ) -> None:
        self._plan = plan
        self._settle = settle
        self._ahead = ahead
        self._turns: dict[str, deque[_Turn]] = {}
        self._quotable: tuple[str, ...] = ()

    def take(self, message: WebSocketMessage) -> None:
        """The next message of the connection, to be changed or dropped in place."""
        if not message.is_text or message.dropped:
            return
        if message.from_client:
            self._from_client(message)
        elif not message.injected:
            self._from_server(message)

    def _from_client(self, message: WebSocketMessage) -> None:
        kind, stream = _about(message.content)
        if kind != "response.create":
            return
        plan = self._plan(message.content)
        if plan is not None:
            plan = self._remembering(plan)
            if plan.request is not None:
                message.content = _sendable(plan.request[1])
        self._turns.setdefault(stream, deque()).append(_Turn(plan))

    def _remembering(self, plan: Plan) -> Plan:
        """A turn sends only what is new; what earlier ones have sent may be quoted all the same."""
        self._quotable += plan.terms.request.quotable
        while sum(map(len, self._quotable)) > _REMEMBERED:
            self._quotable = self._quotable[1:]
        request = replace(plan.terms.request, quotable=self._quotable)
        return replace(plan, terms=replace(plan.terms, request=request))

    def _from_server(self, message: WebSocketMessage) -> None:
        content = message.content
        kind, stream = _about(content)
        turns = self._turns.get(stream)
        out = turns[0].feed(content) if turns else [content]
        if turns and kind in _ENDS:
            exchange = turns.popleft().exchange
            if not turns:
                del self._turns[stream]
            if exchange is not None:
                out += [line for line in exchange.close().split(b"\n") if line]
                self._settle(exchange)
        if not out:
            message.dropped = True
            return
        for one in out[:-1]:
            self._ahead(one)
        if out[-1] != content:
            message.content = _sendable(out[-1])

    def close(self) -> None:
        """The connection is closed, and nothing can be sent any more."""
        held = 0
        for turns in self._turns.values():
            for exchange in (turn.exchange for turn in turns):
                if exchange is not None:
                    held += exchange.abort().count(b"\n")
                    self._settle(exchange)
        self._turns.clear()
        if held:
            logger.warning(f"toolcalls: a WebSocket closed while {held} messages were held; they are lost")


def _about(content: bytes) -> tuple[str, str]:
    """A message's type and its stream; "" where it names none."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(fields, dict):
        return "", ""
    kind, stream = fields.get("type"), fields.get("stream_id")
    return (kind if isinstance(kind, str) else "", stream if isinstance(stream, str) else "")


def _sendable(content: bytes) -> bytes:
    """JSON that mitmproxy can cut anywhere."""
    if len(content) <= _FRAGMENT or content.isascii():
        return content
    return _NOT_ASCII.sub(_escaped, content.decode(errors="replace")).encode()


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1]
