"""What the patterns of a reply's rules cost: work that can be counted, the same on every machine.

The rules are those of `config/examples/access-rules.yaml`, and the reply makes ten calls with an argument of 200 KB.
"""

from functools import partial

import pytest

from support.exchanges import run
from support.processorcases import body_of, exchange_for, got
from support.repository import REPO
from toolcalls.config import load
from toolcalls.dialects import all_dialects
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.evidence import Kind
from toolcalls.route import Filter, Route
from toolcalls.text.patterns import Work
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

RULES = load(REPO / "config" / "examples" / "access-rules.yaml", all_dialects(), all_wires()).routes[0]
SIZE = 200_000
CALLS = 10
ATTACKS = {
    "a prefix that comes again and again": "git push ",
    "nearly a secret": " .en v",
    "one letter": "a",
    "white space": " ",
    "not ASCII": "git push é",
}


def _replied(argument: str, kind: Kind, form: Form) -> tuple[Exchange, list[str]]:
    """The exchange, and the commands that the client got."""
    exchange = exchange_for(RULES, kind, form)
    calls = [{"Bash": {"command": f"{number}{argument}"}} for number in range(CALLS)]
    body = body_of(calls, kind, form, step=20_000)
    return exchange, [call["arguments"] for call in got(run(exchange, [body]), kind, form).calls]


@pytest.mark.parametrize("form", ["sse", "whole"])
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_long_argument_needs_no_backtracking(monkeypatch: pytest.MonkeyPatch, attack: str, form: Form) -> None:
    monkeypatch.setattr("toolcalls.processors.exchange_processors.Work", partial(Work, seconds=0))
    long = attack * (SIZE // len(attack))
    exchange, calls = _replied(long, "process", form)
    assert len(calls) == CALLS
    assert not [verdict for _, verdict in exchange.verdicts if verdict.status == "blocked"]
    exchange, calls = _replied(f"{long} git push --force", "process", form)
    assert calls == []
    assert {verdict.rule for _, verdict in exchange.verdicts} == {"no-force"}


def test_filters_take_of_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    route = Route(filters=(Filter("secrets", pattern="sk-[a-z]+", replace="[..]"),))
    for seconds, shown in ((1.0, "a [..] b"), (0.0, "a sk-abc b")):
        monkeypatch.setattr("toolcalls.processors.exchange_processors.Work", partial(Work, seconds=seconds))
        out = run(exchange_for(route, "process"), [body_of(["a sk-abc b"], "process", "sse")])
        assert got(out, "process", "sse").text == shown


def test_the_patterns_of_a_reply_share_what_they_may_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    argument = "x" * SIZE
    delivered = []
    for calls in (2, 5):
        # Two patterns are asked about each argument: those of `no-secrets` and `no-force`.
        work = partial(Work, characters=calls * 2 * (SIZE + 1000))
        monkeypatch.setattr("toolcalls.processors.exchange_processors.Work", work)
        exchange, got_calls = _replied(argument, "process", "sse")
        delivered.append(len(got_calls))
        blocked = [verdict for _, verdict in exchange.verdicts if verdict.status == "blocked"]
        assert {verdict.reason for verdict in blocked} == {"undecided"}
    assert delivered == [2, 5]
