"""Text in, events out: one reader for a stream, a whole reply, a request's history, the command line and the replay.

The reader looks for openers (`between.py`) and lets the grammars of the dialects that share one read from there
(`attempts.py`); the ledger decides what becomes of what they consume. Pieces in which nothing can begin pass without
any of this (`passing.py`). The grammar of a declined candidate goes on reading to its end, and its text is shown: the
outermost call owns its payload, which is never searched for calls. Only inside quoted text (code, a block quote, a
comment, reasoning) does the Markdown say where the quotation ends, so there a grammar reads no further than the name.
"""

import re
from collections.abc import Generator
from dataclasses import replace

from toolcalls.dialects import configured
from toolcalls.events import CallPiece, Event, Markup, Reason, Text
from toolcalls.reading.attempts import Attempts
from toolcalls.reading.between import Between
from toolcalls.reading.candidate import Candidate
from toolcalls.reading.earlier_turns import EarlierTurns
from toolcalls.reading.ledger import Ledger
from toolcalls.reading.only_call import OnlyCall
from toolcalls.reading.open_calls import open_text_of
from toolcalls.reading.openers import MODULE, Opener, openers_of
from toolcalls.reading.passing import Passing
from toolcalls.reading.place import Place
from toolcalls.reading.policy import TAKE, CallPolicy
from toolcalls.reading.reasoning_tags import is_reasoning, may_be_reasoning
from toolcalls.reading.unopened_reasoning import UnopenedReasoning, is_closer
from toolcalls.reading.wrappers import Wrappers
from toolcalls.text.lookalike import LookAlike
from toolcalls.text.markdown import Position
from toolcalls.text.scanner import Scanner
from toolcalls.text.text_ends import TextEnds
from toolcalls.values.tool_values import ToolValues
from toolcalls.values.toolbox import Toolbox

_LETTER = re.compile(r"[A-Za-z]\Z")


