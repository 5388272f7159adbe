"""The ends of a text that arrives in pieces (`text/text_ends.py`): the same however it was cut, and bounded."""

import random

import pytest

from toolcalls.text.text_ends import FIRST, LAST, TextEnds, place_in

SIZES = (0, 1, 1000, FIRST, FIRST + LAST - 1, FIRST + LAST, FIRST + LAST + 1, 3 * LAST, 500_000)


def text_of(size: int) -> str:
    chosen = random.Random(size)
    return "".join(chosen.choice("abc def\n") for _ in range(size))


def ends_of(text: str, longest: int) -> TextEnds:
    chosen, ends, at = random.Random(longest), TextEnds(), 0
    while at < len(text):
        size = chosen.randint(1, longest)
        ends.add(text[at : at + size])
        at += size
    return ends


@pytest.mark.parametrize("size", SIZES)
def test_how_a_text_is_cut_makes_no_difference(size: int) -> None:
    text = text_of(size)
    made = [list(ends_of(text, longest).parts()) for longest in (size + 1, 7, 5000)]
    assert made[0] == made[1] == made[2]
    assert all(text[part.at :].startswith(part.text) for part in made[0])
    assert "".join(part.text for part in made[0]) == (text if size <= FIRST + LAST else text[:FIRST] + text[-LAST:])


@pytest.mark.parametrize("size", SIZES)
def test_each_place_is_in_its_line(size: int) -> None:
    text = text_of(size)
    for part in ends_of(text, 900).parts():
        for at in {part.at, part.at + len(part.text) // 2, part.at + max(0, len(part.text) - 1)}:
            begin = text.rfind("\n", 0, at) + 1
            assert place_in(part, at) == (text.count("\n", 0, at) + 1, at - begin + 1)


def test_what_is_kept_is_bounded() -> None:
    ends = TextEnds()
    for _ in range(100_000):
        ends.add("a few words\n")
    assert ends.size == 1_200_000
    assert sum(len(part.text) for part in ends.parts()) == FIRST + LAST
    assert sum(map(len, ends._last)) < LAST + 100
