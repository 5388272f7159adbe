"""A session's turns as a waterfall, and the pages of a long session."""

import re

import pytest

from support.turns import turn, verdict
from toolcalls.insight.page import PAGE, PAGE_TURNS, live_overview, live_session, live_turn
from toolcalls.insight.replies import Moments
from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import Turn
from toolcalls.insight.waterfall import ROWS, phases, waterfall

WHOLE = Moments(first_byte=500_000, first_argument=1_000_000, call_complete=1_500_000, end=2_000_000)


def _timed(id_: str, started: float, moments: Moments = WHOLE) -> Turn:
    return turn(id_, started=started, moments=moments, replied=0.5, ended=None)


@pytest.mark.parametrize(
    ("moments", "parts"),
    [
        (WHOLE, [("waiting", 0, 1), ("streaming", 1, 1.5), ("calling", 1.5, 2), ("closing", 2, 2.5)]),
        (Moments(first_byte=500_000, end=2_000_000), [("waiting", 0, 1), ("streaming", 1, 2.5)]),
        (Moments(end=2_000_000), [("waiting", 0, 2.5)]),
        (Moments(first_byte=0, first_argument=0, end=500_000), [("waiting", 0, 0.5), ("calling", 0.5, 1)]),
        (Moments(), []),
    ],
)
def test_the_parts_of_a_reply(moments: Moments, parts: list[tuple[str, float, float]]) -> None:
    assert phases(_timed("a", 0, moments)) == parts


def _bars(drawn: str) -> list[tuple[str, float, int, float]]:
    found = re.findall(r'<rect class="(\w+)" x="([\d.]+)" y="(\d+)" width="([\d.]+)"', drawn)
    return [(kind, float(x), int(y), float(width)) for kind, x, y, width in found]


def test_each_turn_has_a_row_and_behind_it_what_the_tools_took() -> None:
    drawn = waterfall([_timed("a", 10.0), _timed("b", 17.5)])  # 2.5 s, 5 s of tools, 2.5 s
    reply = [("waiting", 0.0, 100.0), ("streaming", 100.0, 50.0), ("calling", 150.0, 50.0), ("closing", 200.0, 50.0)]
    assert _bars(drawn) == [
        *((kind, x, 0, width) for kind, x, width in reply),
        ("tools", 250.0, 0, 500.0),
        *((kind, 750 + x, 9, width) for kind, x, width in reply),
    ]
    said = "first byte 1.00 s, first argument byte 1.50 s, call complete 2.00 s, end 2.50 s"
    assert f"<title>Turn 1: {said}; then 5.00 s of the agent and its tools</title>" in drawn
    assert "<details open><summary>Waterfall, turns 1 to 2</summary>" in drawn
    assert "<span>10 s</span>" in drawn


def test_a_long_pause_is_drawn_shorter_and_said() -> None:
    drawn = waterfall([_timed("a", 0.0), _timed("b", 3602.5)])
    tools = next(bar for bar in _bars(drawn) if bar[0] == "tools")
    assert tools[3] == pytest.approx(1000 * 30 / 35, abs=0.1)
    assert "1 pause longer than 30 s is drawn so long" in drawn
    assert "then 60 min" in drawn or "then 1 h" in drawn


def test_requests_that_overlap_have_no_pause() -> None:
    assert {kind for kind, *_ in _bars(waterfall([_timed("a", 0.0), _timed("b", 1.0)]))} == {
        *("waiting", "streaming", "calling", "closing")
    }


@pytest.mark.parametrize("turns", [[], [_timed("a", 0.0)], [_timed("a", 0.0, Moments()), _timed("b", 9.0, Moments())]])
def test_without_times_or_with_one_turn_nothing_is_drawn(turns: list[Turn]) -> None:
    made = [turn(one.id, started=one.started) for one in turns] if len(turns) == 2 else turns
    assert waterfall(made) == ""


def test_a_drawing_is_bounded() -> None:
    drawn = waterfall([_timed(str(number), 3.0 * number) for number in range(3 * ROWS)], 200)
    assert drawn.count("<g>") == ROWS
    assert "<details><summary>Waterfall, turns 201 to 300</summary>" in drawn
    assert "<title>Turn 201: " in drawn


# --- the pages of a session -------------------------------------------------------------------------------------------


def _long(count: int) -> Sessions:
    sessions = Sessions()
    for number in range(count):
        sessions.put(_timed(f"t{number:05}", 3.0 * number))
    return sessions


@pytest.mark.parametrize(
    ("page", "first", "shown", "said"),
    [
        (None, 201, 50, "turns 201 to 250 of 250"),
        (1, 1, 100, "turns 1 to 100 of 250"),
        (2, 101, 100, "turns 101 to 200 of 250"),
        (0, 1, 100, "turns 1 to 100 of 250"),
        (99, 201, 50, "turns 201 to 250 of 250"),
    ],
)
def test_a_long_session_has_pages(page: int | None, first: int, shown: int, said: str) -> None:
    blocks = live_session(_long(250).one("s"), page=page)
    turns = [block.html for block in blocks if block.html.startswith("<li")]
    assert len(turns) == shown
    assert turns[0].startswith(f'<li id="s-t{first}"')
    (pages,) = [block.html for block in blocks if block.key == "pages"]
    assert said in pages
    assert ("« first" in pages, "latest »" in pages) == (first > 1, first < 201)
    assert f"Waterfall, turns {first} to {first + shown - 1}" in "".join(block.html for block in blocks)


def test_what_one_page_of_a_session_costs_does_not_grow_with_it() -> None:
    sizes = [sum(len(block.html) for block in live_session(_long(count).one("s"), page=2)) for count in (300, 3000)]
    head = max(len(block.html) for block in live_session(_long(3000).one("s")) if block.key == "head")
    assert sizes[1] < sizes[0] + head


def test_a_short_session_has_no_pages_and_a_turn_says_on_which_it_stands() -> None:
    assert all(block.key != "pages" for block in live_session(_long(PAGE_TURNS).one("s")))
    sessions = _long(250)
    assert live_turn(sessions, "t00000") == "/toolcalls/session?id=s&page=1#s-t1"
    assert live_turn(sessions, "t00150") == "/toolcalls/session?id=s&page=2#s-t151"
    assert live_turn(sessions, "other") == PAGE


@pytest.mark.parametrize(("outcome", "badge"), [("leak", False), ("decline", True)])
def test_a_session_with_a_leak_does_not_say_declined(outcome: str, badge: bool) -> None:
    """It is the same thing twice, and the second word plays it down."""
    sessions = Sessions()
    sessions.put(turn(verdicts=(verdict("declined", outcome, reason="fenced"),), worst="declined"))
    (listed,) = [one.html for one in live_overview(sessions) if one.key == "sessions"]
    (shown,) = [one.html for one in live_session(sessions.one("s")) if one.html.startswith("<li")]
    for html in (listed, shown.partition("</h3>")[0]):
        assert ('<span class="badge declined">' in html) == badge
        assert ('<span class="badge leak"' in html) != badge
