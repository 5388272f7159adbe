"""What mitmproxy's process says to the one that writes: frames of MessagePack, each with its length in front of it.

A flow goes over as plain data, made at once: what becomes of it afterwards is not recorded. Only what a redacted flow
is made of goes over (`flow_redaction`), so no certificate is, which would cost more than all the rest.
"""

import struct
from typing import Any

import msgspec
from mitmproxy import http
from mitmproxy.connection import Client, Server
from mitmproxy.flow import Error
from mitmproxy.websocket import WebSocketData

from toolcalls.flows import flow_metadata
from toolcalls.flows.websocket.turns import MESSAGES_KEY, TURNS_KEY
from toolcalls.mitm.recording.intake import LENGTH

MAX_BODY = 8 * 1024 * 1024  # bytes of a body, or characters of a call's arguments, that are recorded
ACK = struct.Struct(">QQ")  # flows and bytes that are done since the process began
_OURS = (
    *(flow_metadata.REPORT, flow_metadata.UPSTREAM, flow_metadata.REQUEST, flow_metadata.TIMES, flow_metadata.ERROR),
    *(flow_metadata.CLIENT, TURNS_KEY, MESSAGES_KEY),
)
_NOBODY = ("127.0.0.1", 0)


def _plain(value: Any) -> Any:
    """A body or a list that is of a class of its own for the sake of its repr."""
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, list):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be recorded")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)


def frame(message: dict[str, Any]) -> bytes:
    """A message as bytes. Raises TypeError or ValueError for what is no plain data."""
    data = _ENCODER.encode(message)
    return LENGTH.pack(len(data)) + data


def message_of(data: bytes) -> dict[str, Any]:
    """The message in a frame, without its length."""
    message: dict[str, Any] = msgspec.msgpack.decode(data)
    return message


def flow_data(flow: http.HTTPFlow) -> dict[str, Any]:
    """A flow as it is now, as plain data. What is too large is left out, and `left_out` names it."""
    left_out: list[str] = []
    data: dict[str, Any] = {
        "id": flow.id,
        "created": flow.timestamp_created,
        "connected": flow.client_conn.timestamp_start,
        "request": _message(flow.request, "request", left_out),
        "response": None if flow.response is None else _message(flow.response, "response", left_out),
        "websocket": None if flow.websocket is None else flow.websocket.get_state(),
        "error": None if flow.error is None else [flow_metadata.writable(flow.error.msg), flow.error.timestamp],
        "comment": flow_metadata.writable(flow.comment),
        "marked": flow.marked,
        "metadata": _metadata(flow, left_out),
    }
    return data | {"left_out": left_out}


def flow_from(data: dict[str, Any]) -> http.HTTPFlow:
    """The flow that `flow_data` was made of, as far as it is recorded."""
    request = http.Request.from_state(data["request"])
    client = Client(peername=_NOBODY, sockname=_NOBODY, timestamp_start=data["connected"])
    flow = http.HTTPFlow(client, Server(address=(request.host, request.port)))
    flow.id = data["id"]
    flow.timestamp_created = data["created"]
    flow.request = request
    flow.response = None if data["response"] is None else http.Response.from_state(data["response"])
    flow.websocket = None if data["websocket"] is None else WebSocketData.from_state(data["websocket"])
    flow.error = None if data["error"] is None else Error(*data["error"])
    flow.comment, flow.marked = data["comment"], data["marked"]
    flow.metadata = data["metadata"]
    return flow


def _message(message: http.Message, name: str, left_out: list[str]) -> dict[str, Any]:
    state: dict[str, Any] = message.get_state()
    if len(message.raw_content or b"") > MAX_BODY:
        left_out.append(name)
        state["content"] = None
    return state


def _metadata(flow: http.HTTPFlow, left_out: list[str]) -> dict[str, Any]:
    """What the addon has noted, without what is too large."""
    kept = {name: flow.metadata[name] for name in _OURS if name in flow.metadata}
    for name, said in ((flow_metadata.UPSTREAM, "upstream"), (flow_metadata.REQUEST, "client request")):
        if len(kept.get(name) or b"") > MAX_BODY:
            left_out.append(said)
            del kept[name]
    report = kept.get(flow_metadata.REPORT)
    if isinstance(report, dict) and any(map(_is_large, report["verdicts"])):
        left_out.append("arguments")
        verdicts = [{**one, "arguments": None} if _is_large(one) else one for one in report["verdicts"]]
        kept[flow_metadata.REPORT] = {**report, "verdicts": verdicts}
    return kept


def _is_large(verdict: dict[str, Any]) -> bool:
    return len(verdict.get("arguments") or "") > MAX_BODY
