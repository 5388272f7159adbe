"""Events of a stream in the words of Chat Completions, and new events."""

from typing import Any

from toolcalls.events import CallPiece, CallStart
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

# Finish reasons in the words of Chat Completions; others pass as they are.
_REASONS = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "ERROR_TOXIC": "content_filter",
    "TIMEOUT": "error",
}
_WORDS = {"stop": "COMPLETE", "length": "MAX_TOKENS", "tool_calls": "TOOL_CALL", "failed": "ERROR"}


class CallNumbers:
    """The number of each call: that of its events, or a free one where another call had that before."""

    def __init__(self) -> None:
        self._latest: dict[int, int] = {}  # of the latest call at each index that came
        self._ended: set[int] = set()
        self._taken: set[int] = set()

    def start(self, at: int) -> int:
        """Number a call that begins, unless the call at this index has not ended."""
        known = self._latest.get(at)
        if known is None or known in self._ended:
            known = self._latest[at] = max(self._taken) + 1 if at in self._taken else at
            self._taken.add(known)
        return known

    def of(self, at: int) -> int:
        """The number of the latest call at an index."""
        return self._latest.get(at, at)

    def end(self, at: int) -> None:
        """The latest call at an index has ended."""
        self._ended.add(self.of(at))

    def numbered(self, event: Fields) -> Fields:
        """An event with the number of the call that it begins or is about; any other event as it is."""
        kind, at = rawjson.word(event, "type"), rawjson.number(event, "index", 0)
        if kind not in {"tool-call-start", "tool-call-delta"}:
            return event
        number = self.start(at) if kind == "tool-call-start" else self.of(at)
        return event if number == at else {**event, "index": number}


def to_chat(event: Fields) -> bytes | None:
    """An event as a chunk; None for one that Chat Completions has no word for."""
    kind = rawjson.word(event, "type")
    delta = rawjson.fields(event.get("delta"))
    message = rawjson.fields(delta.get("message"))
    if kind == "message-start":
        id_ = {"id": event["id"]} if "id" in event else {}
        return _chunk({"role": "assistant"}, **id_)
    if kind in {"content-start", "content-delta"}:
        content = rawjson.fields(message.get("content"))
        told = {"content": content.get("text"), "reasoning_content": content.get("thinking")}
        return _chunk({key: raw for key, raw in told.items() if isinstance(rawjson.value(raw), str)})
    if kind == "tool-plan-delta":
        return _chunk({"reasoning_content": message.get("tool_plan")})
    if kind in {"tool-call-start", "tool-call-delta"}:
        entry = entry_of(event)
        place = {"index": event["index"]} if "index" in event else {}
        return _chunk({"tool_calls": [{**entry, **place}]})
    if kind == "message-end":
        return rawjson.written({"choices": [{"index": 0, "delta": {}, "finish_reason": _reason(delta)}]})
    return None


def _chunk(delta: Fields, **outer: Any) -> bytes:
    return rawjson.written({**outer, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def _reason(delta: Fields) -> str | None:
    word = rawjson.word(delta, "finish_reason")
    return reason_of(word) or None


def reason_of(word: str) -> str:
    """A finish reason in the words of Chat Completions, "" for none."""
    return _REASONS.get(word, word)


def written_reason(word: str, reason: str) -> str:
    """A finish reason of the hub in Cohere's words: `word`, which the reply has, where that says the same."""
    same = {"error": "failed"}.get(reason_of(word), reason_of(word)) == reason
    return word if word and same else _WORDS.get(reason, reason)


def entry_of(event: Fields) -> Fields:
    """The call, or the piece of one, that an event holds. Some copies of the API write a list of one."""
    raw = rawjson.fields(rawjson.fields(event.get("delta")).get("message")).get("tool_calls")
    return rawjson.fields(next(iter(rawjson.items(raw)), None) or raw)


def has_arguments(event: Fields) -> bool:
    """Whether an event brings some of a call's arguments."""
    return rawjson.value(rawjson.fields(entry_of(event).get("function")).get("arguments")) not in (None, "")


def text_in(event: Fields) -> str:
    """The text of a content, or of a piece of it."""
    return rawjson.word(_content(event), "text")


def is_thinking(event: Fields) -> bool:
    """Whether an event begins a content of thinking."""
    return rawjson.word(_content(event), "type") == "thinking"


def _content(event: Fields) -> Fields:
    return rawjson.fields(rawjson.fields(rawjson.fields(event.get("delta")).get("message")).get("content"))


# --- new events -------------------------------------------------------------------------------------------------------


def with_text(event: Fields, text: str) -> Fields:
    """An event with another text in its content."""
    delta = rawjson.fields(event.get("delta"))
    message = rawjson.fields(delta.get("message"))
    content = {**rawjson.fields(message.get("content")), "text": rawjson.string(text)}
    return {**event, "delta": {**delta, "message": {**message, "content": content}}}


def with_call(event: Fields, start: CallStart | None, piece: CallPiece | None) -> Fields:
    """An event as a native call's start and piece have it, where they were mended."""
    entry = made = entry_of(event)
    function = rawjson.fields(entry.get("function"))
    if start is not None and start.mended:
        made = {**made, "id": rawjson.string(start.id)}
        function = {**function, "name": rawjson.string(start.name)}
    elif start is None and piece is not None and piece.mended:
        made, function = rawjson.without(made, "id"), rawjson.without(function, "name")
    if piece is not None and piece.mended:
        function = {**function, "arguments": rawjson.string(piece.json)}
    if not (start is not None and start.mended) and not (piece is not None and piece.mended):
        return event
    delta = rawjson.fields(event.get("delta"))
    message = {**rawjson.fields(delta.get("message")), "tool_calls": {**made, "function": function}}
    return {**event, "delta": {**delta, "message": message}}


def content_start(index: int, kind: str) -> Fields:
    content = {"type": kind, kind: ""}
    return {"type": "content-start", "index": index, "delta": {"message": {"content": content}}}


def content_delta(index: int, kind: str, text: str) -> Fields:
    content = {kind: rawjson.string(text)}
    return {"type": "content-delta", "index": index, "delta": {"message": {"content": content}}}


def content_end(index: int) -> Fields:
    return {"type": "content-end", "index": index}


def call_start(index: int, id_: str, name: str) -> Fields:
    function = {"name": rawjson.string(name), "arguments": ""}
    entry = {"id": rawjson.string(id_), "type": "function", "function": function}
    return _call_event("tool-call-start", index, entry)


def call_delta(index: int, piece: str) -> Fields:
    return _call_event("tool-call-delta", index, {"function": {"arguments": rawjson.string(piece)}})


def call_end(index: int) -> Fields:
    return {"type": "tool-call-end", "index": index}


def _call_event(kind: str, index: Any, entry: Fields) -> Fields:
    return {"type": kind, "index": index, "delta": {"message": {"tool_calls": entry}}}


def message_end(reason: str) -> Fields:
    return {"type": "message-end", "delta": {"finish_reason": written_reason("", reason)}}
