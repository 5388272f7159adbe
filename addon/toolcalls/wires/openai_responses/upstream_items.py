"""The upstream's items of a streamed reply, and what the client has got of each."""

from collections.abc import Sequence
from typing import Any

from toolcalls.events import (
    CallStart,
    Damage,
    Event,
    Fetched,
    Finish,
    Note,
    OtherContent,
    ParagraphEnd,
    Reasoning,
    Text,
    Withdrawn,
)
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires.openai_responses.calls import CallItem, kind_of
from toolcalls.wires.openai_responses.client_stream import ClientStream, opens_text, position_of
from toolcalls.wires.openai_responses.decoding import Reading, place_of
from toolcalls.wires.openai_responses.items import (
    MESSAGE,
    Message,
    Segment,
    is_text,
    parts_of,
)

# Events that say nothing of a frame's other content.
_SILENT = Text | Fetched | Finish | ParagraphEnd | Damage | Note | OtherContent


def content_of(parts: Sequence[Part]) -> tuple[str, bool, list[Event]]:
    """The content of a frame's events: its text, whether it opens a place for text, and its other events."""
    text = "".join(event.text for _, event in parts if isinstance(event, Text))
    others: list[Event] = [event for _, event in parts if not (isinstance(event, _SILENT) or _is_aside(event))]
    return text, opens_text(parts), others


def _is_aside(event: Event) -> bool:
    """Whether an event only says that there is reasoning."""
    return isinstance(event, Reasoning) and not event.text


def withdrawn_at(parts: Sequence[Part]) -> int:
    """The place among the parts at which a native call is withdrawn; their number where none is."""
    return next((place for place, (_, event) in enumerate(parts) if isinstance(event, Withdrawn)), len(parts))


def stays_native(parts: Sequence[Part]) -> bool:
    """Whether a native call stays one."""
    return any(isinstance(event, CallStart) and event.dialect is None for _, event in parts)


def refusals_of(item: Fields) -> list[Fields]:
    """The parts of a message that are no text."""
    return [part for part in parts_of(item) if not is_text(part)]


class UpstreamItems:
    """The items by their places in the upstream's output, and the stream that the client gets.

    decoded     the events that the frame in hand came with
    places      the client's places of items, None for an item that it does not get
    slots       the items that the client got in the place of an item; None in it is that item, as it came
    messages    those that are messages
    natives     native calls that the client got
    broken_off  places of native calls of which the client got only a part
    withdrawn   ids of native calls that were withdrawn
    """

    def __init__(self, *, folded: bool = False) -> None:
        self.reading = Reading()
        self.client = ClientStream(self.reading, folded=folded)
        self.decoded: list[Part] = []
        self.places: dict[int, int | None] = {}
        self.slots: dict[int, list[Any]] = {}
        self.messages: dict[int, Message] = {}
        self.natives: dict[int, CallItem] = {}
        self.broken_off: set[int] = set()
        self.withdrawn: set[str] = set()

    def is_withheld(self, place: int, item: Fields) -> bool:
        """Whether an item of the whole response is a call that the client has not got, or not whole, and that `slots`
        does not know here: it was streamed at another place, or another call has come at its place since. Only where
        rules may block.
        """
        if not self.reading.guarded or kind_of(item) is None or place in self.broken_off:
            return False
        streamed = self.reading.places_of_id(rawjson.word(item, "call_id"))
        if place not in streamed and any(self.places.get(at) is None or at in self.broken_off for at in streamed):
            return True
        return self.reading.is_withdrawn(item) and not self.reading.is_at(place, item)

    def is_call_where_text_came(self, item: Any) -> bool:
        """Whether an item of the whole response, at the place of a message, is a call. Only where rules may block."""
        return self.reading.guarded and kind_of(rawjson.fields(item)) is not None

    def begin(self, at: int) -> None:
        """Begin an item of the upstream's; what is added before the next one belongs to it."""
        self.client.close_own()
        self.client.slot = self.slots[at] = []

    def message_of(self, event: Fields) -> Message:
        """The message that a frame is about; one that nobody has opened is open."""
        client, at = self.client, place_of(event)
        message = self.messages.get(at)
        if message is None:
            client.close_own()
            client.slot = self.slots.setdefault(at, [])
            item = {"id": event["item_id"], **MESSAGE} if "item_id" in event else dict(MESSAGE)
            message = self.messages[at] = Message(item, client.slot)
            message.segment = Segment(message.id(), max(at, client.next), 0)
            client.next = message.segment.place + 1
        elif client.message is not message:
            client.close_own()
        client.message = message
        return message

    def forward(self, event: Fields, parts: Sequence[Part]) -> None:
        """Send a frame of no special kind. Where it is about an item, the client may have that in another place."""
        self.client.emit(parts)
        at = place_of(event)
        if "output_index" not in event:
            self.client.forward(event)
        elif (message := self.messages.get(at)) is not None:
            if message.segment is not None:
                self.client.forward(event, **position_of(event, message.segment))
        elif at not in self.broken_off and (place := self.places.get(at, at)) is not None:
            self.client.forward(event, output_index=place)
