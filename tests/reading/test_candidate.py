"""What is known of one call while its arguments come (`reading/candidate.py`)."""

import pytest

from toolcalls.events import Reason
from toolcalls.reading.candidate import Candidate


def candidate(json: str = "") -> Candidate:
    found = Candidate("invoke", "t", 3, 100)
    found.nesting.feed(json)
    found.pieces.append(json)
    found.size = len(json)
    return found


@pytest.mark.parametrize(
    ("json", "between"),
    [
        ("", False), ("{", True), ('{"a"', True), ('{"a": "x', False), ('{"a": "x"', True), ('{"a": "x", ', True),
        ('{"a": [1', False), ('{"a": [1]', True), ('{"a": {"b": 1', False), ('{"a": 1}', True),
    ],
)  # fmt: skip
def test_whether_an_argument_is_open(json: str, between: bool) -> None:
    found = candidate(json)
    assert found.between_arguments == between
    found.collected = 1  # its grammar keeps some of one
    assert not found.between_arguments


@pytest.mark.parametrize(
    ("json", "begun"),
    [
        ("", False), ("{", False), ('{"a"', False), ('{"a":', False), ('{"a": \n', False), ('{"a": 1', True),
        (' { "a\\"b" : "', True), ('{"' + "a" * 250, False), ('{"' + "a" * 260, True), ("{}", False),
    ],
)  # fmt: skip
def test_whether_its_first_value_has_begun(json: str, begun: bool) -> None:
    assert candidate(json).has_value == begun


@pytest.mark.parametrize("index", [None, 2])
@pytest.mark.parametrize(
    ("reason", "status", "committed"),
    [
        (None, "lifted", "lifted"), ("unclosed", "truncated", "truncated"), ("cut_off", "truncated", "truncated"),
        ("max_call_chars", "declined", "truncated"), ("max_depth", "declined", "truncated"),
        ("overflow", "declined", "truncated"), ("not_a_call", "malformed", "malformed"),
        ("bad_arguments", "malformed", "malformed"), ("fenced", "declined", "declined"),
        ("echo", "declined", "declined"),
    ],
)  # fmt: skip
def test_what_became_of_it(reason: Reason | None, status: str, committed: str, index: int | None) -> None:
    found = candidate()
    found.reason, found.index, found.end = reason, index, 9
    found.repairs.append("name")
    verdict = found.verdict()
    assert verdict.status == (status if index is None else committed)
    said = (verdict.reason, verdict.dialect, verdict.name, verdict.start, verdict.end, verdict.repairs, verdict.index)
    assert said == (reason, "invoke", "t", 3, 9, ("name",), index)


def test_without_what_it_is_compared_with_it_is_no_echo() -> None:
    found = candidate("{}")
    assert [found.may_echo, found.echoes(), found.echoes_to_limit()] == [False] * 3
