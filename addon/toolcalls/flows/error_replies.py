"""Replies with the status of an error are forwarded unparsed, but some quote a call that the server could not parse.

Where the route mends it (`mend: [errors]`), the client is given the reply that the error was meant to be, in the form
that its request asks for. The error's status and body stay in the flow.
"""

from dataclasses import replace
from datetime import UTC, datetime

from mitmproxy import http

from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import CodingError, decoded
from toolcalls.flows.exchange_plan import ExchangePlan
from toolcalls.mending.error_texts import generation_in
from toolcalls.replies.exchange import Exchange
from toolcalls.wires import CONTENT_TYPES

_ERRORS = 400  # the first status of an error


def quoting_body(flow: http.HTTPFlow) -> bytes | None:
    """The body of an error that quotes what the model wrote, also where it was answered; None for any other reply."""
    if flow_metadata.answered_status(flow) is not None:
        return flow_metadata.upstream_body(flow)
    response = flow.response
    if response is None or response.status_code < _ERRORS or not response.raw_content:
        return None
    try:
        body = decoded(response.raw_content, response.headers.get("content-encoding", ""))
    except (CodingError, LookupError):
        return None
    return body if generation_in(body) is not None else None


def exchange_of(plan: ExchangePlan, body: bytes) -> Exchange:
    """The reading of such a body: nothing of it changes."""
    observed = replace(plan, decision=replace(plan.decision, kind="observe"), processors=None, watch=None)
    exchange = observed.exchange("whole", is_error=True)
    exchange.feed(body)
    exchange.close()
    return exchange


def answered(plan: ExchangePlan, flow: http.HTTPFlow, body: bytes) -> tuple[Exchange, bytes] | None:
    """The reading of the reply that such a body is answered with, and that reply's; None where the error stays."""
    response = flow.response
    if response is None or "errors" not in plan.call_policy.route.mend:
        return None
    came = response.timestamp_start
    written = datetime.fromtimestamp(came, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    exchange = plan.exchange(plan.form_asked_for(), moment=(int(came), written))
    made = exchange.answer(body, plan.form_asked_for(), flow_metadata.answered_status(flow) or response.status_code)
    return None if made is None else (exchange, made)


def answer(plan: ExchangePlan, flow: http.HTTPFlow, body: bytes) -> Exchange:
    """Read an error that came, and put the reply into the flow that the client is given instead, if there is one."""
    made = answered(plan, flow, body)
    if made is None or flow.response is None:
        return exchange_of(plan, body)
    flow_metadata.store_answer(flow, flow.response, body, made[1], CONTENT_TYPES[plan.form_asked_for()])
    return made[0]


def reading_of(plan: ExchangePlan, flow: http.HTTPFlow, body: bytes) -> Exchange:
    """The reading of an error in a flow that stays as it is."""
    made = answered(plan, flow, body)
    return exchange_of(plan, body) if made is None else made[0]
