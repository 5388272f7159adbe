"""Sends the spans of exchanges to an OpenTelemetry collector as they end (`toolcalls_otel`).

A reply's end hands over its flow, and nothing more is done in mitmproxy's loop. A thread makes the spans; the SDK's own
sends them in batches (`BatchSpanProcessor`). What comes faster than the first can work is left out. A collector that
does not answer is logged once, and again when it does; the spans of that time are lost. How many were, the log says at
the end.
"""

import logging
from collections.abc import Callable, Sequence
from queue import Full, Queue
from threading import Thread
from urllib.parse import urlsplit

from mitmproxy import http
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from toolcalls.flows.flow_records import failure_report, has_report, records_of
from toolcalls.insight.exports.otel import otlp
from toolcalls.insight.exports.otel_live import LiveSpans
from toolcalls.route import Price

_WAITING = 512  # flows whose spans are to be made
_SPANS = 8192  # that are to be sent
_BATCH = 512
_DELAY = 1000.0  # milliseconds until a batch is sent that is not full
_ANSWER = 4.0  # seconds for a collector's answer
_CLOSE = 5.0  # seconds that mitmproxy's end may be held up

logger = logging.getLogger(__name__)


class Traces:
    """The spans of one proxy. Raises ValueError for what is no HTTP address.

    content   whether messages, arguments and results are written
    prices    returns those of the configuration
    """

    def __init__(self, endpoint: str, *, content: bool, prices: Callable[[], Sequence[Price]]) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(endpoint)
        self._spans = LiveSpans(content=content)
        self._prices = prices
        self._flows: Queue[http.HTTPFlow | None] = Queue(_WAITING)
        self._left_out = 0
        self._given = 0  # spans that the SDK was handed
        # The SDK logs each of its tries, at length.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._exporter = _Noting(otlp(endpoint, _ANSWER), f"{parts.hostname}{f':{parts.port}' if parts.port else ''}")
        self._sending = BatchSpanProcessor(
            self._exporter, max_queue_size=_SPANS, schedule_delay_millis=_DELAY, max_export_batch_size=_BATCH
        )
        self._thread = Thread(target=self._work, name="toolcalls-otel", daemon=True)
        self._thread.start()

    def add(self, flow: http.HTTPFlow) -> None:
        """Queue a live flow that has ended."""
        try:
            self._flows.put_nowait(flow)
        except Full:
            self._left_out += 1
            if self._left_out == 1:
                logger.warning("toolcalls: replies end faster than spans can be created; some exchanges get none")

    def close(self) -> None:
        """Send what there is, as far as there is time for it."""
        finishing = Thread(target=self._finish, name="toolcalls-otel-end", daemon=True)
        finishing.start()
        finishing.join(_CLOSE)
        if self._left_out:
            logger.warning(f"toolcalls: {self._left_out} exchanges have no spans")
        if lost := self._given - self._exporter.taken:
            logger.warning(f"toolcalls: the collector did not get {lost} of {self._given} spans")

    def _finish(self) -> None:
        self._flows.put(None)
        self._thread.join()
        if self._exporter.failed:
            self._exporter.shutdown()  # else it would try on
        self._sending.shutdown()  # type: ignore[no-untyped-call]

    def _work(self) -> None:
        while (flow := self._flows.get()) is not None:
            try:
                self._send(self._made(flow))
            except Exception as error:  # noqa: BLE001 - one exchange without spans must not end those of all others
                logger.warning(f"toolcalls: an exchange has no spans: {type(error).__name__} in flow {flow.id}")
        self._send(self._spans.close())

    def _made(self, flow: http.HTTPFlow) -> list[ReadableSpan]:
        report = None if has_report(flow) else failure_report(flow)
        if report is None and not has_report(flow):
            return []
        prices = self._prices()
        return [span for record in records_of(flow, report) for span in self._spans.add(record, prices)]

    def _send(self, spans: Sequence[ReadableSpan]) -> None:
        self._given += len(spans)
        for span in spans:
            self._sending.on_end(span)


class _Noting(SpanExporter):
    """Hands batches on, and logs once that a collector does not take them. `taken`: how many spans it took."""

    def __init__(self, inner: SpanExporter, name: str) -> None:
        self.failed = False
        self.taken = 0
        self._inner = inner
        self._name = name
        self._is_shut = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        failed = result is not SpanExportResult.SUCCESS
        self.taken += 0 if failed else len(spans)
        if failed and not self.failed:
            logger.warning(f"toolcalls: the collector at {self._name} does not accept spans; traffic is not affected")
        elif self.failed and not failed:
            logger.info(f"toolcalls: the collector at {self._name} accepts spans again")
        self.failed = failed
        return result

    def shutdown(self) -> None:
        if not self._is_shut:
            self._is_shut = True
            self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """There is nothing here to send."""
        return self._inner.force_flush(timeout_millis)
