"""One lane of a reply (a choice, a block): drives its row of stages.

In go the text, the native events and the ends of one lane, out come items (see `stages`). The usual piece of text and
the usual piece of a call have short ways, composed once when the lane is built; all else goes through the row.

Past 300 lines by a few: the short ways are composed from the row, and must do what the long way does.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from toolcalls.events import CallEnd, CallPiece, CallStart, Damage, Markup, Reason, Text
from toolcalls.replies.calls import Calls, ClientCall
from toolcalls.replies.stages import End, Item, Native, Stage
from toolcalls.replies.stages.act import Act
from toolcalls.replies.stages.end import Finishing
from toolcalls.replies.stages.judge import Judge
from toolcalls.replies.stages.number import Number
from toolcalls.replies.stages.read import Read
from toolcalls.replies.stages.reasoned_calls import ReasonedCalls
from toolcalls.replies.stages.reread import Reread
from toolcalls.replies.stages.screen import Screening
from toolcalls.replies.stages.thoughts import Thoughts
from toolcalls.replies.stages.twins import Twins
from toolcalls.replies.stages.write import Write
from toolcalls.text.markdown import Position

type _Feed = Callable[[Iterable[Item]], Iterator[Item]]


@dataclass(frozen=True, slots=True)
class Row:
    """The stages of one lane, in order; None for one that the plan leaves out.

    releases_text   whether undecided text leaves when no more may be held
    """

    read: Read
    thoughts: Thoughts | None
    reasoned: ReasonedCalls | None
    act: Act | None
    reread: Reread | None
    twins: Twins | None
    number: Number
    write: Write | None
    judge: Judge
    screen: Screening | None
    end: Finishing
    releases_text: bool

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Those that there are."""
        read = (self.read, self.thoughts, self.reasoned, self.act, self.reread)
        row = (*read, self.twins, self.number, self.write, self.judge, self.screen, self.end)
        return tuple(stage for stage in row if stage is not None)


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

    passes    whether a piece is text that nothing can happen to. If so, it has been read; if not, `text` takes it
    finished  the lane has ended, and nothing came after that
    """

    def __init__(self, row: Row, calls: Calls) -> None:
        self.passes = _passes(row)
        self.finished = False
        self._row = row
        self._calls = calls
        self._text = row.read.text
        self._reads_piece = row.read.streams if row.write is None and row.act is None else None
        self._numbered = row.number.numbered
        self._streams = _streams(row)
        self._shows = _shows(row)
        self._answers = _answers(row)
        self._passes_piece = _passes_piece(row)
        self._stages = row.stages
        feeding = [stage for stage in self._stages if type(stage).feed is not Stage.feed]
        self._feeds: list[_Feed] = [stage.feed for stage in feeding]
        self._feeds_behind_read = self._feeds[1:]
        self._act = row.act
        self._feeds_behind_act = () if row.act is None else self._feeds[feeding.index(row.act) + 1 :]

    @property
    def client_calls(self) -> list[ClientCall]:
        """The calls that the client is given, in order."""
        return self._calls.client_calls

    @property
    def has_open_call(self) -> bool:
        """Whether a call is not complete yet."""
        return self._calls.any_open

    @property
    def decides_at_end(self) -> bool:
        """Whether a finish reason would decide something: a call was read, one is open, or text is held."""
        row, calls = self._row, self._calls
        if self.may_call_in_reasoning or (row.thoughts is not None and row.thoughts.holds):
            return True
        if calls.from_text or row.screen is not None or row.read.holds or (row.write and row.write.adds_at_end):
            return True
        return self.writes_at_end or not all(call.complete for call in calls.natives.values())

    @property
    def may_call_in_reasoning(self) -> bool:
        """Whether a finish reason may find calls in the message's reasoning."""
        reasoned = self._row.reasoned
        return reasoned is not None and reasoned.possible

    @property
    def writes_at_end(self) -> bool:
        """Whether there are native calls that are written as text when the lane ends."""
        write = self._row.write
        return write is not None and not all(map(write.leaves, self._calls.natives.values()))

    @property
    def reads_candidate(self) -> bool:
        """Whether the text so far ends inside a candidate, whatever has become of it."""
        return self._row.read.inside

    @property
    def text_call_unclosed(self) -> bool:
        """Whether the text so far ends inside a call, if only because its closers are missing."""
        return self._row.read.call_unclosed

    @property
    def reads_committed_call(self) -> bool:
        """Whether the text so far ends inside a call that has begun for the client, broken or not."""
        return self._row.read.reads_committed

    @property
    def text_argument_open(self) -> bool:
        """Whether the text so far ends inside a call of whose arguments more must come."""
        return self._row.read.argument_open

    @property
    def native_call_open(self) -> bool:
        """Whether a native call has begun of whose arguments more must come."""
        return any(call.is_open for call in self._calls.natives.values())

    @property
    def adds_at_end(self) -> bool:
        """Whether text of our own leaves behind everything else: a processor's, or what closes a block."""
        act, write = self._row.act, self._row.write
        return (act is not None and act.adds_at_end) or (write is not None and write.adds_at_end)

    @property
    def decides_calls(self) -> bool:
        """Whether processors decide on calls, of which an open one may still be blocked."""
        return self._row.act is not None

    def next_block(self) -> MessagePlace:
        """Where another text block of the same message would begin."""
        read, reread = self._row.read, self._row.reread
        filtered = None if reread is None else reread.next_block()
        return MessagePlace(read.next_block(), filtered, read.may_be_reasoning)

    def finish_part(self) -> Sequence[Item]:
        """A part of the message ends here, though not the message. What is certain is decided."""
        self._row.read.know_natives()
        items: Iterable[Item] = self._row.read.finish_part()
        thoughts = self._row.thoughts
        if thoughts is None:
            return self._fed(items, self._feeds_behind_read)
        ended = partial(thoughts.finish, End("", is_part=True))
        return self._fed(_then(thoughts.feed(items), ended), self._feeds_behind_read[1:])

    @property
    def waits_for_message(self) -> bool:
        """Whether calls of a part that has ended wait for the end of the message."""
        return self._row.read.waits_for_message

    @property
    def closed_nothing(self) -> bool:
        """Whether a closer of reasoning has come that nothing had opened."""
        return self._row.read.closed_nothing

    @property
    def closed_first(self) -> bool:
        """Whether such a closer came before anything of the text was decided but white space."""
        return self._row.read.closed_first

    def decline_waiting(self, reason: Reason) -> Sequence[Item]:
        """Calls that wait for the end of the message are none."""
        return self._fed(self._row.read.decline_waiting(reason), self._feeds_behind_read)

    def reasons_elsewhere(self) -> None:
        """The reply has its reasoning in a field of its own."""
        self._row.read.reasons_elsewhere()
        if self._row.thoughts is not None:
            self._row.thoughts.elsewhere = True

    def end_paragraph(self) -> None:
        """A native call is between what came before this lane and its text."""
        self._row.read.end_paragraph()
        if self._row.reread is not None:
            self._row.reread.end_paragraph()

    def withhold(self, index: int) -> None:
        """The client is not given the call with this index of its own."""
        self._calls.withhold(index)

    def doubts(self, reason: str) -> bool:
        """Whether this finish reason promises calls of which none has come so far."""
        return self._row.end.doubts(reason)

    def reason(self, reason: str) -> str:
        """The finish reason that the client is given if the lane ends now with this one."""
        return self._row.end.reason(reason)

    def keeps(self, reason: str) -> bool:
        """Whether the client is given this finish reason whatever follows."""
        return self._row.write is None and self._row.end.keeps(reason)

    def streams(self, piece: str) -> CallPiece | None:
        """The piece of a call that a piece of text is as a whole; None where `text` must take it."""
        reads = self._reads_piece
        if reads is None or self.finished or self._calls.grown:  # whether a native call has closed is asked first
            return None
        made = reads(piece)
        return None if made is None else self._numbered(made)

    def text(self, piece: str) -> Sequence[Item]:
        """The next piece of text, where it does not just pass."""
        self.finished = False  # some servers go on after the end
        events = self._text(piece)
        if len(events) == 1 and self._shows is not None and isinstance(text := events[0], Text):
            items = self._shows(text)
            if items is not None:
                return items
        elif len(events) == 2:
            markup, made = events
            if isinstance(made, CallPiece) and isinstance(markup, Markup):  # the usual piece inside a call
                items = self._streams(markup, made)
                if items is None and self._act is not None:
                    items = self._held(self._act, markup, made)
                if items is not None:
                    return items
        return self._fed(events, self._feeds_behind_read)

    def native(self, event: CallStart | CallPiece | CallEnd) -> Sequence[Item]:
        """The next event of a native call. It is answered in order, by a `Native`, when it is decided."""
        self.finished = False
        item = Native((event,))
        if isinstance(event, CallStart):
            self._calls.begun.add(event.index)
        else:
            answer = self._answers(item)
            if answer is not None:
                return (answer,)
        return self._fed((item,), self._feeds)

    def passes_piece(self, piece: CallPiece) -> bool:
        """Whether a piece of a native call just passes. If so, it has been written down; if not, `native` takes it."""
        return not self.finished and self._passes_piece(piece)

    def damaged(self, damage: Damage) -> None:
        """The wire noticed something of a native call."""
        self._calls.damaged(damage.index, damage.defect)

    def release(self) -> Sequence[Item]:
        """No more may be held.

        A text client would make a call in text that processors have not seen, so for one such text stays.
        """
        items: Iterable[Item] = ()
        for stage in self._stages:
            stays = stage in (self._row.read, self._row.write) and not self._row.releases_text
            items = stage.feed(items) if stays else _then(stage.feed(items), stage.release)
        return list(items)

    def finish(self, reason: str, *, is_part: bool = False) -> Sequence[Item]:
        """The lane's own end. The last item is a `Finish` with the reason that the client is given.

        Some servers say it twice, and some send native calls between the two; each call has its verdict once.
        """
        return self._ended(End(reason, is_part))

    def cut(self) -> Sequence[Item]:
        """The reply is over, and if the lane did not end before, it broke off: nothing is completed any more."""
        return self._ended(End(None))

    def _ended(self, end: End) -> list[Item]:
        self.finished = True
        items: Iterable[Item] = ()
        for stage in self._stages:
            items = _then(stage.feed(items), partial(stage.finish, end))
        return list(items)

    def _held(self, act: Act, markup: Markup, piece: CallPiece) -> Sequence[Item] | None:
        """The same two events of a call that processors hold. None where they must take the long way."""
        left = act.held(markup, piece)
        if left is None:
            return None
        if not left or (len(left) == 1 and left[0] is markup):
            return (markup,) if left else ()
        return self._fed(act.leaving(left), self._feeds_behind_act)

    @staticmethod
    def _fed(items: Iterable[Item], feeds: Sequence[_Feed]) -> list[Item]:
        for feed in feeds:
            items = feed(items)
        return list(items)


