"""The decoding half: which events a frame holds."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Damage,
    Defect,
    Event,
    Fetched,
    Finish,
    Note,
    OtherContent,
    Place,
    Reasoning,
    Text,
)
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, calls_first
from toolcalls.wires.gemini.partial_args import put
from toolcalls.wires.gemini.parts import (
    RESULTS,
    arguments_of,
    has_only_content,
    is_text,
    is_thought,
    of_string,
    parts_of,
    reason_of,
    unwrapped,
)

# Finish reasons of replies whose call the server did not accept.
_MALFORMED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"})
_SAYS_NOTHING = frozenset({"text", "thought", "thoughtSignature"})  # members of a part


class _Partial:
    """A native call whose arguments are arriving."""

    __slots__ = ("args", "index")

    def __init__(self, index: int) -> None:
        self.index = index
        self.args: dict[str, Any] = {}


class Reading:
    """What is known of the reply so far.

    `can_omit`: the latest frame held one text alone, or in a stream nothing but calls.
    """

    def __init__(self, *, streamed: bool) -> None:
        self.reply_id = ""
        self.can_omit = False
        self._streamed = streamed
        self._next: dict[int, int] = {}  # by lane, the index of its next native call
        self._partial: dict[int, _Partial] = {}  # by lane
        self._ids: dict[int, set[str]] = {}  # by lane, those of its calls
        self._nameless = 0  # calls without a name

    def events(self, payload: bytes) -> list[Part]:
        """The events of one `GenerateContentResponse`."""
        self.can_omit = False
        reply, _ = unwrapped(payload)
        candidates = rawjson.items(reply.get("candidates"))
        if not candidates:
            blocked = rawjson.word(rawjson.fields(reply.get("promptFeedback")), "blockReason")
            return [(0, OtherContent())] if blocked else []
        self.reply_id = self.reply_id or rawjson.word(reply, "responseId") or "-"
        parts: list[Part] = []
        for place, raw in enumerate(candidates):
            candidate = rawjson.fields(raw)
            lane = rawjson.number(candidate, "index", place)
            events = list(self._events(lane, candidate))
            if not self._streamed:
                events = calls_first(events)
            parts.extend((lane, event) for event in events)
        self.can_omit = (
            len(candidates) == 1 and self._is_alone(parts) and has_only_content(reply, rawjson.fields(candidates[0]))
        )
        return parts

    def _is_alone(self, parts: Sequence[Part]) -> bool:
        if len(parts) == 1 and isinstance(parts[0][1], Text):
            return True
        calls = (isinstance(event, CallStart | CallPiece | CallEnd | Damage) for _, event in parts)
        return self._streamed and bool(parts) and all(calls)

    def _events(self, lane: int, candidate: Fields) -> Iterator[Event]:
        texts = apart = False  # there was a text; there was something else after it
        for place, part in enumerate(parts_of(candidate)):
            text = rawjson.word(part, "text")
            if "functionCall" in part:
                yield from self._native(lane, rawjson.fields(part["functionCall"]), place)
            elif fetched := rawjson.strings(next((part[key] for key in RESULTS if key in part), None)):
                yield from map(Fetched, fetched)
            elif text and is_thought(part):
                yield Reasoning(text)
            elif not text and part.keys() - _SAYS_NOTHING:
                yield OtherContent()
            elif text:
                if apart:
                    yield Place(place)
                yield Text(text)
            says = is_text(part)
            texts, apart = texts or says, texts and not (says and text) and (apart or not says)
        grounding = rawjson.fields(candidate.get("groundingMetadata"))
        for chunk in map(rawjson.fields, rawjson.items(grounding.get("groundingChunks"))):
            yield from map(Fetched, rawjson.strings(chunk.get("retrievedContext")))
        reason = rawjson.word(candidate, "finishReason")
        if reason in _MALFORMED:
            said = len(rawjson.word(candidate, "finishMessage"))
            told = f", with {said:,} characters about it" if said else ""
            yield Note("malformed_function_call", f"{reason}{told}", warns=True)
        if reason:
            yield Finish(reason_of(reason))

    def _native(self, lane: int, call: Fields, place: int) -> Iterator[Event]:
        """A native call, or the next part of one: without a name it goes on, without `willContinue` it ends.

        `place`: its part's number.
        """
        name = rawjson.word(call, "name")
        partial = self._partial.get(lane)
        goes_on = rawjson.value(call.get("willContinue")) is True
        if name:
            index = self._next.get(lane, 0)
            self._next[lane] = index + 1
            id_, ids = rawjson.word(call, "id"), self._ids.setdefault(lane, set())
            if "id" in call and not id_:  # one that is not there is sound
                yield Damage(index, Defect("no_id"))
            yield CallStart(index, name, id=id_, entry=place, takes="object")
            if id_ and id_ in ids:
                yield Damage(index, Defect("repeated_id"))
            ids.add(id_)
            if not goes_on and "partialArgs" not in call:
                if isinstance(given := rawjson.value(call.get("args")), str):
                    yield Damage(index, of_string(given))
                yield CallPiece(index, arguments_of(call), entry=place)
                yield CallEnd(index)
                return
            partial = self._partial[lane] = _Partial(index)
        if partial is None:
            self._nameless += 1
            yield Damage(-self._nameless, Defect("no_name"))
            return
        if rawjson.is_object(call.get("args")):  # not beside pieces, but a client would take them
            partial.args.update(rawjson.value(call["args"]) or {})
        for raw in rawjson.items(call.get("partialArgs")):
            put(partial.args, rawjson.fields(raw))
        if goes_on:
            yield CallPiece(partial.index, "")  # says whose part this is
        else:
            del self._partial[lane]
            yield CallPiece(partial.index, json.dumps(partial.args, ensure_ascii=False))
            yield CallEnd(partial.index)
