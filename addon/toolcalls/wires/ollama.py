"""`ollama`: Ollama's own chat (`/api/chat`), streamed as NDJSON and whole.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion. A reply has one lane, one message at
a time. The last line says `done: true`, why, and the counts; a whole reply is that line alone.

`tool_calls[].function.arguments` is an object and never split: a call that is lifted is held and sent when it is
complete, and one that broke off stays text. There is no word for calls, `done_reason` stays `stop`; where a call broke
off, it becomes `length`. Text and calls of one message have no order, so a line in which both were found becomes
several; in a whole reply the text is joined. Reasoning from the text goes to `thinking`. All other fields stay as they
are.

A line with nothing but calls is left out with them. Where processors answer for each call of a line, with its events or
with `Withdrawn`, they do so in order; where native calls become text, no event says which were taken. A replaced call
has an id where its upstream gave it one.

A few lines over 300: the API is one kind of object, and what is read, mended and written of it belongs together.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Damage,
    Defect,
    Event,
    Finish,
    Reason,
    Reasoning,
    Text,
    Withdrawn,
)
from toolcalls.values import rawjson
from toolcalls.values.conversion import is_object
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, Undivided, Wire, calls_first, ollama_answer
from toolcalls.wires.content_blocks import CompleteCalls
from toolcalls.wires.replacement import WholeCall

_LANE = 0
_WORDS = {"tool_calls": "stop"}
_EMPTY = rawjson.string("")
# What a line may hold beside its text and still go with it: each line repeats these.
_REPEATED = {"model", "created_at", "message", "done"}
_REPEATED_EMPTY = {"done_reason", "total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration"} | {
    "eval_count", "eval_duration", "logprobs", "remote_model", "remote_host",
}  # fmt: skip


class _Call(WholeCall):
    """A call as far as it came. `mended`: its arguments are others than those that came."""

    mended = False

    def entry(self) -> Fields:
        """The call as an entry of `tool_calls`."""
        function = {
            "index": self.start.index,
            "name": rawjson.string(self.start.name),
            "arguments": rawjson.json_text(self.arguments),
        }
        return {**({"id": rawjson.string(self.start.id)} if self.start.id else {}), "function": function}


class _Codec(Undivided):
    """The codec of a reply, streamed or whole."""

    must_encode = False  # a line stands for itself

    def __init__(self, *, streamed: bool) -> None:
        self.reply_id = ""
        self.can_omit = False
        self._streamed = streamed
        self._ids: set[str] = set()  # of the native calls so far
        self._indices: set[int] = set()  # theirs, as they came
        self._next = 0  # the index of the next native call
        self._complete = CompleteCalls()

    # Decoding

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one line."""
        self.can_omit = False
        line = rawjson.fields(payload)
        if not rawjson.is_object(line.get("message")):
            return []
        self.reply_id = self.reply_id or rawjson.word(line, "created_at") or "-"
        message = rawjson.fields(line["message"])
        events = calls_first(self._events(message))
        if rawjson.value(line.get("done")) is True:
            events.append(Finish(rawjson.word(line, "done_reason")))
        self.can_omit = self._is_alone(events) and _has_only_content(line, message)
        return [(_LANE, event) for event in events]

    def _is_alone(self, events: Sequence[Event]) -> bool:
        """Whether the parts are one text; in a stream also whether they are nothing but calls."""
        if len(events) == 1 and isinstance(events[0], Text):
            return True
        calls = (isinstance(event, CallStart | CallPiece | CallEnd | Damage) for event in events)
        return self._streamed and bool(events) and all(calls)

    def _events(self, message: Fields) -> Iterator[Event]:
        if thought := rawjson.word(message, "thinking"):
            yield Reasoning(thought)
        if text := rawjson.word(message, "content"):
            yield Text(text)
        for entry, raw in enumerate(rawjson.items(message.get("tool_calls"))):
            call = rawjson.fields(raw)
            function = rawjson.fields(call.get("function"))
            index, self._next = self._next, self._next + 1
            id_ = rawjson.word(call, "id")
            place = rawjson.number(function, "index", -1)
            if place in self._indices:
                yield Damage(index, Defect("glued_calls"))
            self._indices |= {place} - {-1}
            if "id" in call and not id_:  # one that is not there is sound
                yield Damage(index, Defect("no_id"))
            yield CallStart(index, rawjson.word(function, "name"), id=id_, entry=entry, takes="object")
            if id_ and id_ in self._ids:
                yield Damage(index, Defect("repeated_id"))
            self._ids.add(id_)
            if isinstance(given := rawjson.value(function.get("arguments")), str):
                yield from (Damage(index, Defect(code)) for code in _of_text(given))
            yield CallPiece(index, _arguments(function), entry=entry)
            yield CallEnd(index)

    # Encoding

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        """The line with text, calls and reason as `parts` say, or as many lines as it takes to keep their order."""
        line = rawjson.fields(payload)
        message = rawjson.fields(line.get("message"))
        own = rawjson.items(message.get("tool_calls"))
        content = self._content(self._complete.of([event for _, event in parts]), own)
        if can_omit and not content:
            return []
        messages = _messages(content) if self._streamed else [_one_message(content)]
        reason = next((event.reason for _, event in parts if isinstance(event, Finish)), None)
        if reason is None and rawjson.value(line.get("done")) is True:  # it was no end, for more follows
            line = {**rawjson.without(line, "done_reason"), "done": False}
        if self._streamed and rawjson.value(line.get("done")) is True and "tool_calls" in (messages or [{}])[-1]:
            messages.append({})  # no calls in the line that ends the reply, where nobody looks for them
        kept = rawjson.without(message, "content", "tool_calls")
        thought = rawjson.word(message, "thinking")
        made: list[Fields] = []
        for number, members in enumerate(messages or [{}]):
            moved = members.pop("thinking", "")
            rest = kept if number == 0 else {"role": message.get("role", rawjson.string("assistant"))}
            text = {"content": _string(members.pop("content", "")), **members}
            thinking = {"thinking": _string((thought if number == 0 else "") + moved)} if moved else {}
            made.append({**{key: kept[key] for key in ("role",) if key in kept}, **text, **rest, **thinking})
        word = rawjson.word(line, "done_reason")
        why = _WORDS.get(reason, reason) if reason is not None else word
        ending = {} if why == word else {"done_reason": _string(why)}
        before = {key: line[key] for key in ("model", "created_at") if key in line} | {"done": False}
        lines = [{**before, "message": one} for one in made[:-1]] + [{**line, "message": made[-1], **ending}]
        written = [rawjson.written(one) for one in lines]
        return [payload] if len(written) == 1 and _value(written[0]) == _value(payload) else written

    @staticmethod
    def _content(events: Sequence[Event], own: Sequence[Any]) -> list[tuple[str, Any]]:
        """The content that the events make, in order: ("content", text), ("thinking", text), ("tool_calls", entry)."""
        content: list[tuple[str, Any]] = []
        calls: dict[int, _Call] = {}
        left: list[tuple[Fields, Any] | None] = [(rawjson.fields(raw), raw) for raw in own]
        for place in _withdrawn(events, len(own)):
            left[place] = None
        for event in events:
            if isinstance(event, Text):
                content.append(("content", event.text))
            elif isinstance(event, Reasoning) and event.moved:
                content.append(("thinking", event.text))
            elif isinstance(event, CallStart):
                calls[event.index] = _Call(event)
            elif isinstance(event, CallPiece) and (call := calls.get(event.index)) is not None:
                call.pieces.append(event.json)
                call.mended = call.mended or event.mended
            elif isinstance(event, CallEnd) and (call := calls.get(event.index)) is not None:
                native = call.start.dialect is None
                content.append(("tool_calls", _native_entry(call, left) if native else call.entry()))
        return content


