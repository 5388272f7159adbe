"""Group: quotations over the blocks of a message. A call in one is none, and one that is outside of them is one.

Every quotation of `support.messages` opens in one text block, part or item, or in what the request begins of the
message, and holds the call of every dialect in a later one.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from random import Random
from typing import Any

from reliability import invariants
from reliability.faults import Faulted
from reliability.invariants import Breach
from reliability.jobs import Job, Tally
from reliability.materials import Reply, chosen, seed_of
from reliability.rows import Row
from reliability.said import driven_cut, reply_in, with_tools
from support.messages import (
    BODIES,
    ENDED_BY_A_CALL,
    ONE_LINE,
    PLAIN,
    PREFILLED,
    QUOTATIONS,
    WITH_CALLS,
    around_a_call,
    policies,
    protects,
)
from support.quoting import CALL, DIALECTS, TOOLS, written
from toolcalls.route import PolicyName, Route

GROUP = "blocks"
# Whether what the request begins, or a block, is in front of the call: and which bodies of them.
PLACES = [("blocks", key) for key in BODIES] + [("prefill", key) for key in PREFILLED]


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for dialect in DIALECTS:
        yield Job(of_a_dialect, (dialect, fraction, seed))


@cache  # a plan is kept by its route
def route_for(policy: PolicyName) -> Route:
    """A route that lifts the calls of the texts."""
    return with_tools(Route(client="native", upstream="text", policy=policy), TOOLS)


def of_a_dialect(dialect: str, fraction: float, seed: int) -> Row:
    """One dialect's call in every quotation, and outside of them."""
    tally = Tally(GROUP)

    def count(said: str, made: Callable[[], Reply], policy: PolicyName, *, quoted: bool) -> None:
        name = f"{dialect}: {said} policy={policy} seed={seed}"
        if chosen(name, fraction, seed):
            tally.count(name, _breaches(made(), policy, Random(seed_of(seed, name)), quoted=quoted))

    call = written(dialect)
    for place, key in PLACES:
        for quotation, (opener, closer) in QUOTATIONS.items():
            made = partial(_reply, place, key, quotation, opener, call, closer)
            for policy in policies(quotation):
                if protects(quotation, dialect, policy):
                    count(f"{place} {key}, {quotation}", made, policy, quoted=True)
        for number, before in enumerate(PLAIN):
            if not key.startswith("gemini"):  # whose parts are pieces of one text, and no lines
                made = partial(_reply, place, key, "", before, call, "")
                count(f"{place} {key}, behind plain text {number}", made, "standard", quoted=False)
    for key in WITH_CALLS:
        for quotation, (opener, _) in QUOTATIONS.items():
            ends = quotation in ENDED_BY_A_CALL
            if ends or protects(quotation, dialect, "standard"):
                made = partial(_behind_a_call, key, opener, call)
                count(f"behind a native call, {key}, {quotation}", made, "standard", quoted=not ends)
    return tally.row


def _behind_a_call(key: str, opener: str, call: str) -> Reply:
    wire, form, _ = BODIES[key]
    return reply_in(wire, form, around_a_call(key, [opener, call]))


def _reply(place: str, key: str, quotation: str, opener: str, call: str, closer: str) -> Reply:
    if place == "prefill":
        wire, form, said, begun = PREFILLED[key]
        asked: Mapping[str, Any] = begun(opener)
        return reply_in(wire, form, said(call + closer), asked)
    wire, form, body = BODIES[key]
    line = "\n" * (key.startswith("gemini") and quotation in ONE_LINE)
    texts = ["I will show it.\n\n", opener + line, call, closer] if quotation else [opener, call]
    return reply_in(wire, form, body(texts))


def _breaches(reply: Reply, policy: PolicyName, random: Random, *, quoted: bool) -> Iterator[Breach]:
    outcome, pieces = driven_cut(reply, random, route_for(policy))
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    if quoted:
        yield from invariants.untouched(outcome, Faulted(reply.body, tuple(pieces)))
        return
    made = [(verdict.status, verdict.name) for _, verdict in outcome.verdicts if verdict.status == "lifted"]
    calls = [json.loads(arguments) for name, arguments in outcome.complete if name == CALL.name]
    if made != [("lifted", CALL.name)] or calls != [json.loads(CALL.arguments)]:
        yield Breach("lost", f"{made} with {calls}")
