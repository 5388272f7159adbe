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
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest

from casefiles import CASES as FOLDER
from casefiles import Case, Written, canonical, dialect_cases, written_cases
from chatclient import received, stream
from toolcalls.dialects import all_dialects
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Reasoning, Text, Verdict
from toolcalls.insight.vocabulary.reasons import REASONS
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.evidence import Decision, call_policy_of, decide
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import write

DEEP = os.environ.get("TESTS") == "deep"
WIRE = all_wires()["openai_chat"]
NAMES = tuple(all_dialects())
CASES = [pytest.param(case, id=f"{name}-{case.title}") for name in NAMES for case in dialect_cases(name)]
WRITTEN = [pytest.param(name, case, id=f"{name}-{case.title}") for name in NAMES for case in written_cases(name)]


def test_a_dialect_is_two_files() -> None:
    """Its grammar and its cases. Only those that have both are tested at all."""
    assert [path.stem for path in sorted((FOLDER / "dialects").glob("*.yaml"))] == sorted(NAMES)


class Outcome(NamedTuple):
    """What a reply came to. `calls` are the complete ones, with their argument JSON as text."""

    shown: str
    calls: tuple[tuple[str, str], ...]
    verdicts: tuple[Verdict, ...]
    reasoning: str = ""


class Same:
    """A case as a key: one that is the same object, as cases hold what has no hash."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.case is self.case

    def __hash__(self) -> int:
        return id(self.case)


def request_of(case: Case) -> Request:
    return WIRE.request(json.dumps(case.request).encode())


@cache
def planned(case: Same) -> tuple[Decision, CallPolicy, Toolbox]:
    """What is decided on a case's request. It is read hundreds of times, and none of this changes by that."""
    request = request_of(case.case)
    decision = decide(case.case.route, request, {}, ())
    return decision, *call_policy_of(case.case.route, request, decision)


def reader_for(case: Case) -> Reader:
    _, call_policy, tools = planned(Same(case))
    return Reader(call_policy, tools=tools)


def read(case: Case, pieces: Iterable[str]) -> Outcome:
    """The case's text through the reader; everything that law 3 says is checked on the way."""
    reader = reader_for(case)
    events: list[Event] = []
    for piece in pieces:
        events.extend(reader.feed(piece))
    events.extend(reader.finish(cut=case.finish != "stop"))
    whole = "".join(event.text for event in events if isinstance(event, Text | Markup))
    assert whole == case.text, "text was lost, added or moved"
    return Outcome(
        "".join(event.text for event in events if isinstance(event, Text)),
        tuple(complete_calls(events)),
        tuple(event for event in events if isinstance(event, Verdict)),
        "".join(event.text for event in events if isinstance(event, Reasoning)),
    )


def complete_calls(events: Sequence[Event]) -> Iterable[tuple[str, str]]:
    """The complete calls among events, in document order."""
    for start in (event for event in events if isinstance(event, CallStart)):
        if any(isinstance(event, CallEnd) and event.index == start.index for event in events):
            pieces = (event.json for event in events if isinstance(event, CallPiece) and event.index == start.index)
            yield start.name, "".join(pieces)


def chunks(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def exchanged(case: Case, pieces: Sequence[str], cuts: Callable[[bytes], Iterable[bytes]]) -> Outcome:
    """The case's text through the Chat wire, `pieces` as content deltas, the body cut as `cuts` says."""
    return outcome_of(case, stream(pieces, None if case.finish == "broken" else case.finish), cuts)


def outcome_of(case: Case, body: bytes, cuts: Callable[[bytes], Iterable[bytes]]) -> Outcome:
    decision, call_policy, tools = planned(Same(case))
    exchange = Exchange(WIRE, call_policy, decision, tools, form="sse")
    out = b"".join([exchange.feed(part) for part in cuts(body)])
    out += exchange.abort() if case.finish == "broken" else exchange.close()
    assert exchange.failure is None, repr(exchange.failure)
    verdicts = tuple(verdict for _, verdict in exchange.verdicts)
    choice = received(out, ends=case.finish != "broken").choices[0]
    if case.shown == case.text:
        assert out == body, "nothing was lifted, yet the bytes changed"
    whole = [record for _, record in exchange.client_calls if record.complete]
    open_ = [record for _, record in exchange.client_calls if not record.complete]
    assert [(call["name"], call["arguments"]) for call in choice.calls] == [
        (record.name, record.arguments) for _, record in exchange.client_calls
    ]
    expected = "length" if open_ and case.finish == "stop" else "tool_calls" if whole else "stop"
    if case.finish != "broken":
        assert choice.finish == ("length" if case.finish == "length" else expected)
    calls = tuple((record.name, record.arguments) for record in whole)
    return Outcome(choice.text, calls, verdicts, choice.reasoning)


def whole(body: bytes) -> Iterable[bytes]:
    yield body


def single(body: bytes) -> Iterable[bytes]:
    return (body[at : at + 1] for at in range(len(body)))


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
