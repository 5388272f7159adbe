"""The sum of a run: replies, calls by status, why not, and requests that failed."""

from typing import Any

from mitmproxy.flow import Error
from mitmproxy.test import tflow, tutils

from toolcalls.mitm.run_totals import RunTotals


def verdict(status: str, reason: str | None = None, repairs: list[str] | None = None) -> dict[str, Any]:
    return {"status": status, "reason": reason, "repairs": repairs or []}


def report(verdicts: list[dict[str, Any]], *notes: str) -> dict[str, Any]:
    return {"verdicts": verdicts, "notes": [{"rule": note, "text": "…", "warns": True} for note in notes]}


def test_nothing_came() -> None:
    assert list(RunTotals().lines()) == []


def test_replies_and_their_calls() -> None:
    totals = RunTotals()
    totals.add(report([]))
    totals.add(report([verdict("lifted"), verdict("lifted", None, ["quotes"]), verdict("native", None, ["ids"])]))
    totals.add(report([verdict("declined", "fenced")]))
    assert list(totals.lines()) == [
        "toolcalls: in total: 3 replies; calls: 2 lifted, 1 native, 1 declined, 1 mended",
        "toolcalls: in total: 1 declined: fenced: it is in a fenced code block; "
        "it is accepted if the route has take: [fenced]",
    ]


def test_what_was_possibly_lost_is_apart() -> None:
    totals = RunTotals()
    totals.add(report([{**verdict("declined", "fenced"), "likely_meant": True}]))
    totals.add(report([], "unknown_form", "loop"))
    totals.add(report([], "announced"))
    totals.add(report([], "announced"))
    said = list(totals.lines())
    assert said[0] == "toolcalls: in total: 4 replies; calls: 4 possibly lost"
    assert said[1].startswith("toolcalls: in total: 2 possibly lost: announced: the text ends with words that ")
    assert said[2].startswith("toolcalls: in total: 1 possibly lost: fenced: it is in a fenced code block; ")
    assert said[3].startswith("toolcalls: in total: 1 possibly lost: unknown_form: ")
    assert "toolcalls dialect draft" in said[3]
    assert len(said) == 4


def test_requests_that_failed() -> None:
    totals = RunTotals()
    for status in (200, 401, 401):
        totals.ended(tflow.tflow(resp=tutils.tresp(status_code=status)))
    broken = tflow.tflow(req=tutils.treq(host="models.test"))
    broken.error = Error("Name or service not known\x1b[2J sk-0123456789abcdef0123456789")
    totals.ended(broken)
    (line,) = totals.lines()
    assert line.startswith(
        "toolcalls: in total: 3 requests failed: 2 with status 401, 1 with no reply from models.test (Name"
    )
    assert "\x1b" not in line
    assert "0123456789abcdef" not in line


def test_kinds_of_failures_are_bounded() -> None:
    totals = RunTotals()
    for number in range(1000):
        totals.ended(tflow.tflow(req=tutils.treq(host=f"host-{number}.test")))
    assert len(totals._failed) == 201
    (line,) = totals.lines()
    assert line.startswith("toolcalls: in total: 1,000 requests failed: 800 with other failures, ")
