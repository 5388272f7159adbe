"""A search in linear time agrees with Python's wherever it answers, and answers what most expressions ask."""

import re
from contextlib import suppress
from types import SimpleNamespace

import pytest
import re2
from hypothesis import example, given
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.text.linear_search import LinearSearch, LinearSearches

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
@example(r"\B", re.NOFLAG, "", False)
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


# --- tables: all that can be in an expression, by what is answered -------------------------------------------------

ASCII = [chr(code) for code in range(128)]
BEYOND = ["\x80", "è", "é", "ê", "ñ", "ò", "ſ", "—", "\u2015", "\u212a", "\ufffe", "\U00010000", "\U0010ffff"]
SIGNS = ["a", "K", "_", "é", "."]
CLASSES = [
    r"\d", r"\D", r"\s", r"\S", r"\w", r"\W", "[ab]", "[^ab]", "[c-k]", "[^c-k]", "[^a-cx-z]", r"[\d-]", r"[^\d-]",
    r"[^\W_]", r"[\s\S]", r"[^\s\S]", "[^k]", r"\^", r"[\^a]", *map(re.escape, SIGNS), *(f"[^{one}]" for one in SIGNS),
]  # fmt: skip
CLASSES_BEYOND = [
    "[é-ñ]",
    "[^é-ñ]",
    "[^é—]",
    "[^é-ñ\u2014]",
    "[a-é]",
    "[^a-é]",
    "[é\U0010ffff]",
    "[^\x80]",
    "[^\U0010ffff]",
    "[^\U0010fffe]",
    "[^ı]",
    "ı",
    "[^\u212a]",
    "[^é-ſ]",
    "[^\U00010000-\U0010fffe]",
    "é",
]
EACH_FLAG = [re.NOFLAG, re.IGNORECASE, re.ASCII, re.IGNORECASE | re.ASCII]


@pytest.mark.parametrize("flags", EACH_FLAG, ids=str)
@pytest.mark.parametrize("text", [*CLASSES, *CLASSES_BEYOND])
def test_a_class_holds_the_characters_that_it_holds_for_python(text: str, flags: re.RegexFlag) -> None:
    search, by_python = LinearSearch(text, flags), re.compile(text, flags)
    for sign in ASCII:
        assert search.finds(sign) == (by_python.search(sign) is not None), sign
    # Beyond ASCII, only words and letter case are left to Python.
    plain = not flags & re.IGNORECASE and (flags & re.ASCII or re.search(r"\\[dswDSW]", text) is None)
    for sign in BEYOND:
        expected = by_python.search(sign) is not None
        assert search.finds(sign) in ({expected} if plain else {None, expected}), sign


VALUES = [
    "", "a", "b", "A", "ab", "aB", "abc", "a b", "aab", "ba", "a\n", "a\nb", "\na", "b\na\n", "a\n\n", "aaa", "aaaa",
    "acb", "a.b", " a ",
]  # fmt: skip
# What RE2 answers alone, found or not.
ANSWERED = [
    "a", "ab", "a.b", "a|b", "(a|b)b", "a*b", "a+?b", "a?b", "a{2}b", "a{2,}", "a{,2}b", "a{1,2}?b", "(?:ab)+",
    "(?:ab)*c", "^a", "^b", "a$", "b$", r"\Aa", r"\Ab", r"a\Z", r"\ba", r"a\b", r"\Ba", r"a\B", r"a\bb", r"a\Bb",
    "(?i)aB", "(?i:A)b", "(?-i:a)b", "(?s).b", "(?s:.)b", "(?m)^a", "(?m)a$", "(?m)^$", "(?x) a b",
    "a{1000}", "(a$|b)", "", "(?a)a\\b",
]  # fmt: skip
# Found, the answer is Python's; RE2 finds it in the first text, with or without what it lacks, and not in the second.
ONLY_NO = [
    (r"a$\n?", "a", "b"),
    (r"(a)\1b", "ab", "a"), (r"(a)?(?(1)b|c)", "", None), ("a++b", "aab", "aa"), ("(?>a|ab)c", "ac", "ab"),
    ("a(?!b)", "ab", "b"), ("a(?=b)", "ac", "b"), ("(?<=a)b", "b", "a"), ("(?<!a)b", "ab", "a"),
    ("a{1001}", "a" * 1000, "a"), ("a{2,1001}b", "aab", "ab"), ("b(?:a{,1001})c", "bac", "ba"),
    ("a$b", "ab", "b"), ("(a$)+b?", "ab", "b"), (r"a(?!)", "a", "b"),
]  # fmt: skip


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("text", ANSWERED)
def test_most_expressions_need_nothing_else(text: str, flags: re.RegexFlag) -> None:
    search, by_python = LinearSearch(text, flags), re.compile(text, flags)
    for value in VALUES:
        assert search.finds(value) == (by_python.search(value) is not None), value
        assert search.finds(value, whole=True) == (by_python.fullmatch(value) is not None), value


@pytest.mark.parametrize(("text", "wide", "never"), ONLY_NO)
def test_of_what_only_python_can_tell_a_no_is_told(text: str, wide: str, never: str | None) -> None:
    assert LinearSearch(text).finds(wide) is None
    assert LinearSearch(text).finds(wide, whole=True) in {None, False}
    if never is not None:
        assert LinearSearch(text).finds(never) is False
    for value in VALUES:
        assert LinearSearch(text).finds(value) in {None, re.search(text, value) is not None}


