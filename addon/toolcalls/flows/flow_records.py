"""A flow of mitmproxy as plain records of its exchanges, from which the page, the report and the exports are made.

Metadata may come from a file, so its types are checked.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import CodingError, decoded
from toolcalls.flows.exchange_plan import wire_for
from toolcalls.flows.reply_forms import form_of
from toolcalls.flows.websocket.turns import (
    REQUEST_TYPE,
    Turn,
    TurnReader,
    line_of,
    reports_by_number,
    type_and_stream,
)
from toolcalls.insight.exchange_record import ExchangeRecord, Pieces
from toolcalls.insight.own_secrets import without_own_secrets

_SWITCHED = 101  # the status of an upgrade
_ERRORS = 400  # the first status of an error


def has_report(flow: object) -> bool:
    """Whether the addon has read a flow's reply."""
    return isinstance(flow, http.HTTPFlow) and isinstance(flow.metadata.get(flow_metadata.REPORT), dict)


def failure_report(flow: object) -> dict[str, Any] | None:
    """The report of a request that an API answered with an error, or not at all: there is nothing in it but the API.
    None for any other flow.
    """
    if not isinstance(flow, http.HTTPFlow) or has_report(flow) or flow.request.method != "POST":
        return None
    wire = wire_for(flow.request)
    refused = flow.error is not None if flow.response is None else flow.response.status_code >= _ERRORS
    return {"wire": wire.name} if wire is not None and refused else None


def exchange_id(flow: http.HTTPFlow, place: int) -> str:
    """The first exchange of a connection has the flow's id, each other that with its number after it (`flow_of`)."""
    return f"{flow.id}.{place}" if place else flow.id


def record_of(flow: http.HTTPFlow, report: Mapping[str, Any] | None = None) -> ExchangeRecord:
    """A flow as it is now, with the report that it holds, or with another one. A WebSocket gives its latest reply
    (`_latest_reply`).
    """
    found = http_record(flow, report)
    found = found if flow.websocket is None else _latest_reply(found, flow.websocket.messages)
    return without_own_secrets(found)


def reported_records(flows: Iterable[http.HTTPFlow]) -> Iterator[ExchangeRecord]:
    """The exchanges of the flows that the addon has read, or that failed; others are passed by."""
    for flow in flows:
        report = None if has_report(flow) else failure_report(flow)
        if report or has_report(flow):
            yield from records_of(flow, report)


def records_of(
    flow: http.HTTPFlow,
    report: Mapping[str, Any] | None = None,
    turns: Iterable[Mapping[str, Any]] = (),
    *,
    known: Collection[str] = (),
    reading: TurnReader | None = None,
) -> list[ExchangeRecord]:
    """A flow as the exchanges that it holds: itself, or each reply of a WebSocket that was read, with a report of its
    own.

    turns     other reports than the flow holds
    known     the ids of replies of a WebSocket that are left out
    reading   of the same connection at an earlier look, to be gone on with
    """
    if flow.websocket is None:
        return [record_of(flow, report)]
    again = TurnReader() if reading is None else reading
    again.read(*again.new_messages(flow))
    for place in [place for place in again.fresh if exchange_id(flow, place) in known]:
        del again.fresh[place]
    numbers = {turn.number for turn in again.fresh.values()}
    reports = {one.get("number"): one for one in turns} or reports_by_number(flow, numbers)
    read = [(place, turn) for place, turn in again.fresh.items() if turn.number in reports]
    if not read and not known:
        return [record_of(flow, report)]
    upgrade = http_record(flow, {})
    return [
        without_own_secrets(replace(turn_record(upgrade, turn, reports[turn.number]), id=exchange_id(flow, place)))
        for place, turn in read
    ]


def turn_record(upgrade: ExchangeRecord, turn: Turn, report: Mapping[str, Any]) -> ExchangeRecord:
    """One reply of a connection. Its moments count from its request."""
    upstream, client = turn.upstream.body, turn.client.body
    return replace(
        upgrade,
        started=turn.started,
        started_at=datetime.fromtimestamp(turn.started, UTC).isoformat(timespec="milliseconds"),
        request_body=turn.asked,
        upstream_request_body=turn.sent,
        status=200 if upgrade.status == _SWITCHED else upgrade.status,
        upstream_body=upstream,
        client_body=upstream if client == upstream else client,
        form="ndjson",
        requested=0.0,
        replied=0.0,
        ended=None if turn.ended is None else max(0.0, turn.ended - turn.started),
        upstream_pieces=Pieces(turn.upstream.microseconds, turn.upstream.sizes),
        client_pieces=Pieces(turn.client.microseconds, turn.client.sizes),
        report=report,
    )


