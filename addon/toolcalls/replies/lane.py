"""One lane of a reply (a choice, a block): text through the reader, calls to where the client can take them.

Five kinds of exchange: `lift` turns what the reader finds into native calls; `lower` collects native calls and writes
them as text; `roundtrip` does that too, and reads the calls that stand in the text; `process` leaves calls
where they stand, but lets processors act on native calls and on text; `observe` changes nothing. All give the same
verdicts. In all but `observe` a route's processors stand between what was read and what leaves.

What comes out: `Text` and `Markup` account, in order, for every character of text that went in; a `str` is text of our
own; call events and `Finish` are for the client; verdicts and notes are for the report. With processors a native event
does not leave at once: `Settled` says, in order, what has become of each.

Past 300 lines: what a lane does with and without processors must say the same of a call, so both stand side by side.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from toolcalls.events import (
    FUNCTION_FORMS,
    CallEnd,
    CallPiece,
    CallStart,
    Event,
    Finish,
    Markup,
    Reason,
    Removed,
    Repair,
    Status,
    Text,
    Verdict,
    Withdrawn,
)
from toolcalls.ids import call_id
from toolcalls.processors import Chain, Left, Processing
from toolcalls.processors.screening import Screen
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.twins import Twins
from toolcalls.requests.evidence import Decision
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.call_index import CallIndex
from toolcalls.values.conversion import members
from toolcalls.values.nesting import Nesting
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.rereading import NOTE, Rereading
from toolcalls.writing.roundtrip import RoundTrip
from toolcalls.writing.writer import as_text, closing, separated, stands, write


class Settled(msgspec.Struct, frozen=True, gc=False):
    """What has become of the next native event that came: itself, nothing, or other events and texts in its place."""

    parts: tuple[Event | str, ...]


type Outcome = Event | str | Settled

# Finish reasons after which nothing may be completed.
_CUT = frozenset({"length", "content_filter", "failed"})


class Record:
    """A call of the reply, as the report shows it. `index` and `id` are the client's."""

    __slots__ = ("complete", "dialect", "form", "id", "index", "looked", "name", "nesting", "pieces", "room", "space")

    def __init__(self, index: int, name: str, dialect: str | None, id_: str, form: str = "", space: str = "") -> None:
        self.index = index
        self.name = name
        self.dialect = dialect
        self.id = id_
        self.form = form
        self.space = space
        self.pieces: list[str] = []
        self.complete = False
        self.nesting: Nesting | None = Nesting(sys.maxsize)  # of its pieces so far; None behind the first whole value
        self.looked = 0  # how many pieces that are
        self.room: int | None = None  # characters of a native call that are still kept; below 0 none are any more

    def take(self, piece: CallPiece) -> None:
        """The next piece of a native call, which may bring more of its name."""
        if self.room is not None:
            self.room -= len(piece.json)
        if self.room is None or self.room >= 0:
            self.pieces.append(piece.json)
        else:
            self.pieces.clear()
        if piece.update is not None and piece.update.arguments is None:
            self.name = piece.update.name

    def closes(self) -> bool:
        """Whether a native call that nothing has ended is whole by now: what opened its arguments is closed.

        True once at most. Each piece is looked at once, and all of them once more where they close.
        """
        if self.nesting is None or self.complete or self.outgrown:
            return False
        coming, self.looked = self.pieces[self.looked :], len(self.pieces)
        for piece in coming:
            self.nesting.passes(piece)
        if self.nesting.depth or self.nesting.in_string or not any(map(str.strip, coming)):
            return False
        self.nesting = None
        return _is_object(self.arguments)

    def close(self) -> None:
        """All of it is there."""
        self.complete = True
        self.pieces = [self.arguments]

    @property
    def outgrown(self) -> bool:
        """Whether a native call grew so long that its arguments are not kept. It passes all the same."""
        return self.room is not None and self.room < 0

    @property
    def arguments(self) -> str:
        """The argument JSON, as far as it came; "" where there was too much of it."""
        return "".join(self.pieces)


