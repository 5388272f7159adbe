"""Group: reasoning. A call in it is none, whatever tools are declared, and one after it is one.

The texts of `support.thoughts` with the call of every dialect, on every wire.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random

from reliability import invariants
from reliability.faults import Faulted
from reliability.invariants import Breach
from reliability.jobs import Job, Tally
from reliability.materials import chosen, seed_of
from reliability.rows import Row
from reliability.said import driven_cut, reply_in, with_tools
from support.careless import cut
from support.quoting import CALL, DIALECTS, TOOLS, written
from support.spoken import TEXTUAL
from support.thoughts import PARAMETERS, Reasoned, texts
from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.route import PolicyName, Route

GROUP = "reasoning"


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for dialect in DIALECTS:
        yield Job(of_a_dialect, (dialect, fraction, seed))


def of_a_dialect(dialect: str, fraction: float, seed: int) -> Row:
    """One dialect's call in every text, by every policy, on every wire."""
    tally = Tally(GROUP)
    for title, reasoned in texts().items():
        if reasoned.made and all_dialects()[dialect].place == "message":
            continue  # beside other text it is none
        for policy in reasoned.policies:
            for wire in TEXTUAL:
                name = f"{dialect}: {title} policy={policy} wire={wire} seed={seed}"
                if chosen(name, fraction, seed):
                    random = Random(seed_of(seed, name))
                    tally.count(name, _breaches(reasoned, dialect, policy, wire, random))
    return tally.row


@cache  # a plan is kept by its route
def _route(tool: str, policy: PolicyName, members: tuple[tuple[str, object], ...]) -> Route:
    route = Route(client="native", upstream="text", policy=policy)
    declared = (*TOOLS, Tool(tool, PARAMETERS)) if tool else TOOLS
    return replace(with_tools(route, declared), **dict(members))  # type: ignore[arg-type]


def _breaches(reasoned: Reasoned, dialect: str, policy: PolicyName, wire: str, random: Random) -> Iterator[Breach]:
    spoken = TEXTUAL[wire]
    text = reasoned.text.replace("{call}", written(dialect))
    reply = reply_in(spoken.wire, spoken.form, spoken.said(cut(text, random.choice((1, 5, 10_000)))))
    outcome, pieces = driven_cut(reply, random, _route(reasoned.tool, policy, tuple(reasoned.route.items())))
    faulted = Faulted(reply.body, tuple(pieces))
    yield from invariants.sound(outcome, faulted)
    if reasoned.framed:
        if outcome.complete:
            yield Breach("invented", f"calls {outcome.complete}")
        return
    if not reasoned.made:
        yield from invariants.untouched(outcome, faulted)
        return
    calls = [(name, json.loads(arguments)) for name, arguments in outcome.complete]
    if calls != [(CALL.name, json.loads(CALL.arguments))]:
        yield Breach("invented" if len(calls) > 1 else "lost", f"calls {calls}")
