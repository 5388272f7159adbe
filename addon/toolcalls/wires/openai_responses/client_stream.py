"""The stream that the client gets: what it has got so far, and new frames made of the hub's events.

Items are the blocks of `content_blocks`; a text is one part of a message, which goes on with its next text. A message
that would show nothing is not shown: the frames that open it are held until its first text. A call that broke off is
open until the last frame, which says that it is incomplete.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from toolcalls.events import CallStart, Event, Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, merge_texts
from toolcalls.wires.content_blocks import Block, ContentBlocks
from toolcalls.wires.openai_responses.calls import CUSTOM, CallItem, kind_of_form
from toolcalls.wires.openai_responses.decoding import DELTA, TEXT_DONE, Reading, place_of
from toolcalls.wires.openai_responses.items import (
    MESSAGE,
    NOTHING,
    Message,
    Segment,
    Thought,
    text_part,
    thought_item,
    thought_part,
)


def position_of(event: Fields, segment: Segment) -> Fields:
    """Where the client sees what a frame of a message is about, as far as the frame says so."""
    index = place_of(event, "content_index") - segment.base
    where = {"item_id": segment.id, "output_index": segment.place, "content_index": index}
    return {key: value for key, value in where.items() if key in event}


def opens_text(parts: Sequence[Part]) -> bool:
    """Whether the text part that a frame opens is shown."""
    return any(isinstance(event, Text) and not event.text for _, event in parts)


def _as_was(raw: object, value: Any) -> Any:
    """`value`, spelt like `raw` where both mean the same."""
    if (
        isinstance(raw, msgspec.Raw)
        and isinstance(value, int | msgspec.Raw)
        and rawjson.value(raw) == rawjson.value(value)
    ):
        return raw
    return value


class ClientStream(ContentBlocks):
    """The client's side of one reply. What is open is a block of ours that is no text.

    out        the frames that it gets for the one in hand
    before     the items of ours that come before all of the upstream's
    slot       those in the place of the upstream's latest item
    message    the message that text belongs to
    calls      the calls of ours that are open, by lane and index
    lowered    native calls that it has not got, since they become text, by their ids
    replaced   those whose places others may take, by their ids
    diverged   it got something else than the upstream sent
    folded     it gets one whole reply and no frames: only the items count
    """

    calls_stay_open = True

    def __init__(self, reading: Reading, *, folded: bool = False) -> None:
        super().__init__()
        self.out: list[Fields] = []
        self.before: list[Any] = []
        self.slot = self.before
        self.message: Message | None = None
        self.calls: dict[tuple[int, int], CallItem] = {}
        self.lowered: dict[str, Fields] = {}
        self.replaced: dict[str, Fields] = {}
        self.diverged = folded
        self.folded = folded
        self._reading = reading
        self._thought = Thought({}, -1)  # the one that is open
        self._first: int | None = None  # the number of the frame's first event, None where events have none
        self._numbers = 0  # how much higher the client's numbers are
        self._shared: Fields = {}  # what every event says beside its own
        self._own = 0  # items of ours that are no calls

    # Frames

    def begin_frame(self, event: Fields) -> None:
        """Begin the upstream's next frame."""
        number = rawjson.number(event, "sequence_number", -1)
        self._first = None if number < 0 else number + self._numbers
        self._shared = {"stream_id": event["stream_id"]} if "stream_id" in event else {}
        self.out = []

    def end_frame(self) -> None:
        """Count the payloads in `out`, which are sent for that frame."""
        self._numbers += len(self.out) - 1

    def send(self, kind: str, **members: Any) -> None:
        if self.folded:
            return
        number = {} if self._first is None else {"sequence_number": self._first + len(self.out)}
        self.out.append({"type": kind, **number, **members, **self._shared})

    def forward(self, event: Fields, **changes: Any) -> None:
        """Send an event of the upstream's, with new values for some members and its own number."""
        if self.folded:
            return
        if self._first is not None:
            changes["sequence_number"] = self._first + len(self.out)
        self.out.append({**event, **{key: _as_was(event.get(key), value) for key, value in changes.items()}})

    def take_place(self, at: int | None = None) -> int:
        """Take the place of the next item: until the streams diverge, the upstream's (`at`), gaps and all."""
        if at is not None and not self.diverged:
            self.next = max(self.next, at)
        self.next += 1
        return self.next - 1

    def _index_of(self, call: CallStart | None) -> int:  # noqa: ARG002
        """-1: an item takes its place when it is shown."""
        return -1

    # The hub's events

    def emit(self, parts: Iterable[Part], *, natives: bool = True) -> None:
        """Send what became of the text. `natives`: a native call among it is one that could not become text."""
        for lane, event in merge_texts(parts):
            if natives or not (isinstance(event, CallStart) and event.dialect is None):
                self.event(lane, event)

    def items_of(self, events: Iterable[Event]) -> list[Any]:
        """Send what these events make, all of it; returns the items."""
        self.emit((0, event) for event in events)
        self.close()
        self.close_own()
        return self.slot

    def _start(self, block: Block, opener: Fields | None, call: CallStart | None) -> None:  # noqa: ARG002
        self.end_message()
        if call is None:
            self._begin_thought()
        else:
            self._begin_call(block, call)

    def _say(self, block: Block, text: str, event: Fields | None) -> None:  # noqa: ARG002
        if block.kind == "reasoning":
            self._thought.pieces.append(text)
            self.send("response.reasoning_text.delta", **self._thought.position, delta=rawjson.string(text))
        elif block.call is not None:
            call = self.calls[block.call]
            call.pieces.append(text)
            self._piece(call, call.input.feed(text) if call.kind is CUSTOM else text)

    def _stop(self, block: Block) -> None:
        if block.kind == "reasoning":
            self._end_thought(self._thought)
        elif block.call is not None:
            self._end_call(self.calls.pop(block.call))

    # Text

    def text(self, text: str, event: Fields | None = None) -> None:
        """Send text of a message, in the event that it came in or in a new one."""
        if not text:
            return
        self.close()
        message = self.message
        segment = None if message is None else message.segment
        if message is None or segment is None or segment.part is None:
            message, segment = self.open_part(event)
        segment.pieces.append(text)
        if event is not None and rawjson.word(event, "delta") == text:
            self.forward(event, **position_of(event, segment))
            return
        message.changed = True
        self.send(DELTA, **segment.position, delta=rawjson.string(text), logprobs=NOTHING)

    def open_part(self, event: Fields | None = None) -> tuple[Message, Segment]:
        """The message that text belongs to, with a text part of it open."""
        self.close()
        message = self.message
        if message is None:
            message = self.message = self._new_message()
        segment = message.segment
        if segment is None or segment.part is None:
            segment = self._open(message, 0 if event is None else place_of(event, "content_index"))
        return message, segment

    def _new_message(self) -> Message:
        """A message of ours, for text that has none."""
        return Message({"id": rawjson.string(self._own_id("msg")), **MESSAGE}, self.slot, own=True)

    def _own_id(self, prefix: str) -> str:
        self._own += 1
        return f"{prefix}_{self._reading.reply_id.removeprefix('resp_')}_{self._own}"

    def _open(self, message: Message, index: int) -> Segment:
        """Show a message, and a text part in it, with the frames that were held or with new ones.

        A server that does not say where parts begin is not made to.
        """
        held, message.held = message.held, []
        segment = message.segment
        is_new = segment is None
        if segment is None:
            segment = self.show_message(message, held, index)
        opener = next((event for event in held if "part" in event), None)
        came, message.part = message.part, {}
        segment.begin(text_part(came, "") if opener is None else rawjson.fields(opener["part"]), came)
        if opener is not None:
            self.forward(opener, **segment.position)
        elif is_new or came:
            self.send("response.content_part.added", **segment.position, part=segment.part)
        return segment

    def show_message(self, message: Message, held: Iterable[Fields], index: int) -> Segment:
        """Show a message without its parts. `index`: where its content begins in the upstream's."""
        opener = next((event for event in held if "item" in event), None)
        place = self.take_place(None if opener is None else place_of(opener))
        segment = message.segment = Segment(message.id(), place, index)
        if opener is not None and message.count == 1:
            self.forward(opener, output_index=segment.place)
        else:
            message.changed = True
            item = {**message.item, "id": segment.id, "status": "in_progress", "content": NOTHING}
            self.send("response.output_item.added", output_index=segment.place, item=item)
        return segment

    def end_text(self, segment: Segment) -> None:
        """End the open text, unless its end was sent."""
        if segment.part is not None and not segment.has_text_done:
            segment.has_text_done = True
            self.send(TEXT_DONE, **segment.position, text=rawjson.string(segment.text), logprobs=NOTHING)

    def add_part(self, part: Any) -> None:
        """Add a part that is no text to the message, which ends with it or goes on."""
        message = self.message
        if message is not None:
            segment = message.segment or self.show_message(message, message.held, 0)
            message.held.clear()
            segment.content.append(part)

    def end_part(self) -> None:
        """End the text part that is open, if any."""
        segment = None if self.message is None else self.message.segment
        if segment is None or segment.part is None:
            return
        self.end_text(segment)
        *_, part = content = segment.closed()
        self.send("response.content_part.done", **segment.position, part=part)
        segment.content, segment.part = content, None

    def end_message(self) -> None:
        """End the open message, since something else begins."""
        message = self.message
        if message is None or message.segment is None:
            return
        self.end_part()
        segment, message.segment = message.segment, None
        message.changed = True
        status = {} if message.whole else {"status": "completed"}
        item = {**message.item, "id": segment.id, **status, "content": segment.content}
        message.slot.append(item)
        self.send("response.output_item.done", output_index=segment.place, item=item)

    def close_own(self) -> None:
        """End a message of ours, since an item of the upstream's goes on."""
        if self.message is not None and self.message.own:
            self.end_message()
        self.message = None

    # Calls

    def _begin_call(self, block: Block, event: CallStart) -> None:
        kind = kind_of_form(event.form)
        like = self.lowered.get(event.id) if event.dialect is None else None
        if like is None and kind.form:
            like = self.replaced.get(event.id)
        item = kind.new_item(event, event.space or self._reading.namespaces.get(event.name, ""), like)
        call = CallItem(kind, item, -1)
        if block.call is not None:
            self.calls[block.call] = call
        if not kind.whole:
            self._show_call(call)

    def _show_call(self, call: CallItem) -> None:
        call.place = self.take_place()
        self.slot.append(call.item)
        self.send("response.output_item.added", output_index=call.place, item=dict(call.item))

    def _piece(self, call: CallItem, delta: str) -> None:
        """Send a piece of a call's arguments. Those of a built-in tool come with its item, which is sent as a whole."""
        if call.kind.whole or not delta:
            return
        where = {"item_id": call.item["id"], "output_index": call.place}
        self.send(f"{call.kind.events}.delta", **where, delta=rawjson.string(delta))

    def _end_call(self, call: CallItem) -> None:
        if call.kind is CUSTOM:
            self._piece(call, call.input.end())
        call.end("completed")
        if call.kind.whole:
            self._show_call(call)
        else:
            where = {"item_id": call.item["id"], "output_index": call.place}
            named = {} if call.kind.form else {"name": call.item["name"]}
            held = call.kind.holds[0]
            self.send(f"{call.kind.events}.done", **where, **named, **{held: call.item[held]})
        self.send("response.output_item.done", output_index=call.place, item=dict(call.item))

    def broken_off(self) -> list[CallItem]:
        """The calls that are open where the reply ends; no more comes of them."""
        calls, self.calls, self.left = [*self.calls.values()], {}, {}
        return calls

    # Reasoning

    def _begin_thought(self) -> None:
        """Show reasoning from the text."""
        item = thought_item(self._own_id("rs"), None)
        thought = self._thought = Thought(item, self.take_place())
        self.slot.append(item)
        self.send("response.output_item.added", output_index=thought.place, item=dict(item))
        self.send("response.content_part.added", **thought.position, part=thought_part(""))

    def _end_thought(self, thought: Thought) -> None:
        text = "".join(thought.pieces)
        part = thought_part(text)
        thought.item["content"] = [part]
        self.send("response.reasoning_text.done", **thought.position, text=rawjson.string(text))
        self.send("response.content_part.done", **thought.position, part=part)
        self.send("response.output_item.done", output_index=thought.place, item=dict(thought.item))
