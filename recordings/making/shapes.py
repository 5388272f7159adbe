"""Sound replies of each API, as pieces that a server writes; what is odd about one is done to them by its maker.

`reply` gives the pieces of a reply with text and native calls on any API; the builders below it are what quirks and
damage are made from. Content, ids and times are made up and always the same.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support import cohereclient, converseclient, interactionsclient, invokeclient

START = 1_760_000_000
QUESTION = "Why does greet() print nothing? It is in src/app.py."
INVOKE = '<invoke name="read_file">\n<parameter name="path">src/app.py</parameter>\n</invoke>'
SAID = "I'll look at the file.\n\n"

LINES = "application/x-ndjson"
CHUNKS = "application/vnd.amazon.eventstream"
EVENTS = "text/event-stream"
JSON = "application/json"

type Payload = Mapping[str, Any]


@dataclass(frozen=True)
class Native:
    """A native call: its name, its argument JSON and its id."""

    name: str = "read_file"
    arguments: str = '{"path": "src/app.py"}'
    id: str = "call_made_up"


def cut_up(text: str, size: int = 32) -> list[str]:
    """A text, in pieces of several tokens, as servers send them under load."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def data(payload: Payload, end: bytes = b"\n\n") -> bytes:
    """One event without a name."""
    return b"data: " + compact(payload) + end


def named(events: Iterable[Payload]) -> list[bytes]:
    """Events that have their type as their name."""
    return [b"event: " + event["type"].encode() + b"\n" + data(event) for event in events]


