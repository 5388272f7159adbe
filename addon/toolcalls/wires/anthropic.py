"""`anthropic`: the Messages API, streamed (named SSE events) and whole.

https://docs.anthropic.com/en/api/messages, https://docs.anthropic.com/en/docs/build-with-claude/streaming. A reply is a
row of content blocks: text, thinking, calls of the client's tools (`tool_use`), what the provider's own tools did. In a
stream each block is opened, told in pieces and closed before the next one opens. A lane is a text block with the native
calls behind it; those before the first text belong to that one.

A call that is made in the middle of a text closes its block; text behind the call stands in a block of its own. A text
block that would show nothing is not shown: the event that opens it, and a `ping` behind that, only leave with its first
text. Blocks behind get other indices, so from the first change on the codec follows what its client has been told, and
every frame goes through `encode`. A call that broke off is closed like any block, as the provider itself does where a
reply meets its limit: its JSON stays unfinished, and `stop_reason` says `max_tokens`. In a whole reply `input` is an
object, which cannot be unfinished; there such a call stays text. Calls that become text stand in a text block behind
the calls, an empty line before the next text block's text, since clients join them. White space alone before a call is
not shown: the API refuses a block of it in the next request.

Clients take the blocks that `message_start` brings along as whole ones before all others (where code that runs at the
provider calls a tool, the API is said to send such). Where one of them changes, all are told event by event.

The block of a native call that goes (`Gone`) goes with all that is told of it; what stands in its place, a text or a
call made anew, follows from there. One that had begun to leave is told nothing more, like any call that broke off. In
a whole reply such text stands with the text before the calls, or in the place of the first that goes.

Reasoning that stood in the text becomes a thinking block with an empty signature, as servers of open models write it.
Thinking, redacted thinking, signatures, citations and the blocks of the provider's tools pass untouched.

Past 300 lines, because one file holds one API: its streamed and its whole form, and what a request declares.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any
from urllib.parse import urlsplit

import msgspec

from toolcalls import rawjson
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Gone, Markup, Reasoning, Text
from toolcalls.frames import Form
from toolcalls.rawjson import Fields
from toolcalls.request import Request, Tool
from toolcalls.standing import Standing, Told
from toolcalls.values import quote
from toolcalls.wires import Codec, Part, form_of

_START, _DELTA, _STOP = "content_block_start", "content_block_delta", "content_block_stop"

# The commonest new frame of all.
_PIECE = b'{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%b}}'

# Stop reasons in the words of the hub; all others pass as they are.
_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
# They tell the client more than that there are calls.
_KEPT = frozenset({"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"})


def _stop_reason(was: str, parts: Iterable[Part], *, lifted: bool, broken: bool, calls: int) -> str:
    """The stop reason that fits what the client has got.

    parts    hold the reason that the lane gives; where it says that the reply was stopped, that counts
    lifted   a call was made of text, or made anew
    broken   a call broke off
    calls    how many `tool_use` blocks there are
    """
    told = next((event.reason for _, event in reversed(list(parts)) if isinstance(event, Finish)), "")
    stopped = told == "stop" or (told == "tool_calls" and was != "pause_turn")
    if was in _KEPT and not stopped:
        return was
    if was in _KEPT:
        was = "tool_use" if calls else "end_turn"
    if broken:
        return "max_tokens"
    if lifted:
        return "tool_use"
    return "end_turn" if was == "tool_use" and not calls else was


def _ended(fields: Fields, reason: str) -> Fields:
    """`fields` with another stop reason; the stop sequence that was met is no longer why."""
    if reason == rawjson.word(fields, "stop_reason"):
        return fields
    other = {"stop_sequence": None} if "stop_sequence" in fields else {}
    return {**fields, "stop_reason": rawjson.string(reason), **other}


# --- a streamed reply, read -------------------------------------------------------------------------------------------


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


_decode_event = msgspec.json.Decoder(_Event).decode


def _event(payload: bytes) -> _Event:
    """The typed event. One of an odd shape, or with lone surrogates, is read as far as it goes."""
    try:
        return _decode_event(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        fields = rawjson.fields(payload)
        delta, block = rawjson.fields(fields.get("delta")), rawjson.fields(fields.get("content_block"))
        words = {key: rawjson.word(delta, key) for key in _Delta.__struct_fields__}
        return _Event(
            rawjson.word(fields, "type"),
            rawjson.number(fields, "index", 0),
            _Delta(**words),
            _Block(**{key: rawjson.word(block, key) for key in _Block.__struct_fields__}),
            _Message(rawjson.word(rawjson.fields(fields.get("message")), "id")),
        )


class _Native:
    """A native call that is arriving. `said`: pieces of its arguments came."""

    __slots__ = ("index", "input", "lane", "said")

    def __init__(self, lane: int, index: int, given: str) -> None:
        self.lane = lane
        self.index = index
        self.input = given
        self.said = False


class _Reading:
    """The decoding half: which events a frame holds. It runs ahead of the encoding half, which follows the client.

    blocks   how many blocks have been opened
    natives  how many of them are native calls
    lanes    the lane of each text block
    text     the text block that is open
    given    the lane of each block that the message began with, None for those that are neither text nor a call
    """

    def __init__(self) -> None:
        self.reply_id = ""
        self.blocks = 0
        self.natives = 0
        self.lanes: dict[int, int] = {}
        self.text: int | None = None
        self.given: list[int | None] = []
        self._lane = 0
        self._used = False  # the lane has a text block
        self._pending = False  # the lane holds what nothing has ended yet
        self._fresh = False  # a text block was opened, and nothing of it came but white space
        self._calls: dict[int, _Native] = {}
        self._stopped: dict[int, _Native] = {}  # clients add what comes for these all the same
        self._over = False

    def events(self, event: _Event, payload: bytes) -> Iterable[Part]:
        """The events of one frame."""
        kind = event.type
        if kind == _DELTA:
            return self._delta(event.index, event.delta or _Delta())
        if kind == _START:
            return self._start(event.index, event.content_block or _Block(), payload)
        if kind == _STOP:
            return self._stop(event.index)
        if kind == "ping":
            return [(self._lane, Text(""))] if self._fresh else []
        if kind == "message_start":
            self._over = False
            self.reply_id = event.message.id if event.message is not None else ""
            return self._given(_content(rawjson.fields(payload)))
        if kind == "message_delta" and event.delta is not None and event.delta.stop_reason:
            return self._finish(_REASONS.get(event.delta.stop_reason, event.delta.stop_reason))
        if kind in {"message_stop", "error"} and not self._over:
            return self._finish("" if kind == "message_stop" else "failed")
        return []

    def _given(self, content: Iterable[Any]) -> Iterator[Part]:
        """The blocks that the message begins with."""
        self.given = []
        for at, block in enumerate(map(rawjson.fields, content)):
            kind = rawjson.word(block, "type")
            self.blocks = max(self.blocks, at + 1)
            self.text = None
            if kind == "text":
                yield from self._opened(at)
                if text := rawjson.word(block, "text"):
                    self._pending = True
                    yield self._lane, Text(text)
            elif kind == "tool_use":
                self._pending = True
                self._stopped[at] = _Native(self._lane, self.natives, "")
                yield from _native(self._lane, self.natives, block)
                self.natives += 1
            else:
                yield from self._ends()
            self.given.append(self._lane if kind in {"text", "tool_use"} else None)

    def _start(self, at: int, block: _Block, payload: bytes) -> Iterator[Part]:
        self.blocks = max(self.blocks, at + 1)
        self._fresh = False
        if block.type == "tool_use":
            given = rawjson.fields(rawjson.fields(payload).get("content_block")).get("input")
            native = _Native(self._lane, self.natives, rawjson.text_of(given) if rawjson.is_object(given) else "{}")
            self._calls[at] = native
            self.natives += 1
            self.text = None
            self._pending = True
            yield native.lane, CallStart(native.index, block.name, id=block.id)
            return
        self.lanes.pop(at, None)
        self.text = None
        if block.type != "text":
            yield from self._ends()
            return
        yield from self._opened(at)
        self._fresh = True
        yield from self._said(self._lane, block.text)

    def _opened(self, at: int) -> Iterator[Part]:
        """A text block is open."""
        if self._used:
            yield from self._ends()
            self._lane += 1
        self._used = True
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
            yield self._lane, Finish("stop")

    def _delta(self, at: int, delta: _Delta) -> Iterator[Part]:
        if delta.type == "text_delta":
            if at not in self.lanes:  # nobody has opened it
                yield from self._opened(at)
            yield from self._said(self.lanes[at], delta.text)
            return
        self._fresh = False
        native = self._calls.get(at) or self._stopped.get(at)
        if delta.type == "input_json_delta" and native is not None and delta.partial_json:
            native.said = True
            yield native.lane, CallPiece(native.index, delta.partial_json)
        elif delta.type == "thinking_delta" and delta.thinking:
            yield self._lane, Reasoning(delta.thinking)

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


# --- a streamed reply, written ----------------------------------------------------------------------------------------


class _Open:
    """The block that the client sees open, where it is a text or one of ours.

    call   the lane and index of a call
    said   pieces of its arguments are out
    """

    __slots__ = ("call", "index", "kind", "said")

    def __init__(self, index: int, kind: str, call: tuple[int, int] | None = None) -> None:
        self.index = index
        self.kind = kind
        self.call = call
        self.said = False


class _Stream:
    """The codec of a streamed reply. Until the first change the client has got what the upstream sent."""

    def __init__(self) -> None:
        self.bare = False
        self.shifted = False
        self._reading = _Reading()
        self._out: list[Fields] = []
        self._next = 0  # the index of the next block
        self._open: _Open | None = None
        self._held: Fields | None = None  # what opens a text block that the client has not got
        self._blank = ""  # white space at its start
        self._indices: dict[int, int | None] = {}  # where the client sees the upstream's other blocks; None: nowhere
        self._gone: dict[str, Fields] = {}  # native calls that the client has not got, by their ids
        self._left_out = 0  # how many those are
        self._made = 0  # how many calls were made
        self._lifted = False
        self._broken = False
        self._wrote = False  # the client's last text is calls that were written here

    @property
    def reply_id(self) -> str:
        """The message's own id."""
        return self._reading.reply_id

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one frame."""
        event = _event(payload)
        parts = list(self._reading.events(event, payload))
        text = parts[0][1] if len(parts) == 1 and event.type == _DELTA else None
        self.bare = isinstance(text, Text) and text.text != ""
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:
        """The frames for `parts`: what is made of the text before comes first, then the frame itself."""
        open_, piece = self._open, parts[0][1] if bare and len(parts) == 1 else None
        if open_ is not None and isinstance(piece, CallPiece) and open_.call == (parts[0][0], piece.index):
            open_.said = open_.said or piece.json != ""
            return [_PIECE % (open_.index, quote(piece.json).encode())]
        event = rawjson.fields(payload)
        kind = rawjson.word(event, "type")
        if not self.shifted:
            self.shifted = True
            self._join(kind, rawjson.number(event, "index", 0))
        self._out = []
        _HANDLERS.get(kind, _Stream._other)(self, event, parts)
        return [payload if made is event else rawjson.written(made) for made in self._out]

    def _join(self, kind: str, at: int) -> None:
        """Begin to follow the client, who has got everything before a frame of this kind."""
        text: int | None = at
        if kind == _START:
            self._next, text = at, None
        elif kind in {_DELTA, _STOP}:
            self._next = at + 1
        else:
            self._next, text = self._reading.blocks, self._reading.text
        if text is not None and text in self._reading.lanes:
            self._open = _Open(text, "text")

    # What is said

    def _say(self, kind: str, **members: Any) -> None:
        """A new event."""
        self._out.append({"type": kind, **members})

    def _pass(self, event: Fields, index: int) -> None:
        """An event of the upstream's, about the block that the client sees at `index`."""
        same = rawjson.number(event, "index", -1) == index
        self._out.append(event if same else {**event, "index": index})

    def _take(self) -> int:
        self._next += 1
        return self._next - 1

    def _begin(self, kind: str, call: tuple[int, int] | None = None, **members: Any) -> _Open:
        """A new block, behind the one that was open."""
        self._close()
        self._open = _Open(self._take(), kind, call)
        self._say(_START, index=self._open.index, content_block={"type": kind, **members})
        return self._open

    def _tell(self, index: int, kind: str, key: str, text: str) -> None:
        """A piece of a block."""
        self._say(_DELTA, index=index, delta={"type": kind, key: rawjson.string(text)})

    def _close(self) -> None:
        """The block that is open ends here.

        A call that is still open broke off, and nobody may take it for a whole one: one of which nothing came would
        look like a call without arguments.
        """
        open_, self._open, self._blank = self._open, None, ""
        if open_ is None:
            return
        if open_.call is not None:
            self._broken = True
            if not open_.said:
                self._tell(open_.index, "input_json_delta", "partial_json", "{")
        self._say(_STOP, index=open_.index)

    # What the hub's events become

    def _events(self, parts: Iterable[Part]) -> None:
        text = ""
        for lane, event in parts:
            if isinstance(event, Text):
                text += event.text
                continue
            self._text(text)
            text = ""
            self._event(lane, event)
        self._text(text)

    def _event(self, lane: int, event: Event) -> None:
        open_ = self._open
        if isinstance(event, CallStart):
            self._made += 1
            self._lifted = self._lifted or event.dialect is not None
            call = {"id": rawjson.string(event.id), "name": rawjson.string(event.name), "input": {}}
            kept = self._gone.get(event.id, {}) if event.dialect is None else {}
            self._begin("tool_use", (lane, event.index), **{**rawjson.without(kept, "type"), **call})
        elif isinstance(event, CallPiece) and open_ is not None and open_.call == (lane, event.index):
            open_.said = open_.said or event.json != ""
            self._tell(open_.index, "input_json_delta", "partial_json", event.json)
        elif isinstance(event, CallEnd) and open_ is not None and open_.call == (lane, event.index):
            open_.call = None
            self._close()
        elif isinstance(event, Reasoning) and event.moved and event.text:
            if open_ is None or open_.kind != "thinking":
                open_ = self._begin("thinking", thinking="", signature="")
            self._tell(open_.index, "thinking_delta", "thinking", event.text)

    def _text(self, text: str, event: Fields | None = None) -> None:
        """Text, in the event that brought it where it is still the same."""
        if not text:
            return
        open_ = self._open
        if open_ is None or open_.kind != "text":
            text = self._blank + text
            if text.isspace():
                self._blank = text
                return
            open_ = self._show()
        if gap := self._gap(text):
            self._tell(open_.index, "text_delta", "text", gap)
        if event is not None and rawjson.word(rawjson.fields(event.get("delta")), "text") == text:
            self._pass(event, open_.index)
        else:
            self._tell(open_.index, "text_delta", "text", text)

    def _gap(self, text: str) -> str:
        """What stands between calls that were written here and text behind them."""
        wrote, self._wrote = self._wrote, False
        return _gap(text) if wrote else ""

    def _show(self) -> _Open:
        """A text block, opened by the event that was held or by a new one."""
        held, self._held = self._held, None
        if held is None:
            return self._begin("text", text="")
        self._close()
        self._open = _Open(self._take(), "text")
        self._pass(held, self._open.index)
        return self._open

    # What the upstream's frames become

    def _began(self, event: Fields, parts: Sequence[Part]) -> None:
        """The message begins: with nothing, and then with the blocks that it brought along."""
        content = _content(event)
        if not content:
            self._other(event, parts)
            return
        self._next, self._open = 0, None
        self._out.append({**event, "message": {**rawjson.fields(event["message"]), "content": []}})
        blocks = [rawjson.fields(raw) for raw in content]
        places: dict[int | str, int] = {}  # of a text by its lane, of a call by its id
        for place, (lane, block) in enumerate(zip(self._reading.given, blocks, strict=True)):
            if lane is not None:
                is_text = rawjson.word(block, "type") == "text"
                places.setdefault(lane if is_text else rawjson.word(block, "id"), place)
        come, said, own = 0, "", ""
        for lane, part in parts:
            key: int | str = part.id if isinstance(part, CallStart) and part.dialect is None else lane
            place = places.get(key, -1) if isinstance(part, Text | Reasoning | CallStart) else -1
            for block in blocks[come : place + 1]:
                self._given(block)
                if rawjson.word(block, "type") == "text":
                    self._wrote = self._wrote or _is_behind(said, own)
                    said, own = "", rawjson.word(block, "text")
            come = max(come, place + 1)
            if isinstance(part, Text):
                said += part.text
                if self._held is not None and said == own:  # white space alone, say, but not that of a call
                    self._show()
                self._text(part.text)
            else:
                self._event(lane, part)
        for block in blocks[come:]:
            self._given(block)

    def _given(self, block: Fields) -> None:
        """Come to a block of the message's own: its text and its call are told by what has become of them."""
        kind = rawjson.word(block, "type")
        self._close()
        self._held = None
        if kind == "text":
            self._held = {"type": _START, "index": -1, "content_block": {**block, "text": ""}}
        elif kind == "tool_use":
            self._gone[rawjson.word(block, "id")] = block
            self._left_out += 1
        else:
            index = self._take()
            self._say(_START, index=index, content_block=block)
            self._say(_STOP, index=index)

    def _started(self, event: Fields, parts: Sequence[Part]) -> None:
        at, block = rawjson.number(event, "index", 0), rawjson.fields(event.get("content_block"))
        kind = rawjson.word(block, "type")
        if kind == "text":
            self._text_started(event, block, parts, self._reading.lanes.get(at, 0))
            return
        native = kind == "tool_use"
        stays = not native or any(_is_native(part) for part in parts)
        gone = next((place for place, (_, one) in enumerate(parts) if isinstance(one, Gone)), len(parts))
        self._written([part for part in parts[:gone] if not (native and _is_native(part))])
        self._close()
        self._held = None
        if stays:
            self._indices[at] = self._take()
            self._pass(event, self._next - 1)
        else:
            self._indices[at] = None
            self._gone[rawjson.word(block, "id")] = block
            self._left_out += 1
        self._events(parts[gone:])

    def _written(self, parts: Sequence[Part]) -> None:
        """What is known where another block opens: text in it is calls, for a block's own text is in its own frames."""
        self._events(parts)
        self._wrote = self._wrote or any(isinstance(event, Text) and event.text != "" for _, event in parts)

    def _text_started(self, event: Fields, block: Fields, parts: Sequence[Part], lane: int) -> None:
        own = [part for part in parts if part[0] == lane]
        self._written([part for part in parts if part[0] != lane])
        self._close()
        self._held = event
        text = rawjson.word(block, "text")
        same = bool(own) and "".join(part.text for _, part in own if isinstance(part, Text)) == text
        shown = bool(text.strip()) or any(isinstance(part, Text) and not part.text for _, part in own)
        if same and shown and not (text and self._wrote):
            self._show()
        elif text:
            self._held = {**event, "content_block": {**block, "text": ""}}
            self._events(own)

    def _told(self, event: Fields, parts: Sequence[Part]) -> None:
        at = rawjson.number(event, "index", 0)
        delta = rawjson.fields(event.get("delta"))
        if rawjson.word(delta, "type") == "text_delta" and rawjson.word(delta, "text"):
            if all(isinstance(part, Text) for _, part in parts):
                self._text("".join(part.text for _, part in parts if isinstance(part, Text)), event)
            else:
                self._events(parts)
            return
        self._events(parts)
        if at in self._reading.lanes:  # a citation, say; what it is about may be in a call by now
            if self._open is not None and self._open.kind == "text":
                self._pass(event, self._open.index)
        elif (index := self._indices.get(at, at)) is not None:
            if any(isinstance(one, Gone) for _, one in parts):
                self._broken = True  # it had begun to leave
            else:
                self._pass(event, index)

    def _stopped(self, event: Fields, parts: Sequence[Part]) -> None:
        """A text block ends where it is open; a call in its place ends when it is known how."""
        self._events(parts)
        at = rawjson.number(event, "index", 0)
        if at not in self._reading.lanes:
            index = self._indices.get(at, at)
            if index is not None:
                self._pass(event, index)
        elif self._open is not None and self._open.kind == "text":
            self._pass(event, self._open.index)
            self._open = None
        else:
            self._blank = ""

    def _finished(self, event: Fields, parts: Sequence[Part]) -> None:
        self._events(parts)
        self._close()
        delta = rawjson.fields(event.get("delta"))
        was = rawjson.word(delta, "stop_reason")
        calls = self._made + self._reading.natives - self._left_out
        told = {"lifted": self._lifted, "broken": self._broken}
        reason = _stop_reason(was, parts, **told, calls=calls) if was else was
        self._out.append(event if reason == was else {**event, "delta": _ended(delta, reason)})

    def _over(self, event: Fields, parts: Sequence[Part]) -> None:
        self._events(parts)
        self._close()
        self._out.append(event)

    def _other(self, event: Fields, parts: Sequence[Part]) -> None:
        """A ping, an error, what nobody knows: it ends nothing."""
        self._events(parts)
        self._out.append(event)


