"""A client of Chat Completions that is stricter than all real ones together, for tests; no code of the wire is in it.

Every rule here is one that some client insists on: the role first; name, id and type once, in the first chunk of a
call, and `index` in all of them; indices from 0 without gaps; arguments appended, one JSON object, never empty; one
finish reason; the same id, model and time in every chunk; `[DONE]` last. A rule that is broken is an AssertionError.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolcalls.shapes import Call


@dataclass
class Choice:
    """What one choice has told its client."""

    text: str = ""
    reasoning: str = ""
    finish: str | None = None
    calls: list[dict[str, str]] = field(default_factory=list)
    order: str = ""  # "t" for text, "c" for the start of a call


@dataclass
class Reply:
    """A whole streamed reply."""

    choices: dict[int, Choice] = field(default_factory=dict)
    usage: Any = None
    done: bool = False


def received(body: bytes, *, ends: bool = True) -> Reply:
    """What a client makes of a streamed body. `ends`: it ended as it should, with a finish reason and `[DONE]`."""
    reply = Reply()
    same: dict[str, Any] = {}
    assert body.endswith(b"\n\n") or not ends, "the last event is not closed"
    for event in body.decode().split("\n\n")[:-1]:
        assert event.startswith("data: "), f"an event that is no data: {event[:80]!r}"
        assert not reply.done, "an event after [DONE]"
        if event == "data: [DONE]":
            reply.done = True
            continue
        chunk = json.loads(event.removeprefix("data: "))
        outer = {key: chunk[key] for key in ("id", "object", "created", "model")}
        same = same or outer
        assert outer == same, f"{outer} after {same}"
        reply.usage = chunk.get("usage") or reply.usage
        for choice in chunk["choices"]:
            _take(reply, choice)
    for choice in reply.choices.values():
        _check_end(choice, ends=ends)
    assert reply.done or not ends, "no [DONE]"
    return reply


def _take(reply: Reply, choice: dict[str, Any]) -> None:
    delta = choice["delta"]
    if choice["index"] not in reply.choices:
        assert delta.get("role") == "assistant", "no role in the first chunk of a choice"
        reply.choices[choice["index"]] = Choice()
    got = reply.choices[choice["index"]]
    assert got.finish is None, "a chunk after the finish reason"
    content = delta.get("content")
    if content:
        got.text += content
        got.order += "" if got.order.endswith("t") else "t"
    got.reasoning += delta.get("reasoning_content") or ""
    for entry in delta.get("tool_calls") or ():
        _take_call(got, entry)
    got.finish = choice.get("finish_reason")


def _take_call(got: Choice, entry: dict[str, Any]) -> None:
    index, function = entry["index"], entry["function"]
    if index == len(got.calls):
        assert entry["id"], "a call without an id"
        assert entry["type"] == "function"
        assert function["name"], "a call without a name"
        got.calls.append({"id": entry["id"], "name": function["name"], "arguments": ""})
        got.order += "c"
    else:
        assert index == len(got.calls) - 1, f"index {index} while call {len(got.calls) - 1} is open"
        assert not {"id", "type"} & set(entry), f"identity repeated: {entry}"
        assert "name" not in function, f"name repeated: {entry}"
    assert isinstance(function["arguments"], str)
    got.calls[index]["arguments"] += function["arguments"]


def _check_end(choice: Choice, *, ends: bool) -> None:
    assert choice.finish is not None or not ends, "no finish reason"
    assert len({call["id"] for call in choice.calls}) == len(choice.calls), "two calls with one id"
    if choice.finish in {"tool_calls", "stop"}:
        assert (choice.finish == "tool_calls") == bool(choice.calls), f"{choice.finish} with {len(choice.calls)} calls"
        for call in choice.calls:
            assert isinstance(json.loads(call["arguments"]), dict), f"arguments {call['arguments']!r}"


HEAD = {"role": "assistant", "content": ""}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def stream(pieces: Sequence[str], finish: str | None = "stop") -> bytes:
    """An upstream's body: the role, one chunk for each piece of text, the finish reason, usage, `[DONE]`.

    `finish` None: the connection breaks after the last piece.
    """
    body = event(chunk(HEAD)) + b"".join([event(chunk({"content": piece})) for piece in pieces])
    return body if finish is None else body + ending(finish)


def ending(finish: str = "stop") -> bytes:
    """The end of an upstream's body."""
    return event(chunk({}, finish)) + event(outer([], usage=USAGE)) + b"data: [DONE]\n\n"


def event(payload: Mapping[str, Any]) -> bytes:
    """One event. Text stands as UTF-8; where it holds a lone surrogate, as escapes."""
    try:
        written = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        written = json.dumps(payload, separators=(",", ":")).encode()
    return b"data: " + written + b"\n\n"


def chunk(delta: Mapping[str, Any], finish: str | None = None, *, index: int = 0) -> dict[str, Any]:
    """A chunk with one choice."""
    return outer([{"index": index, "delta": delta, "finish_reason": finish}])


def outer(choices: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """A chunk with these choices."""
    return {"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


def native(call: Call, index: int, pieces: list[str]) -> bytes:
    """The chunks of a native call."""
    first = {"index": index, "id": f"n{index}", "type": "function", "function": {"name": call.name, "arguments": ""}}
    rest = [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
    return b"".join([event(chunk(delta)) for delta in [{"tool_calls": [first]}, *rest]])
