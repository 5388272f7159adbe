"""The dialects, case by case: `tests/cases/dialects/*.yaml`, each case read in every way that a reply can arrive.

Strategy: a case is read once as a whole text and compared with what its author wrote down. Then it is read again one
character at a time, in pieces of 11 so that each place is a cut, in two (at every eighth place; each case begins at
another), and through the Chat wire: as one content delta with the bytes cut in two, as two deltas, and byte by byte.
What the client receives is decoded by `chatclient`, not by our own codec. Calls, text, verdicts, spans and repairs must
be the same every time (law 2).

Through the wire only some of the cuts are made, since the reader has seen them all and `wires/test_cases.py`
cuts the frames; TESTS=deep makes every one.

A sampled run (`make test`) reads each case as a whole, cuts some cases of each dialect, and those at fewer places.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from zlib import crc32

import pytest

from support.casefiles import CASES as FOLDER
from support.casefiles import Case, CaseFile, Written, canonical, case_file, dialect_cases, written_cases
from support.casereports import no_mistakes
from support.chatclient import stream
from support.dialectcases import WIRE, chunks, comparable, exchanged, read, read_back, single, whole
from support.exchanges import in_pieces
from support.sampling import DEEP, a_few, some
from toolcalls.dialects import all_dialects
from toolcalls.flows.cases.dialect_cases import pieces
from toolcalls.insight.vocabulary.words import REASONS
from toolcalls.requests.conversation import request_of
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

NAMES = tuple(all_dialects())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each case of each dialect. With `--case`, only the files that it names are read, which takes a second less."""
    asked = {one.partition(":")[0] for one in metafunc.config.getoption("case")}
    names = [name for name in NAMES if not asked or f"tests/cases/dialects/{name}.yaml" in asked]
    rows: list[tuple[str, Any]] = []
    if "file" in metafunc.fixturenames:
        metafunc.parametrize("file", [case_file("dialects", name) for name in names], ids=names)
    elif "written" in metafunc.fixturenames:
        rows = [(name, case) for name in names for case in written_cases(name)]
        metafunc.parametrize(("name", "written"), rows, ids=[f"{name}-{case.title}" for name, case in rows])
    elif "case" in metafunc.fixturenames:
        rows = [(name, case) for name in names for case in dialect_cases(name)]
        ids = [f"{name}-{case.title}" for name, case in rows]
        if "name" in metafunc.fixturenames:
            metafunc.parametrize(("name", "case"), rows, ids=ids)
        else:
            metafunc.parametrize("case", [case for _, case in rows], ids=ids)


def test_a_dialect_is_two_files() -> None:
    """Its grammar and its cases. Only those that have both are tested at all."""
    assert [path.stem for path in sorted((FOLDER / "dialects").glob("*.yaml"))] == sorted(NAMES)


@pytest.mark.whole
def test_a_file_has_the_format(file: CaseFile) -> None:
    """A case with a mistake fails here, and in no other test."""
    no_mistakes(file)


def everywhere(text: str, size: int) -> Iterator[tuple[str, list[str]]]:
    """A text in pieces of a size, so often that each place is a cut in one of the ways."""
    for first in range(1, size + 1):
        yield f"cut at {first} and so on", [text[:first], *chunks(text[first:], size)]


def places(text: str, start: int, stop: int, step: int) -> range:
    """Where a case is cut in two: at every `step`th place, the first of which is another in each case."""
    return range(start, stop) if DEEP else range(start + crc32(text.encode()) % step, stop, step)


def thirteens(body: bytes) -> Iterable[bytes]:
    return in_pieces(body, 13)


def halves(at: int) -> Callable[[bytes], Iterable[bytes]]:
    return lambda body: (body[:at], body[at:])


@pytest.mark.whole
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
    for _, reason, dialect, _ in case.verdicts:
        assert reason is None or reason in REASONS
        assert dialect in NAMES or (dialect is None and reason in {"invented_result", "dropped_result"})


@pytest.mark.sampled(1, per="name")
def test_it_is_the_same_however_the_text_is_cut(name: str, case: Case) -> None:  # noqa: ARG001 - a sample for each
    expected = read(case, [case.text])
    assert read(case, chunks(case.text, 1)) == expected, "chunks of 1"
    if case.cuts:
        assert read(case, pieces(case.text, case.cuts)) == expected, f"cut at {case.cuts}"
    ways = [("chunks of 3", chunks(case.text, 3)), *everywhere(case.text, 11)]
    for at in places(case.text, 1, len(case.text), 8):
        ways.append((f"cut at {at}", [case.text[:at], case.text[at:]]))
    for way, parts in some(ways, 8, case.text):
        assert read(case, parts) == expected, way


@pytest.mark.sampled(1, per="name")
def test_it_is_the_same_through_the_wire(name: str, case: Case) -> None:  # noqa: ARG001 - a sample for each
    """The reader has seen every cut; the frames need not see them all in each of a thousand cases."""
    expected = comparable(read(case, [case.text]))
    body = stream([case.text], None if case.finish == "broken" else case.finish)
    first, last = (0, len(body)) if DEEP else (len(stream([], None)), len(stream([case.text], None)))
    ways: list[tuple[str, list[str], Callable[[bytes], Iterable[bytes]]]] = [("byte by byte", [case.text], single)]
    for at in places(case.text, first, last + 1, 150):
        ways.append((f"bytes cut at {at}", [case.text], halves(at)))
    for at in places(case.text, 1, len(case.text), 100):
        ways.append((f"deltas cut at {at}", [case.text[:at], case.text[at:]], whole))
    ways += [(f"deltas {way}", parts, whole) for way, parts in everywhere(case.text, 7)]
    for size, cuts in ((1, whole), (3, whole), (7, thirteens)):
        ways.append((f"deltas of {size}", chunks(case.text, size), cuts))
    for way, parts, cuts in some(a_few(ways, 5, case.text), 3, case.text):
        assert exchanged(case, parts, cuts) == expected, way


@pytest.mark.whole
def test_calls_are_written_as_their_author_says(name: str, written: Written) -> None:
    request = request_of(WIRE, json.dumps({"messages": [], "tools": written.tools}).encode())
    tools = Toolbox(request.tools)
    calls = [Call(*call) for call in written.calls]
    if written.refused is not None:
        with pytest.raises(Unwritable) as refusal:
            write(name, calls, tools)
        assert written.refused in str(refusal.value)
        return
    text = write(name, calls, tools)
    assert text == written.text
    back = read_back(name, text, request, tools)
    assert [(called, canonical(arguments)) for called, arguments in back] == [
        (called, canonical(arguments)) for called, arguments in written.calls
    ]
