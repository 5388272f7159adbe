"""Frames about messages: their text in pieces, the ends of texts, parts and messages, and annotations."""

from collections.abc import Sequence

from toolcalls.events import Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires.openai_responses.client_stream import opens_text, position_of
from toolcalls.wires.openai_responses.decoding import place_of
from toolcalls.wires.openai_responses.items import Message, is_text, text_part
from toolcalls.wires.openai_responses.upstream_items import UpstreamItems, content_of, refusals_of


class MessageFrames:
    """Encodes the frames about messages."""

    def __init__(self, items: UpstreamItems) -> None:
        self._items = items
        self._client = items.client

    def delta(self, event: Fields, parts: Sequence[Part]) -> None:
        client, message = self._client, self._items.message_of(event)
        delta = rawjson.word(event, "delta")
        text = "".join(part.text for _, part in parts if isinstance(part, Text))
        if any(not isinstance(part, Text) for _, part in parts):
            message.changed = True
            client.emit(parts)
        elif text != delta:
            message.changed = True
            client.text(text, event)
        elif text:
            client.text(text, event)
        elif opens_text(parts) or message.segment is not None:
            client.forward(event, **(position_of(event, message.segment) if message.segment is not None else {}))

    def part_added(self, event: Fields, parts: Sequence[Part]) -> None:
        part = rawjson.fields(event.get("part"))
        if not (is_text(part) or place_of(event) in self._items.messages):
            self._items.forward(event, parts)
            return
        client = self._client
        client.emit(parts)
        message = self._items.message_of(event)
        if is_text(part) and not opens_text(parts):
            message.held.append(event)
            return
        segment = message.segment
        if segment is None:  # a refusal after a call that was made
            segment = client.show_message(message, message.held, place_of(event, "content_index"))
            message.held.clear()
        where = position_of(event, segment)
        begun = segment.part is not None and where.get("content_index") == len(segment.content)
        if is_text(part) and not begun:  # else its text came before it was announced
            segment.begin(part)
        client.forward(event, **where)

    def _adds_text(self, parts: Sequence[Part], event: Fields) -> bool:
        """Whether a frame that says how a text ended is the first to say it; then the client gets what became of it.

        Text that stays as it is goes with the frame, as it came.
        """
        text = content_of(self._items.decoded)[0]
        if not text:
            self._client.emit(parts)
            return False
        message = self._items.message_of(event)
        if content_of(parts) == (text, False, []):
            self._client.open_part(event)[1].pieces.append(text)
        else:
            message.changed = True
            self._client.emit(parts)
        return True

    def text_done(self, event: Fields, parts: Sequence[Part]) -> None:
        self._adds_text(parts, event)
        message = self._items.message_of(event)
        segment = message.segment
        if segment is None or (message.changed and segment.part is None):
            return
        segment.has_text_done = True
        rest: Fields = {}
        if message.changed and rawjson.word(event, "text") != segment.text:
            rest = {"text": rawjson.string(segment.text), **({"logprobs": []} if "logprobs" in event else {})}
        self._client.forward(event, **position_of(event, segment), **rest)

    def part_done(self, event: Fields, parts: Sequence[Part]) -> None:
        part = rawjson.fields(event.get("part"))
        if not (is_text(part) or place_of(event) in self._items.messages):
            self._items.forward(event, parts)
            return
        brings = self._adds_text(parts, event)
        message = self._items.message_of(event)
        segment = message.segment
        if segment is None or (message.changed and is_text(part) and segment.part is None):
            return
        if brings and message.changed:
            self._client.end_text(segment)
        where = position_of(event, segment)
        if message.changed and is_text(part) and rawjson.word(part, "text") != segment.text:
            part = text_part(part, segment.text)
            self._client.forward(event, **where, part=part)
        else:
            self._client.forward(event, **where)
        segment.content.append(part)
        segment.part = None

    def annotation(self, event: Fields, parts: Sequence[Part]) -> None:
        """What an annotation is about may be in a call by now; then it is about nothing that is shown."""
        self._client.emit(parts)
        segment = self._items.message_of(event).segment
        if segment is not None:
            self._client.forward(event, **position_of(event, segment))
            if segment.part is not None:  # the end of the part repeats it
                known = rawjson.items(segment.part.get("annotations"))
                known.append(event.get("annotation", rawjson.NULL))
                segment.part = {**segment.part, "annotations": known}

    def message_done(self, event: Fields, parts: Sequence[Part], item: Fields) -> None:
        client, at = self._client, place_of(event)
        came = content_of(self._items.decoded)[0]
        if not came:
            client.emit(parts)
        elif at not in self._items.messages:  # nobody has opened it
            lanes = {lane for lane, said in self._items.decoded if isinstance(said, Text)}
            client.emit(part for part in parts if part[0] not in lanes)  # what came before it
            parts = [part for part in parts if part[0] in lanes]
            self._items.begin(at)
            self._items.messages[at] = Message(item, client.slot)
        message = self._items.message_of(event)
        if came and (message.changed or content_of(parts) != (came, False, [])):
            client.emit(parts)
            client.end_part()
            for part in refusals_of(item):
                client.add_part(part)
            client.end_message()
            client.message = None
            return
        segment, message.segment = message.segment, None
        client.message = None  # what comes now is in a message of its own
        if segment is None and came:
            message.slot.append(None)
            client.forward(event, output_index=client.take_place(at))
        elif segment is None:
            return
        elif not message.changed:
            message.slot.append(None)
            client.forward(event, output_index=segment.place)
        else:  # with what nobody has said to be over
            made = {**item, "id": segment.id, "content": segment.closed()}
            message.slot.append(made)
            client.forward(event, output_index=segment.place, item=made)
