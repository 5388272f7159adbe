"""The list of sessions, which is rendered again after each reply."""

import pytest

from support.turns import turn
from toolcalls.insight import page
from toolcalls.insight.sessions import Sessions
from toolcalls.route import Price


def _listed(sessions: Sessions, prices: tuple[Price, ...] = ()) -> str:
    return next(block.html for block in page.live_overview(sessions, prices) if block.key == "sessions")


def test_only_sessions_that_changed_are_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions()
    for number in range(3):
        sessions.put(turn(f"t{number}", session=f"s{number}", model=f"model-{number}"))
    first = _listed(sessions)
    rendered = []
    row = page._session_row
    monkeypatch.setattr(page, "_session_row", lambda one, *more: rendered.append(one.id) or row(one, *more))
    assert _listed(sessions) == first
    assert rendered == []
    sessions.put(turn("t3", session="s1", model="model-new"))
    assert "model-1, model-new" in _listed(sessions)
    assert rendered == ["s1"]
    sessions.put(turn("t3", session="s1", model="model-newer"))
    assert "model-1, model-newer" in _listed(sessions)


def test_other_prices_are_other_rows() -> None:
    sessions = Sessions()
    sessions.put(turn("t", session="s", model="m"))
    assert 'data-name="cost"' not in _listed(sessions)
    assert 'data-name="cost"' in _listed(sessions, (Price("m", 1.0, 2.0),))
    assert 'data-name="cost"' not in _listed(sessions)
