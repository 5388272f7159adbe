"""Group: echoes. A call that stands word for word in what a tool gave back is none; one that differs is a call.

Results of the client's own tools, in the request and in every form of `support.echoed`; messages of the user; and
results of the provider's tools, in the request and earlier in the same reply.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from reliability import invariants
from reliability.blocks import route_for
from reliability.faults import Faulted
from reliability.invariants import Breach
from reliability.jobs import Job, Tally
from reliability.materials import Reply, chosen, seed_of
from reliability.rows import Row
from reliability.said import driven_cut, reply_in
from support.echoed import GUTTERS, TOLD, behind_gutters, said_with
from support.fetched import BODIES, CASES, RESULTS, filled, request
from support.quoting import CALL, DIALECTS, written
from support.spoken import TEXTUAL
from toolcalls.route import PolicyName
from toolcalls.shapes import Call
from toolcalls.wires import all_wires

GROUP = "echoes"
POLICIES: tuple[PolicyName, ...] = ("standard", "strict", "lenient")
OTHER = Call(CALL.name, CALL.arguments.replace("build", "other"))


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for dialect in DIALECTS:
        yield Job(of_a_dialect, (dialect, fraction, seed))


def of_a_dialect(dialect: str, fraction: float, seed: int) -> Row:
    """One dialect's call after every result, and another call after it."""
    tally = Tally(GROUP)
    call, other = written(dialect), written(dialect, OTHER)

    def count(said: str, made: Callable[[], Reply], policy: PolicyName, *, echo: bool) -> None:
        name = f"{dialect}: {said}{'' if echo else ' of another call'} policy={policy} seed={seed}"
        if chosen(name, fraction, seed):
            tally.count(name, _breaches(made(), policy, Random(seed_of(seed, name)), echo=echo))

    for title, told in _told(call):
        for wire in TEXTUAL:
            for policy in POLICIES:
                count(f"{title}, {wire}", partial(_behind, wire, told, call), policy, echo=True)
            count(f"{title}, {wire}", partial(_behind, wire, told, other), "standard", echo=False)
    for wire in TEXTUAL:
        for policy in POLICIES:
            count(
                f"a user message, {wire}", partial(_behind, wire, said_with(call), call, user=True), policy, echo=True
            )
        count(
            f"a user message, {wire}", partial(_behind, wire, said_with(call), other, user=True), "standard", echo=False
        )
    for key, kind in CASES:
        for policy in POLICIES:
            count(f"{kind} in the request, {key}", partial(_fetched, key, kind, call, call), policy, echo=True)
        count(f"{kind} in the request, {key}", partial(_fetched, key, kind, call, other), "standard", echo=False)
        if all_wires()[BODIES[key][0]].sequential_lanes:
            for text, echo in ((call, True), (other, False)):
                made = partial(_fetched, key, kind, call, text, in_reply=True)
                count(f"{kind} in the reply, {key}", made, "standard", echo=echo)
    return tally.row


def _behind(wire: str, told: str, text: str, *, user: bool = False) -> Reply:
    """A text after a result of the client's, or after a message of its user."""
    spoken = TEXTUAL[wire]
    asked = (said_in if user else result_in)(spoken.wire, told)
    return reply_in(spoken.wire, spoken.form, spoken.said([text[:5], text[5:]]), asked)


def _fetched(key: str, kind: str, call: str, text: str, *, in_reply: bool = False) -> Reply:
    """A text after a result of the provider's that holds a call."""
    wire, form, body = BODIES[key]
    result = filled(RESULTS[wire][kind], call)
    if in_reply:
        return reply_in(wire, form, body(["Let me see.\n", result, f"\n{text}"]))
    return reply_in(wire, form, body([text]), request(wire, result))


def _told(call: str) -> Iterator[tuple[str, str]]:
    for title, form in TOLD.items():
        # Entities are looked for where `<` or `&` is escaped, and escapes of bytes are not put together.
        if ("<" in call or "HTML" not in title) and (call.isascii() or title != "bytes of Python"):
            yield title, form(said_with(call))
    for title, gutter in GUTTERS.items():
        yield f"gutter of {title}", behind_gutters(gutter, said_with(call))


def result_in(wire: str, text: str) -> dict[str, Any]:
    """A request in whose history a tool of the client's gave back a text."""
    if wire == "anthropic":
        block = {"type": "tool_result", "tool_use_id": "t", "content": text}
        return {"messages": [{"role": "user", "content": [block]}]}
    if wire == "gemini":
        part = {"functionResponse": {"name": "read", "response": {"output": text}}}
        return {"contents": [{"role": "user", "parts": [part]}]}
    if wire == "gemini_interactions":
        return {"input": [{"type": "function_result", "call_id": "c", "name": "read", "result": text}]}
    if wire == "openai_responses":
        return {"input": [{"type": "function_call_output", "call_id": "c", "output": text}]}
    return {"messages": [{"role": "tool", "tool_call_id": "1", "content": text}]}


def said_in(wire: str, text: str) -> dict[str, Any]:
    """A request with a user's message."""
    if wire == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    if wire == "gemini_interactions":
        return {"input": text}
    return {"input" if wire == "openai_responses" else "messages": [{"role": "user", "content": text}]}


def _breaches(reply: Reply, policy: PolicyName, random: Random, *, echo: bool) -> Iterator[Breach]:
    outcome, pieces = driven_cut(reply, random, route_for(policy))
    faulted = Faulted(reply.body, tuple(pieces))
    yield from invariants.sound(outcome, faulted)
    if echo:
        yield from invariants.untouched(outcome, faulted)
        return
    calls = [json.loads(arguments) for _, arguments in outcome.complete]
    if calls != [json.loads(OTHER.arguments)]:
        yield Breach("lost", f"calls {calls}")
