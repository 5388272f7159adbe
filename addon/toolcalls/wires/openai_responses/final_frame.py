"""The last frame of a stream: the whole response, which repeats all that was streamed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolcalls.events import Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires.openai_responses.calls import CallItem
from toolcalls.wires.openai_responses.items import Message, is_stopped, response_with
from toolcalls.wires.openai_responses.replacement import ItemCall
from toolcalls.wires.openai_responses.upstream_items import UpstreamItems, refusals_of
from toolcalls.wires.replacement import Replacements


class FinalFrame:
    """Encodes the last frame, so that it says what the client has got."""

    def __init__(self, items: UpstreamItems) -> None:
        self._items = items
        self._client = items.client
        self._kept: dict[int, bool] = {}  # of native calls that only this frame holds, by place: whether they stay

    def ended(self, event: Fields, parts: Sequence[Part]) -> None:
        """Make the whole response say what the stream has said."""
        client = self._client
        response = rawjson.fields(event.get("response"))
        output = rawjson.items(response.get("output"))
        self._items.broken_off.update(
            place
            for lane, said in parts
            if isinstance(said, Withdrawn)
            for place in self._items.reading.places_of_call(lane, said.index)
            if place in self._items.natives
        )
        client.emit(self._unstreamed_texts(self._unstreamed_calls(parts), output))
        client.close()
        client.close_own()
        open_ = client.broken_off()
        for call in open_:
            call.end("incomplete")
        if "response" not in event:
            client.forward(event)
            return
        cut, stopped = bool(open_ or self._items.broken_off), is_stopped(response, parts)
        made = [*client.before, *(item for place, was in enumerate(output) for item in self._client_items(place, was))]
        same = len(made) == len(output) and all(item is was for item, was in zip(made, output, strict=True))
        made = output if same or not output else made  # some servers leave it empty
        whole = response_with(response, output, made, cut=cut, stopped=stopped)
        was = rawjson.word(event, "type")
        now = "incomplete" if cut and was == "response.completed" else "completed" if stopped and not cut else ""
        kind = {"type": f"response.{now}"} if now and was != f"response.{now}" else {}
        client.forward({**event, **kind} if kind else event, **({} if whole is response else {"response": whole}))

    def _unstreamed_calls(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Note which of the calls that only this frame holds stay; returns the parts that remain to be sent."""
        unstreamed_calls = self._items.reading.unstreamed_calls
        if not unstreamed_calls:
            return parts
        replacements = Replacements(list(unstreamed_calls.values()), parts, ItemCall)
        sent = [*replacements.other_parts, *(part for call in replacements.unplaced for part in call.parts)]
        for place, item in unstreamed_calls.items():
            call = replacements.next()
            self._kept[place] = call is not None and call.is_unchanged(item)
            sent += call.parts if call is not None and not self._kept[place] else ()
        return sent

    def _unstreamed_texts(self, parts: Sequence[Part], output: Sequence[Any]) -> Iterable[Part]:
        """Send what became of the texts that only this frame holds; returns the parts that remain to be sent."""
        client, unstreamed_texts = self._client, self._items.reading.unstreamed_texts
        for place, lanes in unstreamed_texts.items():
            item = rawjson.fields(output[place]) if place < len(output) else {}  # a later response may hold fewer
            message = self._items.messages.get(place)
            if message is None:
                client.close_own()
                client.slot = self._items.slots[place] = []
                message = self._items.messages[place] = Message(item, client.slot)
            client.message, client.slot = message, message.slot
            client.emit(part for part in parts if part[0] in lanes)
            client.end_message(behind=refusals_of(item))
            client.message = None
        sent = set().union(*unstreamed_texts.values()) if unstreamed_texts else set()
        return [part for part in parts if part[0] not in sent]

    def _client_items(self, place: int, item: Any) -> Iterator[Any]:
        """The items that the client has seen in the place of one; what did not change as it is at the end."""
        is_withheld = self._items.is_withheld(place, rawjson.fields(item))
        if place not in self._items.slots and rawjson.word(rawjson.fields(item), "call_id") in self._items.withdrawn:
            return
        if not self._kept.get(place, True):
            return
        if place in self._items.broken_off:
            native = self._items.natives[place]
            item = self._broken(native, rawjson.fields(item))
        for became in self._items.slots.get(place, (None,)):
            if became is not None or not is_withheld:
                yield item if became is None else became
        message = self._items.messages.get(place)
        segment = message.segment if message is not None else None
        if message is None or segment is None:
            return
        if self._items.is_call_where_text_came(item):  # it is judged as a call, and this is about the text
            item = message.item
        yield {**rawjson.fields(item), "id": segment.id, "content": segment.closed()} if message.changed else item

    @staticmethod
    def _broken(native: CallItem, item: Fields) -> Fields:
        """A native call that broke off on its way, as far as the client has got it."""
        if native.kind.whole:
            return {**native.item, "status": rawjson.string("incomplete")}
        held = {native.kind.holds[0]: "".join(native.pieces), "status": "incomplete"}
        named = {"name": native.item["name"]} if "name" in native.item else {}
        return {**item, **named, **{key: rawjson.string(word) for key, word in held.items()}}
