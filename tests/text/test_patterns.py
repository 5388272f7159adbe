"""Regular expressions of the user's: the same as Python's, and never without end."""

import re
from time import thread_time
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolcalls.text.patterns import Pattern, TooMuchWork, Work, any_fullmatch, compiled, match_widths

# Only backtracking can tell that there is none: what a linear search leaves out is why.
ENDLESS = r"(a|aa)+(?!.)b?"
LONG = "a" * 64 + "b"

PATTERNS = [
    "bash", ".*", "mcp__.*__(read|write).*", r"(^|[\s/])(\.env|id_rsa)\b", "(?!wait_for_|poll_).*", r"(?i)rm\s+-r?f",
    r"(\w+)-\1", "[[:alpha:]]", "a{2}", "a{e<=1}", "a{,2}", r"\{x\}", "x{y}", r"\N{EM DASH}", "(?:ab)*c", "(?<=a)b+",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")  # as `re` says of [[:alpha:]]
@given(st.sampled_from(PATTERNS), st.text("abelphrm_:[]{}<=1,xy -\n.é", max_size=30), st.booleans())
@example("a{e<=1}", "b", False)
@example("[[:alpha:]]", "z", False)
def test_long_texts_are_matched_as_short_ones(text: str, value: str, whole: bool) -> None:
    pattern = Pattern(text, re.DOTALL)
    work = Work()
    by_python = re.compile(text, re.DOTALL)
    answers = []
    for short in (10_000, -1):  # by `re`, and with a limit
        pattern._safe_size = short
        found = pattern.match(value, len(value) // 2, len(value), work)
        answers.append(
            (pattern.fullmatch(value, work) if whole else pattern.search(value, work), found and found.end())
        )
    found = by_python.match(value, len(value) // 2)
    expected = by_python.fullmatch(value) if whole else by_python.search(value)
    assert answers == [(expected is not None, found and found.end())] * 2


@pytest.mark.parametrize("text", [ENDLESS, "(?x) ( a | aa ) + (?!.) c?", r"(a|aa)+\1(?!.)"])
def test_what_would_try_without_end_is_ended(text: str) -> None:
    pattern = Pattern(text, re.DOTALL)
    for ask in (pattern.search, lambda value, work: pattern.match(value, 0, len(value), work)):
        work = Work(seconds=0.02)
        with pytest.raises(TooMuchWork):
            ask(LONG, work)
        with pytest.raises(TooMuchWork):  # nothing is left for the next one, however short
            ask("aa", work)


@pytest.mark.parametrize(
    "text", [r"git\s+push\b.*(--force|\s-f\b)", r"(a|aa)+$", r"(?i)(x+x+)+y", r"(^|\s)(\.env|id_rsa)\b"]
)
@pytest.mark.parametrize("value", ["git push " * 25_000, "a" * 200_000 + "b", "x" * 200_000, " .enx" * 40_000])
def test_what_a_linear_search_can_tell_needs_no_backtracking(text: str, value: str) -> None:
    pattern = Pattern(text, re.DOTALL)
    work = Work(seconds=0)
    assert not pattern.search(value, work)
    assert not pattern.fullmatch(value, work)
    assert not pattern.search("é" + value, work)


def test_every_expression_counts_what_it_searches() -> None:
    work = Work(characters=10)
    assert Pattern("b").search("aaab", work)
    assert not Pattern("c").search("aaab", work)
    with pytest.raises(TooMuchWork):
        Pattern("b").search("aaab", work)
    assert Pattern("b").search("aaab", Work(characters=4))


def test_a_whole_text_counts_as_one_that_is_searched() -> None:
    work = Work(characters=10)
    assert Pattern("aaab").fullmatch("aaab", work)
    assert not Pattern("c").fullmatch("aaab", work)
    with pytest.raises(TooMuchWork):
        Pattern("aaab").fullmatch("aaab", work)


def test_what_cannot_be_told_is_no_name_of_a_list() -> None:
    assert not any_fullmatch([Pattern(ENDLESS)], LONG, Work(seconds=0.05))
    assert any_fullmatch([Pattern(ENDLESS), Pattern("a+b")], LONG, Work(seconds=0.05))


def test_an_expression_that_is_none() -> None:
    for text in ("(", "(?P<a>x)(?P<a>y)", "(?R)"):
        with pytest.raises(re.error):
            Pattern(text)


def test_who_has_used_up_the_seconds_gets_no_more() -> None:
    work, asked = Work(seconds=1000), []

    def takes_too_long(seconds: float) -> bool:
        asked.append(seconds)
        raise TimeoutError

    for _ in range(2):
        with pytest.raises(TooMuchWork):
            work.backtrack(takes_too_long)
    assert asked == [1000]


def test_what_one_expression_takes_the_next_one_has_not() -> None:
    work, before = Work(seconds=1000), thread_time()
    assert work.backtrack(lambda _: sum(range(100_000))) == 4_999_950_000
    left = work.backtrack(lambda seconds: seconds)
    assert 0 < 1000 - left <= thread_time() - before


@pytest.mark.parametrize(
    ("text", "widths"),
    [
        ("", (0, 0)),
        ("ab?", (1, 2)),
        ("a{2,3}", (2, 3)),
        ("a+b", (2, None)),
        ("(a|bc)*", (0, None)),
        ("a{2147483647}", (2147483647, 2147483647)),
        ("a{2147483648}", (2147483648, None)),
    ],
)
def test_how_wide_a_match_is(text: str, widths: tuple[int, int | None]) -> None:
    assert match_widths(text) == widths
    with patch.object(re, "_parser", None):
        assert match_widths(text) == (0, None)


def test_how_long_a_text_may_be_falls_with_each_repetition() -> None:
    """So many steps that the longest text takes as long with any number of them."""
    none, one, two = (compiled(text)._safe_size for text in ("ab", "a.*b", "a.*b.*c"))
    assert one**2 <= none <= (one + 1) ** 2
    assert two**3 <= none <= (two + 1) ** 3
    assert compiled("a|b")._safe_size == none // 2
