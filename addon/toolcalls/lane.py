"""One lane of a reply (a choice, a block): text through the reader, calls to where the client can take them.

Four kinds of exchange: `lift` turns what the reader finds into native calls; `lower` collects native calls and writes
them as text; `roundtrip` does that too, and reads the calls that stand in the text; `observe` changes nothing and gives
the same verdicts.

What comes out: `Text` and `Markup` account, in order, for every character of text that went in; a `str` is text of our
own; call events and `Finish` are for the client; verdicts are for the report.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Markup, Status, Text, Verdict
from toolcalls.evidence import Decision
from toolcalls.ids import call_id
from toolcalls.policy import Terms
from toolcalls.reader import Reader
from toolcalls.roundtrip import RoundTrip
from toolcalls.shapes import Call, Unwritable
from toolcalls.tools import Toolbox
from toolcalls.values import members
from toolcalls.writing import as_text, separated, write

type Outcome = Event | str

# Finish reasons after which nothing may be completed.
_CUT = frozenset({"length", "content_filter", "failed"})


class Record:
    """A call of the reply, as the report shows it. `index` and `id` are the client's."""

    __slots__ = ("complete", "dialect", "id", "index", "name", "pieces")

    def __init__(self, index: int, name: str, dialect: str | None, id_: str) -> None:
        self.index = index
        self.name = name
        self.dialect = dialect
        self.id = id_
        self.pieces: list[str] = []
        self.complete = False

    @property
    def arguments(self) -> str:
        """The argument JSON, as far as it came."""
        return "".join(self.pieces)


