"""Damaged native calls of the Responses API, streamed and whole, as the API would have sent them.

What a stream says of a call up to four times is mended each time in the same way: its id where its item begins, ends
and is in the whole response; its arguments in their pieces, where they and the item end, and in the response.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.mending import Ids, Mended, Mending
from toolcalls.wires.openai_responses.calls import FUNCTION, PIECES, kind_of
from toolcalls.wires.openai_responses.decoding import TERMINAL, place_of

_ADDED, _DONE = "response.output_item.added", "response.output_item.done"


class _Item(Mended):
    """A call. `id` is the client's, `came_as` what came with its beginning, `ended_as` with its end where that differs.
    `place`: its place in the client's output. `ended`: all of its arguments have left.
    """

    __slots__ = ("came_as", "done", "ended", "ended_as", "id", "place", "streamed")

    def __init__(self, mending: Mending, place: int) -> None:
        super().__init__(mending)
        self.place = place
        self.id = self.came_as = self.ended_as = ""
        self.streamed = self.ended = self.done = False


class _Reply:
    """The calls of one reply, in the order in which they came."""

    def __init__(self, mending: Mending) -> None:
        self.calls: dict[tuple[int, int], Mended] = {}
        self._mending = mending
        self._ids = Ids(mending)

    def begun(self, item: Fields, place: int) -> _Item:
        """A call that begins with this item."""
        kind = kind_of(item)
        index = len(self.calls)
        call = _Item(self._mending, place)
        if kind is FUNCTION:
            call.take_name(kind.name(item))
        elif kind is not None:
            call.came_name = call.name = kind.name(item)
        self.calls[0, index] = call
        call.came_as = rawjson.word(item, "call_id")
        call.id = self._ids.of(call.came_as, 0, index, call)
        return call

    def mended(self, item: Fields, call: _Item, *, begins: bool = False) -> Fields:
        """An item of a call as it should have come; itself where that is how it came."""
        made: Fields = {}
        came = rawjson.word(item, "call_id")
        if self._mending.protocol and call.id != came:
            made["call_id"] = rawjson.string(call.id)
        made |= self.renamed(item, call)
        if came not in {"", call.came_as}:
            call.ended_as = came
            call.repaired("changed_id")
        if kind_of(item) is FUNCTION:
            incomplete = begins or rawjson.word(item, "status") == "incomplete"
            arguments = self.arguments(item, call, cut=incomplete)
            made |= {} if arguments is None else {"arguments": rawjson.string(arguments)}
        return {**item, **made} if made else item

    @staticmethod
    def renamed(holder: Fields, call: _Item) -> Fields:
        """The name of a call as it was meant, where another is there."""
        if call.new_name is None or rawjson.word(holder, "name") != call.came_name:
            return {}
        return {"name": rawjson.string(call.new_name)}

    def arguments(self, holder: Fields, call: _Item, *, cut: bool) -> str | None:
        """All arguments of a call as they should have come; None where that is how they came."""
        given = holder.get("arguments")
        if is_object := rawjson.is_object(given):
            text = rawjson.text_of(given)
        else:
            text = rawjson.word(holder, "arguments")
        if is_object and not self._mending.protocol:
            return None
        if call.streamed and self._mending.values is not None and (kept := call.arguments.kept) and kept[0] == text:
            if is_object:
                call.repaired("object_arguments")
            return kept[1] if is_object or kept[1] != text else None  # what the client has got
        left, arguments = self._mending.whole(call, text, cut=cut)
        if arguments.repairs and not call.arguments.repairs:
            call.arguments = arguments
        if is_object:
            call.repaired("object_arguments")
        return left if is_object or left != text else None


class StreamMender(_Reply):
    """Mends a stream."""

    def __init__(self, mending: Mending) -> None:
        super().__init__(mending)
        self._items: dict[int, _Item | None] = {}  # the latest one at each place that came; None for no call
        self._taken: set[int] = set()
        self._moved = False

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        if not (b"output_item" in payload or b"_call" in payload or self._moved):
            return None
        event = rawjson.fields(payload)
        kind = rawjson.word(event, "type")
        tails = [*self._tails(kind, event)] if self._mending.values is not None else []
        made = event
        if kind == _ADDED:
            made = self._added(event)
        elif kind in PIECES:
            made = self._arguments(event, piece=PIECES[kind][1], custom=PIECES[kind][0] is not FUNCTION)
        elif kind == _DONE:
            made = self._done(event)
        elif kind in TERMINAL:
            made = self._ended(event)
        elif "output_index" in event:
            made = self._placed(event)
        return None if made is event and not tails else [*map(rawjson.written, tails), rawjson.written(made)]

    def _tails(self, kind: str, event: Fields) -> Iterator[Fields]:
        """The pieces of arguments that still leave, in front of an event that says that all have come."""
        if kind not in TERMINAL and kind != _DONE and not (kind in PIECES and not PIECES[kind][1]):
            return
        known = self._items.values() if kind in TERMINAL else [self._items.get(place_of(event))]
        for call in known:
            if call is None or call.ended or not call.streamed:
                continue
            call.ended = True
            if tail := call.arguments.end(cut=kind in TERMINAL):
                where: Fields = {
                    key: event[key] for key in ("item_id", "output_index", "sequence_number") if key in event
                }
                yield {"type": f"{FUNCTION.events}.delta", **where, "delta": rawjson.string(tail)}

    def _added(self, event: Fields) -> Fields:
        item, at = rawjson.fields(event.get("item")), place_of(event)
        if kind_of(item) is None:
            self._items[at] = None
            self._taken.add(at)
            return event
        known = self._items.get(at)
        if known is not None and not known.done and rawjson.word(item, "call_id") == known.came_as:
            return self._placed(self._with_item(event, item, known, begins=True))  # announced twice
        place = at
        if known is not None and self._mending.protocol:
            place = max(self._taken, default=-1) + 1
            self._moved = True
        self._taken.add(place)
        call = self._items[at] = self.begun(item, place)
        if place != at:
            call.repaired("shared_index")
        return self._placed(self._with_item(event, item, call, begins=True))

    def _arguments(self, event: Fields, *, piece: bool, custom: bool) -> Fields:
        call = self._items.get(place_of(event))
        if call is None or custom:
            return self._placed(event)
        if piece:
            call.streamed = True
            came = rawjson.word(event, "delta")
            left = call.arguments.feed(came)
            return self._placed(event if left == came else {**event, "delta": rawjson.string(left)})
        arguments = self.arguments(event, call, cut=False)
        changes = self.renamed(event, call)
        changes |= {} if arguments is None else {"arguments": rawjson.string(arguments)}
        return self._placed({**event, **changes} if changes else event)

    def _done(self, event: Fields) -> Fields:
        item, at = rawjson.fields(event.get("item")), place_of(event)
        if kind_of(item) is None:
            return self._placed(event)
        call = self._items.get(at)
        if call is None or call.done:  # nobody has announced it
            self._added(event)
            call = self._items[at]
        if call is None:
            return event
        call.done = True
        return self._placed(self._with_item(event, item, call))

    def _ended(self, event: Fields) -> Fields:
        response = rawjson.fields(event.get("response"))
        output = rawjson.items(response.get("output"))
        known = [call for call in self.calls.values() if isinstance(call, _Item)]
        made: list[Any] = []
        place = 0
        for raw in output:
            item = rawjson.fields(raw)
            if kind_of(item) is None:
                made.append(raw)
                continue
            call = known[place] if place < len(known) else self.begun(item, -1)
            place += 1
            if rawjson.word(item, "call_id") not in {call.came_as, call.ended_as}:  # in another order, or another call
                made.append(raw)
                continue
            mended = self.mended(item, call)
            made.append(raw if mended is item else mended)
        if all(one is raw for one, raw in zip(made, output, strict=True)):
            return event
        return {**event, "response": {**response, "output": made}}

    def _placed(self, event: Fields) -> Fields:
        call = self._items.get(place_of(event))
        if call is None or call.place == place_of(event):
            return event
        return {**event, "output_index": call.place}

    def _with_item(self, event: Fields, item: Fields, call: _Item, *, begins: bool = False) -> Fields:
        made = self.mended(item, call, begins=begins)
        return event if made is item else {**event, "item": made}


class WholeMender(_Reply):
    """Mends a whole reply."""

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        if b'_call"' not in payload:
            return None
        response = rawjson.fields(payload)
        output = rawjson.items(response.get("output"))
        made: list[Any] = []
        for raw in output:
            item = rawjson.fields(raw)
            mended = item if kind_of(item) is None else self.mended(item, self.begun(item, len(made)))
            made.append(raw if mended is item else mended)
        if all(one is raw for one, raw in zip(made, output, strict=True)):
            return None
        return [rawjson.written({**response, "output": made})]
