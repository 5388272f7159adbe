"""The job of `toolcalls judge`: what a configuration says of the flows of a part, as plain data that can be sent.

With `against`, each flow is also judged by another configuration. With `parquet`, the exchanges are also written as
rows, with the verdicts of today; their times, tokens and ends are those that were recorded.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mitmproxy import http

from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.flows.flow_records import failure_report, records_of
from toolcalls.flows.reports import Reading, reading_of
from toolcalls.insight.exports.jsonl import exchange_data
from toolcalls.route import Config
from toolcalls.tools.archive.parts import Part
from toolcalls.tools.archive.reading import Broken, flows_of
from toolcalls.tools.judge import rows
from toolcalls.tools.judge.judged_flow import compare, judge_flow

type Result = dict[str, Any]


@dataclass(slots=True)
class Judged:
    """What is said of a part, or of some of its flows.

    results   one for each flow (`judged_flow.judge_flow`), with the one by the other configuration, None without it
    flows     how many HTTP flows were read, also those of other traffic
    size      how many bytes
    broken    what cannot be read: the file, the line that says so, and whether the file ends in the middle of a flow
    """

    results: list[tuple[Result, Result | None]] = field(default_factory=list)
    flows: int = 0
    size: int = 0
    broken: list[tuple[str, str, bool]] = field(default_factory=list)

    def add(self, other: "Judged") -> None:
        """Add what is said of other flows."""
        self.results += other.results
        self.flows += other.flows
        self.size += other.size
        self.broken += other.broken


@dataclass(frozen=True, slots=True)
class Judging:
    """The job. `baseline` gives earlier results by the flow's id, for the rows' `change`; None for the flows' own."""

    config: Config
    against: Config | None = None
    parquet: str | None = None
    baseline: Mapping[str, Any] | None = None

    def __call__(self, part: Part) -> Judged:
        """What is said of all of a part."""
        made = Judged()
        for one in self.each(part):
            made.add(one)
        return made

    def each(self, part: Part) -> Iterator[Judged]:
        """What is said of a part, flow by flow."""
        path, size = part.file.path, 0
        written: list[dict[str, Any]] = []
        for found in flows_of(part):
            if isinstance(found, Broken):
                yield Judged(broken=[(path, found.said, found.torn)])
                continue
            size += found.size
            read = reading_of(found.flow, self.config)
            result = judge_flow(path, found.number, found.flow, read)
            if result is None:
                yield Judged(flows=1, size=found.size)
                continue
            other = None
            if self.against is not None:
                other = judge_flow(path, found.number, found.flow, reading_of(found.flow, self.against))
            if self.parquet is not None:
                change = self._change(result, other)
                written += (rows.row(one, path, found.number, change) for one in self._exchanges(found.flow, read))
            yield Judged([(result, other)], 1, found.size)
        if self.parquet is not None:
            rows.write(self.parquet, part, written)
        yield Judged(size=max(0, part.size - size))

    def _change(self, result: Result, other: Result | None) -> str:
        compared = self.against is not None or self.baseline is not None
        before = other if self.baseline is None else self.baseline.get(result["flow"])
        return str(compare(dict(result), before, other=compared)["change"])

    def _exchanges(self, flow: http.HTTPFlow, read: Reading | ReplyNotParsed) -> Iterator[dict[str, Any]]:
        """The exchanges that a flow holds, as they were read, and those that failed."""
        if isinstance(read, Reading):
            records = records_of(flow, read.report, read.turns.values())
        else:
            records = records_of(flow, failure_report(flow) or {})
        for record in records:
            yield exchange_data(record, prices=self.config.prices)
