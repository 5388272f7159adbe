"""The attempts to read calls from an opener: the dialects that share it are asked one after the other."""

import re
from collections.abc import Generator, Sequence

from toolcalls.dialects import DAMAGED, ESCAPED, TENTATIVE, UNLIKELY, replaces_native, sign_of
from toolcalls.events import Break, Reason
from toolcalls.reading.block import Block, Quoted
from toolcalls.reading.candidate import Candidate
from toolcalls.reading.earlier_turns import EarlierTurns
from toolcalls.reading.ledger import Ledger
from toolcalls.reading.openers import Opener
from toolcalls.reading.place import Place
from toolcalls.reading.stray_closers import take_stray_closers
from toolcalls.reading.strength import Shown
from toolcalls.reading.unopened_reasoning import closes_unopened
from toolcalls.reading.wrappers import Held, Wrappers
from toolcalls.shapes import Dialect
from toolcalls.text.scanner import Scanner
from toolcalls.values.toolbox import Toolbox

# Where a message begins like bare JSON is no candidate, and `lenient` looks there in every line: text that nests such
# beginnings would be read once for each of them. Past this, and a few times the text, it is read for others only.
_MAX_WASTE = 65536
# A tag that says by its name that it is a call's: what closes is its own, also where it came to nothing.
_CALL_TAG = re.compile(r"[<\[][^>\]]{0,24}(?:tool|call|func|invoke)", re.IGNORECASE)
_MESSAGE_END = "<|end|>"  # an opener that begins with it follows a message (`harmony`)
# What comes before a value in JSON: an object there is part of somebody's data, however much it looks like a call.
_INSIDE_JSON = re.compile(r'(?:["\]}\d]\s*[:,]|[\[{])\s*\Z')
# What comes before a string or a comment of some program, where a call inside a line would else be taken.
_IN_STRING = re.compile(r"""["']\Z|^\s*(?://+|#|--)\s*\Z""")


