"""Where candidates begin (`reading/openers.py`), compared with a search that looks at every place.

Strategy: a few invented dialects whose openers share beginnings, are on two lines or begin with a letter, and texts
made of their pieces, with names that are spelt otherwise. What is found must be what a plain search finds; what is
decided before the text has ended must hold for every text that may follow; and what is held must be what may still
become an opener, and no more.
"""

import re
from dataclasses import dataclass
from itertools import chain
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.reading import opener_tables
from toolcalls.reading.openers import Openers


@dataclass(frozen=True)
class Form:
    name: str
    place: str
    literals: tuple[str, ...]
    stray_words: tuple[str, ...] = ()
    around: tuple[tuple[str, str], ...] = ()  # what comes before and after a tool's name

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*self.literals, *(f"{before}{name}{after}" for before, after in self.around for name in names))


TAG = Form("tag", "anywhere", ("<call>", "<call"), ("call",))
TOKEN = Form("token", "anywhere", ("<call>[", "[GO]", "<goto>"))
LOST = Form("lost", "anywhere", ("GO]",))  # begins with a letter: only where a line does
LINE = Form("line", "start", ("act:", "<call>x", "do\nact"), ("tool",), (("", ":"), ("=", ""), ("", "\nx")))
NAMED = Form("named", "line", (), ("call",), (("<", ">"), ("<", "/"), ("[G ", ""), ("@", "!"), ("<call>", "")))
MESSAGE = Form("message", "message", ("{", '{"n'))
FORMS = (TAG, TOKEN, LOST, LINE, NAMED, MESSAGE)
NAMES = ("go", "goto", "a", 'o"', "_")  # the last two are written out, the others are looked for by themselves
REACH = len("call") + 32  # characters in front of an opener in which a stray word is looked for, and its line's start
PREFIXES = ("", "functions.", "tools__", "mcp__x__")
CLOSER = "</think>"  # begins a message, and is no dialect's

INLINE = {
    "<call>": (TAG,),
    "<call": (TAG,),
    "<call>[": (TOKEN,),
    "[GO]": (TOKEN,),
    CLOSER: (),
    **{f"{before}{name}{after}": (NAMED,) for before, after in NAMED.around for name in NAMES},
    "<goto>": (TOKEN, NAMED),
}
START = {
    "GO]": (LOST,),
    "act:": (LINE,),
    "<call>x": (LINE,),
    "do\nact": (LINE,),
    **{f"{before}{name}{after}": (LINE,) for before, after in LINE.around for name in NAMES},
}
BEGINNING = {"{": (MESSAGE,)}

cheap = settings(law, max_examples=max(30, law.max_examples))  # also with TESTS=quick

