"""A reply that comes as one JSON body: in the words of Chat Completions, and back."""

from collections.abc import Iterator, Sequence
from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Codec, Part, WholeCodec, all_wires
from toolcalls.wires.cohere.streamed import reason_of, written_reason
from toolcalls.wires.mending import Mended, Mending


class Whole(WholeCodec):
    """The codec of a whole reply."""

    def __init__(self) -> None:
        self._inner: Codec = all_wires()["openai_chat"].whole()

    def decode(self, payload: bytes) -> list[Part]:
        """The events of the reply."""
        if not _is_reply(payload):
            return []
        parts = self._inner.decode(_to_chat(payload))
        self.reply_id = self._inner.reply_id
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        """The reply with its contents and calls as `parts` say."""
        if not _is_reply(payload):
            return [payload]
        (made,) = self._inner.encode(_to_chat(payload), parts, can_omit=can_omit)
        return [_from_chat(made, payload)]


class WholeMender:
    """Mends a whole reply as the mender of Chat Completions does."""

    def __init__(self, mending: Mending) -> None:
        inner = all_wires()["openai_chat"].mender(mending, streamed=False)
        assert inner is not None
        self._inner = inner
        self.calls: dict[tuple[int, int], Mended] = inner.calls

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        """The reply as it should have come; None where it stays as it is."""
        if b'"tool_calls"' not in payload or not _is_reply(payload):
            return None
        made = self._inner.mend(_to_chat(payload))
        return None if made is None else [_from_chat(one, payload) for one in made]


def _is_reply(payload: bytes) -> bool:
    """Whether a body is a reply with a message, and no error."""
    message = rawjson.fields(payload).get("message")
    return rawjson.is_object(message)


def _to_chat(payload: bytes) -> bytes:
    reply = rawjson.fields(payload)
    message = rawjson.fields(reply["message"])
    calls = {"tool_calls": message["tool_calls"]} if "tool_calls" in message else {}
    told: Fields = {"role": "assistant", "content": rawjson.string(_text(message)), **calls}
    if thought := "".join(_thoughts(message)):
        told["reasoning_content"] = rawjson.string(thought)
    reason = reason_of(rawjson.word(reply, "finish_reason")) or None
    id_ = {"id": reply["id"]} if "id" in reply else {}
    return rawjson.written({**id_, "choices": [{"index": 0, "message": told, "finish_reason": reason}]})


def _from_chat(made: bytes, came: bytes) -> bytes:
    reply = rawjson.fields(came)
    was = rawjson.fields(reply["message"])
    (choice,) = map(rawjson.fields, rawjson.items(rawjson.fields(made)["choices"]))
    told = rawjson.fields(choice["message"])
    moved = rawjson.word(told, "reasoning_content")[len("".join(_thoughts(was))) :]
    contents = _contents(was, rawjson.word(told, "content"), moved)
    message: Fields = rawjson.without(was, "tool_calls", "content")
    message |= {"content": contents} if contents else {}
    message |= {"tool_calls": told["tool_calls"]} if "tool_calls" in told else {}
    kept = {key: message[key] for key in was if key in message}  # in the order that they had
    word = rawjson.word(reply, "finish_reason")
    reason = rawjson.word(choice, "finish_reason")
    if reason and reason != reason_of(word):
        reply = {**reply, "finish_reason": rawjson.string(written_reason(word, reason))}
    return rawjson.written({**reply, "message": {**kept, **message}})


def _text(message: Fields) -> str:
    """The texts of a message, as clients join them."""
    content = message.get("content")
    if isinstance(text := rawjson.value(content), str):
        return text
    return "".join(rawjson.word(one, "text") for one in map(rawjson.fields, rawjson.items(content)) if _is_text(one))


def _is_text(content: Fields) -> bool:
    return rawjson.word(content, "type") == "text"


def _thoughts(message: Fields) -> Iterator[str]:
    """What the model thought: its plan, and contents of thinking."""
    yield rawjson.word(message, "tool_plan")
    for content in map(rawjson.fields, rawjson.items(message.get("content"))):
        if rawjson.word(content, "type") == "thinking":
            yield rawjson.word(content, "thinking")


def _contents(message: Fields, text: str, moved: str) -> Any:
    """The contents with another text, which stands where the first one did, behind what was moved out of it."""
    content = message.get("content")
    if not moved and text == _text(message):
        return content
    thought = [{"type": "thinking", "thinking": rawjson.string(moved)}] if moved else []
    if isinstance(rawjson.value(content), str) and not moved:
        return rawjson.string(text) if text else None
    made: list[Any] = []
    shown = False
    for raw in rawjson.items(content):
        one = rawjson.fields(raw)
        if not _is_text(one):
            made.append(raw)
        elif not shown:
            shown = True
            made += [*thought, *([{**one, "text": rawjson.string(text)}] if text else [])]
    if not shown:
        made += [*thought, *([{"type": "text", "text": rawjson.string(text)}] if text else [])]
    return made