def _gap(text: str) -> str:
    """An empty line before text, as far as it does not begin with one."""
    return "\n" * max(0, 2 - (len(text) - len(text.lstrip("\n"))))


def _content(event: Fields) -> Sequence[Any]:
    """The blocks that a `message_start` brings along."""
    return rawjson.items(rawjson.fields(event.get("message")).get("content"))


def _is_native(part: Part) -> bool:
    return isinstance(part[1], CallStart) and part[1].dialect is None


type _Handler = Callable[[_Stream, Fields, Sequence[Part]], None]

_HANDLERS: dict[str, _Handler] = {
    "message_start": _Stream._began,
    _START: _Stream._started,
    _DELTA: _Stream._told,
    _STOP: _Stream._stopped,
    "message_delta": _Stream._finished,
    "message_stop": _Stream._over,
}


# --- a whole reply ----------------------------------------------------------------------------------------------------


class _Whole:
    """The codec of a reply that comes as one JSON body."""

    shifted = False

    def __init__(self) -> None:
        self.reply_id = ""
        self.bare = False

    def decode(self, payload: bytes) -> list[Part]:
        """The events of the reply, by lane. Native calls come first, so that a text that repeats one is known as it."""
        message = rawjson.fields(payload)
        if rawjson.word(message, "type") == "error" or "content" not in message:
            return []
        self.reply_id = rawjson.word(message, "id")
        rows: list[tuple[list[Part], str]] = []
        index = 0
        for lane, raw in _in_lanes(rawjson.items(message["content"])):
            block = rawjson.fields(raw)
            while lane is not None and lane >= len(rows):
                rows.append(([], ""))
            if lane is not None and rawjson.word(block, "type") == "text":
                rows[lane] = rows[lane][0], rawjson.word(block, "text")
            elif lane is not None:
                rows[lane][0].extend(_native(lane, index, block))
                index += 1
        was = rawjson.word(message, "stop_reason")
        parts: list[Part] = []
        for lane, (natives, text) in enumerate(rows):
            parts += natives
            if text:
                parts.append((lane, Text(text)))
            last = lane == len(rows) - 1
            parts.append((lane, Finish(_REASONS.get(was, was) if last else "stop")))
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:  # noqa: ARG002
        """The reply with its blocks as `parts` say."""
        message = rawjson.fields(payload)
        content = rawjson.items(message["content"])
        lanes: dict[int, list[Event]] = {}
        for of, event in parts:
            lanes.setdefault(of, []).append(event)
        natives: dict[int, list[Any]] = {}
        texts = set()
        for lane, raw in _in_lanes(content):
            if lane is not None and rawjson.word(rawjson.fields(raw), "type") == "text":
                texts.add(lane)
            elif lane is not None:
                natives.setdefault(lane, []).append(raw)
        standing = {
            lane: Standing(raws, ((lane, event) for event in lanes.get(lane, ())), _Call, _Call.stands_in)
            for lane, raws in natives.items()
        }
        lanes |= {lane: [event for _, event in stands.rest] for lane, stands in standing.items()}
        made = _Content()
        wrote = False
        for lane, raw in _in_lanes(content):
            if lane is None:
                made.blocks.append(raw)
            elif rawjson.word(rawjson.fields(raw), "type") == "text":
                events, own = lanes.pop(lane, []), rawjson.word(rawjson.fields(raw), "text")
                shown = _text_of(events)
                made.text(raw, [Text(_gap(shown)), *events] if wrote and shown else events)
                wrote = lane in standing and _is_behind(shown, own)
            elif (call := standing[lane].next()) is not None:
                made.call(call, raw)
            elif standing[lane].in_order and lane not in texts:
                made.text({}, lanes.pop(lane, []))
        made.text({}, [event for events in lanes.values() for event in events])  # text that has no block
        for stands in standing.values():
            for call in stands.behind:
                made.call(call, {})
        was = rawjson.word(message, "stop_reason")
        told = {"lifted": made.lifted, "broken": made.broken}
        reason = _stop_reason(was, parts, **told, calls=made.calls) if was else was
        if reason == was and len(made.blocks) == len(content) and all(map(is_, made.blocks, content)):
            return [payload]
        return [rawjson.written({**_ended(message, reason), "content": made.blocks})]


