"""A reply of our own making with calls (`wires.answers`): its stream, and that folded."""

from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import answers
from toolcalls.wires.answers import Answer, counted
from toolcalls.wires.openai_responses.client_stream import ClientStream
from toolcalls.wires.openai_responses.decoding import Reading

_QUIET = frozenset({"message", "reasoning"})  # items beside which a call may still be missing


def whole(answer: Answer) -> bytes:
    items = _client(answer, folded=True).items_of(answer.events())
    return rawjson.written(_completed(_response(answer), items, answer))


class Answering(answers.Answering):
    """Goes on with a stream whose items are all whole."""

    def __init__(self) -> None:
        super().__init__()
        self._response: Fields | None = None
        self._items: dict[int, Any] = {}  # by their places, those that have ended; None for one that is open
        self._number = 0  # of the next event, -1 where the server gives its events none

    def saw(self, payload: bytes) -> None:
        event = rawjson.fields(payload)
        kind = rawjson.word(event, "type")
        self._number = rawjson.number(event, "sequence_number", -2) + 1
        if kind == "response.created":
            self._response = rawjson.fields(event.get("response"))
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            place = rawjson.number(event, "output_index", 0)
            item = rawjson.fields(event.get("item"))
            self._items[place] = event.get("item") if kind.endswith("done") else None
            self.answered = self.answered or rawjson.word(item, "type") not in _QUIET
        elif kind in {"response.completed", "response.incomplete"}:
            self.answered = True

    def rest(self, answer: Answer) -> list[bytes] | None:
        """The events of the answer; None also where an item is open, whose end nobody knows."""
        if self.answered or None in self._items.values():
            return None
        return [rawjson.written(event) for event in self._events(answer)]

    def _events(self, answer: Answer) -> list[Fields]:
        response = self._response
        client = _client(answer)
        client.begin_frame({} if self._number < 0 else {"sequence_number": self._number})
        if response is None:
            response = _response(answer)
            client.send("response.created", response=response)
            client.send("response.in_progress", response=response)
        items = [self._items[place] for place in sorted(self._items)]
        client.next = max(self._items, default=-1) + 1
        items += client.items_of(answer.events())
        client.send("response.completed", response=_completed(response, items, answer))
        return client.out


def _client(answer: Answer, *, folded: bool = False) -> ClientStream:
    """What the client gets of the answer. Its ids are none of the stream, before it or made of it later."""
    reading = Reading()
    reading.reply_id = f"answer_{answer.digest}"
    return ClientStream(reading, folded=folded)


def _response(answer: Answer) -> Fields:
    about: Fields = {"id": f"resp_{answer.digest}", "object": "response", "created_at": answer.created}
    nothing: Fields = {"error": None, "incomplete_details": None, "instructions": None, "metadata": {}}
    asked: Fields = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    model = rawjson.string(answer.model)
    return {**about, "status": "in_progress", **nothing, "model": model, "output": [], **asked, "usage": None}


def _completed(response: Fields, items: list[Any], answer: Answer) -> Fields:
    usage: Any = counted(answer.tokens, "input_tokens", "output_tokens")
    if len(usage) > 1:
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {"usage": {**usage, "total_tokens": sum(usage.values()), **details}}
    else:
        usage = {}
    return {**response, "status": "completed", "error": None, "output": items, **usage}