PIECES = (
    *("<call>", "<call", "<ca", "<", "[", "[GO]", "[G", "GO]", "GO", "act:", "ac", "x", "do\nact", "do", "{", '{"n'),
    *(
        "<g",
        "<go",
        "<got",
        "<goto",
        "@",
        "@g",
        "@a",
        "@goto!",
        "@",
        "<go>",
        "<goto/",
        "<a",
        "<a>",
        '<o"',
        '<o">',
        "<_/",
        "[G go",
        "[G ",
        "<call>go",
    ),
    *("go", "goto", "go:", "a:", "=", "=go", "=a", 'o"', 'o":', "_:", "a\nx"),
    *("G", "G_o", "<GO", "<g-", "Go to:", "gOTO", "_", "-", "tools__", "=functions.", "mcp__", "x__", "<mcp__x__go>"),
    *("call", "tool", "to", "\n", "\r\n", "\r", " ", "\t", "y", "y" * 300, "<" * 300, " " * 300, CLOSER, "</thi"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
NAMED_FORMS = [(form, before, after, name) for form in (LINE, NAMED) for before, after in form.around for name in NAMES]
RESPELT = {"go": r"g[-_ ]*o", "goto": r"g[-_ ]*o[-_ ]*t[-_ ]*o", "a": "a"}
ANY_PREFIX = r"(?-i:(?:functions|default_api|tools)(?:[.:/]|__)|mcp__[\w-]+?__(?!_))?"
SPELT = [
    (form, re.compile(f"{re.escape(before)}(?i:{ANY_PREFIX}{RESPELT[name]}){re.escape(after)}", re.ASCII))
    for form, before, after, name in NAMED_FORMS
    if name in RESPELT
]
SPELT_OUT = [f"{before}{prefix}{name}{after}" for _, before, after, name in NAMED_FORMS for prefix in PREFIXES]
ENDS = sorted({literal[at:] for literal in (*INLINE, *START, *BEGINNING, *SPELT_OUT) for at in range(len(literal))})
# What may complete an opener, alone or after what is left of a stray word.
LATER = (*ENDS, *(f"{rest}\n{tag}" for rest in ("", "l", "ll", "all", "ol", "ool") for tag in ("<call", "act:")))

type Found = tuple[int, str, frozenset[Form]]


def is_line_start(text: str, at: int, *, line_start: bool) -> bool:
    before = text[:at].rstrip(" \t")
    return before[-1] in "\r\n" if before else line_start


def standing(text: str, at: int, *, line_start: bool, message_start: bool) -> dict[str, tuple[Form, ...]]:
    """The openers that count at a place."""
    tables: list[dict[str, tuple[Any, ...]]] = [INLINE]
    if is_line_start(text, at, line_start=line_start):
        tables.append(START)
    if message_start and not text[:at].strip():
        tables.append(BEGINNING)
    found = {
        literal: forms
        for literal, forms in chain.from_iterable(table.items() for table in tables)
        if text.startswith(literal, at)
    }
    for form, pattern in SPELT:
        if (form is NAMED or START in tables) and (opener := pattern.match(text, at)) is not None:
            found[opener[0]] = tuple(dict.fromkeys((*found.get(opener[0], ()), form)))
    return found


def first(text: str, **begins: bool) -> Found | None:
    for at in range(len(text)):
        found = standing(text, at, **begins)
        if found:
            return at, max(found, key=len), frozenset(chain.from_iterable(found.values()))
    return None


def stray(text: str, at: int, forms: frozenset[Form], *, line_start: bool) -> int:
    """How many characters of a stray word, alone on its line or on that of the opener, go with it."""
    if not any(form.stray_words for form in forms):
        return 0
    gap = len(text[:at]) - len(text[:at].rstrip(" \t"))
    before = text[: at - gap]
    if before.endswith("\n"):
        before = before.removesuffix("\n").removesuffix("\r").rstrip(" \t")
    for word in ("call", "tool"):
        begin = len(before) - len(word)
        from_here = max(0, at - REACH)
        seen, begins = text[from_here:at], line_start and not from_here
        if before.endswith(word) and begin >= from_here and is_line_start(seen, begin - from_here, line_start=begins):
            return at - begin
    return 0


BEGINS = st.fixed_dictionaries({"line_start": st.booleans(), "message_start": st.booleans()})
BEFORE = st.sampled_from(("", "z", "\n", "<call>", "act:", "tool", " "))


@cheap
@given(text=TEXTS, begins=BEGINS, before=BEFORE)
def test_the_first_opener_is_the_one_that_a_plain_search_finds(text: str, begins: dict[str, bool], before: str) -> None:
    opener = Openers(FORMS, NAMES, anywhere=False, results=False).find(before + text, len(before), ended=True, **begins)
    found = first(text, **begins)
    if opener is None or found is None:
        assert opener is found is None
        return
    start, literal, forms = found
    assert (opener.start - len(before), opener.literal, frozenset(opener.dialects)) == found
    assert opener.stray == stray(text, start, forms, line_start=begins["line_start"])
    if forms:
        assert literal in opener.dialects[0].openers((*NAMES, *opener.respelt))


@cheap
@given(text=TEXTS, begins=BEGINS, before=BEFORE)
def test_what_is_found_before_the_end_stays_so_whatever_follows(
    text: str, begins: dict[str, bool], before: str
) -> None:
    openers = Openers(FORMS, NAMES, anywhere=False, results=False)
    opener = openers.find(before + text, len(before), ended=False, **begins)
    if opener is not None:
        for later in LATER:
            assert first(text + later, **begins) == (
                opener.start - len(before),
                opener.literal,
                frozenset(opener.dialects),
            )


@cheap
@given(text=TEXTS, begins=BEGINS, before=BEFORE)
def test_what_may_become_an_opener_is_held_and_nothing_else(text: str, begins: dict[str, bool], before: str) -> None:
    openers = Openers(FORMS, NAMES, anywhere=False, results=False)
    opener = openers.find(before + text, len(before), ended=False, **begins)
    if opener is not None:
        assert openers.possible(text, **begins)
        return
    held = openers.held(before + text, len(before), **begins) - len(before)
    begun = set()
    for later in LATER:
        if (found := first(text + later, **begins)) is not None:
            at, _, forms = found
            arriving = forms if at >= len(text) else frozenset(FORMS)  # what has begun may become any of them
            begun.add(min(len(text), at - stray(text + later, at, arriving, line_start=begins["line_start"])))
    assert held == min(begun)
    assert openers.possible(text, **begins) == (held < len(text))


@cheap
@given(text=TEXTS, begins=BEGINS, before=BEFORE)
def test_a_long_text_is_read_like_a_short_one(text: str, begins: dict[str, bool], before: str) -> None:
    """Of a long one it is asked first whether it has any opener at all."""

    def read() -> tuple[object, ...]:
        openers = Openers(FORMS, NAMES, anywhere=False, results=False)
        return openers.possible(text, **begins), openers.inside_line(before + text, len(before))

    short = read()
    with patch.object(opener_tables, "_LONG", 0):
        assert read() == short


@cheap
@given(text=TEXTS, before=BEFORE)
def test_inside_a_line_the_short_way_holds_the_same(text: str, before: str) -> None:
    openers = Openers(FORMS, NAMES, anywhere=False, results=False)
    begins = {"line_start": False, "message_start": False}
    held = openers.inside_line(before + text, len(before))
    if "\n" in text or "\r" in text or openers.find(before + text, len(before), ended=False, **begins) is not None:
        assert held == -1
    elif held >= 0:
        assert held == openers.held(before + text, len(before), **begins)


@pytest.mark.parametrize(("before", "opener"), [*(("x", each) for each in INLINE), *(("x\n", each) for each in START)])
def test_every_beginning_of_an_opener_is_held(before: str, opener: str) -> None:
    openers = Openers(FORMS, tuple(name for name in NAMES if name in opener), anywhere=False, results=False)
    begins = {"line_start": False, "message_start": False}
    for size in range(1, len(opener)):
        text = before + opener[:size]
        assert openers.possible(text, **begins)
        assert openers.held(text, 0, **begins) <= len(before)
    found = openers.find(before + opener, 0, ended=True, **begins)
    assert found is not None
    assert (found.start, found.literal, frozenset(found.dialects)) == first(before + opener, **begins)


@pytest.mark.parametrize("text", ["\n", "\r", "a\n", "a\r", "\na", "\ra"])
def test_a_line_end_wherever_it_stands_ends_the_short_way(text: str) -> None:
    openers = Openers(FORMS, NAMES, anywhere=False, results=False)
    assert [openers.inside_line(before + text, len(before)) for before in ("", "zz")] == [-1, -1]
    assert openers.inside_line("\r\na", 2) == 3


@pytest.mark.parametrize("text", ["\uff1ccall>", "a\uff1ccall>", "\uff1cca", "a \uff1c"])
def test_what_looks_like_an_opener_is_possible_wherever_it_stands(text: str) -> None:
    """In a line, too, where no opener stands: such a text gets a verdict of its own."""
    openers = Openers(FORMS, NAMES, anywhere=False, results=False)
    assert openers.possible(text, line_start=False, message_start=False)
    assert not openers.possible(text.replace("\uff1c", "\u00e9"), line_start=False, message_start=False)


@pytest.mark.parametrize(
    ("form", "anywhere", "text", "at"),
    [
        (MESSAGE, False, 'a\n{"n', None),
        (MESSAGE, True, 'a\n{"n', 2),
        (MESSAGE, True, 'a {"n', 2),  # a declared tool's name follows the bracket
        (MESSAGE, True, "a {", None),
        (LINE, False, "a act:", None),
        (LOST, False, "a GO]", None),
        (LOST, False, "a\nGO]", 2),
        (TOKEN, False, "a [GO]", 2),
    ],
)
def test_an_opener_counts_where_its_dialect_has_it(form: Form, anywhere: bool, text: str, at: int | None) -> None:
    openers = Openers((form,), (), anywhere=anywhere, results=False)
    opener = openers.find(text, 0, line_start=True, message_start=True, ended=True)
    assert (opener and opener.start) == at


def test_invented_results_are_looked_for_at_the_start_of_a_line_where_they_may_be() -> None:
    def found(text: str, *, results: bool) -> object:
        openers = Openers((TAG,), (), anywhere=False, results=results)
        opener = openers.find(text, 0, line_start=True, message_start=False, ended=True)
        return opener and (opener.start, opener.literal, opener.dialects)

    assert found("a\n<tool_result>", results=True) == (2, "<tool_result>", ())
    assert found("a <tool_result>", results=True) is None
    assert found("a\n<tool_result>", results=False) is None


@pytest.mark.parametrize(("literal", "form"), [("<call>", TAG), ("<call>[", TOKEN), ("<goto>", TOKEN), ("[G a", NAMED)])
def test_what_looks_like_an_opener_resembles_the_first_dialect_that_has_it(literal: str, form: Form) -> None:
    openers = Openers(FORMS, NAMES, anywhere=False, results=False)
    assert openers.resembled(literal) is form
