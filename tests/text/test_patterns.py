"""Regular expressions of the user's: the same as Python's, and never without end."""

import re
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolcalls.text import patterns
from toolcalls.text.patterns import Pattern, any_fullmatch

ENDLESS = r"(a|aa)+$"
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
    by_python = re.compile(text, re.DOTALL)
    answers = []
    for short in (10_000, -1):  # by `re`, and with a limit
        pattern._safe_size = short
        found = pattern.match(value, len(value) // 2, len(value))
        answers.append((pattern.fullmatch(value) if whole else pattern.search(value), found and found.end()))
    found = by_python.match(value, len(value) // 2)
    expected = by_python.fullmatch(value) if whole else by_python.search(value)
    assert answers == [(expected is not None, found and found.end())] * 2


@pytest.mark.parametrize(
    ("text", "value"),
    [(ENDLESS, LONG), (r"((a+b?)+)+c", "a" * 200), ("(?x) ( a | aa ) + $", LONG), ("a.*b.*c.*d.*e" * 2, "abcd" * 400)],
)
def test_what_would_try_without_end_is_ended(text: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.05)
    for ask in (Pattern(text).search, Pattern(text).fullmatch, lambda value: Pattern(text).match(value, 0, len(value))):
        with suppress(TimeoutError):  # some of these are found out quickly
            ask(value)
    monkeypatch.setattr(patterns, "SECONDS", 1e-9)
    with pytest.raises(TimeoutError):
        Pattern(ENDLESS).search(LONG)


def test_what_cannot_be_told_is_no_name_of_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.05)
    assert not any_fullmatch([Pattern(ENDLESS)], LONG)
    assert any_fullmatch([Pattern(ENDLESS), Pattern("a+b")], LONG)


def test_an_expression_that_is_none() -> None:
    for text in ("(", "(?P<a>x)(?P<a>y)", "(?R)"):
        with pytest.raises(re.error):
            Pattern(text)
