"""Text in, events out: one reader for a stream, a whole reply, a request's history, the command line and the replay.

The reader looks for openers and lets the grammars of the dialects that share one read from there; the ledger decides
what becomes of what they consume. The grammar of a declined candidate goes on reading to its end, and its text is
shown: the outermost call owns its payload, which is never searched for calls. Only inside quoted text (code, a block
quote, a comment, reasoning) does the Markdown say where the quotation ends, so there a grammar reads no further than
the name.

Past 300 lines: text, openers, what is between them and the limits are one loop.
"""

import re
from collections.abc import Generator, Iterable
from dataclasses import replace

from toolcalls.dialects import DAMAGED, ESCAPED, TENTATIVE, UNLIKELY, configured, replaces_native
from toolcalls.events import CallPiece, Event, Markup, Reason, Text
from toolcalls.reading.block import Block, Quoted
from toolcalls.reading.candidate import Candidate
from toolcalls.reading.invented_results import read_invented_result
from toolcalls.reading.ledger import Ledger
from toolcalls.reading.only_call import OnlyCall
from toolcalls.reading.open_calls import open_text_of
from toolcalls.reading.openers import MODULE, Opener, openers_of
from toolcalls.reading.policy import TAKE, CallPolicy
from toolcalls.reading.reasoning_tags import is_reasoning, may_be_reasoning
from toolcalls.reading.stray_closers import take_stray_closers
from toolcalls.reading.unopened_reasoning import UnopenedReasoning, is_closer
from toolcalls.reading.wrappers import Wrappers
from toolcalls.shapes import Dialect
from toolcalls.text.lookalike import LookAlike
from toolcalls.text.markdown import MOST_UNREAD, Position
from toolcalls.text.quoting_marks import CLOSERS_LAST
from toolcalls.text.scanner import SPACE, Scanner, Search
from toolcalls.values.toolbox import Toolbox

# Where a message begins like bare JSON is no candidate, and `lenient` looks there in every line: text that nests such
# beginnings would be read once for each of them. Past this, and a few times the text, it is read for others only.
_MAX_WASTE = 65536
_MESSAGE_END = "<|end|>"  # an opener that begins with it follows a message (`harmony`)
# A line's end with what a piece has before and after it. A piece with a whole line in the middle does not match.
_LINE_END = re.compile(r"([^\r\n]*+)([\r\n]*+)([^\r\n]*+)")
# What comes before a value in JSON: an object there is part of somebody's data, however much it looks like a call.
_LETTER = re.compile(r"[A-Za-z]\Z")
_INSIDE_JSON = re.compile(r'(?:["\]}\d]\s*[:,]|[\[{])\s*\Z')
# What comes before a string or a comment of some program, where a call inside a line would else be taken.
_IN_STRING = re.compile(r"""["']\Z|^\s*(?://+|#|--)\s*\Z""")


