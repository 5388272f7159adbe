"""Calls that count only where nothing else in their message speaks against them, as `lenient` takes them.

A call in a fence is one where the message holds no other call and ends with the fence: two forms side by side are
documentation, and so is a call with words after it. A call inside reasoning that never closes is one where nothing but
calls follows it: the model forgot to stop thinking. Both are known at the end of the text alone, so what is there
waits for it, unread, as far as text may be held. Of a message in parts the call then waits for those after its own.
"""

import re
from collections.abc import Callable
from typing import Protocol

from toolcalls.events import CallStart, Event, Reason, Text
from toolcalls.reading.ledger import Ledger
from toolcalls.reading.openers import Opener
from toolcalls.reading.unopened_reasoning import UnopenedReasoning, holds_closer
from toolcalls.text.markdown import Position
from toolcalls.text.scanner import Scanner, Step

_FENCES = ("```", "~~~")
_FENCE_END = re.compile(r"\s*(?:`{3,}|~{3,})?\s*")


class Probe(Protocol):
    """Reads a text that is all here from a place on, and takes every call that the policy may take."""

    def __call__(self, text: str, place: Position) -> list[Event]: ...


class OnlyCall:
    """Decides for one text. It takes nothing itself: it refuses a candidate, or ends the reasoning around it."""

    def __init__(
        self, scan: Scanner, ledger: Ledger, position: Position, unopened: UnopenedReasoning, probe: Probe
    ) -> None:
        self._scan = scan
        self._ledger = ledger
        self._position = position
        self._unopened = unopened
        self._probe = probe
        self._several = False  # fenced calls are no calls: there are several
        self._all_here = False  # no more text comes
        self.before_end: Position | None = None  # where reasoning was, whose end is undecided
        self.beside_native = False

    def text_ends(self) -> None:
        """What follows is read as a new text."""
        self._all_here = self._ledger.ends_message = self._ledger.in_fence = False

    def wait(self, opener: Opener, *, message_start: bool) -> Step[None]:
        """A call may begin here: wait until it is known whether it counts."""
        place = self._position.reason()
        whole_message = all(dialect.place == "message" for dialect in opener.dialects)
        own_fence = place is None and whole_message and opener.literal.startswith(_FENCES) and not message_start
        if place == "fenced" or own_fence:
            yield from self._fenced(own_fence=own_fence)
        elif place == "reasoning":
            yield from self._reasoning()

    def _fenced(self, *, own_fence: bool) -> Step[None]:
        ledger = self._ledger
        alone = not (self._several or ledger.committed or ledger.waiting or self.beside_native)
        if not alone or not (own_fence or self._position.in_fence):
            ledger.refused = "fenced"
            return
        reason = yield from self._end()
        if reason is not None:
            ledger.refused = reason if reason == "overflow" else "fenced"
        elif not self._stands_alone(self._probe(self._rest(), self._position.copy())):
            self._several = True
            ledger.refused = "fenced"
        else:
            ledger.ends_message = True
            ledger.in_fence = not own_fence

    def _reasoning(self) -> Step[None]:
        if self._ledger.committed or self._ledger.waiting or self.beside_native:
            return
        reason = yield from self._end(stop=holds_closer)
        if reason is not None or holds_closer(self._rest()):
            return
        events = self._probe(self._rest(), Position())
        texts = [event.text for event in events if isinstance(event, Text)]
        if any(isinstance(event, CallStart) for event in events) and not "".join(texts).strip():
            self.before_end = self._position.copy()
            self._position.end_reasoning()
            self._ledger.ends_message = True

    def _rest(self) -> str:
        return self._scan.text[self._scan.pos :]

    @staticmethod
    def _stands_alone(events: list[Event]) -> bool:
        """Whether one call was read, and nothing after it but the end of its fence and white space."""
        calls = sum(isinstance(event, CallStart) for event in events)
        begins = next((at for at, event in enumerate(events) if isinstance(event, CallStart)), 0)
        behind = "".join(event.text for event in events[begins:] if isinstance(event, Text))
        return calls == 1 and _FENCE_END.fullmatch(behind) is not None

    def _end(self, stop: Callable[[str], bool] | None = None) -> Step[Reason | None]:
        """Wait for the end of the text. Returns why it cannot be waited for, None where it has come.

        stop   what ends the wait as well, in the text so far
        """
        scan, limit = self._scan, self._ledger.call_policy.route.max_buffer_bytes
        seen = weight = 0
        while not (scan.ended or self._all_here):
            new = scan.text[scan.pos + seen :]
            weight += len(new.encode("utf-8", "surrogatepass"))
            seen += len(new)
            if weight > limit:
                return "overflow"
            if stop is not None and stop(scan.text[max(scan.pos, scan.pos + seen - len(new) - 64) :]):
                return None
            yield
        if scan.ended and scan.cut:
            return "overflow" if self._ledger.releasing else "cut_off"
        if scan.ended:
            scan.ended, self._all_here = False, True
            self._unopened.put_off_end()
        return None
