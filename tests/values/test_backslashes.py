r"""Backslashes that were not doubled: paths with a drive and patterns are read as they were meant, sound JSON as it is.

Strategy: paths and patterns of many makes stand in a JSON object as a model writes them, cut at every place and at any;
what is read is the path, the pattern. Sound JSON of any text is never changed; nor is what a writer wrote.
"""

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.values.backslashes import MOST_HELD, MOST_PATH, without_drives
from toolcalls.values.damaged_json import DamagedJson
from toolcalls.values.transducer import Transducer
from toolcalls.values.value_mending import Held, ValueMending

NAMES = ["temp", "new", "notes", "readme.md", "back up", "users", "Work", "file 1.txt", "rt", "fonts", "é", "x{1}", "b"]
PATTERNS = [r"\bfoo\b", r"\d+", r"^\s*", r"\w", r"\.", r"[^\)]", " and ", "x", r"\n", r"\"", r"\f", "}", ","]
paths = st.builds(
    lambda drive, names, behind: f"{drive}:\\" + "\\".join(names) + behind,
    st.sampled_from("CdZ"),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=5),
    st.sampled_from(["", "\\"]),
)
texts = st.one_of(
    st.text(max_size=20),
    st.lists(st.sampled_from([*NAMES, *PATTERNS, "C:", "a:", "\\", "\n", "\t", "\b", '"', "}", ", "]), max_size=8).map(
        "".join
    ),
)
BEHIND = ['"}', '"]}', '" }', '", "k": 1}', '" ,\n "k": "C:\\\\x"}']


def read(pieces: list[str]) -> tuple[str, bool, list[str]]:
    """What leaves of JSON in a model's text, whether it is whole, and what was repaired."""
    reader = DamagedJson()
    made, unread = "", ""
    for number, piece in enumerate([*pieces, ""]):
        unread += piece
        out, end = reader.feed(unread, final=number == len(pieces))
        made, unread = made + out, unread[end:]
    return made, reader.done, [*reader.repairs]


def mended(pieces: list[str]) -> tuple[str, list[str]]:
    """The same of a native call's arguments."""
    one = ValueMending(Held(), schema=None, json=True)
    left = [one.feed(piece) for piece in pieces]
    return "".join([*left, one.end(cut=False)]), [*one.repairs]


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, *(place for place in places if place < len(text)), len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


def in_pieces(text: str) -> list[list[str]]:
    return [[text[:at], text[at:]] for at in range(1, len(text))] + [list(text)]


@law
@given(paths, st.sampled_from(BEHIND), st.sampled_from(['{"p":"', '{"p" : ["', '{"k": "a\\nb", "p":"']))
@example("C:\\temp\\", '", "k": 1}', '{"p":"')
@example("C:\\work\\notes\\readme.md", '"}', '{"p":"')
@example("C:\\temp\\new", '"}', '{"p":"')
def test_a_path_is_what_was_written(path: str, behind: str, before: str) -> None:
    if before.endswith('["') is not behind.startswith('"]'):
        return
    text = f"{before}{path}{behind}"
    for pieces in in_pieces(text):
        made, whole, repairs = read(pieces)
        assert (whole, repairs) == (True, ["invalid_escape"]), pieces
        value = json.loads(made)["p"]
        assert (value[0] if isinstance(value, list) else value) == path


@law
@given(paths, paths)
def test_a_native_path_is_mended_where_the_arguments_are_no_json(path: str, other: str) -> None:
    text = f'{{"p":"{path}","q":["{other}"]}}'
    try:
        json.loads(text)
    except ValueError:
        meant, said = {"p": path, "q": [other]}, ["invalid_escape"]
    else:
        meant, said = json.loads(text), []
    for pieces in in_pieces(text):
        left, repairs = mended(pieces)
        assert (json.loads(left), repairs) == (meant, said)


@law
@given(st.lists(st.sampled_from(PATTERNS), max_size=7).map("".join))
@example(r"\bfoo\b and \d+")
@example(r"\b")
def test_a_pattern_is_what_was_written(pattern: str) -> None:
    text = f'{{"p":"{pattern}"}}'
    is_foreign = any(one in pattern for one in (r"\d", r"\s", r"\w", r"\.", r"\)"))
    meant = pattern.replace(r"\n", "\n").replace(r"\"", '"')
    if not is_foreign:
        meant = meant.replace(r"\b", "\b").replace(r"\f", "\f")
    for pieces in in_pieces(text):
        made, whole, repairs = read(pieces)
        assert (whole, json.loads(made)["p"], repairs) == (True, meant, ["invalid_escape"] * is_foreign)
        left, said = mended(pieces)
        assert (json.loads(left)["p"], said) == (meant, ["invalid_escape"] * is_foreign)


@law
@given(
    st.dictionaries(texts, texts | st.lists(texts, max_size=2), max_size=3), st.lists(st.integers(0, 90), max_size=6)
)
@example({"a": "C:\temp\new", "b": "x:\b"}, [])
@example({"a": 'C:"}', "b": 'x\\y:"]'}, [])
def test_what_a_writer_wrote_is_read_as_it_is(value: dict[str, object], places: list[int]) -> None:
    text = without_drives(json.dumps(value))
    assert json.loads(text) == value
    assert read(cut(text, places)) == (text, True, [])


@law
@given(
    st.dictionaries(texts, texts | st.lists(texts, max_size=2), max_size=3), st.lists(st.integers(0, 90), max_size=6)
)
def test_sound_native_arguments_stay(value: dict[str, object], places: list[int]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert mended(cut(text, places)) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        r'{"p":"C:\\temp\nfoo"}',  # the first backslash is doubled
        r'{"p":"a:\n  b: 1\n"}',  # lines of text
        r'{"p":"A:\nYes\n"}',
        r'{"p":"C:\temp\n\nx"}',
        r'{"p":"C:\u0009emp"}',  # as a writer writes it
        r'{"p":"C:\temp\new?"}',  # what no path holds
        r'{"p":"x:\"y\", z"}',
        rf'{{"p":"C:\temp{"x" * MOST_PATH}"}}',
        rf'{{"p":"\b{"x" * 80}"}}',
    ],
)
def test_what_is_no_path_keeps_its_escapes(text: str) -> None:
    for size in (len(text), 1, 7):
        assert read([text[at : at + size] for at in range(0, len(text), size)]) == (text, True, [])


def test_so_much_is_held_and_no_more() -> None:
    reader = Transducer()
    assert reader.feed('{"p":"C:\\te') == ('{"p":"C:', 11)
    assert reader.undecided_from == 8
    assert reader.feed("mp?") == ("\\temp?", 3)
    assert reader.undecided_from is None
    long = Transducer()
    long.feed('{"p":"\\b')
    held = sum(not long.feed("x" * 100)[0] for _ in range(MOST_HELD // 100 + 2))
    assert held == MOST_HELD // 100
    assert long.feed('\\d \\b"}') == ('\\\\d \\\\b"}', 7)
    native = ValueMending(Held(), schema=None, json=True)
    assert native.feed('{"a": "x", "p": "y\\b') == '{"a": "x", "p": "y'
    assert native.feed('z", "q": 1') == '\\bz", "q": 1'
