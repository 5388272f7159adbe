"""Group: rules for text clients. Nothing that leaves is a forbidden call to the most careless parser of a dialect.

The shapes of `support.careless` with a forbidden and a permitted command, on every wire; the same calls cut into two
blocks, anywhere; calls with something inserted, anywhere; and texts made of tags and words. A forbidden call that a
reader finds in what leaves is invented. A permitted one that does not leave byte for byte is altered.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import Literal

from reliability import invariants
from reliability.driving import Outcome
from reliability.faults import Faulted
from reliability.invariants import Breach
from reliability.jobs import Job, Tally
from reliability.materials import Reply, chosen, seed_of
from reliability.rows import Row
from reliability.said import driven_cut, reply_in
from support.careless import (
    FORMS,
    RULES,
    SHAPES,
    TOOLS,
    Shape,
    blocks_of,
    cut,
    forbidden,
    fragments,
    in_blocks,
    inserted,
    is_forbidden,
    of_fragments,
    written,
)
from support.processorcases import route_of
from support.spoken import TEXTUAL
from toolcalls.route import Route

GROUP = "rules for text clients"
TEXTS = 3000  # made of fragments, of each form
INSERTED = 0.2  # the part of the calls with something in them that a whole run plays; each seed chooses others
BLOCKS: tuple[tuple[str, Literal["sse", "whole"]], ...] = tuple(
    (wire, form) for wire in ("anthropic", "openai_responses") for form in ("sse", "whole")
)
FORBIDDEN, PERMITTED = "rm -rf x", "du -sh x"


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for form in FORMS:
        for wire in TEXTUAL:
            yield Job(in_shapes, (form, wire, fraction, seed))
        yield Job(over_blocks, (form, fraction, seed))
        yield Job(with_something_in_it, (form, fraction, seed))
        yield Job(made_of_tags, (form, fraction, seed))


@cache  # a plan is kept by its route
def route_for(dialect: str, *, ruled: bool = True) -> Route:
    """A client that reads this dialect, with the rules or without."""
    route = route_of(RULES) if ruled else Route()
    return replace(route, client="text", client_dialect=dialect, upstream="auto", tools=TOOLS)


def in_shapes(form: str, wire: str, fraction: float, seed: int) -> Row:
    """One form's calls in every shape, on one wire."""
    tally = Tally(GROUP)
    for shape in SHAPES:
        for command in (FORBIDDEN, PERMITTED) if shape[0] == form else ():
            name = f"{', '.join(shape)}: {command} wire={wire} seed={seed}"
            if chosen(name, fraction, seed):
                tally.count(name, _shape_breaches(shape, wire, command, Random(seed_of(seed, name))))
    return tally.row


def _shape_breaches(shape: Shape, wire: str, command: str, random: Random) -> Iterator[Breach]:
    dialect, text = FORMS[shape[0]].dialect, written(shape, command)
    yield from _text_breaches(shape[0], wire, text, random)
    if command == FORBIDDEN:
        return
    outcome, heard = _heard(wire, text, dialect, random)
    wanted = text if not FORMS[shape[0]].rewritten else _heard(wire, text, dialect, random, ruled=False)[1]
    if heard != wanted:
        yield Breach("lost", f"{heard!r} instead of {wanted!r}")
    if any(verdict.status == "blocked" for _, verdict in outcome.verdicts):
        yield Breach("lost", "a permitted call was blocked")


def _heard(wire: str, text: str, dialect: str, random: Random, *, ruled: bool = True) -> tuple[Outcome, str]:
    spoken = TEXTUAL[wire]
    reply = reply_in(spoken.wire, spoken.form, spoken.said(cut(text, random.choice((1, 7, 10_000)))))
    outcome, _ = driven_cut(reply, random, route_for(dialect, ruled=ruled))
    return outcome, spoken.heard(outcome.out)[0]


def _text_breaches(form: str, wire: str, text: str, random: Random) -> Iterator[Breach]:
    outcome, heard = _heard(wire, text, FORMS[form].dialect, random)
    yield from invariants.sound(outcome, Faulted(outcome.upstream, ()))
    if found := forbidden(form, heard):
        yield Breach("invented", f"{found} in {heard!r}")


def over_blocks(form: str, fraction: float, seed: int) -> Row:
    """One form's call, over two blocks of a message."""
    tally = Tally(GROUP)
    # What is well formed up to the first block's end is undecided there, and so blocked: permitted or not. One word
    # alone in a wrapper is a stray one, with a well-formed call after it.
    for junk, command in (("", FORBIDDEN), ("So.\n", FORBIDDEN), ("So it is.\n", PERMITTED)):
        text = FORMS[form].write("execute_command", [("title", "a"), ("command", command)], junk)
        for at in range(1, len(text)):
            for wire, kind in BLOCKS:
                name = f"{form}, cut at {at}: {command} {junk!r} wire={wire}/{kind} seed={seed}"
                if chosen(name, fraction, seed):
                    random = Random(seed_of(seed, name))
                    tally.count(name, _block_breaches(form, wire, kind, [text[:at], text[at:]], command, random))
    return tally.row


def with_something_in_it(form: str, fraction: float, seed: int) -> Row:
    """One form's forbidden call with something in each of its places, in one block or in two."""
    tally = Tally(GROUP)
    for title, parts in inserted(form, FORBIDDEN):
        wire, kind = Random(title).choice(BLOCKS)
        name = f"{form}, {title} wire={wire}/{kind} seed={seed}"
        if chosen(name, fraction * INSERTED, seed) and is_forbidden(form, parts):
            random = Random(seed_of(seed, name))
            tally.count(name, _block_breaches(form, wire, kind, parts, FORBIDDEN, random))
    return tally.row


def _block_breaches(
    form: str, wire: str, kind: Literal["sse", "whole"], parts: list[str], command: str, random: Random
) -> Iterator[Breach]:
    reply: Reply = reply_in(wire, kind, in_blocks(wire, kind, parts))
    outcome, pieces = driven_cut(reply, random, route_for(FORMS[form].dialect))
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    blocks = blocks_of(wire, kind, outcome.out)
    if command == FORBIDDEN:
        if is_forbidden(form, blocks):
            yield Breach("invented", f"a forbidden call in {blocks}")
        return
    unruled, _ = driven_cut(reply, random, route_for(FORMS[form].dialect, ruled=False))
    if blocks != blocks_of(wire, kind, unruled.out):
        yield Breach("lost", f"{blocks} instead of {blocks_of(wire, kind, unruled.out)}")
    if any(verdict.status == "blocked" for _, verdict in outcome.verdicts):
        yield Breach("lost", "a permitted call was blocked")


def made_of_tags(form: str, fraction: float, seed: int) -> Row:
    """Texts made of one form's tags and of words."""
    tally = Tally(GROUP)
    for number in range(TEXTS if fragments(form) else 0):
        name = f"{form}, text {number} seed={seed}"
        if chosen(name, fraction, seed):
            random = Random(seed_of(seed, name))
            tally.count(name, _text_breaches(form, random.choice(sorted(TEXTUAL)), of_fragments(form, random), random))
    return tally.row
