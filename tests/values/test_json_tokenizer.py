"""json_tokenizer.py: marks, depth and strings: as the standard library reads them, and at every cut alike."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.growth import grows_with_its_input
from toolcalls.values.json_tokenizer import Marks, Nesting, StringText, decoded

any_text = st.text(alphabet=st.characters(exclude_categories=()))
values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
containers = st.lists(values, max_size=3) | st.dictionaries(any_text, values, max_size=3)
written = st.builds(
    json.dumps, containers, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 1]), separators=st.none()
)
damaged = st.lists(st.sampled_from([*"{}[]\"',:\\ua0 \n", "\\u", "\\ud83d", "\\ude00", '\\"', "\\\\"]), max_size=30)


def cuts(text: str) -> Iterator[list[str]]:
    """The text whole, at each cut in two, and in single characters."""
    yield [text]
    yield from ([text[:at], text[at:]] for at in range(1, len(text)))
    yield list(text)


def marks_in(pieces: list[str], within: str = "") -> list[int]:
    """The places of all marks."""
    marks, found, before = Marks("[]{},:", within), list[int](), 0
    for piece in pieces:
        at = 0
        while (at := marks.next(piece, at)) > 0:
            found.append(before + at - 1)
        before += len(piece)
    return found


def nested(pieces: list[str], **limit: Any) -> tuple[int, int, bool]:
    """Where the nesting stops, -1 for nowhere, how deep it is then, and whether in a string."""
    nesting, before = Nesting(**limit), 0
    for piece in pieces:
        at = nesting.feed(piece)
        if at >= 0:
            return before + at, nesting.depth, False
        before += len(piece)
    return -1, nesting.depth, nesting.in_string


def said(pieces: list[str]) -> tuple[str, int]:
    """What a string says as far as it came, and the offset after its closing quote."""
    string, text, before = StringText(), "", 0
    for piece in pieces:
        more, end = string.feed(piece)
        text += more
        if end >= 0:
            return text, before + end
        before += len(piece)
    return text, -1


def depth_of(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + max(map(depth_of, value.values() if isinstance(value, dict) else value), default=0)
    return 0


@given(written, st.sampled_from(["", " ", "}", '"', "{"]))
def test_the_first_container_ends_where_the_standard_library_says(text: str, behind: str) -> None:
    value, end = json.JSONDecoder().raw_decode(text)
    for pieces in cuts(text + behind):
        assert nested(pieces, to_close=True) == (end, 0, False)
    deepest = depth_of(value)
    assert nested([text], max_depth=deepest) == (-1, 0, False)
    at, depth, _ = nested([text], max_depth=deepest - 1)
    assert text[at] in "{["
    assert depth == deepest - 1


@given(written)
def test_marks_are_what_is_left_without_strings(text: str) -> None:
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: "-" * len(found[0]), text, flags=re.DOTALL)
    expected = [at for at, char in enumerate(bare) if char in "[]{},:"]
    for pieces in cuts(text):
        assert marks_in(pieces) == expected


@given(damaged.map("".join))
def test_what_is_no_json_has_the_same_marks_at_every_cut(text: str) -> None:
    for pieces in cuts(text):
        assert marks_in(pieces) == marks_in([text])
        assert marks_in(pieces, "'") == marks_in([text], "'")
        assert nested(pieces) == nested([text])
        assert nested(pieces, max_depth=1) == nested([text], max_depth=1)
        assert said(pieces) == said([text])


def test_characters_that_are_marks_within_strings_too() -> None:
    text = '<"a<\\<[<\\"<" <'
    assert marks_in([text], "<") == [3, 7, 10]
    marks = Marks("<", "<")
    assert (marks.next('<"<', 0), marks.quote) == (1, "")
    assert (marks.next('<"<', 1), marks.quote) == (3, '"')


def test_a_string_that_a_mark_opens() -> None:
    marks = Marks("'{")
    assert marks.next("'{\\'{\"'{", 0) == 1
    marks.quote = "'"
    assert marks.next("'{\\'{\"'{", 1) == 8


@given(any_text, st.booleans(), st.sampled_from(["", "x", '"']))
def test_a_string_says_what_the_standard_library_reads(text: str, ascii_only: bool, behind: str) -> None:
    content = json.dumps(text, ensure_ascii=ascii_only)[1:]
    for pieces in cuts(content + behind):
        found, end = said(pieces)
        assert found == json.loads(f'"{content}')
        assert end == len(content)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (r"a\d\x4", r"a\d\x4"), ("a\nb", "a\nb"), (r"\u12g4", r"\u12g4"), (r"\\d", r"\d"), (r"\'", r"\'"),
        (r"\ud83d\ude00", "\U0001f600"), (r"\ud83dx", "\ud83dx"), (r"\ud83d", "\ud83d"),
        (r"\ud83d\u12g", "\ud83d\\u12g"), (r"\ude00\ud83d", "\ude00\ud83d"), ("\\\n", "\\\n"),
    ],
)  # fmt: skip
def test_a_backslash_that_escapes_nothing_stands_for_itself(content: str, text: str) -> None:
    assert decoded(content) == text
    for pieces in cuts(content + '"'):
        assert said(pieces) == (text, len(content) + 1)


def test_half_a_character_waits_for_the_other_half() -> None:
    string = StringText()
    assert [string.feed(piece)[0] for piece in ("a\\", "ud8", "3d", "\\ud", "e00b")] == ["a", "", "", "", "\U0001f600b"]


@pytest.mark.parametrize("piece", ["plain text", "\\d", "\\ud83d", "\\\\", "{[", '{"a":'])
def test_work_grows_with_the_input(piece: str) -> None:
    def work(size: int) -> Callable[[], object]:
        pieces = [piece] * size
        return lambda: (said(pieces), nested(pieces), nested(["".join(pieces)]))

    grows_with_its_input(work, 3000)
