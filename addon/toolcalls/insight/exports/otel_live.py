"""Spans of exchanges as they end (`toolcalls_otel`), with what `otel_spans` puts into each.

Nobody knows when a session has ended, so there is no span for it. What holds its spans together is the id of the trace,
the same for a session in each worker, and `gen_ai.conversation.id`. An agent that traces itself says in its request
which of its spans asked (`traceparent`, https://www.w3.org/TR/trace-context/): then the spans are below that one, in
its trace, and where it does not sample, there are none.

A call's span is made when the request comes that brings its result, and at the end for those without one.
"""

from collections import OrderedDict
from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.exports.otel_spans import SessionSpans, SpanMaker, ToolCall, digest, tool_calls
from toolcalls.insight.turn import reply_of, turn_of
from toolcalls.route import Price

_WAITING = 4096  # calls whose results have not come
_PROPAGATOR = TraceContextTextMapPropagator()


class LiveSpans:
    """The spans of a proxy's exchanges, in the order in which they end."""

    def __init__(self, *, content: bool) -> None:
        self._content = content
        self._maker = SpanMaker()
        self._waiting: OrderedDict[tuple[str, str], tuple[SessionSpans, ToolCall, Context]] = OrderedDict()

    def add(self, record: ExchangeRecord, prices: Sequence[Price] = ()) -> list[ReadableSpan]:
        """An exchange has ended: the spans that it completes."""
        turn, reply = turn_of(record), reply_of(record)
        for id_ in turn.request.answered:
            self._answered((turn.session, id_), turn.started)
        asked = _asking_span(record)
        # A session without an id is known by its first words, which another one may share: each exchange for itself.
        unnamed = (record.id,) if turn.session.startswith("~") else ()
        trace = digest(16, turn.session, *unnamed)
        session = SessionSpans(turn.session, trace, self._maker, content=self._content, prices=prices)
        chat = session.chat(turn, record, reply, asked)
        parent = asked or set_span_in_context(chat, Context())
        for call in tool_calls(turn, record, reply):
            key = (turn.session, call.id or call.key)
            self._answered(key, None)  # an id that comes again
            self._waiting[key] = (session, call, parent)
        while len(self._waiting) > _WAITING:
            self._answered(next(iter(self._waiting)), None)
        return self._taken()

    def close(self) -> list[ReadableSpan]:
        """The spans of calls whose results have not been seen."""
        for key in list(self._waiting):
            self._answered(key, None)
        return self._taken()

    def _answered(self, key: tuple[str, str], when: float | None) -> None:
        found = self._waiting.pop(key, None)
        if found is not None:
            session, call, parent = found
            session.tool(call, parent, when)

    def _taken(self) -> list[ReadableSpan]:
        taken = list(self._maker.ended)
        self._maker.ended.clear()
        return taken


def _asking_span(record: ExchangeRecord) -> Context | None:
    """The agent's span that the request names, None for none."""
    carried = {name: record.header(name) for name in ("traceparent", "tracestate")}
    context = _PROPAGATOR.extract(carried, Context())
    return context if get_current_span(context).get_span_context().is_valid else None
