"""A streamed reply: named SSE events.

Until the first change the client has got what the upstream sent; from then on every frame goes through `encode`.
`reading` reads what frames hold, `client_stream` writes new ones; here is what becomes of each of the upstream's own.
"""

from collections.abc import Callable, Sequence

from toolcalls.events import CallEnd, CallPiece, CallStart, Reasoning, Text, Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.conversion import quote
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, Undivided
from toolcalls.wires.anthropic.blocks import all_mended, as_mended, ended, is_behind, is_call, is_text, word_of
from toolcalls.wires.anthropic.client_stream import ClientStream
from toolcalls.wires.anthropic.decoding import DELTA, START, STOP, Reading, content_of, event_of
from toolcalls.wires.content_blocks import Block
from toolcalls.wires.mending import Mending

# The commonest new frame of all.
_PIECE = b'{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%b}}'


def _is_native(part: Part) -> bool:
    """Whether a native call begins, and stays one."""
    return isinstance(part[1], CallStart) and part[1].dialect is None


def _start_in(parts: Sequence[Part]) -> CallStart | None:
    """The native call that begins, and stays one."""
    return next((one for _, one in parts if isinstance(one, CallStart) and one.dialect is None), None)


def _is_piece_of(part: Part, start: CallStart) -> bool:
    return isinstance(part[1], CallPiece) and part[1].index == start.index


def _text_of(parts: Sequence[Part]) -> str:
    return "".join(event.text for _, event in parts if isinstance(event, Text))


