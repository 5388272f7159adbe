"""The decoding half: which events a reply or one of its chunks holds.

Both are decoded with types, only the fields that matter.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal

import msgspec

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    CallUpdate,
    Damage,
    Defect,
    Event,
    Fetched,
    Finish,
    OtherContent,
    Reason,
    Reasoning,
    Text,
    Unplaced,
)
from toolcalls.values import rawjson
from toolcalls.values.conversion import escape
from toolcalls.values.json_tokenizer import Nesting
from toolcalls.values.rawjson import Fields
from toolcalls.wires import STREAM_END, Part
from toolcalls.wires.mending import Mending
from toolcalls.wires.openai_chat.calls import CUSTOM, INPUT_BEGINS, INPUT_ENDS, LEGACY
from toolcalls.wires.openai_chat.choices import content_events, fetched, reason_of
from toolcalls.wires.openai_chat.entry_places import EntryPlaces

# What every chunk of a reply repeats; other fields of the first one (`x_groq`, `prompt_token_ids`) come once.
_REPEATED = frozenset({"id", "object", "created", "model", "system_fingerprint", "service_tier", "provider"})
_SMALL = 16 * 1024  # bytes of a payload whose typed form is remembered for a moment
_NOTHING_ELSE = (None, None, None, None, None)
_LEGACY_PLACE = -(1 << 53)  # where such calls are remembered: they have no `index`, and some servers' others have -1


class ObjectText(str):
    """Arguments that came as an object, as it is written; the API has a string for them."""

    __slots__ = ()


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Custom(msgspec.Struct):
    name: str | None = None
    input: str | None = None


class Call(msgspec.Struct):
    """An entry of `tool_calls`: a call, or a piece of one."""

    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    custom: _Custom | None = None


class Message(msgspec.Struct):
    """A message, or a delta of one."""

    role: str | None = None
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    thinking: Any = None
    tool_calls: list[Call] | None = None
    function_call: _Function | None = None
    annotations: Any = None
    executed_tools: Any = None
    refusal: Any = None
    audio: Any = None
    images: Any = None

    @property
    def thought(self) -> str:
        """The model's reasoning; servers have several names for its field."""
        said = self.reasoning_content or self.reasoning or self.thinking
        return said if isinstance(said, str) else ""

    def others(self) -> Iterator[Event]:
        """What the provider's own tools gave back, and whether there is anything else than text and calls."""
        if self.annotations or self.executed_tools:
            yield from map(Fetched, fetched(self.annotations, self.executed_tools))
        if self.refusal or self.audio or self.images or self.executed_tools:
            yield OtherContent()


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: Message | None = None
    message: Message | None = None
    finish_reason: str | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice] = []
    id: str | None = None
    usage: Any = None


_decode_reply = msgspec.json.Decoder(_Reply).decode


def reply_of(payload: bytes) -> _Reply | None:
    """The typed reply or chunk, None for a payload that is none. It is shared, so nobody changes it.

    What mends a chunk asks first, and what reads it asks for the same one, mostly unchanged, right after.
    """
    return latest(payload) if len(payload) <= _SMALL else _typed(payload)


@lru_cache(maxsize=8)
def latest(payload: bytes) -> _Reply | None:
    """The reply of a small payload, remembered over replies and sessions for as long as no eight others came."""
    return _typed(payload)