def _text_of(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def _is_behind(shown: str, own: str) -> bool:
    """Whether calls stand behind a text, as text."""
    return len(shown) > len(own) and not (own and shown.endswith(own))


def _in_lanes(content: Iterable[Any]) -> Iterator[tuple[int | None, Any]]:
    """Each block with its lane, None for those that are neither text nor a call of the client's tools."""
    lane, used = 0, False
    for raw in content:
        kind = rawjson.word(rawjson.fields(raw), "type")
        lane += used and kind == "text"
        used = used or kind == "text"
        yield lane if kind in {"text", "tool_use"} else None, raw


def _native(lane: int, index: int, block: Fields) -> Iterator[Part]:
    given = block.get("input")
    yield lane, CallStart(index, rawjson.word(block, "name"), id=rawjson.word(block, "id"))
    yield lane, CallPiece(index, rawjson.text_of(given) if rawjson.is_object(given) else "{}")
    yield lane, CallEnd(index)


class _Call(Told):
    """A call in a whole reply, as far as it came."""

    def block(self) -> Fields:
        """It as a block."""
        told = {"id": rawjson.string(self.start.id), "name": rawjson.string(self.start.name)}
        return {"type": "tool_use", **told, "input": rawjson.json_text(self.written or "{}")}

    def stands_in(self, raw: Any) -> bool:
        """Whether it is the native call of this block, as it came."""
        block = rawjson.fields(raw)
        own = rawjson.word(block, "id")
        given = block.get("input")
        written = rawjson.text_of(given) if rawjson.is_object(given) else "{}"
        is_same = self.start.name == rawjson.word(block, "name") and self.written == written
        return is_same and self.start.dialect is None and own in {"", self.start.id}


class _Content:
    """The blocks of a whole reply, as they are made."""

    def __init__(self) -> None:
        self.blocks: list[Any] = []
        self.calls = 0
        self.lifted = False
        self.broken = False
        self._text: list[str] = []
        self._markup: list[str] = []
        self._call: _Call | None = None
        self._thought: Fields = {}

    def text(self, like: Any, events: Iterable[Event]) -> None:
        """What has become of the text block `like`, or of text that has none ({})."""
        first, self._thought = len(self.blocks), {}
        for event in events:
            call = self._call
            if isinstance(event, Text):
                self._decide()
                self._text.append(event.text)
            elif isinstance(event, Markup):
                self._markup.append(event.text)
                if not event.text:  # what came is decided
                    self._decide()
            elif isinstance(event, CallStart) and event.dialect is not None:
                if call is not None:
                    self._decide()
                self._call = _Call(event)
            elif isinstance(event, CallPiece) and call is not None and call.start.index == event.index:
                call.pieces.append(event.json)
            elif isinstance(event, CallEnd) and call is not None and call.start.index == event.index:
                self._show(like, first)
                self.blocks.append(call.block())
                self.calls += 1
                self.lifted = True
                self._call, self._markup = None, []
            elif isinstance(event, Reasoning) and event.moved and event.text:
                self._decide()
                self._show(like, first)
                self._think(event.text)
        self._decide()
        self._show(like, first)

    def call(self, call: _Call, raw: Any) -> None:
        """A native call, or the one that stands in its place."""
        self.calls += 1
        self.lifted = self.lifted or call.start.dialect is not None
        self.blocks.append(raw if call.stands_in(raw) else call.block())

    def _decide(self) -> None:
        """A call that is still open broke off, and its text is text."""
        if self._call is not None:
            self.broken = True
            self._text += self._markup
            self._call = None
        self._markup = []

    def _show(self, like: Any, first: int) -> None:
        """A block for the text so far. What is told about it stands in the first one."""
        text, self._text = "".join(self._text), []
        if text and text == rawjson.word(rawjson.fields(like), "text"):
            self.blocks.append(like)
        elif text.strip():
            rest = rawjson.fields(like) if len(self.blocks) == first else {}
            self.blocks.append({"type": "text", **rest, "text": rawjson.string(text)})

    def _think(self, text: str) -> None:
        if not (self.blocks and self.blocks[-1] is self._thought):
            self._thought = {"type": "thinking", "thinking": rawjson.string(""), "signature": ""}
            self.blocks.append(self._thought)
        self._thought["thinking"] = rawjson.string(rawjson.word(self._thought, "thinking") + text)


# --- the wire ---------------------------------------------------------------------------------------------------------


# Tools that the provider defines and the client runs; all others of its own run at the provider and are never called.
_CLIENT_TOOLS = ("bash_", "computer_", "memory_", "text_editor_")
_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}
_RANGE = {"type": "array", "items": _INTEGER}
_EDITED = {
    "command": _STRING, "path": _STRING, "file_text": _STRING, "old_str": _STRING, "new_str": _STRING,
    "insert_line": _INTEGER, "insert_text": _STRING, "view_range": _RANGE,
}  # fmt: skip
# What is documented of those whose arguments are simple, since requests do not tell them: what they are for, their
# commands, their parameters. https://docs.claude.com/en/docs/agents-and-tools/tool-use/bash-tool and its neighbours.
_DOCUMENTED: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "bash_": (
        "Runs a command in a bash session that goes on from call to call; `restart` begins a new one.",
        (), {"command": _STRING, "restart": {"type": "boolean"}},
    ),
    "text_editor_": ("Views and edits files.", ("view", "create", "str_replace", "insert"), _EDITED),
    "memory_": (
        "Keeps files in /memories, to remember them later.",
        ("view", "create", "str_replace", "insert", "delete", "rename"),
        _EDITED | {"old_path": _STRING, "new_path": _STRING},
    ),
}  # fmt: skip
_CHOICES = {"any": "required"}


