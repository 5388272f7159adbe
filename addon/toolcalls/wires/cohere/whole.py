"""A reply that comes as one JSON body: in the words of Chat Completions, and back."""

from collections.abc import Iterator
from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.cohere.streamed import reason_of, written_reason
from toolcalls.wires.translation import Translation


def _is_reply(payload: bytes) -> bool:
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
    """The model's reasoning: its plan, and the contents of type `thinking`."""
    yield rawjson.word(message, "tool_plan")
    for content in map(rawjson.fields, rawjson.items(message.get("content"))):
        if rawjson.word(content, "type") == "thinking":
            yield rawjson.word(content, "thinking")


def _contents(message: Fields, text: str, moved: str) -> Any:
    """The contents with another text, which is where the first one did, after what was moved out of it."""
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


TRANSLATION = Translation("openai_chat", _is_reply, _to_chat, _from_chat)