def compact(payload: Any) -> bytes:
    """A payload as JSON without white space."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def reply(api: str, text: str, calls: Sequence[Native] = (), *, streamed: bool = True) -> list[bytes]:
    """The pieces of a sound reply. Over WebSocket each is a message."""
    match api:
        case "openai_chat":
            return chat_reply(text, calls) if streamed else [compact(chat_whole(text, calls))]
        case "openai_responses":
            events = response_events(text, calls)
            return named(events) if streamed else [compact(events[-1]["response"])]
        case "websocket":
            return [compact(event) for event in response_events(text, calls)]
        case "anthropic" | "bedrock" | "bedrock_converse" | "gemini_interactions":
            size = 32 if api == "anthropic" else 40  # what stands around a piece is long there
            blocks = [*([texts(text, size)] if text else []), *map(tool_use, calls)]
            return _of_blocks(api, message_events(blocks, "tool_use" if calls else "end_turn"))
        case "gemini":
            made = gemini_replies(text, calls)
            return [data(one, b"\r\n\r\n") for one in made] if streamed else [compact(gemini_whole(text, calls))]
        case "cohere":
            return cohere_reply(text, calls)
        case "ollama":
            return lines([{"content": piece} for piece in cut_up(text)] + [ollama_call(call) for call in calls])
    raise ValueError(api)


def _of_blocks(api: str, events: Sequence[Payload]) -> list[bytes]:
    """The events of Messages, as Anthropic sends them, or another API in its words, without pings."""
    if api == "anthropic":
        return named(events)
    write = {
        "bedrock": invokeclient.written,
        "bedrock_converse": converseclient.written,
        "gemini_interactions": interactionsclient.written,
    }[api]
    return [piece for event in events if event["type"] != "ping" and (piece := write([event]))]


# --- Chat Completions -------------------------------------------------------------------------------------------------

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 210, "completion_tokens": 48, "total_tokens": 258}


def chat(delta: Payload | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk; `more` are further fields beside `choices`. Without a delta it has no choice."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": START, "model": "made-up"}
    return {**head, "choices": choices, **more}


def chat_deltas(deltas: Iterable[Payload], finish: str | None = "stop") -> list[bytes]:
    """A stream of these deltas behind one with the role; its end says `finish`, or nothing."""
    first = {"role": "assistant", "content": ""}
    end = [] if finish is None else [chat({}, finish)]
    return [*(data(chat(one)) for one in (first, *deltas)), *map(data, end), data(chat(None, usage=USAGE)), DONE]


def chat_entry(index: int = 0, call: Native | None = None, **function: Any) -> dict[str, Any]:
    """A delta with one entry of `tool_calls`; `call` gives it an id and a type. `function` is what it says."""
    begins = {} if call is None else {"id": call.id, "type": "function"}
    return {"tool_calls": [{"index": index, **begins, "function": function}]}


def chat_call(call: Native, index: int = 0) -> list[dict[str, Any]]:
    """The deltas of a sound call."""
    begins = chat_entry(index, call, name=call.name, arguments="")
    return [begins, *(chat_entry(index, arguments=piece) for piece in cut_up(call.arguments, 24))]


def chat_reply(text: str, calls: Sequence[Native] = ()) -> list[bytes]:
    """A stream of text and native calls."""
    deltas: list[Payload] = [{"content": piece} for piece in cut_up(text)]
    for index, call in enumerate(calls):
        deltas += chat_call(call, index)
    return chat_deltas(deltas, "tool_calls" if calls else "stop")


def chat_whole(text: str, calls: Sequence[Native] = (), **more: Any) -> dict[str, Any]:
    """A whole reply; `more` are further fields of its message."""
    made = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {}), **more}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": START, "model": "made-up"}
    return {**head, "choices": [choice], "usage": USAGE}


# --- Messages ---------------------------------------------------------------------------------------------------------

type Block = tuple[Payload, Sequence[Payload]]


def messages(blocks: Iterable[Block], stop: str) -> list[bytes]:
    """A reply with these blocks, each with its deltas, and a ping behind the first start and in every block."""
    return named(message_events(blocks, stop))


def message_events(blocks: Iterable[Block], stop: str) -> list[dict[str, Any]]:
    """The events of such a reply."""
    usage = {"input_tokens": 210, "cache_read_input_tokens": 0, "output_tokens": 1, "service_tier": "standard"}
    message = {"id": "msg_made_up", "type": "message", "role": "assistant", "model": "made-up", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    ]
    for index, (block, deltas) in enumerate(blocks):
        events += [{"type": "content_block_start", "index": index, "content_block": block}, {"type": "ping"}]
        for number, delta in enumerate(deltas):
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events += [{"type": "ping"}] if number == 6 else []
        events.append({"type": "content_block_stop", "index": index})
    told = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 48}}
    return [*events, {"type": "message_delta", **told}, {"type": "message_stop"}]


def texts(text: str, size: int = 32) -> Block:
    """A block of text."""
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in cut_up(text, size)]


def tool_use(call: Native) -> Block:
    """A block with a native call."""
    block = {"type": "tool_use", "id": call.id.replace("call", "toolu"), "name": call.name, "input": {}}
    pieces = ["", *cut_up(call.arguments, 24)]
    return block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


# --- Cohere -----------------------------------------------------------------------------------------------------------


def cohere_reply(text: str, calls: Sequence[Native] = ()) -> list[bytes]:
    """A stream of text and native calls."""
    deltas: list[Payload] = [{"content": piece} for piece in cut_up(text, 40)]
    for index, call in enumerate(calls):
        deltas += chat_call(call, index)
    ending: tuple[Payload, str] = {}, "tool_calls" if calls else "stop"
    return [*map(cohereclient.frame, cohereclient.of_chat([*((one, None) for one in deltas), ending])), DONE]


# --- Responses --------------------------------------------------------------------------------------------------------

_RESPONSE = {"id": "resp_made_up", "object": "response", "created_at": START, "model": "made-up", "error": None}


def response_events(text: str, calls: Sequence[Native] = (), **given: Any) -> list[dict[str, Any]]:
    """The events of a reply with a message and native calls; `given` are fields of the response."""
    begun = {**_RESPONSE, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None, **given}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    items: list[dict[str, Any]] = []
    if text:
        items.append(_message(events, text))
    for call in calls:
        item = {"id": f"fc_{len(items)}", "type": "function_call", "call_id": call.id, "name": call.name}
        at = {"item_id": item["id"], "output_index": len(items)}
        opened, whole = {**item, "status": "in_progress"}, {**item, "status": "completed", "arguments": call.arguments}
        events.append(
            {"type": "response.output_item.added", "output_index": len(items), "item": {**opened, "arguments": ""}}
        )
        for piece in cut_up(call.arguments, 24):
            events.append({"type": "response.function_call_arguments.delta", **at, "delta": piece})
        events.append({"type": "response.function_call_arguments.done", **at, "arguments": call.arguments})
        events.append({"type": "response.output_item.done", "output_index": len(items), "item": whole})
        items.append(whole)
    usage = {"input_tokens": 210, "output_tokens": 48, "total_tokens": 258}
    ended = {**begun, "status": "completed", "output": items, "usage": usage}
    events.append({"type": "response.completed", "response": ended})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _message(events: list[dict[str, Any]], text: str) -> dict[str, Any]:
    """The item of a message, whose events are added."""
    item = {"id": "msg_1", "type": "message", "role": "assistant"}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    whole = {**item, "status": "completed", "content": [part]}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    opened = {**item, "status": "in_progress", "content": []}
    events += [
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []} for piece in cut_up(text, 32)),
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
    ]
    return whole


# --- Gemini -----------------------------------------------------------------------------------------------------------

COUNTS = {"promptTokenCount": 210, "candidatesTokenCount": 48, "totalTokenCount": 258, "thoughtsTokenCount": 9}


def generated(parts: Sequence[Payload] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One reply of a stream; `more` are further fields of its candidate."""
    candidate: dict[str, Any] = {} if parts is None else {"content": {"parts": parts, "role": "model"}}
    candidate |= {"finishReason": finish} if finish else {}
    usage = {"usageMetadata": COUNTS, "modelVersion": "made-up", "responseId": "made_up"}
    return {"candidates": [{**candidate, "index": 0, **more}], **usage}


