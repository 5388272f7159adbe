"""One exchange summed up: who sent it, what became of each call, how long it took, what it cost. Bounded, no secrets.

A turn holds no body. Texts in it are beginnings, with secrets taken out, so a turn may be kept for long and shown to
whoever may see mitmproxy's page; of the messages of its request more is kept, and searched for secrets when it is asked
for. `turn_of` does all the work that a turn costs; it is linear in the exchange.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolcalls.insight import replies
from toolcalls.insight.agents import agent_of, session_of
from toolcalls.insight.conversation import Known, RequestSummary, excerpt, request_summary
from toolcalls.insight.damage import Damage, damage_of
from toolcalls.insight.descriptions import defects_beside_reason, describe, describe_defect, did_you_mean
from toolcalls.insight.exchange_record import ExchangeRecord, State
from toolcalls.insight.own_secrets import OwnSecrets, secrets_of
from toolcalls.insight.passages import Passage, Span, passages_of
from toolcalls.insight.redaction import redacted_text, redacted_url
from toolcalls.insight.replies import Lane, Moments, Reply
from toolcalls.insight.report import NO_CALLS
from toolcalls.insight.vocabulary.entries import Outcome
from toolcalls.insight.vocabulary.words import REASONS, STATUSES
from toolcalls.mending.mended import defect_of
from toolcalls.values.usage import Tokens

ARGUMENTS = 4000  # characters of a call's arguments that are kept
TEXT = 1500  # of a reply's text
CALLS = 200  # verdicts of one turn
_NAME = 120
_ERRORS = 400  # the first status of an error
_REFUSAL = 2048  # bytes of what a server says with one
_PORTS = frozenset({0, 80, 443})  # not known, and those of HTTP's schemes
_CHANGES = 20  # of one call, and notes of one turn


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one call. `arguments` is the beginning of its JSON, `size` the length of all of it.

    `rule` blocked it; `changed` says which rules changed it, and to what: the beginning of its JSON, "" for nothing.
    `model` is what the model did, and `client` what the client got (`describe`). `guess` asks for a name that is close,
    `defects` say what is wrong with a native call, and where. `likely_meant` is the event's.
    """

    status: str
    outcome: Outcome
    reason: str | None
    dialect: str | None
    name: str | None
    repairs: tuple[str, ...]
    id: str | None
    arguments: str | None
    size: int
    rule: str | None = None
    changed: tuple[tuple[str, str], ...] = ()
    model: str = ""
    client: str = ""
    guess: str = ""
    defects: tuple[str, ...] = ()
    likely_meant: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange. `finish` is "" for a reply that broke off, None for one that was not read or is not over.

    server    the host, with its port where that is not the scheme's own
    written   what the model wrote, cut at its calls
    damage    what the reply came with that costs its client a call; () where it was not read
    judged    where the verdicts come from, "" where they are those of when the reply passed
    current   what the current configuration says instead of these verdicts, "" for the same
    """

    id: str
    session: str
    started: float
    started_at: str
    agent: str
    model: str
    host: str
    path: str
    wire: str
    kind: str
    route: str
    policy: str
    status: int
    verdicts: tuple[Verdict, ...]
    summary: str
    worst: str | None
    failure: str | None
    notes: tuple[str, ...]
    error: str
    finish: str | None
    text: str
    tokens: Tokens
    moments: Moments
    replied: float | None
    ended: float | None
    request: RequestSummary
    state: State = "ended"
    judged: str = ""
    current: str = ""
    server: str = ""
    damage: tuple[Damage, ...] = ()
    written: tuple[Passage, ...] = ()

    @property
    def is_read(self) -> bool:
        """Whether its reply has ended and was read, and so counts."""
        return self.state == "ended" and bool(self.kind)

    @property
    def failed(self) -> str:
        """Why there is no reply: `HTTP 529`, `no reply`; "" where there is one, or may still come."""
        if self.state != "ended" or 200 <= self.status < 300:
            return ""
        return f"HTTP {self.status}" if self.status else "no reply"

    def after(self, moment: int | None) -> float | None:
        """A moment of the reply, in seconds since the request began."""
        return None if moment is None or self.replied is None else self.replied + moment / 1e6

    def marks(self) -> dict[str, float | None]:
        """The four moments that people look at, in seconds since the request began."""
        return {
            "first byte": self.after(self.moments.first_byte),
            "first argument byte": self.after(self.moments.first_argument),
            "call complete": self.after(self.moments.call_complete),
            "end" if self.state == "ended" else "so far": self.seconds,
        }

    @property
    def seconds(self) -> float | None:
        known = [one for one in (self.ended, self.after(self.moments.end)) if one is not None]
        return max(known, default=None)


def turn_of(record: ExchangeRecord, known: Known | None = None, request: RequestSummary | None = None) -> Turn:
    """An exchange as a turn.

    known     messages that earlier requests held, which are reused (`conversation.request_summary`)
    request   the request where it was read before, as that of a reply that is coming
    """
    report = record.report
    wire = str(report.get("wire", ""))
    request = request_summary(wire, record.request_body, known) if request is None else request
    reply, texts = _both(record)
    verdicts = report.get("verdicts", ())[:CALLS]
    waits = bool(request.tools) and report.get("client") != "text"
    finishes = {lane.finish for lane in reply.lanes} if record.state == "ended" else set()
    return Turn(
        id=record.id,
        session=session_of(record, request),
        started=record.started,
        started_at=record.started_at,
        agent=agent_of(record),
        model=redacted_text(str(report.get("model") or request.model or reply.model))[:_NAME],
        host=record.host[:_NAME],
        path=redacted_url(record.path)[:_NAME],
        wire=wire,
        kind=str(report.get("kind", "")),
        route=str(report.get("route", ""))[:_NAME],
        policy=str(report.get("policy", "")),
        status=record.status,
        verdicts=tuple(_verdict(one, report, waits=waits) for one in verdicts),
        summary=excerpt(str(report.get("summary", ""))),
        worst=report.get("worst"),
        failure=None if report.get("failure") is None else excerpt(str(report["failure"])),
        notes=tuple(f"{note['rule']}: {note['text']}" for note in _notes(report)),
        error=_error(record),
        finish=None if not finishes else "" if None in finishes else ", ".join(sorted(map(str, finishes)))[:_NAME],
        text=excerpt(reply.text, TEXT),
        tokens=reply.tokens,
        moments=reply.moments,
        replied=record.replied,
        ended=record.ended,
        request=request,
        state=record.state,
        judged=excerpt(str(report.get("judged") or "")),
        current=_current(report),
        server=server_of(record.host, record.port),
        damage=damage_of(report, waits=waits),
        written=passages_of(texts, _spans(verdicts), secrets_of(record)),
    )


def _spans(verdicts: Sequence[Mapping[str, Any]]) -> list[Span]:
    """The places of those that are about text."""
    return [
        Span(int(one.get("lane") or 0), int(one["start"]), int(one["end"]), place)
        for place, one in enumerate(verdicts)
        if one["dialect"] is not None and one.get("end")
    ]


def server_of(host: str, port: int) -> str:
    """Who answered: the host, with its port where that is not the scheme's own."""
    return host[:_NAME] if port in _PORTS else f"{host[:_NAME]}:{port}"


