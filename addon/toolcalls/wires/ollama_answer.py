"""A reply of our own making with calls (`wires.answers`), for `ollama`."""

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import answers
from toolcalls.wires.answers import Answer


def whole(answer: Answer) -> bytes:
    return rawjson.written({**_outer(answer), "message": _message(answer), **_ending(answer)})


class Answering(answers.Answering):
    """Goes on with a stream."""

    def __init__(self) -> None:
        super().__init__()
        self._outer: Fields = {}

    def saw(self, payload: bytes) -> None:
        line = rawjson.fields(payload)
        calls = rawjson.items(rawjson.fields(line.get("message")).get("tool_calls"))
        self.answered = self.answered or bool(calls) or rawjson.value(line.get("done")) is True
        self._outer = self._outer or {key: line[key] for key in ("model", "created_at") if key in line}

    def rest(self, answer: Answer) -> list[bytes] | None:
        """The lines of the answer: no calls are in the one that ends it, where nobody looks for them."""
        if self.answered:
            return None
        outer = self._outer or _outer(answer)
        nothing = {"role": "assistant", "content": ""}
        return [
            rawjson.written({**outer, "message": _message(answer), "done": False}),
            rawjson.written({**outer, "message": nothing, **_ending(answer)}),
        ]


def _message(answer: Answer) -> Fields:
    thinking = {"thinking": rawjson.string(answer.reasoning)} if answer.reasoning else {}
    calls = [{"function": {"name": rawjson.string(call.name), "arguments": call.object}} for call in answer.calls]
    return {"role": "assistant", "content": rawjson.string(answer.text), **thinking, "tool_calls": calls}


def _outer(answer: Answer) -> Fields:
    return {"model": rawjson.string(answer.model), "created_at": answer.created_at}


def _ending(answer: Answer) -> Fields:
    counts = {"prompt_eval_count": answer.tokens.input, "eval_count": answer.tokens.output}
    known = {name: count for name, count in counts.items() if count is not None}
    return {"done_reason": "stop", "done": True, **known}
