"""Events of a stream in the words of the Messages API, and back."""

from collections.abc import Callable, Mapping

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

# A member that Messages does not have: what came, for which it has no word.
AS_CAME = "converse"
# Finish reasons that say of a reply what `refusal` does in Messages.
FILTERED = frozenset({"guardrail_intervened", "content_filtered"})
_UNKNOWN: Fields = {"type": "unknown"}
_INDEX = "contentBlockIndex"


def to_messages(payload: bytes) -> Fields:
    """An event, `{"NAME": {…}}`, as an event of Messages; one of no known type for what is none."""
    outer = rawjson.fields(payload)
    if len(outer) != 1:
        return _UNKNOWN
    ((name, raw),) = outer.items()
    if name.endswith("Exception"):
        return {"type": "error"}
    event = rawjson.fields(raw)
    reader = _READERS.get(name)
    return _UNKNOWN if reader is None else reader(event)


def from_messages(payload: bytes) -> bytes | None:
    """An event of Messages as one of Converse; None for one that Converse does not have."""
    event = rawjson.fields(payload)
    writer = _WRITERS.get(rawjson.word(event, "type"))
    made = None if writer is None else writer(event)
    return None if made is None else rawjson.written(made)


class Openings:
    """Which blocks of a stream have begun, since nothing but its first piece announces a text or reasoning."""

    def __init__(self) -> None:
        self._begun: set[int] = set()

    def before(self, event: Fields) -> bytes | None:
        """The event that begins the block of a first piece in Messages; None for every other event."""
        kind = event["type"]
        if kind not in {"content_block_delta", "content_block_start"}:
            return None
        index = rawjson.number(event, "index", 0)
        if index in self._begun:
            return None
        self._begun.add(index)
        if kind == "content_block_start":
            return None
        block = _block_of(event["delta"])
        return rawjson.written({"type": "content_block_start", "index": index, "content_block": block})


def _block_of(delta: Fields) -> Fields:
    """The block that a first piece begins."""
    if delta["type"] in {"text_delta", "citations_delta"}:
        return {"type": "text", "text": ""}
    if delta["type"] == "thinking_delta" or "reasoningContent" in delta.get(AS_CAME, ()):
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "unknown"}


# --- to Messages ------------------------------------------------------------------------------------------------------


def _message_start(event: Fields) -> Fields:
    role = {"role": event["role"]} if "role" in event else {}
    return {**rawjson.without(event, "role"), "type": "message_start", "message": {**role, "content": []}}


def _block_start(event: Fields) -> Fields:
    rest = rawjson.without(event, _INDEX, "start")
    start = rawjson.present(rawjson.fields(event.get("start")))
    return {**rest, "type": "content_block_start", **_indexed(event), "content_block": _opened(start)}


def _indexed(event: Fields) -> Fields:
    return {"index": event[_INDEX]} if _INDEX in event else {}


def _opened(start: Fields) -> Fields:
    if "toolUse" in start:
        use = rawjson.fields(start["toolUse"])
        if not rawjson.word(use, "type"):  # else it is the provider's own tool
            return tool_use(use, {})
        return {"type": "server_tool_use", AS_CAME: start}
    kind = next(iter(start), "")
    return {"type": "provider_tool_result" if kind == "toolResult" else kind or "unknown", AS_CAME: start}


def tool_use(use: Fields, no_input: object) -> Fields:
    """A call as a block of Messages. `no_input` is where it has none."""
    named = {key: use[name] for key, name in (("id", "toolUseId"), ("name", "name")) if name in use}
    rest = rawjson.without(use, "toolUseId", "name", "input")
    return {**rest, "type": "tool_use", **named, "input": use.get("input", no_input)}


def of_tool_use(block: Fields) -> Fields:
    """A call's block of Messages in the words of Converse, without its input."""
    named = {name: block[key] for key, name in (("id", "toolUseId"), ("name", "name")) if key in block}
    return {**named, **rawjson.without(block, "type", "id", "name", "input")}


def _delta(event: Fields) -> Fields:
    rest = rawjson.without(event, _INDEX, "delta")
    return {**rest, "type": "content_block_delta", **_indexed(event), "delta": _piece(event)}


def _piece(event: Fields) -> Fields:
    delta = rawjson.present(rawjson.fields(event.get("delta")))
    if len(delta) == 1:
        ((kind, raw),) = delta.items()
        if kind == "text":
            return {"type": "text_delta", "text": raw}
        inner = rawjson.fields(raw)
        if kind == "toolUse" and "input" in inner:
            return {"type": "input_json_delta", "partial_json": inner["input"]}
        if kind == "reasoningContent" and "text" in inner:
            return {"type": "thinking_delta", "thinking": inner["text"]}
        if kind in {"citation", "toolResult"}:  # both repeat what a provider's tool gave back
            quoted = "\n".join(quotes(inner.get("sourceContent") if kind == "citation" else raw))
            return {"type": "citations_delta", "citation": {"cited_text": rawjson.string(quoted)}, AS_CAME: delta}
    return {"type": "unknown", AS_CAME: delta}


