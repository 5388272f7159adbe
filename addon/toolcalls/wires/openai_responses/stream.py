"""A streamed reply: `response.*` events over SSE, or one a WebSocket message.

Every frame goes through `encode`, for the codec follows what its client got from the first one on; a frame in which
nothing changed comes back as it is. `reading` reads what frames hold, `client_stream` writes new ones, and each kind of
the upstream's own frames has its handler: `message_frames`, `item_frames`, `final_frame`.
"""

from collections import deque
from collections.abc import Callable, Sequence

from toolcalls.events import Text, Unplaced, Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, Undivided
from toolcalls.wires.openai_responses.calls import PIECES
from toolcalls.wires.openai_responses.decoding import DELTA, PART_DONE, TERMINAL, TEXT_DONE
from toolcalls.wires.openai_responses.final_frame import FinalFrame
from toolcalls.wires.openai_responses.item_frames import ItemFrames
from toolcalls.wires.openai_responses.message_frames import MessageFrames
from toolcalls.wires.openai_responses.repeated_texts import RepeatedTexts
from toolcalls.wires.openai_responses.upstream_items import (
    UpstreamItems,
    content_of,
)


class Stream(Undivided):
    """The codec of a streamed reply. `encode` is given every frame that `decode` has seen, once and in order,
    but for those that are left out.
    """

    must_encode = True

    def __init__(self) -> None:
        self.can_omit = False
        self._items = UpstreamItems()
        self._repeated: RepeatedTexts | None = None
        self._frames: deque[tuple[str, Fields, list[Part]]] = deque()  # decoded and not encoded yet
        messages, final = MessageFrames(self._items), FinalFrame(self._items)
        items = ItemFrames(self._items, messages)
        self._handlers: dict[str, Callable[[Fields, Sequence[Part]], None]] = {
            DELTA: messages.delta,
            TEXT_DONE: messages.text_done,
            "response.output_text.annotation.added": messages.annotation,
            "response.content_part.added": messages.part_added,
            PART_DONE: messages.part_done,
            **dict.fromkeys(PIECES, items.arguments),
            "response.output_item.added": items.added,
            "response.output_item.done": items.item_done,
            **dict.fromkeys(TERMINAL, final.ended),
        }

    @property
    def reply_id(self) -> str:
        return self._items.reading.reply_id

    def guard(self, *, reads_text: bool) -> None:
        self._items.reading.guarded = True
        self._repeated = RepeatedTexts() if reads_text else None

    @property
    def left_unread(self) -> bool:
        return self._items.reading.left_unread

    def leave_out(self) -> None:
        self._frames.pop()

    def decode(self, payload: bytes) -> list[Part]:
        event = rawjson.fields(payload)
        kind = rawjson.word(event, "type")
        parts = list(self._items.reading.events(kind, event))
        own = [part for part in parts if not isinstance(part[1], Unplaced)]  # which does not come back
        if self._items.reading.guarded and not event:
            self._items.reading.left_unread = b'_call"' in payload
        self._frames.append((kind, event, own))
        text = parts[0][1] if len(parts) == 1 else None
        self.can_omit = kind == DELTA and isinstance(text, Text) and text.text != ""
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:  # noqa: ARG002
        kind, event, self._items.decoded = self._frames.popleft()
        if self._items.reading.guarded:
            gone = {(lane, said.index) for lane, said in parts if isinstance(said, Withdrawn)}
            self._items.reading.withdrawn |= gone
        client = self._items.client
        client.begin_frame(event)
        self._handlers.get(kind, self._items.forward)(event, parts)
        if not client.diverged and content_of(parts) == content_of(self._items.decoded):
            out = [event]  # whatever state the stream is in: nothing was changed so far
        else:
            client.diverged = True
            client.end_frame()
            out = client.out
        if self._repeated is not None:
            if kind != DELTA:
                self._repeated.screened(parts)
            out = [self._repeated.event(made) for made in out]
        if len(out) == 1 and (out[0] is event or out[0] == event):
            return [payload]
        return [rawjson.written(made) for made in out]
