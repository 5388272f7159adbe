"""What becomes of the text that grammars consume, and of the calls that they report: the reader's book-keeping.

Consumed text has one of three fates at any moment: HELD (undecided), SHOWN, or TAKEN (part of a call). It comes out as
`Text` and `Markup`, in order, so nothing is lost whatever happens; calls and verdicts come out between them.

A call is committed as soon as its name and place are known to be good, and streams from there. Where it must be seen
whole first it waits, with its text HELD: under `strict`, at a place that only `lenient` reads, where the text so far
repeats the request (the echo condition), and where the reply carries a native call of that name (the duplicate one).

Past 300 lines, because every fate of text is decided on the same few fields, and here only.
"""

import re
from enum import Enum, auto

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Event,
    Markup,
    Reason,
    Reasoning,
    Repair,
    Status,
    Text,
    Verdict,
)
from toolcalls.reading.policy import CallPolicy
from toolcalls.text.echo import EchoTrace
from toolcalls.text.markdown import Position
from toolcalls.text.scanner import Scanner
from toolcalls.values.call_index import CallIndex
from toolcalls.values.conversion import escape, members
from toolcalls.values.nesting import Nesting
from toolcalls.values.toolbox import Toolbox

# A character of text becomes six of JSON at most (`\u0000`), and a closing tag a few; so many are read at once as fit.
_GROWTH = 8
_AT_ONCE = 64 * 1024
_NESTS = "[{(<"  # what may open a container, in any dialect
_OPENING = re.compile(r"[\[{(<]")
# Limits at which a call that has begun to leave stays open.
_LIMITS = frozenset({"max_call_chars", "max_depth", "overflow"})


class Fate(Enum):
    """What becomes of the text that is consumed now."""

    HELD = auto()
    SHOWN = auto()
    TAKEN = auto()


class Quoted(Exception):
    """A call began inside quoted text, whose extent the Markdown around it decides and not the grammar."""


class Candidate:
    """One call that a grammar reports, from its name to its verdict."""

    __slots__ = (
        "collected",
        "compared",
        "complete",
        "dialect",
        "end",
        "index",
        "name",
        "nesting",
        "pieces",
        "reason",
        "repairs",
        "size",
        "start",
        "trace",
        "waits",
    )

    def __init__(self, dialect: str, name: str | None, start: int, nesting: Nesting) -> None:
        self.dialect = dialect
        self.name = name
        self.start = start
        self.end = start
        self.reason: Reason | None = None  # why it is no call
        self.complete = False
        self.index: int | None = None  # set when it was committed
        self.repairs: list[Repair] = []
        self.pieces: list[str] = []
        self.waits = False  # in the ledger's row of those that are undecided
        self.size = self.collected = 0  # characters of its argument JSON so far, and of what is still to become some
        self.nesting = nesting
        self.trace: EchoTrace | None = None  # it may be an echo: where the request holds its text so far
        self.compared = (0, 0)  # how many pieces of the held text the trace has seen, and their characters


