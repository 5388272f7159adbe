"""Faults on request: what a provider or a network may do to a reply, at a place that is named.

`[REPLY:]KIND=VALUE`. Without REPLY a fault befalls each reply of a model; with it the one of that number, in the order
in which they are asked for, from 1. Events are counted from 1, too: SSE events, lines, elements of an array, messages.

    cut-at-byte=N            the connection closes after N bytes of the body
    cut-at-event=N           the connection closes in front of event N
    delay=SECONDS            nothing comes for so long
    delay-at-event=N:SECONDS   nothing comes for so long in front of event N
    repeat-event=N           event N comes twice
    bad-event=N              event N holds half of its JSON
    status=CODE              an error of this status comes instead, in the form of the API

A reply that has no event N stays as it is. The length that a reply has announced stays announced when it is cut.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from toolcalls.tools.serve.errors import error_plan
from toolcalls.tools.serve.pacing import Plan, split
from toolcalls.tools.serve.recording import Asked, Framing, Piece, events_in
from toolcalls.wires.frames import FRAMES

_SPEC = re.compile(r"(?:([1-9]\d{0,8}):)?([a-z-]+)=([^=]+)")
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{1,6})?")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `reply` is None for all; `place` a byte, an event or a status; `seconds` those of a delay."""

    kind: str
    reply: int | None = None
    place: int = 0
    seconds: float = 0.0


def fault(text: str) -> Fault:
    """Read `[REPLY:]KIND=VALUE`. Raises ValueError with what is wrong."""
    found = _SPEC.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a fault; write one like cut-at-event=3 or 2:status=503")
    reply, kind, value = None if found[1] is None else int(found[1]), found[2], found[3]
    if kind not in _KINDS:
        raise ValueError(f"{kind!r} is not a kind of fault; the kinds are {', '.join(_KINDS)}")
    place, _, seconds = value.partition(":") if kind == "delay-at-event" else ("", "", value)
    if kind.startswith("delay"):
        if (
            not _SECONDS.fullmatch(seconds)
            or (place and not _NUMBER.fullmatch(place))
            or (kind != "delay" and not place)
        ):
            raise ValueError(f"{text!r} needs seconds, as in delay=2.5 or delay-at-event=3:2.5")
        return Fault(kind, reply, int(place or 0), float(seconds))
    if kind == "status" and not re.fullmatch(r"[45]\d\d", value):
        raise ValueError(f"{text!r} needs the status of an error, from 400 to 599")
    if not _NUMBER.fullmatch(value):
        raise ValueError(f"{text!r} needs a whole number from 1")
    return Fault(kind, reply, int(value))


def faulty(plan: Plan, faults: Iterable[Fault], number: int, asked: Asked) -> tuple[Plan, tuple[str, ...]]:
    """A plan with the faults that befall reply `number`, and the kinds of those that changed it.

    They are applied one after the other, so the events of a later one are those that an earlier one has left.
    """
    done = []
    for one in faults:
        if one.reply in {None, number}:
            was, plan = plan, _KINDS[one.kind](plan, one, asked)
            done += [one.kind] if plan != was else []
    return plan, tuple(done)


def _cut_at_byte(plan: Plan, one: Fault, _: Asked) -> Plan:
    pieces, behind = split(plan.pieces, one.place)
    if not behind:
        return plan
    if plan.framing == "messages":  # half a message cannot be sent
        whole = [end for _, end in events_in(plan.pieces, plan.framing) if end <= one.place]
        pieces, behind = split(plan.pieces, max(whole, default=0))
    return replace(plan, pieces=tuple(pieces), end=behind[0].moment, cut=True)


def _cut_at_event(plan: Plan, one: Fault, _: Asked) -> Plan:
    span = _event(plan, one.place)
    if span is None:
        return plan
    pieces, behind = split(plan.pieces, span[0])
    return replace(plan, pieces=tuple(pieces), end=behind[0].moment, cut=True)


def _delay(plan: Plan, one: Fault, _: Asked) -> Plan:
    return replace(
        plan, begin=plan.begin + one.seconds, end=plan.end + one.seconds, pieces=_later(plan.pieces, one.seconds)
    )


def _delay_at_event(plan: Plan, one: Fault, _: Asked) -> Plan:
    span = _event(plan, one.place)
    if span is None:
        return plan
    before, behind = split(plan.pieces, span[0])
    return replace(plan, pieces=(*before, *_later(behind, one.seconds)), end=plan.end + one.seconds)


def _repeat_event(plan: Plan, one: Fault, _: Asked) -> Plan:
    span = _event(plan, one.place)
    if span is None:
        return plan
    before, behind = split(plan.pieces, span[1])
    event = b"".join(piece.data for piece in before)[span[0] :]
    return _resized(replace(plan, pieces=(*before, Piece(before[-1].moment, event), *behind)))


def _bad_event(plan: Plan, one: Fault, _: Asked) -> Plan:
    span = _event(plan, one.place)
    if span is None:
        return plan
    head, behind = split(plan.pieces, span[1])
    before, event = split(head, span[0])
    bad = _half(b"".join(piece.data for piece in event), plan.framing)
    return _resized(replace(plan, pieces=(*before, Piece(event[-1].moment, bad), *behind)))


def _status(plan: Plan, one: Fault, asked: Asked) -> Plan:
    made = error_plan(asked, one.place, f"status {one.place} on request (--fault status={one.place})")
    return replace(
        made, begin=plan.begin, end=plan.begin, pieces=tuple(Piece(plan.begin, one.data) for one in made.pieces)
    )


_KINDS: Mapping[str, Callable[[Plan, Fault, Asked], Plan]] = {
    "cut-at-byte": _cut_at_byte,
    "cut-at-event": _cut_at_event,
    "delay": _delay,
    "delay-at-event": _delay_at_event,
    "repeat-event": _repeat_event,
    "bad-event": _bad_event,
    "status": _status,
}
KINDS = tuple(_KINDS)
LOST = frozenset({"cut-at-byte", "cut-at-event", "status"})  # after which a client asks again


def _event(plan: Plan, number: int) -> tuple[int, int] | None:
    """Where an event of a reply begins and ends; None for one that it has not."""
    events = events_in(plan.pieces, plan.framing)
    return events[number - 1] if number <= len(events) else None


def _later(pieces: Iterable[Piece], seconds: float) -> tuple[Piece, ...]:
    return tuple(Piece(piece.moment + seconds, piece.data) for piece in pieces)


def _half(event: bytes, framing: Framing | None) -> bytes:
    """An event with half of its payload, framed as it was."""
    if framing is None or framing not in FRAMES:
        return event[: len(event) // 2]
    frames = FRAMES[framing](max_bytes=max(1, len(event)))
    first, *rest = (*frames.feed(event), *frames.flush())
    data = first.data or b""
    half = frames.build(data[: len(data) // 2], first.raw, keep=True, name=None)
    return half + b"".join(frame.raw for frame in rest)


def _resized(plan: Plan) -> Plan:
    """The plan with the length of its body as it is now, where it says one."""
    size = str(sum(len(piece.data) for piece in plan.pieces)).encode()
    headers = tuple((name, size if name == b"content-length" else value) for name, value in plan.headers)
    return replace(plan, headers=headers)
