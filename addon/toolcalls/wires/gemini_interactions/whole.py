"""A whole reply in the words of the Messages API, and back."""

from collections.abc import Iterator
from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.gemini_interactions.streamed import AS_CAME, call_block, of_call_block, status_of, stop_of

# A member that Messages does not have: the place of the step that a block was in.
_STEP = "interactions_step"


def is_reply(payload: bytes) -> bool:
    """Whether a body is an interaction with steps that is no longer in progress."""
    reply = rawjson.fields(payload)
    return rawjson.word(reply, "status") != "in_progress" and _has_steps(reply)


def _has_steps(reply: Fields) -> bool:
    return "steps" in reply and bytes(rawjson.text_of(reply["steps"]), "utf-8").lstrip()[:1] == b"["


def to_messages(payload: bytes) -> bytes:
    reply = rawjson.fields(payload)
    content = [block for place, raw in enumerate(rawjson.items(reply["steps"])) for block in _blocks(place, raw)]
    id_ = {"id": reply["id"]} if "id" in reply else {}
    return rawjson.written({"type": "message", **id_, "content": content, **stop_of(reply)})


def from_messages(payload: bytes, came: bytes) -> bytes:
    """A reply of Messages in the words of this API. It has what else was in the one that `came`."""
    made, reply = rawjson.fields(payload), rawjson.fields(came)
    rows = rawjson.items(reply.get("steps"))
    steps = list(_steps([rawjson.fields(raw) for raw in rawjson.items(made.get("content"))], rows))
    return rawjson.written({**reply, "steps": steps, **status_of(made)})


def _blocks(place: int, raw: Any) -> Iterator[Fields]:
    step = rawjson.fields(raw)
    kind = rawjson.word(step, "type")
    if kind == "function_call":
        yield call_block(step, rawjson.NULL)
    elif kind == "thought":
        said = [rawjson.word(rawjson.fields(one), "text") for one in rawjson.items(step.get("summary"))]
        yield {"type": "thinking", "thinking": rawjson.string("".join(said)), AS_CAME: raw}
    elif kind == "model_output" and (contents := rawjson.items(step.get("content"))):
        for one in contents:
            content = rawjson.fields(one)
            if rawjson.word(content, "type") == "text":
                yield {**content, _STEP: place}
            else:
                yield {"type": rawjson.word(content, "type") or "unknown", AS_CAME: one, _STEP: place}
    elif kind.endswith("_result"):
        yield {"type": "provider_tool_result", "content": step.get("result", []), AS_CAME: raw}
    else:
        yield {"type": kind or "unknown", AS_CAME: raw}


def _steps(blocks: list[Fields], rows: list[Any]) -> Iterator[Any]:
    """The blocks as steps. Adjacent contents of one step stay in one step."""
    at = 0
    while at < len(blocks):
        block = blocks[at]
        kind = rawjson.word(block, "type")
        at += 1
        if kind == "tool_use":
            yield of_call_block(block)
        elif kind != "text" and _STEP not in block:
            yield block[AS_CAME] if AS_CAME in block else _thought(block)
        else:
            place = rawjson.number(block, _STEP, -1)
            contents = [_content(block)]
            while at < len(blocks) and place >= 0 and rawjson.number(blocks[at], _STEP, -1) == place:
                contents.append(_content(blocks[at]))
                at += 1
            like = rawjson.fields(rows[place]) if place >= 0 else {}
            yield {**like, "type": "model_output", "content": contents}


def _content(block: Fields) -> Any:
    return block[AS_CAME] if AS_CAME in block else rawjson.without(block, _STEP)


def _thought(block: Fields) -> Fields:
    """Reasoning that was moved out of a text."""
    return {"type": "thought", "summary": [{"type": "text", "text": block["thinking"]}]}
