"""A reply of our own making with calls (`wires.answers`)."""

from collections.abc import Iterator

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import answers
from toolcalls.wires.answers import Answer, AnsweredCall, counted

_SAYS_CALLS = "tool_use"


def whole(answer: Answer) -> bytes:
    blocks = [*_texts(answer), *({**block, "input": call.object} for block, call in _calls(answer))]
    return rawjson.written({**_message(answer, blocks), "stop_reason": _SAYS_CALLS})


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
        if self._open is not None:
            yield {"type": "content_block_stop", "index": self._open}
        index = self._next
        for block in _texts(answer):
            kind = block["type"]
            empty = {key: "" if key == kind else member for key, member in block.items()}
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            yield {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", kind: block[kind]}}
            yield {"type": "content_block_stop", "index": index}
            index += 1
        for block, call in _calls(answer):
            yield {"type": "content_block_start", "index": index, "content_block": {**block, "input": {}}}
            delta = {"type": "input_json_delta", "partial_json": rawjson.string(call.arguments)}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
            index += 1
        ending: Fields = {"stop_reason": _SAYS_CALLS, "stop_sequence": None}
        usage = {"output_tokens": answer.tokens.output or 0}
        yield {"type": "message_delta", "delta": ending, "usage": usage}
        yield {"type": "message_stop"}


def _texts(answer: Answer) -> Iterator[Fields]:
    """Blocks in front of the calls. Nobody can sign the thought, so its signature is empty."""
    if answer.reasoning:
        yield {"type": "thinking", "thinking": rawjson.string(answer.reasoning), "signature": ""}
    if answer.text:
        yield {"type": "text", "text": rawjson.string(answer.text)}


def _calls(answer: Answer) -> Iterator[tuple[Fields, AnsweredCall]]:
    for call in answer.calls:
        yield {"type": "tool_use", "id": call.id, "name": rawjson.string(call.name)}, call


def _message(answer: Answer, content: list[Fields]) -> Fields:
    usage = {"input_tokens": 0, "output_tokens": 0, **counted(answer.tokens, "input_tokens", "output_tokens")}
    about = {"id": f"msg_{answer.digest}", "type": "message", "role": "assistant"}
    model = rawjson.string(answer.model)
    return {**about, "model": model, "content": content, "stop_sequence": None, "usage": usage}
