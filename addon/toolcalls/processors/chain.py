"""One lane's processors: what leaves of it, and in which order.

Events wait in a queue after the first call that is undecided (`decisions`). Text that leaves is searched for repeated
passages and goes through the filters; texts of our own are inserted where they belong.
"""

from collections import deque
from collections.abc import Callable, Sequence

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Removed, Text, Verdict, Withdrawn
from toolcalls.processors.decisions import CallDecisions
from toolcalls.processors.filters import Filters
from toolcalls.processors.interface import Left
from toolcalls.processors.loops import Loop
from toolcalls.processors.pending_call import PendingCall
from toolcalls.processors.reply_state import ReplyState
from toolcalls.processors.steering import TextInserter, notice


class Chain:
    """One lane's processors (`Processing`).

    silent   the text from here on is taken away
    mark     adds to the verdict of a native call what happened to it before; takes the index that it came with
    """

    def __init__(self, state: ReplyState) -> None:
        of = state.processors
        route = of.route
        self._state = state
        self._loops = of.loops
        self._loops_act = of.loops is not None and of.loops.acts
        self._text_loops = state.text_loops
        self._filters = Filters(route.filters, state.replaced, state.disabled, of.work) if route.filters else None
        self._notices = route.steering == "request"
        self._inserter = TextInserter(state.inserted)
        self.mark: Callable[[int, Verdict], Verdict] = _unmarked
        self.silent = state.silent
        self._as_text = state.as_text
        self._direct = not (state.whole or state.as_text)  # a call's markup goes, whatever becomes of the call
        self._alone = False  # only the beginning of a call is in the queue, whose pieces wait with it
        self._markup: list[str] = []  # what came since of its markup, where that waits, too
        self._decisions = CallDecisions(state, self._filters)
        self._calls = self._decisions.calls
        self._queue: deque[tuple[bool, Event, PendingCall | None]] = deque()
        self._lead: Markup | None = None  # what comes before a call, if one begins after it
        self._reading: PendingCall | None = None  # the call whose text is being read, up to its verdict
        self._out: list[Left] = []

    def is_stopped(self) -> bool:
        return bool(self._state.stopped_by)

    # Text that just passes

    def quiet(self, piece: str) -> bool:
        if self._queue or self.silent or not self._inserter.quiet:
            return False
        if self._loops_act and not self._state.repeats_nothing(self, piece):
            return False
        return self._filters is None or self._filters.quiet(piece)

    def passed(self, piece: str) -> bool:
        self._inserter.shown(piece)
        if self._filters is not None:
            self._filters.passed(piece)
        if self._text_loops is not None and self._state.repeats(self, piece) is not None:
            self._decisions.note(self._text_loops.loop)
        return True

    def streams(self, piece: CallPiece) -> bool:
        return not self._queue and self._decisions.streams(piece, native=False)

    def held(self, markup: Markup, piece: CallPiece) -> list[Left] | None:
        head = self._queue[0][2] if self._queue and self._alone else None
        if head is None:
            return None
        self._held_alone(markup, None, head)
        self._decisions.add_piece(head, piece)
        self._held_alone(piece, head, head)
        return self._taken_out()

    def passes_piece(self, piece: CallPiece) -> bool:
        return not self._queue and self._decisions.streams(piece, native=True)

    # In

    def read(self, events: Sequence[Event]) -> list[Left]:
        for event in events:
            self._receive(event, native=False)
        return self._taken_out()

    def native(self, event: CallStart | CallPiece | CallEnd) -> list[Left]:
        self._receive(event, native=True)
        return self._taken_out()

    def release(self) -> list[Left]:
        """No more can be held: what a rule or a reactor that may block has not decided is blocked, the rest passes."""
        self._decisions.release()
        self._send_decided()
        return self._taken_out()

    def finish(self, *, cut: bool) -> list[Left]:
        """Nothing follows: everything is decided now. `cut`: what is not whole was cut off, and may have been sound."""
        decisions = self._decisions
        decisions.finish(cut=cut)
        self._send_decided()
        self._flush()
        for text in decisions.late_texts:
            self._insert(text)
        for call in self._calls.values():
            if call.native and call.state == "dropped" and not call.reported:
                call.reported = True
                verdict = call.annotated(Verdict("blocked", None, None, call.start.name, 0, 0))
                self._out.append(self.mark(call.start.index, verdict))
        self._out.extend(decisions.notes)
        decisions.notes.clear()
        return self._taken_out()

    @property
    def adds_at_end(self) -> bool:
        return bool(self._decisions.late_texts)

    def judged(self, index: int, verdict: Verdict) -> Verdict:
        call = self._calls.get((True, index))
        return verdict if call is None else call.annotated(verdict)

    def block_unsent(self, loop: Loop, *, but: PendingCall) -> None:
        """The reply was stopped: no call leaves that has not begun to."""
        self._decisions.block_unsent(loop, but=but)

    def _receive(self, event: Event, *, native: bool) -> None:
        decisions, call = self._decisions, None
        if isinstance(event, CallStart):
            call = decisions.begin(event, native=native)
        elif isinstance(event, CallPiece):
            call = self._calls[native, event.index]
            decisions.add_piece(call, event)
        elif isinstance(event, CallEnd):
            call = self._calls[native, event.index]
            decisions.end(call)
        elif isinstance(event, Verdict) and event.index is not None:
            call = self._calls[native, event.index]
            if call.state == "undecided":
                decisions.break_off(call)
        queue = self._queue
        if queue and self._alone and self._held_alone(event, call, queue[0][2]):
            return
        self._alone = not native and not queue and isinstance(event, CallStart)
        queue.append((native, event, call))
        self._send_decided()
        if self._alone and self._direct and queue:  # what comes before a call whose state is open is decided
            self._flush()
            self._flush_lead()

    def _held_alone(self, event: Event, call: PendingCall | None, head: PendingCall | None) -> bool:
        """The next event of the only call in the queue: its pieces wait with its beginning, its markup may, too."""
        if isinstance(event, Markup):
            if self._direct:
                self._out.append(event)
            else:
                self._markup.append(event.text)
            return True
        if isinstance(event, CallPiece) and call is head and call is not None:
            call.unsent.append(event.json)
            if call.state != "undecided":
                self._send_decided()
            return True
        return False

    # Out

    def _taken_out(self) -> list[Left]:
        if not self._queue:
            self._flush_lead()
        out, self._out = self._out, []
        return out

    def _send_decided(self) -> None:
        """Let out what comes after no call whose state is open."""
        queue = self._queue
        while queue:
            native, event, call = queue[0]
            if call is not None and call.state == "undecided":
                return
            queue.popleft()
            if isinstance(event, CallStart) and call is not None:
                self._flush()
                self._send_call_event(call, event, native=native)
                if self._markup:
                    queue.appendleft((False, Markup("".join(self._markup)), None))
                    self._markup.clear()
                continue
            self._flush_lead()
            if isinstance(event, Markup):
                self._flush()
                self._lead = event
                if self._reading is not None and self._reading.state in {"dropped", "broken_off"}:
                    self._flush_lead(dropped=True)
            elif isinstance(event, Text):
                self._text(event)
            elif isinstance(event, Verdict):
                self._reading = None if call is self._reading else self._reading
                self._out.append(event if call is None else call.annotated(event))
            elif call is None:
                self._flush()
                self._out.append(event)
            else:
                self._send_call_event(call, event, native=native)

    def _flush_lead(self, *, dropped: bool = False) -> None:
        """Send the latest markup. `dropped`: its call is not sent."""
        if self._lead is not None:
            self._out.append(Removed(self._lead.text) if dropped else self._lead)
            if self._as_text and not dropped:
                self._inserter.shown(self._lead.text)
            self._lead = None

    def _send_call_event(self, call: PendingCall, event: Event, *, native: bool) -> None:
        """One event of a call whose state is known."""
        out: list[Event | str] = []
        if isinstance(event, CallStart):
            call.begun = True
            texts = call.texts
            if native and self._state.whole:
                self._decisions.late_texts.extend(texts)
                texts = []
            inserted = [text for text in map(self._inserter.insert, texts) if text]
            if call.state == "passed":
                self._out.extend(() if native else inserted)
                out = [*(inserted if native else ()), event]
                if call.unsent:
                    out.append(CallPiece(event.index, "".join(call.unsent)))
            else:
                out = [
                    *([Withdrawn(call.start.index)] if native or self._as_text else []),
                    *inserted,
                    *(call.replacement_events() if call.state == "replaced" else ()),
                ]
            self._flush_lead(dropped=call.state == "dropped" and not native)
            self._reading = self._reading if native else call
        elif call.state == "passed":
            out.append(event)
        elif isinstance(event, CallPiece) and (native or (self._as_text and call.state == "broken_off")):
            out.append(Withdrawn(call.start.index))
        if native:
            self._out.append(tuple(out))
        else:
            self._out.extend(out)

    def _text(self, event: Text) -> None:
        text = event.text
        if self.silent:
            self._out.append(Removed(text))
            return
        at = self._state.repeats(self, text) if self._text_loops is not None else None
        if at is not None and self._text_loops is not None:
            loop = self._text_loops.loop
            self._decisions.note(loop)
            if self._loops_act and self._loops is not None:
                self._show(text[:at])
                self._flush()
                self._insert(notice(loop.what) if self._notices else self._loops.text.replace("{what}", loop.text))
                if self._loops.action == "stop":
                    self._state.stop(loop, silence=True)
                else:
                    self._state.silence()
                if text[at:]:
                    self._out.append(Removed(text[at:]))
                return
        self._show(text)

    def _show(self, text: str) -> None:
        """Text of the model's, through the filters."""
        if not text:
            return
        apart = self._inserter.separator(text)
        if apart:
            self._out.append(apart)
        shown: list[Event | str] = [Text(text)] if self._filters is None else self._filters.feed(text)
        self._send(shown)

    def _flush(self) -> None:
        if self._filters is not None:
            self._send(self._filters.flush())

    def _send(self, outcomes: Sequence[Event | str]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Text | str):
                self._inserter.shown(outcome if isinstance(outcome, str) else outcome.text)
            self._out.append(outcome)

    def _insert(self, text: str) -> None:
        inserted = self._inserter.insert(text)
        if inserted:
            self._out.append(inserted)


def _unmarked(_: int, verdict: Verdict) -> Verdict:
    return verdict