def _latest_reply(upgrade: ExchangeRecord, messages: Sequence[WebSocketMessage]) -> ExchangeRecord:
    """The latest request of a connection and what the server said since, a line for each message.

    Moments count from the reply's headers as always; the connection may have been there long before the request.
    """
    begins = (number for number in reversed(range(len(messages))) if _asks_for_reply(messages[number]))
    begin = next(begins, None)
    if begin is None:
        return upgrade
    asked, answers = messages[begin], [one for one in messages[begin:] if not one.from_client]
    lines = [line_of(message.content) + b"\n" for message in answers]
    opened = upgrade.started + (upgrade.replied or 0.0)
    pieces = Pieces([max(0, round((one.timestamp - opened) * 1e6)) for one in answers], [len(line) for line in lines])
    body = b"".join(lines)
    ended = max(0.0, answers[-1].timestamp - upgrade.started) if answers else upgrade.ended
    return replace(
        upgrade,
        request_body=asked.content,
        upstream_body=body,
        client_body=body,
        form="ndjson",
        upstream_pieces=pieces,
        client_pieces=pieces,
        status=200 if upgrade.status == _SWITCHED else upgrade.status,
        ended=ended,
    )


def _asks_for_reply(message: WebSocketMessage) -> bool:
    return message.from_client and type_and_stream(message.content)[0] == REQUEST_TYPE


def http_record(flow: http.HTTPFlow, report: Mapping[str, Any] | None) -> ExchangeRecord:
    request, response = flow.request, flow.response
    own = flow.metadata.get(flow_metadata.REPORT)
    report = report if report is not None else own if isinstance(own, dict) else {}
    body = _decoded_body(request)
    original = flow_metadata.original_request_body(flow)
    client = None if response is None else _decoded_body(response)
    upstream = flow.metadata.get(flow_metadata.UPSTREAM)
    wire = wire_for(request)
    upstream_pieces, client_pieces = _pieces(flow, "upstream"), _pieces(flow, "client")
    started = request.timestamp_start
    return ExchangeRecord(
        id=flow.id,
        started=started,
        started_at=datetime.fromtimestamp(started, UTC).isoformat(timespec="milliseconds"),
        method=request.method,
        url=request.pretty_url,
        http_version=request.http_version,
        request_headers=_headers(request),
        request_body=body or b"" if original is None else original,
        host=request.pretty_host,
        port=request.port,
        path=request.path,
        upstream_request_body=None if original is None else body,
        status=0 if response is None else response.status_code,
        status_text="" if response is None else response.reason,
        response_headers=() if response is None else _headers(response),
        upstream_body=upstream if isinstance(upstream, bytes) else client,
        client_body=client,
        form=None if response is None or wire is None else form_of(wire, request, response, guarded=report is not None),
        requested=_since(started, request.timestamp_end),
        replied=None if response is None else _since(started, response.timestamp_start),
        ended=None if response is None else _since(started, response.timestamp_end),
        upstream_pieces=upstream_pieces or Pieces(),
        client_pieces=client_pieces or upstream_pieces or Pieces(),
        report=report,
        error="" if flow.error is None else flow.error.msg,
    )


def _decoded_body(message: http.Message) -> bytes | None:
    """A body without its coding; as it is where nobody can take that off."""
    raw = message.raw_content
    if raw is None:
        return None
    try:
        return decoded(raw, message.headers.get("content-encoding", ""))
    except (CodingError, LookupError):
        return raw


def _headers(message: http.Message) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name.decode("utf-8", "backslashreplace"), value.decode("utf-8", "backslashreplace"))
        for name, value in message.headers.fields
    )


def _since(started: float, moment: float | None) -> float | None:
    return None if moment is None else max(0.0, moment - started)


def pieces_held(flow: http.HTTPFlow, side: str) -> Pieces | None:
    """The pieces of a body as the addon kept them: the upstream's, or the client's; None where it kept none."""
    return _pieces(flow, side) or _pieces(flow, "upstream")


def _pieces(flow: http.HTTPFlow, side: str) -> Pieces | None:
    times = flow.metadata.get(flow_metadata.TIMES)
    found = times.get(side) if isinstance(times, dict) else None
    if not isinstance(found, dict):
        return None
    microseconds, sizes = found.get("microseconds"), found.get("bytes")
    if not isinstance(microseconds, list) or not isinstance(sizes, list) or len(microseconds) != len(sizes):
        return None
    return Pieces(microseconds, sizes) if all(isinstance(one, int) for one in (*microseconds, *sizes)) else None
