"""Pieces of native calls that pass by their bytes leave, count and are judged as though each frame were decoded.

Strategy: the same frames go through two exchanges, one of which decodes all of them. What leaves with each frame, the
verdicts, the notes and the calls that the client has must be equal, sound or damaged.
"""

import json
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from support.chatclient import HEAD, chunk, event
from support.exchanges import of_request
from support.pythoncalls import calls_of
from support.sampling import examples
from toolcalls.events import CallPiece
from toolcalls.processors import Keep, Processors
from toolcalls.processors.loops import CallLoops
from toolcalls.replies.exchange import Exchange
from toolcalls.replies.known_frames import KnownFrames
from toolcalls.request import Request, Tool
from toolcalls.route import Access, AccessRule, Condition, Filter, Loops, Reactor, Route
from toolcalls.wires import all_wires

SCHEMA = {"properties": {"path": {"type": "string"}, "text": {"type": "string"}}}
REQUEST = Request(tools=(Tool("Save", SCHEMA), Tool("Load", SCHEMA)))
LONG = json.dumps({"path": "a", "text": "The quick brown fox jumps over the lazy dog. " * 400})
LATE = json.dumps(dict(reversed(json.loads(LONG).items())))  # what a rule asks for comes last
PATHS = Access((AccessRule("paths", "block", arguments=(Condition("path", outside=("a",)),)),))
BLOCKED = Access((AccessRule("all", "block", tools=("Save",)),))
FILTERS = (Filter("fox", literal="fox", replace="hen"),)
# What holds a call to its end, to one of its arguments, or not at all; and what does not let it out.
PROCESSED = {
    "paths": {"access": PATHS},
    "blocked": {"access": BLOCKED},
    "loops": {"loops": Loops()},
    "loops that are replaced": {"loops": Loops(action="replace")},
    "reactors": {"reactors": (Reactor("none.py", "keep"),)},
    "filters": {"filters": FILTERS},
    "paths and reactors": {"access": PATHS, "reactors": (Reactor("none.py", "keep"),)},
    "paths, beside calls in text": {"access": PATHS, "client": "native", "upstream": "text"},
    "both, beside calls in text": {"access": PATHS, "loops": Loops(), "client": "native", "upstream": "text"},
    "a text client": {"client": "text", "client_dialect": "invoke", "upstream": "native"},
    "a text client with rules": {"access": PATHS, "client": "text", "client_dialect": "invoke", "upstream": "native"},
    "a small room": {"access": PATHS, "max_frame_bytes": 3_000},
}


def exchange(route: Route | None = None) -> Exchange:
    route = route or Route()
    processors = Processors(route, run=lambda *_: Keep()) if route.processes else None
    return of_request(all_wires()["openai_chat"], REQUEST, route, form="sse", processors=processors)


def piece(arguments: str, index: int | None = 0, **entry: Any) -> dict[str, Any]:
    told = {"function": {"arguments": arguments}, **entry}
    return chunk({"tool_calls": [told if index is None else {"index": index, **told}]})


def begun(index: int = 0, name: str = "Save", arguments: str = "") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": index, "id": f"call_{index}", "type": "function", "function": function}]})


def streamed(chunks: Sequence[dict[str, Any]], finish: str | None = "tool_calls") -> list[bytes]:
    end = [event(chunk({}, finish)), b"data: [DONE]\n\n"] if finish else []
    return [event(chunk(HEAD)), *map(event, chunks), *end]


def cut(text: str, sizes: Sequence[int]) -> list[str]:
    """The text in pieces of these sizes, in turns."""
    pieces, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        pieces.append(text[at : at + size])
        at, turn = at + size, turn + 1
    return pieces


def outcome(frames: Sequence[bytes], route: Route | None, *, whole: bool) -> tuple[Any, ...]:
    one = exchange(route)
    left = [one.feed(frame) for frame in frames]
    left.append(one.close() if whole else one.abort())
    calls = [(number, call.name, call.arguments, call.complete) for number, call in one.client_calls]
    assert one.failure is None
    return left, one.verdicts, one.notes, calls


def compare(frames: Sequence[bytes], route: Route | None = None, *, whole: bool = True) -> None:
    with patch.object(KnownFrames, "piece", lambda _self, _frame: None):
        decoded = outcome(frames, route, whole=whole)
    assert outcome(frames, route, whole=whole) == decoded


STRINGS = st.text(st.sampled_from('abc <{}[]"\\\n,:é\x7f\U0001f600'), max_size=60)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "text", "more"]), st.one_of(STRINGS, st.integers(), st.lists(STRINGS))
)


DRAWN: dict[str, SearchStrategy[Any]] = {
    "first": ARGUMENTS,
    "second": ARGUMENTS,
    "sizes": st.lists(st.integers(1, 9), min_size=1, max_size=6),
    "turns": st.booleans(),
    "lost": st.integers(0, 3),
}


