"""Gemini's Interactions API for tests: replies of Messages in its words, and a strict client's reading of them.

The types of the official SDK check each event and each step; what they hold is put into the words of Messages again, so
that `anthropicclient`, the strictest of all clients, has its say. No code of the wire is in either direction.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.genai._interactions.types import Interaction
from google.genai._interactions.types.interaction_sse_event import InteractionSSEEvent
from pydantic import TypeAdapter

from support import anthropicclient

type Event = Mapping[str, Any]

TIME = "2026-05-12T17:24:26Z"
USAGE = {"total_input_tokens": 1, "total_output_tokens": 2, "total_tokens": 3}
INTERACTION = {"id": "v1_1", "status": "completed", "created": TIME, "updated": TIME, "object": "interaction"}
STATUSES = {"end_turn": "completed", "tool_use": "requires_action", "max_tokens": "incomplete"}
_STOPS = {status: stop for stop, status in STATUSES.items()}
_EVENT: TypeAdapter[Any] = TypeAdapter(InteractionSSEEvent)
DONE = b"event: done\ndata: [DONE]\n\n"


# --- what an upstream sends -------------------------------------------------------------------------------------------


def frame(payload: Mapping[str, Any]) -> bytes:
    """One event as it is on the wire. Text stands as UTF-8; where it holds a lone surrogate, as escapes."""
    try:
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        text = json.dumps(payload, separators=(",", ":")).encode()
    return b"event: %b\ndata: %b\n\n" % (payload["event_type"].encode(), text)


def written(events: Iterable[Event]) -> bytes:
    """Events of Messages as a body of this API."""
    made = list(of_messages(events))
    ended = any(event["event_type"] == "interaction.completed" for event in made)
    return b"".join(map(frame, made)) + (DONE if ended else b"")


def of_messages(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """Events of Messages as those of this API."""
    for event in events:
        kind, place = event["type"], {"index": event.get("index", 0)}
        if kind == "message_start":
            yield {"interaction": {**_BEGUN, "status": "in_progress"}, "event_type": "interaction.created"}
        elif kind == "content_block_start":
            yield {**place, "step": _step(event["content_block"]), "event_type": "step.start"}
        elif kind == "content_block_delta" and event["delta"]["type"] != "signature_delta":
            yield {**place, "delta": _delta(event["delta"]), "event_type": "step.delta"}
        elif kind == "content_block_stop":
            yield {**place, "event_type": "step.stop"}
        elif kind == "message_delta":
            stop = event["delta"].get("stop_reason")
            status = {} if stop is None else {"status": STATUSES.get(stop, stop)}
            yield {"interaction": {**_BEGUN, **status, "usage": USAGE}, "event_type": "interaction.completed"}


_BEGUN = {key: member for key, member in INTERACTION.items() if key != "status"}


def _step(block: Mapping[str, Any]) -> dict[str, Any]:
    kind = block["type"]
    if kind == "tool_use":
        rest = {key: block[key] for key in block if key not in {"type", "input"}}
        return {"type": "function_call", **rest, **({"arguments": block["input"]} if "input" in block else {})}
    if kind == "server_tool_use":
        return {"type": "google_search_call", "id": block.get("id", "g1"), "arguments": {}}
    if kind.endswith("_tool_result"):
        return {"type": "google_search_result", "call_id": "g1", "result": block.get("content", [])}
    return {"type": {"text": "model_output", "thinking": "thought"}[kind]}


def _delta(delta: Mapping[str, Any]) -> dict[str, Any]:
    match delta["type"]:
        case "text_delta":
            return {"type": "text", "text": delta["text"]}
        case "thinking_delta":
            return {"type": "thought_summary", "content": {"type": "text", "text": delta["thinking"]}}
        case "input_json_delta":
            return {"type": "arguments_delta", "arguments": delta["partial_json"]}
    raise AssertionError(delta)


def whole(message: bytes) -> bytes:
    """A whole reply of Messages as one of this API."""
    reply = json.loads(message)
    stop = reply.get("stop_reason")
    made = {**INTERACTION, "steps": [_whole_step(block) for block in reply["content"]], "usage": USAGE}
    made.pop("status")
    return json.dumps(
        {**made, **({} if stop is None else {"status": STATUSES.get(stop, stop)})}, separators=(",", ":")
    ).encode()


def _whole_step(block: Mapping[str, Any]) -> dict[str, Any]:
    if block["type"] == "text":
        return {"type": "model_output", "content": [{"type": "text", "text": block["text"]}]}
    if block["type"] == "thinking":
        return {"type": "thought", "summary": [{"type": "text", "text": block["thinking"]}]}
    return _step(block)


# --- what a client makes of it ----------------------------------------------------------------------------------------


def parsed(body: bytes) -> list[dict[str, Any]]:
    """The events of a body, each named like its payload and of a shape that the SDK knows."""
    events: list[dict[str, Any]] = []
    done = False
    for one in body.decode().split("\n\n")[:-1]:
        assert not done, "an event behind the end"
        lines = one.split("\n")
        if lines[-1] == "data: [DONE]":
            done = True
            continue
        assert [line.partition(": ")[0] for line in lines] == ["event", "data"], f"an odd frame: {one[:80]!r}"
        event = json.loads(lines[1].removeprefix("data: "))
        assert lines[0] == f"event: {event['event_type']}", lines[0]
        kind = event["event_type"]
        if kind.startswith("step."):
            assert _EVENT.validate_python(event, strict=False).event_type == kind
        events.append(event)
    return events


def received(body: bytes, *, ends: bool = True) -> anthropicclient.Reply:
    """What a strict client makes of a streamed body. `ends`: it ended as it should."""
    assert body.endswith(b"data: [DONE]\n\n") or not ends, "no end"
    return told(parsed(body), ends=ends)


def told(events: Iterable[Event], *, ends: bool = True) -> anthropicclient.Reply:
    """What a strict client makes of events."""
    return anthropicclient.received(anthropicclient.written(list(_as_messages(events))), ends=ends)


def _as_messages(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    for event in events:
        kind, place = event["event_type"], {"index": event.get("index")}
        if kind == "interaction.created":
            head = {**anthropicclient.HEAD, "content": [], "usage": anthropicclient.USAGE}
            yield {"type": "message_start", "message": head}
        elif kind == "step.start":
            yield {"type": "content_block_start", **place, "content_block": _begun(event["step"])}
        elif kind == "step.delta":
            yield {"type": "content_block_delta", **place, "delta": _told(event["delta"])}
        elif kind == "step.stop":
            yield {"type": "content_block_stop", **place}
        elif kind == "interaction.completed":
            interaction = event["interaction"]
            assert interaction["usage"] == USAGE
            stop = {"stop_reason": _STOPS.get(interaction["status"], interaction["status"]), "stop_sequence": None}
            yield {"type": "message_delta", "delta": stop, "usage": anthropicclient.USAGE}
            yield {"type": "message_stop"}
        else:
            assert kind == "interaction.status_update", kind


def _id(id_: str) -> str:
    """The id as Messages has it: new ones begin otherwise here."""
    assert not id_.startswith("toolu_") or id_.removeprefix("toolu_").isdigit(), f"{id_} is of another API"
    return id_.replace("call_", "toolu_")


def _begun(step: Mapping[str, Any]) -> dict[str, Any]:
    match step["type"]:
        case "model_output":
            assert not step.get("content")
            return {"type": "text", "text": ""}
        case "thought":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case "function_call":
            assert step["arguments"] == {}
            return {"type": "tool_use", "id": _id(step["id"]), "name": step["name"], "input": {}}
    return {"type": "other", "step": step}


def _told(delta: Mapping[str, Any]) -> dict[str, Any]:
    match delta["type"]:
        case "text":
            return {"type": "text_delta", "text": delta["text"]}
        case "arguments_delta":
            return {"type": "input_json_delta", "partial_json": delta["arguments"]}
        case "thought_summary":
            return {"type": "thinking_delta", "thinking": delta["content"]["text"]}
        case "thought_signature":
            return {"type": "signature_delta", "signature": delta["signature"]}
    raise AssertionError(delta)


def understood(body: bytes) -> anthropicclient.Reply:
    """What a strict client makes of a whole body."""
    reply = json.loads(body)
    Interaction.model_validate({**reply, "status": "completed"})  # others may come to be
    assert reply["usage"] == USAGE
    content = [block for step in reply["steps"] for block in _blocks(step)]
    stop = _STOPS.get(reply["status"], reply["status"])
    return anthropicclient.understood({"content": content, "stop_reason": stop, "usage": anthropicclient.USAGE})


def _blocks(step: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match step["type"]:
        case "model_output":
            assert step["content"], "an output without content"
            yield from step["content"]
        case "thought":
            yield {"type": "thinking", "thinking": "".join(one["text"] for one in step["summary"]), "signature": ""}
        case "function_call":
            yield {"type": "tool_use", "id": _id(step["id"]), "name": step["name"], "input": step["arguments"]}
        case kind:
            yield {"type": kind}
