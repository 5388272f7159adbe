"""All metrics: the one table that the registry, the page `docs/metrics.md` and the test of the dashboard read.

Names follow https://prometheus.io/docs/practices/naming/: the unit is in the name, and a counter ends in `_total`,
which the client adds itself.
"""

from dataclasses import dataclass
from typing import Literal

type Kind = Literal["counter", "gauge", "histogram"]

# Seconds. What the addon adds is counted in microseconds; a large body may take a second.
_ADDED = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_WAITED = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    name      without `_total`
    labels    their names, in order
    says      what is counted, the text after `# HELP`
    buckets   upper bounds of a histogram, in seconds
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    says: str
    buckets: tuple[float, ...] = ()

    @property
    def exposed(self) -> str:
        """The name that Prometheus sees; a histogram has `_bucket`, `_sum` and `_count` after it."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


REPLIES = Metric("toolcalls_replies", "counter", ("api", "model", "agent", "outcome"), "Replies that were read")
FAILED = Metric(
    "toolcalls_failed_requests", "counter", ("status",), "Requests that were answered with an error, or not at all"
)
CALLS = Metric("toolcalls_calls", "counter", ("status", "reason", "dialect", "model"), "Calls, by what became of each")
DAMAGE = Metric(
    "toolcalls_damage", "counter", ("kind", "mended", "model"), "What replies came with that costs an agent its call"
)
POSSIBLE = Metric(
    "toolcalls_possibly_lost",
    "counter",
    ("kind", "model"),
    "Replies' texts that a person may take for a call, and no dialect",
)
BYTES = Metric("toolcalls_body_bytes", "counter", ("side",), "Bytes of streamed replies: from upstream, to the client")
ADDED = Metric(
    "toolcalls_added_seconds",
    "histogram",
    ("stage",),
    "Time that the addon took: to read a request, and for each piece or message of a streamed reply",
    _ADDED,
)
FIRST_BYTE = Metric(
    "toolcalls_first_byte_delay_seconds",
    "histogram",
    (),
    "From the first byte of a streamed body to the first byte that the client got of it",
    _WAITED,
)
OPEN = Metric("toolcalls_open_replies", "gauge", (), "Streamed replies that are coming")
HELD = Metric("toolcalls_held_bytes", "gauge", (), "Bytes of these that have come and not left")
FAULTS = Metric("toolcalls_faults", "counter", (), "Replies in which the addon itself failed")

METRICS = (REPLIES, CALLS, DAMAGE, POSSIBLE, FAILED, BYTES, ADDED, FIRST_BYTE, OPEN, HELD, FAULTS)
