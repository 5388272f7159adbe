"""A recorded reply read once more with today's configuration, and what each of the seven conditions says of its calls.

`recorded` is what the addon itself does to flows from a file: the upstream's body as it was recorded, today's rules. It
changes no body.

`conditions` asks more than a verdict tells, which names only the first condition that failed. It reads the reply twice
more on relaxed terms, with every name, choice and echo let pass: once with places and quotations that count, and once
without, so that what is declined there is declined for its end. The other conditions are asked directly. So a call that
is both undeclared and fenced fails both.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mitmproxy import http

from toolcalls.events import Event
from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import CodingError, decoded
from toolcalls.flows.error_replies import exchange_of, quoting_body
from toolcalls.flows.exchange_plan import ExchangePlan, ReplyNotParsed, plan_for, wire_for
from toolcalls.flows.reply_forms import form_of, unreadable_charset
from toolcalls.flows.websocket.connection import QuotableTexts
from toolcalls.flows.websocket.turns import turns_of
from toolcalls.flows.websocket.upgrade import websocket_wire
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.call_memory import CallMemory
from toolcalls.route import Config
from toolcalls.wires import Wire
from toolcalls.wires.frames import FRAMES, Form

_ERRORS = 400  # the first status of an error


@dataclass(frozen=True, slots=True)
class Recorded:
    """A reply as it was recorded, and what today's configuration says of it.

    cut     it broke off
    error   the status of the upstream's error, whose body this is; None for none
    """

    plan: ExchangePlan
    form: Form
    body: bytes
    cut: bool
    error: int | None = None

    def read(self, call_policy: CallPolicy | None = None) -> Exchange:
        """The reply read from its beginning to its end, on other `terms` as calls to lift."""
        plan = self.plan
        if call_policy is not None:
            plan = replace(plan, call_policy=call_policy, decision=replace(plan.decision, kind="lift"), processors=None)
        return self._played(plan)[0]

    def given(self) -> tuple[Exchange, bytes]:
        """The reading, and the body that a client is given by today's configuration."""
        return self._played(self.plan)

    def _played(self, plan: ExchangePlan) -> tuple[Exchange, bytes]:
        exchange = plan.exchange(self.form)
        if self.error is not None:
            made = exchange.answer(self.body, self.form, self.error)
            return (exchange_of(plan, self.body), self.body) if made is None else (exchange, made)
        out = exchange.feed(self.body)
        return exchange, out + (exchange.abort() if self.cut else exchange.close())


def recorded(flow: http.HTTPFlow, config: Config) -> Recorded:
    """Raises ReplyNotParsed, with the reason, for a flow that the addon would not read."""
    wire = wire_for(flow.request)
    if wire is None or flow.response is None:
        raise ReplyNotParsed("it is no exchange with an API that the addon reads")
    if (quoting := quoting_body(flow)) is not None:
        return _error(flow, wire, config, quoting, flow.response.status_code)
    if flow.response.status_code >= _ERRORS:
        raise ReplyNotParsed(
            f"it is an error with status {flow.response.status_code} that quotes nothing of the model's"
        )
    form = form_of(wire, flow.request, flow.response, guarded=True)
    body = flow.metadata.get(flow_metadata.UPSTREAM)
    if form is None or flow.response.raw_content is None:
        raise ReplyNotParsed("it has no reply that can be read")
    if not isinstance(body, bytes):
        try:
            body = decoded(flow.response.raw_content, flow.response.headers.get("content-encoding", ""))
        except (CodingError, LookupError) as error:
            raise ReplyNotParsed(f"its reply cannot be read: {error}") from error
    original, client = flow_metadata.original_request_body(flow), flow_metadata.recognised_client(flow)
    plan = plan_for(
        wire, flow.request, config, original, recognised=client, reasons_first=flow_metadata.reasons_first(flow)
    )
    if not plan.may_block and form_of(wire, flow.request, flow.response) is None:
        raise ReplyNotParsed("it has no reply that can be read")
    if plan.may_block and (charset := unreadable_charset(flow.response, form)) is not None:
        raise ReplyNotParsed(f"its reply cannot be read: charset {charset!r}")
    return Recorded(plan, form, body, cut=flow.error is not None)


def _error(flow: http.HTTPFlow, wire: Wire, config: Config, body: bytes, status: int) -> Recorded:
    """An error that quotes what the model wrote, also one that was answered with a reply."""
    original, client = flow_metadata.original_request_body(flow), flow_metadata.recognised_client(flow)
    plan = plan_for(
        wire, flow.request, config, original, recognised=client, reasons_first=flow_metadata.reasons_first(flow)
    )
    answered = flow_metadata.answered_status(flow)
    return Recorded(plan, plan.form_asked_for(), body, cut=False, error=status if answered is None else answered)


def replies(flow: http.HTTPFlow, config: Config) -> list[tuple[int | None, Recorded]]:
    """The replies that a flow holds: the only one, or those of a WebSocket, each with the number of the message that
    asked for it. Raises ReplyNotParsed.
    """
    if flow.websocket is None:
        return [(None, recorded(flow, config))]
    wire = websocket_wire(flow.request)
    if wire is None:
        raise ReplyNotParsed("it is no connection with an API that the addon reads")
    quotable = QuotableTexts()
    call_memory = CallMemory()
    found: list[tuple[int | None, Recorded]] = []
    why = "no reply has come on this connection"
    for turn in turns_of(flow):
        try:
            plan = quotable.extend(plan_for(wire, flow.request, config, turn.asked, call_memory))
        except ReplyNotParsed as reason:
            why = str(reason)
            continue
        call_memory.assume_latest(plan.call_policy.request)
        found.append((turn.number, Recorded(plan, "ndjson", turn.upstream.body, cut=turn.ended is None)))
    if not found:
        raise ReplyNotParsed(why)
    return found


def decoded_events(reply: Recorded) -> Iterator[tuple[int, Event]]:
    """What the wire makes of the reply's body, each event with its lane."""
    codec = reply.plan.wire.decoder(streamed=reply.form != "whole")
    payloads: list[bytes | None] = [reply.body]
    if reply.form in FRAMES:
        frames = FRAMES[reply.form]()
        payloads = [frame.data for frame in (*frames.feed(reply.body), *frames.flush())]
    for payload in payloads:
        yield from codec.decode(payload) if payload is not None else ()
