"""Events of a stream in the words of the Messages API, and back."""

from collections.abc import Callable, Mapping

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

# A member that Messages does not have: what came, for which it has no word.
AS_CAME = "interactions"
STREAM_END = b"[DONE]"
_UNKNOWN: Fields = {"type": "unknown"}
_KIND = "event_type"
# How an interaction ended, in the words of Messages; others (`failed`, `cancelled`, …) pass as they are.
_STOPS = {"completed": "end_turn", "requires_action": "tool_use", "incomplete": "max_tokens"}
_STATUSES = {stop: status for status, stop in _STOPS.items()}
# Pieces of the model's output that are about its text, and leave with it.
_ABOUT_TEXT = frozenset({"text", "text_annotation_delta"})
# Pieces of steps that are no output.
_OF_STEPS = frozenset({"thought_summary", "thought_signature", "arguments_delta"})


def to_messages(payload: bytes) -> Fields:
    """An event as an event of Messages; one of no known type for what is none."""
    if payload == STREAM_END:
        return {"type": "message_stop"}
    event = rawjson.fields(payload)
    reader = _READERS.get(rawjson.word(event, _KIND))
    return _UNKNOWN if reader is None else reader(event)


def from_messages(payload: bytes, reply_id: str) -> bytes | None:
    """An event of Messages as one of this API; None for one that it does not have."""
    event = rawjson.fields(payload)
    kind = rawjson.word(event, "type")
    if kind == "message_stop":
        return STREAM_END
    if kind == "message_delta" and AS_CAME not in event:  # the upstream has not said how it ended
        made: Fields | None = _completed(event, {"id": rawjson.string(reply_id), "object": "interaction"})
    else:
        writer = _WRITERS.get(kind)
        made = None if writer is None else writer(event)
    return None if made is None else rawjson.written(made)


def is_other_output(payload: bytes) -> bool:
    """Whether an event is a piece of output that is no text and nothing about text: an image, say."""
    if b'"step.delta"' not in payload:
        return False
    kind = rawjson.word(rawjson.fields(rawjson.fields(payload).get("delta")), "type")
    return kind != "" and kind not in _ABOUT_TEXT | _OF_STEPS


# --- to Messages ------------------------------------------------------------------------------------------------------


def _created(event: Fields) -> Fields:
    interaction = rawjson.fields(event.get("interaction"))
    id_ = {"id": interaction["id"]} if "id" in interaction else {}
    return {"type": "message_start", "message": {**id_, "content": []}, AS_CAME: event}


def _started(event: Fields) -> Fields:
    step = rawjson.fields(event.get("step"))
    rest = rawjson.without(event, _KIND, "step")
    return {**rest, "type": "content_block_start", "content_block": _block(step, event.get("step"))}


def _block(step: Fields, raw: object) -> Fields:
    """What a step begins with, as a block of Messages."""
    kind = rawjson.word(step, "type")
    if kind == "function_call":
        return call_block(step, {})
    if kind == "model_output" and not rawjson.items(step.get("content")):
        return {"type": "text", "text": "", AS_CAME: raw}
    if kind == "thought":
        return {"type": "thinking", "thinking": "", AS_CAME: raw}
    if kind.endswith("_result"):
        return {"type": "provider_tool_result", "content": step.get("result", []), AS_CAME: raw}
    return {"type": kind or "unknown", AS_CAME: raw}


def call_block(step: Fields, no_arguments: object) -> Fields:
    """A call as a block of Messages. `no_arguments` is where it has none."""
    rest = rawjson.without(step, "type", "arguments")
    return {"type": "tool_use", **rest, "input": step.get("arguments", no_arguments)}


def of_call_block(block: Fields) -> Fields:
    """A call's block of Messages as a step."""
    return {"type": "function_call", **rawjson.without(block, "type", "input"), "arguments": block["input"]}


def _told(event: Fields) -> Fields:
    rest = rawjson.without(event, _KIND, "delta")
    return {**rest, "type": "content_block_delta", "delta": _piece(rawjson.fields(event.get("delta")), event)}


