"""The wires that carry calls, case by case: `tests/cases/wires/*.yaml`. What the upstream sends, what the client gets.

Strategy: a case's reply is built in each form of its wire, sent through an exchange, and read by the strict client of
the wire. Then the same bytes are cut in two, the kind of places where streams really break, and sent one by one; and
the same reply is sent as one body. Text, calls, finish reason and verdicts must be what the case says each time.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from support.casefiles import CaseFile, case_file
from support.casereports import no_mistakes
from support.exchanges import run, same_wherever_it_is_cut
from support.wirecases import ALSO_SENT, FILES, SENT, WHOLE, Sent


def cases(table: Mapping[str, Sent]) -> Any:
    return pytest.mark.parametrize(
        ("sent", "case"),
        [
            pytest.param(sent, case, id=f"{name}: {case['title']}")
            for name, sent in table.items()
            for case in sent.cases
        ],
    )


@pytest.mark.parametrize("file", [pytest.param(case_file("wires", name), id=name) for name in FILES])
def test_a_file_has_the_format(file: CaseFile) -> None:
    """A case with a mistake fails here, and in no other test."""
    no_mistakes(file)


@pytest.mark.whole
@cases({**SENT, **ALSO_SENT})
def test_a_client_receives_what_the_author_says(sent: Sent, case: dict[str, Any]) -> None:
    exchange, body = sent.exchange(case), sent.body(case)
    out = run(exchange, [body])
    sent.check(case, out, exchange)
    assert (out == body) == (case.get("same", False) is True)


@cases(SENT)
def test_it_is_the_same_wherever_the_bytes_are_cut(sent: Sent, case: dict[str, Any]) -> None:
    same_wherever_it_is_cut(lambda: sent.exchange(case), sent.body(case), step=sent.step, seen=sent.seen)


@cases(WHOLE)
def test_a_whole_reply_is_the_same(sent: Sent, case: dict[str, Any]) -> None:
    exchange, body = sent.exchange(case), sent.body(case)
    out = run(exchange, [body[:40], body[40:]])
    case = {**case, **case.get("in_whole", {})}
    sent.check(case, out, exchange)
    assert (out == body) == bool(case.get("same", False))
