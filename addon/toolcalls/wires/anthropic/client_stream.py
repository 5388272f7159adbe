"""The stream that the client gets: what it has got so far, and new frames made of the hub's events.

Blocks follow each other and never nest, so the one that is open ends where something else begins. A text block that
has no text is not sent: the event that opens it is held until its first text.
"""

from collections.abc import Iterable
from typing import Any

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Reasoning, Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, merge_texts
from toolcalls.wires.anthropic.blocks import gap
from toolcalls.wires.anthropic.decoding import DELTA, START, STOP


class OpenBlock:
    """The client's open block, where it is a text or one of ours.

    call           the lane and index of a call
    has_arguments  pieces of its arguments were sent
    """

    __slots__ = ("call", "has_arguments", "index", "kind")

    def __init__(self, index: int, kind: str, call: tuple[int, int] | None = None) -> None:
        self.index = index
        self.kind = kind
        self.call = call
        self.has_arguments = False


class ClientStream:
    """The client's side of one reply.

    out                  the frames that it gets for the one in hand
    open                 its open block, where that is a text or one of ours
    next                 the index of the next block
    held                 the event that opens a text block that it has not got
    made                 how many of its calls were made here
    omitted              how many native calls it has not got
    lifted               a call came from text, or from a processor
    broken               a call broke off
    ends_with_call_text  its latest text is calls that became text
    """

    def __init__(self) -> None:
        self.out: list[Fields] = []
        self.open: OpenBlock | None = None
        self.next = 0
        self.held: Fields | None = None
        self.made = 0
        self.omitted = 0
        self.lifted = False
        self.broken = False
        self.ends_with_call_text = False
        self._blank = ""  # white space at the start of a text block
        self._withdrawn: dict[str, Fields] = {}  # native calls that it has not got, by their ids

    # Frames

    def send(self, kind: str, **members: Any) -> None:
        self.out.append({"type": kind, **members})

    def forward(self, event: Fields, index: int | None = None) -> None:
        """Send an event of the upstream's. `index`: the client's index of the block that it is about, None for none."""
        same = index is None or rawjson.number(event, "index", -1) == index
        self.out.append(event if same else {**event, "index": index})

    def take_place(self) -> int:
        """Take the index of the next block."""
        self.next += 1
        return self.next - 1

    # Blocks

    def _begin(self, kind: str, members: Fields, call: tuple[int, int] | None = None) -> OpenBlock:
        self.close()
        self.open = OpenBlock(self.take_place(), kind, call)
        self.send(START, index=self.open.index, content_block={"type": kind, **members})
        return self.open

    def _piece(self, index: int, kind: str, key: str, text: str) -> None:
        self.send(DELTA, index=index, delta={"type": kind, key: rawjson.string(text)})

    def close(self) -> None:
        """End the open block.

        A call that is still open broke off, and nobody may take it for a whole one: one of which nothing came would
        look like a call without arguments.
        """
        open_, self.open, self._blank = self.open, None, ""
        if open_ is None:
            return
        if open_.call is not None:
            self.broken = True
            if not open_.has_arguments:
                self._piece(open_.index, "input_json_delta", "partial_json", "{")
        self.send(STOP, index=open_.index)

    def begin_block(self, opener: Fields | None) -> None:
        """End what is open, since another block of the upstream's begins.

        opener   the event that opens it, where it is a text: it is sent with the first text
        """
        self.close()
        self.held = opener

    def omit(self, call: Fields) -> None:
        """Leave out a native call's block."""
        self._withdrawn[rawjson.word(call, "id")] = call
        self.omitted += 1

    # The hub's events

    def emit(self, parts: Iterable[Part]) -> None:
        """Send text and calls, as they are after processing."""
        for lane, event in merge_texts(parts):
            if isinstance(event, Text):
                self.text(event.text)
            else:
                self.event(lane, event)

    def event(self, lane: int, event: Event) -> None:
        """Send one event that is no text."""
        open_ = self.open
        if isinstance(event, CallStart):
            self.made += 1
            self.lifted = self.lifted or event.dialect is not None
            call = {"id": rawjson.string(event.id), "name": rawjson.string(event.name), "input": {}}
            kept = self._withdrawn.get(event.id, {}) if event.dialect is None else {}
            self._begin("tool_use", {**rawjson.without(kept, "type"), **call}, (lane, event.index))
        elif isinstance(event, CallPiece) and open_ is not None and open_.call == (lane, event.index):
            open_.has_arguments = open_.has_arguments or event.json != ""
            self._piece(open_.index, "input_json_delta", "partial_json", event.json)
        elif isinstance(event, CallEnd) and open_ is not None and open_.call == (lane, event.index):
            open_.call = None
            self.close()
        elif isinstance(event, Reasoning) and event.moved and event.text:
            if open_ is None or open_.kind != "thinking":
                open_ = self._begin("thinking", {"thinking": "", "signature": ""})
            self._piece(open_.index, "thinking_delta", "thinking", event.text)

    # Text

    def text(self, text: str, event: Fields | None = None) -> None:
        """Send text: in the event that it came in if that still says the same, else in a new one."""
        if not text:
            return
        open_ = self.open
        if open_ is None or open_.kind != "text":
            text = self._blank + text
            if text.isspace():
                self._blank = text
                return
            open_ = self.show()
        wrote, self.ends_with_call_text = self.ends_with_call_text, False
        if wrote and (between := gap(text)):
            self._piece(open_.index, "text_delta", "text", between)
        if event is not None and rawjson.word(rawjson.fields(event.get("delta")), "text") == text:
            self.forward(event, open_.index)
        else:
            self._piece(open_.index, "text_delta", "text", text)

    def show(self) -> OpenBlock:
        """Open a text block, by the event that was held or by a new one."""
        held, self.held = self.held, None
        if held is None:
            return self._begin("text", {"text": ""})
        self.close()
        self.open = OpenBlock(self.take_place(), "text")
        self.forward(held, self.open.index)
        return self.open

    def end_text(self, event: Fields) -> None:
        """End a text block of the upstream's by this event."""
        if self.open is not None and self.open.kind == "text":
            self.forward(event, self.open.index)
            self.open = None
        else:
            self._blank = ""