def _current(report: Mapping[str, Any]) -> str:
    current = report.get("current")
    return excerpt(str(current.get("summary") or NO_CALLS)) if isinstance(current, dict) else ""


def _error(record: ExchangeRecord) -> str:
    """Why the connection broke, or the beginning of what a server said instead of a reply."""
    if record.error or record.status < _ERRORS or record.client_body is None:
        return excerpt(record.error)
    return excerpt(record.client_body[:_REFUSAL].decode("utf-8", "replace"))


def _notes(report: Mapping[str, Any]) -> list[dict[str, str]]:
    """What processors noted, a few words each."""
    return [
        {"rule": excerpt(str(note["rule"]), _NAME), "text": excerpt(str(note["text"]))}
        for note in report.get("notes", ())[:_CHANGES]
    ]


def reply_of(record: ExchangeRecord) -> Reply:
    """What the client got, without what its headers keep secret. Where its calls are text, their times and the tokens
    are those that the upstream sent.
    """
    return _both(record)[0]


def _both(record: ExchangeRecord) -> tuple[Reply, list[tuple[int, str]]]:
    """What the client got, and the texts of the model by their choices, which may still hold secrets."""
    (reply, texts), own = _read(record), secrets_of(record)
    clean = replace(reply, lanes=tuple(_without(lane, own) for lane in reply.lanes)) if own.values else reply
    return clean, texts


