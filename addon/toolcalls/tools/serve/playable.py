"""Flows as recordings that a playback can answer with.

The upstream's side is what the upstream was sent and answered; the client's is what the client sent and was given, for
an agent that talks to the playback without the addon in between. Bodies leave without their content coding, because
that is how the addon keeps them and their pieces.
"""

from collections.abc import Iterator
from typing import Literal

from mitmproxy import http

from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import CodingError, decoded
from toolcalls.flows.flow_records import pieces_held
from toolcalls.flows.reply_forms import form_of
from toolcalls.flows.websocket.turns import messages_as_received, turns_of
from toolcalls.flows.websocket.upgrade import is_api_websocket
from toolcalls.insight.exchange_record import Pieces
from toolcalls.tools.serve.matching import asked
from toolcalls.tools.serve.recording import WEBSOCKET, Piece, Recording, pieces_of
from toolcalls.wires import wire_of, wire_of_retrieval

type Side = Literal["upstream", "client"]

# They are about the connection, the length or the coding, which are the playback's own, or they describe bytes that a
# coding made. A cookie is nobody's business.
_NOT_REPLAYED = frozenset(
    b"connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade content-length"
    b" content-encoding content-digest repr-digest digest content-md5"
    b" alt-svc set-cookie strict-transport-security".split()
)


def recordings_of(flow: http.HTTPFlow, source: str, side: Side = "upstream") -> Iterator[Recording]:
    """What a flow holds: one exchange, or each turn of a WebSocket; nothing where no reply came."""
    if flow.websocket is not None:
        if is_api_websocket(flow):
            yield from _turns(flow, source, side)
        return
    response = flow.response
    if response is None or response.raw_content is None:
        return
    came, body = _bodies(flow, response, side)
    wire = wire_of(flow.request.path) or wire_of_retrieval(flow.request.path)
    status = flow_metadata.answered_status(flow) if side == "upstream" else None
    form = None if wire is None or status is not None else form_of(wire, flow.request, response)
    answered = flow.request.timestamp_end or flow.request.timestamp_start
    lasted = max(0.0, (response.timestamp_end or response.timestamp_start) - response.timestamp_start)
    yield Recording(
        source,
        asked(flow.request.method, flow.request.path, came),
        response.status_code if status is None else status,
        tuple((name, value) for name, value in response.headers.fields if name.lower() not in _NOT_REPLAYED),
        pieces_of(body, pieces_held(flow, side) or Pieces(), form, lasted),
        max(0.0, response.timestamp_start - answered),
        lasted,
        flow.error is not None,
        form,
        "content-length" in response.headers,
    )


def _bodies(flow: http.HTTPFlow, response: http.Response, side: Side) -> tuple[bytes, bytes]:
    """The bodies of the request and of the reply."""
    original = flow_metadata.original_request_body(flow) if side == "client" else None
    came = _decoded(flow.request) if original is None else original
    upstream = flow_metadata.upstream_body(flow) if side == "upstream" else None
    return came, _decoded(response) if upstream is None else upstream


def _decoded(message: http.Message) -> bytes:
    raw = message.raw_content or b""
    try:
        return decoded(raw, message.headers.get("content-encoding", ""))
    except (CodingError, LookupError):
        return raw  # it is in no coding that its header names


def _turns(flow: http.HTTPFlow, source: str, side: Side) -> Iterator[Recording]:
    messages = list(messages_as_received(flow))
    turns = turns_of(flow)
    for place, turn in enumerate(turns, 1):
        contents = []
        for number in turn.messages[1:]:
            message, original = messages[number]
            content = original if side == "upstream" else None if message.dropped else message.content
            if content is not None:
                contents.append(Piece(max(0.0, message.timestamp - turn.started), content))
        yield Recording(
            f"{source}, turn {place}",
            asked(WEBSOCKET, flow.request.path, turn.sent if side == "upstream" and turn.sent else turn.asked),
            101,
            (),
            tuple(contents),
            end=contents[-1].moment if contents else 0.0,
            cut=turn.ended is None and turn is turns[-1],
            framing="messages",
        )
