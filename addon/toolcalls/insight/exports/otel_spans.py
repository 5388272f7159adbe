"""What a span of a session holds: one exchange (`chat`), or one call that a client got (`execute_tool`).

By the semantic conventions that `otel` names. Ids are digests, so the same exchange gives the same spans.
"""

import json
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from hashlib import blake2b
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Span, SpanKind, StatusCode

from toolcalls import __version__
from toolcalls.insight.conversation import excerpt
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.prices import cost_of
from toolcalls.insight.redaction import redacted_text, redacted_value
from toolcalls.insight.replies import Lane, Reply
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.fields import EXCHANGE_FIELDS, VERDICT_FIELDS
from toolcalls.route import Price

_PROVIDERS = {"openai_chat": "openai", "openai_responses": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini"}
_PROVIDERS |= dict.fromkeys(("bedrock", "bedrock_converse"), "aws.bedrock")
_PROVIDERS |= {"gemini_interactions": "gcp.gemini", "cohere": "cohere"}
_ROLES = {"assistant": "assistant", "system": "system", "tool": "tool"}


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


class SpanMaker:
    """Makes spans whose ids and times are given; those that have ended are in `ended`."""

    def __init__(self) -> None:
        self._ids, kept = _Ids(), _Kept()
        self.ended = kept.spans
        resource = Resource({"service.name": "mitmproxy-toolcalls", "service.version": __version__})
        provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(kept))
        schema = "https://opentelemetry.io/schemas/1.44.0"
        self._tracer = provider.get_tracer("toolcalls", __version__, schema_url=schema)

    def begin(
        self,
        ids: tuple[int, int],
        name: str,
        parent: Context | None,
        start: float,
        kind: SpanKind,
        attributes: dict[str, Any],
    ) -> Span:
        """A span that begins at `start`, in seconds since the epoch. `ids` are those of its trace, which a parent's
        comes before, and its own.
        """
        self._ids.trace, self._ids.span = ids
        given = {key: value for key, value in attributes.items() if value not in (None, "", [], ())}
        return self._tracer.start_span(
            name, context=parent or Context(), kind=kind, attributes=given, start_time=nanoseconds(start)
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a client got. `got` is when, in seconds since the epoch; `key` tells it from all others."""

    key: str
    flow: str
    id: str
    name: str
    arguments: str
    got: float
    verdict: dict[str, Any]


@dataclass(eq=False)
class SessionSpans:
    """The spans of one session, in the trace with the id `trace`."""

    name: str
    trace: int
    maker: SpanMaker
    _: KW_ONLY
    content: bool
    prices: Sequence[Price]

    def root(self, agent: str, first: Turn) -> Span:
        """The span of the session itself, from its first turn on."""
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": self.name,
            "gen_ai.provider.name": _PROVIDERS.get(first.wire, first.wire),
        }
        return self._span(f"invoke_agent {agent}".strip(), "root", None, first.started, SpanKind.CLIENT, attributes)

    def _span(
        self, name: str, key: str, parent: Context | None, start: float, kind: SpanKind, attributes: dict[str, Any]
    ) -> Span:
        return self.maker.begin((self.trace, digest(8, self.name, key)), name, parent, start, kind, attributes)

    def chat(self, turn: Turn, record: ExchangeRecord, reply: Reply, parent: Context | None) -> Span:
        """The span of one exchange with a model."""
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
                nanoseconds(ended(turn)),
            )
        if not 200 <= record.status < 300 or record.error:
            span.set_status(StatusCode.ERROR, excerpt(record.error) or None)
            span.set_attribute("error.type", str(record.status) if record.status >= 400 else "connection")
        span.end(nanoseconds(ended(turn)))
        return span

    def tool(self, call: ToolCall, parent: Context | None, answered: float | None) -> None:
        """One call, until the request that brings its result began; without length where none was seen."""
        name = redacted_text(call.name)[:120]
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "gen_ai.conversation.id": self.name,
            "toolcalls.flow": call.flow,
            "toolcalls.status": call.verdict.get("status"),
            "toolcalls.dialect": call.verdict.get("dialect"),
            "toolcalls.repairs": list(call.verdict.get("repairs", ())),
            "toolcalls.result_seen": answered is not None,
        }
        if self.content:
            attributes["gen_ai.tool.call.arguments"] = redacted_text(call.arguments)
        span = self._span(f"execute_tool {name}", call.key, parent, call.got, SpanKind.INTERNAL, attributes)
        span.end(nanoseconds(max(call.got, answered or 0.0)))


def tool_calls(turn: Turn, record: ExchangeRecord, reply: Reply) -> list[ToolCall]:
    """The calls that the client got: those of its body, or those that became text for it."""
    got = [(call.id, call.name, call.arguments) for lane in reply.lanes for call in lane.calls if call.complete]
    verdicts = record.report.get("verdicts", ())
    if not got:
        got = [(v["id"] or "", v["name"] or "", v.get("arguments") or "") for v in verdicts if v["status"] == "lowered"]
    by_id = {verdict.get("id"): verdict for verdict in verdicts}
    return [
        ToolCall(f"{record.id}/{number}", record.id, id_, name, arguments, ended(turn), by_id.get(id_, {}))
        for number, (id_, name, arguments) in enumerate(got)
    ]


def ended(turn: Turn) -> float:
    """When a turn's reply ended, in seconds since the epoch."""
    return turn.started + (turn.seconds or 0.0)


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


def digest(size: int, *parts: str) -> int:
    """A number of `size` bytes that is the same for the same parts, and never 0, which is no id."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=size).digest()) or 1


def nanoseconds(seconds: float) -> int:
    """Seconds since the epoch as the SDK takes them, to the microsecond."""
    return round(seconds * 1_000_000) * 1000
