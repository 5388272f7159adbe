"""Frames about items: where one begins and ends, and the arguments of native calls."""

from collections.abc import Sequence

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires.openai_responses.calls import CallItem, CallKind, kind_of
from toolcalls.wires.openai_responses.client_stream import opens_text
from toolcalls.wires.openai_responses.decoding import place_of
from toolcalls.wires.openai_responses.items import (
    Message,
)
from toolcalls.wires.openai_responses.message_frames import MessageFrames
from toolcalls.wires.openai_responses.upstream_items import UpstreamItems, stays_native, withdrawn_at


class ItemFrames:
    """Encodes the frames about items. What is special about messages is in `messages`."""

    def __init__(self, items: UpstreamItems, messages: MessageFrames) -> None:
        self._items = items
        self._client = items.client
        self._messages = messages

    def added(self, event: Fields, parts: Sequence[Part]) -> None:
        client = self._client
        item, at = rawjson.fields(event.get("item")), place_of(event)
        kind = kind_of(item)
        gone = withdrawn_at(parts)
        client.emit(parts[:gone], natives=kind is None)
        client.close()
        self._items.begin(at)
        if rawjson.word(item, "type") == "message":
            client.message = self._items.messages[at] = message = Message(item, client.slot)
            message.held.append(event)
            if opens_text(parts):
                client.show_message(message, [event], 0)
                message.held.clear()
        elif kind is not None and not stays_native(parts):
            self._omit(item, at, parts[gone:])
        else:
            self._keep(kind, event, at)

    def _keep(self, kind: CallKind | None, event: Fields, at: int) -> None:
        """Forward an item of the upstream's."""
        client = self._client
        self._items.places[at] = place = client.take_place(at)
        if kind is not None:
            self._items.natives[at] = CallItem(kind, rawjson.fields(event["item"]), place)
        client.slot.append(None)
        client.forward(event, output_index=place)

    def _omit(self, item: Fields, at: int, parts: Sequence[Part]) -> None:
        """A native call that the client does not get here. `parts`: that it goes, and what is in its place."""
        self._items.places[at] = None
        if parts:
            id_ = rawjson.word(item, "call_id")
            self._items.withdrawn.add(id_)
            self._client.replaced[id_] = item
        self._client.emit(parts)

    def arguments(self, event: Fields, parts: Sequence[Part]) -> None:
        """A piece of a native call's arguments, or all of them."""
        at = place_of(event)
        place, native = self._items.places.get(at, at), self._items.natives.get(at)
        if place is None or self._breaks_off(at, parts):
            self._client.emit(parts)
            return
        if native is not None:
            native.pieces.append(rawjson.word(event, "delta"))
        self._client.forward(event, output_index=place)

    def _breaks_off(self, at: int, parts: Sequence[Part]) -> bool:
        """Whether nothing more is sent of a call whose beginning was sent."""
        if withdrawn_at(parts) < len(parts):
            self._items.broken_off.add(at)
        return at in self._items.broken_off

    def item_done(self, event: Fields, parts: Sequence[Part]) -> None:
        client = self._client
        item, at = rawjson.fields(event.get("item")), place_of(event)
        kind = kind_of(item)
        if rawjson.word(item, "type") == "message":
            self._messages.message_done(event, parts, item)
            return
        if kind is None:
            self._items.forward(event, parts)
            return
        if at not in self._items.places:  # nobody has opened it
            gone = withdrawn_at(parts)
            client.emit(parts[:gone], natives=False)
            self._items.begin(at)
            if stays_native(parts):
                self._keep(kind, event, at)
                return
            self._omit(item, at, parts[gone:])
        if self._items.places[at] is None:
            client.lowered[rawjson.word(item, "call_id")] = item
        elif not self._breaks_off(at, parts):
            client.forward(event, output_index=self._items.places[at])
