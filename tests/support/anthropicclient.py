"""A client of the Messages API that is stricter than all real ones together, for tests; no code of the wire is in it.

Every rule here is one that some client insists on: each event is named like its payload; `message_start` first, with
usage; blocks at 0, 1, 2, ..., one open at a time, each closed once and told nothing after that; pieces of its own
kind; no empty text; a call with its id and name and with empty input, its arguments appended, one JSON object;
one `message_delta` with a stop reason and usage after all blocks, `message_stop` last. A call whose JSON is unfinished
broke off; then the stop reason says that the reply is not whole. A rule that is broken is an AssertionError.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.namedevents import events_of

USAGE = {"input_tokens": 1, "output_tokens": 2}
CUT = {"max_tokens", "refusal", "model_context_window_exceeded"}

_IDS = re.compile(r"toolu_[A-Za-z0-9_]+")
_LETTERS = {"text": "t", "tool_use": "c", "thinking": "r"}
_PIECES = {
    "text": {"text_delta", "citations_delta"},
    "tool_use": {"input_json_delta"},
    "server_tool_use": {"input_json_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
}


@dataclass
class Reply:
    """What a reply has told its client."""

    text: str = ""
    reasoning: str = ""
    stop: str | None = None
    calls: list[dict[str, str]] = field(default_factory=list)  # those that are complete
    open: list[dict[str, str]] = field(default_factory=list)
    order: str = ""  # "t" for a text, "c" for a call, "r" for thinking, "x" for any other block
    blocks: list[dict[str, Any]] = field(default_factory=list)  # as the client puts them together
    usage: Any = None
    done: bool = False


def received(body: bytes, *, ends: bool = True) -> Reply:
    """What a client makes of a streamed body. `ends`: it ended as it should."""
    assert body.endswith(b"\n\n") or not ends, "the last event is not closed"
    reply = Reply()
    block: dict[str, Any] | None = None
    for number, event in enumerate(events_of(body)):
        kind = event["type"]
        assert (kind == "message_start") == (number == 0), f"{kind} is event {number}"
        assert not reply.done, f"{kind} behind message_stop"
        if kind == "message_start":
            assert event["message"]["content"] == []
            assert event["message"]["usage"]
        elif kind == "content_block_start":
            assert reply.stop is None, "a block behind the stop reason"
            assert block is None, "two blocks are open"
            assert event["index"] == len(reply.blocks), f"index {event['index']} for block {len(reply.blocks)}"
            block = _begun(event["content_block"])
            reply.blocks.append(block)
        elif kind in {"content_block_delta", "content_block_stop"}:
            assert block is not None, f"{kind} while no block is open"
            assert event["index"] == len(reply.blocks) - 1, f"{kind} of block {event['index']}"
            if kind == "content_block_delta":
                _told(block, event["delta"])
            else:
                _ended(reply, block)
                block = None
        elif kind == "message_delta":
            assert block is None, "a block is open at the end"
            assert reply.stop is None, "two stop reasons"
            reply.stop, reply.usage = event["delta"]["stop_reason"], event["usage"]
        elif kind == "message_stop":
            assert reply.stop is not None, "no stop reason"
            reply.done = True
        else:
            assert kind == "ping", kind
    assert reply.done or not ends, "no message_stop"
    if reply.done:
        _check(reply)
    return reply


def _begun(block: dict[str, Any]) -> dict[str, Any]:
    kind = block["type"]
    if kind == "tool_use":
        assert _IDS.fullmatch(block["id"]), block["id"]
        assert block["name"]
        assert block["input"] == {}
        return {**block, "json": ""}
    if kind == "thinking":
        assert isinstance(block["signature"], str)
    return dict(block)


def _told(block: dict[str, Any], delta: dict[str, Any]) -> None:
    kind = delta["type"]
    assert kind in _PIECES.get(block["type"], ()), f"{kind} in a block of {block['type']}"
    if kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        return
    key = {"input_json_delta": "partial_json", "signature_delta": "signature"}.get(kind, kind.removesuffix("_delta"))
    assert isinstance(delta[key], str)
    into = "json" if kind == "input_json_delta" else key
    block[into] = block.get(into, "") + delta[key]


def _ended(reply: Reply, block: dict[str, Any]) -> None:
    """A block is closed: what it says."""
    kind = block["type"]
    reply.order += _LETTERS.get(kind, "x")
    if kind == "text":
        assert block["text"], "an empty text"
        reply.text += block["text"]
    elif kind == "thinking":
        reply.reasoning += block["thinking"]
    elif kind == "tool_use":
        written = block.pop("json")
        call = {"id": block["id"], "name": block["name"], "arguments": written}
        try:
            block["input"] = json.loads(written or "{}")
        except ValueError:
            reply.open.append(call)
            return
        assert isinstance(block["input"], dict), written
        reply.calls.append({**call, "arguments": written or "{}"})


def _check(reply: Reply) -> None:
    assert reply.stop not in {"stop", "length", "tool_calls", "content_filter"}, f"a word of another API: {reply.stop}"
    made = [*reply.calls, *reply.open]
    assert len({call["id"] for call in made}) == len(made), "two calls with one id"
    assert not reply.open or reply.stop in CUT, f"{reply.stop} with a call that broke off"
    if reply.stop in {"tool_use", "end_turn", "stop_sequence"}:
        assert (reply.stop == "tool_use") == bool(made), f"{reply.stop} with {len(made)} calls"
    assert reply.usage


def understood(message: Mapping[str, Any]) -> Reply:
    """What a client makes of a whole reply."""
    reply = Reply(stop=message["stop_reason"], usage=message["usage"], done=True, blocks=list(message["content"]))
    for block in reply.blocks:
        if block["type"] == "tool_use":
            assert _IDS.fullmatch(block["id"]), block["id"]
            assert isinstance(block["input"], dict)
            reply.calls.append({"id": block["id"], "name": block["name"], "arguments": json.dumps(block["input"])})
            reply.order += "c"
        else:
            _ended(reply, block)
    _check(reply)
    return reply


# --- what an upstream sends -------------------------------------------------------------------------------------------

HEAD = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": None, "stop_sequence": None}


def text(*pieces: str, **more: Any) -> list[dict[str, Any]]:
    """The events of a text block, without their indices."""
    return block({"type": "text", "text": "", **more}, *({"type": "text_delta", "text": piece} for piece in pieces))


def call(id_: str, name: str, *pieces: str) -> list[dict[str, Any]]:
    """The events of a native call."""
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block({"type": "tool_use", "id": id_, "name": name, "input": {}}, *deltas)


def thinking(*pieces: str) -> list[dict[str, Any]]:
    """The events of a thinking block."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    return block(
        {"type": "thinking", "thinking": "", "signature": ""}, *deltas, {"type": "signature_delta", "signature": "s=="}
    )


