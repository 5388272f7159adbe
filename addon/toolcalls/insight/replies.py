"""What a reply's body says, and when: text, calls, finish reasons, tokens, and the moments of its first and last bytes.

A body is cut into frames again and each is decoded by its wire, in one pass. Where a frame ends in the body says which
piece brought it, and the piece has its time. Only the frames that speak of usage are read a second time, and of those
only the first and the last ones: some servers repeat it in every frame.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from toolcalls.events import CallEnd, CallPiece, CallStart, Finish, Reasoning, Text
from toolcalls.insight.exchange_record import Pieces
from toolcalls.values.usage import Tokens, tokens_of
from toolcalls.wires import all_wires
from toolcalls.wires.frames import FRAMES, Form, Frame

_SLICE = 64 * 1024  # bytes of a body that are cut at once: the proxy waits while many frames are made and freed
_FIRST, _LAST = 2, 3  # frames with usage that are read
_MARKS = (b"sage", b"eval_count")  # usage, usageMetadata; Ollama has them at the top


@dataclass(frozen=True, slots=True)
class Moments:
    """Microseconds since the reply's headers; None for a moment that did not come or was not measured."""

    first_byte: int | None = None
    first_argument: int | None = None
    call_complete: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ReplyCall:
    """A native call. `arguments` is JSON text as far as it came."""

    id: str
    name: str
    arguments: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Lane:
    """One choice of a reply. `finish` is None for one that did not end. `number` is that of verdicts."""

    text: str
    reasoning: str
    calls: tuple[ReplyCall, ...]
    finish: str | None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One body of a reply."""

    lanes: tuple[Lane, ...] = ()
    tokens: Tokens = field(default_factory=Tokens)
    moments: Moments = Moments()
    model: str = ""
    id: str = ""

    @property
    def text(self) -> str:
        """The text of the first choice."""
        return self.lanes[0].text if self.lanes else ""


@dataclass(slots=True)
class _Lane:
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)  # id, name, pieces of the arguments
    ended: set[int] = field(default_factory=set)
    finish: str | None = None

    def frozen(self, place: int) -> Lane:
        calls = tuple(
            ReplyCall(id_, name, "".join(pieces), number in self.ended)
            for number, (id_, name, *pieces) in self.calls.items()
        )
        return Lane("".join(self.text), "".join(self.reasoning), calls, self.finish, place)


def read(wire: str, form: Form | None, body: bytes | None, pieces: Pieces) -> Reply:
    """A reply's body. What no wire of ours can read gives an empty reply with the moments that are known anyhow."""
    ends = list(accumulate(pieces.sizes))
    first = next((moment for moment, size in zip(pieces.microseconds, pieces.sizes, strict=False) if size), None)
    last = pieces.microseconds[-1] if pieces.microseconds else None
    if body is None or form is None or wire not in all_wires():
        return Reply(moments=Moments(first_byte=first, end=last))
    codec = all_wires()[wire].decoder(streamed=form != "whole")
    lanes: dict[int, _Lane] = {}
    first_argument: int | None = None
    last_argument: int | None = None
    ended: int | None = None
    counted: list[bytes] = []
    opened = b""
    for end, payload in _payloads(form, body):
        opened = opened or payload
        if any(mark in payload for mark in _MARKS):
            counted = [*counted[:_FIRST], *counted[_FIRST:][-_LAST + 1 :], payload]
        for number, event in codec.decode(payload):
            lane = lanes.setdefault(number, _Lane())
            if isinstance(event, Text):
                lane.text.append(event.text)
            elif isinstance(event, Reasoning):
                lane.reasoning.append(event.text)
            elif isinstance(event, CallStart):
                lane.calls[event.index] = [event.id, event.name]
            elif isinstance(event, CallPiece) and event.index in lane.calls:
                lane.calls[event.index].append(event.json)
                if event.json:
                    first_argument = end if first_argument is None else first_argument
                    last_argument = end
            elif isinstance(event, CallEnd):
                lane.ended.add(event.index)
                ended = end
            elif isinstance(event, Finish):
                lane.finish = event.reason
    # Some APIs say that a call is complete only with the reply's end; the client knows it with the last piece.
    whole = all(lane.ended >= lane.calls.keys() for lane in lanes.values())
    complete = (last_argument or ended) if whole else None
    about = _object(opened)
    return Reply(
        lanes=tuple(lanes[number].frozen(number) for number in sorted(lanes)),
        tokens=tokens_of(counted),
        moments=Moments(first, _when(first_argument, ends, pieces), _when(complete, ends, pieces), last),
        model=_named(about, "model", "modelVersion"),
        id=_named(about, "id", "responseId"),
    )


def _payloads(form: Form, body: bytes) -> Iterator[tuple[int, bytes]]:
    """The payloads of a body, each with the offset after its frame."""
    if form == "whole" or form not in FRAMES:
        yield len(body), body
        return
    end = 0
    for frame in _frames(form, body):
        end += len(frame.raw)
        if frame.data is not None:
            yield end, frame.data


def _frames(form: Form, body: bytes) -> Iterator[Frame]:
    frames = FRAMES[form]()
    for start in range(0, len(body), _SLICE):
        yield from frames.feed(body[start : start + _SLICE])
    yield from frames.flush()


def _when(offset: int | None, ends: list[int], pieces: Pieces) -> int | None:
    """When the byte before `offset` came. The end of an event may come later than its data, by a line end at most."""
    if offset is None or not ends:
        return None
    place = min(bisect_left(ends, offset), len(ends) - 1)
    return pieces.microseconds[place] if place < len(pieces.microseconds) else None


def _object(payload: bytes) -> dict[str, Any]:
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _named(about: dict[str, Any], *names: str) -> str:
    """A string member of a reply, also one level down (`message`, `response`)."""
    inner = [about[key] for key in ("message", "response") if isinstance(about.get(key), dict)]
    found = [one.get(name) for one in (about, *inner) for name in names]
    return next((value for value in found if isinstance(value, str)), "")