def has_unread_call(event: Fields) -> bool:
    """Whether a piece of a call is beside another member, which some clients skip; it could not be written again."""
    delta = rawjson.fields(event.get("delta"))
    return rawjson.word(delta, "type") == "unknown" and "toolUse" in rawjson.fields(delta.get(AS_CAME))


def quotes(content: object) -> list[str]:
    """The texts in a list of contents."""
    return [text for one in rawjson.items(content) for text in rawjson.strings(one)]


def _block_stop(event: Fields) -> Fields:
    return {**rawjson.without(event, _INDEX), "type": "content_block_stop", **_indexed(event)}


def _message_stop(event: Fields) -> Fields:
    return {**rawjson.without(event, "stopReason"), "type": "message_delta", "delta": stopped(event)}


def stopped(message: Fields) -> Fields:
    """The members of Messages that say why a message ended."""
    if "stopReason" not in message:
        return {}
    filtered = rawjson.word(message, "stopReason") in FILTERED
    return (
        {"stop_reason": "refusal", AS_CAME: message["stopReason"]}
        if filtered
        else {"stop_reason": message["stopReason"]}
    )


def _metadata(event: Fields) -> Fields:
    return {**event, "type": "message_stop"}


_READERS: Mapping[str, Callable[[Fields], Fields]] = {
    "messageStart": _message_start,
    "contentBlockStart": _block_start,
    "contentBlockDelta": _delta,
    "contentBlockStop": _block_stop,
    "messageStop": _message_stop,
    "metadata": _metadata,
}

# --- from Messages ----------------------------------------------------------------------------------------------------


def _started(event: Fields) -> Fields:
    message = rawjson.fields(event.get("message"))
    role = {"role": message["role"]} if "role" in message else {}
    return {"messageStart": {**role, **rawjson.without(event, "type", "message")}}


def _block_started(event: Fields) -> Fields | None:
    block = rawjson.fields(event.get("content_block"))
    if rawjson.word(block, "type") == "tool_use":
        given = block.get("input")
        input_ = {} if given is None or bytes(given) == b"{}" else {"input": given}
        start: object = {"toolUse": {**of_tool_use(block), **input_}}
    elif AS_CAME in block:
        start = block[AS_CAME]
    else:  # a text, or reasoning, which begin with their first piece
        return None
    rest = rawjson.without(event, "type", "index", "content_block")
    return {"contentBlockStart": {_INDEX: event["index"], "start": start, **rest}}


def _told(event: Fields) -> Fields | None:
    delta = rawjson.fields(event.get("delta"))
    kind = rawjson.word(delta, "type")
    made: object
    if kind == "text_delta":
        made = {"text": delta["text"]}
    elif kind == "input_json_delta":
        made = {"toolUse": {"input": delta["partial_json"]}}
    elif kind == "thinking_delta":
        made = {"reasoningContent": {"text": delta["thinking"]}}
    elif AS_CAME in delta:
        made = delta[AS_CAME]
    else:
        return None
    return {
        "contentBlockDelta": {
            _INDEX: event["index"],
            "delta": made,
            **rawjson.without(event, "type", "index", "delta"),
        }
    }


def _block_stopped(event: Fields) -> Fields:
    return {"contentBlockStop": {_INDEX: event["index"], **rawjson.without(event, "type", "index")}}


def _ended(event: Fields) -> Fields:
    rest = rawjson.without(event, "type", "delta", "usage")
    return {"messageStop": {**of_stopped(rawjson.fields(event.get("delta"))), **rest}}


def of_stopped(delta: Fields) -> Fields:
    """Why a message ended, in the words of Converse."""
    if "stop_reason" not in delta:
        return {}
    kept = AS_CAME in delta and rawjson.word(delta, "stop_reason") == "refusal"
    return {"stopReason": delta[AS_CAME] if kept else delta["stop_reason"]}


def _over(event: Fields) -> Fields | None:
    rest = rawjson.without(event, "type")
    return {"metadata": rest} if rest else None


_WRITERS: Mapping[str, Callable[[Fields], Fields | None]] = {
    "message_start": _started,
    "content_block_start": _block_started,
    "content_block_delta": _told,
    "content_block_stop": _block_stopped,
    "message_delta": _ended,
    "message_stop": _over,
}
