"""The forms of a text of a request are made once, and a bounded number is kept."""

import pytest

from toolcalls.text import request_text
from toolcalls.text.request_text import RequestText


def test_forms_are_made_once_for_all_requests_that_repeat_a_text() -> None:
    text = 'it says "\\u0041" and\n12: {"a": "&lt;b&gt;"}, which no other test says'
    first, second = RequestText(text), RequestText(f"{text} "[:-1])
    assert first.variants is second.variants
    assert first.readings is second.readings
    assert any('it says "A" and' in variant for variant in first.variants)


def test_what_was_asked_for_last_is_remembered_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_text, "_REMEMBERED", 20)
    made: list[str] = []
    remembered = request_text._Remembered(lambda text: made.append(text) or [text, text])
    for text in ("aaa", "bbb", "aaa"):  # 9 characters each, with what is made
        assert remembered(text) == (text, text)
    remembered("ccc")  # from here on, the first two are those of before
    remembered("aaa")
    assert made == ["aaa", "bbb", "ccc"]
    remembered("ddd")  # and now these two
    for text in ("ccc", "aaa"):
        remembered(text)
    assert made == ["aaa", "bbb", "ccc", "ddd"]
    remembered("bbb")
    assert made[4:] == ["bbb"]
    for _ in range(2):
        remembered("this is too long")
    assert made[5:] == ["this is too long"] * 2