class _Anthropic:
    """The wire."""

    name = "anthropic"
    names_events = True
    lanes_follow = True
    calls_are_whole = False
    call_prefix = "toolu_"

    def form(self, path: str, content_type: str) -> Form | None:  # noqa: ARG002 - what it is, its type says
        """An event stream, or one JSON object."""
        return form_of(content_type)

    def matches(self, path: str) -> bool:
        """Any path that ends in `/v1/messages`, behind a gateway's prefix or not; on Vertex AI, Anthropic's models."""
        plain = urlsplit(path).path.rstrip("/").replace("%3A", ":").replace("%3a", ":")
        if "/publishers/anthropic/models/" in plain:
            model, _, method = plain.rpartition("/")[2].rpartition(":")
            return method in {"rawPredict", "streamRawPredict"} and model != "count-tokens"
        return plain.endswith("/v1/messages")

    def codec(self, *, streamed: bool) -> Codec:
        """A codec for one reply."""
        return _Stream() if streamed else _Whole()

    def request(self, body: bytes) -> Request:
        """Tools that the client runs, the choice, and the texts of the system prompt and the messages by role."""
        fields = rawjson.loaded(body)
        if not isinstance(fields, dict) or not isinstance(fields.get("messages"), list):
            raise ValueError("the request body has no list `messages`")
        messages = [message for message in fields["messages"] if isinstance(message, dict)]

        def texts(role: str) -> tuple[str, ...]:
            said = ("\n".join(_texts(message.get("content"))) for message in messages if message.get("role") == role)
            return tuple(text for text in said if text)

        model = fields.get("model")
        return Request(
            tools=tuple(_tools(fields.get("tools"))),
            tool_choice=_choice(fields.get("tool_choice")),
            model=model if isinstance(model, str) else "",
            system="\n".join([*_texts(fields.get("system")), *texts("system")]),
            assistant=texts("assistant"),
            quotable=tuple(_quotable(messages)),
            response_format=_is_structured(fields),
        )