def _piece(delta: Fields, event: Fields) -> Fields:
    kind = rawjson.word(delta, "type")
    rest = rawjson.without(delta, "type")
    if kind == "text":
        return {**rest, "type": "text_delta"}
    if kind == "arguments_delta" and isinstance(rawjson.value(delta.get("arguments")), str):
        return {"type": "input_json_delta", "partial_json": delta["arguments"]}
    if kind == "thought_summary" and "text" in (summary := rawjson.fields(delta.get("content"))):
        return {"type": "thinking_delta", "thinking": summary["text"], AS_CAME: event["delta"]}
    if kind.endswith("_result"):  # of a tool that Google runs
        quoted = "\n".join(rawjson.strings(delta.get("result")))
        return {"type": "citations_delta", "citation": {"cited_text": rawjson.string(quoted)}, AS_CAME: event["delta"]}
    return {"type": "unknown", AS_CAME: event.get("delta", {})}


def _stopped(event: Fields) -> Fields:
    return {**rawjson.without(event, _KIND), "type": "content_block_stop"}


def _over(event: Fields) -> Fields:
    stop = stop_of(rawjson.fields(event.get("interaction")))
    return {"type": "message_delta", "delta": stop, AS_CAME: event}


def stop_of(interaction: Fields) -> Fields:
    """The members of Messages that say how an interaction ended."""
    status = rawjson.word(interaction, "status")
    return {"stop_reason": rawjson.string(_STOPS.get(status, status))} if status else {}


def _failed(event: Fields) -> Fields:
    return {"type": "error", AS_CAME: event}


_READERS: Mapping[str, Callable[[Fields], Fields]] = {
    "interaction.created": _created,
    "step.start": _started,
    "step.delta": _told,
    "step.stop": _stopped,
    "interaction.completed": _over,
    "error": _failed,
}

# --- from Messages ----------------------------------------------------------------------------------------------------


def _as_came(event: Fields) -> Fields | None:
    return event.get(AS_CAME)


def _block_started(event: Fields) -> Fields:
    block = rawjson.fields(event.get("content_block"))
    kind = rawjson.word(block, "type")
    step: object
    if kind == "tool_use":
        step = of_call_block(block)
    elif AS_CAME in block:
        step = block[AS_CAME]
    else:
        step = {"type": "model_output" if kind == "text" else "thought"}
    return {**_rest(event, "content_block"), "step": step, _KIND: "step.start"}


def _rest(event: Fields, *keys: str) -> Fields:
    return rawjson.without(event, "type", *keys)


def _block_told(event: Fields) -> Fields | None:
    delta = rawjson.fields(event.get("delta"))
    kind = rawjson.word(delta, "type")
    made: object
    if kind == "text_delta":
        made = {**rawjson.without(delta, "type"), "type": "text"}
    elif kind == "input_json_delta":
        made = {"arguments": delta["partial_json"], "type": "arguments_delta"}
    elif AS_CAME in delta:
        made = delta[AS_CAME]
    elif kind == "thinking_delta":
        made = {"content": {"text": delta["thinking"], "type": "text"}, "type": "thought_summary"}
    else:
        return None
    return {**_rest(event, "delta"), "delta": made, _KIND: "step.delta"}


def _block_stopped(event: Fields) -> Fields:
    return {**_rest(event), _KIND: "step.stop"}


def _ended(event: Fields) -> Fields:
    came = rawjson.fields(event[AS_CAME])
    return {**came, **_completed(event, rawjson.fields(came.get("interaction")))}


def _completed(event: Fields, interaction: Fields) -> Fields:
    status = status_of(rawjson.fields(event.get("delta")))
    return {"interaction": {**interaction, **status}, _KIND: "interaction.completed"}


def status_of(message: Fields) -> Fields:
    """Why a message ended, in the words of this API."""
    stop = rawjson.word(message, "stop_reason")
    return {"status": rawjson.string(_STATUSES.get(stop, stop))} if stop else {}


_WRITERS: Mapping[str, Callable[[Fields], Fields | None]] = {
    "message_start": _as_came,
    "content_block_start": _block_started,
    "content_block_delta": _block_told,
    "content_block_stop": _block_stopped,
    "message_delta": _ended,
    "error": _as_came,
}
