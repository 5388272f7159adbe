"""Reports on replies that have ended: to the flow, to mitmproxy's log, to the journal and to the recording."""

import logging
from traceback import format_tb

from mitmproxy import http

from toolcalls.insight import report
from toolcalls.insight.redaction import redacted_url
from toolcalls.mitm import flow_metadata
from toolcalls.mitm.exchange_plan import ExchangePlan
from toolcalls.mitm.log_lines import log_lines
from toolcalls.mitm.options import Options
from toolcalls.mitm.websocket.turns import joined_report, store_report, turn_reports
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.call_memory import CallMemory

logger = logging.getLogger(__name__)

LIVE = object()  # as `recorded` of a reply that does not come from a file
_FROM_FILE = "when it was read from a file"


class Reporter:
    """Writes the reports of replies. `calls` remembers the calls that were lifted."""

    def __init__(self, options: Options) -> None:
        self.calls = CallMemory()
        self._options = options

    def report(
        self, flow: http.HTTPFlow, exchange: Exchange, number: int | None = None, recorded: object = LIVE
    ) -> None:
        """Write the report of a reply.

        number     which of the client's messages asked for it, on a WebSocket
        recorded   the report that the file held, for a reply from a file; None where it held none
        """
        self.calls.reply_ended(exchange)
        data = report.make_report(exchange, model=exchange.call_policy.request.model)
        if recorded is not LIVE and not flow_metadata.is_as_recorded(recorded, data):
            data["judged"] = _FROM_FILE
        if number is None:
            flow_metadata.annotate(flow, data)
        else:
            store_report(flow, number, data)
            flow_metadata.annotate(flow, joined_report(turn_reports(flow)))
        if data["summary"]:
            level = logging.WARNING if data["failure"] else logging.INFO
            logger.log(level, f"{exchange_label(flow)}: {report.visible(data['summary'])}")
            for line in log_lines(data["verdicts"], data["notes"]):
                logger.info(f"toolcalls:   {line}")
        if exchange.failure is not None:
            # Without the exception's message, which may quote the reply.
            where = "".join(format_tb(exchange.failure.__traceback__))
            logger.debug(f"toolcalls: where it failed ({type(exchange.failure).__name__}):\n{where}")
        if self._options.journal is not None:
            self._options.journal.write(flow, flow_metadata.writable(data))

    def record(self, flow: http.HTTPFlow) -> None:
        """Add a flow that has ended to the recording."""
        if self._options.recorder is not None:
            self._options.recorder.add(flow)


def log_losses(flow: http.HTTPFlow, plan: ExchangePlan) -> None:
    """Log what the upstream is not sent of a request."""
    for note in plan.losses:
        logger.info(f"{exchange_label(flow)}: {report.visible(note)}")


def exchange_label(flow: http.HTTPFlow) -> str:
    """Names an exchange in the log: method and path, without the host, and without the query, which may hold a key."""
    path = redacted_url(flow.request.path.partition("?")[0])
    return report.visible(f"toolcalls: {flow.request.method} {path}")
