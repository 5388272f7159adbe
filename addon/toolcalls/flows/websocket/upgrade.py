"""The upgrade to WebSocket: which connections the addon reads, and which upgrades the configuration refuses."""

import json

from mitmproxy import http

from toolcalls.config import candidates, select
from toolcalls.route import Config
from toolcalls.wires import Wire, wire_of

_WIRES = frozenset({"openai_responses"})  # the APIs with a WebSocket form


def websocket_wire(request: http.Request) -> Wire | None:
    """The API whose WebSocket form a request asks for; None for any other request."""
    if request.method != "GET" or request.headers.get("upgrade", "").lower() != "websocket":
        return None
    wire = wire_of(request.path)
    return wire if wire is not None and wire.name in _WIRES else None


def is_api_websocket(flow: http.HTTPFlow) -> bool:
    """Whether a flow is a WebSocket connection with an API that the addon reads."""
    return flow.websocket is not None and websocket_wire(flow.request) is not None


def may_block(wire: Wire, request: http.Request, config: Config) -> bool:
    """Whether a rule may block calls on a connection, whatever model its requests will name."""
    routes = candidates(config, host=request.pretty_host, path=request.path, wire=wire.name)
    return any(route.access is not None and route.access.blocks for route in routes)


def refusal(wire: Wire, request: http.Request, config: Config) -> http.Response | None:
    """The answer to an upgrade that the configuration refuses (`refuse_websocket`); None for one that it allows.

    It has the status 426, on which clients like Codex go on with SSE at once.
    The model is not known yet, so no route that names models matches.
    """
    route = select(config, host=request.pretty_host, path=request.path, model="", wire=wire.name)
    if not route.refuse_websocket:
        return None
    body = {
        "error": {"type": "websocket_refused", "message": "WebSocket is switched off here; send the request by POST"}
    }
    # RFC 9110, section 15.5.22: the answer names the protocol to use.
    headers = {"content-type": "application/json", "upgrade": "HTTP/1.1", "connection": "upgrade"}
    return http.Response.make(426, json.dumps(body), headers)
