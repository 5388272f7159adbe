"""A flow of mitmproxy as `Seen`: what the page, the report and the exports are made of.

Whatever stands in metadata may come from a file, so nothing of it is trusted to have the right type.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mitmproxy import http

from toolcalls.insight.seen import Pieces, Seen
from toolcalls.mitm import store
from toolcalls.mitm.codings import CodingError, decoded
from toolcalls.mitm.plan import form_of, wire_for


def is_told(flow: object) -> bool:
    """Whether the addon has read a flow's reply."""
    return isinstance(flow, http.HTTPFlow) and isinstance(flow.metadata.get(store.REPORT), dict)


def seen(flow: http.HTTPFlow, report: Mapping[str, Any] | None = None) -> Seen:
    """A flow as it is now, with the report that it holds, or with another one."""
    request, response = flow.request, flow.response
    own = flow.metadata.get(store.REPORT)
    report = report if report is not None else own if isinstance(own, dict) else {}
    body = _plain(request)
    original = store.original(flow)
    client = None if response is None else _plain(response)
    upstream = flow.metadata.get(store.UPSTREAM)
    wire = wire_for(request)
    times = flow.metadata.get(store.TIMES)
    upstream_pieces, client_pieces = _pieces(times, "upstream"), _pieces(times, "client")
    started = request.timestamp_start
    return Seen(
        id=flow.id,
        started=started,
        started_at=datetime.fromtimestamp(started, UTC).isoformat(timespec="milliseconds"),
        method=request.method,
        url=request.pretty_url,
        http_version=request.http_version,
        request_headers=_headers(request),
        asked=body or b"" if original is None else original,
        host=request.pretty_host,
        port=request.port,
        path=request.path,
        sent=None if original is None else body,
        status=0 if response is None else response.status_code,
        status_text="" if response is None else response.reason,
        response_headers=() if response is None else _headers(response),
        upstream=upstream if isinstance(upstream, bytes) else client,
        client=client,
        form=None if response is None or wire is None else form_of(wire, request, response),
        requested=_since(started, request.timestamp_end),
        replied=None if response is None else _since(started, response.timestamp_start),
        ended=None if response is None else _since(started, response.timestamp_end),
        upstream_pieces=upstream_pieces or Pieces(),
        client_pieces=client_pieces or upstream_pieces or Pieces(),
        report=report,
        error="" if flow.error is None else flow.error.msg,
    )


def _plain(message: http.Message) -> bytes | None:
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


def _pieces(times: object, side: str) -> Pieces | None:
    found = times.get(side) if isinstance(times, dict) else None
    if not isinstance(found, dict):
        return None
    microseconds, sizes = found.get("microseconds"), found.get("bytes")
    if not isinstance(microseconds, list) or not isinstance(sizes, list) or len(microseconds) != len(sizes):
        return None
    return Pieces(microseconds, sizes) if all(isinstance(one, int) for one in (*microseconds, *sizes)) else None