def _withdrawn(events: Sequence[Event], calls: int) -> set[int]:
    """The places of the line's own calls that were withdrawn. Two events answer for each: of its start and piece,
    or `Withdrawn` in their places.
    """
    ours = {event.index for event in events if isinstance(event, CallStart) and event.dialect is not None}
    answers = [
        event
        for event in events
        if isinstance(event, Withdrawn) or (isinstance(event, CallStart | CallPiece) and event.index not in ours)
    ]
    if len(answers) != 2 * calls:
        return set()
    return {place // 2 for place, event in enumerate(answers) if isinstance(event, Withdrawn)}


def _native_entry(call: _Call, own: list[tuple[Fields, Any] | None]) -> Any:
    """A native call's own entry, with the number that it has by now and what of it was mended; a new one where it has
    none here.
    """
    place = call.start.entry
    if not 0 <= place < len(own) or (given := own[place]) is None:
        return call.entry()
    own[place] = None
    entry, raw = given
    function = rawjson.fields(entry.get("function"))
    changes: Fields = {}
    if rawjson.number(function, "index", call.start.index) != call.start.index:
        changes["index"] = call.start.index
    if call.start.mended:
        changes["name"] = rawjson.string(call.start.name)
        entry = {**entry, "id": rawjson.string(call.start.id)} if call.start.id else entry
    if call.mended:
        changes["arguments"] = rawjson.json_text(call.arguments)
    return {**entry, "function": {**function, **changes}} if changes else raw


def _messages(content: Iterable[tuple[str, Any]]) -> list[Fields]:
    """As many messages as it takes to keep the order: calls and what precedes them, then what follows."""
    messages: list[Fields] = []
    for key, what in content:
        last = messages[-1] if messages else None
        if last is None or ("tool_calls" in last) != (key == "tool_calls"):
            last = {}
            messages.append(last)
        _add(last, key, what)
    return messages


def _one_message(content: Iterable[tuple[str, Any]]) -> Fields:
    message: Fields = {}
    for key, what in content:
        _add(message, key, what)
    return message


def _add(message: Fields, key: str, what: Any) -> None:
    message[key] = [*message.get(key, []), what] if key == "tool_calls" else message.get(key, "") + what


def _has_only_content(line: Fields, message: Fields) -> bool:
    """Whether the line has only content, and members that other lines repeat."""
    extra = set(rawjson.present(line)) - _REPEATED
    return (
        set(rawjson.present(message)) <= {"role", "content", "images", "tool_calls"}
        and not rawjson.value(message.get("images"))
        and isinstance(rawjson.value(message.get("tool_calls")), list | None)
        and extra <= _REPEATED_EMPTY
        and all(not rawjson.value(line[key]) for key in extra)
    )


def _of_text(arguments: str) -> Iterator[Reason]:
    """What is wrong with arguments that are a string, where the API has an object, beside what the string holds."""
    if not arguments.strip():
        yield "empty_arguments"
    elif is_object(arguments):
        yield "double_encoded"


def _arguments(function: Fields) -> str:
    """The arguments as JSON text; some servers write them as a string, as OpenAI does.

    What is neither is returned as it is, and is no call's.
    """
    given = rawjson.value(function.get("arguments"))
    if isinstance(given, str) or given is None:
        return given or "{}"
    return rawjson.text_of(function["arguments"])


def _value(payload: bytes) -> Any:
    return rawjson.value(rawjson.raw(payload))


def _string(text: str) -> Any:
    return rawjson.string(text) if text else _EMPTY


WIRE = Wire(
    "ollama", "/api/chat", partial(_Codec, streamed=True), partial(_Codec, streamed=False),
    answer=ollama_answer.whole, answering=ollama_answer.Answering,
    calls_are_whole=True, streams_lines=True,
)  # fmt: skip
