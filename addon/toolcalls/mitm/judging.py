"""A recorded reply read once more with today's configuration, and what each of the seven conditions says of its calls.

`recorded` is what the addon itself does to flows from a file: the upstream's body as it was recorded, today's rules. It
changes no body.

`conditions` asks more than a verdict tells, which names only the first condition that failed. It reads the reply twice
more on relaxed terms, with every name, choice and echo let pass: once with places and quotations that count, and once
without, so that what is declined there is declined for its end. The other conditions are asked directly. So a call that
is both undeclared and fenced fails both.

A little over 300 lines: each condition is asked here as the reader asks it, and the table of them is one.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from mitmproxy import http

from toolcalls.dialects import all_dialects
from toolcalls.events import Event, Reason, Text, Verdict
from toolcalls.insight.vocabulary.conditions import BEYOND_THEM, CONDITIONS
from toolcalls.insight.vocabulary.entries import ConditionNumber
from toolcalls.insight.vocabulary.reasons import failing, with_sentence
from toolcalls.mitm import flow_metadata
from toolcalls.mitm.content_codings import CodingError, decoded
from toolcalls.mitm.error_replies import exchange_of, quoting_body
from toolcalls.mitm.exchange_plan import ExchangePlan, ReplyNotParsed, plan_for, wire_for
from toolcalls.mitm.reply_forms import form_of, unreadable_charset
from toolcalls.mitm.websocket.connection import QuotableTexts
from toolcalls.mitm.websocket.turns import turns_of
from toolcalls.mitm.websocket.upgrade import websocket_wire
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.call_memory import CallMemory
from toolcalls.route import Config, Route, Taken
from toolcalls.text.echo import EchoIndex
from toolcalls.wires import Wire
from toolcalls.wires.frames import FRAMES, Form

_QUOTED = failing(4)
_NAMES: tuple[Taken, ...] = ("undeclared", "echo", "duplicate")
_MOST_CALLS = 1 << 30
_ERRORS = 400  # the first status of an error
_INCOMPLETE = failing(7)
_WHOLE = frozenset({"duplicate", "echo", "missing_argument", "not_terminal"})


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
    plan = plan_for(wire, flow.request, config, original, recognised=client)
    if not plan.may_block and form_of(wire, flow.request, flow.response) is None:
        raise ReplyNotParsed("it has no reply that can be read")
    if plan.may_block and (charset := unreadable_charset(flow.response, form)) is not None:
        raise ReplyNotParsed(f"its reply cannot be read: charset {charset!r}")
    return Recorded(plan, form, body, cut=flow.error is not None)


def _error(flow: http.HTTPFlow, wire: Wire, config: Config, body: bytes, status: int) -> Recorded:
    """An error that quotes what the model wrote, also one that was answered with a reply."""
    original, client = flow_metadata.original_request_body(flow), flow_metadata.recognised_client(flow)
    plan = plan_for(wire, flow.request, config, original, recognised=client)
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


# --- the seven conditions ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition. `met` is None where the question does not come up, `said` is the reason or an explanation."""

    number: int | None
    words: str
    met: bool | None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate of a reply: its verdict today, what was written, and its conditions."""

    lane: int
    verdict: Verdict
    text: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one reading says: the verdict of each place, and the arguments of the calls it made."""

    verdicts: dict[tuple[int, int], Verdict]
    arguments: dict[tuple[int, int | None], str]

    def call(self, lane: int, verdict: Verdict | None) -> str | None:
        """The arguments of the call that was made at a place."""
        return None if verdict is None else self.arguments.get((lane, verdict.index))


def conditions(reply: Recorded) -> list[Candidate]:
    """All candidates of a reply in order, also those in dialects that the route does not read."""
    today = reply.read()
    placed, free = (_reading(reply.read(_relaxed(reply.plan.call_policy, take))) for take in (_NAMES, get_args(Taken)))
    texts = _texts(reply)
    natives = [(record.name, record.arguments) for _, record in today.client_calls if record.dialect is None]
    found = [(lane, verdict) for lane, verdict in today.verdicts if verdict.dialect is not None and verdict.end]
    for (lane, _), verdict in placed.verdicts.items():
        if verdict.dialect is not None and verdict.end and not _overlaps(lane, verdict, found):
            hidden = Verdict("declined", "observed", verdict.dialect, verdict.name, verdict.start, verdict.end)
            found.append((lane, hidden))
    made = []
    for lane, verdict in sorted(found, key=lambda one: (one[0], one[1].start)):
        place = (lane, verdict.start)
        case = _Case(reply.plan.call_policy, verdict, texts.get(lane, ""), natives)
        case.placed, case.free = placed.verdicts.get(place), free.verdicts.get(place)
        case.arguments = placed.call(lane, case.placed) or free.call(lane, case.free)
        made.append(Candidate(lane, verdict, case.written, tuple(case.all())))
    return made


def _relaxed(call_policy: CallPolicy, take: tuple[Taken, ...]) -> CallPolicy:
    """A policy by which nothing fails but the end, and what `take` does not name."""
    own = call_policy.route
    route = Route(
        own.name,
        take=(*take, "echo"),  # also of what the reply itself holds
        require=(),
        max_calls=_MOST_CALLS,
        infer_types=own.infer_types,
        max_buffer_bytes=own.max_buffer_bytes,
        max_held_call_bytes=own.max_held_call_bytes,
        marker=own.marker,
        max_payload_chars=own.max_payload_chars,
    )
    request = replace(call_policy.request, tool_choice="auto")
    return replace(call_policy, route=route, request=request, lift=True, allow_undeclared=True)


