"""What each model took: counts that grow and shrink again, and percentiles of times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.turns import turn, verdict
from toolcalls.insight import model_totals
from toolcalls.insight.conformance import NOT_NAMED, OTHERS
from toolcalls.insight.model_totals import Durations, Totals
from toolcalls.insight.replies import Moments
from toolcalls.values.usage import Tokens

CALL = verdict("lifted", "success")
FIRST = turn(
    "a",
    verdicts=(CALL, CALL),
    tokens=Tokens(input=100, output=20, cached=40),
    moments=Moments(first_byte=500_000, first_argument=1_000_000, end=2_000_000),
    replied=0.5,
)
SECOND = turn("b", model="n", tokens=Tokens(output=5))


def test_each_model_has_what_it_took_and_all_have_the_sum() -> None:
    totals = Totals()
    for one in (FIRST, SECOND, turn("c", model="", state="waiting")):
        totals.add(one)
    known = dict(totals.models())
    assert sorted(known) == ["m", "n"]
    m, n, both = known["m"], known["n"], totals.all
    assert (m.turns, m.calls, m.counted, m.complete, m.input, m.cached, m.output) == (1, 2, 1, 1, 100, 40, 20)
    assert (n.turns, n.calls, n.counted, n.complete, n.input, n.output) == (1, 0, 1, 0, 0, 5)
    assert (both.turns, both.calls, both.input, both.output) == (2, 2, 100, 25)
    assert m.priceable == Tokens(input=100, output=20, cached=40)
    assert n.priceable == Tokens(input=0, output=0, cached=0)
    assert {name: one.total for name, one in m.times.items()} == {"first byte": 1, "first argument byte": 1, "end": 1}
    assert m.times["first byte"].percentile(50) == pytest.approx(1.0, rel=0.025)
    assert m.times["end"].percentile(99) == pytest.approx(2.5, rel=0.025)


def test_what_is_taken_back_leaves_nothing_behind() -> None:
    totals = Totals()
    for sign in (1, -1):
        for one in (FIRST, SECOND):
            totals.add(one, sign)
    assert list(totals.models()) == []
    assert (totals.all.turns, totals.all.calls, totals.all.input, totals.all.output) == (0, 0, 0, 0)
    assert totals.all.priceable == Tokens(input=0, output=0, cached=0)
    assert totals.all.times["end"].percentile(50) is None


def test_cached_tokens_beyond_the_input_are_not_priced() -> None:
    totals = Totals()
    totals.add(turn(tokens=Tokens(input=10, output=1, cached=90)))
    assert (totals.all.cached, totals.all.priceable.cached) == (90, 10)


def test_a_failed_request_has_no_times() -> None:
    totals = Totals()
    totals.add(turn(status=500, moments=Moments(first_byte=1, end=2), replied=0.1))
    assert totals.all.turns == 1
    assert totals.all.times["first byte"].total == 0


def test_models_without_a_name_and_those_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_totals, "ROWS", 2)
    totals = Totals()
    for name in ("", "a", "b", "c", "a"):
        totals.add(turn(model=name))
    assert {name: one.turns for name, one in totals.models()} == {NOT_NAMED: 1, "a": 2, OTHERS: 2}


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=60), st.sampled_from((1, 50, 90, 99, 100)))
def test_a_percentile_is_the_nearest_rank_to_half_a_step(times: list[float], percent: int) -> None:
    durations = Durations()
    for seconds in times:
        durations.add(seconds)
    exact = sorted(times)[max(0, -(-len(times) * percent // 100) - 1)]
    assert durations.percentile(percent) == pytest.approx(exact, rel=0.026)
    for seconds in times:
        durations.add(seconds, -1)
    assert durations.percentile(percent) is None
