"""A streamed reply: chunks over SSE, each of which stands for itself.

A changed chunk keeps its other fields as raw JSON; a new one says what every chunk of the reply says.
"""

from collections.abc import Iterable, Sequence

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Reasoning, Text, Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.conversion import quote
from toolcalls.values.rawjson import Fields
from toolcalls.wires import STREAM_END, ArrivingCall, Part, Unguarded
from toolcalls.wires.openai_chat.calls import CUSTOM, LEGACY, call_of, function_of
from toolcalls.wires.openai_chat.choices import is_null, lane_of, other_parts, written_reason
from toolcalls.wires.openai_chat.decoding import Reading, argument_piece

_TOLD = frozenset({"content", "tool_calls", LEGACY})  # what events say of a delta


class _Renumbered:
    """A chunk's own native entries, to be written again under the indices that their events have by now."""

    def __init__(self, entries: list[Fields]) -> None:
        ids: dict[bytes, bytes] = {}
        calls: dict[tuple[bytes, bytes | None], list[Fields]] = {}
        for position, entry in enumerate(entries):
            written = b"%d" % position if is_null(entry.get("index")) else bytes(entry["index"])
            if not is_null(entry.get("id")):
                ids[written] = bytes(entry["id"])
            calls.setdefault((written, ids.get(written)), []).append(entry)
        self._calls = list(calls.values())
        self._met: list[tuple[bool, int]] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def placed(self, index: int) -> list[Fields]:
        """The deltas of the next call that the entries are about, with this index; [] when it was placed already."""
        return [{"tool_calls": [{**entry, "index": index}]} for entry in self._next(stays=True, index=index)]

    def skip(self, index: int) -> None:
        """The next call that the entries are about came with this index, and is gone."""
        self._next(stays=False, index=index)

    def _next(self, *, stays: bool, index: int) -> list[Fields]:
        place = len(self._met)
        if (stays, index) in self._met or place == len(self._calls):
            return []
        self._met.append((stays, index))
        return self._calls[place]


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
        natives = _Renumbered([rawjson.fields(entry) for entry in rawjson.items(delta.get("tool_calls"))])
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

    def _told(self, lane: int, event: Event, natives: _Renumbered) -> Iterable[Fields]:
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
        if isinstance(event, Withdrawn):
            natives.skip(event.index)
        return ()

    def _begun(self, lane: int, start: CallStart, natives: _Renumbered) -> Iterable[Fields]:
        calls = self._calls.setdefault(lane, {})
        legacy = calls[start.index] = start.form == LEGACY and not any(calls.values())
        if legacy:
            return [{LEGACY: function_of(start.name, "")}]
        if start.dialect is None and natives and start.form != LEGACY:
            return natives.placed(start.index)
        if start.form == CUSTOM:
            self._customs[lane, start.index] = (start, [])
            return ()
        self._made.add((lane, start.index))
        id_ = start.id or f"call_{start.index}"  # one of the older form after another has none
        return [{"tool_calls": [call_of(start.index, id_, start.name, "")]}]

    def _went_on(self, lane: int, piece: CallPiece, natives: _Renumbered) -> Iterable[Fields]:
        if self._calls.get(lane, {}).get(piece.index):
            return [{LEGACY: {"arguments": rawjson.string(piece.json)}}]
        if (custom := self._customs.get((lane, piece.index))) is not None:
            custom[1].append(piece.json)
            return ()
        if (lane, piece.index) in self._made:
            return [{"tool_calls": [{"index": piece.index, "function": {"arguments": rawjson.string(piece.json)}}]}]
        return natives.placed(piece.index)
