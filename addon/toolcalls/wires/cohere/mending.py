"""Damaged native calls of a stream: mended by the mender of Chat Completions, as they would have come.

A call after the end of another is another, whatever its number is; the mender knows each by a number of its own.
"""

from collections.abc import Sequence

from toolcalls.values import rawjson
from toolcalls.wires import STREAM_END, all_wires
from toolcalls.wires.cohere import streamed
from toolcalls.wires.mending import Mended, Mender, Mending


class StreamMender:
    """Mends a stream as the mender of Chat Completions does."""

    def __init__(self, mending: Mending) -> None:
        inner = all_wires()["openai_chat"].mender(mending, streamed=True)
        assert inner is not None
        self._inner: Mender = inner
        self.calls: dict[tuple[int, int], Mended] = inner.calls
        self._renumbers = mending.protocol
        self._numbers = streamed.CallNumbers()
        self._places: dict[int, int] = {}  # the index that the latest call of each number has by now

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        if not self.calls and b'"tool-call-' not in payload:
            return None
        event = rawjson.fields(payload)
        kind, at = rawjson.word(event, "type"), rawjson.number(event, "index", 0)
        if kind == "tool-call-end":
            place = self._place(at)
            self._numbers.end(at)
            return None if place == at else [rawjson.written({**event, "index": place})]
        numbered = self._numbers.numbered(event)
        chunk = payload if payload == STREAM_END else streamed.to_chat(numbered)
        known = len(self.calls)
        made = None if chunk is None else self._inner.mend(chunk)
        if len(self.calls) > known:  # the API says so of a call without arguments
            self._began(at, renumbered=numbered is not event)
        if kind in {"tool-call-start", "tool-call-delta"}:
            place = self._place(at)
            if made is None:
                return None if place == at else [rawjson.written({**event, "index": place})]
            (first, *_) = (one for frame in made for one in streamed.from_chat(frame, event))
            return [rawjson.written({**first, "index": place})]
        if made is None:
            return None
        tails = [one for frame in made if frame != STREAM_END for one in streamed.from_chat(frame, {})]
        return [*map(rawjson.written, tails), payload]  # they come before the message's end

    def _began(self, at: int, *, renumbered: bool) -> None:
        (_, place), call = list(self.calls.items())[-1]
        call.arguments.may_be_empty()
        self._places[self._numbers.of(at)] = place
        if renumbered and self._renumbers:
            call.repaired("shared_index")

    def _place(self, at: int) -> int:
        """The index that the client gets for the latest call at an index."""
        number = self._numbers.of(at)
        return self._places.get(number, number) if self._renumbers else at
