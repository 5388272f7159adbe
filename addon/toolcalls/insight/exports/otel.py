"""OpenTelemetry spans by the semantic conventions for generative AI, made with the official SDK (extra `otel`).

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ and gen-ai-agent-spans. A session is one trace:

invoke_agent AGENT        the session, from its first request to its last reply
  chat MODEL              one exchange
  execute_tool NAME       one call that the client got, from its reply's end to the request that brings its result

Nobody here sees a tool run: the client does that. `execute_tool` is the time in between, and a call whose result was
not seen has a span without length that says so (`toolcalls.result_seen`). What became of a call is in attributes of
our own, `toolcalls.*`. Messages, arguments and results are written only with `content`, as the conventions ask.

Ids are digests of the session and the flow, so the same flows give the same spans: sent twice, they can be known again.
"""

import json
from base64 import b64decode
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.exports.otel_spans import SessionSpans, SpanMaker, digest, ended, nanoseconds, tool_calls
from toolcalls.insight.turn import Turn, reply_of, turn_of
from toolcalls.route import Price


class NotSent(Exception):
    """The exporter said no; the text says what it could."""


def spans_of(
    exchanges: Iterable[ExchangeRecord], *, content: bool = False, prices: Sequence[Price] = ()
) -> list[ReadableSpan]:
    """The spans of exchanges, those of one session after its first. Holds all of them: pass what fits in memory."""
    maker = SpanMaker()
    sessions: dict[str, list[tuple[Turn, ExchangeRecord]]] = {}
    for record in exchanges:
        turn = turn_of(record)
        sessions.setdefault(turn.session, []).append((turn, record))
    for name, turns in sessions.items():
        turns.sort(key=lambda one: one[0].started)
        trace = digest(16, name, turns[0][0].id)
        _write(SessionSpans(name, trace, maker, content=content, prices=prices), turns)
    return maker.ended


def _write(session: SessionSpans, turns: Sequence[tuple[Turn, ExchangeRecord]]) -> None:
    """Write all spans of a session."""
    answered: dict[str, float] = {}
    for turn, _ in reversed(turns):
        answered.update(dict.fromkeys(turn.request.answered, turn.started))
    root = session.root(next((turn.agent for turn, _ in turns if turn.agent), ""), turns[0][0])
    parent = set_span_in_context(NonRecordingSpan(root.get_span_context()))
    for turn, record in turns:
        reply = reply_of(record)
        session.chat(turn, record, reply, parent)
        for call in tool_calls(turn, record, reply):
            session.tool(call, parent, answered.get(call.id) if call.id else None)
    root.end(nanoseconds(max(ended(turn) for turn, _ in turns)))


def send(spans: Sequence[ReadableSpan], exporter: SpanExporter) -> None:
    """Hand spans to an exporter. Raises NotSent."""
    if spans and exporter.export(spans) is not SpanExportResult.SUCCESS:
        raise NotSent("the collector did not take the spans")


def otlp(endpoint: str, seconds: float = 10.0) -> SpanExporter:
    """The official exporter for a collector's address: OTLP over HTTP, in protobuf.

    `/v1/traces` is added to an address without a path.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - needs the extra

    bare = endpoint.rstrip("/")
    path = bare.partition("://")[2].partition("/")[2]
    return OTLPSpanExporter(endpoint=bare if path else f"{bare}/v1/traces", timeout=seconds)


def lines(spans: Sequence[ReadableSpan]) -> str:
    """Spans as OTLP's JSON in one line, what its file exporter writes and a collector's file receiver reads.

    https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: ids are in hex there, other than protobuf's JSON.
    """
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans  # noqa: PLC0415

    if not spans:
        return ""
    protobuf: Any = import_module("google.protobuf.json_format")  # it has no types
    data = protobuf.MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    for group in data["resourceSpans"]:
        for scope in group["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        span[key] = b64decode(span[key]).hex()
    return json.dumps(data) + "\n"
