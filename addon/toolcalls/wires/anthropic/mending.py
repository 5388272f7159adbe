"""Damaged native calls of the Messages API, streamed and whole, as the API would have sent them.

Blocks have indices of their own. A block that comes under an index that another one had gets the next free one, and so
does what follows of it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.anthropic.blocks import is_call, reason_of
from toolcalls.wires.anthropic.decoding import DELTA, START, STOP, content_of
from toolcalls.wires.mending import CUT, Ids, Mended, Mending, as_object


class StreamMender:
    """Mends a stream."""

    def __init__(self, mending: Mending) -> None:
        self.calls: dict[tuple[int, int], Mended] = {}
        self._mending = mending
        self._ids = Ids(mending)
        self._places: dict[int, int] = {}  # the client's index of the latest block at each index that came
        self._taken: set[int] = set()
        self._open: dict[int, Mended] = {}  # calls whose block is open, by the index that came

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        if not self.calls and b'"content_block_start"' not in payload and b'"message_start"' not in payload:
            return None
        event = rawjson.fields(payload)
        kind = rawjson.word(event, "type")
        if kind == "message_start":
            self._taken |= set(range(len(content_of(event))))
            return None
        made = list(self._events(kind, event))
        if len(made) == 1 and made[0] is event:
            return None
        return [rawjson.written(one) for one in made]

    def _events(self, kind: str, event: Fields) -> Iterator[Fields]:
        at = rawjson.number(event, "index", 0)
        if kind == START:
            yield from self._started(event, at)
        elif kind == DELTA:
            yield self._told(event, at)
        elif kind == STOP:
            call = self._open.pop(at, None)
            if call is not None and (tail := call.arguments.end(cut=False)):
                delta = {"type": "input_json_delta", "partial_json": rawjson.string(tail)}
                yield {"type": DELTA, "index": self._places[at], "delta": delta}
            yield self._placed(event, at)
        else:
            yield event

    def _started(self, event: Fields, at: int) -> Iterator[Fields]:
        block = rawjson.fields(event.get("content_block"))
        before = self._open.pop(at, None)
        protocol = self._mending.protocol
        if protocol and before is not None and before.arguments.whole:  # nothing has ended it
            yield {"type": STOP, "index": self._places[at]}
        shared = protocol and at in self._taken
        place = max(self._taken, default=-1) + 1 if shared else at
        self._taken.add(place)
        self._places[at] = place
        if not is_call(block):
            yield self._placed(event, at)
            return
        index = len(self.calls)
        call = self.calls[0, index] = self._open[at] = self._mending.begun(rawjson.word(block, "name"))
        call.arguments.may_be_empty()
        if shared:
            call.repaired("shared_index")
        made = _identified(block, self._ids, index, call)
        given = rawjson.value(block.get("input"))
        told: msgspec.Raw | None = None
        if isinstance(given, str) and not given.strip() and protocol:  # it only says that they follow
            made = {**made, "input": {}}
            call.repaired("empty_arguments")
            call.repaired("string_arguments")
        elif given and isinstance(given, str | dict):
            whole = as_object(block["input"], call, self._mending, cut=False)
            told = whole if isinstance(given, str) else None  # as the API says it: some clients read nothing else
            made = made if whole is None else {**made, "input": whole if told is None else {}}
        yield self._placed(event if made is block else {**event, "content_block": made}, at)
        if told is not None:
            delta = {"type": "input_json_delta", "partial_json": rawjson.string(rawjson.text_of(told))}
            yield self._placed({"type": DELTA, "index": at, "delta": delta}, at)

    def _told(self, event: Fields, at: int) -> Fields:
        call = self._open.get(at)
        delta = rawjson.fields(event.get("delta")) if call is not None else {}
        if call is not None and rawjson.word(delta, "type") == "input_json_delta":
            came = rawjson.word(delta, "partial_json")
            left = call.arguments.feed(came)
            if left != came:
                event = {**event, "delta": {**delta, "partial_json": rawjson.string(left)}}
        return self._placed(event, at)

    def _placed(self, event: Fields, at: int) -> Fields:
        place = self._places.get(at, at)
        return event if place == at else {**event, "index": place}


def _identified(block: Fields, ids: Ids, index: int, call: Mended) -> Fields:
    """A call's block with its own id and the tool's name."""
    given = rawjson.word(block, "id")
    own = ids.of(given, 0, index, call)
    made: Fields = {} if own == given else {"id": rawjson.string(own)}
    made |= {} if call.new_name is None else {"name": rawjson.string(call.new_name)}
    return {**block, **made} if made else block


class WholeMender:
    """Mends a whole reply."""

    def __init__(self, mending: Mending) -> None:
        self.calls: dict[tuple[int, int], Mended] = {}
        self._mending = mending

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        if b'"tool_use"' not in payload:
            return None
        message = rawjson.fields(payload)
        content = rawjson.items(message.get("content"))
        cut = reason_of(rawjson.word(message, "stop_reason")) in CUT
        ids = Ids(self._mending)
        made: list[Any] = []
        for raw in content:
            block = rawjson.fields(raw)
            if not is_call(block):
                made.append(raw)
                continue
            index, name = len(self.calls), rawjson.word(block, "name")
            call = self.calls[0, index] = self._mending.begun(name)
            mended = _identified(block, ids, index, call)
            given = as_object(block.get("input"), call, self._mending, cut=cut)
            mended = mended if given is None else {**mended, "input": given}
            made.append(raw if mended is block else mended)
        if all(one is raw for one, raw in zip(made, content, strict=True)):
            return None
        return [rawjson.written({**message, "content": made})]
