"""Group: generated faults, over recorded replies of all wires and over those into which dialects' texts are spliced.

Recorded replies hold no call as text, so whatever is done to them, what leaves is what came. Spliced ones are held
against their case where the fault does not change what is said, and against the reader where it does.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random

from reliability import invariants
from reliability.driving import LIFTS, Outcome, driven
from reliability.faults import FAULTS, Fault, Faulted, given
from reliability.invariants import Breach
from reliability.jobs import Job, Tally, parts
from reliability.materials import Reply, chosen, seed_of, untouched
from reliability.rows import Row
from reliability.spliced import Spliced, cases, checked, envelopes, form_of, spliced
from toolcalls.route import Route

# What was said has no order any more. Bytes that are no UTF-8 may be in an index, too, and make it another.
_DISORDER = {"F19", "F20", "F21", "F27"}
# These are driven once more where as little may wait as can.
_CROWDED = {"F02", "F03"}
RECORDED = "faults: recorded"
SPLICED = "faults: spliced"


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for start, end in parts(len(list(untouched())), 25):
        yield Job(over_recorded, (start, end, fraction, seed))
    for start, end in parts(len(cases()), 20):
        yield Job(over_spliced, (start, end, fraction, seed))


def over_recorded(start: int, end: int, fraction: float, seed: int) -> Row:
    """Every kind of fault over the recorded replies from number `start` to `end`."""
    tally = Tally(RECORDED)
    for reply in list(untouched())[start:end]:
        for fault in FAULTS:
            name = f"stream={reply.id} fault={fault.id} seed={seed}"
            if chosen(name, fraction, seed) and (faulted := made(reply, fault, seed)) is not None:
                tally.count(name, recorded_breaches(reply, fault, faulted))
    return tally.row


def made(reply: Reply, fault: Fault, seed: int) -> Faulted | None:
    """What arrives when a fault strikes a reply."""
    form = form_of(reply)
    return fault.make(given(reply.body, form), Random(seed_of(seed, reply.id, fault.id)))


def recorded_breaches(reply: Reply, fault: Fault, faulted: Faulted) -> Iterator[Breach]:
    """What a fault over a reply without a text call breaks."""
    unmended = driven(
        reply, faulted.pieces, ends=faulted.ends, coding=faulted.coding, route=replace(LIFTS, mend=())
    )  # fmt: skip
    yield from invariants.sound(unmended, faulted)
    yield from invariants.untouched(unmended, faulted)
    outcome = driven(reply, faulted.pieces, ends=faulted.ends, coding=faulted.coding)
    yield from invariants.sound(outcome, faulted)  # a fault in a native call may be mended
    if not faulted.raw:
        yield from invariants.same(outcome, _at_once(reply, faulted), cut=not faulted.ends)
    if fault.id in _CROWDED:
        route = _tight(replace(LIFTS, mend=()), reply)
        crowded = driven(reply, faulted.pieces, ends=faulted.ends, route=route)
        yield from invariants.sound(crowded, faulted)
        yield from invariants.untouched(crowded, faulted)


def _tight(route: Route, reply: Reply) -> Route:
    """The route, where no more may wait than the largest frame: then text that is undecided for long becomes text."""
    largest = max(map(len, given(reply.body, form_of(reply)).frames), default=0)
    return replace(route, max_frame_bytes=max(1024, largest))


def _at_once(reply: Reply, faulted: Faulted, route: Route = LIFTS) -> Outcome:
    """The same bytes in one piece, and without a coding."""
    return driven(reply, [faulted.body], ends=faulted.ends, route=route)


def over_spliced(start: int, end: int, fraction: float, seed: int) -> Row:
    """Every kind of fault over the cases from number `start` to `end`, each kind in another envelope.

    Over all kinds each case goes through every wire; over all seeds, through every envelope.
    """
    tally = Tally(SPLICED)
    found = sorted(envelopes().items())
    for dialect, case in cases()[start:end]:
        for place, fault in enumerate(FAULTS):
            name = f"stream={dialect}: {case.title} fault={fault.id} seed={seed}"
            if not chosen(name, fraction, seed):
                continue
            first = place + seed_of(seed, dialect, case.title)
            for turn in range(len(found)):  # the next wire where this one cannot ask what the case asks
                _, several = found[(first + turn) % len(found)]
                random = Random(seed_of(seed, name))
                one = spliced(dialect, case, random.choice(several), random.randrange(1 << 30))
                if one is not None:
                    break
            else:
                continue
            checked(one)
            faulted = fault.make(given(one.reply.body, one.form), random)
            if faulted is not None:
                tally.count(f"{name} envelope={one.reply.id}", spliced_breaches(one, fault, faulted))
    return tally.row


def spliced_breaches(one: Spliced, fault: Fault, faulted: Faulted) -> Iterator[Breach]:
    """What a fault over a reply with a text call breaks."""
    drive = partial(driven, one.reply, route=one.route)
    outcome = drive(faulted.pieces, ends=faulted.ends, coding=faulted.coding)
    yield from invariants.sound(outcome, faulted)
    if not faulted.raw:
        yield from invariants.same(outcome, _at_once(one.reply, faulted, one.route), cut=not faulted.ends)
    if fault.effect in {"same", "spelling"}:
        yield from invariants.as_expected(one, outcome)
    if fault.effect == "cut":
        yield from invariants.cut_short(outcome, drive([one.reply.body]), ends=faulted.ends)
    if fault.id in _CROWDED:
        tight = _tight(one.route, one.reply)
        crowded = driven(one.reply, faulted.pieces, route=tight)
        yield from invariants.sound(crowded, faulted)
        yield from invariants.same(crowded, _at_once(one.reply, faulted, tight), cut=False)
        yield from invariants.in_order(one, crowded, faulted)
    broken = list(invariants.conserved(one, outcome, faulted))
    yield from invariants.accounted(one, outcome, faulted) if broken and fault.id in _DISORDER else broken
