"""A streamed reply: named SSE events.

Until the first change the client has got what the upstream sent; from then on every frame goes through `encode`.
`reading` reads what frames hold, `client_stream` writes new ones; here is what becomes of each of the upstream's own.
"""

from collections.abc import Callable, Sequence

from toolcalls.events import CallPiece, CallStart, Reasoning, Text, Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.conversion import quote
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, Undivided
from toolcalls.wires.anthropic.blocks import ended, is_behind, is_call, is_text, word_of
from toolcalls.wires.anthropic.client_stream import ClientStream
from toolcalls.wires.anthropic.decoding import DELTA, START, STOP, Reading, content_of, event_of
from toolcalls.wires.content_blocks import Block

# The commonest new frame of all.
_PIECE = b'{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%b}}'


def _is_native(part: Part) -> bool:
    """Whether a native call begins, and stays one."""
    return isinstance(part[1], CallStart) and part[1].dialect is None


def _text_of(parts: Sequence[Part]) -> str:
    return "".join(event.text for _, event in parts if isinstance(event, Text))


class Stream(Undivided):
    """The codec of a streamed reply."""

    def __init__(self) -> None:
        self.can_omit = False
        self.must_encode = False
        self._reading = Reading()
        self._client = ClientStream()
        self._indices: dict[int, int | None] = {}  # where the client sees the upstream's other blocks; None: nowhere

    @property
    def reply_id(self) -> str:
        return self._reading.reply_id

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
        if not self.must_encode:
            self.must_encode = True
            self._join(kind, rawjson.number(event, "index", 0))
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
        if text is not None and text in reading.lanes:
            client.open = Block("text", text)

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
        blocks = [rawjson.fields(raw) for raw in content]
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
        at, block = rawjson.number(event, "index", 0), rawjson.fields(event.get("content_block"))
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
            client.forward(event, index)
        else:
            self._indices[at] = None
            client.omit(block)
        client.emit(parts[gone:])

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
        at = rawjson.number(event, "index", 0)
        delta = rawjson.fields(event.get("delta"))
        if rawjson.word(delta, "type") == "text_delta" and rawjson.word(delta, "text"):
            client.told(event, parts)
            return
        client.emit(parts)
        if at in self._reading.lanes:  # a citation, say; what it is about may be in a call by now
            if client.open is not None and client.open.kind == "text":
                client.forward(event, client.open.index)
        elif (index := self._indices.get(at, at)) is not None:
            if any(isinstance(one, Withdrawn) for _, one in parts):
                client.broken = True  # it had begun to leave
            else:
                client.forward(event, index)

    def _stopped(self, event: Fields, parts: Sequence[Part]) -> None:
        """A text block ends where it is open; a call in its place ends when it is known how."""
        self._client.emit(parts)
        at = rawjson.number(event, "index", 0)
        if at in self._reading.lanes:
            self._client.end("text", event)
        elif (index := self._indices.get(at, at)) is not None:
            self._client.forward(event, index)

    # The message ends

    def _finished(self, event: Fields, parts: Sequence[Part]) -> None:
        client = self._client
        client.emit(parts)
        client.close()
        delta = rawjson.fields(event.get("delta"))
        calls = client.made + self._reading.natives - client.omitted
        made = ended(delta, parts, lifted=client.lifted, broken=client.broken, calls=calls)
        client.forward(event if made is delta else {**event, "delta": made})

    def _over(self, event: Fields, parts: Sequence[Part]) -> None:
        """Forward `message_stop`; a reason that only the parts have goes out in a `message_delta` before it."""
        self._client.emit(parts)
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