def block(opened: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of any block."""
    told = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    return [
        {"type": "content_block_start", "index": 0, "content_block": opened},
        *told,
        {"type": "content_block_stop", "index": 0},
    ]


def stream(blocks: Sequence[Sequence[Mapping[str, Any]]], stop: str | None = "") -> list[dict[str, Any]]:
    """The events of a reply with these blocks, a ping after the start of the first.

    stop   why it stopped; "" for what fits the blocks. With None it breaks off
    """
    if stop == "":
        kinds = {event["content_block"]["type"] for events in blocks for event in events if "content_block" in event}
        stop = "tool_use" if "tool_use" in kinds else "end_turn"
    made: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**HEAD, "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}
    ]
    for index, events in enumerate(blocks):
        for event in events:
            made.append({**event, "index": index})
            if len(made) == 2:
                made.append({"type": "ping"})
    if stop is not None:
        met = {"stop_reason": stop, "stop_sequence": "END" if stop == "stop_sequence" else None}
        made += [{"type": "message_delta", "delta": met, "usage": USAGE}, {"type": "message_stop"}]
    return made


def written(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Events as they are on the wire. Text stands as UTF-8; where it holds a lone surrogate, as escapes."""
    return b"".join(b"event: %b\ndata: %b\n\n" % (event["type"].encode(), _json(event)) for event in events)


def _json(payload: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(payload, separators=(",", ":")).encode()


def at_once(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same reply as a stream in which `message_start` brings all blocks along."""
    begun, *_, ended, over = events
    content = json.loads(whole(events))["content"]
    return [{**begun, "message": {**begun["message"], "content": content}}, dict(ended), dict(over)]


def whole(events: Sequence[Mapping[str, Any]]) -> bytes:
    """The same reply as one body."""
    content: list[dict[str, Any]] = []
    stop: Mapping[str, Any] = {}
    for event in events:
        if event["type"] == "content_block_start":
            content.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            into, delta = content[-1], event["delta"]
            key = {"input_json_delta": "partial_json"}.get(delta["type"], delta["type"].removesuffix("_delta"))
            if key in delta:
                into[key] = into.get(key, "") + delta[key]
        elif event["type"] == "content_block_stop" and "partial_json" in content[-1]:
            content[-1]["input"] = json.loads(content[-1].pop("partial_json") or "{}")
        elif event["type"] == "message_delta":
            stop = event["delta"]
    return _json({**HEAD, "content": content, **stop, "usage": USAGE})
