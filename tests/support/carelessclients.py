"""A text client after rules: what it gets of a reply, and the exchange that gave it."""

from typing import Any

from support.careless import RULES, TOOLS
from support.processorcases import no_reactors, route_of
from support.spoken import SPOKEN, through
from toolcalls.processors import Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.evidence import Decision, call_policy_of
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form


def client_of(dialect: str, wire: str = "openai_chat", form: Form = "sse", rules: Any = RULES) -> Exchange:
    route = route_of(rules)
    decision = Decision("roundtrip", "text", "auto", dialect, ())
    call_policy, tools = call_policy_of(route, Request(tools=TOOLS), decision)
    processors = Processors(route, run=no_reactors) if route.processes else None
    return Exchange(all_wires()[wire], call_policy, decision, tools, form=form, seed=b"s", processors=processors)


def got(dialect: str, pieces: list[str], wire: str = "openai_chat", rules: Any = RULES) -> tuple[str, Exchange]:
    spoken = SPOKEN[wire]
    exchange = client_of(dialect, spoken.wire, spoken.form, rules)
    out = through(exchange, spoken.said(pieces))
    assert exchange.failure is None, repr(exchange.failure)
    given = [record.index for _, record in exchange.client_calls]
    assert sorted(given) == sorted(one.index for _, one in exchange.verdicts if one.index is not None)
    return spoken.heard(out)[0], exchange


STEPS = (1, 7, 10_000)  # characters in a piece
ANY_STEP = (*STEPS, 5, 13, 40)  # for tests that take one of them
