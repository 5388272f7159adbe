"""A reply of our own making with calls (`wires.answers`)."""

from collections.abc import Iterator
from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import STREAM_END, answers
from toolcalls.wires.answers import Answer, counted
from toolcalls.wires.openai_chat.decoding import reply_of


def whole(answer: Answer) -> bytes:
    reasoning = {"reasoning_content": rawjson.string(answer.reasoning)} if answer.reasoning else {}
    text = rawjson.string(answer.text) if answer.text else None
    message = {"role": "assistant", "content": text, **reasoning, "tool_calls": _entries(answer)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
    usage = _usage(answer)
    return rawjson.written(
        {**_outer(answer, "chat.completion"), "choices": [choice], **({"usage": usage} if usage else {})}
    )


class Answering(answers.Answering):
    """Goes on with a stream."""

    def __init__(self) -> None:
        super().__init__()
        self._outer: Fields = {}
        self._begun = False

    def saw(self, payload: bytes) -> None:
        if payload == STREAM_END:
            self.answered = True
            return
        reply = reply_of(payload)
        for choice in () if reply is None else reply.choices:
            calls = choice.delta is not None and (choice.delta.tool_calls or choice.delta.function_call)
            self.answered = self.answered or bool(calls or choice.finish_reason or choice.index)
            self._begun = True
        if self._begun and not self._outer:
            self._outer = rawjson.without(rawjson.fields(payload), "choices", "usage", "error")

    def rest(self, answer: Answer) -> list[bytes] | None:
        """The chunks of the answer. The end mark is the server's own where it has begun the stream."""
        if self.answered:
            return None
        outer = self._outer or _outer(answer, "chat.completion.chunk")
        chunks = [
            rawjson.written({**outer, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
            for delta, reason in self._deltas(answer)
        ]
        if usage := _usage(answer):
            chunks.append(rawjson.written({**outer, "choices": [], "usage": usage}))
        return chunks if self._begun else [*chunks, STREAM_END]

    def _deltas(self, answer: Answer) -> Iterator[tuple[Fields, str | None]]:
        if not self._begun:
            yield {"role": "assistant", "content": ""}, None
        if answer.reasoning:
            yield {"reasoning_content": rawjson.string(answer.reasoning)}, None
        if answer.text:
            yield {"content": rawjson.string(answer.text)}, None
        for entry in _entries(answer, numbered=True):
            yield {"tool_calls": [entry]}, None
        yield {}, "tool_calls"


def _entries(answer: Answer, *, numbered: bool = False) -> list[Fields]:
    entries: list[Fields] = []
    for index, call in enumerate(answer.calls):
        function: dict[str, Any] = {"name": rawjson.string(call.name), "arguments": rawjson.string(call.arguments)}
        place = {"index": index} if numbered else {}
        entries.append({**place, "id": call.id, "type": "function", "function": function})
    return entries


def _outer(answer: Answer, kind: str) -> Fields:
    model = rawjson.string(answer.model)
    return {"id": f"chatcmpl-{answer.digest}", "object": kind, "created": answer.created, "model": model}


def _usage(answer: Answer) -> Fields:
    usage = counted(answer.tokens, "prompt_tokens", "completion_tokens")
    return {**usage, "total_tokens": sum(usage.values())} if len(usage) > 1 else {}
