"""A streamed reply: chunks over SSE, each of which stands for itself.

A changed chunk keeps its other fields as raw JSON; a new one says what every chunk of the reply says.
"""

from collections.abc import Iterable, Sequence

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Reasoning, Text
from toolcalls.values import rawjson
from toolcalls.values.conversion import quote
from toolcalls.values.rawjson import Fields
from toolcalls.wires import STREAM_END, ArrivingCall, Part, Unguarded
from toolcalls.wires.mending import Mending
from toolcalls.wires.openai_chat.calls import CUSTOM, LEGACY, call_of, function_of
from toolcalls.wires.openai_chat.choices import is_null, lane_of, other_parts, written_reason
from toolcalls.wires.openai_chat.decoding import Reading, argument_piece

_EMPTY = rawjson.string("")
_TOLD = frozenset({"content", "tool_calls", LEGACY})  # what events say of a delta


class _Entries:
    """The calls of a chunk's own, to be written as their events have them by now."""

    def __init__(self, delta: Fields) -> None:
        self._entries = [rawjson.fields(entry) for entry in rawjson.items(delta.get("tool_calls"))]
        self._legacy = rawjson.fields(delta.get(LEGACY))
        self._begun: dict[int, Fields] = {}  # those that were written with the start of their calls
        self._begun_legacy: Fields | None = None

    def start(self, event: CallStart) -> Iterable[Fields] | None:
        """The delta for the start of a call; None where it is in none of them."""
        if not 0 <= event.entry < len(self._entries):
            return None
        entry = self._entries[event.entry]
        if event.mended:
            entry = {**entry, "id": rawjson.string(event.id)} if event.id != rawjson.word(entry, "id") else entry
            entry = _with_function(entry, {"name": rawjson.string(event.name)})
        self._begun[event.entry] = made = {**entry, "index": event.index}
        return [{"tool_calls": [made]}]

    def start_legacy(self, event: CallStart) -> Iterable[Fields]:
        """The delta for the start of a call of the older form, of this chunk or made anew."""
        own = self._legacy if event.dialect is None else {}
        made = {**own, **function_of(event.name, "")}
        self._begun_legacy = made if own else None
        return [{LEGACY: made}]

    def piece_legacy(self, event: CallPiece) -> Iterable[Fields]:
        """The deltas for a piece of such a call."""
        told = {"arguments": rawjson.string(event.json)}
        if self._begun_legacy is None:
            return [{LEGACY: told}]
        self._begun_legacy |= told
        self._begun_legacy = None
        return ()

    def piece(self, event: CallPiece) -> Iterable[Fields]:
        """The deltas for a piece of a call."""
        told = {"arguments": rawjson.string(event.json)}
        if (begun := self._begun.get(event.entry)) is not None:
            if event.mended:
                begun |= _with_function(begun, told)
            return ()
        if 0 <= event.entry < len(self._entries):
            entry = self._entries[event.entry]
            if event.mended:
                function = rawjson.fields(entry.get("function"))
                function = function if event.update is not None else rawjson.without(function, "name")
                entry = _with_function({**rawjson.without(entry, "id"), "function": function}, told)
            return [{"tool_calls": [{**entry, "index": event.index}]}]
        return [{"tool_calls": [{"index": event.index, "function": told}]}] if event.mended else ()


def _with_function(entry: Fields, told: Fields) -> Fields:
    """An entry whose function says this. Arguments that are empty are not said where they were not."""
    function = rawjson.fields(entry.get("function"))
    changed = {key: raw for key, raw in told.items() if rawjson.value(function.get(key, _EMPTY)) != rawjson.value(raw)}
    return {**entry, "function": {**function, **changed}} if changed else entry


