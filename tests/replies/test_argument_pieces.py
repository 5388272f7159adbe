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

from support.chatclient import HEAD, chunk, event
from support.exchanges import of_request
from support.pythoncalls import calls_of
from support.sampling import examples
from toolcalls.replies.argument_pieces import ArgumentPieces
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.wires import all_wires

REQUEST = Request(tools=(Tool("Save", {"properties": {"path": {"type": "string"}, "text": {"type": "string"}}}),))
LONG = json.dumps({"path": "a", "text": "The quick brown fox jumps over the lazy dog. " * 400})


def exchange(route: Route | None = None) -> Exchange:
    return of_request(all_wires()["openai_chat"], REQUEST, route or Route(), form="sse")


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
    with patch.object(ArgumentPieces, "passes", lambda _self, _frame: False):
        decoded = outcome(frames, route, whole=whole)
    assert outcome(frames, route, whole=whole) == decoded


STRINGS = st.text(st.sampled_from('abc <{}[]"\\\n,:é\x7f\U0001f600'), max_size=60)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "text", "more"]), st.one_of(STRINGS, st.integers(), st.lists(STRINGS))
)


@examples(300)
@given(
    first=ARGUMENTS,
    second=ARGUMENTS,
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    spelt=st.booleans(),
    turns=st.booleans(),
    again=st.booleans(),
    lost=st.integers(0, 3),
)
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


PIECES = cut(LONG[:200], [4])
ODD = {
    "an empty piece": [*map(piece, PIECES), piece(""), *map(piece, PIECES)],
    "an id with each": [piece(each, id="call_0") for each in PIECES],
    "another id with each": [piece(each, id=f"call_{at}") for at, each in enumerate(PIECES)],
    "no index": [piece(each, None) for each in PIECES],
    "text between": [*map(piece, PIECES), chunk({"content": "Well. "}), *map(piece, PIECES)],
    "a finish reason in each": [chunk(each["choices"][0]["delta"], "tool_calls") for each in map(piece, PIECES)],
    "a finish reason, and more": [*map(piece, PIECES), chunk({}, "tool_calls"), *map(piece, PIECES)],
    "an envelope that changes": [{**piece(each), "created": at} for at, each in enumerate(PIECES)],
    "usage with each": [{**piece(each), "usage": {"total_tokens": 4}} for each in PIECES],
    "a string that holds the object": [piece(each) for each in cut(json.dumps(LONG[:200]), [4])],
    "an id that is the piece": [piece(each, type=each) for each in PIECES],
    "a custom tool's": [chunk({"tool_calls": [{"index": 0, "custom": {"input": each}}]}) for each in PIECES],
    "another choice's": [{**piece(each), "choices": [{**piece(each)["choices"][0], "index": 1}]} for each in PIECES],
    "the older form's": [chunk({"function_call": {"arguments": each}}) for each in PIECES],
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("mend", [(), ("protocol",), ("protocol", "json", "types", "names")], ids="-".join)
def test_odd_frames_are_decoded(kind: str, mend: tuple[str, ...]) -> None:
    frames = streamed([begun(), *ODD[kind]])
    compare(frames, Route(mend=mend))
    compare([raw for frame in frames for raw in (frame[:30], frame[30:])], Route(mend=mend))


def test_pieces_are_taken_without_being_decoded() -> None:
    taken = 0
    passes = ArgumentPieces.passes

    def counted(self: ArgumentPieces, frame: bytes) -> bool:
        nonlocal taken
        found = passes(self, frame)
        taken += found
        return found

    frames = streamed([begun(), *map(piece, cut(LONG, [4]))])
    with patch.object(ArgumentPieces, "passes", counted):
        outcome(frames, None, whole=True)
    assert taken > 0.95 * len(frames)


@pytest.mark.parametrize(
    ("mend", "bound"), [((), 11.5), (("protocol",), 17.5)], ids=["nothing is mended", "the default"]
)
def test_a_piece_takes_few_calls_of_functions(mend: tuple[str, ...], bound: float) -> None:
    frames = streamed([begun(), *map(piece, cut(LONG, [4]))])
    outcome(frames, None, whole=True)  # what is worked out once in a process
    one = exchange(Route(mend=mend))

    def work() -> None:
        for frame in frames:
            one.feed(frame)

    assert calls_of(work) / len(frames) < bound
