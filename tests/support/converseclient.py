"""Bedrock's Converse API for tests: replies of Messages in its words, and the official client's reading of them.

botocore reads the bytes (checksums, events, the shapes of its service model); what it makes of them is put into the
words of Messages again, so that `anthropicclient`, the strictest of all clients, has its say. No code of the wire is in
either direction.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.eventstream import EventStream
from botocore.parsers import create_parser

from support import anthropicclient
from toolcalls.wires import eventstream
from toolcalls.wires.eventstream import Message

type Event = Mapping[str, Any]

PADDING = "abcdefgh"  # which the service adds to each event, so that its size says nothing of the text's
_KINDS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}
USAGE = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}


# --- what an upstream sends -------------------------------------------------------------------------------------------


def frame(name: str, payload: Any) -> bytes:
    """One event as it is on the wire."""
    headers = eventstream.event_headers(name)
    text = json.dumps(payload, separators=(",", ":"))
    return eventstream.written(Message(headers, text.encode()))


def edited(body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A body whose payloads are changed, with the right lengths and checksums."""
    made = b""
    while body:
        size = eventstream.size_of(body)
        message = eventstream.read(body[:size])
        made += eventstream.written(Message(message.headers, change(message.payload)))
        body = body[size:]
    return made


def exception(name: str, message: str) -> bytes:
    """What a service sends that fails in the middle of a stream."""
    payload = json.dumps({"message": message}).encode()
    return eventstream.written(Message(eventstream.exception_headers(name), payload))


def written(events: Iterable[Event]) -> bytes:
    """Events of Messages as a body of Converse."""
    return b"".join(frame(name, {**payload, "p": PADDING}) for name, payload in of_messages(events))