def _then(items: Iterable[Item], more: Callable[[], Iterable[Item]]) -> Iterator[Item]:
    """The items, and after them what is there by then."""
    yield from items
    yield from more()


def _passes(row: Row) -> Callable[[str], bool]:
    """The short way of text, composed of the stages that see it."""
    write = row.write
    if write is not None:
        if row.screen is not None or row.reread is not None:
            return _never
        without = _passes(replace(row, write=None))
        return lambda piece: write.holds_nothing and without(piece) and write.passed(piece)
    read, act, thoughts = row.read.passes, row.act, row.thoughts
    if thoughts is not None:
        inner = _passes(replace(row, thoughts=None))
        return lambda piece: thoughts.done and inner(piece)
    if act is None:
        return read
    return lambda piece: act.quiet(piece) and read(piece) and act.passed(piece)


def _passes_piece(row: Row) -> Callable[[CallPiece], bool]:
    """The short way of a piece of a native call, past the stages that see it."""
    twins, number, act = row.twins, row.number, row.act
    if row.write is not None:
        return _never
    passes = number.passes if act is None else partial(_passes_decided, number, act)
    return passes if twins is None else lambda piece: twins.is_idle and passes(piece)


def _passes_decided(number: Number, act: Act, piece: CallPiece) -> bool:
    """`number.passes`, where processors must let the piece pass. They are asked last, since they see it then."""
    return number.keeps_index(piece) and act.passes_piece(piece) and number.passes(piece)


