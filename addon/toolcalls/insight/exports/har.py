"""HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), which browsers' tools, mitmproxy and many others read.

`content` is what the client got and `postData` what it sent; what passed on the upstream's side, where that differs,
and the report are in fields of our own, which by the specification begin with an underscore:

entry._toolcalls              the report, with `session`, `agent`, `seconds`, `tokens` and `cost`
request._upstreamPostData     what the upstream was sent
response._upstreamContent     what the upstream sent
"""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from toolcalls import __version__
from toolcalls.insight.body_redaction import redacted_body
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.exports.jsonl import exchange_data
from toolcalls.insight.own_secrets import OwnSecrets, secrets_of
from toolcalls.insight.redaction import REDACTED, redacted_headers, redacted_text, redacted_url, redacted_value
from toolcalls.insight.vocabulary.fields import EXCHANGE_FIELDS
from toolcalls.route import Price

# What is in `_toolcalls` beside the report.
_OWN = ["verdicts"] + [
    name for name, field in EXCHANGE_FIELDS.items() if field.har == f"_toolcalls.{name}" and not field.in_report
]


def document(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """A whole HAR of `entry`s, in the order in which they began, as the specification wishes."""
    ordered = sorted(entries, key=lambda one: one["startedDateTime"])
    creator = {"name": "mitmproxy-toolcalls", "version": __version__}
    return {"log": {"version": "1.2", "creator": creator, "pages": [], "entries": ordered}}


def text(entries: list[dict[str, Any]]) -> str:
    """The `document` as JSON."""
    return json.dumps(document(entries), indent=1) + "\n"


def entry(record: ExchangeRecord, prices: Sequence[Price] = ()) -> dict[str, Any]:
    """One exchange. What is not known is -1, as the specification says; times are in milliseconds."""
    own = secrets_of(record)
    about = exchange_data(record, content=True, body=False, prices=prices)
    report = redacted_value({key: value for key, value in record.report.items() if key != "verdicts"})
    request: dict[str, Any] = {
        "method": record.method,
        "url": redacted_url(record.url),
        "httpVersion": record.http_version,
        "cookies": [],
        "headers": _headers(record.request_headers),
        "queryString": _query(record.url),
        "headersSize": -1,
        "bodySize": len(record.request_body),
        "postData": _data(record.request_body, _type(record.request_headers), own),
    }
    if record.upstream_request_body is not None:
        request["_upstreamPostData"] = _data(record.upstream_request_body, _type(record.request_headers), own)
    client = record.client_body or b""
    response: dict[str, Any] = {
        "status": record.status,
        "statusText": record.status_text,
        "httpVersion": record.http_version,
        "cookies": [],
        "headers": _headers(record.response_headers),
        "content": _content(client, _type(record.response_headers), own),
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": len(client) if record.client_body is not None else -1,
    }
    if record.upstream_body is not None and record.upstream_body != record.client_body:
        response["_upstreamContent"] = _content(record.upstream_body, _type(record.response_headers), own)
    send, wait, receive = _timings(record)
    return {
        "startedDateTime": record.started_at,
        "time": sum(one for one in (send, wait, receive) if one > 0),
        "request": request,
        "response": response,
        "cache": {},
        "timings": {"send": send, "wait": wait, "receive": receive},
        "comment": redacted_text(str(record.report.get("summary", ""))),
        "_toolcalls": {
            **report,
            **{name: about[name] for name in _OWN},
        },
    }


def _headers(headers: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in redacted_headers(headers)]


def _query(url: str) -> list[dict[str, str]]:
    query = redacted_url(url).partition("?")[2]
    return [{"name": name, "value": value} for name, value in parse_qsl(query, keep_blank_values=True)]


def _type(headers: tuple[tuple[str, str], ...]) -> str:
    return next((value for name, value in headers if name.lower() == "content-type"), "")


def _data(body: bytes, kind: str, own: OwnSecrets) -> dict[str, Any]:
    return {"mimeType": kind, "text": _text(redacted_body(body, own))}


def _content(body: bytes, kind: str, own: OwnSecrets) -> dict[str, Any]:
    clean = redacted_body(body, own)
    found: dict[str, Any] = {"size": len(clean), "mimeType": kind or "x-unknown", "text": _text(clean)}
    if found["text"] == REDACTED:
        found["comment"] = "not text"
    return found


def _text(clean: bytes) -> str:
    """A body as text; AWS's event streams are none."""
    try:
        return clean.decode()
    except UnicodeDecodeError:
        return REDACTED


def _timings(record: ExchangeRecord) -> tuple[float, float, float]:
    requested = record.requested if record.requested is not None else 0.0
    replied = record.replied if record.replied is not None else requested
    ended = record.ended if record.ended is not None else replied
    return _milliseconds(requested), _milliseconds(replied - requested), _milliseconds(ended - replied)


def _milliseconds(seconds: float) -> float:
    return max(0.0, round(seconds * 1000, 3))
