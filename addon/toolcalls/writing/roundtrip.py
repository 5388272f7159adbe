"""Text calls for a text client: a call in the client's own dialect stays as it is, any other is written in that one.

Virtual tool calling reads calls out of the text so that processors may see them, and puts them back for the client.
What nobody changed must leave byte for byte, so markup is only taken away once the call is written in another form. A
call is the client's own also where another dialect has read it and the client's would read the same: both may know it.

Where it is not certain what the client reads, calls in other dialects stay as they are, too (`ClientText`).

Where a processor took a call out of a block of several, or changed it, the others must still stand: what the client has
of the block is closed before that place, and a call behind it stays as it is only if it can stand alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Event,
    Markup,
    Note,
    Reason,
    Removed,
    Repair,
    Text,
    Verdict,
    Withdrawn,
)
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import closing, lacks_opener, reads, stands


@dataclass(frozen=True, slots=True)
class ClientText:
    """What a text client reads.

    dialect      what calls are written in; None where it is not known
    dialects     those of which the client may read any; () for all
    translates   calls in other dialects are written in `dialect`; else they stay as they are
    one_call     of calls that would have to be written, none is behind another call
    """

    dialect: str | None
    dialects: tuple[str, ...]
    translates: bool = True
    one_call: bool = False

    def is_own(self, dialect: str | None) -> bool:
        """Whether the client may read this dialect."""
        return dialect in self.dialects if self.dialects else bool(dialect)


class RoundTrip:
    """Turns a reader's events into text events for a client.

    write    gives a call as text in the client's dialect, with what had to change for it, or raises `Unwritable`
    """

    def __init__(
        self, client: ClientText, tools: Toolbox, write: Callable[[Call], tuple[str, tuple[Repair, ...]]]
    ) -> None:
        self.client = client
        self._tools = tools
        self._write = write
        self._markup: list[str] = []
        self._own = True  # the latest call is in the client's own dialect
        self._remade = False  # a processor has made the latest call
        self._streaming = False  # inside such a call: its markup is shown as it comes
        self._calls: dict[int, tuple[str, list[str]]] = {}
        self._repairs: dict[int, tuple[Repair, ...]] = {}  # what had to change to write a call
        self._left: dict[int, Reason] = {}  # calls that stay although the client may not read them, and why
        self._withheld: set[int] = set()  # calls that the client does not get, since it has another one
        self.has_call = False  # the client has got a call
        # A run of calls with nothing but layout between them: what is shown of it, and whether a call is missing in it.
        self._run: list[str] = []
        self._run_calls: list[Call] = []
        self._run_dialect = ""  # of the latest call that stays as it is
        self._call_missing = False
        self._after_ours = False  # the latest output is a text of our own
        self._unchecked: Call | None = None  # a whole call behind a missing one, which may not stand alone

    @property
    def streams(self) -> bool:
        """Whether the markup of the call that is being read is shown as it comes. If so, call `streamed` with it."""
        return self._streaming and self._own and not (self._markup or self._after_ours)

    def streamed(self, markup: str, piece: CallPiece) -> None:
        """`feed` for the usual two events inside such a call: the markup is shown."""
        self._run.append(markup)
        self._calls[piece.index][1].append(piece.json)

    def passes(self) -> bool:
        """Whether the next text is shown as it is, because no markup is held. If so, it counts as shown."""
        if self._markup:
            return False
        self._after_ours = False
        self._run, self._run_calls, self._call_missing = [], [], False
        return True

    def feed(self, event: Event | str) -> Iterator[Event | str]:
        """The outcome of one event: `Text` and `Markup` account for what stood in the reply, a `str` is new text."""
        if isinstance(event, Markup):
            self._markup.append(event.text)
            if self._streaming:
                yield from self.flush()
        elif isinstance(event, CallStart):
            self._calls[event.index] = (event.name, [])
            own = self.client.is_own(event.dialect)
            self._own = own or (bool(event.dialect) and not self.client.translates)
            self._remade = not event.dialect
            if event.dialect and self._own:
                self._run_dialect = event.dialect
            if self._own and not own:
                self._left[event.index] = "other_dialect"
            self._streaming = self._own and not self._call_missing
            if self._streaming:
                yield from self.flush()
        elif isinstance(event, CallPiece):
            self._calls[event.index][1].append(event.json)
        elif isinstance(event, CallEnd):
            yield from self._end(event.index)
        elif isinstance(event, Verdict):
            yield from self._judge(event)
        elif isinstance(event, Withdrawn):
            yield from self._withdraw()
        elif isinstance(event, Note):
            yield event
        elif isinstance(event, Text | Removed | str):
            yield from self.flush()
            self._after_ours = isinstance(event, str)
            if isinstance(event, Text):
                self._run, self._run_calls, self._call_missing = [], [], False
            yield event

    def flush(self) -> Iterator[Event | str]:
        """Decide what is held: around the client's own calls it is text, around others layout."""
        if self._markup:
            text = "".join(self._markup)
            self._markup.clear()
            if self._own:
                if self._after_ours and not text[0].isspace():
                    yield "\n\n"
                self._after_ours = False
                self._run.append(text)
            yield Text(text) if self._own else Markup(text)

    def _withdraw(self) -> Iterator[Event | str]:
        """The call whose markup is held is not to be shown, or no more of it where it is shown already."""
        self._own = False
        yield from self.flush()
        if not self._streaming:
            closer = closing(self._run_dialect, "".join(self._run), self._run_calls, self._tools)
            if closer:
                yield closer
            self._run, self._run_calls = [], []
        self._streaming = False
        self._call_missing = True

    def _end(self, index: int) -> Iterator[Event | str]:
        self._streaming = False
        name, pieces = self._calls.pop(index)
        call = Call(name, "".join(pieces))
        if self._own and self._call_missing:
            self._unchecked = call  # with what closes its block, which comes before its verdict
        elif self._own:
            self._run_calls.append(call)
            self.has_call = self.has_call or index not in self._left
        elif not self._remade and self._reads_alike(call):
            self._own = self.has_call = True
            self._run_calls.append(call)
            yield from self.flush()
        elif self.client.one_call and self.has_call:
            self._withheld.add(index)
        else:
            yield from self._rewrite(call, index)

    def _reads_alike(self, call: Call) -> bool:
        """Whether the client reads the markup that is held as this call, though it is in another dialect."""
        text = "".join(self._markup)
        for dialect in self.client.dialects:
            if reads(dialect, text, call, self._tools):
                self._run_dialect = dialect
                return True
        return False

    def _leave(self, index: int, reason: Reason) -> Iterator[Event | str]:
        self._left[index] = reason
        self._own = True
        yield from self.flush()

    def _rewrite(self, call: Call, index: int) -> Iterator[Event | str]:
        try:
            written, self._repairs[index] = self._write(call)
        except Unwritable:
            yield from self._leave(index, "unwritable")
            return
        self._own, self.has_call = False, True
        yield from self.flush()
        yield written

    def _judge(self, verdict: Verdict) -> Iterator[Event | str]:
        if verdict.index is not None and self._unchecked is not None:
            call, self._unchecked = self._unchecked, None
            text, dialect = "".join(self._markup), self._run_dialect
            whole = stands(dialect, text, [call], self._tools)
            if not whole or lacks_opener(dialect, text, call, self._tools):
                yield from self._rewrite(call, verdict.index)
        if verdict.index is not None or verdict.status == "blocked" or verdict.rule is not None:
            if verdict.status == "truncated":
                self._own = True
            self._streaming = False
            yield from self.flush()  # what comes from here on belongs to the next call
        if verdict.status != "lifted":
            yield verdict
        elif verdict.index in self._withheld:
            yield msgspec.structs.replace(verdict, status="blocked", reason="multiple_calls")
        elif verdict.index in self._left:
            yield msgspec.structs.replace(verdict, status="declined", reason=self._left[verdict.index])
        else:
            repairs = () if verdict.index is None else self._repairs.pop(verdict.index, ())
            yield msgspec.structs.replace(verdict, status="lowered", repairs=(*verdict.repairs, *repairs))
