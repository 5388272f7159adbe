"""OpenTelemetry spans by the semantic conventions for generative AI, made with the official SDK (extra `otel`).

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ and gen-ai-agent-spans. A session is one trace:

invoke_agent AGENT        the session, from its first request to its last reply
  chat MODEL              one exchange
  execute_tool NAME       one call that the client got, from its reply's end to the request that brings its result

Nobody here sees a tool run: the client does that. `execute_tool` is the time in between, and a call whose result was
not seen has a span without length that says so (`toolcalls.result_seen`). What became of a call stands in attributes of
our own, `toolcalls.*`. Messages, arguments and results are written only with `content`, as the conventions ask.

Ids are digests of the session and the flow, so the same flows give the same spans: sent twice, they can be known again.
"""

import json
from base64 import b64decode
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from hashlib import blake2b
from importlib import import_module
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanKind,
    StatusCode,
    set_span_in_context,
)

from toolcalls import __version__
from toolcalls.insight.conversation import excerpt
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.prices import cost_of
from toolcalls.insight.redaction import redacted_text, redacted_value
from toolcalls.insight.replies import Lane, Reply
from toolcalls.insight.turn import Turn, reply_of, turn_of
from toolcalls.insight.vocabulary.fields import EXCHANGE_FIELDS, VERDICT_FIELDS
from toolcalls.route import Price