def _tools(value: object) -> Iterator[Tool]:
    """The tools of a request that the client runs: its own, with a schema, and the provider's without."""
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        name, schema, about = item.get("name"), item.get("input_schema"), item.get("description")
        kind = item.get("type") or "custom"
        if not isinstance(kind, str) or not isinstance(name, str) or not name:
            continue
        if kind == "custom":
            yield Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")
        elif kind.startswith(_CLIENT_TOOLS):
            yield _documented(name, kind)


def _documented(name: str, kind: str) -> Tool:
    """A tool that the provider defines and the client runs, with its parameters where those are simple."""
    found = next((told for prefix, told in _DOCUMENTED.items() if kind.startswith(prefix)), None)
    if found is None:
        return Tool(name)
    about, commands, properties = found
    if not commands:
        return Tool(name, {"type": "object", "properties": properties}, about)
    properties = properties | {"command": {"type": "string", "enum": list(commands)}}
    return Tool(name, {"type": "object", "properties": properties, "required": ["command"]}, about)


def _choice(value: object) -> str:
    """`none`, `auto`, `required`, or the name of the tool that must be called."""
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(value, dict) and kind == "tool":
        name = value.get("name")
        return name if isinstance(name, str) else "required"
    return _CHOICES.get(kind, kind) if isinstance(kind, str) else "auto"


def _is_structured(fields: Mapping[str, Any]) -> bool:
    """Whether the request asks for JSON: `output_config.format`, in older versions `output_format`."""
    config = fields.get("output_config")
    asked = config.get("format") if isinstance(config, dict) else fields.get("output_format")
    return isinstance(asked, dict) and asked.get("type", "text") != "text"


def _texts(content: object) -> Iterator[str]:
    """The texts of a content: a string, or blocks."""
    if isinstance(content, str) and content:
        yield content
    for block in content if isinstance(content, list) else ():
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and text:
            yield text


def _quotable(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What users said, what tools gave back, and the documents among both."""
    for message in messages:
        if message.get("role") != "user":
            continue
        content = message.get("content")
        yield from _texts(content)
        pending = list(reversed(content)) if isinstance(content, list) else []
        while pending:
            block = pending.pop()
            if not isinstance(block, dict):
                continue
            source = block.get("source")
            if isinstance(source, dict) and isinstance(source.get("data"), str) and source.get("type") == "text":
                yield source["data"]
            for holder in (block, source):
                inner = holder.get("content") if isinstance(holder, dict) else None
                yield from _texts(inner)
                pending.extend(reversed(inner) if isinstance(inner, list) else ())


WIRE = _Anthropic()
