"""Reasoning that the chat template has opened: the text may begin inside it, and only its closer says so.

Where it is likely (by the model's name, by earlier turns), a candidate in front of any closer waits, unread, until one
comes, until the text ends, or until more waits than may be held. Elsewhere a closer that nothing opened declines the
calls that still wait, and a reply that is all here is read once more with the place of that closer (`began_inside`).
"""

import re

from toolcalls.events import Reason
from toolcalls.reading.ledger import Ledger
from toolcalls.reading.openers import Opener
from toolcalls.text.markdown import Position
from toolcalls.text.quoting_marks import MESSAGE_ENDS, REASONING_CLOSERS, REASONING_TAGS
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.json_tokenizer import Marks

_CLOSERS = frozenset(REASONING_CLOSERS)
# Kimi K3's mark may have blanks in it, and no name where it can close nothing else.
_CHANNEL = "<|close|>"
_CHANNEL_END = re.compile(r"<\|close\|>\s{0,8}(?P<think>think)?\s{0,8}<\|sep\|>")
_CHANNEL_PART = re.compile(r"<\|close\|>\s{0,8}(?:t(?:h(?:i(?:n(?:k\s{0,8})?)?)?)?)?(?:<(?:\|(?:s(?:e(?:p\|?)?)?)?)?)?")
# Inkling's token of a call, in a thought a draft: the next end of a message is that of the draft.
_CALL_MESSAGE, _CALL_MESSAGE_END = "<|content_invoke_tool_json|>", "<|end_message|>"
_THOUGHT = r"<\|close\|>\s{0,8}think\s{0,8}<\|sep\|>"
_CLOSER = re.compile("|".join([*map(re.escape, REASONING_CLOSERS), _THOUGHT]), re.IGNORECASE)
_OVERLAP = max(map(len, REASONING_CLOSERS)) + 16
_FIRST = re.compile(r"[^\[{\"]*+")  # in front of a call's JSON
# An opener with nothing behind it that closes it: inside a line it opens no reasoning, and its closer ends none.
_OPENED = {
    closer: re.compile(f"{re.escape(opener)}(?!.*{re.escape(closer)})", re.IGNORECASE | re.DOTALL)
    for opener, closer in REASONING_TAGS.items()
}


def holds_closer(text: str) -> bool:
    """Whether a closer of reasoning is anywhere in a text."""
    return _CLOSER.search(text) is not None


def is_closer(literal: str) -> bool:
    """Whether an opener that was found is a closer of reasoning."""
    return literal in _CLOSERS


def closes_unopened(literal: str) -> bool:
    """Whether an opener may close a message of thoughts that the prompt has opened."""
    return literal in _CLOSERS or literal == _CHANNEL


class UnopenedReasoning:
    """Whether one text began inside reasoning, as far as is known.

    likely        it may have, and nothing has decided yet; what would be a call waits
    closed_nothing  a closer came that nothing had opened
    closed_first  it came before anything of the text was decided but white space
    began_inside  the offset of the closer that says that it did; None while there is none
    """

    def __init__(self, scan: Scanner, ledger: Ledger, position: Position, *, likely: bool) -> None:
        self._scan = scan
        self._ledger = ledger
        self._position = position
        self._over = False  # some reasoning has ended
        self._draft_is_open = False  # a call in it has a message of its own, which has not ended
        self._end_is_put_off = False  # what waited for the end is read as though it had come in time
        self._waits = ledger.call_policy.lift and not ledger.call_policy.takes("reasoning")
        self.likely = likely
        self.began_inside: int | None = None
        self.closed_nothing = self.closed_first = False

    @property
    def reasoning_is_over(self) -> bool:
        """Whether some reasoning has ended in the text so far, so that what follows it is the message."""
        return self._over or self._ledger.text.reasoned

    def puts_off_end(self) -> bool:
        """Whether the end of the text has been put off until all is read that had waited for it; it comes now."""
        put_off, self._end_is_put_off = self._end_is_put_off, False
        return put_off

    def put_off_end(self) -> None:
        """The text has ended, and what waited for that is read as though it had come in time."""
        self._end_is_put_off = True

    def is_over(self) -> None:
        """Reasoning ends here: what follows is the message."""
        self.likely, self._over = False, True

    def closes_frame(self, opener: Opener) -> bool:
        """Whether a closer of reasoning is part of a dialect's frame, which its grammar reads. It ends both."""
        reason = self._position.reason()
        prompts = self._position.in_prompts_reasoning
        if not opener.dialects or (reason == "reasoning" and not prompts):
            return False
        if reason is None or prompts:
            self.closes_nothing(opener.literal)
            self.is_over()
        return True

    def ends_message(self, opener: Opener) -> Step[None]:
        """Reasoning that began in the prompt ends with its message, whose end `opener` may be, or with its channel."""
        prompts = self._position.in_prompts_reasoning
        if prompts and opener.literal.endswith(_CALL_MESSAGE):
            self._draft_is_open = True
        elif prompts and self._draft_is_open and opener.literal == _CALL_MESSAGE_END:
            self._draft_is_open = False
        elif prompts and opener.literal.startswith(MESSAGE_ENDS):
            self.closes_nothing()
            self.is_over()
        elif opener.literal == _CHANNEL and (prompts or self._position.reason() is None):
            named = yield from self._closes_channel(opener.stray)
            if named or (prompts and named is not None):
                self.closes_nothing()
                self.is_over()

    def _closes_channel(self, ahead: int) -> Step[bool | None]:
        """Whether the closing mark that is here names the channel of thoughts; None for another one."""
        scan = self._scan
        while True:
            text, at = scan.text, scan.pos + ahead
            found = _CHANNEL_END.match(text, at)
            if found is not None:
                return found["think"] is not None
            if scan.ended or _CHANNEL_PART.fullmatch(text, at) is None:
                return None
            yield

    def closes_nothing(self, closer: str = "") -> None:
        """A closer of reasoning is here that nothing opened: all text so far was reasoning, calls included.

        closer   as it is written. One that stands behind its own opener in its line says nothing of how the text began
        """
        ledger = self._ledger
        if closer not in _OPENED or not self._position.follows(_OPENED[closer]):
            self.closed_nothing = True
            self.closed_first = self.closed_first or ledger.text.blank
            if not self.reasoning_is_over:
                self.began_inside = ledger.text.at
        if ledger.waiting and not ledger.call_policy.takes("reasoning"):
            ledger.decline_waiting("overflow" if ledger.overflows() else "reasoning")
        self._position.restart()

    def wait(self, opener: Opener, *, anywhere: bool) -> Step[None]:
        """A call may begin here: wait until it is known whether it is part of reasoning.

        anywhere   calls count inside a line, too
        """
        if not self.likely or not self._waits or self._ledger.text.reasoned or opener.literal in REASONING_TAGS:
            return
        # One that is a whole message waits for the end in any case.
        beside = [one for one in opener.dialects if one.place != "message"]
        if not (anywhere or self._position.line_start):
            beside = [one for one in beside if one.place == "anywhere"]
        if not beside or self._position.reason() is not None:
            return
        ended = self._scan.ended
        ahead = opener.stray + len(opener.literal)
        reason = yield from _what_follows(self._scan, ahead, self._ledger.call_policy.route.max_buffer_bytes)
        if reason is None and not ended:
            self._scan.ended, self._end_is_put_off = False, True
        if reason == "reasoning":
            self._position.enter_reasoning()
        elif reason is not None:
            self._ledger.refused = "overflow" if self._ledger.releasing else reason
        self.likely = reason not in {None, "reasoning"}


