"""What is between the candidates of a text: text up to the next opener, and marks that open no call."""

from collections.abc import Generator

from toolcalls.reading.candidate import Candidate
from toolcalls.reading.invented_results import read_invented_result
from toolcalls.reading.ledger import Ledger
from toolcalls.reading.openers import Opener
from toolcalls.reading.passing import Passing
from toolcalls.reading.place import Place
from toolcalls.reading.unopened_reasoning import UnopenedReasoning
from toolcalls.reading.wrappers import Wrappers
from toolcalls.route import Route
from toolcalls.text.lookalike import LookAlike
from toolcalls.text.scanner import SPACE, Scanner, past


class Between:
    """Reads what is between candidates. Each step is a generator that yields when it must see more text."""

    def __init__(
        self,
        scan: Scanner,
        ledger: Ledger,
        place: Place,
        passing: Passing,
        unopened: UnopenedReasoning,
        wrappers: Wrappers,
    ) -> None:
        self._scan = scan
        self._ledger = ledger
        self._place = place
        self._passing = passing
        self._unopened = unopened
        self._wrappers = wrappers
        self._route: Route = ledger.call_policy.route
        self._gave_up = False

    @property
    def has_too_many(self) -> bool:
        """Whether there were so many candidates that this is no reply of a model."""
        return self._ledger.judged >= self._route.max_candidates

    def text(self, found: Opener | None = None) -> Generator[None, None, Opener | LookAlike | None]:
        """Show text up to the next opener. Returns None at the end of the reply.

        What only looks like an opener is text; it is returned where there were too many candidates before it.

        found   the one that `separator` found, which is here
        """
        scan, place = self._scan, self._place
        openers, position = place.openers, place.position
        while True:
            line_start, message_start = position.line_start, place.message_start
            behind, found = (found if line_start else None), None
            ends = position.prompts_reasoning_end(scan.text, scan.pos)
            if not (line_start or message_start or scan.ended or ends >= 0) and scan.text.isascii():
                stop = openers.inside_line(scan.text, scan.pos)
                if stop >= 0:
                    self._show(stop)
                    free = not self._ledger.waiting
                    self._passing.rest(idle=free and stop == len(scan.text), in_line=free)
                    yield
                    continue
            opener = behind or openers.find(
                scan.text, scan.pos, line_start=line_start, message_start=message_start, ended=scan.ended
            )
            if ends >= 0 and (opener is None or ends <= opener.start - opener.stray):
                self._show(ends)  # after it a message begins, as at the start of a line
                self._unopened.closes_nothing()
                self._unopened.is_over()
                continue
            if opener is not None:
                stop = opener.start - opener.stray
            elif scan.ended:
                stop = len(scan.text)
            else:
                stop = openers.held(scan.text, scan.pos, line_start=line_start, message_start=message_start)
            if not scan.text.isascii():
                look = openers.look_alike(scan.text, scan.pos, opener)
                while look is not None and look.literal:
                    if opener is None and not scan.ended and look.end > stop:
                        break  # an opener may begin inside it, and what is one is no part of anything else
                    self._show(look.start)
                    if self.has_too_many:
                        return look
                    self._look_alike(look)
                    look = openers.look_alike(scan.text, scan.pos, opener)
                if look is not None and not scan.ended:
                    stop = min(stop, look.start)
            self._show(stop)
            if opener is not None:
                return opener
            if scan.ended:
                return None
            self._passing.rest(idle=stop == len(scan.text) and not self._ledger.waiting)
            yield

    def _show(self, stop: int) -> None:
        """Everything before `stop` is text."""
        if stop > self._scan.pos:
            place, start = self._place, self._ledger.text.at
            shown = self._scan.take(stop - self._scan.pos)
            if shown.strip(SPACE):
                place.message_start = False
            elif start == place.frame_end:
                place.frame_end = self._ledger.text.at
            self._ledger.show()

    def _look_alike(self, look: LookAlike) -> None:
        """It is text, however it looks; where it is quoted as well, that is what there is to say of it."""
        ledger, place = self._ledger, self._place
        place.looked_alike = True
        resembled = place.openers.resembled(look.literal)
        candidate = Candidate.of_text(resembled.name, place.position.reason() or "look_alike", ledger.text.at)
        self._scan.take(look.end - look.start)
        ledger.no_call(candidate)
        place.message_start = False

    def unread(self) -> Generator[None]:
        """All that follows is text, to the end of the reply."""
        if not self._gave_up:
            self._gave_up = True
            self._ledger.stop_reading()
        while True:
            self._scan.take(self._scan.rest())
            self._ledger.show()
            if self._scan.ended:
                self._ledger.finish()
                return
            self._passing.rest(idle=not self._ledger.waiting)
            yield

    def reasoning_closer(self, opener: Opener) -> bool:
        """A closer of reasoning: a message begins after it.

        Returns whether it closes nothing here, since the reply began inside reasoning: directly before a call it is
        held, like white space after one, and goes with the call.
        """
        reason = self._place.position.reason()
        orphan = reason is None or self._place.position.in_prompts_reasoning
        if orphan:
            self._unopened.closes_nothing(opener.literal)
        self._scan.take(len(opener.literal))
        if orphan:
            self._ledger.text.hold()
        else:
            self._ledger.show()
        self._place.message_start = reason in {None, "reasoning"}
        if self._place.message_start:
            self._unopened.is_over()
        return orphan

    def invented_result(self, opener: Opener) -> Generator[None]:
        """A tool result that the model invented after its call: shown, or dropped when the route says so."""
        if self._place.position.reason() is not None:
            self._scan.take(len(opener.literal))
            self._ledger.show()
            return
        drop = self._route.drop_invented_results
        yield from read_invented_result(self._scan, self._ledger, opener.literal, drop=drop)

    def separator(self, *, orphan: bool) -> Generator[None, None, Opener | None]:
        """White space after a call goes when a call or the end follows, so it is consumed here and held.

        Returns the opener that is behind it, where one is.

        orphan   it comes after a closer of reasoning instead, which goes with it when a call follows, and only then
        """
        scan, openers, message_start = self._scan, self._place.openers, self._place.message_start
        while True:
            text, at = scan.text, past(scan.text, scan.pos)
            scan.take(at - scan.pos)
            arrives = not scan.ended and openers.arrive(text, at, message_start=message_start)
            if at < len(text) and not arrives:
                ended = scan.ended
                opener = openers.find(text, at, line_start=True, message_start=message_start, ended=ended)
                if opener is not None and opener.start - opener.stray == at:
                    return opener
                if ended or openers.held(text, at, line_start=True, message_start=message_start) != at:
                    self._wrappers.show(self._ledger)
                    return None
            if scan.ended:
                if orphan:
                    self._wrappers.show(self._ledger)
                return None
            yield
