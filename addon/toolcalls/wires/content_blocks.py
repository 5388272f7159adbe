"""The content blocks of a reply as the client gets them: one after the other, never one inside another.

Events of the hub come in, and what the client is owed for each depends on the block that is open:

    what comes            nothing open    a text open       reasoning open    a call open
    text                  begins          goes on           ends, begins      breaks off, begins
    reasoning from text   begins          ends, begins      goes on           breaks off, begins
    a call begins         begins          ends, begins      ends, begins      breaks off, begins
    a piece of that call  -               -                 -                 goes on
    the end of that call  -               -                 -                 ends
    another block of the
      upstream's, the end -               ends              ends              breaks off

Where more than their order tells blocks apart (`calls_stay_open`), a call stays open instead of breaking off, until it
ends or the reply does.

A block takes the client's next index when it begins. A text of the upstream's begins with its first text: the event
that opens it is held until then (`held`), and where nothing comes it is never sent.

`ContentBlocks` is this table. An API says in its own words how a block begins, goes on and ends: `BlockStream` asks it
for events. A whole reply is its stream, folded: the same table, whose words add up to blocks. It knows one thing more,
as an API does that never splits a call: whether a call from text is complete. `CompleteCalls` gives only those to the
table, and one that broke off is the text that it was.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Literal

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Reasoning, Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, merge_texts

type Kind = Literal["text", "reasoning", "call"]


class Block:
    """A block that the client has open.

    call           the lane and index of a call
    has_arguments  something of the call's arguments was sent
    """

    __slots__ = ("call", "has_arguments", "index", "kind")

    def __init__(
        self, kind: Kind, index: int, call: tuple[int, int] | None = None, *, has_arguments: bool = False
    ) -> None:
        self.kind: Kind = kind
        self.index = index
        self.call = call
        self.has_arguments = has_arguments


class ContentBlocks(ABC):
    """The client's side of one reply.

    open   the block that is open
    next   the index of the next block
    held   what opens a text that the client has not got
    left   calls that are open while other blocks come, by lane and index
    """

    blanks_wait = False
    """Whether white space at the start of a text is sent with what follows it, and not at all before another block."""

    calls_stay_open = False
    """Whether a call stays open when another block begins."""

    def __init__(self) -> None:
        self.open: Block | None = None
        self.left: dict[tuple[int, int], Block] = {}
        self.next = 0
        self.held: Fields | None = None
        self._blank = ""

    # The words of an API

    @abstractmethod
    def _start(self, block: Block, opener: Fields | None, call: CallStart | None) -> None:
        """A block begins. `opener`: what opened it upstream, None for one of ours; `call`: a call of ours."""

    @abstractmethod
    def _say(self, block: Block, text: str, event: Fields | None) -> None:
        """A block goes on with text, or with argument JSON. `event`: the upstream's in which that came, if any."""

    @abstractmethod
    def _stop(self, block: Block) -> None:
        """A block ends."""

    def _index_of(self, call: CallStart | None) -> int:  # noqa: ARG002 - some APIs number calls apart
        """The index of a block that begins."""
        return self.take_place()

    # The table

    def has_open(self, lane: int, index: int) -> bool:
        """Whether this call is the block that is open."""
        return self.open is not None and self.open.call == (lane, index)

    def take_place(self) -> int:
        """Take the index of the next block."""
        self.next += 1
        return self.next - 1

    def begin(self, kind: Kind, opener: Fields | None = None, *, lane: int = 0, call: CallStart | None = None) -> Block:
        """Begin a block, and end what is open before it."""
        self.close()
        block = self.open = Block(kind, self._index_of(call), None if call is None else (lane, call.index))
        self._start(block, opener, call)
        return block

    def close(self) -> None:
        """End what is open. A call that is still open broke off, if it does not stay open."""
        block = self.open
        if block is not None and block.call is not None and self.calls_stay_open:
            self.open, self.left[block.call] = None, block
            return
        if block is not None and block.kind == "call":
            self._break_off(block)
        self._end()

    def _break_off(self, block: Block) -> None:
        """Nobody may take a call that broke off for a whole one: one of which nothing came would look like a call
        without arguments.
        """
        if not block.has_arguments:
            self._say(block, "{", None)

    def _end(self) -> None:
        block, self.open, self._blank = self.open, None, ""
        if block is not None:
            self._stop(block)

    def emit(self, parts: Iterable[Part]) -> None:
        """Send text and calls, as they are after processing."""
        for lane, event in merge_texts(parts):
            self.event(lane, event)

    def event(self, lane: int, event: Event) -> None:
        """Send one event."""
        block = self.open
        if isinstance(event, CallPiece):
            if block is None or block.call != (lane, event.index):
                block = self.left.get((lane, event.index))
            if block is not None:
                block.has_arguments = block.has_arguments or event.json != ""
                self._say(block, event.json, None)
        elif isinstance(event, Text):
            self.text(event.text)
        elif isinstance(event, CallStart):
            self.begin("call", lane=lane, call=event)
        elif isinstance(event, CallEnd):
            if block is not None and block.call == (lane, event.index):
                self._end()
            elif (left := self.left.pop((lane, event.index), None)) is not None:
                self._stop(left)
        elif isinstance(event, Reasoning) and event.moved and event.text:
            if block is None or block.kind != "reasoning":
                block = self.begin("reasoning")
            self._say(block, event.text, None)

    def text(self, text: str, event: Fields | None = None) -> None:
        """Send text. `event`: the one that it came in."""
        if not text:
            return
        block = self.open
        if block is None or block.kind != "text":
            text = self._blank + text
            if self.blanks_wait and text.isspace():
                self._blank = text
                return
            block = self.show()
        self._say(block, text, event)

    def show(self) -> Block:
        """Begin a text, with what was held or anew."""
        held, self.held = self.held, None
        return self.begin("text", held)


