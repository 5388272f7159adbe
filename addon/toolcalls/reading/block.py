"""One block of calls while a grammar reads it: what it reports of its calls and of its frame (`shapes.CallSink`).

The reader opens a block at an opener and closes it when the grammar is done. The ledger decides what becomes of the
text and the calls in between.
"""

from toolcalls.events import Reason, Repair
from toolcalls.reading.candidate import Candidate
from toolcalls.reading.consumed import Fate
from toolcalls.reading.ledger import Ledger
from toolcalls.reading.strength import OpenedKeys, Shown

# Why a call is declined that is one call too many.
_SURPLUS: frozenset[Reason | None] = frozenset({"multiple_calls", "max_calls"})


class Quoted(Exception):
    """A call began inside quoted text, whose extent the Markdown around it decides and not the grammar."""


class Block:
    """A `CallSink` for one run of a grammar.

    framed        the grammar reported something of a frame
    marks_left    it found a frame where no message of its template can be: with what is in it, that stays text
    open_wrapper  the closing tags of the wrapper that it left open, () where it read one, None where it has none
    """

    def __init__(
        self,
        ledger: Ledger,
        dialect: str,
        place: Reason | None,
        *,
        whole_message: bool,
        whole_call: bool,
        begins_line: bool,
        asked: tuple[Shown, ...],
        refused: Reason | None,
        frames: bool,
        respelt_element: bool,
    ) -> None:
        """`place` is what speaks against a call here, None for nothing.

        asked           what its calls must show, by the strength of the dialect's sign
        refused         what that sign lacks; None for nothing
        frames          a message of a template may begin here
        respelt_element  it is an element whose name is no declared one: as any markup may be, so its calls must have a
                        declared parameter under every policy

        begins_line     only white space comes before it on its line, or a message's frame right before it
        whole_call      its calls count only when they are complete
        whole_message   its calls count only when they are complete and, but under `lenient`, nothing but white space
                        and calls follows them
        """
        ledger.open(quoted=place not in {None, "inline", "escaped", "beside_native"})
        self.framed = self.marks_left = False
        self.open_wrapper: tuple[str, ...] | None = None
        self._ledger = ledger
        self._call_policy = ledger.call_policy
        self._dialect = dialect
        self._place = place
        self._whole_message = whole_message
        self._whole_call = whole_call
        self._begins_line = begins_line
        self._asked: tuple[Shown, ...] = (*asked, "required", "own") if respelt_element else asked
        self._refused = refused
        self._frames = frames
        self._first: Candidate | None = None
        self._start = (
            ledger.text.at
        )  # where the next candidate starts: the block's opener, or the end of the call before

    # What the reader asks and says

    @property
    def has_call(self) -> bool:
        """Whether a call began in it."""
        return self._first is not None

    @property
    def first_call(self) -> Candidate | None:
        """The first of its calls."""
        return self._first

    @property
    def call_complete(self) -> bool:
        """Whether its latest call is complete, and nothing speaks against it so far."""
        current = self._ledger.current
        return current is not None and current.complete and current.reason is None

    def trim(self) -> None:
        """What the grammar consumed after its last call is not the block's: it is read again."""
        self._ledger.text.rewind(self._start)

    def give_back(self) -> None:
        """The grammar found no call: what it consumed is to be read again, unless it was too much to hold."""
        if self._ledger.overflows():
            self._ledger.spill()
        if not self._ledger.spilled:
            self._ledger.text.rewind(self._start)

    def stop(self) -> None:
        """The grammar reads no further, since it keeps too much."""
        current = self._ledger.current
        if current is not None and current.reason is None:
            self._ledger.exceed(current, "max_call_chars")

    def close(self, *, own: bool) -> bool:
        """The grammar is done. `own`: what it consumed after the last call belongs to the block.

        Returns whether white space that follows comes after a call and may go with it.
        """
        ledger = self._ledger
        candidate = ledger.current
        if candidate is None:
            return False
        if not candidate.complete and candidate.reason is None:
            self._break_off(candidate)
        elif candidate.complete and own:
            self._take_closer(self._first or candidate, candidate)
        elif candidate.complete:
            ledger.text.rewind(self._start)
        elif candidate.index is not None and ledger.text.fate is not Fate.SHOWN:
            ledger.text.take()  # broken: what it consumed up to here was still the call's
        if candidate.reason is not None and not (candidate.waits and candidate.complete):
            ledger.show()
            candidate.end = max(candidate.end, ledger.text.at) if not candidate.complete else candidate.end
            ledger.shown_payload(complete=candidate.complete)
        if not candidate.waits:
            ledger.judge(candidate)
        ledger.current = None
        return candidate.complete and (candidate.reason is None or candidate.waits)

    def close_frame(self, *, own: bool) -> None:
        """The grammar is done with a frame in which no call stood. `own`: what it consumed last is frame too."""
        if own:
            self.mark_frame()
        else:
            self._ledger.text.rewind(self._start)
        if not self._ledger.waiting:
            self._ledger.show()

    # Calls (`shapes.CallSink`)

    def expect(self, name: str) -> None:
        if self._declines(self._ledger.tools.resolve(name), None, self._start) is None:
            self._ledger.expect()

    def begin(self, name: str, refused: Reason | None = None) -> str:
        tool = self._ledger.tools.resolve(name)
        self._begin(tool, refused, respelt=tool != name.strip() and tool in self._ledger.tools)
        return tool

    def _begin(self, name: str, refused: Reason | None, *, respelt: bool) -> None:
        ledger = self._ledger
        if ledger.overflows():  # first of all, as though it had come in pieces: what is shown is no payload yet
            ledger.spill()
        if ledger.current is not None and ledger.current.held_to_value:
            ledger.take_value(ledger.current)
        if ledger.current is not None and not ledger.current.waits:
            ledger.judge(ledger.current)
        candidate = Candidate(self._dialect, name or None, self._start, ledger.limits.max_depth)
        candidate.body = ledger.text.at
        candidate.whole_message = self._whole_message
        last = ledger.ends_message or (self._call_policy.takes_only_calls and self._call_policy.invented(name))
        candidate.asked = self._asked
        last = last or "last" in self._asked
        candidate.must_be_last = last or (self._whole_message and not self._call_policy.takes("inline"))
        candidate.in_fence = ledger.in_fence
        candidate.values = None if ledger.values is None else ledger.values.of_call(name, "")
        held = self._whole_message or self._whole_call or self._call_policy.waits(self._place)
        candidate.held_to_end = held or last or "complete" in self._asked
        if "required" in self._asked:
            candidate.opened = OpenedKeys()
            candidate.required = frozenset(ledger.tools.required(name))
            candidate.declared = frozenset(ledger.tools.keys(name))
        ledger.current = candidate
        ledger.limits.reset()
        if respelt:
            candidate.repairs.append("name")
        self._first = self._first or candidate
        candidate.reason = self._declines(name, refused, candidate.start)
        if candidate.reason == "undeclared":
            candidate.nearest = ledger.tools.nearest(name)
        if candidate.reason is None:
            ledger.begin(candidate)
            return
        if candidate.reason in _SURPLUS and ledger.waiting:  # what follows is a call as well, though nobody takes it
            if self._call_policy.requires("terminal") and not ledger.quoted:
                ledger.keep_surplus(candidate)
                return
            ledger.commit_waiting(beside=True)
        ledger.show()
        if ledger.quoted:
            raise Quoted

    def piece(self, json: str) -> None:
        ledger = self._ledger
        candidate = ledger.current
        ledger.limits.reported_at = ledger.text.at
        if candidate is None or candidate.reason is not None:
            return
        if candidate.opened is not None:
            candidate.opened.feed(json)
        limit = ledger.limits.add(candidate, json)
        if candidate.held_to_value and candidate.has_value:
            ledger.take_value(candidate)
        if limit is not None:
            ledger.exceed(candidate, limit)

    def collect(self, size: int) -> bool:
        ledger = self._ledger
        candidate = ledger.current
        ledger.limits.reported_at = ledger.text.at
        if candidate is None or candidate.reason is not None:
            return False
        limit = ledger.limits.collect(candidate, size)
        if limit is not None:
            ledger.exceed(candidate, limit)
        return candidate.reason is None

    def end(self) -> None:
        ledger = self._ledger
        candidate = ledger.current
        ledger.limits.reset()
        if candidate is None:
            return
        if candidate.reason is not None and candidate.index is not None:  # it stays open
            if ledger.text.fate is Fate.SHOWN:  # past a limit its text is shown
                ledger.show()
            else:
                ledger.text.take()
                candidate.end = ledger.text.at
        else:
            ledger.complete(candidate)
        self._hold()

    def fail(self) -> None:
        ledger = self._ledger
        candidate = ledger.current
        if candidate is None or candidate.reason is not None:
            return
        candidate.reason = "bad_arguments"
        candidate.broke = ledger.text.broke(candidate.start)
        if candidate.index is not None:  # it stays open, as if it were cut off
            ledger.leave_open(candidate)
            return
        if ledger.overflows():
            candidate.reason = "overflow"
        if candidate.echoes_to_limit():
            candidate.reason = "echo"
        ledger.abandon(candidate)
        ledger.show()

    def note_repair(self, name: Repair) -> None:
        current = self._ledger.current
        if current is not None and name not in current.repairs:
            current.repairs.append(name)

    def leave_open(self, closers: tuple[str, ...]) -> None:
        self.open_wrapper = closers

    # The dialect's frame (`shapes.CallSink`)

    def may_remove_frame(self) -> bool:
        if not (self._call_policy.lift and self._call_policy.remove_frames) or self._ledger.quoted:
            return False
        self.marks_left = not (self._frames or self._ledger.committed or self._ledger.waiting)
        return not self.marks_left or self._begins_line

    def begins_line(self) -> bool:
        return self._begins_line

    def mark_frame(self) -> None:
        if self.marks_left:
            self.mark_text()
            return
        # After a call that waits it goes with the call, or stays.
        self.framed = self._ledger.text.unframed = True
        if self._ledger.waiting and self._ledger.overflows():
            self._ledger.spill()
        if not self._ledger.waiting:
            self._ledger.text.take()
        self._hold()

    def mark_text(self) -> None:
        self.framed = True
        self._ledger.show()
        self._hold()

    def mark_reasoning(self) -> None:
        if self.marks_left:
            self.mark_text()
            return
        self.framed = True
        if self._ledger.waiting:  # reasoning after a call that counts only at the end: then it was none
            self._ledger.decline_waiting("not_terminal", self._start - self._ledger.text.drained)
        self._ledger.text.take_reasoning()
        self._hold()

    def _hold(self) -> None:
        """What follows is undecided."""
        self._ledger.text.hold()
        self._start = self._ledger.text.at

    def _declines(self, name: str, refused: Reason | None, start: int) -> Reason | None:
        """Why a call of this name is declined, as far as is known at its commit point; None if it is not."""
        ledger, route = self._ledger, self._call_policy.route
        takes_refused = refused is not None and "own" not in self._asked and self._call_policy.takes(refused)
        refused = None if takes_refused else refused
        if not name and refused is None:
            return "not_a_call"
        reason = (self._call_policy.declines(name, self._place) if name else None) or refused or self._refused
        if (
            reason is None
            and name not in ledger.tools
            and self._call_policy.invented(name)
            and ledger.tools.nearest(name)
        ):
            reason = "undeclared"  # a declared tool was meant, and which one is not guessed
        if reason is None and start < ledger.reasoning_end:
            reason = "reasoning"
        if reason is not None or ledger.refused is not None:
            return reason or ledger.refused
        count = ledger.committed + len(ledger.waiting)
        if count and route.multiple_calls is False:
            return "multiple_calls"
        if count >= route.max_calls:
            return "max_calls"
        return "overflow" if ledger.spilled else None

    def _break_off(self, candidate: Candidate) -> None:
        """The text ended inside a call. One that was committed stays open (law 6); one that waits is text."""
        ledger = self._ledger
        if candidate.held_to_value and candidate.opened is None:
            ledger.take_value(candidate)
        candidate.reason = "overflow" if ledger.releasing else "cut_off" if ledger.scan.cut else "unclosed"
        if candidate.echoes_to_limit():
            candidate.reason = "echo"
        candidate.end = ledger.text.at
        candidate.broke = ledger.text.broke(candidate.start)
        if candidate.index is not None:
            ledger.text.take()
            ledger.leave_open(candidate)
            return
        ledger.abandon(candidate)
        if self._call_policy.takes("inline") and not ledger.scan.cut:
            # Its opener may have been a mention, and a real call may come after it.
            ledger.text.rewind(candidate.body)
            candidate.end = ledger.text.at

    def _take_closer(self, first: Candidate, last: Candidate) -> None:
        """A block's closer is taken when the calls at both of its ends are, and a wrapper's when its opener is gone.

        Of a call that broke after it had left, the text was taken too.
        """
        opened = first.reason is None or (first.reason == "bad_arguments" and first.index is not None)
        wrapper_gone = self.open_wrapper == () and first.index is not None and self._call_policy.remove_frames
        if wrapper_gone and last.reason is not None:
            self._ledger.text.take()
            self._ledger.text.hold()
            return
        if (last.reason is not None and not last.waits) or not (opened or last.waits):
            self._ledger.show()
        elif last.index is not None:
            self._ledger.text.take()
        if last.reason is not None or opened:
            last.end = self._ledger.text.at
        self._ledger.text.hold()