class Reader:
    """Reads the text of one reply (one choice, one block)."""

    __slots__ = (
        "_anywhere",
        "_beside_native",
        "_dialects",
        "_escaped",
        "_first",
        "_frame_end",
        "_gave_up",
        "_idle",
        "_in_line",
        "_keep",
        "_ledger",
        "_limits",
        "_looked_alike",
        "_message_start",
        "_next_line",
        "_only_call",
        "_openers",
        "_own_line",
        "_position",
        "_refused",
        "_refused_from",
        "_results",
        "_route",
        "_run",
        "_scan",
        "_settles_at",
        "_special",
        "_tools",
        "_wasted",
        "_wrappers",
        "inside",
        "unopened",
    )

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
    ) -> None:
        """`place`: where the text is in its message, the reader's own from here on; None for the beginning.

        starts_in_reasoning       the text starts inside reasoning, up to any closer
        may_start_in_reasoning    it may: what would be a call waits for a closer after it
                                  (None: as the route and the request say of a reply, where this is its beginning)
        reasoning_end             a call that begins in front of this place of the text is reasoning
        message_start             only white space comes before the text in its block of the message
        """
        route = call_policy.route
        if starts_in_reasoning is None:
            starts_in_reasoning = place is None and route.starts_in_reasoning
        if may_start_in_reasoning is None:
            may_start_in_reasoning = place is None and call_policy.may_start_in_reasoning
        self._route = route
        self._first = call_policy.first
        self._anywhere = call_policy.takes("inline")
        # A route that names such a dialect means it.
        self._escaped = frozenset() if route.dialects or call_policy.takes("escaped") else ESCAPED
        self._tools = (
            Toolbox((*call_policy.request.tools, *route.tools), infer=route.infer_types) if tools is None else tools
        )
        self._dialects = configured(
            route.dialects,
            route.marker,
            route.max_payload_chars,
            structured=call_policy.request.response_format,
            alone=call_policy.alone,
        )
        self._position = place or Position(reasoning=starts_in_reasoning)
        if not call_policy.requires("complete"):
            self._position.end_spans_with_lines()
        self._scan = Scanner()
        self._ledger = ledger = Ledger(self._scan, call_policy, self._tools, self._position)
        ledger.reasoning_end = 0 if call_policy.takes("reasoning") else reasoning_end
        self.unopened = UnopenedReasoning(self._scan, ledger, self._position, likely=may_start_in_reasoning)
        self._only_call = (
            OnlyCall(self._scan, ledger, self._position, self.unopened, self._probe)
            if call_policy.takes_only_calls
            else None
        )
        open_text = open_text_of(Reader, call_policy, self._tools, ledger.natives, starts_in_reasoning)
        ledger.shown.look_for_calls(open_text)
        self._limits = ledger.limits
        self._gave_up = self.inside = False  # inside: a candidate is being read
        self._looked_alike = False  # a tag that is none was in the text: what it holds lacks no opener
        self._own_line = call_policy.requires("line_start")  # of special tokens, too
        self._frame_end = -1  # after the latest frame of a dialect's messages: there another one begins
        self._beside_native = False  # the reply has native calls
        self._wrappers = Wrappers(call_policy.wrappers, remove=call_policy.lift and call_policy.remove_frames)
        self._wasted = 0  # characters that were read for whole-message dialects and were no call
        self._settles_at = MOST_UNREAD  # characters of the text, at which what was kept of it is read
        self._message_start = message_start  # only white space comes before this place in its message
        self._special: Search | None = None
        self._in_line: Search | None = None  # `_special`, also where a line goes on of which the end is held
        self._next_line: Search | None = None  # at the start of a line: what `_in_line` was, and is in it again
        self._refused: str | None = None  # the latest piece whose end is held, from there on, though a line goes on
        self._refused_from = 0
        self._look_for(results=False)
        self._set_busy()
        self._run = self._read()
        next(self._run)

    def _look_for(self, *, results: bool) -> None:
        wrappers = self._wrappers
        self._openers = openers_of(
            self._dialects,
            self._tools.names,
            anywhere=self._anywhere,
            results=results,
            wrappers=wrappers.tags,
            closers=wrappers.closers,
        )
        self._results = results

    @property
    def idle(self) -> bool:
        """Whether nothing is being read or held."""
        return self._idle

    @property
    def inside_call(self) -> bool:
        """Whether the text so far ends inside a block of calls, and not after a whole call of it."""
        return self.inside and (self._ledger.current is None or not self._ledger.current.complete)

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

    def passes(self, piece: str) -> bool:
        """Whether `piece` is text that nothing can happen to. If so, it has been read; if not, `feed` it."""
        special = self._special
        if special is not None and (special(piece) is None or self._stays_in_line(piece)):
            if not piece:  # some servers send thousands: nothing of them may be kept
                return True
            self._keep(piece)
            ledger = self._ledger
            ledger.drained = drained = ledger.drained + len(piece)
            if drained > self._settles_at:
                self._settles_at = drained + MOST_UNREAD
                self._position.settle()
            return True
        if not self._idle or not piece or piece is self._refused:
            return False
        at_line_end = self._next_line is not None or "\n" in piece or "\r" in piece
        if at_line_end and self._passes_line_end(piece):
            return True
        message_start = self._message_start
        if self._openers.possible(piece, line_start=self._position.line_start, message_start=message_start):
            return False
        if self._position.prompts_reasoning_end(piece, 0) >= 0:
            return False
        self._ledger.pass_on(piece)
        self._message_start = message_start and not piece.strip(SPACE)
        self._set_idle(idle=True)
        return True

    def _stays_in_line(self, piece: str) -> bool:
        """Whether a piece is text of the line that goes on, though it has signs of openers."""
        if piece is self._refused or self._in_line is None or not piece.isascii():
            return False
        stop = self._openers.inside_line(piece, 0)
        if stop == len(piece):
            return not _may_close(piece)
        if stop >= 0:
            self._refused, self._refused_from = piece, stop
        return False

    def _passes_line_end(self, piece: str) -> bool:
        """Whether a piece is text of one line and of the next, or of a line that begins. If so, it has been read."""
        search = self._next_line or self._in_line
        parts = _LINE_END.fullmatch(piece) if search is not None else None
        if search is None or parts is None:
            return False
        before, ends, behind = parts.groups()
        if before and not self._is_text(before, search, starts_line=self._next_line is not None, ends_line=bool(ends)):
            return False
        if behind and not self._is_text(behind, search, starts_line=True):
            return False
        self._ledger.pass_on(piece)
        if behind or not ends:
            self._special = self._in_line = search
            self._next_line = None
            self._keep = self._ledger.shown.keep
        else:
            self._special = self._in_line = None
            self._next_line = search
        return True

    def _is_text(self, piece: str, search: Search, *, starts_line: bool, ends_line: bool = False) -> bool:
        """Whether a piece of a line is text whatever comes after it. `ends_line`: the end of the line does."""
        if starts_line and self._openers.may_start_line(piece):
            return False
        if search(piece) is None:
            return True
        if not piece.isascii() or self._openers.inside_line(piece, 0) < len(piece):
            return False
        return ends_line or not _may_close(piece)

    def _read_in_line(self, piece: str) -> list[Event] | None:
        """`read` where a line goes on, of which at most the end of what came is held; None where more may happen."""
        scan = self._scan
        if piece is self._refused:
            text, stop = piece, self._refused_from
        else:
            text = scan.text[scan.pos :] + piece
            stop = self._openers.inside_line(text, 0) if piece.isascii() else -1
        if stop < 0:
            return None
        self._refused = None
        scan.text, scan.pos = text[stop:], 0
        self._idle = idle = stop == len(text)
        self._special = self._in_line if idle else None
        if not stop:
            return []
        shown = text[:stop]
        self._keep(shown)
        self._ledger.drained = drained = self._ledger.drained + stop
        if drained > self._settles_at:
            self._settles_at = drained + MOST_UNREAD
            self._position.settle()
        if _may_close(shown):
            self._set_idle(idle=idle, in_line=True)
        return [Text(shown)]

    def _set_busy(self) -> None:
        """Something is read: what comes next does not just pass."""
        self._idle = False
        self._special = self._in_line = self._next_line = self._refused = None

    def _set_idle(self, *, idle: bool, in_line: bool = False) -> None:
        """Note whether nothing is held, and what to look for in the next piece then: all that may begin an opener, and
        what ends the line. A piece without any of it is text. At the start of a line everything matters.

        in_line   nothing is held but the end of a line, which may become an opener
        """
        self._idle = idle
        self._next_line = self._refused = None
        self._keep = self._ledger.shown.keep
        position = self._position
        special = position.special if (idle or in_line) and not self._message_start else None
        search = self._openers.special(special) if special is not None else None
        self._special = search if idle else None
        # After a frame another one may begin: there blanks matter.
        inside = special is not None and self._ledger.at != self._frame_end and not position.in_prompts_reasoning
        self._in_line = search if inside else None

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
        elif self._in_line is not None and (shown := self._read_in_line(piece)) is not None:
            return shown
        if not self._limits.has_room(piece, self._scan.held):
            return self._read_in_parts(piece)
        self._set_busy()
        self._scan.feed(piece)
        next(self._run)
        return self._events()

    def _read_in_parts(self, piece: str) -> list[Event]:
        """`read` for a piece inside which a limit may be met, of a call or of held text."""
        out: list[Event] = []
        at = 0
        while at < len(piece):
            size = self._ledger.at_once(piece, at)
            self._set_busy()
            self._scan.feed(piece[at : at + size])
            next(self._run)
            out += self._events()
            at += size
        return out

    def finish(self, *, cut: bool) -> list[Event]:
        """The text ends. `cut`: it broke off or met the length limit, so what is open stays open (law 6).

        Text that comes all the same afterwards is read as a new beginning.
        """
        self._set_busy()
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
        return self._ledger.waiting > 0

    def decline_waiting(self, reason: Reason) -> list[Event]:
        """Something follows in the message after the calls that wait for its end."""
        self._ledger.decline_waiting(reason)
        return self._events()

    def release(self) -> list[Event]:
        """No more can be held: what is undecided is text, a call that is open stays so, and reading begins anew.

        A call that waits for its first value alone is one from here on, and is read on.
        """
        call = self._ledger.current if self.inside else None
        if call is not None and call.held_to_value:
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
        self._set_idle(idle=self._idle)

    def end_paragraph(self) -> None:
        """A native call comes after the text so far, all of which is decided."""
        self._position.end_paragraph()
        self._set_idle(idle=self._idle)

    def next_block(self) -> Position:
        """Where another text block of the same message would begin, after the text so far."""
        undecided = self._only_call.before_end if self._only_call is not None and self.waits_for_message else None
        place = (undecided or self._position).copy()
        place.next_block()
        return place

    def add_native(self, name: str, arguments: str) -> None:
        """The reply carries this call natively; a text call that is the same is declined (condition 6)."""
        self._ledger.natives.add(name, arguments)
        self._beside_native = True
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
        out, self._ledger.out = self._ledger.out, []
        return out

    def _read(self) -> Generator[None]:
        behind_call = orphan = False
        while True:
            if behind_call or orphan:
                yield from self._separator(orphan=orphan)
            opener = yield from self._text()
            if opener is None:
                self._ledger.finish()
                return
            behind_call = orphan = False
            if self._wrappers.held is not None and not (isinstance(opener, Opener) and opener.dialects):
                self._wrappers.show(self._ledger)
                continue
            if isinstance(opener, LookAlike) or (opener.dialects and self._ledger.judged >= self._route.max_candidates):
                yield from self._unread()
                return
            if opener.dialects and may_be_reasoning(opener.literal) and (yield from self._is_reasoning(opener)):
                if self._wrappers.held is not None:
                    self._wrappers.show(self._ledger)
                start = self._ledger.at
                self._scan.take(opener.stray + len(opener.literal))
                self._no_call(opener.dialects[0], "reasoning", start)
                self._message_start = False
            elif is_closer(opener.literal) and not self.unopened.closes_frame(opener):
                orphan = self._reasoning_closer(opener)
            elif opener.literal.startswith(MODULE) and self._position.follows(_LETTER):
                self._scan.take(len(MODULE))  # the end of a longer word: that is looked for nowhere
                self._ledger.show()
            elif opener.dialects:
                yield from self.unopened.ends_message(opener)
                yield from self.unopened.wait(opener, anywhere=self._anywhere)
                if self._only_call is not None:
                    yield from self._only_call.wait(opener, message_start=self._message_start)
                self.inside = True
                closers = self._wrappers.closers
                behind_call = yield from self._block(opener)
                self.inside = False
                self._ledger.refused = None
                self._ledger.close()
                orphan = self._wrappers.held is not None
                if (behind_call and not self._results) or closers != self._wrappers.closers:
                    self._look_for(results=behind_call or self._results)
            elif opener.literal in self._wrappers.tags and self._position.reason() is None:
                self._wrappers.hold(self._scan, self._ledger, opener.literal)
                orphan = True
            elif opener.literal in self._wrappers.closers:
                quoted = self._position.reason() is not None
                behind_call = self._wrappers.close(self._scan, self._ledger, opener.literal, quoted=quoted)
                self._look_for(results=self._results)
            elif opener.literal in self._wrappers.tags:
                self._scan.take(len(opener.literal))
                self._ledger.show()
            else:
                yield from self._result(opener)

    def _text(self) -> Generator[None, None, Opener | LookAlike | None]:
        """Show text up to the next opener. Returns None at the end of the reply.

        What only looks like an opener is text; it is returned where there were too many candidates before it.
        """
        scan = self._scan
        while True:
            line_start, message_start = self._position.line_start, self._message_start
            ends = self._position.prompts_reasoning_end(scan.text, scan.pos)
            if not (line_start or message_start or scan.ended or ends >= 0) and scan.text.isascii():
                stop = self._openers.inside_line(scan.text, scan.pos)
                if stop >= 0:
                    self._show(stop)
                    free = not self._ledger.waiting
                    self._set_idle(idle=free and stop == len(scan.text), in_line=free)
                    yield
                    continue
            opener = self._openers.find(
                scan.text, scan.pos, line_start=line_start, message_start=message_start, ended=scan.ended
            )
            if ends >= 0 and (opener is None or ends <= opener.start - opener.stray):
                self._show(ends)  # after it a message begins, as at the start of a line
                self.unopened.closes_nothing()
                self.unopened.is_over()
                continue
            if opener is not None:
                stop = opener.start - opener.stray
            elif scan.ended:
                stop = len(scan.text)
            else:
                stop = self._openers.held(scan.text, scan.pos, line_start=line_start, message_start=message_start)
            if not scan.text.isascii():
                look = self._openers.look_alike(scan.text, scan.pos, opener)
                while look is not None and look.literal:
                    if opener is None and not scan.ended and look.end > stop:
                        break  # an opener may begin inside it, and what is one is no part of anything else
                    self._show(look.start)
                    if self._ledger.judged >= self._route.max_candidates:
                        return look
                    self._look_alike(look)
                    look = self._openers.look_alike(scan.text, scan.pos, opener)
                if look is not None and not scan.ended:
                    stop = min(stop, look.start)
            self._show(stop)
            if opener is not None:
                return opener
            if scan.ended:
                return None
            self._set_idle(idle=stop == len(scan.text) and not self._ledger.waiting)
            yield

    def _show(self, stop: int) -> None:
        """Everything before `stop` is text."""
        if stop > self._scan.pos:
            start = self._ledger.at
            shown = self._scan.take(stop - self._scan.pos)
            if shown.strip(SPACE):
                self._message_start = False
            elif start == self._frame_end:
                self._frame_end = self._ledger.at
            self._ledger.show()

    def _look_alike(self, look: LookAlike) -> None:
        """It is text, however it looks; where it is quoted as well, that is what there is to say of it."""
        ledger = self._ledger
        self._looked_alike = True
        start = ledger.at
        self._scan.take(look.end - look.start)
        self._no_call(self._openers.resembled(look.literal), self._position.reason() or "look_alike", start)
        self._message_start = False

    def _unread(self) -> Generator[None]:
        """There were so many candidates that this is no reply of a model: all that follows is text."""
        if not self._gave_up:
            self._gave_up = True
            self._ledger.stop_reading()
        while True:
            self._scan.take(self._scan.rest())
            self._ledger.show()
            if self._scan.ended:
                self._ledger.finish()
                return
            self._set_idle(idle=not self._ledger.waiting)
            yield

    def _reasoning_closer(self, opener: Opener) -> bool:
        """A closer of reasoning: a message begins after it.

        Returns whether it closes nothing here, since the reply began inside reasoning: directly before a call it is
        held, like white space after one, and goes with the call.
        """
        reason = self._position.reason()
        orphan = reason is None or self._position.in_prompts_reasoning
        if orphan:
            self.unopened.closes_nothing()
        self._scan.take(len(opener.literal))
        if orphan:
            self._ledger.hold()
        else:
            self._ledger.show()
        self._message_start = reason in {None, "reasoning"}
        if self._message_start:
            self.unopened.is_over()
        return orphan

    def _result(self, opener: Opener) -> Generator[None]:
        """A tool result that the model invented after its call: shown, or dropped when the route says so."""
        if self._position.reason() is not None:
            self._scan.take(len(opener.literal))
            self._ledger.show()
            return
        drop = self._route.drop_invented_results
        yield from read_invented_result(self._scan, self._ledger, opener.literal, drop=drop)

    def _separator(self, *, orphan: bool) -> Generator[None]:
        """White space after a call goes when a call or the end follows, so it is consumed here and held.

        orphan   it comes after a closer of reasoning instead, which goes with it when a call follows, and only then
        """
        scan = self._scan
        while True:
            text, at = scan.text, scan.pos
            while at < len(text) and text[at] in SPACE:
                at += 1
            scan.take(at - scan.pos)
            if at < len(text):
                message_start, ended = self._message_start, scan.ended
                opener = self._openers.find(text, at, line_start=True, message_start=message_start, ended=ended)
                if opener is not None and opener.start - opener.stray == at:
                    return
                if ended or self._openers.held(text, at, line_start=True, message_start=message_start) != at:
                    self._wrappers.show(self._ledger)
                    return
            if scan.ended:
                if orphan:
                    self._wrappers.show(self._ledger)
                return
            yield

    def _is_reasoning(self, opener: Opener) -> Generator[None, None, bool]:
        """Whether the tag that the text goes on with opens reasoning, where a tool has the same name."""
        if self._position.reason() is not None:
            return False
        return (yield from is_reasoning(self._scan, opener.literal, opener.stray, self._tools))

    def _block(self, opener: Opener) -> Generator[None, None, bool]:
        """Let the dialects that share this opener read from here, the first that finds a call.

        Returns whether white space that follows comes after a call.
        """
        scan, ledger = self._scan, self._ledger
        start, ended = ledger.at, scan.ended
        held = self._wrappers.begin_block()
        quoted = self._position.reason()
        begins_line = self._position.line_start or start == self._frame_end
        place: Reason | None = None
        for dialect in self._in_order(opener.dialects):
            whole_message = dialect.place == "message"
            if whole_message and (self._wasted > _MAX_WASTE + 4 * start or self._position.follows(_INSIDE_JSON)):
                continue
            if dialect.name in TENTATIVE and (self._looked_alike or (self._message_start and len(opener.dialects) > 1)):
                continue
            place = quoted
            if place is None and not self._position.line_start and not self._may_stand_in_line(dialect, opener, start):
                taken = dialect.place != "anywhere" and self._ledger.call_policy.takes("inline")
                place = "inline_code" if taken and self._position.follows(_IN_STRING) else "inline"
            if place is None and dialect.name in self._escaped:
                place = "escaped"
            if place is None and self._beside_native and replaces_native(dialect):
                place = "beside_native"
            block = Block(
                ledger,
                dialect.name,
                place,
                whole_message=whole_message,
                whole_call=dialect.name in DAMAGED,
                begins_line=begins_line,
            )
            scan.take(opener.stray)
            own = yield from self._grammar(dialect, block)
            if block.has_call:
                self._message_start = False
                if block.call_complete:
                    if not own:
                        block.trim()
                    self._wrappers.end_block(held, block.first_call)
                    closers = self._wrappers.closers
                    own = (yield from take_stray_closers(scan, block, self._wrappers.stray, closers)) or own
                if block.open_wrapper is not None:
                    self._wrappers.leave_open(block.open_wrapper, block.first_call)
                return block.close(own=own)
            if block.framed:
                self._message_start = False
                block.close_frame(own=own)
                self._frame_end = ledger.at
                return False
            if whole_message:
                self._wasted += ledger.at - start
            block.give_back()
        if held is not None and held.candidate is not None:
            ledger.no_call(held.candidate)  # what comes after the tag is read again, as what it is inside a line
            self._message_start = False
            return False
        waited = scan.ended and not ended
        if place is None and held is None and not waited and self._wrappers.may_hold(opener.literal):
            self._message_start = False
            candidate = self._candidate(_likely(opener), "not_a_call", start)
            self._wrappers.hold(scan, ledger, opener.literal, candidate)
            return False
        scan.take(scan.rest() if waited else max(0, start + opener.stray + len(opener.literal) - ledger.at))
        self._message_start = False
        if all(dialect.place == "message" or dialect.name in TENTATIVE for dialect in opener.dialects):
            ledger.show()  # a message that begins with a bracket or a fence, as any may: no candidate
        elif waited:
            self._no_call(_likely(opener), "cut_off" if scan.cut else "unclosed", start)
        else:
            self._no_call(_likely(opener), place or "not_a_call", start)
        return False

    def _may_stand_in_line(self, dialect: Dialect, opener: Opener, start: int) -> bool:
        """Whether a dialect's call may begin inside a line: one in special tokens. After a message another begins."""
        if dialect.place != "anywhere":
            return False
        return not self._own_line or start == self._frame_end or opener.literal.startswith(_MESSAGE_END)

    def _in_order(self, dialects: tuple[Dialect, ...]) -> Iterable[Dialect]:
        """Dialects that share an opener, in the order in which they are asked."""
        return sorted(dialects, key=lambda one: one.name not in self._first) if self._first else dialects

    def _no_call(self, dialect: Dialect, reason: Reason, start: int) -> None:
        """The text from `start` to here began as an opener, most likely of `dialect`, and is no call."""
        self._ledger.no_call(self._candidate(dialect, reason, start))

    def _candidate(self, dialect: Dialect, reason: Reason, start: int) -> Candidate:
        """One without a name that is no call."""
        candidate = Candidate(dialect.name, None, start, self._route.max_depth)
        candidate.reason = reason
        return candidate

    def _grammar(self, dialect: Dialect, block: Block) -> Generator[None, None, bool]:
        run = dialect.read(self._scan, block, self._tools)
        try:
            while True:
                next(run)
                if self._limits.keeps_too_much(self._ledger.at):
                    run.close()
                    block.stop()
                    return True
                yield
        except StopIteration as done:
            return bool(done.value)
        except Quoted:
            return True


def _may_close(text: str) -> bool:
    """Whether a closer of reasoning may be at the end of a text, but for blanks."""
    return text.rstrip(" \t").endswith(CLOSERS_LAST)


def _likely(opener: Opener) -> Dialect:
    """The dialect that an opener without a call most likely belongs to."""
    return next((dialect for dialect in opener.dialects if dialect.name not in UNLIKELY), opener.dialects[0])