class Ledger:
    """Keeps the books of one reply's text. Grammars report to it (`shapes.CallSink`), the reader drives it."""

    def __init__(self, scan: Scanner, call_policy: CallPolicy, tools: Toolbox, position: Position) -> None:
        self.out: list[Event] = []
        self.natives = CallIndex()
        self._scan = scan
        self._call_policy = call_policy
        self._tools = tools
        self._position = position
        self._fate = Fate.SHOWN
        self._most = call_policy.route.max_call_chars
        self._deepest = call_policy.route.max_depth
        self._half = self._most // 2
        # How many characters can be read at once without a look: no limit of a call is passed inside them.
        self.slack = self._calm = min(self._half // _GROWTH, self._deepest // 2)
        self.judged = 0  # candidates that have their verdict
        self.drained = 0
        self.crowded = False  # no more may be held, though more text may come
        self._committed = 0
        self._waiting: list[Candidate] = []
        # The block that is being read: where it stands, its first and its latest call.
        self._dialect = ""
        self._place: Reason | None = None
        self._first: Candidate | None = None
        self._current: Candidate | None = None
        self._spilled = False  # held text of this block was let go at the limit
        self._whole = False  # its dialect's calls count only as the whole message
        self.spoke = False  # its frame was taken away
        self._start = 0  # where the next candidate starts: the block's opener, or the end of the call before
        self._heard = 0  # where its grammar last reported anything of its arguments
        self._body = 0  # where the latest call's arguments start

    @property
    def at(self) -> int:
        """The offset in the reply's text of the first character that nobody consumed."""
        return self.drained + self._scan.taken_size

    @property
    def waits(self) -> bool:
        """Whether a call waits for what follows it, so that no text may leave before it is decided."""
        return bool(self._waiting)

    # Text

    def show(self) -> None:
        """What was consumed is text; calls that wait in it are none."""
        if self._waiting:
            self._refuse("overflow" if self._overflows() else "not_terminal")
        else:
            self._settle(Fate.SHOWN)

    def hold(self) -> None:
        """What was consumed since the last text is undecided."""
        self._fate = Fate.HELD

    def streams(self, piece: str) -> list[Event] | None:
        """The events of a piece that is all string argument, None where it cannot leave as it comes."""
        candidate = self._current
        if candidate is None or candidate.index is None or self._fate is not Fate.TAKEN:
            return None
        made = escape(piece)
        size = candidate.size + len(made)
        if size > self._half:
            return None
        self.drained += len(piece)
        candidate.size = size
        return [Markup(piece), CallPiece(candidate.index, made)]

    def _watch(self, candidate: Candidate) -> None:
        """Say how much may be read at once from now on: a lot, until a call has come half the way to a limit."""
        self.slack = self._calm
        if candidate.size + candidate.collected > self._half or candidate.nesting.depth > self._deepest // 2:
            self.slack = min(self._room(candidate))

    def _room(self, candidate: Candidate) -> tuple[int, int]:
        """How many characters, and how many that open a container, come before a limit of this call may be passed."""
        kept = max(candidate.size + candidate.collected, self.at - self._heard)
        return (self._most - kept) // _GROWTH, self._deepest - candidate.nesting.depth

    def at_once(self, text: str, start: int) -> int:
        """How many characters of a text, from `start` on, are to be read at once.

        A limit of a call is met at the same character however the text came, so where one may be passed, less is read,
        in the end one character at a time.
        """
        candidate = self._current
        size, depth = self._most // _GROWTH, self._deepest
        if candidate is not None and candidate.reason is None and not candidate.complete:
            size, depth = self._room(candidate)
        stop = min(len(text), start + max(1, min(size, _AT_ONCE)))
        if sum(text.count(sign, start, stop) for sign in _NESTS) > depth:
            for number, opening in enumerate(_OPENING.finditer(text, start, stop)):
                if number == depth:
                    return max(1, opening.start() - start)
        return stop - start

    def pause(self) -> None:
        """A piece has been read to its end: let out what is decided, look at what is held."""
        if self._fate is Fate.SHOWN:
            self._drain()
        elif self._fate is Fate.TAKEN:
            self._drain()
            if self._current is not None:
                self._flush(self._current)
        elif self._current is not None and self._current.trace is not None:
            self._look_again(self._current)
        elif self._overflows():
            self._spill()

    def finish(self) -> None:
        """The text has ended, and all of it was consumed."""
        if self._fate is not Fate.HELD:
            self._drain()
        elif self.crowded or self._overflows():
            self._refuse("overflow")
        elif self._waiting and self._scan.cut:
            self._refuse("cut_off")
        else:
            self._commit_waiting()
            self._settle(Fate.TAKEN)  # white space behind the last call

    # A block, as the reader opens and closes it

    def open(self, dialect: str, place: Reason | None, *, whole: bool) -> None:
        """A candidate of this dialect begins here. `place` is what speaks against a call here, None for nothing.

        whole   its calls count only when they are complete and, but under `lenient`, nothing but white space and calls
                follows them
        """
        if self._waiting and self._overflows():
            self._refuse("overflow")
        self._heard = self.at
        self._dialect = dialect
        self._place = place
        self._first = self._current = None
        self._start = self.at
        self._spilled = self.spoke = False
        self._whole = whole
        self._fate = Fate.HELD

    @property
    def began(self) -> bool:
        """Whether the block held a call so far."""
        return self._first is not None

    @property
    def completed(self) -> bool:
        """Whether the block's latest call is whole, and nothing speaks against it so far."""
        return self._current is not None and self._current.complete and self._current.reason is None

    def trim(self) -> None:
        """What the grammar consumed behind its last call is not its own: it is read again."""
        self._scan.rewind(self._start - self.drained)

    def give_back(self) -> None:
        """The grammar found no call: what it consumed is to be read again, unless it was too much to hold."""
        if self._overflows():
            self._spill()
        if not self._spilled:
            self._scan.rewind(self._start - self.drained)

    def no_call(self, dialect: str, reason: Reason, start: int) -> None:
        """The text from `start` to here began as an opener, most likely of `dialect`, and is none."""
        candidate = Candidate(dialect, None, start, Nesting(self._deepest))
        candidate.end = self.at
        candidate.reason = self._place or reason if reason == "not_a_call" else reason
        if self.crowded and reason == "cut_off":
            candidate.reason = "overflow"
        self.show()
        self._verdict(candidate)

    def close(self, *, own: bool) -> bool:
        """The grammar is done. `own`: what it consumed behind the last call belongs to the block.

        Returns whether white space that follows stands behind a call and may go with it.
        """
        candidate, first = self._current, self._first
        if candidate is None or first is None:
            return False
        if not candidate.complete and candidate.reason is None:
            self._break_off(candidate)
        elif candidate.complete and own:
            self._close_with(first, candidate)
        elif candidate.complete:
            self._scan.rewind(self._start - self.drained)
        elif candidate.index is not None and self._fate is not Fate.SHOWN:
            self._settle(Fate.TAKEN)  # broken: what it consumed up to here was still the call's
        if candidate.reason is not None:
            self.show()
            candidate.end = max(candidate.end, self.at) if not candidate.complete else candidate.end
            if not self._quoted:
                self._position.advance("x")  # whatever was shown, a block never ends at the start of a line
        if not candidate.waits:
            self._verdict(candidate)
        self._first = self._current = None
        return candidate.complete and candidate.reason is None

    def close_frame(self, *, own: bool) -> None:
        """The grammar is done with a frame in which no call stood. `own`: what it consumed last is frame too."""
        if own:
            self.mark_frame()
        else:
            self._scan.rewind(self._start - self.drained)
        if not self._waiting:
            self._settle(Fate.SHOWN)
        self._current = None

    # What the model invents behind its calls

    def invents(self, *, drop: bool) -> None:
        """What was consumed is an invented result. `drop`: it is not shown."""
        if drop and not self._waiting:
            self._settle(Fate.TAKEN)
        else:
            self.show()

    def invented(self, start: int, *, drop: bool) -> None:
        """The invented result that began at `start` ends here."""
        self.invents(drop=drop)
        self._fate = Fate.SHOWN
        reason: Reason = "dropped_result" if drop else "invented_result"
        self.out.append(Verdict("declined", reason, None, None, start, self.at))

    def _break_off(self, candidate: Candidate) -> None:
        """The text ended inside a call. One that was committed stays open (law 6); one that waits is text."""
        candidate.reason = "overflow" if self.crowded else "cut_off" if self._scan.cut else "unclosed"
        if self._echoes_to_limit(candidate):
            candidate.reason = "echo"
        candidate.end = self.at
        if candidate.index is not None:
            self._settle(Fate.TAKEN)
            self._flush(candidate)
            return
        self._let_go(candidate)
        if self._call_policy.emit_incomplete:
            self._tell_begun(candidate)
        if self._call_policy.takes("inline") and not self._scan.cut:
            # Its opener may have been a mention, and a real call may stand behind it.
            self._scan.rewind(self._body - self.drained)
            candidate.end = self.at

    def _tell_begun(self, candidate: Candidate) -> None:
        """A call that waited is told as one that has begun: its opener as markup, and its arguments so far.

        One in which no argument has begun is told as one without any. What stands behind the opener is text.
        """
        arguments = "".join(candidate.pieces)
        candidate.pieces = [arguments if arguments.strip("{ \t\r\n") else "{}"]
        candidate.index = self._committed
        self._committed += 1
        self._fate = Fate.TAKEN
        self._drain(self._body - self.drained)
        self.out.append(CallStart(candidate.index, candidate.name or "", candidate.dialect))
        self._flush(candidate)

    def _close_with(self, first: Candidate, last: Candidate) -> None:
        """A block's closer is taken when the calls at both of its ends are, else it stays with what is shown."""
        if first.reason is not None or last.reason is not None:
            self.show()
        elif last.index is not None:
            self._settle(Fate.TAKEN)
        if last.reason is not None or first.reason is None:
            last.end = self.at
        self._fate = Fate.HELD

    # What a grammar reports (`shapes.CallSink`)

    def begin(self, name: str, refused: Reason | None = None) -> None:
        """A call's name is complete and its arguments follow: the commit point."""
        if self._overflows():  # first of all, as though it had come in pieces: what is let go is no payload yet
            self._spill()
        if self._current is not None and not self._current.waits:
            self._verdict(self._current)
        candidate = Candidate(self._dialect, name or None, self._start, Nesting(self._deepest))
        self._current = candidate
        self.slack = self._calm
        self._first = self._first or candidate
        self._body = self.at
        candidate.reason = (self._call_policy.declines(name, self._place) if name else None) or refused
        if (
            candidate.reason is None
            and not self._call_policy.route.multiple_calls
            and (self._committed or self._waiting)
        ):
            candidate.reason = "multiple_calls"
        if candidate.reason is None and self._committed + len(self._waiting) >= self._call_policy.route.max_calls:
            candidate.reason = "max_calls"
        if candidate.reason is None and self._spilled:
            candidate.reason = "overflow"
        if candidate.reason is not None:
            if candidate.reason == "multiple_calls" and self._waiting and not self._call_policy.requires("terminal"):
                self._commit_waiting(beside=True)  # what follows is a call as well, though nobody takes it
            self.show()
            if self._quoted:
                raise Quoted
            return
        self._compare(candidate)
        self._waiting.append(candidate)
        candidate.waits = True
        if not self._must_wait(candidate):
            self._commit_waiting()

    def piece(self, json: str) -> None:
        """A piece of the argument JSON."""
        candidate = self._current
        self._heard = self.at
        if candidate is None or candidate.reason is not None:
            return
        candidate.collected = 0
        limit: Reason | None = None
        size = candidate.size + len(json)
        if size <= self._half and candidate.nesting.in_string and '"' not in json and json[-1:] != "\\":
            candidate.size = size  # the usual piece, in the middle of a string
            candidate.pieces.append(json)
            return
        if size > self._most:
            json, limit = json[: self._most - candidate.size], "max_call_chars"
        deep = candidate.nesting.passes(json)
        if deep >= 0:
            json, limit = json[:deep], "max_depth"
        candidate.size += len(json)
        candidate.pieces.append(json)
        self._watch(candidate)
        if limit is not None:
            self._outgrow(candidate, limit)

    def collect(self, size: int) -> bool:
        """So many characters more wait in the grammar."""
        candidate = self._current
        self._heard = self.at
        if candidate is None or candidate.reason is not None:
            return False
        candidate.collected += size
        self._watch(candidate)
        if candidate.size + candidate.collected > self._most:
            self._outgrow(candidate, "max_call_chars")
        return candidate.reason is None

    def end(self) -> None:
        """Every argument is closed."""
        candidate = self._current
        self.slack = self._calm
        if candidate is None:
            return
        if candidate.reason is not None and candidate.index is not None:  # it grew past its limit and stays open
            self.show()
            self._fate = Fate.HELD
            self._start = self.at
            return
        candidate.complete = True
        candidate.end = self.at
        if candidate.waits:
            reason = self._judge(candidate)
            if reason is not None:
                self._refuse(reason)
            elif not (
                self._call_policy.requires("terminal") or (self._whole and not self._call_policy.takes("inline"))
            ):
                self._commit_waiting()
        elif candidate.index is not None:
            self._complete(candidate)
        else:
            self.show()
        self._fate = Fate.HELD
        self._start = self.at

    @property
    def keeps_too_much(self) -> bool:
        """Whether the grammar has consumed more than a call may have since it last reported anything."""
        kept = self.at - self._heard
        if kept <= self._half:
            return False
        self.slack = (self._most - kept) // _GROWTH
        return kept > self._most

    def abandon(self) -> None:
        """The grammar reads no further, since it keeps too much."""
        if self._current is not None and self._current.reason is None:
            self._outgrow(self._current, "max_call_chars")

    def fail(self) -> None:
        """The arguments cannot be read any further. A call that was committed stays open, as if it were cut off."""
        candidate = self._current
        if candidate is None or candidate.reason is not None:
            return
        candidate.reason = "bad_arguments"
        if candidate.index is None:
            if self._overflows():
                candidate.reason = "overflow"
            if self._echoes_to_limit(candidate):
                candidate.reason = "echo"
            self._let_go(candidate)
            if self._call_policy.emit_incomplete:
                self._tell_begun(candidate)
            self.show()
        else:
            self._flush(candidate)

    def note_repair(self, name: Repair) -> None:
        """The grammar accepted something that its dialect does not write."""
        if self._current is not None and name not in self._current.repairs:
            self._current.repairs.append(name)

    # What a grammar reports of its dialect's frame

    def may_remove_frame(self) -> bool:
        """Whether the frame of a message may be taken away here."""
        return self._call_policy.lift and self._call_policy.remove_frames and not self._quoted

    def mark_frame(self) -> None:
        """What was consumed and is undecided is frame. Behind a call that waits it goes with the call, or stays."""
        self.spoke = True
        if self._waiting and self._overflows():
            self._spill()
        if not self._waiting:
            self._settle(Fate.TAKEN)
        self._fate = Fate.HELD
        self._start = self.at

    def mark_text(self) -> None:
        """What was consumed and is undecided is text."""
        self.spoke = True
        self.show()
        self._fate = Fate.HELD
        self._start = self.at

    def mark_reasoning(self) -> None:
        """What was consumed and is undecided is the model's reasoning."""
        self.spoke = True
        if self._waiting:  # reasoning behind a call that counts only at the end: then it was none
            self._refuse("not_terminal", self._start - self.drained)
        thought = "".join(self._scan.taken)
        self._settle(Fate.TAKEN)
        if thought:
            self.out.append(Reasoning(thought, moved=True))
        self._fate = Fate.HELD
        self._start = self.at

    # Deciding

    @property
    def _quoted(self) -> bool:
        return self._place not in {None, "inline", "escaped"}

    def _must_wait(self, candidate: Candidate, *, echo: bool = True) -> bool:
        native = not self._call_policy.takes("duplicate") and (candidate.name or "") in self.natives
        return (echo and candidate.trace is not None) or native or self._whole or self._call_policy.waits(self._place)

    def _outgrow(self, candidate: Candidate, limit: Reason) -> None:
        """Its arguments pass a limit. One that was committed stays open, and what follows of its text is shown."""
        self.slack = self._calm
        if candidate.index is None:
            self._refuse(limit)
            return
        self._settle(Fate.TAKEN)
        self._flush(candidate)
        candidate.reason = limit
        candidate.end = self.at
        self._fate = Fate.SHOWN

    def _look_again(self, candidate: Candidate) -> None:
        """A possible echo that differs by now is none. One that still matches at the limit for held text is one."""
        if not self._echoes(candidate):
            if not self._must_wait(candidate):
                self._commit_waiting()
        elif self._echoes_to_limit(candidate):
            candidate.trace = None
            self._refuse("echo")

    def _echoes_to_limit(self, candidate: Candidate) -> bool:
        """Whether as much of it as may be held is an echo: then it is one, however it goes on."""
        return self._scan.taken_size > self._call_policy.route.max_buffer_bytes and self._echoes(candidate)

    def _compare(self, candidate: Candidate) -> None:
        """Begin to watch for an echo.

        What goes past the limit for held text does not count, so that it never matters how much came at once.
        """
        taken = self._scan.taken
        written = "".join(taken)
        candidate.compared = len(taken), len(written)
        text = written[candidate.start - self.drained : self._call_policy.route.max_buffer_bytes]
        candidate.trace = self._call_policy.echo_index.trace(text)

    def _echoes(self, candidate: Candidate) -> bool:
        """Condition 5: the candidate's text so far stands verbatim in what the request quotes."""
        if candidate.trace is None:
            return False
        pieces, characters = candidate.compared
        coming = "".join(self._scan.taken[pieces:])
        candidate.compared = len(self._scan.taken), characters + len(coming)
        if not candidate.trace.grow(coming[: max(0, self._call_policy.route.max_buffer_bytes - characters)]):
            candidate.trace = None
        return candidate.trace is not None

    def _judge(self, candidate: Candidate) -> Reason | None:
        """Conditions 5 and 6 for a whole call, and what `strict` asks of one."""
        arguments = "".join(candidate.pieces)
        if self._echoes(candidate):
            candidate.trace = None
            return "echo"
        if self._must_wait(candidate, echo=False) and self._overflows():
            return "overflow"
        if not self._call_policy.takes("duplicate") and self.natives.has(candidate.name or "", arguments):
            return "duplicate"
        if self._whole and self._call_policy.requires("complete") and "missing_closer" in candidate.repairs:
            return "fenced"  # of a message that is a fence, the fence's own end is part of the call
        if self._call_policy.requires("arguments"):
            keys = {key for key, _ in members(arguments)}
            return None if keys.issuperset(self._tools.required(candidate.name or "")) else "missing_argument"
        return None

    def _overflows(self) -> bool:
        size, limit = self._scan.taken_size, self._call_policy.route.max_buffer_bytes
        watched = self._current is not None and self._current.trace is not None
        if self._fate is not Fate.HELD or 4 * size <= limit or watched:
            return False
        return size > limit or self._scan.weight() > limit

    def _spill(self) -> None:
        """Too much is held: it is text, and a call that begins behind it in the same block is one no more."""
        self._refuse("overflow")
        self._spilled = True

    def _let_go(self, candidate: Candidate) -> None:
        candidate.waits = False
        self._waiting.remove(candidate)

    def _all_waiting(self) -> list[Candidate]:
        waiting, self._waiting = self._waiting, []
        for candidate in waiting:
            candidate.waits = False
        return waiting

    def _refuse(self, reason: Reason, size: int | None = None) -> None:
        """The calls that wait are none, and what was consumed, or the first `size` characters of it, is text."""
        for candidate in (waiting := self._all_waiting()):
            candidate.reason = reason
        self._fate = Fate.SHOWN
        self._drain(size)
        for candidate in waiting:
            if candidate is not self._current:
                self._verdict(candidate)

    def _commit_waiting(self, *, beside: bool = False) -> None:
        """The calls that wait are calls. `beside`: what was consumed behind the last one is not its own."""
        for candidate in (waiting := self._all_waiting()):
            candidate.index = self._committed
            self._committed += 1
            self._fate = Fate.TAKEN
            # Each call has its own markup before it: a round trip tells by it what stood in which dialect.
            self._drain(None if candidate is waiting[-1] and not beside else candidate.end - self.drained)
            self.out.append(CallStart(candidate.index, candidate.name or "", candidate.dialect))
            self._flush(candidate)
            if candidate.complete:
                self.out.append(CallEnd(candidate.index))
            if candidate is not self._current:
                self._verdict(candidate)
        if beside:
            self._fate = Fate.HELD

    def _complete(self, candidate: Candidate) -> None:
        self._settle(Fate.TAKEN)
        self._flush(candidate)
        if candidate.index is not None:
            self.out.append(CallEnd(candidate.index))

    def _settle(self, fate: Fate) -> None:
        self._fate = fate
        self._drain()

    def _drain(self, size: int | None = None) -> None:
        text = self._scan.drain(size)
        if not text:
            return
        self.drained += len(text)
        if self._fate is Fate.TAKEN:
            self.out.append(Markup(text))
            return
        self.out.append(Text(text))
        if self._current is None or self._quoted:  # the payload of a declined call is not Markdown
            self._position.advance(text)

    def _flush(self, candidate: Candidate) -> None:
        if candidate.pieces and candidate.index is not None:
            self.out.append(CallPiece(candidate.index, "".join(candidate.pieces)))
            candidate.pieces.clear()

    def gives_up(self) -> None:
        """From here on nothing is looked at any more, and all is text."""
        self.out.append(Verdict("declined", "max_candidates", None, None, self.at, self.at))

    def _verdict(self, candidate: Candidate) -> None:
        self.judged += 1
        status: Status = "lifted" if candidate.reason is None else "declined"
        if candidate.reason in {"unclosed", "cut_off"} or (candidate.reason in _LIMITS and candidate.index is not None):
            status = "truncated"
        elif candidate.reason in {"not_a_call", "bad_arguments"}:
            status = "malformed"
        self.out.append(
            Verdict(
                status,
                candidate.reason,
                candidate.dialect,
                candidate.name,
                candidate.start,
                candidate.end,
                tuple(candidate.repairs),
                candidate.index,
            )
        )
