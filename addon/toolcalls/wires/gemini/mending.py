"""Damaged native calls of Gemini, as the API would have sent them: `args` is an object, and an id stands for one call.

A call without an id is sound, and so is one without `args`.
"""

from collections.abc import Sequence
from typing import Any

from toolcalls.values import rawjson
from toolcalls.wires.gemini.parts import is_whole, reason_of, unwrapped
from toolcalls.wires.mending import CUT, Ids, Mended, Mending, as_object


class Mender:
    """Mends one reply, streamed or whole."""

    def __init__(self, mending: Mending) -> None:
        self.calls: dict[tuple[int, int], Mended] = {}
        self._mending = mending
        self._next: dict[int, int] = {}
        self._ids: dict[int, Ids] = {}

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        if b'"functionCall"' not in payload:
            return None
        reply, around = unwrapped(payload)
        candidates = rawjson.items(reply.get("candidates"))
        made = [self._candidate(place, raw) for place, raw in enumerate(candidates)]
        if all(one is raw for one, raw in zip(made, candidates, strict=True)):
            return None
        reply = {**reply, "candidates": made}
        return [rawjson.written(reply if around is None else {**around, "response": reply})]

    def _candidate(self, place: int, raw: Any) -> Any:
        candidate = rawjson.fields(raw)
        lane = rawjson.number(candidate, "index", place)
        content = rawjson.fields(candidate.get("content"))
        cut = reason_of(rawjson.word(candidate, "finishReason")) in CUT
        parts = rawjson.items(content.get("parts"))
        made = [self._part(lane, part, cut=cut) for part in parts]
        if all(one is part for one, part in zip(made, parts, strict=True)):
            return raw
        return {**candidate, "content": {**content, "parts": made}}

    def _part(self, lane: int, raw: Any, *, cut: bool) -> Any:
        part = rawjson.fields(raw)
        given = rawjson.fields(part.get("functionCall"))
        name = rawjson.word(given, "name")
        if not name:
            return raw
        index = self._next.get(lane, 0)
        self._next[lane] = index + 1
        call = self.calls[lane, index] = self._mending.begun(name)
        ids = self._ids.setdefault(lane, Ids(self._mending))
        made = ids.optional(given, lane, index, call)
        made |= {} if call.new_name is None else {"name": rawjson.string(call.new_name)}
        if is_whole(given) and (call.arguments.instead or rawjson.value(given.get("args")) is not None):
            args = as_object(given.get("args"), call, self._mending, cut=cut)
            made |= {} if args is None else {"args": args}
        return {**part, "functionCall": {**given, **made}} if made else raw
