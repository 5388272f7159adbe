"""Sends a client a WebSocket message before the one that mitmproxy is handling.

What mitmproxy's own command injects leaves later than the messages that have already arrived, and can get mixed up with
one that is still arriving. So a message that must leave first is put in front of the one in hand, in the connection
that mitmproxy is about to write to. That is not mitmproxy's public interface: where it is not found, replies over
WebSocket are forwarded unparsed, and the log says so.
"""

from collections.abc import Callable
from typing import Any

from mitmproxy import ctx, http
from mitmproxy.proxy.layers.websocket import WebsocketConnection, WebsocketLayer
from mitmproxy.websocket import WebSocketMessage
from wsproto.events import Event, TextMessage
from wsproto.frame_protocol import Opcode


def injector_for(flow: http.HTTPFlow) -> Callable[[bytes], None] | None:
    """A function that sends the flow's client a message before the one in hand; None if this version of mitmproxy has
    no place for it.
    """
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
    """Frames that leave in one write with the next one that mitmproxy sends. The flow lists them as injected."""

    def __init__(self, flow: http.HTTPFlow, connection: WebsocketConnection) -> None:
        self._messages = flow.websocket.messages if flow.websocket is not None else []
        self._send: Callable[[Event], bytes] = connection.send
        self._frames = b""
        connection.__dict__["send"] = self._send_after_frames

    def __call__(self, content: bytes) -> None:
        self._frames += self._send(TextMessage(content.decode(errors="replace")))
        self._messages.insert(-1, WebSocketMessage(Opcode.TEXT, False, content, injected=True))

    def _send_after_frames(self, event: Event) -> bytes:
        frames, self._frames = self._frames, b""
        return frames + self._send(event)