class Lane:
    """The state of one lane. `number` tells it from the reply's other lanes, `seed` the reply from other replies.

    `prefix` is what the ids of calls begin with on this wire, `processing` the route's processors, None for none, and
    `rules` what a text client's text is looked through with once more (`Screen`).
    """

    def __init__(
        self,
        call_policy: CallPolicy,
        decision: Decision,
        tools: Toolbox,
        *,
        number: int,
        seed: bytes,
        prefix: str = "call_",
        processing: Processing | None = None,
        rules: Chain | None = None,
    ) -> None:
        self.records: list[Record] = []
        self.finished = False
        self._route = call_policy.route
        self._notes_twins = not call_policy.takes("duplicate")
        keeps = self._notes_twins and decision.kind in {"lift", "roundtrip"}
        self._made = CallIndex()  # the whole calls that were made of text
        self._twins = Twins(self._made) if keeps else None
        self._before: list[Outcome] = []  # of the text in front of a native call that begins
        self._kind = decision.kind
        self._tools = tools
        self._number = number
        self._seed = seed
        self._prefix = prefix
        self._reader = Reader(call_policy, tools=tools)
        self._read: dict[int, Record] = {}
        self._natives: dict[int, Record] = {}
        self._grown: dict[int, Record] = {}  # native calls of which more came since the last text
        self._past: dict[int, Record] = {}  # native calls that have their verdict, for servers that speak of them again
        self._next = 0  # the first index that no call has, nor any behind it
        self._dialect = decision.dialect if decision.kind in {"lower", "roundtrip"} else None
        self._processing = processing
        self._lost = False  # a native call did not leave, so those behind it are numbered anew
        self._broken_off = False  # one that had begun to leave was blocked
        filters = processing is not None and call_policy.route.filters
        self._rereading = Rereading(call_policy, tools) if self._dialect is not None and filters else None
        self._trip = self._round_trip(self._dialect) if self._dialect and self._kind == "roundtrip" else None
        self._screen: Screen[Outcome] | None = None
        if rules is not None and self._dialect is not None:
            self._screen = Screen(call_policy, tools, rules, self._round_trip(self._dialect))
        self._lowered_all = False  # there were native calls, and every one became text
        self._shown = ""  # the end of the text that the client has, for the line ends before a written call

    def _round_trip(self, dialect: str) -> RoundTrip:
        tools = self._tools
        return RoundTrip(
            dialect,
            self._written,
            lambda text, calls: stands(dialect, text, calls, tools),
            lambda text, calls: closing(dialect, text, calls, tools),
        )

    @property
    def passes(self) -> Callable[[str], bool]:
        """Whether a piece is text that nothing can happen to. If so, it has been read; if not, `text` takes it."""
        if self._dialect is not None:
            return _never
        return self._reader.passes if self._processing is None else self._passes_processors

    def _streams(self, events: Sequence[Event], processing: Processing) -> bool:
        """Whether these are the usual two events inside a call, and nothing happens to it."""
        return (
            self._dialect is None
            and len(events) == 2
            and isinstance(events[1], CallPiece)
            and isinstance(events[0], Markup)
            and processing.streams(events[1])
        )

    def _staying(self, events: Sequence[Event], processing: Processing) -> Text | None:
        """The text of the usual two events inside a call that a text client gets as it came, None for others."""
        trip = self._trip
        if trip is None or self._rereading is not None or len(events) != 2 or not trip.streams:
            return None
        markup, piece = events
        if not (isinstance(piece, CallPiece) and isinstance(markup, Markup) and processing.streams(piece)):
            return None
        record = self._read[piece.index]
        record.pieces.append(piece.json)
        trip.take(markup.text, CallPiece(record.index, piece.json))
        return Text(markup.text)

    def _passes_processors(self, piece: str) -> bool:
        processing = self._processing
        return (
            processing is not None
            and processing.quiet(piece)
            and self._reader.passes(piece)
            and processing.passed(piece)
        )

    def text(self, piece: str) -> Sequence[Outcome]:
        """The next piece of text, where it does not just pass."""
        self.finished = False  # some servers go on when they have said that the reply is over
        self._know_natives()
        if self._processing is not None:
            events = self._reader.feed(piece)
            stays = self._staying(events, self._processing)
            if stays is not None:
                return self._screened((self._noted(stays),))
            if not self._streams(events, self._processing):
                return self._screened(self._processed(self._processing.read(events)))
        else:
            events = self._reader.read(piece)
        if self._dialect is None:
            if len(events) == 2 and isinstance(made := events[1], CallPiece) and isinstance(events[0], Markup):
                record = self._read[made.index]  # the usual piece inside a call
                if record.index == made.index:
                    record.pieces.append(made.json)
                    return events
            return [self._placed(event) for event in events]
        return list(self._outcomes(events))

    def release(self) -> Sequence[Outcome]:
        """No more can be held: undecided text is text, and native calls that may be repetitions pass.

        What processors have not decided is decided. A text client would make a call in text that they have not seen,
        so for one such text stays.
        """
        if self._processing is not None:
            events = self._reader.release() if self._kind == "lift" else []
            out = [*self._processed(self._processing.read(events)), *self._processed(self._processing.release())]
            if self._twins is not None:
                out.extend(self._settled(self._twins.finish(cut=True)))
            return self._screened(out)
        out = list(self._outcomes(self._reader.release(), last=True))
        if self._twins is not None:
            out.extend(self._settled(self._twins.finish(cut=True)))
        return out

    def _know_natives(self) -> None:
        """Tell the reader of native calls that are whole by what came: some APIs end them only with the reply."""
        if self._grown:
            for record in self._grown.values():
                if record.closes():
                    self._reader.add_native(record.name, record.arguments)
            self._grown.clear()

    def holds(self, event: CallStart | CallPiece | CallEnd) -> bool:
        """Whether the next event of a native call, which `native` is given then, does not leave at once.

        It is `Settled` when it is decided, in its order.
        """
        if self._processing is not None:
            return True
        if isinstance(event, CallStart):
            # Text ends where a native call begins, and what is held of it is decided now.
            self._before = list(self._outcomes(self._reader.finish(cut=False)))
        return self._twins is not None and self._twins.waits(event)

    def native(self, event: CallStart | CallPiece | CallEnd) -> Sequence[Outcome]:
        """The next event of a native call, behind `holds`."""
        self.finished = False
        if self._processing is not None:
            return self._screened(self._natively(self._processing, event))
        out, self._before = self._before, []
        if self._twins is not None and self._twins.waits(event):
            out.extend(self._settled(self._twins.take((event,))))
            return out
        if isinstance(event, CallStart):
            self._natives[event.index] = self._native_record(event, wanted=None if self._lost else event.index)
        record = self._natives.get(event.index)
        if record is None:
            again = self._again(event)
            return [] if again is None else [again]
        if isinstance(event, CallPiece):
            record.take(event)
            self._grown[event.index] = record
        elif isinstance(event, CallEnd) and _is_object(record.arguments):
            record.complete = True
            self._reader.add_native(record.name, record.arguments)
        if self._leaves(record):
            out.append(msgspec.structs.replace(event, index=record.index))
        return out

    def finish(self, reason: str) -> Sequence[Outcome]:
        """The lane's own end: the last outcome is a `Finish` with the reason that the client is given.

        Some servers say it twice, and some send native calls between the two; each call has its verdict once.
        """
        cut = reason in _CUT
        out = list(self._ended(cut=cut))
        self.finished = True
        if self._dialect is not None and self._natives:
            out.extend(self._lowered())
        out.extend(
            self._judged(number, self._twin(record, _native_verdict(record, cut=cut, lowers=self._dialect is not None)))
            for number, record in self._natives.items()
        )
        self._past |= self._natives
        self._natives.clear()
        out = self._screened(out, ends=True)
        out.append(Finish(self._reason(reason)))
        return out

    @property
    def idle(self) -> bool:
        """Whether a finish reason would pass and decide nothing: no call was read, none is open, no text is held."""
        if self._read or self._screen is not None or not self._reader.idle:
            return False
        return all(record.complete and self._leaves(record) for record in self._natives.values())

    @property
    def whole(self) -> bool:
        """Whether no call is open."""
        return all(record.complete for row in (self._read, self._natives) for record in row.values())

    def cut(self) -> Sequence[Outcome]:
        """The reply is over, and if the lane did not end before, it broke off: nothing is completed any more."""
        out = list(self._ended(cut=True))
        lost = self._dialect is not None  # what would have become text at the end never leaves
        out.extend(
            self._judged(number, _native_verdict(record, cut=True, lost=lost))
            for number, record in self._natives.items()
        )
        self._past |= self._natives
        self._natives.clear()
        self.finished = True
        return self._screened(out, ends=True)

    def _twin(self, record: Record, verdict: Verdict) -> Verdict:
        """A native call that was there before as text, where none is kept back for it: the client has both."""
        asks = self._twins is None and verdict.reason is None and self._notes_twins and record.dialect is None
        if asks and self._made.has(record.name, record.arguments):
            return msgspec.structs.replace(verdict, reason="repeated")
        return verdict

    # Processors

    def _screened(self, outcomes: Iterable[Outcome], *, ends: bool = False) -> list[Outcome]:
        """What leaves of these outcomes, and of those before, once rules have been asked about the text in them."""
        if self._screen is None:
            return list(outcomes)
        left = list(self._screen.passing(outcomes))
        return [*left, *self._screen.ends()] if ends else left

    def _processed(self, left: Iterable[Left]) -> Iterator[Outcome]:
        """What leaves the processors, on its way to the client."""
        for _, what in left:
            if isinstance(what, tuple):
                yield from self._settled((what,) if self._twins is None else self._twins.take(what))
            else:
                yield from self._outcomes((what,))

    def _settled(self, rows: Iterable[tuple[Event | str, ...]]) -> Iterator[Outcome]:
        """What leaves of the next native events; each row is what has become of one."""
        for row in rows:
            parts = (self._kept(part) for part in row)
            yield Settled(tuple(part for part in parts if part is not None))
        if self._twins is not None:
            gone, self._twins.gone = self._twins.gone, []
            yield from (Verdict("blocked", "repeated", None, name, 0, 0) for name in gone)

    def _natively(self, processing: Processing, event: CallStart | CallPiece | CallEnd) -> Iterator[Outcome]:
        """The next event of a native call, through the processors."""
        if isinstance(event, CallStart):
            yield from self._processed(processing.read(self._reader.finish(cut=False)))
        yield from self._processed(processing.native(event))

    def _kept(self, part: Event | str) -> Event | str | None:
        """What a native call's event becomes for the client; None for nothing."""
        if isinstance(part, str):
            return self._noted(part)
        if isinstance(part, Withdrawn):
            self._lost = True
            begun = self._natives.get(part.index)
            self._broken_off = self._broken_off or (begun is not None and not begun.complete)
            return part if self._dialect is None else None
        if isinstance(part, CallStart):
            place = None if self._lost else part.index
            self._natives[part.index] = self._native_record(part, wanted=place)
        if not isinstance(part, CallStart | CallPiece | CallEnd):
            return part
        record = self._natives.get(part.index)
        if record is None:
            return self._again(part)
        if isinstance(part, CallPiece):
            record.take(part)
            self._grown[part.index] = record
        elif isinstance(part, CallEnd) and _is_object(record.arguments):
            record.complete = True
            self._reader.add_native(record.name, record.arguments)
            if self._rereading is not None:
                self._rereading.add_native(record.name, record.arguments)
        if not self._leaves(record):
            return None
        if isinstance(part, CallStart):
            return msgspec.structs.replace(part, index=record.index, form=record.form)
        return msgspec.structs.replace(part, index=record.index)

    def _again(self, part: CallStart | CallPiece | CallEnd) -> CallStart | CallPiece | CallEnd | None:
        """What the client is given of an event of a native call that has its verdict already, or was never begun.

        Events that come twice or out of order do that. The client knows the call by its own index, if not as text.
        """
        if self._dialect is not None:
            return None
        past = self._past.get(part.index)
        return part if past is None else msgspec.structs.replace(part, index=past.index)

    def _ended(self, *, cut: bool) -> Iterator[Outcome]:
        """What is left in the reader and in the processors when nothing follows."""
        events = self._reader.finish(cut=cut)
        if self._processing is None:
            yield from self._outcomes(events, last=True)
        else:
            yield from self._processed(self._processing.read(events))
            yield from self._processed(self._processing.finish())
            yield from self._outcomes((), last=True)
        if self._twins is not None:
            yield from self._settled(self._twins.finish(cut=cut))

    def _judged(self, number: int, verdict: Verdict) -> Verdict:
        """A native call's verdict; `number` is the index that it came with."""
        return verdict if self._processing is None else self._processing.judged(number, verdict)

    # Out

    def _native_record(self, start: CallStart, *, wanted: int | None) -> Record:
        record = self._record(start, wanted=wanted)
        if self._leaves(record):  # else all of it is needed for the text that it becomes
            record.room = self._route.max_call_chars
        return record

    def _record(self, start: CallStart, *, wanted: int | None = None) -> Record:
        # A native call keeps its own index, whatever that is, unless a call of ours came before it.
        index = wanted if wanted is not None and not self._read else self._next
        self._next = max(self._next, index + 1)
        roundtrip = self._kind == "roundtrip"
        made = call_id(self._seed, self._number, index, start.name, prefix=self._prefix, roundtrip=roundtrip)
        form = start.form if start.form or start.dialect is None else self._tools.form(start.name)
        space = start.space if start.space or start.dialect is None else self._tools.space(start.name)
        record = Record(index, start.name, start.dialect, start.id or made, form, space)
        self.records.append(record)
        return record

    def _outcomes(self, events: Iterable[Event | str], *, last: bool = False) -> Iterator[Outcome]:
        """What the client is given for the reader's events; the records are kept on the way."""
        for event in events if self._rereading is None else self._reread(self._rereading, events):
            placed = event if isinstance(event, str) else self._placed(event)
            if self._trip is None:
                if not isinstance(placed, Withdrawn):
                    yield self._noted(placed)
            else:
                for outcome in self._trip.feed(placed):
                    yield self._noted(outcome)
        if last and self._trip is not None:
            yield from self._trip.flush()

    def _reread(self, again: Rereading, events: Iterable[Event | str]) -> Iterator[Event | str]:
        """The events, without text that would be a call which nobody made; a reply with one in it is not whole."""
        for event in events:
            was = again.found
            if again.shows(event):
                yield event
                continue
            if not was:
                self._broken_off = True
                yield NOTE
            if isinstance(event, Text):
                yield Removed(event.text)

    def _placed(self, event: Event) -> Event:
        """The event with the index and the id that the client sees. The commonest kinds come first."""
        if isinstance(event, Markup):
            return event
        if isinstance(event, CallPiece):
            record = self._read[event.index]
            record.pieces.append(event.json)
            return event if record.index == event.index else CallPiece(record.index, event.json)
        if isinstance(event, CallStart):
            record = self._read[event.index] = self._record(event)
            return CallStart(record.index, record.name, record.dialect, record.id, record.form, record.space)
        if isinstance(event, CallEnd):
            record = self._read[event.index]
            record.close()
            self._made.add(record.name, record.arguments)
            return CallEnd(record.index)
        if isinstance(event, Verdict) and event.index is not None:
            return msgspec.structs.replace(event, index=self._read[event.index].index)
        return event

    def _noted[T: Event | str](self, outcome: T) -> T:
        if self._dialect is not None and isinstance(outcome, (Text, str)):
            text = outcome if isinstance(outcome, str) else outcome.text
            self._shown = (self._shown + text)[-64:]
        return outcome

    def _written(self, *calls: Call) -> str:
        return separated(self._shown, write(self._dialect or "", calls, self._tools), self._route)

    def _writes(self, *calls: Call) -> bool:
        try:
            self._written(*calls)
        except Unwritable:
            return False
        return True

    def _leaves(self, record: Record) -> bool:
        """Whether a native call leaves while it comes: also to a text client where no tool of it can hold the call."""
        return self._dialect is None or (record.form not in FUNCTION_FORMS and not self._tools.keys(record.name))

    def _holds(self, record: Record) -> bool:
        """Whether the client knows a call as text: one that is no function's only by a tool that it has declared."""
        if record.form in FUNCTION_FORMS:
            return True
        declared = self._tools.keys(record.name)
        try:
            return all(key in declared for key, _ in members(record.arguments))
        except ValueError:
            return False

    def _writable(self, calls: dict[int, Call]) -> dict[int, Call]:
        """The calls that the dialect can hold side by side: those that it can hold alone, or the first few of them.

        Some dialects hold one call a message. The work grows with the calls: what is tried grows by doubling.
        """
        if self._writes(*calls.values()):
            return calls
        alone = [(index, call) for index, call in calls.items() if self._writes(call)]
        if len(alone) < 2 or (len(alone) < len(calls) and self._writes(*(call for _, call in alone))):
            return dict(alone)
        fits, over = 1, len(alone)  # so many can be written, so many cannot
        while over - fits > 1:
            count = min(2 * fits, (fits + over) // 2)
            fits, over = (count, over) if self._writes(*(call for _, call in alone[:count])) else (fits, count)
        return dict(alone[:fits])

    def _lowered(self) -> Iterator[Outcome]:
        """The native calls as one block of text; those that the dialect cannot hold stay native, behind it."""
        calls = {
            index: as_text(Call(record.name, record.arguments), self._tools)
            for index, record in self._natives.items()
            if self._holds(record)
        }
        lowered = self._writable(calls)
        if lowered:
            yield self._noted(self._written(*lowered.values()))
        for index, call in lowered.items():
            record = self._natives.pop(index)
            repairs: tuple[Repair, ...] = ("value_as_text",) if call.arguments != record.arguments else ()
            verdict = Verdict("lowered", None, self._dialect, record.name, 0, 0, repairs, record.index)
            yield self._judged(index, verdict)
        self._lowered_all = bool(lowered) and not self._natives
        for place, record in enumerate(self._natives.values()):
            if self._leaves(record):
                continue  # it has left
            yield CallStart(place, record.name, None, record.id, record.form, record.space)
            yield CallPiece(place, record.arguments)
            if record.complete:
                yield CallEnd(place)

    def _reason(self, reason: str) -> str:
        """The finish reason that fits what the client is given; what the upstream cut short stays cut short."""
        stopped = self._processing is not None and self._processing.stopped
        if reason in _CUT and not stopped:
            return reason
        if stopped or (self._lost and reason == "tool_calls" and not self.records):
            reason = "tool_calls" if self.records and self._dialect is None else "stop"
        if self._broken_off or (self._screen is not None and self._screen.silent):
            return "length"
        if self._dialect is not None:
            return "stop" if reason == "tool_calls" and self._lowered_all else reason
        read = self._read.values()
        if any(not record.complete for record in read):
            return "length"
        return "tool_calls" if read else reason


def _never(_: str) -> bool:
    return False


def _native_verdict(record: Record, *, cut: bool, lowers: bool = False, lost: bool = False) -> Verdict:
    """What became of a native call that stayed one.

    `lowers`: it should have become text and could not; `lost`: it should have, and the reply broke off before.
    """
    status: Status = "native"
    reason: Reason | None = "unwritable" if lowers else None
    if record.outgrown and not cut:
        reason = "max_call_chars"
    elif lost or not record.complete:
        status, reason = ("truncated", "cut_off") if cut else ("malformed", "bad_arguments")
    return Verdict(status, reason, None, record.name, 0, 0, index=record.index)


def _is_object(arguments: str) -> bool:
    try:
        members(arguments)
    except ValueError:
        return False
    return True