_PROVIDERS = {"openai_chat": "openai", "openai_responses": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini"}
_PROVIDERS |= dict.fromkeys(("bedrock", "bedrock_converse"), "aws.bedrock")
_PROVIDERS |= {"gemini_interactions": "gcp.gemini", "cohere": "cohere"}
_ROLES = {"assistant": "assistant", "system": "system", "tool": "tool"}


class NotSent(Exception):
    """The exporter said no; the text says what it could."""


class _Ids(IdGenerator):
    """The ids that the next span gets."""

    trace = 1
    span = 1

    def generate_span_id(self) -> int:
        return self.span

    def generate_trace_id(self) -> int:
        return self.trace


class _Kept(SpanExporter):
    """Keeps what ended."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans.extend(spans)
        return SpanExportResult.SUCCESS


def spans_of(
    exchanges: Iterable[ExchangeRecord], *, content: bool = False, prices: Sequence[Price] = ()
) -> list[ReadableSpan]:
    """The spans of exchanges, those of one session behind its first. Holds all of them: pass what fits in memory."""
    ids, kept = _Ids(), _Kept()
    resource = Resource({"service.name": "mitmproxy-toolcalls", "service.version": __version__})
    provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("toolcalls", __version__, schema_url="https://opentelemetry.io/schemas/1.44.0")
    sessions: dict[str, list[tuple[Turn, ExchangeRecord]]] = {}
    for record in exchanges:
        turn = turn_of(record)
        sessions.setdefault(turn.session, []).append((turn, record))
    for name, turns in sessions.items():
        turns.sort(key=lambda one: one[0].started)
        _Trace(name, turns, tracer, ids, content=content, prices=prices).write()
    return kept.spans


def send(spans: Sequence[ReadableSpan], exporter: SpanExporter) -> None:
    """Hand spans to an exporter. Raises NotSent."""
    if spans and exporter.export(spans) is not SpanExportResult.SUCCESS:
        raise NotSent("the collector did not take the spans")


def otlp(endpoint: str) -> SpanExporter:
    """The official exporter for a collector's address: OTLP over HTTP, in protobuf.

    `/v1/traces` is added to an address without a path.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - needs the extra

    bare = endpoint.rstrip("/")
    path = bare.partition("://")[2].partition("/")[2]
    return OTLPSpanExporter(endpoint=bare if path else f"{bare}/v1/traces", timeout=10)


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


@dataclass(eq=False)
class _Trace:
    """One session."""

    name: str
    turns: list[tuple[Turn, ExchangeRecord]]
    tracer: Any
    ids: _Ids
    _: KW_ONLY
    content: bool
    prices: Sequence[Price]

    def __post_init__(self) -> None:
        self._trace = _id(16, self.name, self.turns[0][0].id)
        self._answered: dict[str, tuple[float, ExchangeRecord]] = {}
        for turn, record in reversed(self.turns):
            self._answered.update(dict.fromkeys(turn.request.answered, (turn.started, record)))

    def write(self) -> None:
        """All spans of the session."""
        first = self.turns[0][0]
        end = max(turn.started + (turn.seconds or 0.0) for turn, _ in self.turns)
        agent = next((turn.agent for turn, _ in self.turns if turn.agent), "")
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": self.name,
            "gen_ai.provider.name": _PROVIDERS.get(first.wire, first.wire),
        }
        root = self._span(f"invoke_agent {agent}".strip(), "root", None, first.started, SpanKind.CLIENT, attributes)
        parent = set_span_in_context(NonRecordingSpan(root.get_span_context()))
        for turn, record in self.turns:
            self._chat(turn, record, parent)
        root.end(_nanoseconds(end))

    def _span(
        self, name: str, key: str, parent: Context | None, start: float, kind: SpanKind, attributes: dict[str, Any]
    ) -> Span:
        self.ids.trace, self.ids.span = self._trace, _id(8, self.name, key)
        given = {key: value for key, value in attributes.items() if value not in (None, "", [], ())}
        span: Span = self.tracer.start_span(
            name, context=parent or Context(), kind=kind, attributes=given, start_time=_nanoseconds(start)
        )
        return span

    def _chat(self, turn: Turn, record: ExchangeRecord, parent: Context) -> None:
        reply = reply_of(record)
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(turn.wire, turn.wire),
            "gen_ai.request.model": turn.model,
            "gen_ai.response.model": reply.model,
            "gen_ai.response.id": reply.id,
            "gen_ai.response.finish_reasons": [lane.finish for lane in reply.lanes if lane.finish],
            "gen_ai.usage.input_tokens": turn.tokens.input,
            "gen_ai.usage.output_tokens": turn.tokens.output,
            "gen_ai.usage.cache_read.input_tokens": turn.tokens.cached,
            "gen_ai.usage.reasoning.output_tokens": turn.tokens.reasoning,
            "gen_ai.request.stream": record.form not in {None, "whole"},
            "gen_ai.response.time_to_first_chunk": turn.after(turn.moments.first_byte),
            "gen_ai.conversation.id": self.name,
            "server.address": record.host,
            "server.port": record.port or None,
            "toolcalls.flow": record.id,
            "toolcalls.kind": turn.kind,
            "toolcalls.route": turn.route,
            "toolcalls.policy": turn.policy,
            "toolcalls.summary": turn.summary,
            "toolcalls.worst": turn.worst,
            "toolcalls.damage": [one.code for one in turn.damage],
            "toolcalls.mended": [one.code for one in turn.damage if one.mended],
            "toolcalls.cost": cost_of(turn.model, turn.tokens, self.prices),
            "toolcalls.seconds_to_first_byte": turn.after(turn.moments.first_byte),
            "toolcalls.seconds_to_first_argument": turn.after(turn.moments.first_argument),
            "toolcalls.seconds_to_call_complete": turn.after(turn.moments.call_complete),
        }
        if self.content:
            attributes["gen_ai.input.messages"] = json.dumps(_input(turn))
            attributes["gen_ai.output.messages"] = json.dumps([_output(lane) for lane in reply.lanes])
        span = self._span(f"chat {turn.model}".strip(), record.id, parent, turn.started, SpanKind.CLIENT, attributes)
        for verdict in record.report.get("verdicts", ()):
            event = {field.otel: verdict.get(name) for name, field in VERDICT_FIELDS.items() if field.otel}
            if defects := verdict.get("defects"):
                event[VERDICT_FIELDS["defects"].otel] = [defect["code"] for defect in defects]
            known = {key: value for key, value in event.items() if value not in (None, [])}
            span.add_event(
                EXCHANGE_FIELDS["verdicts"].otel,
                redacted_value(known),
                _nanoseconds(turn.started + (turn.seconds or 0)),
            )
        if not 200 <= record.status < 300 or record.error:
            span.set_status(StatusCode.ERROR, excerpt(record.error) or None)
            span.set_attribute("error.type", str(record.status) if record.status >= 400 else "connection")
        span.end(_nanoseconds(turn.started + (turn.seconds or 0.0)))
        self._tools(turn, record, reply, parent)

    def _tools(self, turn: Turn, record: ExchangeRecord, reply: Reply, parent: Context) -> None:
        """The calls that the client got: those of its body, or those that became text for it."""
        got = [(call.id, call.name, call.arguments) for lane in reply.lanes for call in lane.calls if call.complete]
        verdicts = record.report.get("verdicts", ())
        if not got:
            got = [
                (v["id"] or "", v["name"] or "", v.get("arguments") or "") for v in verdicts if v["status"] == "lowered"
            ]
        by_id = {verdict.get("id"): verdict for verdict in verdicts}
        start = turn.started + (turn.seconds or 0.0)
        for number, (id_, name, arguments) in enumerate(got):
            answered = self._answered.get(id_) if id_ else None
            verdict = by_id.get(id_, {})
            attributes: dict[str, Any] = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": redacted_text(name)[:120],
                "gen_ai.tool.call.id": id_,
                "gen_ai.tool.type": "function",
                "gen_ai.conversation.id": self.name,
                "toolcalls.flow": record.id,
                "toolcalls.status": verdict.get("status"),
                "toolcalls.dialect": verdict.get("dialect"),
                "toolcalls.repairs": list(verdict.get("repairs", ())),
                "toolcalls.result_seen": answered is not None,
            }
            if self.content:
                attributes["gen_ai.tool.call.arguments"] = redacted_text(arguments)
            span = self._span(
                f"execute_tool {redacted_text(name)[:120]}",
                f"{record.id}/{number}",
                parent,
                start,
                SpanKind.INTERNAL,
                attributes,
            )
            span.end(_nanoseconds(max(start, answered[0]) if answered else start))


def _input(turn: Turn) -> list[dict[str, Any]]:
    """The request's messages, each as its excerpt: the conventions allow messages to be cut."""
    return [
        {"role": _ROLES.get(one.role, "user"), "parts": [{"type": "text", "content": one.excerpt}]}
        for one in turn.request.messages
    ]


def _output(lane: Lane) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if lane.reasoning:
        parts.append({"type": "reasoning", "content": redacted_text(lane.reasoning)})
    if lane.text:
        parts.append({"type": "text", "content": redacted_text(lane.text)})
    parts += [
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": redacted_text(call.arguments)}
        for call in lane.calls
    ]
    return {"role": "assistant", "parts": parts, "finish_reason": lane.finish or "error"}


def _id(size: int, *parts: str) -> int:
    """A number of `size` bytes that is the same for the same parts, and never 0, which is no id."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=size).digest()) or 1


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1_000_000) * 1000
