"""The last frame of a stream: the whole response, which repeats all that was streamed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolcalls.events import CallStart, Reasoning, Text, Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires.openai_responses.calls import CallItem
from toolcalls.wires.openai_responses.items import Message, is_stopped, is_text, response_with
from toolcalls.wires.openai_responses.replacement import ItemCall
from toolcalls.wires.openai_responses.upstream_items import UpstreamItems
from toolcalls.wires.replacement import Replacements


class FinalFrame:
    """Encodes the last frame, so that it says what the client has got."""

    def __init__(self, items: UpstreamItems) -> None:
        self._items = items
        self._client = items.client
        self._behind: list[Any] = []  # items behind all of the upstream's

    def ended(self, event: Fields, parts: Sequence[Part]) -> None:
        """Send the frame with what the stream has said."""
        client = self._client
        if "response" not in event:
            self._finish(parts, ())
            client.forward(event)
            return
        response = rawjson.fields(event["response"])
        made, cut = self.response(response, parts)
        was = rawjson.word(event, "type")
        stopped = is_stopped(response, parts) and not cut
        now = "incomplete" if cut and was == "response.completed" else "completed" if stopped else ""
        kind = {"type": f"response.{now}"} if now and was != f"response.{now}" else {}
        client.forward({**event, **kind} if kind else event, **({} if made is response else {"response": made}))

    def response(self, response: Fields, parts: Sequence[Part]) -> tuple[Fields, bool]:
        """The whole response with what the stream has said; and whether a call of it broke off."""
        output = rawjson.items(response.get("output"))
        cut = self._finish(parts, output)
        between = (item for place, was in enumerate(output) for item in self._client_items(place, was))
        made = [*self._client.before, *between, *self._behind]
        same = len(made) == len(output) and all(item is was for item, was in zip(made, output, strict=True))
        made = output if same or not (output or self._client.folded) else made  # some servers leave it empty
        return response_with(response, output, made, cut=cut, stopped=is_stopped(response, parts)), cut

    def _finish(self, parts: Sequence[Part], output: Sequence[Any]) -> bool:
        """Send all that is left, and end what is open; returns whether a call broke off."""
        client, items = self._client, self._items
        items.broken_off.update(
            place
            for lane, said in parts
            if isinstance(said, Withdrawn)
            for place in items.reading.places_of_call(lane, said.index)
            if place in items.natives
        )
        client.emit(self._unstreamed(parts, output))
        client.close()
        client.close_own()
        open_ = client.broken_off()
        for call in open_:
            call.end("incomplete")
        return bool(open_ or items.broken_off)

    # What only this frame holds

    def _unstreamed(self, parts: Sequence[Part], output: Sequence[Any]) -> Sequence[Part]:
        """Send what became of calls and texts that only this frame holds, in their order; returns what remains."""
        calls, texts = self._items.reading.take_unstreamed()
        if not (calls or texts or self._client.folded):
            return parts
        replacements = Replacements([*calls.values()], parts, ItemCall)
        of_texts: dict[int, list[Part]] = {lane: [] for lanes in texts.values() for lane in lanes.values()}
        rest: list[Part] = []
        for part in replacements.other_parts:
            of_texts.get(part[0], rest).append(part)
        for place in sorted({*calls, *texts}):
            if place in texts:
                self._message(place, rawjson.fields(output[place]), texts[place], of_texts)
                continue
            call = replacements.next()
            if call is not None and call.is_unchanged(calls[place]):
                continue
            self._items.begin(place)
            if call is not None:
                self._client.replaced[call.start.id] = calls[place]
                self._client.emit(call.parts)
            elif replacements.in_order and not texts:
                self._client.emit(rest)
                rest = []
        self._client.close_own()
        self._client.slot = self._behind
        return [*rest, *(part for call in replacements.unplaced for part in call.parts)]

    def _message(self, place: int, item: Fields, lanes: Mapping[int, int], parts: Mapping[int, Sequence[Part]]) -> None:
        """Send what became of the texts of one message. `lanes`: those of its text parts, by their numbers."""
        client, content = self._client, rawjson.items(item.get("content"))
        if self._client.folded and all(
            _is_same(rawjson.fields(content[at]), parts[lane]) for at, lane in lanes.items()
        ):
            return
        message = self._items.messages.get(place)
        if message is None:
            self._items.begin(place)
            message = self._items.messages[place] = Message(item, client.slot, whole=True)
        client.close_own()
        client.message, client.slot = message, message.slot
        for number, raw in enumerate(content):
            part = rawjson.fields(raw)
            if number in lanes:
                message.part = part
                client.emit(parts[lanes[number]])
                client.close()
                client.end_part()
            elif not is_text(part):
                client.add_part(raw)
        client.end_message()
        client.message = None

    def _client_items(self, place: int, item: Any) -> Iterator[Any]:
        """The items that the client has seen in the place of one; what did not change as it is at the end."""
        is_withheld = self._items.is_withheld(place, rawjson.fields(item))
        if place not in self._items.slots and rawjson.word(rawjson.fields(item), "call_id") in self._items.withdrawn:
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


def _is_same(part: Fields, events: Sequence[Part]) -> bool:
    """Whether a text part is as it came."""
    others = any(isinstance(one, CallStart) or (isinstance(one, Reasoning) and one.moved) for _, one in events)
    said = "".join(one.text for _, one in events if isinstance(one, Text))
    return not others and said == rawjson.word(part, "text")
