"""The dialects, case by case: `tests/cases/dialects/*.yaml`, each case read in every way that a reply can arrive.

Strategy: a case is read once as a whole text and compared with what its author wrote down. Then it is read again one
character at a time, cut in two at every place (of a long text, at every third), in chunks of 3 and 7, and through the
Chat wire: as one content delta with the bytes cut in two, as two deltas, and byte by byte. What the client receives is
decoded by `chatclient`, not by our own codec. Calls, text, verdicts, spans and repairs must be the same every time
(law 2).

Through the wire only some of the cuts are made, since the reader has seen them all and `test_wires.py` cuts the frames;
TESTS=deep makes every one.
"""

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from casefiles import CASES as FOLDER
from casefiles import Case, Written, canonical, dialect_cases, written_cases
from chatclient import stream
from dialectcases import WIRE, chunks, complete_calls, exchanged, outcome_of, read, single, whole
from toolcalls.dialects import all_dialects
from toolcalls.insight.vocabulary.reasons import REASONS
from toolcalls.reading.reader import Reader
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

DEEP = os.environ.get("TESTS") == "deep"
NAMES = tuple(all_dialects())
CASES = [pytest.param(case, id=f"{name}-{case.title}") for name in NAMES for case in dialect_cases(name)]
WRITTEN = [pytest.param(name, case, id=f"{name}-{case.title}") for name in NAMES for case in written_cases(name)]


def test_a_dialect_is_two_files() -> None:
    """Its grammar and its cases. Only those that have both are tested at all."""
    assert [path.stem for path in sorted((FOLDER / "dialects").glob("*.yaml"))] == sorted(NAMES)


def halves(at: int) -> Callable[[bytes], Iterable[bytes]]:
    return lambda body: (body[:at], body[at:])


@pytest.mark.parametrize("case", CASES)
def test_a_case_comes_out_as_its_author_says(case: Case) -> None:
    shown, calls, verdicts, reasoning = read(case, [case.text])
    assert shown == case.shown
    assert reasoning == case.reasoning
    assert [(name, arguments if exact else canonical(arguments)) for (name, arguments), (_, _, exact) in zip(
        calls, case.calls, strict=True
    )] == [(name, arguments) for name, arguments, _ in case.calls]  # fmt: skip
    found = tuple((verdict.status, verdict.reason, verdict.dialect, verdict.name) for verdict in verdicts)
    assert found == case.verdicts
    assert tuple(repair for verdict in verdicts for repair in verdict.repairs) == case.repairs


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_same_however_the_text_is_cut(case: Case) -> None:
    expected = read(case, [case.text])
    for size in (1, 3, 7):
        assert read(case, chunks(case.text, size)) == expected, f"chunks of {size}"
    for at in range(1, len(case.text), 1 if DEEP or len(case.text) < 200 else 3):
        assert read(case, [case.text[:at], case.text[at:]]) == expected, f"cut at {at}"


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_same_through_the_wire(case: Case) -> None:
    expected = read(case, [case.text])
    body = stream([case.text], None if case.finish == "broken" else case.finish)
    first, last = (0, len(body)) if DEEP else (len(stream([], None)), len(stream([case.text], None)))
    # The reader has seen every cut; the frames need not see them all in each of a thousand cases.
    for at in range(first, last + 1, 1 if DEEP else 13):
        assert outcome_of(case, body, halves(at)) == expected, f"bytes cut at {at}"
    assert outcome_of(case, body, single) == expected
    for at in range(1, len(case.text), 1 if DEEP else 5):
        assert exchanged(case, [case.text[:at], case.text[at:]], whole) == expected, f"deltas cut at {at}"
    for size, cuts in ((1, whole), (3, whole), (7, single)):
        assert exchanged(case, chunks(case.text, size), cuts) == expected, f"deltas of {size}"


@pytest.mark.parametrize("case", CASES)
def test_every_reason_is_a_word_of_the_policy(case: Case) -> None:
    for _, reason, dialect, _ in case.verdicts:
        assert reason is None or reason in REASONS
        assert dialect in all_dialects() or (dialect is None and reason in {"invented_result", "dropped_result"})


@pytest.mark.parametrize(("name", "case"), WRITTEN)
def test_calls_are_written_as_their_author_says(name: str, case: Written) -> None:
    request = WIRE.request(json.dumps({"messages": [], "tools": case.tools}).encode())
    tools = Toolbox(request.tools)
    calls = [Call(*call) for call in case.calls]
    if case.refused is not None:
        with pytest.raises(Unwritable) as refusal:
            write(name, calls, tools)
        assert case.refused in str(refusal.value)
        return
    text = write(name, calls, tools)
    assert text == case.text
    lenient: dict[str, Any] = {"policy": "lenient", "dialects": (name,)}
    call_policy, _ = call_policy_of(
        Route(client="native", upstream="text", **lenient), request, decide(Route(), request, {}, ())
    )
    reader = Reader(call_policy, tools=tools)
    back = list(complete_calls([*reader.feed(text), *reader.finish(cut=False)]))
    assert [(called, canonical(arguments)) for called, arguments in back] == [
        (called, canonical(arguments)) for called, arguments in case.calls
    ]
