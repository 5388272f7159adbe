"""Replies with nothing but reasoning, as each API sends them, streamed and whole."""

import json
from collections.abc import Iterable
from typing import Any

from support.damagedcalls import REQUEST
from support.exchanges import in_pieces, of_request, run
from support.sampling import some
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

MENDS = Route(mend=("protocol", "reasoning", "errors"))
FORMS: dict[str, Form] = {"ollama": "ndjson"}
THOUGHT = "I need to look.\n" + '<tool_call>\n{"name": "edit", "arguments": {"path": "a.ts"}}\n</tool_call>'


def frames(wire: str, payloads: Iterable[Any]) -> bytes:
    if wire == "ollama":
        return b"".join(json.dumps(one).encode() + b"\n" for one in payloads)
    named = wire in {"anthropic", "openai_responses"}
    made = [(f"event: {one['type']}\n" if named else "") + f"data: {json.dumps(one)}\n\n" for one in payloads]
    return "".join(made).encode()


def thinking(wire: str, text: str) -> dict[str, list[Any]]:
    """Replies with nothing but reasoning: the payloads of a stream, and the body of a whole one."""
    if wire == "openai_chat":
        outer: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        deltas = [{"role": "assistant", "reasoning_content": text[:20]}, {"reasoning_content": text[20:]}]
        chunks = [{**outer, "choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas]
        message = {"role": "assistant", "content": None, "reasoning_content": text}
        ended = {**outer, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            "streamed": [*chunks, ended],
            "whole": [{**outer, "object": "chat.completion", "choices": [choice]}],
        }
    if wire == "openai_responses":
        item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}
        response = {"id": "resp_1", "status": "completed", "output": [item]}
        return {
            "streamed": [
                {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
                {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
                {"type": "response.reasoning_text.delta", "output_index": 0, "item_id": "rs_1", "delta": text},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response},
            ],
            "whole": [response],
        }
    if wire == "anthropic":
        block = {"type": "thinking", "thinking": text, "signature": "s"}
        about = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
        usage = {"input_tokens": 10, "output_tokens": 7}
        message = {**about, "content": [block], "stop_reason": "end_turn", "usage": usage}
        delta = {"type": "thinking_delta", "thinking": text}
        return {
            "streamed": [
                {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
                {"type": "content_block_start", "index": 0, "content_block": {**block, "thinking": ""}},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
                {"type": "message_stop"},
            ],
            "whole": [message],
        }
    if wire == "gemini":
        content = {"role": "model", "parts": [{"text": text, "thought": True}]}
        body = {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}]}
        return {"streamed": [body], "whole": [body]}
    line = {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "", "thinking": text}}
    done = {"done": True, "done_reason": "stop"}
    last = {**line, "message": {"role": "assistant", "content": ""}, **done}
    return {"streamed": [{**line, "done": False}, last], "whole": [{**line, **done}]}


def thought(wire: str, form: str, text: str) -> bytes:
    made = thinking(wire, text)[form]
    return frames(wire, made) if form == "streamed" else json.dumps(made[0]).encode()


def form_of(wire: str, form: str) -> Form:
    """How the body of a streamed or whole reply of this API is cut into frames."""
    return FORMS.get(wire, "sse") if form == "streamed" else "whole"


def through(
    wire: str, form: str, body: bytes, route: Route = MENDS, request: Request = REQUEST
) -> tuple[bytes, Exchange]:
    """What leaves of a body, which is the same in pieces of all sizes, and one exchange that it went through."""
    found: dict[bytes, tuple[bytes, Exchange]] = {}
    for size in (0, *some([1, 2, 7, 64], 2, body)):
        exchange = of_request(all_wires()[wire], request, route, form=form_of(wire, form))
        out = run(exchange, in_pieces(body, size))
        found[out] = out, exchange
    assert len(found) == 1
    return next(iter(found.values()))
