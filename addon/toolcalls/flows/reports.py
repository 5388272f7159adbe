"""The report of a flow: the one that it was recorded with, and the one that today's configuration and code give."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mitmproxy import http

from toolcalls.flows import flow_metadata
from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.flows.flow_records import failure_report, records_of
from toolcalls.flows.judging import recorded
from toolcalls.flows.recorded_verdicts import as_recorded, beside, joined
from toolcalls.flows.websocket.connection import replay
from toolcalls.flows.websocket.turns import turn_reports
from toolcalls.insight import report
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.replies.exchange import Exchange
from toolcalls.route import Config


def recorded_report(flow: http.HTTPFlow) -> dict[str, Any] | None:
    """What the addon wrote into a flow when its reply passed; None for one without, or with what nobody can read."""
    turns = [one for one in map(as_recorded, turn_reports(flow)) if one is not None]
    return joined(turns) if turns else as_recorded(flow.metadata.get(flow_metadata.REPORT))


@dataclass(frozen=True, slots=True)
class Reading:
    """What today's configuration and code say of a flow, whose replies were read once each.

    report   the flow's; of a connection, that of its latest reply with the verdicts and notes of all
    turns    those of a connection's replies, by the numbers of the messages that asked for them; {} for other flows
    """

    report: dict[str, Any]
    turns: Mapping[int, dict[str, Any]]


def reading_of(flow: http.HTTPFlow, config: Config) -> Reading | ReplyNotParsed:
    """Read a flow again, or say why that cannot be."""
    try:
        if flow.websocket is None:
            reply = recorded(flow, config)
            return Reading(_report_of(reply.read(), reply.plan.model), {})
        turns = {
            number: _report_of(exchange, exchange.call_policy.request.model) | {"number": number}
            for number, exchange in replay(flow, config)
        }
    except ReplyNotParsed as reason:
        return reason
    if not turns:
        return ReplyNotParsed("no reply of the connection can be read")
    return Reading(joined([*turns.values()]), turns)


def _report_of(exchange: Exchange, model: str) -> dict[str, Any]:
    made: dict[str, Any] = flow_metadata.writable(report.make_report(exchange, model=model))
    return made


def all_of(flow: http.HTTPFlow, config: Config, *, compare: bool = False) -> list[ExchangeRecord]:
    """The exchanges that a flow holds, with the verdicts of when they passed, and those that failed; [] for one that
    the addon passes by. A flow that was recorded without the addon has the verdicts of the current configuration.

    compare   what the current configuration says is beside verdicts that it would not give
    """
    recorded = recorded_report(flow)
    found = reading_of(flow, config) if recorded is None or compare else None
    now = found if isinstance(found, Reading) else None
    made = _merged(recorded, None if now is None else now.report) or failure_report(flow)
    if made is None:
        return []
    turns: list[dict[str, Any]] = []
    if flow.websocket is not None:
        held = {one["number"]: as_recorded(one) for one in turn_reports(flow)}
        current = {} if now is None else now.turns
        merged = {number: _merged(held.get(number), current.get(number)) for number in {**held, **current}}
        turns = [{**one, "number": number} for number, one in merged.items() if one is not None]
    return records_of(flow, made, turns)


def _merged(recorded: dict[str, Any] | None, now: dict[str, Any] | None) -> dict[str, Any] | None:
    """The report of then, with the one of now beside it where there are both."""
    return now if recorded is None else recorded if now is None else beside(recorded, now)
