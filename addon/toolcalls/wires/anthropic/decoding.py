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
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, call_at_once, damages
from toolcalls.wires.anthropic.block_places import BlockPlaces
from toolcalls.wires.anthropic.blocks import cited, damages_of, fetched, input_of, is_other, reason_of

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


def native_call(lane: int, index: int, block: Fields, ids: set[str]) -> Iterator[Part]:
    """The events of a whole `tool_use` block. `ids`: those of the calls before it."""
    start = CallStart(index, rawjson.word(block, "name"), id=rawjson.word(block, "id"))
    return call_at_once(lane, start, input_of(block), *damages_of(block, ids))


@dataclass(slots=True, eq=False)
class _Native:
    """A native call that is arriving. `input`: what its block began with; `said`: pieces of its arguments came."""

    lane: int
    index: int
    name: str
    input: str
    said: bool = field(default=False, init=False)


class Reading:
    """What is known of the reply so far. It runs ahead of the encoding half, which follows the client.

    blocks   how many blocks have been opened
    natives  how many of them are native calls
    lanes    the lane of each text block
    text     the text block that is open
    usage    what the message has said last of its tokens
    given    the lane of each block that the message began with, None for those that are neither text nor a call
    """

    def __init__(self) -> None:
        self.reply_id = ""
        self.blocks = 0
        self.natives = 0
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
        self._places = BlockPlaces()
        self._over = False

    def events(self, event: _Event, payload: bytes) -> Iterable[Part]:
        kind = event.type
        if kind == DELTA:
            return self._delta(event, event.delta or _Delta(), payload)
        if kind == START:
            return self._start(event.index, event.content_block or _Block(), payload)
        if kind == STOP:
            return self._stop(event.index)
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
        if kind in {"message_stop", "error"} and not self._over:
            return self._finish("" if kind == "message_stop" else "failed")
        return []

    def _given(self, content: Iterable[Any]) -> Iterator[Part]:
        """Decode the blocks that the message begins with."""
        self.given = []
        self._places = BlockPlaces()
        for at, block in enumerate(map(rawjson.fields, content)):
            kind = rawjson.word(block, "type")
            self.blocks = max(self.blocks, at + 1)
            self.text = None
            if kind == "text":
                yield from self._opened(at)
                yield from self._fetched(block)
                if text := rawjson.word(block, "text"):
                    self._pending = True
                    yield self._lane, Text(text)
            elif kind == "tool_use":
                self._pending = self._behind_call = True
                native = self._stopped[at] = _Native(self._lane, self.natives, rawjson.word(block, "name"), "{}")
                yield from native_call(self._lane, self.natives, block, self._ids)
                self.natives += 1
            else:
                yield from self._ends()
                yield from self._fetched(block)
                if is_other(kind):
                    yield self._lane, OtherContent()
            self.given.append(self._lane if kind in {"text", "tool_use"} else None)
            self._places.came(at, kind, native if kind == "tool_use" else None)

    def _start(self, at: int, block: _Block, payload: bytes) -> Iterator[Part]:
        self.blocks = max(self.blocks, at + 1)
        self._fresh = False
        if block.type == "tool_use":
            fields = rawjson.fields(rawjson.fields(payload).get("content_block"))
            codes = [*damages_of(fields, self._ids)]
            if at in self._calls or at in self._stopped:
                codes.append("glued_calls")
            native = _Native(self._lane, self.natives, block.name, input_of(fields))
            self._calls[at] = native
            self.natives += 1
            self.text = None
            self._pending = self._behind_call = True
            self._places.came(at, block.type, native)
            yield native.lane, CallStart(native.index, block.name, id=block.id)
            yield from damages(native.lane, native.index, *codes)
            return
        self._places.came(at, block.type, None)
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
        at = event.index
        if delta.type == "text_delta":
            if at not in self.lanes:  # nobody has opened it
                yield from self._opened(at)
            yield from self._said(self.lanes[at], delta.text)
            return
        self._fresh = False
        native = self._calls.get(at) or self._stopped.get(at)
        fits = not isinstance(event, _Misnumbered) and self._places.agree(at, native)
        if delta.type == "input_json_delta" and delta.partial_json and not fits:
            yield self._lane, Unplaced()
        if delta.type == "input_json_delta" and native is not None and delta.partial_json:
            # Clients take the pieces; some put them after what the block began with.
            update = None if native.said or native.input == "{}" else CallUpdate(native.name, native.input)
            native.said = True
            yield native.lane, CallPiece(native.index, delta.partial_json, update)
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
                yield native.lane, CallPiece(native.index, native.input)
            yield native.lane, CallEnd(native.index)

    def _finish(self, reason: str) -> Iterator[Part]:
        self._over = True
        self._pending = self._fresh = False
        yield self._lane, Finish(reason)