class BlockStream(ContentBlocks):
    """The client's side of a stream in which each event about a block has the block's `index`.

    out   the events that the client gets for the one in hand
    """

    def __init__(self) -> None:
        super().__init__()
        self.out: list[Fields] = []

    # The words of an API

    @abstractmethod
    def started(self, block: Block, call: CallStart | None) -> Fields:
        """The event that begins a block. `call`: a call."""

    @abstractmethod
    def said(self, block: Block, text: str) -> Fields:
        """The event with which a block goes on."""

    @abstractmethod
    def stopped(self, block: Block) -> Fields:
        """The event that ends a block."""

    @abstractmethod
    def text_in(self, event: Fields) -> str:
        """The text in an event of the upstream's."""

    def reworded(self, block: Block, event: Fields, text: str) -> Fields:  # noqa: ARG002 - most say it anew
        """An event of the upstream's about this block with another text."""
        return self.said(block, text)

    def _start(self, block: Block, opener: Fields | None, call: CallStart | None) -> None:
        if opener is None:
            self.out.append(self.started(block, call))
        else:
            self.forward(opener, block.index)

    def _say(self, block: Block, text: str, event: Fields | None) -> None:
        """In the event that the text came in if that still says the same."""
        if event is None:
            self.out.append(self.said(block, text))
        else:
            same = self.text_in(event) == text
            self.forward(event if same else self.reworded(block, event, text), block.index)

    def _stop(self, block: Block) -> None:
        self.out.append(self.stopped(block))

    # The upstream's events

    def go_on(self, index: int, open_: int | None) -> None:
        """End the upstream's text or reasoning at `open_`, if any; the next block is `index`."""
        self.next = index
        if open_ is not None:
            self.out.append(self.stopped(Block("text", open_)))

    def forward(self, event: Fields, index: int | None = None) -> None:
        """Send an event of the upstream's. `index`: the client's index of its block, None for an event of no block."""
        same = index is None or rawjson.number(event, "index", -1) == index
        self.out.append(event if same else {**event, "index": index})

    def begin_call(self, event: Fields, lane: int, index: int) -> None:
        """Begin a native call by the event that opens it."""
        self.close()
        self.open = Block("call", index, (lane, index), has_arguments=True)
        self.forward(event, index)

    def told(self, event: Fields, parts: Iterable[Part]) -> None:
        """Send what has become of an event with text."""
        parts = list(parts)
        if parts and all(isinstance(one, Text) for _, one in parts):
            self.text("".join(one.text for _, one in parts if isinstance(one, Text)), event)
        else:
            self.emit(parts)

    def end(self, kind: Kind, event: Fields) -> None:
        """End a block by an event of the upstream's, where one of this kind is open."""
        block, self._blank = self.open, ""
        if block is not None and block.kind == kind:
            self.forward(event, block.index)
            self.open = None


class CompleteCalls:
    """Shows a call from text when it is complete, and the markup of one that broke off as text.

    broken   a call broke off
    """

    def __init__(self) -> None:
        self.broken = False
        self._call: CallStart | None = None
        self._pieces: list[str] = []
        self._markup: list[str] = []

    def of(self, events: Iterable[Event]) -> list[Event]:
        """The events with each call where it ends, in one piece, and without markup."""
        made: list[Event] = []
        for event in events:
            call = self._call
            if isinstance(event, Text) or (isinstance(event, Reasoning) and event.moved):
                made += self.decide()
                made.append(event)
            elif isinstance(event, Markup):
                self._markup.append(event.text)
                if not event.text:  # the candidate has its verdict
                    made += self.decide()
            elif isinstance(event, CallStart) and event.dialect is not None:
                made += () if call is None else self.decide()
                self._call, self._pieces = event, []
            elif call is not None and isinstance(event, CallPiece) and call.index == event.index:
                self._pieces.append(event.json)
            elif call is not None and isinstance(event, CallEnd) and call.index == event.index:
                self._call, self._markup = None, []
                made += (call, CallPiece(call.index, "".join(self._pieces)), event)
            else:
                made.append(event)
        return made

    def decide(self) -> Sequence[Event]:
        """What came is decided: a call that is still open broke off."""
        call, self._call = self._call, None
        markup, self._markup = self._markup, []
        if call is None:
            return ()
        self.broken = True
        return (Text("".join(markup)),)
