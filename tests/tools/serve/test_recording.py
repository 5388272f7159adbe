"""The pieces of a recorded body, and what is sent when."""

import pytest

from toolcalls.insight.exchange_record import Pieces
from toolcalls.tools.serve.pacing import plan_of, split
from toolcalls.tools.serve.recording import Asked, Piece, Recording, events_of, pieces_of

SSE = b": hello\n\nevent: a\ndata: 1\n\ndata: 2\n\n\n: bye\n\ndata: [DO"


def test_pieces_are_those_that_were_held() -> None:
    """An empty piece is none: it would end a chunked body."""
    held = Pieces((0, 1500, 1500, 2_000_000), (3, 0, 30, len(SSE) - 33))
    assert pieces_of(SSE, held, "sse", 9.0) == (Piece(0.0, SSE[:3]), Piece(0.0015, SSE[3:33]), Piece(2.0, SSE[33:]))


@pytest.mark.parametrize("held", [Pieces(), Pieces((0,), (len(SSE) - 1,))], ids=["none", "of another body"])
def test_without_them_pieces_are_events_over_the_time_that_the_body_took(held: Pieces) -> None:
    assert pieces_of(SSE, held, "sse", 3.0) == (
        Piece(0.0, b": hello\n\n"),
        Piece(1.0, b"event: a\ndata: 1\n\n"),
        Piece(2.0, b"data: 2\n\n\n: bye\n\n"),
        Piece(3.0, b"data: [DO"),
    )


@pytest.mark.parametrize(
    ("framing", "body", "events"),
    [
        ("sse", b"data: 1\r\n\r\ndata: 2\r\n\r\n", [b"data: 1\r\n\r\n", b"data: 2\r\n\r\n"]),
        ("ndjson", b'{"a": 1}\n{"b": 2}\n', [b'{"a": 1}\n', b'{"b": 2}\n']),
        ("json_array", b'[{"a": 1}\n,\r\n{"b": {}}]', [b"[", b'{"a": 1}\n,\r\n', b'{"b": {}}]']),
        ("whole", b'{"a": 1}', [b'{"a": 1}']),
        (None, b"anything", [b"anything"]),
        ("sse", b"", []),
        ("whole", b"", []),
    ],
)
def test_events(framing: str | None, body: bytes, events: list[bytes]) -> None:
    assert [body[start:end] for start, end in events_of(body, framing)] == events  # type: ignore[arg-type]


def recording(**more: object) -> Recording:
    pieces = (Piece(0.5, b"one"), Piece(0.25, b"two"), Piece(2.0, b"three"))
    return Recording("f", Asked("POST", "openai_chat"), 200, ((b"a", b"b"),), pieces, wait=1.0, end=3.0, **more)  # type: ignore[arg-type]


def test_a_plan_counts_from_the_end_of_the_request() -> None:
    plan = plan_of(recording(), 1.0)
    assert (plan.begin, plan.end, plan.cut) == (1.0, 4.0, False)
    assert plan.pieces == (Piece(1.5, b"one"), Piece(1.5, b"two"), Piece(3.0, b"three"))
    assert plan.headers == ((b"a", b"b"),)


def test_another_speed_and_none() -> None:
    fast = plan_of(recording(cut=True), 4.0)
    assert (fast.begin, [piece.moment for piece in fast.pieces], fast.end) == (0.25, [0.375, 0.375, 0.75], 1.0)
    assert fast.cut
    none = plan_of(recording(), None)
    assert [none.begin, none.end, *(piece.moment for piece in none.pieces)] == [0.0] * 5
    assert [piece.data for piece in none.pieces] == [b"one", b"two", b"three"]


def test_a_length_that_was_said_is_said_again() -> None:
    assert plan_of(recording(sized=True), None).headers == ((b"a", b"b"), (b"content-length", b"11"))


@pytest.mark.parametrize("offset", range(13))
def test_split_loses_nothing(offset: int) -> None:
    before, behind = split(recording().pieces, offset)
    assert b"".join(piece.data for piece in before) == b"onetwothree"[:offset]
    assert b"".join(piece.data for piece in behind) == b"onetwothree"[offset:]
    assert all(piece.data for piece in (*before, *behind))