class Reader:
    """Reads the text of one reply (one choice, one block).

    passes    whether a piece is text that nothing can happen to. If so, it has been read; if not, `feed` it
    inside    a candidate is being read
    unopened  what is known of reasoning that nothing in the text has opened
    """

    def __init__(
        self,
        call_policy: CallPolicy,
        *,
        tools: Toolbox | None = None,
        starts_in_reasoning: bool | None = None,
        may_start_in_reasoning: bool | None = None,
        reasoning_end: int = 0,
        place: Position | None = None,
        message_start: bool = True,
        values: ToolValues | None = None,
    ) -> None:
        """`place`: where the text is in its message, the reader's own from here on; None for the beginning.

        starts_in_reasoning       the text starts inside reasoning, up to any closer
        may_start_in_reasoning    it may: what would be a call waits for a closer after it
                                  (None: as the route and the request say of a reply, where this is its beginning)
        reasoning_end             a call that begins in front of this place of the text is reasoning
        message_start             only white space comes before the text in its block of the message
        values                    what mends the values of the calls; None for nothing
        """
        route = call_policy.route
        if starts_in_reasoning is None:
            starts_in_reasoning = place is None and route.starts_in_reasoning
        if may_start_in_reasoning is None:
            may_start_in_reasoning = place is None and call_policy.may_start_in_reasoning
        self._tools = (
            Toolbox((*call_policy.request.tools, *route.tools), infer=route.infer_types) if tools is None else tools
        )
        self._dialects = configured(
            route.dialects,
            route.marker,
            route.max_payload_chars,
            route.own,
            structured=call_policy.answers_in_json,
            alone=call_policy.alone,
        )
        self._position = position = place or Position(reasoning=starts_in_reasoning)
        if not call_policy.requires("complete"):
            position.end_spans_with_lines()
        self._scan = scan = Scanner()
        self._ledger = ledger = Ledger(scan, call_policy, self._tools, position, values)
        ledger.reasoning_end = 0 if call_policy.takes("reasoning") else reasoning_end
        self.unopened = UnopenedReasoning(scan, ledger, position, likely=may_start_in_reasoning)
        self._only_call = (
            OnlyCall(scan, ledger, position, self.unopened, self._probe) if call_policy.takes_only_calls else None
        )
        open_text = open_text_of(Reader, call_policy, self._tools, ledger.natives, starts_in_reasoning)
        ledger.text.shown.look_for_calls(open_text)
        if call_policy.open_calls and self._tools.names:
            ledger.text.shown.keep_ends(TextEnds())
        self._wrappers = Wrappers(call_policy.wrappers, remove=call_policy.lift and call_policy.remove_frames)
        self._anywhere = call_policy.takes("inline")
        self._place = Place(position, message_start=message_start)
        self._look_for(results=False)
        self._passing = Passing(scan, ledger.text, self._place)
        self.passes = self._passing.passes
        self._between = Between(scan, ledger, self._place, self._passing, self.unopened, self._wrappers)
        earlier = EarlierTurns(Reader, call_policy, self._tools)
        self._attempts = Attempts(scan, ledger, self._place, self._wrappers, self._tools, earlier)
        self.inside = False
        self._run = self._read()
        next(self._run)

    def _look_for(self, *, results: bool) -> None:
        """Set the openers to look for from here on. `results`: with those of invented results."""
        wrappers = self._wrappers
        self._place.openers = openers_of(
            self._dialects,
            self._tools.names,
            anywhere=self._anywhere,
            results=results,
            wrappers=wrappers.tags,
            closers=wrappers.closers,
        )
        self._results = results

    @property
    def text_ends(self) -> TextEnds | None:
        """The text so far, as much of it as is kept; None where nobody may miss a call in it."""
        return self._ledger.text.shown.ends

    @property
    def idle(self) -> bool:
        """Whether nothing is being read or held."""
        return self._passing.idle

    @property
    def inside_call(self) -> bool:
        """Whether the text so far ends inside a block of calls, and not after a whole call of it."""
        return self.inside and (self._ledger.current is None or not self._ledger.current.complete)

    @property
    def removed_marks(self) -> bool:
        """Whether marks of a template were taken from the text that belong to no call."""
        return self._ledger.text.unframed

    @property
    def unclosed(self) -> Candidate | None:
        """The call that was committed and is not complete, where the text so far ends inside one."""
        call = self._ledger.current if self.inside else None
        is_open = call is not None and call.index is not None and call.reason is None and not call.complete
        return call if is_open else None

    @property
    def reads_committed(self) -> bool:
        """Whether the text so far ends inside a call that was committed and is not complete, whatever is wrong with it.

        Its verdict comes when it ends.
        """
        call = self._ledger.current if self.inside else None
        return call is not None and call.index is not None and not call.complete

    def feed(self, piece: str) -> list[Event]:
        """Read the next piece. Returns what is decided now; text that can be no call leaves at once."""
        return [Text(piece)] if self.passes(piece) else self.read(piece)

    def streams(self, piece: str) -> CallPiece | None:
        """What a piece of text is to the call that it is in, if it is all string argument. If so, it has been read."""
        wake_on = self._scan.wake_on
        return None if wake_on is None or wake_on(piece) else self._ledger.streams(piece)

    def read(self, piece: str) -> list[Event]:
        """`feed` for a piece that does not just pass."""
        wake_on = self._scan.wake_on
        if wake_on is not None and not wake_on(piece):
            made = self._ledger.streams(piece)
            if made is not None:
                return [Markup(piece), made]
        elif self._passing.in_line is not None and (shown := self._passing.read_in_line(piece)) is not None:
            return shown
        if not self._ledger.limits.has_room(piece, self._scan.held):
            return self._read_in_parts(piece)
        self._passing.busy()
        self._scan.feed(piece)
        next(self._run)
        return self._events()

    def _read_in_parts(self, piece: str) -> list[Event]:
        """`read` for a piece inside which a limit may be met, of a call or of held text."""
        out: list[Event] = []
        at = 0
        while at < len(piece):
            size = self._ledger.at_once(piece, at)
            self._passing.busy()
            self._scan.feed(piece[at : at + size])
            next(self._run)
            out += self._events()
            at += size
        return out

    def finish(self, *, cut: bool) -> list[Event]:
        """The text ends. `cut`: it broke off or met the length limit, so what is open stays open (law 6).

        Text that comes all the same afterwards is read as a new beginning.
        """
        self._passing.busy()
        self._scan.end(cut=cut)
        for _ in self._run:
            if not self.unopened.puts_off_end():
                raise AssertionError("a grammar waits for text behind the end")
            self._scan.ended = True
        self._scan.ended = self._scan.cut = False
        if self._only_call is not None:
            self._only_call.text_ends()
        self._run = self._read()
        next(self._run)
        return self._events()

    def finish_part(self) -> list[Event]:
        """The text ends, and more of its message may follow: calls that must be last in that stay undecided."""
        self._ledger.part_ends = self._ledger.call_policy.waits_for_message
        try:
            return self.finish(cut=False)
        finally:
            self._ledger.part_ends = False

    @property
    def waits_for_message(self) -> bool:
        """Whether calls of a text that has ended wait for the end of its message."""
        return len(self._ledger.waiting) > 0

    def decline_waiting(self, reason: Reason) -> list[Event]:
        """Something follows in the message after the calls that wait for its end."""
        self._ledger.decline_waiting(reason)
        return self._events()

    def release(self) -> list[Event]:
        """No more can be held: what is undecided is text, a call that is open stays so, and reading begins anew.

        A call that waits for its first value alone is one from here on, and is read on.
        """
        call = self._ledger.current if self.inside else None
        if call is not None and call.held_to_value and call.has_parameter:
            self._ledger.take_value(call)
            if call.index is not None:
                return self._events()
        self._ledger.releasing = True
        try:
            return self.finish(cut=True)
        finally:
            self._ledger.releasing = False

    def reasons_elsewhere(self) -> None:
        """The reply has its reasoning in a field of its own, so the text did not begin inside it."""
        self.unopened.likely = False
        self._position.leave_reasoning()
        self._passing.rest(idle=self._passing.idle)

    def end_paragraph(self) -> None:
        """A native call comes after the text so far, all of which is decided."""
        self._position.end_paragraph()
        self._passing.rest(idle=self._passing.idle)

    def next_block(self) -> Position:
        """Where another text block of the same message would begin, after the text so far."""
        undecided = self._only_call.before_end if self._only_call is not None and self.waits_for_message else None
        place = (undecided or self._position).copy()
        place.next_block()
        return place

    def add_native(self, name: str, arguments: str) -> None:
        """The reply carries this call natively; a text call that is the same is declined (condition 6)."""
        self._ledger.natives.add(name, arguments)

    def stands_behind_native(self) -> None:
        """What follows stands behind a native call of the reply."""
        self._attempts.beside_native = True
        if self._only_call is not None:
            self._only_call.beside_native = True

    def _probe(self, text: str, place: Position) -> list[Event]:
        """What a text that is all here would become if every call counted that this reader's policy may take."""
        call_policy = self._ledger.call_policy
        route = replace(call_policy.route, take=TAKE["lenient"])
        reader = Reader(replace(call_policy, route=route, open_calls=False), tools=self._tools, place=place)
        return [*reader.feed(text), *reader.finish(cut=False)]

    def _events(self) -> list[Event]:
        self._ledger.pause()
        out, self._ledger.text.out = self._ledger.text.out, []
        return out

    def _read(self) -> Generator[None]:
        scan, ledger, place, wrappers, between = self._scan, self._ledger, self._place, self._wrappers, self._between
        behind_call = orphan = False
        while True:
            found = (yield from between.separator(orphan=orphan)) if behind_call or orphan else None
            opener = yield from between.text(found)
            if opener is None:
                ledger.finish()
                return
            behind_call = orphan = False
            if wrappers.held is not None and not (isinstance(opener, Opener) and opener.dialects):
                wrappers.show(ledger)
                continue
            if isinstance(opener, LookAlike) or (opener.dialects and between.has_too_many):
                yield from between.unread()
                return
            if opener.dialects and may_be_reasoning(opener.literal) and (yield from self._is_reasoning(opener)):
                if wrappers.held is not None:
                    wrappers.show(ledger)
                candidate = Candidate.of_text(opener.dialects[0].name, "reasoning", ledger.text.at)
                scan.take(opener.stray + len(opener.literal))
                ledger.no_call(candidate)
                place.message_start = False
            elif is_closer(opener.literal) and not (
                (place.marks_left and opener.dialects) or self.unopened.closes_frame(opener)
            ):
                orphan = between.reasoning_closer(opener)
            elif opener.literal.startswith(MODULE) and self._position.follows(_LETTER):
                scan.take(len(MODULE))  # the end of a longer word: that is looked for nowhere
                ledger.show()
            elif opener.dialects:
                behind_call = yield from self._calls(opener)
                orphan = wrappers.held is not None
            elif opener.literal in wrappers.tags and self._position.reason() is None:
                wrappers.hold(scan, ledger, opener.literal)
                orphan = True
            elif opener.literal in wrappers.closers:
                quoted = self._position.reason() is not None
                behind_call = wrappers.close(scan, ledger, opener.literal, quoted=quoted)
                self._look_for(results=self._results)
            elif opener.literal in wrappers.tags:
                scan.take(len(opener.literal))
                ledger.show()
            else:
                yield from between.invented_result(opener)

    def _calls(self, opener: Opener) -> Generator[None, None, bool]:
        """What dialects may begin with stands here. Returns whether white space that follows comes after a call."""
        yield from self.unopened.ends_message(opener)
        if self.unopened.closed_nothing and not self._place.marks_left:
            self._place.in_template = True  # all before it was a message of thoughts
        yield from self.unopened.wait(opener, anywhere=self._anywhere)
        if self._only_call is not None:
            yield from self._only_call.wait(opener, message_start=self._place.message_start)
        self.inside = True
        closers = self._wrappers.closers
        behind_call = yield from self._attempts.read(opener)
        self.inside = False
        self._ledger.refused = None
        self._ledger.close()
        if (behind_call and not self._results) or closers != self._wrappers.closers:
            self._look_for(results=behind_call or self._results)
        return behind_call

    def _is_reasoning(self, opener: Opener) -> Generator[None, None, bool]:
        """Whether the tag that the text goes on with opens reasoning, where a tool has the same name."""
        if self._position.reason() is not None:
            return False
        return (yield from is_reasoning(self._scan, opener.literal, opener.stray, self._tools))
