"""A candidate's held text beside the request (`reading/echo_watch.py`), piece by piece, up to what may be held."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.reading.echo_watch import watched
from toolcalls.text.echo import EchoIndex
from toolcalls.text.scanner import Scanner

SAID = 'It says <run>{"a": 1}</run> and more, and <run>{"b": 2}</run> too.'


def scanner(text: str = "") -> Scanner:
    scan = Scanner()
    take(scan, text)
    return scan


def take(scan: Scanner, text: str) -> None:
    scan.feed(text)
    scan.take(len(text))


@given(st.sampled_from(['<run>{"a": 1}</run> and', '<run>{"b": 2}</run> too.', '<run>{"b": 1}', "<run>x"]), st.data())
def test_it_matches_as_long_as_all_of_it_stands_in_the_request(text: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(5, len(text)))
    scan = scanner(f"Hi. {text[:first]}")
    watch = watched(scan, EchoIndex((SAID,)), 4, 1000)
    if text[:first] not in SAID:
        assert watch is None or not watch.matches()
        return
    assert watch is not None
    at = first
    while at < len(text):
        size = data.draw(st.integers(1, 5))
        take(scan, text[at : at + size])
        at += size
        assert watch.matches() == (text[:at] in SAID)
        assert watch.matched == (text[:at] in SAID)
        assert watch.matches() == watch.matched  # each piece is compared once
        assert not watch.matches_to_limit()


def test_what_differed_once_is_no_echo_any_more() -> None:
    scan = scanner("<run>")
    watch = watched(scan, EchoIndex((SAID,)), 0, 1000)
    assert watch is not None
    take(scan, "x")
    assert not watch.matches()
    assert not watch.matched
    assert not watch.matches()


def test_nothing_is_watched_that_the_request_does_not_hold() -> None:
    assert watched(scanner("<run>x"), EchoIndex((SAID,)), 0, 1000) is None
    assert watched(scanner("<run>"), EchoIndex(()), 0, 1000) is None


@pytest.mark.parametrize("pieces", [["<run>", '{"a"', ": 1", "}<"], ["<run>", '{"a": 1}<'], ['<run>{"a": 1}<']])
@pytest.mark.parametrize(("limit", "reached"), [(12, True), (13, True), (14, False), (15, False)])
def test_an_echo_is_one_when_more_than_may_be_held_of_it_matches(pieces: list[str], limit: int, reached: bool) -> None:
    scan = scanner(pieces[0])
    watch = watched(scan, EchoIndex((SAID,)), 0, limit)
    assert watch is not None
    for piece in pieces[1:]:
        take(scan, piece)
    assert watch.matches_to_limit() == reached


@pytest.mark.parametrize("pieces", [["<run>", "{", "xyz"], ["<run>{x", "yz"], ["<run>{xyz"]])
def test_what_goes_past_the_limit_does_not_count(pieces: list[str]) -> None:
    for limit, echo in ((6, True), (7, False)):
        scan = scanner(pieces[0])
        watch = watched(scan, EchoIndex((SAID,)), 0, limit)
        for piece in pieces[1:]:
            take(scan, piece)
        assert (watch is not None and watch.matches()) == echo
        assert (watch is not None and watch.matches_to_limit()) == echo