@examples(300)
@given(**DRAWN, spelt=st.booleans(), again=st.booleans())
@example(first={"text": "a" * 50}, second={"text": "b" * 50}, sizes=[4], spelt=True, turns=True, again=False, lost=0)
@example(first={"text": "a" * 50}, second={}, sizes=[4], spelt=True, turns=False, again=True, lost=0)
def test_nothing_differs_from_what_is_decoded(
    first: dict[str, Any], second: dict[str, Any], sizes: list[int], spelt: bool, turns: bool, again: bool, lost: int
) -> None:
    """`turns`: two calls at once; `again`: the first one's arguments come twice; `lost`: pieces that never came."""
    one, other = (cut(json.dumps(each, ensure_ascii=spelt), sizes) for each in (first, second))
    rows = [[begun(0), *map(piece, one * (2 if again else 1))], [begun(1), *(piece(each, 1) for each in other)]]
    chunks = rows[0] + rows[1]
    if turns:
        chunks = [each for pair in zip(*rows, strict=False) for each in pair]
    chunks = chunks[: len(chunks) - lost]
    compare(streamed(chunks))
    compare(streamed(chunks, None), whole=False)
    compare(streamed(chunks), Route(mend=()))


ON_PATHS: dict[str, Any] = {"second": {"path": "b"}, "sizes": [4], "lost": 0, "settings": "paths", "mend": ()}


@examples(300)
@given(**DRAWN, settings=st.sampled_from(sorted(PROCESSED)), mend=st.sampled_from([(), ("protocol",)]))
@example(first={"text": "a" * 50, "path": "b"}, turns=False, **ON_PATHS)
@example(first={"text": "a" * 50, "path": "a"}, turns=True, **ON_PATHS)
def test_nothing_differs_where_calls_wait_for_processors(
    first: dict[str, Any],
    second: dict[str, Any],
    sizes: list[int],
    turns: bool,
    lost: int,
    settings: str,
    mend: tuple[str, ...],
) -> None:
    one, other = (cut(json.dumps(each, ensure_ascii=False), sizes) for each in (first, second))
    rows = [[begun(0), *map(piece, one)], [begun(1), *(piece(each, 1) for each in other)]]
    chunks = [each for pair in zip(*rows, strict=False) for each in pair] if turns else rows[0] + rows[1]
    route = Route(mend=mend, **PROCESSED[settings])
    compare(streamed(chunks[: len(chunks) - lost]), route)
    compare(streamed(chunks[: len(chunks) - lost], None), route, whole=False)


