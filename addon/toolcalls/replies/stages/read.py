"""Text → call events. A native call ends the text before it: what is undecided there is decided."""

from collections.abc import Iterable, Iterator, Sequence

from toolcalls.events import CallStart, Event, Text
from toolcalls.reading.reader import Reader
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import End, Item, Native, Stage


class Read(Stage):
    """Reads a lane's text. Native calls that came before a call in text may make it a repetition (condition 6)."""

    def __init__(self, reader: Reader, calls: Calls) -> None:
        self.passes = reader.passes  # whether a piece is text that nothing can happen to; if so, it has been read
        self.streams = reader.streams  # what a piece of text is to a call, if it is all string argument
        self.next_block = reader.next_block
        self.end_paragraph = reader.end_paragraph
        self.reasons_elsewhere = reader.reasons_elsewhere
        self.finish_part = reader.finish_part
        self.decline_waiting = reader.decline_waiting
        self._reader = reader
        self._calls = calls
        self._known = 0  # how many whole native calls the reader knows

    @property
    def holds(self) -> bool:
        """Whether text is being read that is not decided."""
        return not self._reader.idle

    @property
    def may_be_reasoning(self) -> bool:
        """Whether the text so far may still turn out to be reasoning that the chat template has opened."""
        unopened = self._reader.unopened
        return unopened.likely and not unopened.reasoning_is_over

    @property
    def waits_for_message(self) -> bool:
        """Whether calls of a part that has ended wait for the end of the message."""
        return self._reader.waits_for_message

    @property
    def closed_nothing(self) -> bool:
        """Whether a closer of reasoning has come that nothing had opened."""
        return self._reader.unopened.closed_nothing

    @property
    def closed_first(self) -> bool:
        """Whether such a closer came before anything of the text was decided but white space."""
        return self._reader.unopened.closed_first

    @property
    def inside(self) -> bool:
        """Whether the text so far ends inside a candidate."""
        return self._reader.inside

    @property
    def call_unclosed(self) -> bool:
        """Whether the text so far ends inside a call, if only because its closers are missing."""
        return self._reader.unclosed is not None

    @property
    def reads_committed(self) -> bool:
        """Whether the text so far ends inside a call that has begun for the client, broken or not."""
        return self._reader.reads_committed

    @property
    def argument_open(self) -> bool:
        """Whether the text so far ends inside a call of whose arguments more must come."""
        call = self._reader.unclosed
        return call is not None and not call.between_arguments

    def text(self, piece: str) -> Sequence[Event]:
        """What is read from the next piece of text, if it does not just pass."""
        reader, calls = self._reader, self._calls
        if self._known < len(calls.whole_natives):
            self.know_natives()
        if calls.grown:
            for call in calls.closed():
                reader.add_native(call.name, call.arguments)
        return reader.read(piece) if reader.inside else reader.feed(piece)  # inside a candidate no piece just passes

    def feed(self, items: Iterable[Item]) -> Iterator[Item]:
        """Read what is text; the rest passes."""
        for item in items:
            if isinstance(item, Text):
                yield from self.text(item.text)
                continue
            if isinstance(item, Native) and item.parts and isinstance(item.parts[0], CallStart):
                self.know_natives()
                yield from self._reader.finish(cut=False)
            yield item

    def release(self) -> Sequence[Event]:
        """Undecided text is text."""
        self.know_natives()
        return self._reader.release()

    def finish(self, end: End) -> Sequence[Event]:
        """Decide what is undecided; a call that was cut off stays open."""
        self.know_natives()
        return self._reader.finish(cut=end.cut)

    def know_natives(self) -> None:
        """The reader learns of native calls that are whole."""
        natives = self._calls.whole_natives
        while self._known < len(natives):
            self._reader.add_native(natives[self._known].name, natives[self._known].arguments)
            self._known += 1
