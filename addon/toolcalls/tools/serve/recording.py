"""What a playback knows of one recorded exchange: what was asked, and the reply with the moments of its pieces.

Boundaries and moments are those that the addon keeps in a flow. Where a recording has none (made without the addon, a
HAR file, a body that redaction changed) there is one honest guess: whole events, spread evenly over the time that the
body took. The times of sent pieces inside an event are then unknown, and nothing is made up for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from toolcalls.insight.exchange_record import Pieces
from toolcalls.wires.frames import FRAMES, Form

# "messages" are those of a WebSocket: each is a piece, and an event.
type Framing = Form | Literal["messages"]

WEBSOCKET = "WebSocket"  # the method of an `Asked` that came as a message


@dataclass(frozen=True, slots=True)
class Asked:
    """What matters of a request (`matching.asked`).

    method    GET, POST …, or `WEBSOCKET`
    wire      the API's name, "" for none
    path      without the query; only where no API's
    kind      how the reply is framed that the request asks for
    tools     the names of the declared tools, in alphabetical order
    user      the text of the last message of the user
    results   the texts of the results of tools that are new: after the last message of the model
    turns     how many messages the conversation has
    """

    method: str
    wire: str = ""
    path: str = ""
    model: str = ""
    kind: str = ""
    tools: tuple[str, ...] = ()
    user: str = ""
    results: tuple[str, ...] = ()
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that are sent as one chunk or message, and when: seconds since the reply's headers."""

    moment: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Recording:
    """One exchange.

    source    where it stands, for people: "session.flow, flow 3"
    headers   those of the reply that belong to it, and not to its connection, its length or its coding
    wait      seconds from the request's end to the reply's headers
    pieces    the body; without content coding
    end       seconds from the headers to the reply's end
    cut       the connection broke before the reply's end
    framing   how the body is cut into events; None for a body that is not cut
    sized     whether the reply said how long its body is
    """

    source: str
    asked: Asked
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    pieces: tuple[Piece, ...]
    wait: float = 0.0
    end: float = 0.0
    cut: bool = False
    framing: Framing | None = None
    sized: bool = False

    @property
    def body(self) -> bytes:
        """The pieces joined."""
        return b"".join(piece.data for piece in self.pieces)


def pieces_of(body: bytes, held: Pieces, framing: Framing | None, lasted: float) -> tuple[Piece, ...]:
    """The pieces of a body by what was held of them, else its events over the seconds that it `lasted`."""
    if held.sizes and sum(held.sizes) == len(body):
        bounds = pairwise(accumulate(held.sizes, initial=0))
        timed = zip(bounds, held.microseconds, strict=True)
        return tuple(Piece(max(0, when) / 1e6, body[start:end]) for (start, end), when in timed if end > start)
    events = events_of(body, framing)
    step = lasted / max(1, len(events) - 1)
    return tuple(Piece(number * step, body[start:end]) for number, (start, end) in enumerate(events))


def events_of(body: bytes, framing: Framing | None) -> list[tuple[int, int]]:
    """Where the events of a body begin and end. What is between two events belongs to the one before it."""
    if framing is None or framing not in FRAMES:
        return [(0, len(body))] if body else []
    frames = FRAMES[framing](max_bytes=max(1, len(body)))
    starts: list[int] = []
    at = 0
    for frame in (*frames.feed(body), *frames.flush()):
        if frame.data is not None or not starts:
            starts.append(at)
        at += len(frame.raw)
    return list(pairwise([*starts, at]))


def events_in(pieces: Sequence[Piece], framing: Framing | None) -> list[tuple[int, int]]:
    """Where the events of a reply begin and end in its body."""
    if framing == "messages":
        return list(pairwise(accumulate((len(piece.data) for piece in pieces), initial=0)))
    return events_of(b"".join(piece.data for piece in pieces), framing)