class Attempts:
    """Lets grammars read. `beside_native`: the reply has native calls."""

    def __init__(
        self,
        scan: Scanner,
        ledger: Ledger,
        place: Place,
        wrappers: Wrappers,
        tools: Toolbox,
        earlier: EarlierTurns,
    ) -> None:
        self._earlier = earlier
        self._scan = scan
        self._ledger = ledger
        self._place = place
        self._wrappers = wrappers
        self._tools = tools
        call_policy = ledger.call_policy
        self._first = call_policy.first
        self._named = frozenset(call_policy.route.named)  # the route means these, whoever the client is
        self._takes_inline = call_policy.takes("inline")
        self._own_line = call_policy.requires("line_start")  # of special tokens, too
        # A route that names such a dialect means it.
        self._escaped = frozenset() if call_policy.route.dialects or call_policy.takes("escaped") else ESCAPED
        self._wasted = 0  # characters that were read for whole-message dialects and were no call
        self._own_alone = False  # the client's own dialects are read and no others
        self.beside_native = False

    def read(self, opener: Opener) -> Generator[None, None, bool]:
        """Let the dialects that share this opener read from here, the first that finds a call.

        Returns whether white space that follows comes after a call.
        """
        scan, ledger, at = self._scan, self._ledger, self._place
        start, ended = ledger.text.at, scan.ended
        held = self._wrappers.begin_block()
        quoted = at.position.reason()
        begins_line = at.position.line_start or start == at.frame_end
        frames = at.message_start or at.in_template or (closes_unopened(opener.literal) and not at.marks_left)
        against: Reason | None = None
        reached, broke = start, None
        element = bool(opener.respelt) and opener.literal.startswith("<")
        tools = self._tools.spelt(opener.respelt) if opener.respelt else self._tools
        for dialect in self._asked(opener.dialects):
            if self._passes_over(dialect, opener, start):
                continue
            against = quoted or self._speaks_against(dialect, opener, start)
            asked = ledger.call_policy.asks(dialect.name, sign_of(dialect.name), opener.literal)
            block = Block(
                ledger,
                dialect.name,
                against,
                whole_message=dialect.place == "message",
                whole_call=dialect.name in DAMAGED,
                begins_line=begins_line,
                asked=asked,
                refused=self._lacks(dialect, opener, asked),
                frames=frames,
                respelt_element=element,
            )
            scan.take(opener.stray)
            own = yield from self._grammar(dialect, block, tools)
            at.marks_left = at.marks_left or block.marks_left
            at.in_template = at.in_template or (frames and (block.framed or _is_message(dialect, block)))
            if block.has_call:
                at.message_start = False
                return (yield from self._close(block, held, own=own))
            if block.framed:
                at.message_start = False
                block.close_frame(own=own)
                at.frame_end = ledger.text.at if at.in_template else at.frame_end
                return False
            if dialect.place == "message" or dialect.name in TENTATIVE:
                self._wasted += ledger.text.at - start
            if (end := ledger.text.at) > reached:
                reached, broke = end, ledger.text.broke(start)
            block.give_back()
        self._own_alone = self._own_alone or (
            quoted is None and any(one.name in self._first for one in opener.dialects)
        )
        self._no_block(opener, held, start, against, broke, waited=scan.ended and not ended)
        at.message_start = False
        return False

    def _close(self, block: Block, held: Held | None, *, own: bool) -> Generator[None, None, bool]:
        """The block has a call: take what belongs to it. Returns what `Block.close` does."""
        wrappers = self._wrappers
        if block.call_complete:
            if not own:
                block.trim()
            wrappers.end_block(held, block.first_call)
            own = (yield from take_stray_closers(self._scan, block, wrappers.stray, wrappers.closers)) or own
        if block.open_wrapper is not None:
            wrappers.leave_open(block.open_wrapper, block.first_call)
        return block.close(own=own)

    def _no_block(
        self,
        opener: Opener,
        held: Held | None,
        start: int,
        against: Reason | None,
        broke: Break | None,
        *,
        waited: bool,
    ) -> None:
        """No dialect read a call from here.

        broke    where the dialect stopped that came furthest
        waited   the text had to end before that was known
        """
        scan, ledger, wrappers = self._scan, self._ledger, self._wrappers
        if _CALL_TAG.match(opener.literal) is not None:
            self._place.looked_alike = True
        if held is not None and held.candidate is not None:
            ledger.no_call(held.candidate)  # what comes after the tag is read again, as what it is inside a line
            return
        if against is None and held is None and not waited and wrappers.may_hold(opener.literal):
            candidate = Candidate.of_text(_likely(opener).name, "not_a_call", start, broke)
            wrappers.hold(scan, ledger, opener.literal, candidate)
            return
        scan.take(scan.rest() if waited else max(0, start + opener.stray + len(opener.literal) - ledger.text.at))
        if all(dialect.place == "message" or dialect.name in TENTATIVE for dialect in opener.dialects):
            ledger.show()  # a message that begins with a bracket or a fence, as any may: no candidate
            return
        unended: Reason = "cut_off" if scan.cut else "unclosed"
        reason = unended if waited else against or "not_a_call"
        ledger.no_call(Candidate.of_text(_likely(opener).name, reason, start, broke))

    def _passes_over(self, dialect: Dialect, opener: Opener, start: int) -> bool:
        """Whether a dialect is not asked here."""
        at = self._place
        if opener.respelt and self._ledger.call_policy.alone:
            return True  # a client knows its tools by their names alone
        if (dialect.place == "message" or dialect.name in TENTATIVE) and self._wasted > _MAX_WASTE + 4 * start:
            return True
        if dialect.place == "message" and at.position.follows(_INSIDE_JSON):
            return True
        return dialect.name in TENTATIVE and (at.looked_alike or (at.message_start and len(opener.dialects) > 1))

    def _speaks_against(self, dialect: Dialect, opener: Opener, start: int) -> Reason | None:
        """What speaks against a call of a dialect in text that is not quoted; None for nothing."""
        position = self._place.position
        if not position.line_start and not self._may_stand_in_line(dialect, opener, start):
            taken = dialect.place != "anywhere" and self._takes_inline
            return "inline_code" if taken and position.follows(_IN_STRING) else "inline"
        if dialect.name in self._escaped:
            return "escaped"
        return "beside_native" if self.beside_native and replaces_native(dialect) else None

    def _lacks(self, dialect: Dialect, opener: Opener, asked: tuple[Shown, ...]) -> Reason | None:
        """What the sign of a dialect lacks here, whatever call comes of it; None for nothing."""
        if "known" in asked and not self._ledger.call_policy.knows(sign_of(dialect.name)):
            return None if self._earlier.have(dialect.name) else "weak_sign"
        return "fenced" if "unfenced" in asked and opener.literal.startswith("```") else None

    def _may_stand_in_line(self, dialect: Dialect, opener: Opener, start: int) -> bool:
        """Whether a dialect's call may begin inside a line: one in special tokens. After a message another begins."""
        if dialect.place != "anywhere":
            return False
        return not self._own_line or start == self._place.frame_end or opener.literal.startswith(_MESSAGE_END)

    def _asked(self, dialects: tuple[Dialect, ...]) -> Sequence[Dialect]:
        """The dialects that may read a call here.

        Where a text client's own begin so, no others but those that the route names, and only these from there on where
        they have found no call: what its model writes is read by the client.
        """
        if not self._own_alone and not any(one.name in self._first for one in dialects):
            return dialects
        return [one for one in dialects if one.name in self._first or one.name in self._named]

    def _grammar(self, dialect: Dialect, block: Block, tools: Toolbox) -> Generator[None, None, bool]:
        run = dialect.read(self._scan, block, tools)
        try:
            while True:
                next(run)
                if self._ledger.limits.keeps_too_much(self._ledger.text.at):
                    run.close()
                    block.stop()
                    return True
                yield
        except StopIteration as done:
            return bool(done.value)
        except Quoted:
            return True


def _likely(opener: Opener) -> Dialect:
    """The dialect that an opener without a call most likely belongs to."""
    return next((dialect for dialect in opener.dialects if dialect.name not in UNLIKELY), opener.dialects[0])


def _is_message(dialect: Dialect, block: Block) -> bool:
    """Whether a block was a message of a template: its call is in special tokens, though it may be declined."""
    return block.has_call and dialect.place == "anywhere"
