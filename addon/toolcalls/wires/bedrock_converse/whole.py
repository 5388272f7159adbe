"""A whole reply in the words of the Messages API, and back."""

from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.bedrock_converse.streamed import AS_CAME, of_stopped, of_tool_use, quotes, stopped, tool_use


def is_reply(payload: bytes) -> bool:
    return "content" in _message(rawjson.fields(payload))


def to_messages(payload: bytes) -> bytes:
    reply = rawjson.fields(payload)
    content = [_block(raw) for raw in rawjson.items(_message(reply).get("content"))]
    return rawjson.written({"type": "message", "content": content, **stopped(reply)})


def from_messages(payload: bytes, came: bytes) -> bytes:
    """A reply of Messages in the words of Converse. It has what else was in the one that `came`."""
    made, reply = rawjson.fields(payload), rawjson.fields(came)
    content = [_of_block(rawjson.fields(raw)) for raw in rawjson.items(made.get("content"))]
    output = {**rawjson.fields(reply.get("output")), "message": {**_message(reply), "content": content}}
    return rawjson.written({**reply, "output": output, **of_stopped(made)})


def _message(reply: Fields) -> Fields:
    return rawjson.fields(rawjson.fields(reply.get("output")).get("message"))


def _block(raw: Any) -> Fields:
    members = rawjson.fields(raw)
    block = rawjson.present(members)
    if isinstance(rawjson.value(block.get("text")), str):
        return {**members, "type": "text"}
    if "toolUse" in block:
        use = rawjson.fields(block["toolUse"])
        if rawjson.word(use, "type"):  # the provider's own tool
            return {"type": "server_tool_use", AS_CAME: raw}
        return tool_use(use, rawjson.NULL)
    if "reasoningContent" in block:
        thought = rawjson.fields(rawjson.fields(block["reasoningContent"]).get("reasoningText"))
        return {"type": "thinking", "thinking": rawjson.string(rawjson.word(thought, "text")), AS_CAME: raw}
    if "citationsContent" in block:
        cited = rawjson.fields(block["citationsContent"])
        citations = [
            {"cited_text": rawjson.string("\n".join(quotes(rawjson.fields(one).get("sourceContent"))))}
            for one in rawjson.items(cited.get("citations"))
        ]
        return {"type": "text", "text": rawjson.string(_said(cited)), "citations": citations, AS_CAME: raw}
    if "toolResult" in block:
        content = rawjson.fields(block["toolResult"]).get("content", [])
        return {"type": "provider_tool_result", "content": content, AS_CAME: raw}
    kind = next(iter(block), "unknown")
    return {"type": "unknown" if kind == "text" else kind, AS_CAME: raw}  # a text that is no string is no text


def _said(cited: Fields) -> str:
    return "".join(rawjson.word(rawjson.fields(one), "text") for one in rawjson.items(cited.get("content")))


def _of_block(block: Fields) -> Any:
    kind = rawjson.word(block, "type")
    if kind == "text" and AS_CAME in block:
        cited = rawjson.fields(rawjson.fields(block[AS_CAME])["citationsContent"])
        if rawjson.word(block, "text") == _said(cited):
            return block[AS_CAME]
        return {"citationsContent": {**cited, "content": [{"text": block["text"]}]}}
    if kind == "text":
        return rawjson.without(block, "type")
    if kind == "tool_use":
        return {"toolUse": {**of_tool_use(block), "input": block["input"]}}
    if AS_CAME in block:
        return block[AS_CAME]
    return {"reasoningContent": {"reasoningText": {"text": block["thinking"]}}}  # moved out of a text
