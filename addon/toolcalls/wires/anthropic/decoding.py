"""The decoding half of a streamed reply: which events a frame holds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    CallUpdate,
    Fetched,
    Finish,
    OtherContent,
    ParagraphEnd,
    PartEnd,
    Reasoning,
    Text,
    Unplaced,
)
from toolcalls.values import rawjson
from toolcalls.values.native_arguments import NativeArguments
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, damages
from toolcalls.wires.anthropic.block_places import BlockPlaces
from toolcalls.wires.anthropic.blocks import cited, damages_of, fetched, input_of, is_other, reason_of
from toolcalls.wires.mending import Mending

START, DELTA, STOP = "content_block_start", "content_block_delta", "content_block_stop"
_CITED = b'"cited_text"'


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    stop_reason: str | None = None


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""


class _Message(msgspec.Struct):
    id: str = ""


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: _Block | None = None
    message: _Message | None = None


class _Misnumbered(_Event):
    """One whose `index` is no number, or one of another type, which clients read as they like."""


_decode_event = msgspec.json.Decoder(_Event).decode


def event_of(payload: bytes) -> _Event:
    """A frame with types. One of an odd shape, or with lone surrogates, is read as far as it goes."""
    try:
        return _decode_event(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        fields = rawjson.fields(payload)
        delta, block = rawjson.fields(fields.get("delta")), rawjson.fields(fields.get("content_block"))
        words = {key: rawjson.word(delta, key) for key in _Delta.__struct_fields__}
        made = _Event if rawjson.is_place(fields.get("index")) else _Misnumbered
        return made(
            rawjson.word(fields, "type"),
            rawjson.number(fields, "index", 0),
            _Delta(**words),
            _Block(**{key: rawjson.word(block, key) for key in _Block.__struct_fields__}),
            _Message(rawjson.word(rawjson.fields(fields.get("message")), "id")),
        )


def content_of(event: Fields) -> Sequence[Any]:
    """The blocks that a `message_start` brings along."""
    return rawjson.items(rawjson.fields(event.get("message")).get("content"))


def native_call(lane: int, index: int, block: Fields, ids: set[str], place: int) -> Iterator[Part]:
    """The events of a whole `tool_use` block, the one at this place. `ids`: those of the calls before it."""
    first, then = damages_of(block, ids)
    if rawjson.value(block.get("input")) is None:
        then.append("empty_arguments")
    yield from damages(lane, index, *first)
    yield lane, CallStart(index, rawjson.word(block, "name"), id=rawjson.word(block, "id"), entry=place, takes="object")
    yield from damages(lane, index, *then)
    yield lane, CallPiece(index, input_of(block), entry=place)
    yield lane, CallEnd(index)


@dataclass(slots=True, eq=False)
class _Native:
    """A native call that is arriving.

    place   of its block
    input   what its block began with
    told    that was told at once
    said    pieces of its arguments came
    pieces  those, where it matters whether they are whole
    """

    lane: int
    index: int
    name: str
    input: str
    place: int
    told: bool = field(default=False, init=False)
    said: bool = field(default=False, init=False)
    pieces: list[str] = field(default_factory=list, init=False)

    @property
    def is_whole(self) -> bool:
        """Whether an object has come, as it should have, and has closed."""
        arguments = NativeArguments()
        arguments.feed("".join(self.pieces) if self.said or self.input == "{}" else self.input)
        return arguments.whole


class Reading:
    """What is known of the reply so far. It runs ahead of the encoding half, which follows the client.

    Blocks are known by their places: their indices, or the next free one where another block came under that index and
    this is mended. What follows under an index is of the latest block there.

    mending  what is mended of calls, None for nothing
    moves    a block has another place than its index
    blocks   how many blocks have been opened
    natives  how many of them are native calls
    calls    the places of these
    places   of the blocks that came under each index, in order
    lanes    the lane of each text block
    text     the text block that is open
    usage    what the message has said last of its tokens
    given    the lane of each block that the message began with, None for those that are neither text nor a call
    """

    def __init__(self) -> None:
        self.mending: Mending | None = None
        self.moves = False
        self.reply_id = ""
        self.blocks = 0
        self.natives = 0
        self.calls: list[int] = []
        self.places: dict[int, list[int]] = {}
        self.lanes: dict[int, int] = {}
        self.text: int | None = None
        self.usage: Any = {"output_tokens": 0}
        self.given: list[int | None] = []
        self._lane = 0
        self._used = False  # the lane has a text block
        self._behind_call = False  # a native call came since the latest text block
        self._pending = False  # the lane holds what nothing has ended yet
        self._fresh = False  # a text block was opened, and nothing of it came but white space
        self._calls: dict[int, _Native] = {}
        self._stopped: dict[int, _Native] = {}  # clients add what comes for these all the same
        self._ids: set[str] = set()  # of the calls so far
        self._taken: set[int] = set()  # places of blocks
        self._clients = BlockPlaces()
        self._over = False  # why the message ended has been said
        self._ended = False  # what follows is no part of the reply

    def events(self, event: _Event, payload: bytes) -> Iterable[Part]:
        kind = event.type
        if kind == DELTA:
            return self._delta(event, event.delta or _Delta(), payload)
        if kind == START:
            return self._start(event.index, event.content_block or _Block(), payload)
        if kind == STOP:
            return self._stop(self._place(event.index))
        if kind == "ping":
            return [(self._lane, Text(""))] if self._fresh else []
        if kind == "message_start":
            self._over = False
            self.reply_id = event.message.id if event.message is not None else ""
            message = rawjson.fields(payload)
            self.usage = rawjson.fields(message.get("message")).get("usage", self.usage)
            return self._given(content_of(message))
        if kind == "message_delta":
            self.usage = rawjson.fields(payload).get("usage", self.usage)
        if kind == "message_delta" and event.delta is not None and event.delta.stop_reason:
            return self._finish(reason_of(event.delta.stop_reason))
        self._ended = self._ended or kind == "message_stop"
        if kind in {"message_stop", "error"} and not self._over:
            return self._finish("" if kind == "message_stop" else "failed")
        return []

    def _given(self, content: Iterable[Any]) -> Iterator[Part]:
        """Decode the blocks that the message begins with."""
        self.given = []
        self._clients = BlockPlaces()
        for at, block in enumerate(map(rawjson.fields, content)):
            kind = rawjson.word(block, "type")
            self.blocks = max(self.blocks, at + 1)
            self.places[at] = [at]
            self._taken.add(at)
            self.text = None
            if kind == "text":
                yield from self._opened(at)
                yield from self._fetched(block)
                if text := rawjson.word(block, "text"):
                    self._pending = True
                    yield self._lane, Text(text)
            elif kind == "tool_use":
                self._pending = self._behind_call = True
                native = self._stopped[at] = _Native(self._lane, self.natives, rawjson.word(block, "name"), "{}", at)
                yield from native_call(self._lane, self.natives, block, self._ids, at)
                self._counted(at)
            else:
                yield from self._ends()
                yield from self._fetched(block)
                if is_other(kind):
                    yield self._lane, OtherContent()
            self.given.append(self._lane if kind in {"text", "tool_use"} else None)
            self._clients.came(at, kind, native if kind == "tool_use" else None)

    def _place(self, index: int) -> int:
        """The place of the latest block under an index."""
        places = self.places.get(index)
        return index if places is None else places[-1]

    def _opens(self, index: int) -> int:
        """The place of a block that begins under an index."""
        place = index
        if index in self._taken and self._mends_places:
            place, self.moves = self.blocks, True
        self._taken.add(place)
        self.places.setdefault(index, []).append(place)
        self.blocks = max(self.blocks, place + 1)
        return place

    @property
    def _mends_places(self) -> bool:
        return self.mending is not None and self.mending.protocol and not self._ended

    def _counted(self, place: int) -> None:
        """One more native call."""
        self.calls.append(place)
        self.natives += 1

    def _start(self, index: int, block: _Block, payload: bytes) -> Iterator[Part]:
        before = self._calls.get(self._place(index))
        if before is not None and self._mends_places and before.is_whole:  # nothing has ended it
            yield from self._stop(before.place)
        at = self._opens(index)
        self._fresh = False
        if block.type == "tool_use":
            fields = rawjson.fields(rawjson.fields(payload).get("content_block"))
            yield from self._call(index, at, block, fields)
            return
        self._clients.came(at, block.type, None)
        self.lanes.pop(at, None)
        self.text = None
        if block.type != "text":
            yield from self._ends()
            yield from self._fetched(rawjson.fields(rawjson.fields(payload).get("content_block")))
            if is_other(block.type):
                yield self._lane, OtherContent()
            return
        yield from self._opened(at)
        if _CITED in payload:
            yield from self._fetched(rawjson.fields(rawjson.fields(payload).get("content_block")))
        self._fresh = True
        yield from self._said(self._lane, block.text)

    def _call(self, index: int, at: int, block: _Block, fields: Fields) -> Iterator[Part]:
        """A native call begins."""
        first, then = damages_of(fields, self._ids)
        if at != index or at in self._calls or at in self._stopped:
            first.insert(0, "glued_calls")
        if "empty_arguments" in then:  # it only says that they follow
            then.remove("empty_arguments")
            first.append("empty_arguments")
        native = _Native(self._lane, self.natives, block.name, input_of(fields), at)
        self._calls[at] = native
        self._counted(at)
        self.text = None
        self._pending = self._behind_call = True
        self._clients.came(at, block.type, native)
        yield from damages(native.lane, native.index, *first)
        yield native.lane, CallStart(native.index, block.name, id=block.id, entry=at, takes="maybe")
        yield from damages(native.lane, native.index, *then)
        native.told = self.mending is not None and (native.input != "{}" or bool({*then} - {"repeated_id"}))
        if native.told:
            yield native.lane, CallPiece(native.index, "", CallUpdate(native.name, native.input), entry=at)

    def _fetched(self, block: Fields) -> Iterator[Part]:
        yield from ((self._lane, Fetched(text)) for text in fetched(block))

    def _opened(self, at: int) -> Iterator[Part]:
        """A text block opens."""
        if self._used:
            yield from self._ends()
            self._lane += 1
            if self._behind_call:
                yield self._lane, ParagraphEnd()
        self._used, self._behind_call = True, False
        self.lanes[at] = self._lane
        self.text = at

    def _said(self, lane: int, text: str) -> Iterator[Part]:
        """Text of a block. White space at its start only opens it, like the event that did."""
        self._fresh = self._fresh and not text.strip()
        if self._fresh:
            yield lane, Text("")
        if text:
            self._pending = True
            yield lane, Text(text)

    def _ends(self) -> Iterator[Part]:
        """Another block opens, so what came before it is whole."""
        if self._pending:
            self._pending = False
            yield self._lane, PartEnd("stop")

    def _delta(self, event: _Event, delta: _Delta, payload: bytes) -> Iterator[Part]:
        at = self._place(event.index)
        if delta.type == "text_delta":
            if at not in self.lanes:  # nobody has opened it
                yield from self._opened(at)
            yield from self._said(self.lanes[at], delta.text)
            return
        self._fresh = False
        native = self._calls.get(at) or self._stopped.get(at)
        fits = not isinstance(event, _Misnumbered) and self._clients.agree(at, native)
        if delta.type == "input_json_delta" and delta.partial_json and not fits:
            yield self._lane, Unplaced()
        if delta.type == "input_json_delta" and native is not None and delta.partial_json:
            # Clients take the pieces; some put them after what the block began with.
            is_new = not native.said and (native.told or native.input != "{}")
            update = CallUpdate(native.name, native.input) if is_new else None
            native.said = True
            if self._mends_places:
                native.pieces.append(delta.partial_json)
            yield native.lane, CallPiece(native.index, delta.partial_json, update, at)
        elif delta.type == "thinking_delta" and delta.thinking:
            yield self._lane, Reasoning(delta.thinking)
        elif delta.type == "citations_delta":
            text = cited(rawjson.fields(rawjson.fields(payload).get("delta")).get("citation"))
            yield self._lane, Fetched(text)

    def _stop(self, at: int) -> Iterator[Part]:
        self._fresh = False
        self.text = None if self.text == at else self.text
        native = self._calls.pop(at, None)
        if native is not None:
            self._stopped[at] = native
            if not native.said:
                yield native.lane, CallPiece(native.index, native.input, entry=at)
            yield native.lane, CallEnd(native.index)

    def _finish(self, reason: str) -> Iterator[Part]:
        self._over = True
        self._pending = self._fresh = False
        yield self._lane, Finish(reason)
