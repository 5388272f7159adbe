"""What the scanner keeps of the text that was consumed (`text/scanner.py`): one string, in whatever pieces it came."""

from hypothesis import given
from hypothesis import strategies as st

from toolcalls.text.scanner import Scanner


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
