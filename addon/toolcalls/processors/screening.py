"""What a text client would make of the text that it is given: rules hold for calls that the policy declines, too.

A client that reads its calls out of text has a parser of its own, and few of them mind code fences, a line's beginning,
or which tools were declared. So where a rule may block, the text on its way to such a client is read once more: in the
client's own dialect, wherever a call may stand. Calls that the rules let through stay the text that they are, byte for
byte; one that a rule blocks is taken away, with the rule's message in its place.

Strategy: a second reader, a second row of processors with nothing but the rules in it, and a second round trip look at
what leaves the lane. What leaves stands in a queue, in order, until they have decided its text.

Some clients run a call that never ends, or one in which something stands that is no argument, and some find a call
whose lines each begin with `>`. So a call that will never be whole is judged by what came of it, and if it is blocked,
its opener goes; and the marks of a block quote are blanks to the reader, except inside a call that began beside it.
Where a call is too large to be held until a rule is decided, or where there are too many, no text is shown from there
on.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

import msgspec

from toolcalls.events import CallPiece, Event, Markup, Note, Removed, Text, Verdict, Withdrawn
from toolcalls.processors import Chain
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.route import Taken
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.roundtrip import RoundTrip

_NO_LIMIT = 1 << 40  # what is held is limited here
_MARKS = re.compile(r"[ \t>]+")  # what a line of a block quote begins with
_QUOTES = re.compile(r"\n[ \t]*>")


class Screen[Other]:
    """One lane's text, looked through as it leaves.

    `Other` is what else leaves a lane: it keeps its place among the text. `silent`: no text is shown any more.
    """

    def __init__(self, call_policy: CallPolicy, tools: Toolbox, rules: Chain, trip: RoundTrip) -> None:
        route = replace(
            call_policy.route,
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
        request = replace(call_policy.request, tool_choice="auto", quotable=(), response_format=False)
        self.silent = False
        self._reader = Reader(
            CallPolicy(route, request, allow_undeclared=True, remove_frames=False, emit_incomplete=True), tools=tools
        )
        self._chain = rules
        self._trip = trip
        self._most = call_policy.route.max_call_chars
        self._held = 0  # characters in the queue that are undecided
        self._at = 0  # how many of its first text's are decided
        self._queue: deque[tuple[Other | Event | str, str]] = deque()  # each with its text
        self._indent = True  # nothing but blanks and marks of a quote stand before this place in its line
        self._quoted = False  # this line is one of a block quote, or the one in which the call began that is being read
        self._going = False  # a call is being taken away, and its verdict is not there yet
        self._removed: list[Verdict] = []  # verdicts that stood in text which was taken away
        self._blocked: list[Verdict] = []  # verdicts of ours that stand for none of the lane's so far

    def passing(self, outcomes: Iterable[Other | Event | str]) -> Iterator[Other | Event | str]:
        """What has become of the next outcomes, and of those before them that were not decided."""
        for outcome in outcomes:
            text = outcome if isinstance(outcome, str) else outcome.text if isinstance(outcome, Text) else ""
            events: Sequence[Event] | None = None
            if text and not (self._queue or self.silent or self._marks(text)):
                self._goes_on(text)
                passes = self._passes(text)
                events = () if passes else self._reader.read(text)
                if passes or self._streams(events, text):
                    yield from self._unparked()
                    yield outcome
                    continue
            self._queue.append((outcome, text))
            self._held += len(text)
            if events is not None:
                yield from self._decided(events)
            elif text and not self.silent:
                for piece in self._unmarked(text):
                    yield from self._decided(self._reader.feed(piece))
            if self._held > self._most:
                yield from self.gives_up("max_call_chars")
            if self.silent:
                yield from self._consumed(self._held, shown=False)
            yield from self._released()

    def _passes(self, text: str) -> bool:
        """Whether nothing can happen to the next text, the only one. If so, it has been looked through."""
        if not (self._chain.quiet(text) and self._reader.passes(text)):
            return False
        return self._chain.passed(text) and self._trip.passes()

    def _streams(self, events: Sequence[Event], text: str) -> bool:
        """Whether these are the usual two events of a text inside a call that passes, which is shown as it comes."""
        if len(events) != 2 or not self._trip.streams:
            return False
        markup, piece = events
        if not (isinstance(piece, CallPiece) and isinstance(markup, Markup) and markup.text == text):
            return False
        if not self._chain.streams(piece):
            return False
        self._trip.take(text, piece)
        return True

    def _marks(self, text: str) -> bool:
        """Whether a line of a block quote may begin or end in a text."""
        if self._quoted and "\n" in text:
            return True
        return ">" in text and (
            _QUOTES.search(text) is not None or (self._indent and text.lstrip(" \t").startswith(">"))
        )

    def _goes_on(self, text: str) -> None:
        """A text without such a line has been read."""
        line = text[text.rfind("\n") + 1 :]
        self._indent = not line.strip(" \t") and (self._indent or len(line) < len(text))

    def _unmarked(self, text: str) -> Iterator[str]:
        """A text in pieces, with blanks for the marks of block quotes, so that no place moves. Each is read then."""
        if not self._marks(text):
            yield text
            self._goes_on(text)
            return
        at = 0
        while at < len(text):
            marks = _MARKS.match(text, at) if self._indent else None
            if marks is not None:
                at, sign = marks.end(), marks[0]
                yield sign.replace(">", " ") if self._quoted or not self._reader.inside else sign
                self._quoted = self._quoted or (">" in sign and not self._reader.inside)
            end = text.find("\n", at) + 1 or len(text)
            if end > at:
                yield text[at:end]
                self._indent = text[end - 1] == "\n"
                self._quoted = self._quoted and (self._reader.inside or not self._indent)
            at = end

    def _unparked(self) -> list[Verdict]:
        """The verdicts of the lane's that stood in text which was taken away, and were about nothing of it."""
        removed, self._removed = self._removed, []
        return removed

    def ends(self) -> Iterator[Other | Event | str]:
        """No more text follows: all that is left. Clients that run what they have do so also where it broke off."""
        if not self.silent:
            yield from self._decided(self._reader.finish(cut=False), last=True)
        self._indent, self._quoted = True, False
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
        for what in [*left, *self._chain.finish()] if last else left:
            self._going = self._going or isinstance(what, Withdrawn)
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
        about = [verdict for verdict in self._removed if verdict.name in {blocked.name, None}]
        if not about:
            self._blocked.append(blocked)
            return
        said = next((verdict for verdict in about if verdict.name is not None), None)
        if said is not None:
            self._removed.remove(said)
        else:  # no name was read there, but perhaps more than one beginning
            said = msgspec.structs.replace(
                about[0], name=blocked.name, end=about[0].start + blocked.end - blocked.start
            )
            self._removed = [verdict for verdict in self._removed if verdict.name is not None]
        yield _as_blocked(said, blocked)

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
