"""A reply that comes as one JSON body."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Reasoning, Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, WholeCodec, calls_first
from toolcalls.wires.openai_chat.calls import LEGACY, call_of, function_of
from toolcalls.wires.openai_chat.choices import (
    content_events,
    is_null,
    lane_of,
    other_parts,
    reason_of,
    written_reason,
)
from toolcalls.wires.openai_chat.decoding import Call, Message, native_call, reply_of


class Whole(WholeCodec):
    """The codec of a whole reply."""

    def decode(self, payload: bytes) -> list[Part]:
        """The events of the reply."""
        reply = reply_of(payload)
        if reply is None:
            return []
        self.reply_id = reply.id or "-"
        parts: list[Part] = []
        for place, choice in enumerate(reply.choices):
            lane = place if choice.index is None else choice.index
            parts.extend((lane, event) for event in calls_first(_told(choice.message or Message())))
            parts.append((lane, Finish(reason_of(choice.finish_reason))))
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:  # noqa: ARG002
        body = rawjson.fields(payload)
        choices: list[Fields] = []
        for place, choice in enumerate(map(rawjson.fields, rawjson.items(body.get("choices")))):
            lane = lane_of(choice, place)
            events = [event for of, event in parts if of == lane]
            message = _message(rawjson.fields(choice.get("message")), events)
            reason = next((event.reason for event in events if isinstance(event, Finish)), "")
            first = next((event for event in events if isinstance(event, CallStart)), None)
            legacy = first is not None and first.form == LEGACY
            written = written_reason(choice, reason, legacy=legacy) if reason else None
            choices.append({**choice, "message": message, "finish_reason": written})
        return [rawjson.written({**body, "choices": choices})]


def _told(message: Message) -> Iterator[Event]:
    yield from message.others()
    if thought := message.thought:
        yield Reasoning(thought)
    yield from content_events(message.content)
    calls = message.tool_calls or []
    ids: set[str] = set()
    for index, call in enumerate(calls):
        yield from native_call(index, call, ids)
    if message.function_call is not None:
        yield from native_call(len(calls), Call(function=message.function_call), ids, LEGACY)


def _message(message: Fields, events: Sequence[Event]) -> Fields:
    """A message as its events say, with what else it holds."""
    natives = [rawjson.fields(call) for call in rawjson.items(message.get("tool_calls"))]
    legacy, rest = _first_legacy(events, message.get(LEGACY))
    calls = _calls(rest, natives)
    made = rawjson.without(message, "tool_calls", LEGACY)
    text = "".join(event.text for event in events if isinstance(event, Text))
    made["content"] = rawjson.string(text) if text or not (calls or legacy) else None
    if kept := other_parts(message.get("content")):
        made["content"] = [*kept, *([{"type": "text", "text": made["content"]}] if text else [])]
    if moved := "".join(event.text for event in events if isinstance(event, Reasoning) and event.moved):
        thought = next((event.text for event in events if isinstance(event, Reasoning) and not event.moved), "")
        made["reasoning_content"] = rawjson.string(thought + moved)
    if calls:
        made["tool_calls"] = calls
    if legacy is not None:
        made[LEGACY] = legacy
    return made


def _first_legacy(events: Sequence[Event], came: msgspec.Raw | None) -> tuple[Any, Sequence[Event]]:
    """The call of the older form, None for none, and the events without its own. A message can hold one; the one that
    came goes before others, as it came where nobody changed it.
    """
    starts = [event for event in events if isinstance(event, CallStart) and event.form == LEGACY]
    if not starts:
        return None, events
    start = next((event for event in starts if event.dialect is None), starts[0])
    pieces = [event for event in events if isinstance(event, CallPiece) and event.index == start.index]
    rest = [
        event
        for event in events
        if not (isinstance(event, CallStart | CallPiece | CallEnd) and event.index == start.index)
    ]
    mended = start.mended or any(piece.mended for piece in pieces)
    function = function_of(start.name, "".join(piece.json for piece in pieces))
    return came if start.dialect is None and not (is_null(came) or mended) else function, rest


def _calls(events: Sequence[Event], natives: list[Fields]) -> list[dict[str, Any]]:
    """The calls of one choice, in the order of their indices; a native one keeps its own fields."""
    pieces: dict[int, list[CallPiece]] = {}
    for event in events:
        if isinstance(event, CallPiece):
            pieces.setdefault(event.index, []).append(event)
    calls: dict[int, dict[str, Any]] = {}
    for event in events:
        if isinstance(event, CallStart):
            told = pieces.get(event.index, [])
            arguments = "".join(piece.json for piece in told)
            if event.dialect is None and 0 <= event.entry < len(natives):
                mended = arguments if any(piece.mended for piece in told) else None
                calls[event.index] = _mended(natives[event.entry], event, mended)
            else:
                id_ = event.id or f"call_{event.index}"
                calls[event.index] = call_of(None, id_, event.name, arguments, event.form)
    return [calls[index] for index in sorted(calls)]


def _mended(native: Fields, start: CallStart, arguments: str | None) -> Fields:
    """A native call as it should have come. `arguments`: None where they stay as they are."""
    function = rawjson.fields(native.get("function"))
    told = {"name": start.name} if start.mended else {}
    told |= {} if arguments is None else {"arguments": arguments}
    changed = {key: rawjson.string(text) for key, text in told.items() if rawjson.value(function.get(key)) != text}
    made = {**native, "id": rawjson.string(start.id)} if start.mended else dict(native)
    return {**made, "function": {**function, **changed}} if changed else made
