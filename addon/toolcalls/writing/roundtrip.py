"""Text calls for a text client: a call in the client's own dialect stays as it is, any other is written in that one.

Virtual tool calling reads calls out of the text so that processors may see them, and puts them back for the client.
What nobody changed must leave byte for byte, so markup is only taken away once the call is written in another form. A
call is the client's own also where another dialect has read it and the client's would read the same: both may know it.
So it is where a damaged or mixed form has read it and it begins as the client's own do: what that client makes of the
rest, such as a parameter in another form's tags, is its affair.

Where it is not certain what the client reads, calls in other dialects stay as they are, too (`ClientText`).

Where a processor took a call out of a block of several, or changed it, the others must still stand. From there on the
calls up to the next text are written as one block (`blocks`), after what the client has of the model's: one that is
written as the model wrote it stays byte for byte. What closes the block leaves when it is known that no call follows,
and texts of our own leave behind it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from toolcalls.dialects import UNLIKELY, grammar
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
from toolcalls.writing.blocks import TAIL, Block, Layout, alike, begun, common_length, layout_of, parts_a_block
from toolcalls.writing.writer import begins, reads, stands

WITHHELD: frozenset[Reason] = frozenset({"multiple_calls", "unwritable"})  # why a client does not get a call


@dataclass(frozen=True, slots=True)
class ClientText:
    """What a text client reads.

    dialect      what calls are written in; None where it is not known
    dialects     those of which the client may read any; () for all
    translates   calls in other dialects are written in `dialect`; else they stay as they are
    one_call     of calls that would have to be written, none is after another call
    """

    dialect: str | None
    dialects: tuple[str, ...]
    translates: bool = True
    one_call: bool = False

    def is_own(self, dialect: str | None) -> bool:
        """Whether the client may read this dialect."""
        return dialect in self.dialects if self.dialects else bool(dialect)

    def named(self, dialect: str) -> str:
        """The name by which a dialect is known that was read: the route's own, where it is one of the client's."""
        return next((own for own in self.dialects if own == dialect), dialect)


class RoundTrip:
    """Turns a reader's events into text events for a client.

    dialect  what calls are written in, or raises `Unwritable`
    hold     gives a call as the client's dialect can hold it, with what had to change for it
    apart    gives a block (its text, its calls, the closer it lacks) as it comes after the text that the client has,
             or raises `Unwritable`
    acts     calls may be withdrawn or changed, so what separates two of them waits until it is known that it does
    """

    def __init__(
        self,
        client: ClientText,
        tools: Toolbox,
        dialect: Callable[[], str],
        hold: Callable[[Call], tuple[Call, tuple[Repair, ...]]],
        apart: Callable[[str, Sequence[Call], str], str],
        *,
        acts: bool = True,
    ) -> None:
        self.client = client
        self._tools = tools
        self._dialect = dialect
        self._hold = hold
        self._apart = apart
        self._acts = acts
        self._markup: list[str] = []
        self._own = True  # the latest call is in the client's own dialect
        self._unlikely = False  # the latest call was read in a damaged or mixed form
        self._remade = False  # a processor has made the latest call
        self._streaming = False  # inside such a call: its markup is shown as it comes
        self._calls: dict[int, tuple[str, list[str]]] = {}
        self._repairs: dict[int, tuple[Repair, ...]] = {}  # what had to change to write a call
        self._left: dict[int, Reason] = {}  # calls that stay although the client may not read them, and why
        self._read_as: dict[int, str] = {}  # calls that stay as they are, by the client's dialect that reads them
        self._withheld: dict[int, Reason] = {}  # calls that the client does not get, and why
        self.has_call = False  # the client has got a call
        # A run of calls with nothing but layout between them: what is shown of it, and whether a call is missing in it.
        self._run: list[str] = []
        self._run_calls: list[Call] = []
        self._run_dialect = ""  # of the latest call that stays as it is
        self._call_missing = False
        self._after_ours = False  # the latest output is a text of our own
        self._unchecked: Call | None = None  # a whole call after a missing one, which may not be alone
        self._block: Block | None = None  # what calls are written into
        self._texts: list[str] = []  # of our own, for after the block
        self._last: Text | Markup | None = None  # the last character before what closes the block
        self._separates = False  # what is held begins with what separates two calls
        self._separators: dict[str, str] = {}  # what separates two calls of a block, by dialect

    @property
    def streams(self) -> bool:
        """Whether the markup of the call that is being read is shown as it comes. If so, call `streamed` with it."""
        if not (self._streaming and self._own) or self._markup or self._after_ours:
            return False
        return not (self._acts and self._separators.get(self._run_dialect))

    def streamed(self, markup: str, piece: CallPiece) -> None:
        """`feed` for the usual two events inside such a call: the markup is shown."""
        self._run.append(markup)
        self._calls[piece.index][1].append(piece.json)

    @property
    def holds_nothing(self) -> bool:
        """Whether no markup is held, so that the next text is shown as it is."""
        return not (self._markup or self._last or self._block is not None or self._texts)

    def passes(self) -> bool:
        """Whether the next text is shown as it is. If so, it counts as shown."""
        if not self.holds_nothing:
            return False
        self._after_ours = False
        self._run, self._run_calls, self._call_missing = [], [], False
        return True

    def feed(self, event: Event | str) -> Iterator[Event | str]:
        """The outcome of one event: `Text` and `Markup` account for what was in the reply, a `str` is new text."""
        if isinstance(event, Markup):
            self._markup.append(event.text)
            if self._streaming:
                yield from self._flush_but_separator(self._run_dialect)
        elif isinstance(event, CallStart):
            self._calls[event.index] = (event.name, [])
            own = self.client.is_own(event.dialect)
            self._own = own or (bool(event.dialect) and not self.client.translates)
            self._remade = not event.dialect
            self._unlikely = event.dialect in UNLIKELY
            if event.dialect and self._own:
                self._run_dialect = self.client.named(event.dialect)
            if self._own and not own:
                self._left[event.index] = "other_dialect"
            self._streaming = self._own and not self._call_missing and self._block is None
            if self._streaming:
                yield from self.flush()
                self._learn(event)
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
        elif isinstance(event, str):
            if self._in_block():
                self._texts.append(event)
                return
            yield from self.flush()
            yield from self._close()
            self._after_ours = True
            yield event
        elif isinstance(event, Text | Removed):
            self._own = self._own and not (self._separates and isinstance(event, Removed))
            yield from self.flush()
            self._after_ours = False
            if isinstance(event, Text):
                yield from self._close()
                self._run, self._run_calls, self._call_missing = [], [], False
            yield event

    def flush(self) -> Iterator[Event | str]:
        """Decide what is held: around the client's own calls it is text, around others layout.

        The last character waits while the block that it is written into needs its closer, which then is in the same
        place of the reply, and not after what follows there.
        """
        if self._markup:
            yield from self._last_decided()
            text, self._separates = "".join(self._markup), False
            self._markup.clear()
            if self._own:
                if self._after_ours and not text[0].isspace():
                    yield "\n\n"
                self._after_ours = False
                self._run.append(text)
            kind = Text if self._own else Markup
            if self._block is not None and self._block.closer:
                text, self._last = text[:-1], kind(text[-1])
            if text:
                yield kind(text)

    def release(self) -> Iterator[Event | str]:
        """Decide all that is held: no more may be."""
        yield from self.flush()
        yield from self._last_decided()

    def _last_decided(self) -> Iterator[Event]:
        last, self._last = self._last, None
        if last is not None:
            yield last

    def finish(self) -> Iterator[Event | str]:
        """Decide what is held, and close the block that calls are written into: nothing follows."""
        yield from self.flush()
        yield from self._close()

    @property
    def adds_at_end(self) -> bool:
        """Whether `finish` gives text of our own."""
        return bool(self._texts) or (self._block is not None and bool(self._block.closer))

    def _in_block(self) -> bool:
        """Whether the client has the beginning of a block, inside which no text may be."""
        if self._block is None and self._run_calls and not self._streaming:
            end = ""
            for text in reversed(self._run):
                end = text + end
                if len(end) > 2 * TAIL:
                    break
            return parts_a_block(self._run_dialect, end, self._run_calls, self._tools)
        return self._block is not None and self._block.joins

    def _close(self) -> Iterator[Event | str]:
        yield from self._last_decided()
        block, self._block = self._block, None
        if block is not None and block.closer:
            yield block.closer
        texts, self._texts = self._texts, []
        yield from texts
        self._after_ours = self._after_ours or bool(texts)

    def _withdraw(self) -> Iterator[Event | str]:
        """The call whose markup is held is not to be shown, or no more of it where it is shown already."""
        self._own = False
        yield from self.flush()
        if not self._streaming and self._run_calls:
            self._block, lacks = begun(self._run_dialect, "".join(self._run), self._run_calls, self._tools)
            if lacks:
                yield lacks
            self._run, self._run_calls = [], []
        self._streaming = False
        self._call_missing = True

    def _end(self, index: int) -> Iterator[Event | str]:
        self._streaming = False
        name, pieces = self._calls.pop(index)
        call = Call(name, "".join(pieces))
        if self._own and (self._call_missing or self._block is not None):
            self._unchecked = call  # with what closes its block, which comes before its verdict
        elif self._own:
            self._run_calls.append(call)
            self.has_call = self.has_call or index not in self._left
        elif not (self._remade or self._call_missing or self._block) and self._alike(call) is not None:
            self._unchecked = call
        elif self.client.one_call and self.has_call:
            self._withheld[index] = "multiple_calls"
        else:
            yield from self._rewrite(call, index)

    def _learn(self, start: CallStart) -> None:
        """Find out what separates calls in the dialect of one that stays as it is."""
        if self._acts and self._run_dialect not in self._separators:
            try:
                layout = layout_of(self._run_dialect, Call(start.name, "{}"), self._tools)
            except Unwritable:
                return
            self._separators[self._run_dialect] = layout.separator

    def _flush_but_separator(self, dialect: str | None) -> Iterator[Event | str]:
        """`flush`, but for what separates a call of the client's own from one that may be withdrawn."""
        separator = self._separators.get(dialect or "") if self._own else None
        text, held = "".join(self._markup), ""
        if separator and text.rstrip().endswith(separator):
            held = text[text.rindex(separator) :]
            self._markup = [text.removesuffix(held)] if text != held else []
        yield from self.flush()
        self._separates = bool(held)
        if held:
            self._markup.append(held)

    def _alike(self, call: Call) -> str | None:
        """The client's dialect that reads the markup that is held as this call, or whose call it is, damaged.

        It may be more than the call where no processor acts. Else it may not, since what is written after it must fit.
        """
        text = "".join(self._markup)
        for dialect in self.client.dialects:
            if self._unlikely and begins(dialect, text, call.name, self._tools):
                return dialect
            fits = not self._acts or stands(dialect, text, [call], self._tools)
            if fits and reads(dialect, text, call, self._tools):
                return dialect
        return None

    def _check(self, call: Call, index: int) -> Iterator[Event | str]:
        """All of a call's markup is held: show it where the client reads it as this call, else write the call anew."""
        dialect = None if self._own else self._alike(call)
        if dialect is not None:
            self._own = self.has_call = True
            self._read_as[index] = self._run_dialect = dialect
            self._run_calls.append(call)
        elif not self._own and self.client.one_call and self.has_call:
            self._withheld[index] = "multiple_calls"
        else:
            yield from self._rewrite(call, index)

    def _leave(self, index: int, reason: Reason) -> Iterator[Event | str]:
        self._left[index] = reason
        self._own = True
        yield from self.flush()

    def _rewrite(self, call: Call, index: int) -> Iterator[Event | str]:
        """Write a call into the block, where it is the model's markup if that is the same, or is a block by itself."""
        if self._own and self._is_block(call):
            yield from self._close()
            self._run, self._run_calls, self._call_missing = [], [call], False
            self.has_call = True
            yield from self.flush()
            return
        markup = alike("".join(self._markup)) if self._own else None
        try:
            dialect = self._dialect()
            call, repairs = self._hold(call)
            block, text, layout = self._next(dialect, call)
        except Unwritable:
            if self._remade:  # what the processors made of it cannot be said, and the model's call is not to be made
                self._withheld[index] = "unwritable"
                yield from self.flush()
                return
            yield from self._close()
            yield from self._leave(index, "unwritable")
            return
        self.has_call = True
        if block is not self._block:
            yield from self._close()
            self._block = block
        kept = markup is not None and not repairs and self._run_dialect == dialect
        if kept and markup == alike(text):
            block.took(layout)
        elif kept and markup == alike(text + layout.closer):
            self._block = None
        else:
            self._own = False
            self._repairs[index] = repairs
            block.took(layout)
            yield from self.flush()
            self._after_ours = False
            yield text
            return
        yield from self.flush()

    def _is_block(self, call: Call) -> bool:
        """Whether the markup that is held is a whole block of the client's own, with this call in it.

        It is where it begins more like a block of its own than like one more call of the block that is open.
        """
        dialect, block = self._run_dialect, self._block
        if block is None or block.dialect != dialect or grammar(dialect).place == "message":
            return False
        text = "".join(self._markup)
        try:
            alone, inside = Block(dialect, self._tools).next(call)[0], block.next(call)[0]
        except Unwritable:
            return False
        begins = [common_length(alike(text), alike(other)) for other in (alone, inside)]
        return begins[0] > begins[1] and stands(dialect, text, [call], self._tools)

    def _next(self, dialect: str, call: Call) -> tuple[Block, str, Layout]:
        """The block that a call is written into, its text there, and the block's layout."""
        if self._block is not None and self._block.dialect == dialect:
            try:
                return self._block, *self._block.next(call)
            except Unwritable:
                pass  # it may be in a block of its own
        block = Block(dialect, self._tools)
        text, layout = block.next(call)
        return block, self._apart(text, [call], layout.closer), layout

    def _judge(self, verdict: Verdict) -> Iterator[Event | str]:
        if verdict.index is not None and self._unchecked is not None:
            call, self._unchecked = self._unchecked, None
            yield from self._check(call, verdict.index)
        if verdict.index is not None or verdict.status == "blocked" or verdict.rule is not None:
            if verdict.status == "truncated":
                self._own = True
            self._streaming = False
            # What comes from here on belongs to the next call.
            yield from self._flush_but_separator(verdict.dialect if verdict.status == "lifted" else None)
        if verdict.status != "lifted":
            yield verdict
        elif verdict.index in self._withheld:
            reason = self._withheld[verdict.index]
            yield msgspec.structs.replace(verdict, status="blocked", reason=reason)
        elif verdict.index in self._left:
            yield msgspec.structs.replace(verdict, status="declined", reason=self._left[verdict.index])
        else:
            repairs = () if verdict.index is None else self._repairs.pop(verdict.index, ())
            read_as = None if verdict.index is None else self._read_as.pop(verdict.index, None)
            lowered = msgspec.structs.replace(verdict, status="lowered", repairs=(*verdict.repairs, *repairs))
            yield msgspec.structs.replace(lowered, dialect=str(read_as)) if read_as else lowered
