"""What the model wrote, cut at its calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.insight import passages
from toolcalls.insight.own_secrets import OwnSecrets
from toolcalls.insight.passages import Passage, Span, passages_of

NONE = OwnSecrets()


@pytest.mark.parametrize(
    ("text", "spans", "cut"),
    [
        ("plain", [], [Passage("plain", 5)]),
        ("  \n", [], []),
        ("a<c>b", [Span(0, 1, 4, 0)], [Passage("a", 1), Passage("<c>", 3, 0), Passage("b", 1)]),
        ("<c><d>", [Span(0, 3, 6, 1), Span(0, 0, 3, 0)], [Passage("<c>", 3, 0), Passage("<d>", 3, 1)]),
        ("<c>\n\n<d>", [Span(0, 0, 3, 0), Span(0, 5, 8, 1)], [Passage("<c>", 3, 0), Passage("<d>", 3, 1)]),
        ("<c>b", [Span(0, 0, 3, 0), Span(0, 1, 4, 1)], [Passage("<c>", 3, 0), Passage("b", 1)]),
        ("<c", [Span(0, 0, 9, 0)], [Passage("<c", 2, 0)]),
        ("ab", [Span(0, 2, 2, 0), Span(0, 5, 9, 1)], [Passage("ab", 2)]),
        ("ab", [Span(1, 0, 1, 0)], [Passage("ab", 2)]),
    ],
)
def test_a_text_is_cut_at_its_calls(text: str, spans: list[Span], cut: list[Passage]) -> None:
    assert list(passages_of([(0, text)], spans, NONE)) == cut


def test_each_choice_has_its_own_spans() -> None:
    made = passages_of([(0, "a<c>"), (1, "<d>b")], [Span(1, 0, 3, 1), Span(0, 1, 4, 0)], NONE)
    assert [(one.text, one.verdict) for one in made] == [("a", None), ("<c>", 0), ("<d>", 1), ("b", None)]


@given(st.text("ab<> ", max_size=60), st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), max_size=6))
def test_passages_follow_each_other_and_leave_out_blanks_alone(text: str, places: list[tuple[int, int]]) -> None:
    spans = [Span(0, start, end, number) for number, (start, end) in enumerate(places)]
    cut = list(passages._cut(text, spans))
    at = 0
    for start, end, _ in cut:
        assert start >= at
        assert not text[at:start].strip()
        assert end > start
        at = end
    assert not text[at:].strip()


def test_long_passages_and_many_of_them_are_bounded() -> None:
    (long,) = passages_of([(0, "x" * 5000)], [], NONE)
    assert (len(long.text) < 800, long.size) == (True, 5000)
    (call,) = passages_of([(0, "x" * 5000)], [Span(0, 0, 5000, 0)], NONE)
    assert len(long.text) < len(call.text) < 1600
    many = passages_of([(0, "<c>" * 200)], [Span(0, 3 * n, 3 * n + 3, n) for n in range(200)], NONE)
    assert len(many) == 60


def test_a_secret_of_the_exchange_is_taken_out_across_the_cut() -> None:
    secret = "correct-horse-battery-staple-42"
    (one,) = passages_of([(0, "x" * 690 + secret)], [], OwnSecrets(frozenset({secret})))
    assert secret[:8] not in one.text
