"""A streamed reply: named SSE events.

What they hold is read by the codec of Chat Completions; that a call has ended is said here. Until the first change the
client has got what the upstream sent; from then on every event goes through `encode`, since contents may have other
numbers.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from toolcalls.events import CallEnd, CallPiece, CallStart, Damage, Defect, Finish, Text, Unplaced
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import STREAM_END, Codec, Part, Undivided, all_wires
from toolcalls.wires.cohere import streamed
from toolcalls.wires.cohere.client_stream import ClientStream
from toolcalls.wires.content_blocks import Block, Kind
from toolcalls.wires.mending import Mending


class _Reading:
    """What is known of the reply. It runs ahead of the encoding half, which follows the client.

    contents   how many contents have begun
    open       the one that is open
    thinking   those that are thinking
    """

    def __init__(self) -> None:
        self.inner: Codec = all_wires()["openai_chat"].stream()
        self.contents = 0
        self.open: int | None = None
        self.thinking: set[int] = set()
        self._numbers = streamed.CallNumbers()
        self._calls: dict[int, int] = {}  # the hub's index of the latest call at each index that came
        self._said: set[int] = set()  # calls that were given arguments
        self._ended: set[int] = set()
        self._arriving: int | None = None  # where the latest call began

    def events(self, payload: bytes, event: Fields) -> list[Part]:
        kind, at = rawjson.word(event, "type"), rawjson.number(event, "index", 0)
        if kind == "content-start":
            self.contents, self.open = max(self.contents, at + 1), at
            (self.thinking.add if streamed.is_thinking(event) else self.thinking.discard)(at)
        elif kind == "content-end":
            self.open = None
        elif kind == "tool-call-end":
            return self._end(at)
        numbered = self._numbers.numbered(event)
        chunk = payload if payload == STREAM_END else streamed.to_chat(numbered)
        parts = [] if chunk is None else [part for part in self.inner.decode(chunk) if not self._is_known_end(part)]
        if numbered is not event and (own := next((one for _, one in parts if isinstance(one, _OF_CALL)), None)):
            parts.insert(0, (0, Damage(own.index, Defect("glued_calls"))))
        for place, (lane, one) in enumerate(parts):
            if isinstance(one, CallStart):
                parts[place] = lane, replace(one, takes="maybe")
                self._calls[at] = one.index
            elif isinstance(one, CallPiece) and one.json:
                self._said.add(one.index)
        if kind == "tool-call-start":
            self._arriving = at
        elif kind == "tool-call-delta" and streamed.has_arguments(event) and not self._fits(event, at):
            parts.append((0, Unplaced()))
        if kind == "content-start" and not parts and at not in self.thinking:
            return [(0, Text(""))]
        return parts

    def _fits(self, event: Fields, at: int) -> bool:
        """Whether every client adds a piece of arguments to the latest call; calls follow each other in this API."""
        return rawjson.is_place(event.get("index")) and at == self._arriving

    def _is_known_end(self, part: Part) -> bool:
        return isinstance(part[1], CallEnd) and part[1].index in self._ended

    def _end(self, at: int) -> list[Part]:
        """The events of a call's end. A call without arguments gets an empty object."""
        index = self._calls.pop(at, None)
        self._numbers.end(at)
        if index is None:
            return []
        self._ended.add(index)
        nothing: list[Part] = [] if index in self._said else [(0, CallPiece(index, "{}", entry=0))]
        return [*nothing, (0, CallEnd(index))]