class Stream(Undivided):
    """The codec of a streamed reply."""

    def __init__(self) -> None:
        self.can_omit = False
        self._follows = False  # the client's blocks, which are others than the upstream's
        self._reading = Reading()
        self._client = ClientStream()
        self._place = 0  # of the block that the frame in hand is about (`Reading`)
        self._places: dict[int, int] = {}  # of the latest block at each index
        self._begun: set[int] = set()  # places of blocks
        self._indices: dict[int, int | None] = {}  # where the client sees the upstream's other blocks; None: nowhere
        self._natives: dict[int, int] = {}  # where it sees native calls, by their indices
        self._made: set[int] = set()  # the indices of calls of ours

    @property
    def must_encode(self) -> bool:
        return self._follows or self._reading.moves

    @property
    def reply_id(self) -> str:
        return self._reading.reply_id

    def mends(self, mending: Mending) -> None:
        self._reading.mending = mending

    def decode(self, payload: bytes) -> list[Part]:
        event = event_of(payload)
        parts = list(self._reading.events(event, payload))
        text = parts[0][1] if len(parts) == 1 and event.type == DELTA else None
        self.can_omit = isinstance(text, Text) and text.text != ""
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        client = self._client
        open_, piece = client.open, parts[0][1] if can_omit and len(parts) == 1 else None
        if open_ is not None and isinstance(piece, CallPiece) and open_.call == (parts[0][0], piece.index):
            open_.has_arguments = open_.has_arguments or piece.json != ""
            return [_PIECE % (open_.index, quote(piece.json).encode())]
        event = rawjson.fields(payload)
        kind = rawjson.word(event, "type")
        self._place = self._place_of(kind, rawjson.number(event, "index", 0), parts)
        if not self._follows:
            self._follows = True
            self._join(kind, self._place)
        made = {
            one.index for _, one in parts if isinstance(one, CallStart) and (one.dialect is not None or kind != START)
        }
        self._made |= made
        client.out = []
        _HANDLERS.get(kind, Stream._other)(self, event, parts)
        return [payload if made is event else rawjson.written(made) for made in client.out]

    def _join(self, kind: str, at: int) -> None:
        """Begin to track the client's blocks at a frame of this kind, of the block `at`: it has all before it."""
        client, reading = self._client, self._reading
        text: int | None = at
        if kind == START:
            client.next, text = at, None
        elif kind in {DELTA, STOP}:
            client.next = at + 1
        else:
            client.next, text = reading.blocks, reading.text
        self._begun |= set(range(client.next))
        if text is not None and text in reading.lanes:
            client.open = Block("text", text)

    def _place_of(self, kind: str, index: int, parts: Sequence[Part]) -> int:
        """The place of the block that a frame is about. `Reading` may know of later blocks at its index."""
        reading = self._reading
        if kind != START:
            return self._places.get(index, index)
        if not reading.moves:
            self._begun.add(index)
            return index
        known = [place for place in reading.places.get(index, [index]) if place not in self._begun]
        place = (known[0] if self._follows else known[-1]) if known else index
        for lane, one in parts:
            if isinstance(one, CallStart) and one.entry in known:
                place = one.entry
            elif isinstance(one, Withdrawn) and one.index < reading.natives and reading.calls[one.index] in known:
                place = reading.calls[one.index]
            elif isinstance(one, Text):
                place = next((at for at in known if reading.lanes.get(at) == lane), place)
        self._begun.add(place)
        self._places[index] = place
        return place

    def _mended(self, parts: Sequence[Part]) -> None:
        """Send what a frame does not say of native calls: their ends, and the rest of their arguments."""
        client = self._client
        for _, one in parts:
            if not isinstance(one, CallPiece | CallEnd) or one.index in self._made:
                continue
            index = self._index_of(one.index)
            if isinstance(one, CallPiece) and one.mended and one.json and index is not None:
                client.out.append(client.said(Block("call", index), one.json))
            elif isinstance(one, CallEnd) and index is not None:
                client.out.append(client.stopped(Block("call", index)))

    def _index_of(self, call: int) -> int | None:
        """Where the client sees the block of a native call."""
        if call in self._natives or not 0 <= call < self._reading.natives:
            return self._natives.get(call)
        return self._indices.get(self._reading.calls[call], self._reading.calls[call])

    # The message begins

    def _began(self, event: Fields, parts: Sequence[Part]) -> None:
        """The message begins: first empty, then with the blocks that it brought along."""
        content = content_of(event)
        if not content:
            self._other(event, parts)
            return
        client = self._client
        client.next, client.open = 0, None
        client.forward({**event, "message": {**rawjson.fields(event["message"]), "content": []}})
        blocks = [rawjson.fields(raw) for raw in all_mended(content, parts)]
        places: dict[int | str, int] = {}  # of a text by its lane, of a call by its id
        for place, (lane, block) in enumerate(zip(self._reading.given, blocks, strict=True)):
            if lane is not None:
                places.setdefault(lane if is_text(block) else rawjson.word(block, "id"), place)
        come, said, own = 0, "", ""
        for lane, part in parts:
            key: int | str = part.id if isinstance(part, CallStart) and part.dialect is None else lane
            place = places.get(key, -1) if isinstance(part, Text | Reasoning | CallStart) else -1
            for block in blocks[come : place + 1]:
                self._reach_block(block)
                if is_text(block):
                    client.ends_with_call_text = client.ends_with_call_text or is_behind(said, own)
                    said, own = "", rawjson.word(block, "text")
            come = max(come, place + 1)
            if isinstance(part, Text):
                said += part.text
                if client.held is not None and said == own:  # white space alone, say, but not that of a call
                    client.show()
                client.text(part.text)
            else:
                client.event(lane, part)
        for block in blocks[come:]:
            self._reach_block(block)

    def _reach_block(self, block: Fields) -> None:
        """Begin one of the message's own blocks. Its text or call is sent as it is after processing."""
        client = self._client
        if is_text(block):
            client.begin_block({"type": START, "index": -1, "content_block": {**block, "text": ""}})
            return
        client.begin_block(None)
        if is_call(block):
            client.omit(block)
        else:
            index = client.take_place()
            client.out.append({"type": START, "index": index, "content_block": block})
            client.out.append({"type": STOP, "index": index})

    # Blocks

    def _started(self, event: Fields, parts: Sequence[Part]) -> None:
        client = self._client
        at, block = self._place, rawjson.fields(event.get("content_block"))
        own = _start_in(parts) if is_call(block) else None
        self._mended([part for part in parts if own is None or not _is_piece_of(part, own)])
        if is_text(block):
            self._text_started(event, block, parts, self._reading.lanes.get(at, 0))
            return
        native = is_call(block)
        stays = not native or any(_is_native(part) for part in parts)
        gone = next((place for place, (_, one) in enumerate(parts) if isinstance(one, Withdrawn)), len(parts))
        self._written([part for part in parts[:gone] if not (native and _is_native(part))])
        client.begin_block(None)
        if stays:
            index = self._indices[at] = client.take_place()
            if own is not None:
                self._natives[own.index] = index
                event = self._begins(event, block, own, parts)
            client.forward(event, index)
            if own is not None and rawjson.is_string(block.get("input")):
                self._mended([part for part in parts if _is_piece_of(part, own)])
        else:
            self._indices[at] = None
            client.omit(block)
        client.emit(parts[gone:])

    @staticmethod
    def _begins(event: Fields, block: Fields, start: CallStart, parts: Sequence[Part]) -> Fields:
        """The event that begins a native call, as it should have come. Arguments that came as a text are told after it,
        where all clients look for them.
        """
        as_text = start.mended and rawjson.is_string(block.get("input"))
        piece = next((one for _, one in parts if isinstance(one, CallPiece) and one.index == start.index), None)
        if piece is not None and piece.mended and rawjson.is_string(block.get("input")):
            as_text, piece = True, None
        elif as_text and rawjson.word(block, "input").strip():
            as_text = False  # nobody knows what it means
        made = as_mended({**block, "input": {}} if as_text else block, start, piece)
        return event if made is block else {**event, "content_block": made}

    def _written(self, parts: Sequence[Part]) -> None:
        """Send what is decided when another block opens. Its text is calls: a block's own text is in its own frames."""
        client = self._client
        client.emit(parts)
        client.ends_with_call_text = client.ends_with_call_text or _text_of(parts) != ""

    def _text_started(self, event: Fields, block: Fields, parts: Sequence[Part], lane: int) -> None:
        client = self._client
        own = [part for part in parts if part[0] == lane]
        self._written([part for part in parts if part[0] != lane])
        client.begin_block(event)
        text = rawjson.word(block, "text")
        same = bool(own) and _text_of(own) == text
        shown = bool(text.strip()) or any(isinstance(part, Text) and not part.text for _, part in own)
        if same and shown and not (text and client.ends_with_call_text):
            client.show()
        elif text:
            client.held = {**event, "content_block": {**block, "text": ""}}
            client.emit(own)

    def _told(self, event: Fields, parts: Sequence[Part]) -> None:
        client = self._client
        at = self._place
        delta = rawjson.fields(event.get("delta"))
        if rawjson.word(delta, "type") == "text_delta" and rawjson.word(delta, "text"):
            client.told(event, parts)
            return
        client.emit(parts)
        of_call = any(isinstance(one, CallPiece | Withdrawn) and one.index not in self._made for _, one in parts)
        if at in self._reading.lanes and not of_call:  # a citation, say; what it is about may be in a call by now
            if client.open is not None and client.open.kind == "text":
                client.forward(event, client.open.index)
        elif (index := self._indices.get(at, at)) is not None:
            if any(isinstance(one, Withdrawn) for _, one in parts):
                client.broken = True  # it had begun to leave
            else:
                piece = next((one for _, one in parts if isinstance(one, CallPiece) and one.mended), None)
                if piece is not None and piece.index not in self._made:
                    event = {**event, "delta": {**delta, "partial_json": rawjson.string(piece.json)}}
                client.forward(event, index)

    def _stopped(self, event: Fields, parts: Sequence[Part]) -> None:
        """A text block ends where it is open; a call in its place ends when it is known how."""
        self._client.emit(parts)
        at = self._place
        self._mended([part for part in parts if isinstance(part[1], CallPiece)])
        if at in self._reading.lanes:
            self._client.end("text", event)
        elif (index := self._indices.get(at, at)) is not None:
            self._client.forward(event, index)

    # The message ends

    def _finished(self, event: Fields, parts: Sequence[Part]) -> None:
        client = self._client
        client.emit(parts)
        self._mended([part for part in parts if isinstance(part[1], CallPiece)])
        client.close()
        delta = rawjson.fields(event.get("delta"))
        calls = client.made + self._reading.natives - client.omitted
        made = ended(delta, parts, lifted=client.lifted, broken=client.broken, calls=calls)
        client.forward(event if made is delta else {**event, "delta": made})

    def _over(self, event: Fields, parts: Sequence[Part]) -> None:
        """Forward `message_stop`; a reason that only the parts have goes out in a `message_delta` before it."""
        self._client.emit(parts)
        self._mended([part for part in parts if isinstance(part[1], CallPiece)])
        self._client.close()
        if rawjson.word(event, "type") == "message_stop" and (word := word_of(parts)):
            delta = {"stop_reason": rawjson.string(word), "stop_sequence": None}
            self._client.out.append({"type": "message_delta", "delta": delta, "usage": self._reading.usage})
        self._client.forward(event)

    def _other(self, event: Fields, parts: Sequence[Part]) -> None:
        """Forward a ping, an error or an unknown event; it closes no block."""
        self._client.emit(parts)
        self._client.forward(event)


type _Handler = Callable[[Stream, Fields, Sequence[Part]], None]

_HANDLERS: dict[str, _Handler] = {
    "message_start": Stream._began,
    START: Stream._started,
    DELTA: Stream._told,
    STOP: Stream._stopped,
    "message_delta": Stream._finished,
    "message_stop": Stream._over,
}