def _reading(exchange: Exchange) -> _Reading:
    verdicts: dict[tuple[int, int], Verdict] = {}
    for lane, verdict in exchange.verdicts:
        if verdict.end:
            verdicts.setdefault((lane, verdict.start), verdict)
    return _Reading(verdicts, {(lane, record.index): record.arguments for lane, record in exchange.client_calls})


def _overlaps(lane: int, verdict: Verdict, found: Sequence[tuple[int, Verdict]]) -> bool:
    return any(lane == other and verdict.start < one.end and one.start < verdict.end for other, one in found)


def decoded_events(reply: Recorded) -> Iterator[tuple[int, Event]]:
    """What the wire makes of the reply's body, each event with its lane."""
    codec = reply.plan.wire.decoder(streamed=reply.form != "whole")
    payloads: list[bytes | None] = [reply.body]
    if reply.form in FRAMES:
        frames = FRAMES[reply.form]()
        payloads = [frame.data for frame in (*frames.feed(reply.body), *frames.flush())]
    for payload in payloads:
        yield from codec.decode(payload) if payload is not None else ()


def _texts(reply: Recorded) -> dict[int, str]:
    """The model's text, per lane."""
    pieces: dict[int, list[str]] = {}
    for lane, event in decoded_events(reply):
        if isinstance(event, Text):
            pieces.setdefault(lane, []).append(event.text)
    return {lane: "".join(written) for lane, written in pieces.items()}


class _Case:
    """One candidate before its conditions: what is known of it from three readings."""

    def __init__(self, call_policy: CallPolicy, verdict: Verdict, text: str, natives: list[tuple[str, str]]) -> None:
        self._call_policy = call_policy
        self._verdict = verdict
        self._text = text
        self._natives = natives
        self.placed: Verdict | None = None
        self.free: Verdict | None = None
        self.arguments: str | None = None

    @property
    def written(self) -> str:
        """The candidate's text, as far as any reading went."""
        ends = [one.end for one in (self._verdict, self.placed, self.free) if one is not None]
        return self._text[self._verdict.start : max(ends)]

    def all(self) -> Iterator[Condition]:
        """The seven, and what the policy or the route asks beyond them where that is what failed."""
        asked: dict[ConditionNumber, tuple[bool | None, str]] = {
            1: self._route(),
            2: self._name(),
            3: self._place(),
            4: self._quotation(),
            5: self._echo(),
            6: self._twin(),
            7: self._end(),
        }
        for number, (met, said) in asked.items():
            yield Condition(number, CONDITIONS[number], met, said)
        reason = self._verdict.reason
        if reason is not None and all(met is not False for met, _ in asked.values()):
            yield Condition(None, BEYOND_THEM, False, with_sentence(reason))

    def _route(self) -> tuple[bool | None, str]:
        dialects = self._call_policy.route.dialects
        if dialects is not None and self._verdict.dialect not in dialects:
            return False, f"the route does not read {self._verdict.dialect}"
        return (True, "") if self._call_policy.lift else (False, with_sentence("observed"))

    def _name(self) -> tuple[bool | None, str]:
        if self._verdict.name is None:
            return None, "no name was read"
        asking = replace(self._call_policy, lift=True)
        reason = asking.declines(self._verdict.name, None)
        return (True, "") if reason is None else (False, with_sentence(reason))

    def _place(self) -> tuple[bool | None, str]:
        reason = self.placed.reason if self.placed is not None else None
        dialect = all_dialects().get(self._verdict.dialect or "")
        before = self._text[: self._verdict.start].rpartition("\n")[2].strip("> \t")
        if reason in _QUOTED and before and dialect is not None and dialect.place != "anywhere":
            reason = "inline"  # the quotation was asked for first
        if reason == "not_alone":
            return (True, "") if self._call_policy.takes("inline") else (False, with_sentence(reason))
        return self._taken(reason) if reason == "inline" else (True, "")

    def _quotation(self) -> tuple[bool | None, str]:
        reason = self.placed.reason if self.placed is not None else None
        return self._taken(reason) if reason in _QUOTED else (True, "")

    def _echo(self) -> tuple[bool | None, str]:
        written = self.written.strip()
        repeats = self._verdict.reason == "echo" or (
            bool(written) and EchoIndex(self._call_policy.request.quotable).trace(written) is not None
        )
        return self._taken("echo") if repeats else (True, "")

    def _twin(self) -> tuple[bool | None, str]:
        twins = (arguments for name, arguments in self._natives if name == self._verdict.name)
        if not any(_same(self.arguments, twin) for twin in twins):
            return True, ""
        if self._verdict.status == "lifted":
            return True, "the same call came natively, too, and was not known to when this one did"
        return self._taken("duplicate")

    def _taken(self, reason: Reason) -> tuple[bool | None, str]:
        """A condition that fails, unless the route's policy takes such a call all the same."""
        if self._call_policy.takes(reason):
            return True, f"{reason}, which the policy takes"
        return False, with_sentence(reason)

    def _end(self) -> tuple[bool | None, str]:
        for one in (self._verdict, self.placed, self.free):
            if one is not None and one.reason in _INCOMPLETE:
                return False, with_sentence(one.reason)
        for one in (self._verdict, self.placed, self.free):
            if one is not None and (one.reason is None or one.reason in _WHOLE):
                return True, ""
        return None, "it was read only up to its name"


def _same(mine: str | None, native: str) -> bool:
    """Whether two argument texts mean the same object."""
    if mine is None:
        return False
    try:
        return mine == native or bool(json.loads(mine, parse_int=str) == json.loads(native, parse_int=str))
    except (ValueError, RecursionError):
        return False