def _without(lane: Lane, own: OwnSecrets) -> Lane:
    calls = tuple(replace(call, arguments=own.text(call.arguments)) for call in lane.calls)
    return replace(lane, text=own.text(lane.text), reasoning=own.text(lane.reasoning), calls=calls)


def _read(record: ExchangeRecord) -> tuple[Reply, list[tuple[int, str]]]:
    wire = str(record.report.get("wire", ""))
    client = _checked(replies.read(wire, record.form, record.client_body, record.client_pieces), record.report)
    if record.upstream_body is None or record.upstream_body == record.client_body:
        return client, [(lane.number, lane.text) for lane in client.lanes]
    upstream = _checked(replies.read(wire, record.form, record.upstream_body, record.upstream_pieces), record.report)
    mine, theirs = client.moments, upstream.moments
    has_calls = mine.first_argument is not None
    moments = Moments(
        first_byte=mine.first_byte,
        first_argument=mine.first_argument if has_calls else theirs.first_argument,
        call_complete=mine.call_complete if has_calls else theirs.call_complete,
        end=mine.end,
    )
    reply = Reply(client.lanes, upstream.tokens, moments, client.model or upstream.model, client.id or upstream.id)
    return reply, [(lane.number, lane.text) for lane in upstream.lanes]


def is_whole(report: Mapping[str, Any]) -> bool:
    """Whether no call of a reply was cut off: some APIs end a call all the same when its reply ends."""
    return all(verdict["status"] not in {"truncated", "malformed"} for verdict in report.get("verdicts", ()))


def _checked(reply: Reply, report: Mapping[str, Any]) -> Reply:
    return reply if is_whole(report) else replace(reply, moments=replace(reply.moments, call_complete=None))


def _verdict(plain: Mapping[str, Any], report: Mapping[str, Any], *, waits: bool) -> Verdict:
    arguments = plain.get("arguments")
    model, client = describe(plain, report)
    return Verdict(
        status=str(plain["status"]),
        outcome=outcome_of(plain, waits=waits),
        reason=plain.get("reason"),
        dialect=plain.get("dialect"),
        name=None if plain.get("name") is None else redacted_text(str(plain["name"]))[:_NAME],
        repairs=tuple(plain.get("repairs", ())),
        id=plain.get("id"),
        arguments=None if arguments is None else excerpt(str(arguments), ARGUMENTS),
        size=len(arguments or ""),
        rule=None if plain.get("rule") is None else excerpt(str(plain["rule"]), _NAME),
        changed=tuple(
            (excerpt(str(one["rule"]), _NAME), excerpt(" ".join(map(str, one.get("after") or ()))))
            for one in plain.get("changes", ())[:_CHANGES]
        ),
        model=excerpt(model, _NAME),
        client=excerpt(client, _NAME),
        guess=excerpt(did_you_mean(plain), _NAME),
        likely_meant=bool(plain.get("likely_meant")),
        defects=tuple(excerpt(describe_defect(one), _NAME) for one in defects_beside_reason(plain)[:_CHANGES]),
    )


def outcome_of(plain: Mapping[str, Any], *, waits: bool) -> Outcome:
    """How a call is counted, from its plain verdict. `waits`: the client waits for native calls."""
    status, reason = plain["status"], REASONS.get(plain.get("reason") or "")
    outcome = STATUSES[status].outcome if status in STATUSES else "broken"
    if reason is not None:
        outcome = reason.outcomes.get(status, outcome)
    if plain.get("likely_meant") and waits:
        return "possible"
    repaired = set(map(defect_of, plain.get("repairs", ())))
    mended = status == "native" or (status == "lifted" and plain.get("reason") in repaired)
    if repaired and (outcome == "success" or (outcome == "broken" and mended)):
        return "repair"
    return "decline" if outcome == "leak" and not waits else outcome