def of_messages(events: Iterable[Event]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Events of Messages as those of Converse: names and payloads."""
    for event in events:
        kind, place = event["type"], {"contentBlockIndex": event.get("index", 0)}
        if kind == "message_start":
            yield "messageStart", {"role": "assistant"}
        elif kind == "content_block_start" and (start := _start(event["content_block"])) is not None:
            yield "contentBlockStart", {**place, "start": start}
        elif kind == "content_block_delta":
            yield "contentBlockDelta", {**place, "delta": _delta(event["delta"])}
        elif kind == "content_block_stop":
            yield "contentBlockStop", place
        elif kind == "message_delta":
            reason = event["delta"].get("stop_reason")
            yield "messageStop", {} if reason is None else {"stopReason": reason}
        elif kind == "message_stop":
            yield "metadata", {"metrics": {"latencyMs": 9}, "usage": USAGE}


def _start(block: Mapping[str, Any]) -> Any:
    kind = block["type"]
    if kind in {"tool_use", "server_tool_use"}:
        named = {name: block[key] for key, name in (("id", "toolUseId"), ("name", "name")) if key in block}
        given = {"input": block["input"]} if kind == "tool_use" and block.get("input") not in ({}, None) else {}
        return {"toolUse": {**named, **given, **({} if kind == "tool_use" else {"type": kind})}}
    if kind.endswith("_tool_result"):
        return {"toolResult": {"toolUseId": block["tool_use_id"], "type": kind, "status": "success"}}
    return None


def _delta(delta: Mapping[str, Any]) -> Any:
    kind = delta["type"]
    if kind == "text_delta":
        return {"text": delta["text"]}
    if kind == "input_json_delta":
        return {"toolUse": {"input": delta["partial_json"]}}
    if kind == "citations_delta":
        return {"citation": {"sourceContent": [{"text": delta["citation"]["cited_text"]}]}}
    key = "text" if kind == "thinking_delta" else "signature"
    return {"reasoningContent": {key: delta["thinking" if kind == "thinking_delta" else "signature"]}}


def whole(message: bytes) -> bytes:
    """A whole reply of Messages as one of Converse."""
    reply = json.loads(message)
    content = [_block(block) for block in reply["content"]]
    stop = reply.get("stop_reason")
    return json.dumps(
        {
            "metrics": {"latencyMs": 9},
            "output": {"message": {"content": content, "role": "assistant"}},
            **({} if stop is None else {"stopReason": stop}),
            "usage": USAGE,
        },
        separators=(",", ":"),
    ).encode()


def _block(block: Mapping[str, Any]) -> Any:
    kind = block["type"]
    if kind == "text":
        return {"text": block["text"]}
    if kind in {"tool_use", "server_tool_use"}:
        named = {name: block[key] for key, name in (("id", "toolUseId"), ("name", "name")) if key in block}
        return {"toolUse": {**named, "input": block.get("input"), **({} if kind == "tool_use" else {"type": kind})}}
    if kind.endswith("_tool_result"):
        return {"toolResult": {"toolUseId": block["tool_use_id"], "type": kind, "content": block["content"]}}
    thought = {"text": block["thinking"], **({"signature": block["signature"]} if block.get("signature") else {})}
    return {"reasoningContent": {"reasoningText": thought}}


# --- what a client makes of it ----------------------------------------------------------------------------------------


@cache
def _operation(name: str) -> Any:
    return botocore.session.Session().get_service_model("bedrock-runtime").operation_model(name)


class _Body(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        yield self.getvalue()


def parsed(body: bytes, operation: str = "ConverseStream") -> list[dict[str, Any]]:
    """The events as botocore gives them to its callers. Raises what it raises for exceptions and broken bytes."""
    shape = _operation(operation).output_shape
    key = shape.event_stream_name
    parser = create_parser("rest-json")._event_stream_parser
    return list(EventStream(_Body(body), shape.members[key], parser, operation))


def received(body: bytes, *, ends: bool = True) -> anthropicclient.Reply:
    """What a strict client makes of a streamed body. `ends`: it ended as it should."""
    return told(parsed(body), ends=ends)


def told(events: Iterable[Event], *, ends: bool = True) -> anthropicclient.Reply:
    """What a strict client makes of events that botocore has read."""
    return anthropicclient.received(anthropicclient.written(list(_as_messages(events))), ends=ends)


def _as_messages(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    stop: dict[str, Any] | None = None
    open_: int | None = None
    for event in events:
        ((name, payload),) = event.items()
        place = {"index": payload["contentBlockIndex"]} if "contentBlockIndex" in payload else {}
        if name == "messageStart":
            head = {**anthropicclient.HEAD, "role": payload["role"], "content": [], "usage": anthropicclient.USAGE}
            yield {"type": "message_start", "message": head}
        elif name == "contentBlockStart":
            open_ = place["index"]
            yield {"type": "content_block_start", **place, "content_block": _opened(payload["start"])}
        elif name == "contentBlockDelta":
            delta = _told(payload["delta"])
            if delta["type"] in _KINDS and open_ != place["index"]:
                kind, open_ = _KINDS[delta["type"]], place["index"]
                opened = {"type": kind, kind: "", **({"signature": ""} if kind == "thinking" else {})}
                yield {"type": "content_block_start", **place, "content_block": opened}
            yield {"type": "content_block_delta", **place, "delta": delta}
        elif name == "contentBlockStop":
            open_ = None
            yield {"type": "content_block_stop", **place}
        elif name == "messageStop":
            stop = {"stop_reason": payload["stopReason"], "stop_sequence": None}
        else:
            assert name == "metadata", name
            assert payload["usage"] == USAGE
            assert stop is not None, "no stop reason"
            yield {"type": "message_delta", "delta": stop, "usage": anthropicclient.USAGE}
            yield {"type": "message_stop"}


def _id(id_: str) -> str:
    """The id as Messages has it: new ones begin otherwise here."""
    assert not id_.startswith("toolu_") or id_.removeprefix("toolu_").isdigit(), f"{id_} is of another API"
    return id_.replace("tooluse_", "toolu_")


def _opened(start: Event) -> dict[str, Any]:
    ((kind, payload),) = start.items()
    if kind == "toolUse" and "type" not in payload:
        return {"type": "tool_use", "id": _id(payload["toolUseId"]), "name": payload["name"], "input": {}}
    return {"type": "server_tool_use" if kind == "toolUse" else "tool_result", **payload}


def _told(delta: Event) -> dict[str, Any]:
    ((kind, payload),) = delta.items()
    if kind == "text":
        return {"type": "text_delta", "text": payload}
    if kind == "toolUse":
        return {"type": "input_json_delta", "partial_json": payload["input"]}
    if kind == "citation":
        return {"type": "citations_delta", "citation": payload}
    assert kind == "reasoningContent", kind
    ((inner, text),) = payload.items()
    return {"type": "thinking_delta", "thinking": text} if inner == "text" else {"type": "signature_delta", inner: text}


def understood(body: bytes) -> anthropicclient.Reply:
    """What a strict client makes of a whole body."""
    shape = _operation("Converse").output_shape
    return answered(create_parser("rest-json").parse({"body": body, "headers": {}, "status_code": 200}, shape))


def answered(reply: Mapping[str, Any]) -> anthropicclient.Reply:
    """What a strict client makes of a whole reply that botocore has read."""
    assert reply["usage"] == USAGE
    assert reply["metrics"] == {"latencyMs": 9}
    message = reply["output"]["message"]
    assert message["role"] == "assistant"
    content = [_understood(block) for block in message["content"]]
    return anthropicclient.understood(
        {"content": content, "stop_reason": reply["stopReason"], "usage": anthropicclient.USAGE}
    )


def _understood(block: Event) -> dict[str, Any]:
    ((kind, payload),) = block.items()
    if kind == "text":
        return {"type": "text", "text": payload}
    if kind == "toolUse" and "type" not in payload:
        return {
            "type": "tool_use",
            "id": _id(payload["toolUseId"]),
            "name": payload["name"],
            "input": payload["input"],
        }
    if kind == "reasoningContent":
        thought = payload["reasoningText"]
        return {"type": "thinking", "thinking": thought["text"], "signature": thought.get("signature", "")}
    return {"type": kind}
