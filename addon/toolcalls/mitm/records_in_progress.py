"""The exchanges of a flow whose replies are awaited or coming, as plain records, for the page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mitmproxy import http

from toolcalls.flows.exchange_plan import wire_for
from toolcalls.flows.flow_records import exchange_id, failure_report, has_report, http_record, record_of, turn_record
from toolcalls.flows.websocket.turns import Turn, TurnReader
from toolcalls.insight import report as reports
from toolcalls.insight.exchange_record import ExchangeRecord, Pieces, State
from toolcalls.insight.own_secrets import without_own_secrets
from toolcalls.mitm.in_progress import progress_of, replies_in_progress, tap_of
from toolcalls.replies.exchange import Exchange


def state_of(flow: object) -> State | None:
    """How far the reply of a flow is that the addon reads, or may come to read; None for any other flow."""
    if not isinstance(flow, http.HTTPFlow):
        return None
    if has_report(flow) or failure_report(flow) is not None:
        return "ended"
    if replies_in_progress(flow):
        return "streaming"
    if tap_of(flow) is not None:
        return "streaming"
    awaited = flow.live and flow.response is None and flow.error is None and flow.request.timestamp_end is not None
    return "waiting" if awaited and wire_for(flow.request) is not None else None


def records_in_progress(flow: http.HTTPFlow, reading: TurnReader | None = None) -> Callable[[], list[ExchangeRecord]]:
    """What makes the exchanges of a flow that are awaited or coming, as far as they came by now; the summary of each is
    what its reply does at the moment.

    To be called by the loop, and to be worked off in a thread: only what may change meanwhile is copied here.

    reading   of the same connection at an earlier look, to be gone on with
    """
    if flow.websocket is not None:
        coming = {number: _current_report(exchange) for number, exchange in replies_in_progress(flow)}
        again = TurnReader() if reading is None else reading
        news = again.new_messages(flow)

        def read_on() -> list[ExchangeRecord]:
            again.read(*news)
            return [without_own_secrets(one) for one in _turns_in_progress(flow, again.turns, coming)]

        return read_on
    tap = tap_of(flow)
    if tap is None:
        return lambda: [replace(record_of(flow, {}), state="waiting")]
    report, encoded = _current_report(tap.exchange), tap.encoded
    upstream = tap.bodies.upstream.copy()
    client = tap.bodies.client() if tap.bodies.differ and not encoded else upstream

    def made() -> list[ExchangeRecord]:
        body = upstream.content()
        pieces = Pieces(upstream.microseconds, upstream.sizes)
        same = client is upstream
        one = replace(
            record_of(flow, report),
            state="streaming",
            upstream_body=body,
            client_body=body if same else client.content(),
            upstream_pieces=pieces,
            client_pieces=pieces if same else Pieces(client.microseconds, client.sizes),
            ended=None,
        )
        return [without_own_secrets(one)]

    return made


def size_in_progress(flow: http.HTTPFlow) -> int:
    """How much of a reply has come, in bytes or messages; -1 for nothing."""
    if flow.websocket is not None:
        return len(flow.websocket.messages)
    tap = tap_of(flow)
    return -1 if tap is None else int(tap.bodies.upstream.size)


def _current_report(exchange: Exchange) -> dict[str, Any]:
    return reports.make_report(exchange, model=exchange.call_policy.request.model) | {"summary": progress_of(exchange)}


def _turns_in_progress(
    flow: http.HTTPFlow, turns: Sequence[Turn], coming: Mapping[int, Mapping[str, Any]]
) -> list[ExchangeRecord]:
    """The replies of a connection that have not ended, by the reports of their numbers."""
    upgrade = http_record(flow, {})
    return [
        replace(
            turn_record(upgrade, turn, coming[turn.number]),
            id=exchange_id(flow, place),
            state="streaming" if turn.upstream.lines else "waiting",
            ended=None,
        )
        for place, turn in enumerate(turns)
        if turn.number in coming
    ]
