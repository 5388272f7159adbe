"""Reports on replies that have ended: to the flow, to mitmproxy's log, to the journal and to the recording."""

import logging
from traceback import format_tb
from typing import Any

from mitmproxy import http

from toolcalls.flows import flow_metadata
from toolcalls.flows.exchange_plan import ExchangePlan
from toolcalls.flows.recorded_verdicts import as_recorded, beside, joined, judged, same_verdicts
from toolcalls.flows.websocket.turns import store_report, turn_reports
from toolcalls.insight import report
from toolcalls.insight.agents import agent_named
from toolcalls.insight.redaction import redacted_text, redacted_url
from toolcalls.mending.reply_watch import says_unopened
from toolcalls.mitm.log_line import log_line
from toolcalls.mitm.options import Options
from toolcalls.mitm.run_totals import RunTotals
from toolcalls.mitm.shared_memory import SharedMemory
from toolcalls.replies.exchange import Exchange

logger = logging.getLogger(__name__)

LIVE = object()  # as `held` of a reply that does not come from a file
_NAME = 60  # characters of a model's name
_FROM_FILE = "when it was read from a file"


class Reporter:
    """Writes the reports of replies, and counts them in `totals`.

    `memory` remembers the calls that were lifted, and the clients that were recognised.
    """

    def __init__(self, options: Options) -> None:
        self.memory = SharedMemory(options)
        self.totals = RunTotals()
        self._options = options

    def report(self, flow: http.HTTPFlow, exchange: Exchange, number: int | None = None, held: object = LIVE) -> None:
        """Write the report of a reply.

        number   which of the client's messages asked for it, on a WebSocket
        held     the report that the file holds, for a reply from a file; None where it holds none
        """
        self.memory.keep(self.memory.calls.reply_ended(exchange))
        unopened = any(map(says_unopened, (note for _, note in exchange.notes)))
        self.memory.clients.reply_ended(exchange, reasons_first=unopened)
        data = report.make_report(exchange, model=exchange.call_policy.request.model)
        if held is LIVE:
            self.totals.add(data)
            if self._options.metrics is not None:
                self._options.metrics.reply(flow, data)
        else:
            data = self._from_file(held, flow_metadata.writable(data))
        if number is None:
            flow_metadata.annotate(flow, data)
        else:
            store_report(flow, number, data)
            flow_metadata.annotate(flow, joined(turn_reports(flow)))
        if line := log_line(data):
            level = logging.WARNING if data["failure"] else logging.INFO
            logger.log(level, f"{exchange_label(flow)}{_asker(flow, data)}: {line}")
        if exchange.failure is not None:
            # Without the exception's message, which may quote the reply.
            where = "".join(format_tb(exchange.failure.__traceback__))
            logger.debug(f"toolcalls: where it failed ({type(exchange.failure).__name__}):\n{where}")
        if self._options.journal is not None:
            self._options.journal.write(flow, flow_metadata.writable(data))

    def _from_file(self, held: object, now: dict[str, Any]) -> dict[str, Any]:
        """The report of a reply from a file: that of when it passed, unless there is none or the user wants `now`."""
        recorded = as_recorded(held)
        if recorded is None or (self._options.rejudges and not same_verdicts(recorded, now)):
            return judged(now, _FROM_FILE, held)
        return beside(recorded, now)

    def record(self, flow: http.HTTPFlow) -> None:
        """Count a live flow that has ended, and add it to the recording."""
        self.totals.ended(flow)
        if self._options.metrics is not None:
            self._options.metrics.ended(flow)
        if self._options.recorder is not None:
            self._options.recorder.add(flow)
        if self._options.traces is not None:
            self._options.traces.add(flow)


def _asker(flow: http.HTTPFlow, data: dict[str, Any]) -> str:
    """Who asked which model: ` (Claude Code, claude-opus-4-7)`; "" where neither is known."""
    agent = agent_named(lambda name: flow.request.headers.get(name, ""))
    known = [text for text in (agent, redacted_text(str(data["model"]))[:_NAME]) if text]
    return report.visible(f" ({', '.join(known)})") if known else ""


def log_losses(flow: http.HTTPFlow, plan: ExchangePlan) -> None:
    """Log what the upstream is not sent of a request."""
    for note in plan.losses:
        logger.info(f"{exchange_label(flow)}: {report.visible(note)}")


def exchange_label(flow: http.HTTPFlow) -> str:
    """Names an exchange in the log: method and path, without the host, and without the query, which may hold a key."""
    path = redacted_url(flow.request.path.partition("?")[0])
    return report.visible(f"toolcalls: {flow.request.method} {path}")
