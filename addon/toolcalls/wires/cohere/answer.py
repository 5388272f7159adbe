"""A reply of our own making with calls (`wires.answers`)."""

from collections.abc import Iterator

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import STREAM_END, answers
from toolcalls.wires.answers import Answer, counted
from toolcalls.wires.cohere import streamed
from toolcalls.wires.cohere.client_stream import ClientStream


def whole(answer: Answer) -> bytes:
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": rawjson.string(call.name), "arguments": rawjson.string(call.arguments)},
        }
        for call in answer.calls
    ]
    contents = (("thinking", answer.reasoning), ("text", answer.text))
    content = [{"type": kind, kind: rawjson.string(text)} for kind, text in contents if text]
    message = {"role": "assistant", **({"content": content} if content else {}), "tool_calls": calls}
    made = {"id": answer.digest, "finish_reason": "TOOL_CALL", "message": message}
    return rawjson.written({**made, "usage": _usage(answer)})


class Answering(answers.Answering):
    """Goes on with a stream: what is open is ended, and contents and calls follow."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = False
        self._open: int | None = None
        self._next = 0

    def saw(self, payload: bytes) -> None:
        event = rawjson.fields(payload)
        kind, index = rawjson.word(event, "type"), rawjson.number(event, "index", 0)
        if kind == "message-start":
            self._begun = True
        elif kind == "content-start":
            self._open, self._next = index, max(self._next, index + 1)
        elif kind == "content-end":
            self._open = None
        elif kind in {"tool-call-start", "message-end"} or payload == STREAM_END:
            self.answered = True

    def rest(self, answer: Answer) -> list[bytes] | None:
        if self.answered:
            return None
        return [*map(rawjson.written, self._events(answer)), STREAM_END]

    def _events(self, answer: Answer) -> Iterator[Fields]:
        if not self._begun:
            message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
            yield {"type": "message-start", "id": answer.digest, "delta": {"message": message}}
        client = ClientStream()
        client.go_on(self._next, self._open)
        client.emit((0, event) for event in answer.events())
        client.close()
        yield from client.out
        ending = streamed.message_end("tool_calls")
        yield {**ending, "delta": {**ending["delta"], "usage": _usage(answer)}}


def _usage(answer: Answer) -> Fields:
    return {"tokens": counted(answer.tokens, "input_tokens", "output_tokens")}
