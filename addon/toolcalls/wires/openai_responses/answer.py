"""A reply of our own making with calls (`wires.answers`)."""

from collections.abc import Iterator
from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import answers
from toolcalls.wires.answers import Answer, counted
from toolcalls.wires.openai_responses.items import text_part, thought_item

_QUIET = frozenset({"message", "reasoning"})  # items beside which a call may still be missing


def whole(answer: Answer) -> bytes:
    return rawjson.written(_completed(_response(answer), [*_items(answer)], answer))


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
        numbered = self._number >= 0
        events = enumerate(self._events(answer), self._number)
        return [rawjson.written({**event, **({"sequence_number": at} if numbered else {})}) for at, event in events]

    def _events(self, answer: Answer) -> Iterator[Fields]:
        response = self._response
        if response is None:
            response = _response(answer)
            yield {"type": "response.created", "response": response}
            yield {"type": "response.in_progress", "response": response}
        items = [self._items[place] for place in sorted(self._items)]
        place = max(self._items, default=-1) + 1
        for item in _items(answer):
            yield from _item_events(item, place)
            items.append(item)
            place += 1
        yield {"type": "response.completed", "response": _completed(response, items, answer)}


def _item_events(item: Fields, place: int) -> Iterator[Fields]:
    at = {"output_index": place, "item_id": item["id"]}
    kind = item["type"]
    empty: Fields = {"arguments": ""} if kind == "function_call" else {"content": []}
    begun = {**item, **empty, **({} if kind == "reasoning" else {"status": "in_progress"})}
    yield {"type": "response.output_item.added", "output_index": place, "item": begun}
    if kind == "function_call":
        named = {**at, "name": item["name"]}
        yield {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **named, "arguments": item["arguments"]}
    else:
        (part,) = item["content"]
        part_at = {**at, "content_index": 0}
        event = "reasoning_text" if kind == "reasoning" else "output_text"
        more: Fields = {} if kind == "reasoning" else {"logprobs": []}
        if kind == "message":
            opened = {**part, "text": ""}
            yield {"type": "response.content_part.added", **part_at, "part": opened}
        yield {"type": f"response.{event}.delta", **part_at, "delta": part["text"], **more}
        yield {"type": f"response.{event}.done", **part_at, "text": part["text"], **more}
        if kind == "message":
            yield {"type": "response.content_part.done", **part_at, "part": part}
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _items(answer: Answer) -> Iterator[Fields]:
    if answer.reasoning:
        yield thought_item(f"rs_{answer.digest}", answer.reasoning)
    if answer.text:
        content = [text_part({}, answer.text)]
        about = {"id": f"msg_{answer.digest}", "type": "message", "status": "completed", "role": "assistant"}
        yield {**about, "content": content}
    for index, call in enumerate(answer.calls):
        yield {
            "id": f"fc_{answer.digest}{index}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": rawjson.string(call.name),
            "arguments": rawjson.string(call.arguments),
        }


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