def _never(_: object) -> bool:
    return False


def _shows(row: Row) -> Callable[[Text], Sequence[Item] | None] | None:
    """The short way of text that is read and screened before a text client gets it. It gives None where it must take
    the long way.
    """
    write, screen, act, thoughts = row.write, row.screen, row.act, row.thoughts
    if write is None or screen is None or row.reread is not None:
        return None

    def shows(item: Text) -> Sequence[Item] | None:
        text = item.text
        if not write.holds_nothing or (thoughts is not None and not thoughts.done):
            return None
        if act is not None and not (act.quiet(text) and act.passed(text)):
            return None
        write.passed(text)
        return tuple(screen.feed((item,)))

    return shows


def _streams(row: Row) -> Callable[[Markup, CallPiece], Sequence[Item] | None]:
    """The short way of the usual two events inside a call in text. It gives None where they must take the long way."""
    act, reread, number, write, screen = row.act, row.reread, row.number, row.write, row.screen
    if write is not None:

        def streams_as_text(markup: Markup, piece: CallPiece) -> Sequence[Item] | None:
            if reread is not None or not write.streams or (act is not None and not act.streams(piece)):
                return None
            text = write.streamed(*number.streamed(markup, piece))
            return (text,) if screen is None else tuple(screen.feed((text,)))

        return streams_as_text
    if act is None:
        return number.streamed
    return lambda markup, piece: number.streamed(markup, piece) if act.streams(piece) else None


def _answers(row: Row) -> Callable[[Native], Native | None]:
    """The short way of an event inside a native call. It gives None where the event must take the long way."""
    twins, number, write = row.twins, row.number, row.write
    if row.act is not None:
        return lambda _: None

    def answers(item: Native) -> Native | None:
        if twins is not None and not twins.is_idle:
            return None
        numbered = number.answered(item)
        return numbered if write is None else write.answered(numbered)

    return answers
