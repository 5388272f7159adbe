"""One lane of a reply (a choice, a block): reads its text, and takes what it reads through the row of stages.

In go the text, the native events and the ends of one lane, out come items (see `stages`). The lane is the stage `read`,
the first of its row: text becomes call events here, and a native call ends the text before it. After it, each item goes
through those stages alone that look at its kind. What can be decided faster than that, `short_ways.py` says.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from toolcalls.events import CallEnd, CallPiece, CallStart, Markup, Reason
from toolcalls.reading.reader import Reader
from toolcalls.replies.calls import Calls, ClientCall
from toolcalls.replies.row import Row
from toolcalls.replies.short_ways import numbered_piece, passing_piece, passing_text, streamed_piece
from toolcalls.replies.stages import ITEMS, End, Item, Native
from toolcalls.text.markdown import Position


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a text block begins in its message: as it came, and as filters made it (None where there are none).

    may_be_reasoning   it may still be known to have begun inside reasoning
    """

    as_it_came: Position
    filtered: Position | None
    may_be_reasoning: bool = False


class Lane:
    """The state of one lane.

    passes        whether a piece is text that nothing can happen to. If so, it has been read; if not, `text` takes it
    passes_piece  what becomes of a piece of a native call that nothing can happen to. If there is an answer, it was
                  read; if not, `native` takes it
    finished      the lane has ended, and nothing came after that
    """

    def __init__(self, reader: Reader, row: Row, calls: Calls) -> None:
        self.reader = reader
        self.row = row
        self.calls = calls
        self.finished = False
        self._known = 0  # how many whole native calls the reader knows
        self._moved = False  # they stand behind text that is still to come
        self._at_once = row.at_once
        self._fed_at_once = [stage.feed for stage in self._at_once if stage.looks_at]
        self._one_by_one = stages = row.one_by_one
        self._ways = _ways(tuple([stage.looks_at for stage in stages]))
        self.passes = passing_text(reader, row)
        self.passes_piece = passing_piece(row, calls)
        self._numbered = numbered_piece(row)
        self._streamed = streamed_piece(row, self._behind)

    # In

    def text(self, piece: str) -> Sequence[Item]:
        """The next piece of text, where it does not just pass."""
        self.finished = False  # some servers go on after the end
        reader, calls = self.reader, self.calls
        if self._known < len(calls.whole_natives):
            self._know_natives()
        if calls.grown:
            for call in calls.closed():
                self._add_native(call)
        events = reader.read(piece) if reader.inside else reader.feed(piece)  # inside a candidate no piece just passes
        if len(events) == 2:
            markup, made = events
            if isinstance(made, CallPiece) and isinstance(markup, Markup):  # the usual piece inside a call
                if self._numbered is not None:
                    return markup, self._numbered(made)
                if (items := self._streamed(markup, made)) is not None:
                    return items
        return self._through(events)

    def native(self, event: CallStart | CallPiece | CallEnd) -> Sequence[Item]:
        """The next event of a native call. It is answered in order, by a `Native`, when it is decided."""
        self.finished = False
        if not isinstance(event, CallStart):
            return self._through((Native((event,)),))
        self.calls.begun.add(event.index)
        self._know_natives()
        return self._through((*self.reader.finish(cut=False), Native((event,))))

    def end_paragraph(self) -> None:
        """A native call is between what came before this lane and its text."""
        self.reader.end_paragraph()
        if self.row.reread is not None:
            self.row.reread.end_paragraph()

    def calls_moved(self, *, here: bool) -> None:
        """The native calls that follow stand behind the text after them, up to where they stand `here`."""
        self._moved = not here
        if here and self._known:
            self.reader.stands_behind_native()

    def reasons_elsewhere(self) -> None:
        """The reply has its reasoning in a field of its own."""
        self.reader.reasons_elsewhere()
        if self.row.thoughts is not None:
            self.row.thoughts.elsewhere = True

    def release(self) -> Sequence[Item]:
        """No more may be held.

        A text client would make a call in text that processors have not seen, so for one such text stays.
        """
        releases = self.row.releases_text
        items: Iterable[Item] = ()
        if releases:
            self._know_natives()
            items = self.reader.release()
        for stage in self._at_once:
            items = _then(stage.feed(items), stage.release)
        out = self._behind(items)
        for place, stage in enumerate(self._one_by_one, 1):
            if releases or stage is not self.row.write:
                self._take(stage.release(), place, out)
        return out

    def finish_part(self) -> Sequence[Item]:
        """A part of the message ends here, though not the message. What is certain is decided."""
        self._know_natives()
        items: Iterable[Item] = self.reader.finish_part()
        thoughts = self.row.thoughts
        if thoughts is None:
            return self._through(items)
        ended = _then(thoughts.feed(items), partial(thoughts.finish, End("", is_part=True)))
        return self._behind(ended if self.row.act is None else self.row.act.feed(ended))

    def decline_waiting(self, reason: Reason) -> Sequence[Item]:
        """Calls that wait for the end of the message are none."""
        return self._through(self.reader.decline_waiting(reason))

    def finish(self, end: End) -> Sequence[Item]:
        """The lane's own end, after which nothing is held. Unless it broke off, the last item is a `Finish` with the
        reason that the client is given.

        Some servers say it twice, and some send native calls between the two; each call has its verdict once.
        """
        self.finished = True
        self._know_natives()
        items: Iterable[Item] = self.reader.finish(cut=end.cut)
        for stage in self._at_once:
            items = _then(stage.feed(items), partial(stage.finish, end))
        out = self._behind(items)
        for place, stage in enumerate(self._one_by_one, 1):
            self._take(stage.finish(end), place, out)
        return out

    def _know_natives(self) -> None:
        """The reader learns of native calls that are whole: one may make a call in text a repetition (condition 6)."""
        natives = self.calls.whole_natives
        while self._known < len(natives):
            self._add_native(natives[self._known])
            self._known += 1

    def _add_native(self, call: ClientCall) -> None:
        self.reader.add_native(call.name, call.arguments)
        if not self._moved:
            self.reader.stands_behind_native()

    # Through the row

    def _through(self, items: Iterable[Item]) -> list[Item]:
        """What becomes of items that were read at once."""
        for feed in self._fed_at_once:
            items = feed(items)
        out: list[Item] = []
        self._take(items, 0, out)
        return out

    def _behind(self, items: Iterable[Item]) -> list[Item]:
        """The same for items after the stages that are fed all at once."""
        out: list[Item] = []
        self._take(items, 0, out)
        return out

    def _take(self, items: Iterable[Item], place: int, out: list[Item]) -> None:
        """The same for items that go through the stages from a place on."""
        ways, stages = self._ways[place], self._one_by_one
        for item in items:
            at = ways[type(item)]
            if at is None:
                out.append(item)
            else:
                self._take(stages[at].feed((item,)), at + 1, out)

    # What there is so far

    @property
    def decides_at_end(self) -> bool:
        """Whether a finish reason would decide something: a call was read, one is open, or text is held."""
        row, calls = self.row, self.calls
        if self.may_call_in_reasoning or (row.thoughts is not None and row.thoughts.holds):
            return True
        if calls.from_text or row.screen is not None or not self.reader.idle or (row.write and row.write.adds_at_end):
            return True
        return self.writes_at_end or not all(call.complete for call in calls.natives.values())

    @property
    def may_call_in_reasoning(self) -> bool:
        """Whether a finish reason may find calls in the message's reasoning."""
        reasoned = self.row.reasoned
        return reasoned is not None and reasoned.possible

    @property
    def writes_at_end(self) -> bool:
        """Whether there are native calls that are written as text when the lane ends."""
        write = self.row.write
        return write is not None and not all(map(write.leaves, self.calls.natives.values()))

    @property
    def adds_at_end(self) -> bool:
        """Whether text of our own leaves behind everything else: a processor's, or what closes a block."""
        act, write = self.row.act, self.row.write
        return (act is not None and act.adds_at_end) or (write is not None and write.adds_at_end)

    @property
    def text_argument_open(self) -> bool:
        """Whether the text so far ends inside a call of whose arguments more must come."""
        call = self.reader.unclosed
        return call is not None and not call.between_arguments

    def keeps(self, reason: str) -> bool:
        """Whether the client is given this finish reason whatever follows."""
        return self.row.write is None and self.row.end.keeps(reason)

    def next_block(self) -> MessagePlace:
        """Where another text block of the same message would begin."""
        reread, unopened = self.row.reread, self.reader.unopened
        filtered = None if reread is None else reread.next_block()
        likely = unopened.likely and not unopened.reasoning_is_over
        return MessagePlace(self.reader.next_block(), filtered, likely)


@cache
def _ways(looked_at: tuple[tuple[type, ...], ...]) -> list[dict[type, int | None]]:
    """For each place in a row, the stage that an item from there goes to next, by the item's kind; None for no stage.

    looked_at   the kinds of items that each stage looks at
    """
    ways: list[dict[type, int | None]] = [dict.fromkeys(ITEMS)]
    for at in range(len(looked_at) - 1, -1, -1):
        ways.insert(0, ways[0] | dict.fromkeys(looked_at[at], at))
    return ways


def _then(items: Iterable[Item], more: Callable[[], Iterable[Item]]) -> Iterator[Item]:
    """The items, and after them what is there by then."""
    yield from items
    yield from more()
