"""What a text client would make of the text that it is given: rules hold for calls that the policy declines, too.

A client that reads its calls out of text has a parser of its own, and few of them mind code fences, a line's beginning,
or which tools were declared. So where a rule may block, the text on its way to such a client is read once more: in the
client's own dialect, wherever a call may stand. Calls that the rules let through stay the text that they are, byte for
byte; one that a rule blocks is taken away, with the rule's message in its place.

Strategy: a second reader, a second row of processors with nothing but the rules in it, and a second round trip look at
what leaves the lane. What leaves stands in a queue, in order, until they have decided its text.

A call in a quotation that never ends is no call, to the reader as to most parsers, and stays. Where a call is too large
to be held until a rule is decided, or where there are too many, no text is shown from there on.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

import msgspec

from toolcalls.events import Event, Gone, Markup, Note, Removed, Text, Verdict
from toolcalls.policy import Terms
from toolcalls.processors import Chain
from toolcalls.reader import Reader
from toolcalls.roundtrip import RoundTrip
from toolcalls.route import Taken
from toolcalls.tools import Toolbox

_NO_LIMIT = 1 << 40  # what is held is limited here


class Screen[Other]:
    """One lane's text, looked through as it leaves.

    `Other` is what else leaves a lane: it keeps its place among the text. `silent`: no text is shown any more.
    """

    def __init__(self, terms: Terms, tools: Toolbox, rules: Chain, trip: RoundTrip) -> None:
        route = replace(
            terms.route,
            dialects=(trip.dialect,),
            take=get_args(Taken),
            require=(),
            allowed_tools=None,
            multiple_calls=True,
            max_calls=_NO_LIMIT,
            max_buffer_bytes=_NO_LIMIT,
            max_call_chars=_NO_LIMIT,
            max_depth=_NO_LIMIT,
            max_payload_chars=0,
        )
        request = replace(terms.request, tool_choice="auto", quotable=(), response_format=False)
        self.silent = False
        self._reader = Reader(Terms(route, request, any_name=True, frames=False), tools=tools)
        self._chain = rules
        self._trip = trip
        self._most = terms.route.max_call_chars
        self._held = 0  # characters in the queue that are undecided
        self._at = 0  # how many of its first text's are decided
        self._queue: deque[tuple[Other | Event | str, str]] = deque()  # each with its text
        self._going = False  # a call is being taken away, and its verdict is not there yet
        self._removed: list[Verdict] = []  # verdicts that stood in text which was taken away
        self._blocked: list[Verdict] = []  # verdicts of ours that stand for none of the lane's so far

    def passing(self, outcomes: Iterable[Other | Event | str]) -> Iterator[Other | Event | str]:
        """What has become of the next outcomes, and of those before them that were not decided."""
        for outcome in outcomes:
            text = outcome if isinstance(outcome, str) else outcome.text if isinstance(outcome, Text) else ""
            if text and not self._queue and self._passes(text):
                yield from self._unparked()
                yield outcome
                continue
            self._queue.append((outcome, text))
            self._held += len(text)
            if text and not self.silent:
                yield from self._decided(self._reader.feed(text))
            if self._held > self._most:
                yield from self.gives_up("max_call_chars")
            if self.silent:
                yield from self._consumed(self._held, shown=False)
            yield from self._released()

    def _passes(self, text: str) -> bool:
        """Whether nothing can happen to the next text, the only one. If so, it has been looked through."""
        if self.silent or not (self._chain.quiet(text) and self._reader.passes(text)):
            return False
        return self._chain.passed(text) and list(self._trip.feed(Text(text))) == [Text(text)]

    def _unparked(self) -> list[Verdict]:
        """The verdicts of the lane's that stood in text which was taken away, and were about nothing of it."""
        removed, self._removed = self._removed, []
        return removed

    def ends(self, *, cut: bool) -> Iterator[Other | Event | str]:
        """No more text follows: all that is left."""
        if not self.silent:
            yield from self._decided(self._reader.finish(cut=cut), last=True)
        yield from self._consumed(self._held, shown=not self.silent)
        yield from self._unparked()
        yield from self._released()
        blocked, self._blocked = self._blocked, []
        yield from blocked

    def _decided(self, events: Sequence[Event], *, last: bool = False) -> Iterator[Other | Event | str]:
        reasons = {event.reason for event in events if isinstance(event, Verdict)}
        if "max_candidates" in reasons:
            yield from self.gives_up("max_candidates")
            return
        left = self._chain.read(events)
        for _, what in [*left, *self._chain.finish()] if last else left:
            self._going = self._going or isinstance(what, Gone)
            if not isinstance(what, tuple):  # those are of native calls
                yield from self._settled(self._trip.feed(what))
        if last:
            yield from self._settled(self._trip.flush())

    def _settled(self, decided: Iterable[Event | str]) -> Iterator[Other | Event | str]:
        for what in decided:
            if isinstance(what, Text):
                yield from self._consumed(len(what.text), shown=True)
            elif isinstance(what, Markup | Removed):
                yield from self._consumed(len(what.text), shown=False)
            elif isinstance(what, str):
                yield what
            elif isinstance(what, Verdict) and what.status == "blocked":
                yield from self._judged(what)

    def gives_up(self, limit: str) -> Iterator[Event]:
        """What is undecided and what follows is not looked at, so it is not shown."""
        if not self.silent:
            self.silent = True
            said = f"a rule may block what is not looked at ({limit}), so no text is shown from there on"
            yield Note("access", said, True)

    def _consumed(self, size: int, *, shown: bool) -> Iterator[Other | Event | str]:
        """The next `size` characters are decided, with what stands among them."""
        if shown:
            yield from self._unparked()
        self._held -= size
        while size:
            outcome, text = self._queue[0]
            part = text[self._at : self._at + size]
            size -= len(part)
            self._at += len(part)
            if self._at == len(text):
                self._queue.popleft()
                self._at = 0
            if not text:
                yield from self._told(outcome, removed=not shown)
            elif isinstance(outcome, str):
                yield from [part] if shown else []
            else:
                yield Text(part) if shown else Removed(part)

    def _released(self) -> Iterator[Other | Event | str]:
        """What stands behind no text that is undecided."""
        while self._queue and not self._queue[0][1]:
            yield from self._told(self._queue.popleft()[0], removed=self._going)

    def _judged(self, blocked: Verdict) -> Iterator[Event]:
        """A call was taken away. The lane has said already what it is, or will, or has not seen it: it is told once."""
        self._going = False
        for place, verdict in enumerate(self._removed):
            if verdict.name == blocked.name:
                del self._removed[place]
                yield _as_blocked(verdict, blocked)
                return
        self._blocked.append(blocked)

    def _told(self, outcome: Other | Event | str, *, removed: bool) -> Iterator[Other | Event | str]:
        """An outcome that is no text; the verdict of a call that is taken away says so. `removed`: it stands there."""
        if not isinstance(outcome, Verdict) or outcome.status == "blocked":
            yield outcome
            return
        for place, blocked in enumerate(self._blocked):
            if blocked.name == outcome.name:
                del self._blocked[place]
                yield _as_blocked(outcome, blocked)
                return
        if removed:
            self._removed.append(outcome)
        else:
            yield outcome


def _as_blocked(verdict: Verdict, blocked: Verdict) -> Verdict:
    """The lane's verdict of a call that was taken away."""
    return msgspec.structs.replace(
        verdict, status="blocked", reason=blocked.reason, rule=blocked.rule, changes=blocked.changes, index=None
    )
