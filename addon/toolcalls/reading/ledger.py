"""What becomes of the text that grammars consume, and of the calls in it: the reader's book-keeping.

The text leaves as `consumed.py` has it; calls and verdicts come out in their place between it.

A call is committed as soon as its name and place are known to be good, and streams from there. Some calls must be
complete first. Such a call waits, with its text HELD: under `strict`, at a place that only `lenient` reads, where the
text so far repeats the request (the echo condition), and where the reply carries a native call of that name (the
duplicate one).
"""

from toolcalls.events import CallEnd, CallPiece, CallStart, Reason, Verdict
from toolcalls.reading.candidate import Candidate
from toolcalls.reading.consumed import Consumed, Fate
from toolcalls.reading.limits import CallLimits
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.waiting_calls import WaitingCalls
from toolcalls.text.markdown import Position
from toolcalls.text.scanner import Scanner
from toolcalls.values.call_index import CallIndex
from toolcalls.values.conversion import escape
from toolcalls.values.tool_values import ToolValues
from toolcalls.values.toolbox import Toolbox


class Ledger:
    """Keeps the books of one reply's text. The reader drives it, and grammars report to it through a `Block`.

    scan         the unread text and what was consumed of it, the reader's own
    call_policy  what the route and the request say
    text         what was consumed, and the events that the reader has not fetched yet
    natives      the native calls of the reply
    waiting      the calls that wait to be decided; while one does, no text may leave
    limits       what a call may come to
    tools        the tools that are declared
    values       what mends the values of calls; None for nothing
    current      the call that is being read, or was read last in its block; None for none
    quoted       the block that is being read is in quoted text
    judged       candidates that have their verdict
    committed    calls that were emitted
    spilled      held text of this block was shown at the limit for held text
    releasing    no more may be held, though more text may come
    part_ends    the text that ends is a part of a message, of which more may follow
    ends_message  the calls that are read now count where nothing but calls follows them in their message
    in_fence     the call that is read now is in a fence, and of the text only the fence's end comes after it
    reasoning_end  a call that begins in front of this place is reasoning
    refused      why no call of the block is one; None for nothing
    """

    def __init__(
        self,
        scan: Scanner,
        call_policy: CallPolicy,
        tools: Toolbox,
        position: Position,
        values: ToolValues | None = None,
    ) -> None:
        self.text = Consumed(scan, position)
        self.natives = CallIndex(tools)
        route = call_policy.route
        self.limits = CallLimits(route.max_call_chars, route.max_depth, route.max_buffer_bytes)
        self.waiting = WaitingCalls(call_policy, tools, self.natives, self.limits)
        self.current: Candidate | None = None
        self.quoted = False
        self.judged = self.committed = 0
        self.spilled = self.releasing = self.part_ends = self.ends_message = self.in_fence = False
        self.reasoning_end = 0
        self.refused: Reason | None = None
        self.scan = scan
        self.call_policy = call_policy
        self._half = self.limits.half
        self.tools = tools
        self.values = values

    # Text

    def show(self) -> None:
        """What was consumed is text; calls that wait in it are none."""
        if self.waiting.in_fence:
            self.text.hold()  # it is the fence's end
        elif self.waiting:
            self.decline_waiting("overflow" if self.overflows() else "not_terminal")
        else:
            self.text.fate = Fate.SHOWN
            self._drain()

    def streams(self, piece: str) -> CallPiece | None:
        """What a piece that is all string argument is to the call, None where it cannot leave as it comes."""
        candidate, text = self.current, self.text
        if candidate is None or candidate.index is None or text.fate is not Fate.TAKEN:
            return None
        made = escape(piece)
        size = candidate.size + len(made)
        if size > self._half:
            return None
        values = candidate.values
        if values is not None and values.holds:
            return None
        if "\n" in piece:
            text.count_lines(piece)
        text.drained += len(piece)
        self.scan.streamed += len(piece)
        candidate.size = size
        if values is not None:
            made = candidate.mended(made, values)
        return CallPiece(candidate.index, made)

    def at_once(self, text: str, start: int) -> int:
        """How many characters of `text` are to be read at once, from `start` on (`CallLimits.at_once`)."""
        candidate = self.current
        if candidate is not None and (candidate.reason is not None or candidate.complete):
            candidate = None
        return self.limits.at_once(text, start, candidate, self.text.at, self.scan.held_weight())

    def pause(self) -> None:
        """A piece has been read to its end: let out what is decided, look at what is held."""
        if self.text.fate is Fate.SHOWN:
            self._drain()
        elif self.text.fate is Fate.TAKEN:
            self.text.drain()
            if self.current is not None:
                self.flush(self.current)
        elif self.current is not None and self.current.may_echo:
            self._compare_again(self.current)
        elif self.overflows():
            self.spill()

    def finish(self) -> None:
        """The text has ended, and all of it was consumed."""
        if self.text.fate is not Fate.HELD:
            self._drain()
        elif self.releasing or self.overflows():
            self.decline_waiting("overflow")
        elif self.waiting and self.scan.cut:
            self.decline_waiting("cut_off")
        elif self.waiting and self.part_ends:
            return  # what other parts of the message hold decides
        elif self.waiting.in_fence:
            self.commit_waiting(beside=True)
            self.show()  # the fence's end
        else:
            self.commit_waiting()
            self.text.take()  # white space after the last call
        if not self.releasing:
            self.text.shown.end(cut=self.scan.cut)
            self.text.out.extend(self.text.shown.verdicts())

    # Blocks

    def open(self, *, quoted: bool) -> None:
        """A block of calls begins here."""
        if self.waiting and self.overflows():
            self.decline_waiting("overflow")
        self.limits.reported_at = self.text.at
        self.quoted = quoted
        self.spilled = False
        self.waiting.expect(False)
        self.text.hold()

    def close(self) -> None:
        """The block is over."""
        self.spilled = False
        self.waiting.expect(False)

    def shown_payload(self, *, complete: bool) -> None:
        """A declined block was shown up to here (`Consumed.end_payload`). What is quoted is no payload."""
        if not self.quoted:
            self.text.end_payload(complete=complete)

    def no_call(self, candidate: Candidate) -> None:
        """The text from the candidate's start to here began as an opener and is no call."""
        if self.releasing and candidate.reason == "cut_off":
            candidate.reason = "overflow"
        candidate.end = self.text.at
        self.show()
        self.judge(candidate)

    # Tool results that the model invents after its calls

    def invents(self, *, drop: bool) -> None:
        """What was consumed is part of an invented result. `drop`: it is not shown."""
        if drop and not self.waiting:
            self.text.take()
        else:
            self.show()

    def end_invented(self, start: int, *, drop: bool) -> None:
        """The invented result that began at `start` ends here."""
        self.invents(drop=drop)
        self.text.fate = Fate.SHOWN
        reason: Reason = "dropped_result" if drop else "invented_result"
        self.text.out.append(Verdict("declined", reason, None, None, start, self.text.at))

    # Calls

    def expect(self) -> None:
        """What is held is a call, as far as is known, and begins when all of it has been read."""
        self.waiting.expect(True)

    def begin(self, candidate: Candidate) -> None:
        """A call begins, against which nothing speaks so far."""
        self.waiting.begin(candidate, self.scan, candidate.start - self.text.drained)

    def keep_surplus(self, candidate: Candidate) -> None:
        """A call begins that is one too many. It is text, but does not part the calls that wait from their end."""
        self.waiting.add(candidate)
        candidate.held_to_value = False

    def take_value(self, candidate: Candidate) -> None:
        """The first value of a call's arguments has begun, or the call will not be read any further."""
        candidate.held_to_value = False
        candidate.opened = None
        if candidate.waits and not self.waiting.must_wait(candidate):
            self.commit_waiting()

    def complete(self, candidate: Candidate) -> None:
        """Every argument of a call is closed."""
        candidate.complete = True
        candidate.held_to_value = False
        candidate.end = self.text.at
        if candidate.waits and candidate.reason is None:
            reason = self.waiting.declines(candidate, overflows=self.overflows)
            if reason is not None:
                self.decline_waiting(reason)
            elif not self.waiting.waits_for_others(candidate):
                self.commit_waiting()
        elif candidate.index is not None:
            self.text.take()
            self.flush(candidate)
            self.text.out.append(CallEnd(candidate.index))
        elif not candidate.waits:
            self.show()

    def exceed(self, candidate: Candidate, limit: Reason) -> None:
        """A call exceeds a limit. If it was committed, it stays open, and the rest of its text is shown."""
        self.limits.reset()
        if candidate.index is None:
            self.decline_waiting(limit)
            return
        self.text.take()
        self.leave_open(candidate)
        candidate.reason = limit
        candidate.end = self.text.at
        self.text.fate = Fate.SHOWN

    def abandon(self, candidate: Candidate) -> None:
        """A call that waits will never be complete."""
        self.waiting.remove(candidate)
        if self.call_policy.emits_incomplete(candidate.dialect):
            self._emit_incomplete(candidate)

    def decline_waiting(self, reason: Reason, size: int | None = None) -> None:
        """The calls that wait are none, and what was consumed, or the first `size` characters of it, is text."""
        for candidate in (waiting := self.waiting.release()):
            candidate.reason = candidate.reason or reason
        self.text.fate = Fate.SHOWN
        self._drain(size)
        for candidate in waiting:
            if candidate is not self.current:
                self.judge(candidate)

    def commit_waiting(self, *, beside: bool = False) -> None:
        """The calls that wait are calls. `beside`: what was consumed after the last one is not its own."""
        for candidate in (waiting := self.waiting.release()):
            end = None if candidate is waiting[-1] and not beside else candidate.end
            if candidate.reason is not None:  # one too many
                self.text.fate = Fate.SHOWN
                self._drain(None if end is None else end - self.text.drained)
                self.text.end_payload(complete=True)
            else:  # Each call has its own markup before it: a round trip tells by it what was in which dialect.
                self._start(candidate, end)
            if candidate.index is not None and candidate.complete:
                self.text.out.append(CallEnd(candidate.index))
            if candidate is not self.current:
                self.judge(candidate)
        if beside:
            self.text.hold()

    def flush(self, candidate: Candidate) -> None:
        """Emit the argument JSON that a committed call has collected. The `}` that closes it waits for the end."""
        if candidate.index is None:
            return
        collected = "".join(candidate.pieces)
        candidate.pieces.clear()
        if not (candidate.complete or self.call_policy.emit_incomplete) and candidate.nesting.depth == 0:
            at = collected.rfind("}")
            if at >= 0:
                candidate.pieces.append(collected[at:])
                collected = collected[:at]
        if candidate.values is not None:
            collected = candidate.mended(collected, candidate.values)
        if collected:
            self.text.out.append(CallPiece(candidate.index, collected))

    def leave_open(self, candidate: Candidate) -> None:
        """A committed call will never be complete. Where none of its arguments came, its object begins all the same:
        many clients run a call whose argument text is empty.
        """
        if not candidate.size:
            candidate.pieces.append("{")
        self.flush(candidate)
        if held := candidate.breaks():
            self.text.out.append(CallPiece(candidate.index or 0, held))

    def judge(self, candidate: Candidate) -> None:
        """Emit a call's verdict."""
        self.judged += 1
        self.text.out.extend(self.text.shown.verdicts())
        self.text.shown.judged(candidate.start, candidate.end)
        self.text.out.append(candidate.verdict())

    def stop_reading(self) -> None:
        """From here on nothing is searched for calls any more, and all is text."""
        self.text.shown.stop()
        self.text.out.append(Verdict("declined", "max_candidates", None, None, self.text.at, self.text.at))

    # The limit for held text

    def overflows(self) -> bool:
        """Whether more is held than may be. What may still be an echo is held in any case, and compared."""
        size, limit = self.scan.taken_size, self.limits.max_held
        if self.text.fate is not Fate.HELD or 4 * size <= limit or (self.current is not None and self.current.may_echo):
            return False
        return size > limit or self.scan.weight() > limit

    def spill(self) -> None:
        """Too much is held: it is text, and a call that begins after it in the same block is one no more.

        A call that waits for its first value alone need wait no longer.
        """
        if self.current is not None and self.current.held_to_value and self.current.has_parameter:
            self.take_value(self.current)
            if self.text.fate is Fate.TAKEN:
                return
        self.spilled = True
        self.decline_waiting("overflow")

    # Deciding

    def _compare_again(self, candidate: Candidate) -> None:
        """Commit a possible echo that differs from the request by now. Decline one that matches up to the limit."""
        if not candidate.echoes():
            if not self.waiting.must_wait(candidate):
                self.commit_waiting()
        elif candidate.echoes_to_limit():
            self.decline_waiting("echo")

    def _start(self, candidate: Candidate, end: int | None) -> None:
        """Commit a call: its text up to the offset `end`, or all that was consumed, is markup."""
        candidate.index = self.committed
        self.committed += 1
        self.text.fate = Fate.TAKEN
        self._drain(None if end is None else end - self.text.drained)
        self.text.out.append(CallStart(candidate.index, candidate.name or "", candidate.dialect))
        self.flush(candidate)

    def _emit_incomplete(self, candidate: Candidate) -> None:
        """Emit an incomplete call as one that has begun: its opener as markup, and its arguments so far.

        One in which no argument has begun gets none. What comes after the opener is text.
        """
        arguments = "".join(candidate.pieces)
        candidate.pieces = [arguments if arguments.strip("{ \t\r\n") else "{}"]
        candidate.values = None
        self._start(candidate, candidate.body)

    def _drain(self, size: int | None = None) -> None:
        """Emit what was consumed, or the first `size` characters of it, by its fate."""
        is_payload = self.current is not None and not self.quoted
        self.text.drain(size, is_payload=is_payload, searched=not self.spilled)
