"""A flow without secrets: what recordings hold, and what `toolcalls redact` writes.

Each flow is built anew from what may be kept, so that what nobody thought of stays after: certificates, addresses of
clients, proxies, edits that were taken back, what other addons noted. Headers are kept by name, query values likewise;
bodies, messages, errors, comments and the addon's report are searched (`redaction`), also for what the headers and the
query hold (`own_secrets`).

The times of a body's pieces go with their sizes where the body changed.
"""

from collections.abc import Iterable
from typing import Any

from mitmproxy import http
from mitmproxy.connection import Client, Server
from mitmproxy.flow import Error
from mitmproxy.websocket import WebSocketData, WebSocketMessage

from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import CodingError, decoded
from toolcalls.flows.websocket.turns import MESSAGES_KEY, TURNS_KEY, original_messages, turn_reports
from toolcalls.insight.body_redaction import redacted_body
from toolcalls.insight.own_secrets import OwnSecrets, own_secrets
from toolcalls.insight.redaction import redacted_headers, redacted_text, redacted_url, redacted_value
from toolcalls.insight.report import filter_words

_NOBODY = ("127.0.0.1", 0)


def redacted(flow: http.HTTPFlow) -> http.HTTPFlow:
    """A new flow without secrets, of the same id."""
    own = flow_secrets(flow)
    client = Client(peername=_NOBODY, sockname=_NOBODY, timestamp_start=flow.client_conn.timestamp_start)
    made = http.HTTPFlow(client, Server(address=(flow.request.host, flow.request.port)))
    made.id = flow.id
    made.timestamp_created = flow.timestamp_created
    made.request = flow.request.copy()
    made.request.path = own.text(redacted_url(flow.request.path))
    made.request.authority = flow.request.authority.rpartition("@")[2]
    _clean(made.request, own)
    if flow.response is not None:
        made.response = flow.response.copy()
        made.response.reason = own.text(redacted_text(flow.response.reason))
        _clean(made.response, own)
    if flow.websocket is not None:
        made.websocket = WebSocketData([_message(one, own) for one in flow.websocket.messages])
        made.websocket.timestamp_end = flow.websocket.timestamp_end
        made.websocket.close_code = flow.websocket.close_code
    if flow.error is not None:
        made.error = Error(own.text(redacted_text(flow.error.msg)), flow.error.timestamp)
    made.comment, made.marked = own.text(redacted_text(flow.comment)), flow.marked
    made.metadata = dict(_metadata(flow, made, own))
    return made


def flow_secrets(flow: http.HTTPFlow) -> OwnSecrets:
    """What the headers of a flow and its query hold."""
    headers = [*flow.request.headers.fields, *(flow.response.headers.fields if flow.response is not None else ())]
    return own_secrets([(_text(name), _text(value)) for name, value in headers], flow.request.url)


def _clean(message: http.Message, own: OwnSecrets) -> None:
    """Take the secrets out of a message. A body that changes leaves without its coding."""
    before = message.raw_content
    _redact_headers(message.headers, own)
    if message.trailers is not None:
        _redact_headers(message.trailers, own)
    if not before:
        return
    try:
        plain = decoded(before, message.headers.get("content-encoding", ""))
    except (CodingError, LookupError):
        plain = before  # not what its header says: it is searched as it is
    clean = redacted_body(plain, own)
    if clean != plain:
        message.headers.pop("content-encoding", None)
        message.raw_content = clean
        if "content-length" in message.headers:
            message.headers["content-length"] = str(len(clean))


def _redact_headers(headers: http.Headers, own: OwnSecrets) -> None:
    fields = [(_text(name), _text(value)) for name, value in headers.fields]
    headers.fields = tuple((_bytes(name), _bytes(own.text(value))) for name, value in redacted_headers(fields))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _message(message: WebSocketMessage, own: OwnSecrets) -> WebSocketMessage:
    content = redacted_body(message.content, own)
    return WebSocketMessage(
        message.type, message.from_client, content, message.timestamp, message.dropped, message.injected
    )


def _metadata(flow: http.HTTPFlow, made: http.HTTPFlow, own: OwnSecrets) -> Iterable[tuple[str, Any]]:
    """What the addon has noted, and nothing of others."""
    found = flow.metadata.get(flow_metadata.REPORT)
    if isinstance(found, dict):
        report = own.value(redacted_value(found))
        yield flow_metadata.REPORT, report
        yield flow_metadata.FILTER_WORDS, filter_words(report)
    if reports := turn_reports(flow):
        yield TURNS_KEY, [own.value(redacted_value(one)) for one in reports]
    if originals := original_messages(flow):
        kept = [[side, number, redacted_body(content, own)] for (side, number), content in originals.items()]
        yield MESSAGES_KEY, kept
    same = flow.response is None or made.response is None or made.response.raw_content == flow.response.raw_content
    for name in (flow_metadata.UPSTREAM, flow_metadata.REQUEST):
        body = flow.metadata.get(name)
        if isinstance(body, bytes):
            clean = redacted_body(body, own)
            same = same and (clean == body or name == flow_metadata.REQUEST)
            yield name, clean
    if (status := flow_metadata.answered_status(flow)) is not None:
        yield flow_metadata.ERROR, status
    if (client := flow_metadata.recognised_client(flow)) is not None:
        yield flow_metadata.CLIENT, own.text(redacted_text(client))
    if flow_metadata.reasons_first(flow):
        yield flow_metadata.REASONS_FIRST, True
    times = flow.metadata.get(flow_metadata.TIMES)
    if same and isinstance(times, dict):
        yield flow_metadata.TIMES, times
