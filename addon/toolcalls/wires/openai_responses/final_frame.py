"""The last frame of a stream: the whole response, which repeats all that was streamed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolcalls.events import Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires.openai_responses.calls import Made
from toolcalls.wires.openai_responses.items import (
    Message,
    is_stopped,
    response_with,
)
from toolcalls.wires.openai_responses.replacement import Standing
from toolcalls.wires.openai_responses.upstream_items import UpstreamItems, refusals_of


class FinalFrame:
    """Encodes the last frame, so that it says what the client has got."""

    def __init__(self, items: UpstreamItems) -> None:
        self._items = items
        self._client = items.client
        self._kept: dict[int, bool] = {}  # of native calls that only this frame holds, by place: whether they stay

    def ended(self, event: Fields, parts: Sequence[Part]) -> None:
        """The whole response says what the stream has said."""
        client = self._client
        response = rawjson.fields(event.get("response"))
        output = rawjson.items(response.get("output"))
        self._items.broken_off.update(
            place
            for lane, said in parts
            if isinstance(said, Withdrawn)
            for place in self._items.reading.places(lane, said.index)
            if place in self._items.natives
        )
        client.tell(self._late(self._untold(parts), output))
        client.end_thought()
        client.end_own()
        open_, client.calls = list(client.calls.values()), {}
        for call in open_:
            call.end("incomplete")
        if "response" not in event:
            client.hand_on(event)
            return
        cut, stopped = bool(open_ or self._items.broken_off), is_stopped(response, parts)
        made = [*client.before, *(item for place, was in enumerate(output) for item in self._became(place, was))]
        same = len(made) == len(output) and all(item is was for item, was in zip(made, output, strict=True))
        made = output if same or not output else made  # some servers leave it empty
        whole = response_with(response, output, made, cut=cut, stopped=stopped)
        was = rawjson.word(event, "type")
        now = "incomplete" if cut and was == "response.completed" else "completed" if stopped and not cut else ""
        kind = {"type": f"response.{now}"} if now and was != f"response.{now}" else {}
        client.hand_on({**event, **kind} if kind else event, **({} if whole is response else {"response": whole}))

    def _untold(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Note which of the calls that only the whole response holds stay; returns what else there is to tell."""
        untold = self._items.reading.untold
        if not untold:
            return parts
        standing = Standing(list(untold.values()), parts)
        told = [*standing.rest, *(part for call in standing.behind for part in call.parts)]
        for place, item in untold.items():
            call = standing.next()
            self._kept[place] = call is not None and call.stands_in(item)
            told += call.parts if call is not None and not self._kept[place] else ()
        return told

    def _late(self, parts: Sequence[Part], output: Sequence[Any]) -> Iterable[Part]:
        """Tell what became of the texts that only the whole response holds; returns what else there is to tell."""
        client, late = self._client, self._items.reading.late
        for place, lanes in late.items():
            message = self._items.messages.get(place)
            if message is None:
                client.end_own()
                client.home = self._items.slots[place] = []
                message = self._items.messages[place] = Message(rawjson.fields(output[place]), client.home)
            client.message, client.home = message, message.home
            client.tell(part for part in parts if part[0] in lanes)
            client.close(behind=refusals_of(rawjson.fields(output[place])))
            client.message = None
        told = set().union(*late.values()) if late else set()
        return [part for part in parts if part[0] not in told]

    def _became(self, place: int, item: Any) -> Iterator[Any]:
        """The items that the client has seen in the place of one; what did not change as it stands at the end."""
        if place not in self._items.slots and rawjson.word(rawjson.fields(item), "call_id") in self._items.withdrawn:
            return
        if not self._kept.get(place, True):
            return
        if place in self._items.broken_off:
            native = self._items.natives[place]
            item = self._broken(native, rawjson.fields(item))
        for became in self._items.slots.get(place, (None,)):
            yield item if became is None else became
        message = self._items.messages.get(place)
        segment = message.segment if message is not None else None
        if message is None or segment is None:
            return
        yield {**rawjson.fields(item), "id": segment.id, "content": segment.closed()} if message.touched else item

    @staticmethod
    def _broken(native: Made, item: Fields) -> Fields:
        """A native call that broke off on its way, as far as the client has got it."""
        if native.kind.whole:
            return {**native.item, "status": rawjson.string("incomplete")}
        held = {native.kind.holds[0]: "".join(native.pieces), "status": "incomplete"}
        named = {"name": native.item["name"]} if "name" in native.item else {}
        return {**item, **named, **{key: rawjson.string(word) for key, word in held.items()}}
