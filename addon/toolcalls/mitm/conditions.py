"""What each of the seven conditions says of the calls of a recorded reply.

`conditions` asks more than a verdict tells, which names only the first condition that failed. It reads the reply twice
more on relaxed terms, with every name, choice and echo let pass: once with places and quotations that count, and once
without, so that what is declined there is declined for its end. The other conditions are asked directly. So a call that
is both undeclared and fenced fails both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from toolcalls.dialects import all_dialects
from toolcalls.events import Reason, Text, Verdict
from toolcalls.flows.judging import Recorded, decoded_events
from toolcalls.insight.vocabulary.entries import ConditionNumber
from toolcalls.insight.vocabulary.reasons import failing, with_sentence
from toolcalls.insight.vocabulary.words import BEYOND_THEM, CONDITIONS
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.exchange import Exchange
from toolcalls.route import Route, Taken
from toolcalls.text.echo import EchoIndex
from toolcalls.values.call_index import CallIndex

_QUOTED = failing(4)
_NAMES: tuple[Taken, ...] = ("undeclared", "echo", "duplicate")
_MOST_CALLS = 1 << 30
_INCOMPLETE = failing(7)
_WHOLE = frozenset({"duplicate", "echo", "missing_argument", "not_terminal"})


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
    natives = CallIndex(reply.plan.tools)
    for _, record in today.client_calls:
        if record.dialect is None:
            natives.add(record.name, record.arguments)
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


def _texts(reply: Recorded) -> dict[int, str]:
    """The model's text, per lane."""
    pieces: dict[int, list[str]] = {}
    for lane, event in decoded_events(reply):
        if isinstance(event, Text):
            pieces.setdefault(lane, []).append(event.text)
    return {lane: "".join(written) for lane, written in pieces.items()}


class _Case:
    """One candidate before its conditions: what is known of it from three readings."""

    def __init__(self, call_policy: CallPolicy, verdict: Verdict, text: str, natives: CallIndex) -> None:
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
        if self.arguments is None or not self._natives.has(self._verdict.name or "", self.arguments):
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