# With these each piece of a call reaches a native client in the end.
KNOWN = sorted(PROCESSED.keys() - {"blocked", "a small room"})
GIVEN = sorted(PROCESSED.keys() - {"blocked", "a small room", "a text client", "a text client with rules"})
PIECES = cut(LONG[:200], [4])
SHORT = json.dumps({"text": "a lazy dog " * 3, "path": "a", "more": "c" * 40})
HIDDEN = [{"index": 0, "function": {"name": "Save", "arguments": "{}"}}]  # under a key that no wire has
PLAIN = cut("a lazy dog ", [4])  # inside the string
ODD = {
    "an empty piece": [*map(piece, PIECES), piece(""), *map(piece, PIECES)],
    "an id with each": [piece(each, id="call_0") for each in PIECES],
    "another id with each": [piece(each, id=f"call_{at}") for at, each in enumerate(PIECES)],
    "no index": [piece(each, None) for each in PIECES],
    "text between": [*map(piece, PIECES), chunk({"content": "Well. "}), *map(piece, PIECES)],
    "a call in text between": [
        *map(piece, PIECES),
        chunk({"content": '<invoke name="Save">\n<parameter name="text">a b'}),
        *map(piece, PLAIN),
        chunk({"content": " c</parameter>\n"}),
        *map(piece, PLAIN),
        chunk({"content": '<parameter name="path">a</parameter>\n</invoke>\n'}),
        *map(piece, PLAIN),
    ],
    "the beginning of one between": [*map(piece, PIECES), chunk({"content": "Well. <inv"}), *map(piece, PLAIN)],
    "a finish reason in each": [chunk(each["choices"][0]["delta"], "tool_calls") for each in map(piece, PIECES)],
    "a finish reason, and more": [*map(piece, PIECES), chunk({}, "tool_calls"), *map(piece, PIECES)],
    "an envelope that changes": [{**piece(each), "created": at} for at, each in enumerate(PIECES)],
    "usage with each": [{**piece(each), "usage": {"total_tokens": 4}} for each in PIECES],
    "a string that holds the object": [piece(each) for each in cut(json.dumps(LONG[:200]), [4])],
    "an id that is the piece": [piece(each, type=each) for each in PIECES],
    "a custom tool's": [chunk({"tool_calls": [{"index": 0, "custom": {"input": each}}]}) for each in PIECES],
    "another choice's": [{**piece(each), "choices": [{**piece(each)["choices"][0], "index": 1}]} for each in PIECES],
    "a call that no rule sees": [
        *map(piece, PIECES),
        chunk({"toolCalls": HIDDEN}),
        *map(piece, PIECES),
    ],
    "pieces of a call that no rule sees": [
        *map(piece, cut(LATE[:100], [4])),
        chunk({**begun(1, arguments='{"path": "')["choices"][0]["delta"], "toolCalls": HIDDEN}),
        *(piece(each, 1) for each in PLAIN * 3),
        *map(piece, PLAIN),
    ],
    "behind a call in text": [
        *map(piece, PIECES),
        piece('"}'),
        chunk({"content": '<invoke name="Load">\n<parameter name="path">a</parameter>\n</invoke>\n'}),
        begun(1),
        *(piece(each, 1) for each in cut(json.dumps({"text": "a lazy dog" * 9, "path": "a", "more": "c" * 90}), [4])),
    ],
    "a finish reason in a string": [*map(piece, PIECES), chunk({}, "tool_calls"), *map(piece, PLAIN)],
    "another one in a string": [*map(piece, PIECES), chunk({}, "stop"), *map(piece, PLAIN)],
    "the older form's": [chunk({"function_call": {"arguments": each}}) for each in PIECES],
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("mend", [(), ("protocol",), ("protocol", "json", "types", "names")], ids="-".join)
def test_odd_frames_are_decoded(kind: str, mend: tuple[str, ...]) -> None:
    frames = streamed([begun(), *ODD[kind]])
    compare(frames, Route(mend=mend))
    compare([raw for frame in frames for raw in (frame[:30], frame[30:])], Route(mend=mend))


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("settings", PROCESSED)
@pytest.mark.parametrize("mend", [(), ("protocol",)], ids="-".join)
def test_odd_frames_are_decoded_where_calls_wait_for_processors(
    kind: str, settings: str, mend: tuple[str, ...]
) -> None:
    for arguments in ({"path": "a"}, {"path": "b"}):
        last = [piece(each) for each in cut(json.dumps(arguments)[1:], [4])]
        compare(streamed([begun(), *ODD[kind], *last]), Route(mend=mend, **PROCESSED[settings]))


def test_processors_see_each_piece_once_where_calls_get_other_indices() -> None:
    seen: list[str] = []
    text = chunk({"content": '<invoke name="Load">\n<parameter name="path">a</parameter>\n</invoke>\n'})
    frames = streamed([text, begun(), *map(piece, cut(SHORT, [4]))])
    with patch.object(CallLoops, "add", lambda _self, _name, arguments: seen.append(arguments)):
        outcome(frames, Route(**PROCESSED["both, beside calls in text"]), whole=True)
    assert [arguments for arguments in seen if "lazy" in arguments] == [SHORT]


@pytest.mark.parametrize("sign", ["\x85", "\u2028", "\u2029"])
def test_where_a_client_may_find_a_line_a_frame_is_decoded(sign: str) -> None:
    """A client that ends its lines there would read what follows as JSON of its own."""
    hidden = f'fox {sign}{{ "tool_calls": [] }}'.replace('"', "'")
    chunks = [begun(), *map(piece, cut(LONG[:200], [4])), piece(hidden), *map(piece, PIECES)]
    frames = [json.dumps(each, ensure_ascii=False).encode() for each in chunks]
    route = Route(access=PATHS)
    made = exchange(route)
    for frame in frames:
        made.feed(b"data: " + frame + b"\n\n")
        known = made._known.piece(b"data: " + frame + b"\n\n")
        assert known is None or sign not in known.json
    compare([b"data: " + frame + b"\n\n" for frame in frames], route)


@pytest.mark.parametrize("settings", [{}, *(PROCESSED[key] for key in KNOWN)], ids=["none", *KNOWN])
def test_pieces_are_taken_without_being_decoded(settings: dict[str, Any]) -> None:
    route = Route(**settings) if settings else None
    taken = 0
    known = KnownFrames.piece

    def counted(self: KnownFrames, frame: bytes) -> CallPiece | None:
        nonlocal taken
        found = known(self, frame)
        taken += found is not None
        return found

    frames = streamed([begun(), *map(piece, cut(LATE, [4]))])
    with patch.object(KnownFrames, "piece", counted):
        outcome(frames, route, whole=True)
    assert taken > 0.95 * len(frames)


@pytest.mark.parametrize(
    ("settings", "bound"),
    [
        ({"mend": ()}, 11.5),
        ({}, 17.5),
        (PROCESSED["paths"], 61),
        (PROCESSED["loops"], 24),
        (PROCESSED["reactors"], 70),
    ],
    ids=["nothing is mended", "the default", "paths", "loops", "reactors"],
)
def test_a_piece_takes_few_calls_of_functions(settings: dict[str, Any], bound: float) -> None:
    frames = streamed([begun(), *map(piece, cut(LATE, [4]))])
    outcome(frames, Route(**settings), whole=True)  # what is worked out once in a process
    one = exchange(Route(**settings))

    def work() -> None:
        for frame in frames:
            one.feed(frame)

    assert calls_of(work) / len(frames) < bound
