"""What is sent when: a recording as a row of pieces with moments, at another speed, or without waiting.

Moments count from the end of the request, in seconds. The boundaries of pieces stay what they were at any speed;
without pace a client may still read two of them at once, because TCP joins what comes close together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from toolcalls.tools.serve.recording import Framing, Piece, Recording


@dataclass(frozen=True, slots=True)
class Plan:
    """One reply that is to be sent.

    begin    when the headers leave; `end` when the reply ends, or breaks off where it is `cut`
    pieces   each with its moment
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    pieces: tuple[Piece, ...]
    begin: float = 0.0
    end: float = 0.0
    cut: bool = False
    framing: Framing | None = None


def plan_of(recording: Recording, speed: float | None) -> Plan:
    """A recording at `speed` times its pace; None for as fast as it goes."""
    factor = 0.0 if speed is None else 1 / speed
    headers = recording.headers
    if recording.sized:
        headers = (*headers, (b"content-length", str(len(recording.body)).encode()))
    pieces = [Piece((recording.wait + one.moment) * factor, one.data) for one in recording.pieces]
    return Plan(
        recording.status,
        headers,
        in_order(pieces),
        recording.wait * factor,
        max([(recording.wait + recording.end) * factor, *(piece.moment for piece in pieces[-1:])]),
        recording.cut,
        recording.framing,
    )


def in_order(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces with moments that never go back: a clock may."""
    moments = accumulate((piece.moment for piece in pieces), max)
    return tuple(Piece(moment, piece.data) for moment, piece in zip(moments, pieces, strict=True))


def split(pieces: Sequence[Piece], offset: int) -> tuple[list[Piece], list[Piece]]:
    """The pieces before and after an offset of the body; one that lies across it becomes two."""
    before: list[Piece] = []
    behind: list[Piece] = []
    at = 0
    for piece in pieces:
        cut = min(max(offset - at, 0), len(piece.data))
        at += len(piece.data)
        if cut:
            before.append(Piece(piece.moment, piece.data[:cut]))
        if cut < len(piece.data):
            behind.append(Piece(piece.moment, piece.data[cut:]))
    return before, behind