class Stream(Undivided):
    """The codec of a streamed reply."""

    def __init__(self) -> None:
        self.can_omit = False
        self.must_encode = False
        self._reading = _Reading()
        self._client = ClientStream()
        self._places: dict[int, int | None] = {}  # where the client sees the upstream's calls; None: nowhere

    @property
    def reply_id(self) -> str:
        return self._reading.inner.reply_id

    def mends(self, mending: Mending) -> None:
        self._reading.inner.mends(mending)

    def decode(self, payload: bytes) -> list[Part]:
        event = rawjson.fields(payload)
        parts = self._reading.events(payload, event)
        text = parts[0][1] if len(parts) == 1 and rawjson.word(event, "type") == "content-delta" else None
        self.can_omit = isinstance(text, Text) and text.text != ""
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:  # noqa: ARG002
        event, client = rawjson.fields(payload), self._client
        kind, at = rawjson.word(event, "type"), rawjson.number(event, "index", 0)
        if not self.must_encode:
            self.must_encode = True
            self._join(kind, at)
        client.out = []
        if payload == STREAM_END:
            return self._over(parts)
        _HANDLERS.get(kind, Stream._other)(self, event, parts, at)
        return [payload if made is event else rawjson.written(made) for made in client.out]

    def _join(self, kind: str, at: int) -> None:
        """Begin to track the client's contents at a frame of this kind, of the content `at`: it has all before it."""
        client, reading = self._client, self._reading
        client.next = reading.contents
        if kind == "content-start":
            client.next = at
        elif kind in {"content-delta", "content-end"}:
            client.next = at + 1
            client.open = Block(self._kind(at), at)
        elif kind in {"tool-call-delta", "tool-call-end"}:
            client.open = Block("call", at, (0, at), has_arguments=True)
        elif reading.open is not None:
            client.open = Block(self._kind(reading.open), reading.open)

    def _kind(self, at: int) -> Kind:
        return "reasoning" if at in self._reading.thinking else "text"

    # Contents

    def _content_started(self, event: Fields, parts: Sequence[Part], at: int) -> None:
        client = self._client
        if at in self._reading.thinking:
            client.emit(parts)
            client.begin("reasoning", event)
            return
        own = [part for part in parts if isinstance(part[1], Text)]
        text = streamed.text_in(event)
        if own and "".join(one.text for _, one in own if isinstance(one, Text)) == text and len(own) == len(parts):
            client.begin("text", event)
            return
        client.close()
        client.held = streamed.with_text(event, "")
        client.emit(parts)

    def _content_told(self, event: Fields, parts: Sequence[Part], at: int) -> None:
        client = self._client
        if at not in self._reading.thinking:
            client.told(event, parts)
            return
        client.emit(parts)
        if client.open is not None and client.open.kind == "reasoning":
            client.forward(event, client.open.index)

    def _content_ended(self, event: Fields, parts: Sequence[Part], at: int) -> None:
        """A content ends where the client has it open."""
        self._client.emit(parts)
        self._client.held = None
        self._client.end(self._kind(at), event)

    # Calls

    def _call_started(self, event: Fields, parts: Sequence[Part], at: int) -> None:
        """A native call begins, unless it is withdrawn."""
        own = next((one for _, one in parts if isinstance(one, CallStart) and one.dialect is None), None)
        self._places[at] = None if own is None else own.index
        before, behind = _around(parts, own)
        self._client.emit(before)
        if own is not None:
            piece = next((one for _, one in behind if isinstance(one, CallPiece) and one.index == own.index), None)
            self._client.begin_call(streamed.with_call(event, own, piece), 0, own.index)
        self._client.emit(part for part in behind if not _is_piece_of(part, own))

    def _call_told(self, event: Fields, parts: Sequence[Part], at: int) -> None:
        """More of a native call. Pieces of any other in its place are that one's."""
        place = self._places.get(at, at)
        own = next((one for _, one in parts if isinstance(one, CallPiece) and one.index == place), None)
        if own is not None and place is not None and self._client.has_open(0, place):
            before, behind = _around(parts, own)
            self._client.emit(before)
            self._client.forward(streamed.with_call(event, None, own), place)
            self._client.emit(behind)
        else:
            self._client.emit(parts)

    def _call_ended(self, event: Fields, parts: Sequence[Part], at: int) -> None:
        place = self._places.get(at, at)
        if place is not None and self._client.has_open(0, place):
            self._client.emit(part for part in parts if isinstance(part[1], CallPiece) and part[1].mended)
            self._client.end("call", event)
            parts = [part for part in parts if not _is_end_of(part, place)]
        self._client.emit(parts)

    # The message ends

    def _finished(self, event: Fields, parts: Sequence[Part], _at: int) -> None:
        client = self._client
        client.emit(parts)
        client.close()
        delta = rawjson.fields(event.get("delta"))
        was, reason = rawjson.word(delta, "finish_reason"), _reason_in(parts)
        word = streamed.written_reason(was, reason) if reason else was
        client.forward(event if word == was else {**event, "delta": {**delta, "finish_reason": rawjson.string(word)}})

    def _over(self, parts: Sequence[Part]) -> list[bytes]:
        """Write the end; a reason that only the parts have goes out in a `message-end` before it."""
        client = self._client
        client.emit(parts)
        client.close()
        reason = _reason_in(parts)
        ending = [streamed.message_end(reason)] if reason else []
        return [*map(rawjson.written, [*client.out, *ending]), STREAM_END]

    def _other(self, event: Fields, parts: Sequence[Part], _at: int) -> None:
        """Forward a plan, a citation or an unknown event; it closes nothing."""
        self._client.emit(parts)
        self._client.forward(event)


_OF_CALL = CallStart | CallPiece
type _Handler = Callable[[Stream, Fields, Sequence[Part], int], None]

_HANDLERS: Mapping[str, _Handler] = {
    "content-start": Stream._content_started,
    "content-delta": Stream._content_told,
    "content-end": Stream._content_ended,
    "tool-call-start": Stream._call_started,
    "tool-call-delta": Stream._call_told,
    "tool-call-end": Stream._call_ended,
    "message-end": Stream._finished,
}


def _around(parts: Sequence[Part], own: object) -> tuple[list[Part], list[Part]]:
    """The parts before an event and those after it; all of them before none."""
    at = next((place for place, (_, one) in enumerate(parts) if one is own), len(parts))
    return list(parts[:at]), list(parts[at + 1 :])


def _is_piece_of(part: Part, start: CallStart | None) -> bool:
    return start is not None and isinstance(part[1], CallPiece) and part[1].index == start.index


def _is_end_of(part: Part, index: int) -> bool:
    return isinstance(part[1], CallPiece | CallEnd) and part[1].index == index


def _reason_in(parts: Sequence[Part]) -> str:
    return next((one.reason for _, one in reversed(parts) if isinstance(one, Finish)), "")