def function_call(call: Native) -> dict[str, Any]:
    """A part with a native call."""
    return {"functionCall": {"name": call.name, "args": json.loads(call.arguments)}}


def gemini_replies(text: str, calls: Sequence[Native] = ()) -> list[dict[str, Any]]:
    """The replies of a stream."""
    parts: list[dict[str, Any]] = [{"text": piece} for piece in cut_up(text, 32)]
    parts += [function_call(call) for call in calls]
    return [*(generated([part]) for part in parts), generated([{"text": ""}], "STOP")]


def gemini_whole(text: str, calls: Sequence[Native] = ()) -> dict[str, Any]:
    """A whole reply."""
    parts = [{"text": text}] if text else []
    return generated([*parts, *map(function_call, calls)], "STOP")


# --- Ollama -----------------------------------------------------------------------------------------------------------


def ollama_call(call: Native, **function: Any) -> dict[str, Any]:
    """A message with a native call; `function` are further fields of it."""
    return {
        "content": "",
        "tool_calls": [{"function": {"name": call.name, "arguments": json.loads(call.arguments), **function}}],
    }


def lines(messages: Sequence[Payload]) -> list[bytes]:
    """A line for each message and one with the end: times with nine digits, counts and nanoseconds."""
    made: list[dict[str, Any]] = [
        {
            "model": "made-up",
            "created_at": f"2025-10-09T08:53:20.{number:09}Z",
            "message": {"role": "assistant", **message},
            "done": False,
        }
        for number, message in enumerate([*messages, {"content": ""}])
    ]
    return ended_lines(made)


def ended_lines(made: list[dict[str, Any]]) -> list[bytes]:
    """The lines, the last of which says that it is the end."""
    counts = {"total_duration": 812000000, "load_duration": 21000000, "prompt_eval_count": 210, "eval_count": 48}
    made[-1] |= {"done": True, "done_reason": "stop", **counts}
    return [compact(one) + b"\n" for one in made]