def _what_follows(scan: Scanner, ahead: int, limit: int) -> Step[Reason | None]:
    """Look for a closer of reasoning in the text from here on, in at most `limit` bytes of UTF-8.

    ahead   where what follows the opener begins: in a string of its JSON, the closer is a value's

    Returns "reasoning" for a closer, None where the text ends without one; "overflow" where the limit came first, and
    "cut_off" where the text broke off.
    """
    searched = weighed = weight = 0
    values = _Values(ahead)
    while True:
        text, start = scan.text, scan.pos
        found = _CLOSER.search(text, start + max(values.passed, searched - _OVERLAP))
        searched = scan.rest() if found is None else found.end() - start
        end = searched
        weight += len(text[start + weighed : start + end].encode("utf-8", "surrogatepass"))
        weighed = end
        if weight > limit:
            return "overflow"
        if found is not None:
            if values.hold(text, start, found.start() - start, found.end() - start):
                continue
            return "reasoning"
        if not values.go_on(text, start, len(text) - start):
            return "reasoning"
        if scan.ended:
            return "reasoning" if values.open else "cut_off" if scan.cut else None
        yield


class _Values:
    """The JSON that begins behind an opener, in whose strings a closer of reasoning is text that the call holds.

    A string of JSON ends on its line. One that does not was none, and the closer in it ended a draft.

    passed   up to where closers of reasoning were found in strings
    """

    def __init__(self, ahead: int) -> None:
        self.passed = 0
        self._marks = Marks("[]{}", within="\r\n")
        self._at = ahead
        self._depth = 0
        self._begun = self._over = self._held = False

    @property
    def open(self) -> bool:
        """Whether a closer was found in a string that has not ended."""
        return self._held and self._marks.quote != ""

    def hold(self, text: str, start: int, at: int, end: int) -> bool:
        """Whether the closer from `at` to `end`, counted from `start`, is in a string."""
        if not self.go_on(text, start, at) or self._over or not (self._depth and self._marks.quote):
            return False
        self._held = True
        self.passed = end
        return True

    def go_on(self, text: str, start: int, stop: int) -> bool:
        """Read on up to `stop`, counted from `start`. Returns False where a closer that was held is in no string."""
        if stop <= self._at or self._over:
            return True
        piece = text[start + self._at : start + stop]
        self._at = stop
        if not self._begun:
            first = _FIRST.match(piece)
            self._over = first is None
            self._begun = first is not None and first.end() < len(piece)
            piece = piece[first.end() :] if first is not None else ""
        offset = 0
        while not self._over and (offset := self._marks.next(piece, offset)) > 0:
            mark = piece[offset - 1]
            if self._marks.quote:  # the line ends in a string
                return not self._held
            if mark not in "\r\n":
                self._depth += 1 if mark in "[{" else -1
                self._held = self._held and self._depth > 0
                self._over = self._depth <= 0
        return True