@pytest.mark.parametrize(("most", "told"), [(1000, True), (1001, False)])
def test_a_number_of_repeats_is_told_up_to_what_re2_takes(most: int, told: bool) -> None:
    for text in (f"a{{{most}}}", f"a{{{most},}}", f"ba{{2,{most}}}"):
        assert LinearSearch(text).finds("b" + "a" * most) is (True if told else None)
        assert LinearSearch(text).finds("b") is False
    assert LinearSearch(f"ba{{,{most}}}").finds("b" + "a" * 1001, whole=True) is (False if told else None)


def test_word_ends_beyond_ascii_are_pythons() -> None:
    for text in (r"\ba", r"a\B"):
        assert LinearSearch(text).finds("é a") is None
        assert LinearSearch(text, re.ASCII).finds("éa b") == (re.search(text, "éa b", re.ASCII) is not None)
        assert LinearSearch(text).finds("é") is False


def test_what_cannot_be_asked_is_not_answered(capfd: pytest.CaptureFixture[str]) -> None:
    assert LinearSearch("a").finds("a\ud800") is None  # it cannot be UTF-8
    assert LinearSearch("(?:a{1000}){1000}").finds("a") is None  # RE2 refuses it
    assert capfd.readouterr() == ("", "")
    deep = "(?:" * 150 + "a" + ")?" * 150
    assert LinearSearch(deep).finds("b") in {None, True}


@pytest.mark.parametrize("said", [("NEW", 1), ("IN", [("NEW", 1)]), ("IN", [("CATEGORY", "CATEGORY_NEW")])], ids=str)
def test_what_a_newer_parser_says_is_not_answered(monkeypatch: pytest.MonkeyPatch, said: object) -> None:
    class Parsed(list[object]):
        state = SimpleNamespace(flags=0)

    monkeypatch.setattr(re, "_parser", SimpleNamespace(parse=lambda _text, _flags: Parsed([said])))
    assert LinearSearch("a").finds("a") is None
    assert LinearSearch("a").finds("b") is None


def test_what_never_matches_is_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    """`(?!)`, which some versions of Python's parser call FAILURE."""

    class Parsed(list[object]):
        state = SimpleNamespace(flags=0)

    said = Parsed([("LITERAL", ord("a")), ("FAILURE", ())])
    monkeypatch.setattr(re, "_parser", SimpleNamespace(parse=lambda _text, _flags: said))
    assert LinearSearch("a(?!)").finds("a") is None
    assert LinearSearch("a(?!)").finds("b") is False


def test_an_expression_is_compiled_once_for_each_way_in_which_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    compile_ = re2.compile

    def counted(spelt: bytes, options: object) -> object:
        made.append(spelt)
        return compile_(spelt, options)

    monkeypatch.setattr(re2, "compile", counted)
    search = LinearSearch("a$")
    assert made == []
    for _ in range(2):
        for value in ("ab", "é", "ba"):
            search.finds(value)
            search.finds(value, whole=True)
    assert len(made) == 4


def test_without_the_parser_nothing_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(re, "_parser")
    assert LinearSearch("never asked before").finds("x") is None


# --- many at once ---------------------------------------------------------------------------------------------------

UNSPELT = re.compile("(?:a{1000}){1000}")  # RE2 refuses it


@law
@given(st.lists(st.tuples(st.sampled_from(PATTERNS), st.sampled_from(FLAGS)), max_size=6),
       st.lists(TEXTS, max_size=4), TEXTS)  # fmt: skip
def test_many_are_looked_for_at_once_and_none_is_missed(
    patterns: list[tuple[str, re.RegexFlag]], literals: list[str], value: str
) -> None:
    wanted: list[str | re.Pattern[str]] = [*literals]
    for text, flags in patterns:
        with suppress(re.error):
            wanted.append(re.compile(text, flags))
    found = {
        place
        for place, one in enumerate(wanted)
        if (one in value if isinstance(one, str) else one.search(value) is not None)
    }
    assert found <= LinearSearches(wanted).possible(value)


def test_of_many_those_that_are_not_there_are_told() -> None:
    wanted = ["<a>", UNSPELT, re.compile(r"^Action:", re.MULTILINE), re.compile(r"\w+\(", re.IGNORECASE), "｜", "<a"]
    search = LinearSearches(wanted)
    assert search.possible("") == {1}
    assert search.possible("x <a") == {1, 5}
    assert search.possible("x <a> Action:\n｜") == {0, 1, 4, 5}
    assert search.possible("Action: F(") == {1, 2, 3}
    assert search.possible("\ud800") == set(range(6))  # it cannot be UTF-8
    assert LinearSearches([]).possible("<a>") == set()


def test_of_too_many_each_is_possible(capfd: pytest.CaptureFixture[str]) -> None:
    search = LinearSearches(f"<tool_{number}_of_a_rather_long_name>" for number in range(20_000))
    assert search.possible("<tool_7_of_a_rather_long_name>") == set(range(20_000))
    assert search.possible("") == set(range(20_000))
    assert capfd.readouterr() == ("", "")


def test_without_the_parser_each_expression_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(re, "_parser")
    assert LinearSearches(["a", re.compile("b"), "c"]).possible("c") == {1, 2}


def test_many_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = []
    search_set = re2.Set.SearchSet
    monkeypatch.setattr(re2.Set, "SearchSet", lambda options: sets.append(1) or search_set(options))
    search = LinearSearches(["a", "b"])
    assert not sets
    assert [search.possible(text) for text in ("a", "é b", "")] == [{0}, {1}, set()]
    assert len(sets) == 1
