"""A reply of our own making with calls (`wires.answers`). Nobody can sign its thought, so that signature is empty."""

from collections.abc import Iterator
from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import answers
from toolcalls.wires.answers import Answer, counted
from toolcalls.wires.anthropic.client_stream import ClientStream
from toolcalls.wires.anthropic.whole import Content

_SAYS_CALLS = "tool_use"


def whole(answer: Answer) -> bytes:
    made = Content()
    made.take_text({}, answer.events())
    return rawjson.written({**_message(answer, made.blocks), "stop_reason": _SAYS_CALLS})


class Answering(answers.Answering):
    """Goes on with a stream: what is open is closed, and blocks follow."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = False
        self._open: int | None = None
        self._next = 0  # the index of the next block

    def saw(self, payload: bytes) -> None:
        if b'_delta"' in payload and b'"message_delta"' not in payload:
            return  # most of them
        event = rawjson.fields(payload)
        kind, index = rawjson.word(event, "type"), rawjson.number(event, "index", 0)
        if kind == "message_start":
            self._begun = True
            given = rawjson.items(rawjson.fields(event.get("message")).get("content"))
            self.answered = self.answered or bool(given)
        elif kind == "content_block_start":
            block = rawjson.fields(event.get("content_block"))
            self.answered = self.answered or rawjson.word(block, "type") not in {"text", "thinking"}
            self._open, self._next = index, max(self._next, index + 1)
        elif kind == "content_block_stop":
            self._open = None
        elif kind in {"message_delta", "message_stop"}:
            self.answered = True

    def rest(self, answer: Answer) -> list[bytes] | None:
        return None if self.answered else [rawjson.written(event) for event in self._events(answer)]

    def _events(self, answer: Answer) -> Iterator[Fields]:
        if not self._begun:
            yield {"type": "message_start", "message": {**_message(answer, []), "stop_reason": None}}
        client = ClientStream()
        client.go_on(self._next, self._open)
        client.emit((0, event) for event in answer.events())
        client.close()
        yield from client.out
        ending: Fields = {"stop_reason": _SAYS_CALLS, "stop_sequence": None}
        usage = {"output_tokens": answer.tokens.output or 0}
        yield {"type": "message_delta", "delta": ending, "usage": usage}
        yield {"type": "message_stop"}


def _message(answer: Answer, content: list[Any]) -> Fields:
    usage = {"input_tokens": 0, "output_tokens": 0, **counted(answer.tokens, "input_tokens", "output_tokens")}
    about = {"id": f"msg_{answer.digest}", "type": "message", "role": "assistant"}
    model = rawjson.string(answer.model)
    return {**about, "model": model, "content": content, "stop_sequence": None, "usage": usage}
