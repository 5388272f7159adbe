"""What the scanner keeps of the text that was consumed, and what it finds ahead (`text/scanner.py`).

Both are the same in whatever pieces the text came, and what is found is found as soon as it is there.
"""

import re
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from toolcalls.text.scanner import Scanner, Step


@given(st.lists(st.text("ab", min_size=1, max_size=4), max_size=6), st.integers(0, 20), st.integers(0, 20))
def test_what_was_consumed_is_drained_from_its_front(pieces: list[str], size: int, start: int) -> None:
    scan, whole = Scanner(), "".join(pieces)
    for piece in pieces:
        scan.feed(piece)
        scan.take(len(piece))
    assert scan.taken_from(start) == whole[start:]
    assert scan.drain(size) == whole[:size]
    assert scan.taken_size == len(whole[size:])
    assert scan.taken_from(start) == whole[size:][start:]
    assert scan.weight() == len(whole[size:])
    assert all(scan.taken)
    assert scan.drain() == whole[size:]
    assert not scan.taken
    assert not scan.taken_size


_pieces = st.lists(st.text("ab<>", min_size=1, max_size=4), min_size=1, max_size=6)


def answer[T](pieces: list[str], ask: Callable[[Scanner], Step[T]]) -> tuple[T, int]:
    """What a step returns that reads these pieces, and how many of them it needed."""
    scan = Scanner()
    step = ask(scan)
    for number, piece in enumerate([*pieces, None]):
        if piece is None:
            scan.end(cut=False)
        else:
            scan.feed(piece)
        try:
            next(step)
        except StopIteration as done:
            return done.value, number
    raise AssertionError("it waits for more than the end")


@given(_pieces, st.integers(0, 6), st.integers(0, 12))
def test_a_literal_is_found_ahead(pieces: list[str], ahead: int, limit: int) -> None:
    whole = "".join(pieces)
    found, needed = answer(pieces, lambda scan: scan.find("<a>", ahead, limit))
    assert found == whole.find("<a>", ahead, limit)
    assert found < 0 or len("".join(pieces[:needed])) < found + 3


@given(_pieces, st.integers(0, 6), st.integers(0, 12))
def test_a_pattern_is_found_ahead(pieces: list[str], ahead: int, limit: int) -> None:
    pattern = re.compile("<[ab]>|>>")
    expected = pattern.search("".join(pieces), ahead, limit)
    found, _ = answer(pieces, lambda scan: scan.search(pattern, ahead, limit, 3))
    assert (found and found.span()) == (expected and expected.span())


@given(_pieces, st.integers(0, 6), st.integers(1, 6))
def test_a_pattern_matches_ahead(pieces: list[str], ahead: int, longest: int) -> None:
    whole, part = re.compile("<a*>"), re.compile("(?:<a*)?")
    expected = whole.match("".join(pieces), ahead, ahead + longest)
    found, needed = answer(pieces, lambda scan: scan.match(whole, part, ahead, longest))
    assert (found and found.span()) == (expected and expected.span())
    assert found is None or len("".join(pieces[:needed])) < found.end()


@given(st.text("ab<", max_size=8))
def test_half_a_literal_at_the_end(text: str) -> None:
    scan = Scanner()
    scan.feed(text)
    sizes = [size for size in range(4) if text.endswith("<a<b"[:size])]
    assert scan.half("<a<b") == max(sizes)