def _typed(payload: bytes) -> _Reply | None:
    try:
        return _with_objects(_decode_reply(payload), payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:  # lone surrogates and bytes that are no UTF-8, which msgspec refuses; clients put U+FFFD for the latter
        loaded = json.loads(payload.decode(errors="replace"), object_pairs_hook=_members)
        return _with_objects(_fitting(_Reply, loaded), payload) if isinstance(loaded, dict) else None
    except (ValueError, LookupError, RecursionError, msgspec.MsgspecError):
        return None


_LISTS: dict[str, type[msgspec.Struct]] = {"choices": _Choice, "tool_calls": Call}
_OBJECTS: dict[str, type[msgspec.Struct]] = {
    "delta": Message, "message": Message, "function_call": _Function, "function": _Function, "custom": _Custom,
}  # fmt: skip


def _fitting[Kind: msgspec.Struct](kind: type[Kind], given: object) -> Kind:
    """As much of an object as has the types of its kind: SDKs look at no member that they do not need.

    A call whose `index` is no number has -1, which is none of a place either.
    """
    if not isinstance(given, dict):
        return kind()
    made: dict[str, Any] = {"index": -1} if kind is Call and given.get("index") is not None else {}
    for field in msgspec.structs.fields(kind):
        value, name = given.get(field.name), field.name
        if name in _LISTS and isinstance(value, list):
            made[name] = [_fitting(_LISTS[name], one) for one in value]
        elif name in _OBJECTS and isinstance(value, dict):
            made[name] = _fitting(_OBJECTS[name], value)
        elif value is not None:
            with suppress(msgspec.ValidationError):
                made[name] = msgspec.convert(value, field.type)
    return kind(**made)


def _members(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys, none of which is one of ours, can be encoded."""
    return {key.encode(errors="replace").decode(): value for key, value in pairs}


def _with_objects(reply: _Reply, payload: bytes) -> _Reply:
    """The reply with arguments that are objects as they are written, so that numbers keep their spelling."""
    if b'"arguments"' not in payload:
        return reply
    for place, choice in enumerate(reply.choices):
        for key, message in (("delta", choice.delta), ("message", choice.message)):
            if message and message.function_call and isinstance(message.function_call.arguments, dict):
                function = rawjson.fields(_written(payload, place, key)[LEGACY])
                message.function_call.arguments = ObjectText(rawjson.text_of(function["arguments"]))
            for number, call in enumerate(message.tool_calls or () if message else ()):
                if call.function is not None and isinstance(call.function.arguments, dict):
                    entry = rawjson.items(_written(payload, place, key)["tool_calls"])[number]
                    function = rawjson.fields(rawjson.fields(entry)["function"])
                    call.function.arguments = ObjectText(rawjson.text_of(function["arguments"]))
    return reply


def _written(payload: bytes, place: int, key: str) -> Fields:
    choices = rawjson.items(rawjson.fields(payload)["choices"])
    return rawjson.fields(rawjson.fields(choices[place])[key])


def _arguments(function: _Function) -> str:
    """The arguments as JSON text; some servers send the object itself."""
    written = function.arguments
    return json.dumps(written, ensure_ascii=False) if isinstance(written, dict) else written or ""


def _name(call: Call) -> str:
    """The name that an entry tells, "" for none."""
    return (call.function and call.function.name) or (call.custom and call.custom.name) or ""


class _Native:
    """A native call that is arriving. `index` is its events'; `form` is that of a custom tool's, once that is known."""

    def __init__(self, index: int, form: str = "") -> None:
        self.index = index
        self.id = ""  # the latest that came for it
        self.name = ""
        self.early = ""  # arguments that came in front of its name, in other frames
        self.unsaid = ""
        self.open = False
        self.stray = False  # pieces of it came that no client knows as its own
        self.form = form
        self._nesting = Nesting()
        self._begun = False  # there are arguments

    @property
    def in_string(self) -> bool:
        return self._nesting.quote != "" and not self._nesting.escaped

    @property
    def unclosed(self) -> bool:
        """Whether more of its arguments must come. A custom tool's are whole where its reply says so."""
        return self.form != CUSTOM and not (self._begun and self._nesting.depth <= 0)

    def is_followed_by(self, call: Call, name: str, mending: Mending | None) -> bool:
        """Whether an entry under the same index begins another call: it has an id and a name of its own, and all of
        this one is there, or its name is another. Some servers make a new id for each piece of one call.

        Where calls are mended, so that the client hears of two, it has to be sure.
        """
        if not (name and self.name) or (call.id and call.id == self.id):
            return False
        if mending is None:
            return bool(call.id and self.id) and (name != self.name or not self.unclosed)
        if not self._begun and call.id:  # a tool without parameters was called, and nothing came for them
            return mending.takes_nothing(self.name) and name != self.name and mending.declared(name)
        whole = self._begun and self._nesting.depth <= 0 and not self._nesting.quote
        return whole and (bool(call.id) or name != self.name)

    def damages(self, *codes: Reason) -> Iterator[Damage]:
        """The damage found in it, as events."""
        return (Damage(self.index, Defect(code)) for code in codes)

    def named(self, name: str) -> CallUpdate | None:
        """More of its name, which comes in pieces, or once more with every chunk; None for what says nothing new."""
        if name in {"", self.name}:
            return None
        self.name += name
        return CallUpdate(self.name, None, name)

    def take(self, call: Call) -> None:
        """Add to its arguments."""
        if call.custom is None:
            piece = _arguments(call.function or _Function())
            self._nesting.feed(piece)
            self._begun = self._begun or bool(piece.strip())
            self.unsaid += piece
            return
        if not self.form:
            self.form = CUSTOM
            self.unsaid = INPUT_BEGINS
        self.unsaid += escape(call.custom.input or "")

    def ends(self) -> Iterator[Event]:
        """The events of its end."""
        self.open = False
        if self.form == CUSTOM:
            yield CallPiece(self.index, INPUT_ENDS)
        yield CallEnd(self.index)


def _of_id(id_: str, ids: set[str], form: str) -> Iterator[Reason]:
    """What is wrong with the id of a call that begins. One of the older form has none."""
    if not id_ and form != LEGACY:
        yield "no_id"
    elif id_ and id_ in ids:
        yield "repeated_id"
    ids.add(id_)


def _more(call: Call, native: _Native) -> Literal["", "perhaps", "likely"]:
    """Whether more of the name may come after the entry that a call begins with."""
    if native.early or native.unsaid:
        return ""
    begun = call.function is not None and call.function.arguments is not None
    return "perhaps" if begun else "likely"


def native_call(index: int, call: Call, ids: set[str], form: str = "") -> Iterator[Event]:
    """The events of a whole call of a message. `ids`: those of the calls before it; `form`: its own."""
    native = _Native(index, form)
    native.take(call)
    yield CallStart(index, _name(call), id=call.id or "", form=native.form, entry=index)
    if call.function is not None and isinstance(call.function.arguments, ObjectText):
        yield from native.damages("object_arguments")
    yield from native.damages(*_of_id(call.id or "", ids, form))
    yield CallPiece(index, native.unsaid, entry=index)
    yield from native.ends()


def argument_piece(payload: bytes) -> tuple[int, str] | None:
    """The lane and the piece of arguments of a chunk with one entry of one choice; None for any other."""
    reply = reply_of(payload)
    if reply is None or len(reply.choices) != 1:
        return None
    choice = reply.choices[0]
    entries = choice.delta.tool_calls if choice.delta is not None else None
    if choice.finish_reason is not None or entries is None or len(entries) != 1:
        return None
    function = entries[0].function
    piece = function.arguments if function is not None else None
    return (choice.index or 0, piece) if isinstance(piece, str) and not isinstance(piece, ObjectText) else None


class Reading:
    """What is known of a streamed reply so far.

    can_omit   the latest chunk held nothing but text of one lane
    outer      what every chunk says beside its choices
    mending    what the stage that mends calls knows of the tools; None where none does
    """

    def __init__(self) -> None:
        self.mending: Mending | None = None
        self.reply_id = ""
        self.can_omit = False
        self.outer: Fields = {}
        self._natives: dict[tuple[int, int], _Native] = {}  # the latest one at each lane and index
        self._indices: dict[int, set[int]] = {}  # by lane, those that calls have
        self._ids: dict[int, set[str]] = {}  # by lane, those that calls have
        self._free: dict[int, int] = {}  # by lane, the one after the highest of them
        self._unfinished: dict[int, bool] = {}  # by lane; False once it has ended, and never True again
        self._places: dict[int, EntryPlaces] = {}  # by lane, those of its entries

    def events(self, payload: bytes) -> list[Part]:
        """The events of one chunk. `[DONE]` ends every choice that has not said why it ended."""
        self.can_omit = False
        if payload == STREAM_END:
            return [
                part
                for lane, open_ in self._unfinished.items()
                for part in self._over(lane, says="" if open_ else None)
            ]
        reply = reply_of(payload)
        if reply is None or not reply.choices:
            return []
        if not self.reply_id:
            self.reply_id = reply.id or "-"
            self.outer = {key: raw for key, raw in rawjson.fields(payload).items() if key in _REPEATED}
        choice = reply.choices[0]
        delta = choice.delta
        if (
            len(reply.choices) == 1
            and reply.usage is None
            and choice.finish_reason is None
            and delta is not None
            and isinstance(delta.content, str)
            and delta.content
            and (delta.role, delta.tool_calls, delta.function_call, delta.reasoning_content, delta.reasoning)
            == _NOTHING_ELSE
            and not (delta.annotations or delta.executed_tools or delta.refusal or delta.audio or delta.images)
            and delta.thinking is None
        ):
            self.can_omit = True
            self._unfinished.setdefault(choice.index or 0, True)
            return [(choice.index or 0, Text(delta.content))]
        return [part for place, choice in enumerate(reply.choices) for part in self._choice(place, choice)]

    def _choice(self, place: int, choice: _Choice) -> Iterable[Part]:
        lane, delta = place if choice.index is None else choice.index, choice.delta
        self._unfinished.setdefault(lane, True)
        if delta is not None:
            for event in delta.others():
                yield lane, event
            if thought := delta.thought:
                yield lane, Reasoning(thought)
            for event in content_events(delta.content):
                yield lane, event
            for position, call in enumerate(delta.tool_calls or ()):
                index = position if call.index is None else call.index
                if not self._places.setdefault(lane, EntryPlaces()).keeps(index, named=bool(_name(call))):
                    yield lane, Unplaced()
                for event in self._native(lane, index, call, position):
                    yield lane, event
            if delta.function_call is not None:
                for event in self._native(lane, _LEGACY_PLACE, Call(function=delta.function_call), 0):
                    yield lane, event
        if choice.finish_reason:
            yield from self._ended(lane, reason_of(choice.finish_reason))

    def _native(self, lane: int, index: int, call: Call, position: int) -> Iterable[Event]:
        name = _name(call)
        native = self._natives.get((lane, index))
        glued = native is not None and native.is_followed_by(call, name, self.mending)
        if native is None or glued:
            # Some servers number no calls, or all of them 0: another id is another call.
            if native is not None and native.open:
                yield from native.ends()
            taken = self._indices.setdefault(lane, set())
            form = LEGACY if index == _LEGACY_PLACE else ""
            free = self._free.get(lane, 0)
            native = self._natives[lane, index] = _Native(free if form or index in taken else index, form)
            taken.add(native.index)
            self._free[lane] = max(free, native.index + 1)
        else:
            if native.id and call.id and native.name:
                yield from native.damages("repeated_id" if call.id == native.id else "changed_id")
            if native.open and name and name == native.name:
                yield from native.damages("repeated_name")
        if index != _LEGACY_PLACE and native.index != call.index:
            yield from native.damages("no_index" if call.index is None else "glued_calls")
        native.id = call.id or native.id
        native.take(call)
        begins = not native.open and bool(name)
        update = native.named(name)
        if begins:
            native.open, update = True, None
            more = _more(call, native)
            yield CallStart(native.index, native.name, id=native.id, form=native.form, more=more, entry=position)
            yield from native.damages(*_of_id(native.id, self._ids.setdefault(lane, set()), native.form))
        elif not native.name:
            yield from native.damages("no_name")
        if call.function is not None and isinstance(call.function.arguments, ObjectText):
            yield from native.damages("object_arguments")
        if native.open and native.early:
            yield CallPiece(native.index, native.early, entry=-1)
            native.early = ""
        # An entry that adds nothing is an event, too: where its call does not stay a native one, nor does the entry.
        if native.open and (native.unsaid or not begins):
            yield CallPiece(native.index, native.unsaid, update, position)
            native.unsaid = ""
        yield from self._stray(lane, index, native)

    def _stray(self, lane: int, index: int, native: _Native) -> Iterator[Event]:
        """Arguments of a call that is not open: agents add them to the latest one. Before the first one they wait for
        their name, which some servers send late.
        """
        if not native.open and native.unsaid:
            native.early, native.unsaid = native.early + native.unsaid, ""
        if not native.open and native.early.strip():
            waits = not (native.name or self._ids.get(lane)) and (index >= 0 or index == _LEGACY_PLACE)
            native.stray = native.stray or not waits
            if not native.stray:
                yield Unplaced(waits=native.index)
        if native.stray:
            yield Unplaced()

    def _ended(self, lane: int, reason: str) -> Iterable[Part]:
        """A choice says why it ended. Some servers do with every chunk, so a call goes on that is not whole by now."""
        self._unfinished[lane] = False
        for native in self._open(lane):
            if not native.unclosed:
                yield from ((lane, event) for event in native.ends())
        yield (lane, Finish(reason))

    def _over(self, lane: int, says: str | None) -> Iterable[Part]:
        """The stream has ended; `says` is the reason that a choice is given which had none, None where it had one."""
        for native in self._open(lane):
            yield from ((lane, event) for event in native.ends())
        if says is not None:
            self._unfinished[lane] = False
            yield (lane, Finish(says))

    def native(self, lane: int, index: int) -> _Native | None:
        """The native call whose events have this index."""
        return next((one for (of, _), one in self._natives.items() if of == lane and one.index == index), None)

    def is_legacy(self, lane: int) -> bool:
        """Whether the native call of a choice is of the older form."""
        places = [place for of, place in self._natives if of == lane]
        return places == [_LEGACY_PLACE]

    def _open(self, lane: int) -> list[_Native]:
        return [native for (of, _), native in self._natives.items() if of == lane and native.open]

    # Encoding
