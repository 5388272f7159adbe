"""The stream that the client gets: what it has got so far, and new events made of the hub's.

Contents and calls follow each other and never nest. A content of text without text is not sent: the event that opens it
is held until its first text.
"""

from collections.abc import Iterable
from typing import Literal

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Reasoning, Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, merge_texts
from toolcalls.wires.cohere import streamed

type Kind = Literal["text", "thinking", "call"]


class ClientStream:
    """The client's side of one reply.

    out    the events that it gets for the one in hand
    next   the index of its next content
    open   what is open: its kind and index
    held   the event that opens a content of text that it has not got
    """

    def __init__(self) -> None:
        self.out: list[Fields] = []
        self.next = 0
        self.open: tuple[Kind, int] | None = None
        self.held: Fields | None = None
        self._bare: set[int] = set()  # calls made here of whose arguments it has nothing

    def forward(self, event: Fields, index: int | None = None) -> None:
        """Send an event of the upstream's. `index`: the client's, None for an event without one."""
        same = index is None or rawjson.number(event, "index", -1) == index
        self.out.append(event if same else {**event, "index": index})

    def close(self) -> None:
        """End what is open. A call that is open broke off: one of which nothing came would look like one without
        arguments.
        """
        open_, self.open = self.open, None
        if open_ is None:
            return
        kind, index = open_
        if kind == "call" and index in self._bare:
            self.out.append(streamed.call_delta(index, "{"))
        self.out.append(streamed.call_end(index) if kind == "call" else streamed.content_end(index))

    def begin(self, kind: Literal["text", "thinking"], event: Fields | None = None) -> int:
        """Open a content, by an event of the upstream's or by a new one: its index."""
        self.close()
        index, self.next = self.next, self.next + 1
        self.open = kind, index
        self.forward(streamed.content_start(index, kind) if event is None else event, index)
        return index

    def begin_call(self, event: Fields, index: int) -> None:
        self.close()
        self.open = "call", index
        self.forward(event, index)

    def emit(self, parts: Iterable[Part]) -> None:
        """Send text and calls, as they are after processing."""
        for _, event in merge_texts(parts):
            if isinstance(event, Text):
                self.text(event.text)
            else:
                self._send(event)

    def text(self, text: str, event: Fields | None = None) -> None:
        """Send text: in the event that it came in if that still says the same, else in a new one."""
        if not text:
            return
        if self.open is None or self.open[0] != "text":
            held, self.held = self.held, None
            self.begin("text", held)
        assert self.open is not None
        index = self.open[1]
        if event is not None and streamed.text_in(event) == text:
            self.forward(event, index)
        elif event is not None:
            self.forward(streamed.with_text(event, text), index)
        else:
            self.out.append(streamed.content_delta(index, "text", text))

    def _send(self, event: Event) -> None:
        if isinstance(event, CallStart):
            self.close()
            self.open = "call", event.index
            self._bare.add(event.index)
            self.out.append(streamed.call_start(event.index, event.id, event.name))
        elif isinstance(event, CallPiece) and self.open == ("call", event.index):
            if event.json:
                self._bare.discard(event.index)
            self.out.append(streamed.call_delta(event.index, event.json))
        elif isinstance(event, CallEnd) and self.open == ("call", event.index):
            self._bare.discard(event.index)
            self.close()
        elif isinstance(event, Reasoning) and event.moved and event.text:
            if self.open is None or self.open[0] != "thinking":
                self.begin("thinking")
            assert self.open is not None
            self.out.append(streamed.content_delta(self.open[1], "thinking", event.text))
