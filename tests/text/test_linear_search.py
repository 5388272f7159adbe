"""A search in linear time agrees with Python's wherever it answers, and answers what most expressions ask."""

import re
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.text.linear_search import LinearSearch

FLAGS = [re.NOFLAG, re.IGNORECASE, re.DOTALL, re.MULTILINE, re.IGNORECASE | re.DOTALL, re.ASCII]
# What people write into rules, and each thing that Python's parser knows.
PATTERNS = [
    r"""(^|[\s/"'])(\.env|id_rsa|\.netrc|\.aws/credentials)\b""", r"git\s+push\b.*(--force|\s-f\b)", r"(?i)rm\s+-r?f",
    "browser_.*", r"(a|aa)+$", r"((a+b?)+)+c", r"(?!x)\w+-", r"[^\W\d]+é", "(?m)^a$", r"a$\n?b", "(?i)[k-s]", "[^k]",
    "(?i)[^k]", r"\Bx", "a{2,3}b", r"(\w)\1", r"(?a)\w+\b", "(?i:ſ)x", "(?x) a | b c", "a{,2000}b", "a{1500}",
    "(?>a|ab)c", "a++b", "(?<=a)b", r"\Aab\Z", "[]a-c^-]", "é|K", "(?s:.)x", ".$", "(?:a$|b)", "(a$)+b?",
    r"[^\x00-\x7f]", "[^é]x", "(a)?b(?(1)c|d)", "(?m)^", "(?m)$", "", "[a-é]", "(?-i:a)B", r"\N{EM DASH}|\u0130",
    "\ud800", r"[\s\S]x", r"[^\s\S]",
]  # fmt: skip
PIECES = [
    "^", "$", r"\A", r"\Z", r"\b", r"\B", ".", "a", "b", "K", "s", "ſ", "i", "İ", "é", r"\w", r"\W", r"\d", r"\D",
    r"\s", r"\S", "[ab]", "[^ab]", r"[^\W_]", "[a-z]", "|", "(", ")", "(?:", "(?=", "(?!", "(?<=a)", "*", "+", "?",
    "{2}", "{1,}", "*?", "(?i:",
]  # fmt: skip
TEXTS = st.text("abcxyzKksSkſiıİI é-рm\n rfgitpush./_19\x1c\x85\ud800—", max_size=14)


def _asked(text: str, flags: re.RegexFlag, value: str, whole: bool) -> None:
    with suppress(re.error):
        pattern = re.compile(text, flags)
        expected = (pattern.fullmatch(value) if whole else pattern.search(value)) is not None
        assert LinearSearch(text, flags).finds(value, whole=whole) in {None, expected}


@law
@given(st.sampled_from(PATTERNS), st.sampled_from(FLAGS), TEXTS, st.booleans())
@example("K", re.IGNORECASE, "\u212a", False)
@example("[a-z]", re.IGNORECASE, "ı", True)
@example("a$", re.NOFLAG, "a\n", True)
@example(r"(\w)\1", re.NOFLAG, "ab", False)
@example("a(?!b)", re.NOFLAG, "ab", False)
@example(r"a\b", re.NOFLAG, "aé", False)
@example("a++ab", re.NOFLAG, "aab", True)
@example("a$", re.NOFLAG, "a\n", False)
def test_an_answer_is_that_of_python(text: str, flags: re.RegexFlag, value: str, whole: bool) -> None:
    _asked(text, flags, value, whole)


@law
@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join), st.sampled_from(FLAGS), TEXTS, st.booleans())
def test_an_answer_is_that_of_python_whatever_the_expression(
    text: str, flags: re.RegexFlag, value: str, whole: bool
) -> None:
    _asked(text, flags, value, whole)


@pytest.mark.parametrize("text", PATTERNS[:6])
def test_what_rules_ask_is_answered(text: str) -> None:
    for value in ("git push --force", "cat /x/.env", "rm -rf /", "aab", "nothing of it", "line\nline\n"):
        assert LinearSearch(text, re.DOTALL).finds(value) == (re.search(text, value, re.DOTALL) is not None)
        assert LinearSearch(text).finds(value, whole=True) == (re.fullmatch(text, value) is not None)
        # Beyond ASCII a "no" is one.
        assert LinearSearch(text, re.DOTALL).finds(f"{value} — é") in {
            None,
            re.search(text, value, re.DOTALL) is not None,
        }
    assert LinearSearch(text, re.DOTALL).finds("nothing of it — é") is False


def test_without_the_parser_nothing_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(re, "_parser")
    assert LinearSearch("never asked before").finds("x") is None