class Lane:
    """The state of one lane. `number` tells it from the reply's other lanes, `seed` the reply from other replies."""

    def __init__(self, terms: Terms, decision: Decision, tools: Toolbox, *, number: int, seed: bytes) -> None:
        self.records: list[Record] = []
        self.finished = False
        self._route = terms.route
        self._kind = decision.kind
        self._tools = tools
        self._number = number
        self._seed = seed
        self._reader = Reader(terms, tools=tools)
        self._read: dict[int, Record] = {}
        self._natives: dict[int, Record] = {}
        self._next = 0  # the first index that no call has, nor any behind it
        self._dialect = decision.dialect if decision.kind in {"lower", "roundtrip"} else None
        self._trip = RoundTrip(self._dialect, self._written) if self._dialect and self._kind == "roundtrip" else None
        self._lowered_all = False  # there were native calls, and every one became text
        self._shown = ""  # the end of the text that the client has, for the line ends before a written call

    @property
    def passes(self) -> Callable[[str], bool]:
        """Whether a piece is text that nothing can happen to. If so, it has been read; if not, `text` takes it."""
        return self._reader.passes if self._dialect is None else _never

    def text(self, piece: str) -> Sequence[Outcome]:
        """The next piece of text, where it does not just pass."""
        events = self._reader.read(piece)
        if self._dialect is None:
            if len(events) == 2 and isinstance(made := events[1], CallPiece) and isinstance(events[0], Markup):
                record = self._read[made.index]  # the usual piece inside a call
                if record.index == made.index:
                    record.pieces.append(made.json)
                    return events
            return [self._placed(event) for event in events]
        return list(self._outcomes(events))

    def native(self, event: CallStart | CallPiece | CallEnd) -> Sequence[Outcome]:
        """The next event of a native call."""
        out: list[Outcome] = []
        if isinstance(event, CallStart):
            # Text ends where a native call begins, and what is held of it is decided now.
            out.extend(self._outcomes(self._reader.finish(cut=False)))
            self._natives[event.index] = self._record(event.name, None, event.id, wanted=event.index)
        record = self._natives[event.index]
        if isinstance(event, CallPiece):
            record.pieces.append(event.json)
        elif isinstance(event, CallEnd) and _is_object(record.arguments):
            record.complete = True
            self._reader.native(record.name, record.arguments)
        if self._dialect is None:
            out.append(msgspec.structs.replace(event, index=record.index))
        return out

    def finish(self, reason: str) -> Sequence[Outcome]:
        """The lane's own end: the last outcome is a `Finish` with the reason that the client is given.

        Some servers say it twice, and some send native calls between the two; each call has its verdict once.
        """
        cut = reason in _CUT
        out = list(self._outcomes(self._reader.finish(cut=cut), last=True))
        self.finished = True
        if self._dialect is not None and self._natives:
            out.extend(self._lowered())
        out.extend(
            _native_verdict(record, cut=cut, lowers=self._dialect is not None) for record in self._natives.values()
        )
        self._natives.clear()
        out.append(Finish(self._reason(reason)))
        return out

    def cut(self) -> Sequence[Outcome]:
        """The reply is over, and if the lane did not end before, it broke off: nothing is completed any more."""
        out = list(self._outcomes(self._reader.finish(cut=True), last=True))
        lost = self._dialect is not None  # what would have become text at the end never leaves
        out.extend(_native_verdict(record, cut=True, lost=lost) for record in self._natives.values())
        self._natives.clear()
        self.finished = True
        return out

    # Out

    def _record(self, name: str, dialect: str | None, id_: str = "", *, wanted: int | None = None) -> Record:
        # A native call keeps its own index, whatever that is, unless a call of ours came before it.
        index = wanted if wanted is not None and not self._read else self._next
        self._next = max(self._next, index + 1)
        made = call_id(self._seed, self._number, index, name, roundtrip=self._kind == "roundtrip")
        record = Record(index, name, dialect, id_ or made)
        self.records.append(record)
        return record

    def _outcomes(self, events: Iterable[Event], *, last: bool = False) -> Iterator[Outcome]:
        """What the client is given for the reader's events; the records are kept on the way."""
        for event in events:
            placed = self._placed(event)
            if self._trip is None:
                yield self._noted(placed)
            else:
                for outcome in self._trip.feed(placed):
                    yield self._noted(outcome)
        if last and self._trip is not None:
            yield from self._trip.flush()

    def _placed(self, event: Event) -> Event:
        """The event with the index and the id that the client sees. The commonest kinds come first."""
        if isinstance(event, Markup):
            return event
        if isinstance(event, CallPiece):
            record = self._read[event.index]
            record.pieces.append(event.json)
            return event if record.index == event.index else CallPiece(record.index, event.json)
        if isinstance(event, CallStart):
            record = self._read[event.index] = self._record(event.name, event.dialect)
            return CallStart(record.index, record.name, record.dialect, record.id)
        if isinstance(event, CallEnd):
            self._read[event.index].complete = True
            return CallEnd(self._read[event.index].index)
        if isinstance(event, Verdict) and event.index is not None:
            return msgspec.structs.replace(event, index=self._read[event.index].index)
        return event

    def _noted(self, outcome: Outcome) -> Outcome:
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

    def _lowered(self) -> Iterator[Outcome]:
        """The native calls as one block of text; those that the dialect cannot hold stay native, behind it."""
        calls = {
            index: as_text(Call(record.name, record.arguments), self._tools) for index, record in self._natives.items()
        }
        lowered = calls if self._writes(*calls.values()) else {}
        if not lowered:  # as many as it can hold: some dialects hold one call a message
            for index, call in calls.items():
                if self._writes(*lowered.values(), call):
                    lowered[index] = call
        if lowered:
            yield self._noted(self._written(*lowered.values()))
        for index, call in lowered.items():
            record = self._natives.pop(index)
            repairs = ("value_as_text",) if call.arguments != record.arguments else ()
            yield Verdict("lowered", None, self._dialect, record.name, 0, 0, repairs, record.index)
        self._lowered_all = bool(lowered) and not self._natives
        for place, record in enumerate(self._natives.values()):
            yield CallStart(place, record.name, None, record.id)
            yield CallPiece(place, record.arguments)
            yield CallEnd(place)

    def _reason(self, reason: str) -> str:
        """The finish reason that fits what the client is given; what the upstream cut short stays cut short."""
        if reason in _CUT:
            return reason
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
    reason = "unwritable" if lowers else None
    if lost or not record.complete:
        status, reason = ("truncated", "cut_off") if cut else ("malformed", "bad_arguments")
    return Verdict(status, reason, None, record.name, 0, 0, index=record.index)


def _is_object(arguments: str) -> bool:
    try:
        members(arguments)
    except ValueError:
        return False
    return True
