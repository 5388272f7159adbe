"""What is counted of each request and reply, and the server that Prometheus asks.

With `PROMETHEUS_MULTIPROC_DIR` set, the client keeps its values in files of that folder, and each process answers for
all that share it (https://prometheus.github.io/client_python/multiprocess/).
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    start_http_server,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from toolcalls.insight.agents import agent_named
from toolcalls.insight.damage import damage_of
from toolcalls.insight.redaction import redacted_text
from toolcalls.mitm.metrics import names
from toolcalls.mitm.metrics.measured_tap import MeasuredTap, Measures

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_VALUES = 50  # distinct values of a label
_LENGTH = 80  # characters of a label's value
OTHER = "other"


class Metrics:
    """The counts of one proxy, served until `close`. Raises OSError when the address cannot be had."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._registry = CollectorRegistry()
        self._metrics = {metric: _made(metric, self._registry) for metric in names.METRICS}
        self._models, self._agents, self._reasons = _Bounded(), _Bounded(), _Bounded()
        self._measures = Measures(
            piece=self._metrics[names.ADDED].labels("reply").observe,
            first_byte=self._metrics[names.FIRST_BYTE].observe,
            held=self._metrics[names.HELD].inc,
            open_replies=self._metrics[names.OPEN].inc,
            upstream_bytes=self._metrics[names.BYTES].labels("upstream").inc,
            client_bytes=self._metrics[names.BYTES].labels("client").inc,
        )
        served = self._registry
        if os.environ.get(_FOLDER):
            served = CollectorRegistry()
            MultiProcessCollector(served)  # type: ignore[no-untyped-call]
        else:
            ProcessCollector(registry=served)
            PlatformCollector(registry=served)
        self._server, self._thread = start_http_server(port, host, served)

    @property
    def url(self) -> str:
        """The address that Prometheus reads."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._server.server_port}/metrics"

    def tap(self, *given: Any, **how: Any) -> MeasuredTap:
        """A tap whose pieces are measured; takes what a `ResponseTap` takes."""
        return MeasuredTap(self._measures, *given, **how)

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Time the reading of a request."""
        begun = perf_counter()
        try:
            yield
        finally:
            self._metrics[names.ADDED].labels("request").observe(perf_counter() - begun)

    @contextmanager
    def message(self, message: WebSocketMessage) -> Iterator[None]:
        """Time what is done to a message of a WebSocket, and count the bytes of a server's."""
        came, begun = 0 if message.injected else len(message.content), perf_counter()
        try:
            yield
        finally:
            stage = "request" if message.from_client else "reply"
            self._metrics[names.ADDED].labels(stage).observe(perf_counter() - begun)
            if not message.from_client:
                self._measures.upstream_bytes(came)
                self._measures.client_bytes(0 if message.dropped else len(message.content))

    def reply(self, flow: http.HTTPFlow, data: Mapping[str, Any]) -> None:
        """Count the report of a live reply."""
        model = self._models.label(str(data["model"]))
        agent = self._agents.label(agent_named(lambda name: flow.request.headers.get(name, "")))
        self._metrics[names.REPLIES].labels(str(data["wire"]), model, agent, data["worst"] or "").inc()
        for verdict in data["verdicts"]:
            reason = self._reasons.label(str(verdict["reason"] or ""))
            self._metrics[names.CALLS].labels(verdict["status"], reason, verdict["dialect"] or "", model).inc()
        for damage in damage_of(data, waits=data["client"] == "native"):
            if damage.possible:
                self._metrics[names.POSSIBLE].labels(damage.code, model).inc(damage.count)
                continue
            for mended, count in (("true", damage.mended), ("false", damage.count - damage.mended)):
                if count:
                    self._metrics[names.DAMAGE].labels(damage.code, mended, model).inc(count)
        if data["failure"]:
            self._metrics[names.FAULTS].inc()

    def ended(self, flow: http.HTTPFlow) -> None:
        """Count a request that got an error as its answer, or none."""
        if flow.response is None:
            self._metrics[names.FAILED].labels("none").inc()
        elif flow.response.status_code >= 400:
            self._metrics[names.FAILED].labels(str(flow.response.status_code)).inc()

    def close(self) -> None:
        """Stop the server. The gauges of this process no longer count."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        if os.environ.get(_FOLDER):
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]


def _made(metric: names.Metric, registry: CollectorRegistry) -> Any:
    if metric.kind == "counter":
        return Counter(metric.name, metric.says, metric.labels, registry=registry)
    if metric.kind == "gauge":
        return Gauge(metric.name, metric.says, metric.labels, registry=registry, multiprocess_mode="livesum")
    return Histogram(metric.name, metric.says, metric.labels, registry=registry, buckets=metric.buckets)


class _Bounded:
    """The values of a label that people and models choose: the first ones as they are, all further ones as one."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def label(self, value: str) -> str:
        """The value to count under: redacted and shortened, or `OTHER`."""
        value = redacted_text(value)[:_LENGTH]
        if value not in self._known:
            if len(self._known) == _VALUES:
                return OTHER
            self._known.add(value)
        return value