class Stream(Unguarded):
    """The codec of a streamed reply."""

    must_encode = False  # a chunk stands for itself

    def __init__(self) -> None:
        self.can_omit = False
        self._reading = Reading()
        self._made: set[tuple[int, int]] = set()
        self._calls: dict[int, dict[int, bool]] = {}  # by lane, those that the client has; True for the older form
        self._customs: dict[tuple[int, int], tuple[CallStart, list[str]]] = {}  # made anew; sent in one piece
        self._around: dict[int, tuple[bytes, bytes, bytes]] = {}

    @property
    def reply_id(self) -> str:
        return self._reading.reply_id

    def mends(self, mending: Mending) -> None:
        self._reading.mending = mending

    def decode(self, payload: bytes) -> list[Part]:
        parts = self._reading.events(payload)
        self.can_omit = self._reading.can_omit
        return parts

    def arriving(self, lane: int, index: int) -> ArrivingCall | None:
        return self._reading.native(lane, index)

    def argument_piece(self, payload: bytes) -> tuple[int, str] | None:
        return argument_piece(payload)

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        """The chunks for `parts`: the frame's own fields stay with its first one, finish and usage with its last."""
        if can_omit and not parts:
            return []
        if (
            can_omit
            and len(parts) == 1
            and isinstance(piece := parts[0][1], CallPiece)
            and (parts[0][0], piece.index) in self._made
        ):
            return [self._piece(parts[0][0], piece)]
        if payload == STREAM_END:
            return [*self._chunks(self._reading.outer, parts), STREAM_END]
        return self._chunks(rawjson.fields(payload), parts)

    def _piece(self, lane: int, piece: CallPiece) -> bytes:
        """The commonest new chunk of all: a piece of arguments between three strings that never change."""
        if lane not in self._around:
            outer = rawjson.written(self._reading.outer)[:-1] + (b"," if self._reading.outer else b"")
            self._around[lane] = (
                outer + b'"choices":[{"index":%d,"delta":{"tool_calls":[{"index":' % lane,
                b',"function":{"arguments":',
                b'}}]},"finish_reason":null}]}',
            )
        head, middle, tail = self._around[lane]
        return b"".join((head, b"%d" % piece.index, middle, quote(piece.json).encode(), tail))

    def _chunks(self, chunk: Fields, parts: Sequence[Part]) -> list[bytes]:
        choices = map(rawjson.fields, rawjson.items(chunk.get("choices")))
        own = {lane_of(choice, place): choice for place, choice in enumerate(choices)}
        outer = rawjson.without(chunk, "choices", "usage")
        made: list[Fields] = []
        for lane in dict.fromkeys([*own, *(lane for lane, _ in parts)]):
            choice = own.get(lane, {})
            events = [event for of, event in parts if of == lane]
            deltas, reason = self._deltas(lane, choice, events)
            rest = rawjson.without(choice, "index", "delta", "finish_reason", "logprobs")
            if self._calls.get(lane):
                rest.pop("message", None)  # MiniMax says all of it again, and a call's markup is in it
            for delta in deltas:
                shown = {"delta": delta} if delta or "delta" in choice or "message" not in rest else {}
                made.append({**outer, "choices": [{"index": lane, **shown, **rest, "finish_reason": None}]})
            if reason is not None:
                legacy = next(iter(self._calls.get(lane, {}).values()), self._reading.is_legacy(lane))
                made[-1]["choices"][0]["finish_reason"] = written_reason(choice, reason, legacy=legacy)
        if not is_null(chunk.get("usage")):
            made = made or [{**outer, "choices": []}]
            made[-1]["usage"] = chunk["usage"]
        return [rawjson.written(one) for one in made]

    def _deltas(self, lane: int, choice: Fields, events: Sequence[Event]) -> tuple[list[Fields], str | None]:
        """One choice's deltas, in order, and its finish reason."""
        delta = rawjson.fields(choice.get("delta"))
        natives = _Entries(delta)
        deltas = [made for event in events for made in self._told(lane, event, natives)]
        reason = next((event.reason or None for event in reversed(events) if isinstance(event, Finish)), None)
        if kept := other_parts(delta.get("content")):
            deltas.insert(0, {"content": kept})
        rest = {key: raw for key, raw in delta.items() if key not in _TOLD and not is_null(raw)}
        if rest and deltas and ("content" in deltas[0] or "role" not in rest):
            deltas[0] = {**rest, **deltas[0]}
        elif rest:
            deltas.insert(0, {**rest, "content": ""} if "role" in rest else rest)
        if reason is not None and (not deltas or "tool_calls" in deltas[-1]):
            deltas.append({})
        return deltas, reason

    def _told(self, lane: int, event: Event, natives: _Entries) -> Iterable[Fields]:
        """The deltas for one event. `natives`: the chunk's own entries."""
        if isinstance(event, Text):
            return [{"content": rawjson.string(event.text)}]
        if isinstance(event, Reasoning) and event.moved:
            return [{"reasoning_content": rawjson.string(event.text)}]
        if isinstance(event, CallStart):
            return self._begun(lane, event, natives)
        if isinstance(event, CallPiece):
            return self._went_on(lane, event, natives)
        if isinstance(event, CallEnd) and (lane, event.index) in self._customs:
            start, pieces = self._customs.pop((lane, event.index))
            return [{"tool_calls": [call_of(start.index, start.id, start.name, "".join(pieces), start.form)]}]
        return ()

    def _begun(self, lane: int, start: CallStart, natives: _Entries) -> Iterable[Fields]:
        calls = self._calls.setdefault(lane, {})
        legacy = calls[start.index] = start.form == LEGACY and not any(calls.values())
        if legacy:
            return natives.start_legacy(start)
        if start.dialect is None and start.form != LEGACY and (made := natives.start(start)) is not None:
            return made
        if start.form == CUSTOM:
            self._customs[lane, start.index] = (start, [])
            return ()
        self._made.add((lane, start.index))
        id_ = start.id or f"call_{start.index}"  # one of the older form after another has none
        return [{"tool_calls": [call_of(start.index, id_, start.name, "")]}]

    def _went_on(self, lane: int, piece: CallPiece, natives: _Entries) -> Iterable[Fields]:
        if self._calls.get(lane, {}).get(piece.index):
            return natives.piece_legacy(piece)
        if (custom := self._customs.get((lane, piece.index))) is not None:
            custom[1].append(piece.json)
            return ()
        if (lane, piece.index) in self._made:
            return [{"tool_calls": [{"index": piece.index, "function": {"arguments": rawjson.string(piece.json)}}]}]
        return natives.piece(piece)
