"""What a text client would make of the text that it is given: rules hold for calls that the policy declines, too.

A client that reads its calls out of text has a parser of its own, and few of them mind code fences, a line's beginning,
or which tools were declared. So where a rule may block, the text on its way to such a client is read once more: in the
client's own dialect, wherever a call may stand. Calls that the rules let pass stay the text that they are, byte for
byte; one that a rule blocks is removed, with the rule's message in its place.

Strategy: a second reader, a second chain of processors with nothing but the rules in it, and a second round trip read
the text as it leaves the lane. The stage `replies/stages/screen.py` holds the text until it is decided here.

Some clients run a call that never ends, or one in which something stands that is no argument, and some find a call
whose lines each begin with `>`. So a call that will never be whole is judged by what came of it, and if it is blocked,
its opener goes; and the marks of a block quote are blanks to the reader, except inside a call that began beside it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

from toolcalls.events import CallPiece, Event, Markup, Removed, Text, Verdict, Withdrawn
from toolcalls.processors import Chain, Left
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.route import Taken
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.roundtrip import RoundTrip

_NO_LIMIT = 1 << 40  # what is held is limited by the stage
_MARKS = re.compile(r"[ \t>]+")  # what a line of a block quote begins with
_QUOTES = re.compile(r"\n[ \t]*>")


class TooManyCandidates(Exception):
    """What follows is not read any more."""


class ScreenedText:
    """One lane's text as a text client reads it.

    removing   a call is being removed, and its verdict has not come yet
    """

    def __init__(self, call_policy: CallPolicy, tools: Toolbox, rules: Chain, trip: RoundTrip) -> None:
        route = replace(
            call_policy.route,
            dialects=trip.client.dialects or None,
            take=get_args(Taken),
            require=(),
            allowed_tools=None,
            multiple_calls=None,
            max_calls=_NO_LIMIT,
            max_buffer_bytes=_NO_LIMIT,
            max_call_chars=_NO_LIMIT,
            max_depth=_NO_LIMIT,
            max_payload_chars=0,
        )
        request = replace(call_policy.request, tool_choice="auto", quotable=(), response_format=False)
        self.removing = False
        self._reader = Reader(
            CallPolicy(route, request, allow_undeclared=True, remove_frames=False, emit_incomplete=True), tools=tools
        )
        self._rules = rules
        self._trip = trip
        self._events: Sequence[Event] | None = None  # what `passes` has read of a text that does not pass
        self._indent = True  # nothing but blanks and marks of a quote come before this place in its line
        self._quoted = False  # this line is one of a block quote, or the one in which the call began that is being read

    def passes(self, text: str) -> bool:
        """Whether the next text is shown as it stands, with none undecided before it. If not, `read` must follow."""
        if self._has_quote_marks(text):
            return False
        self._follow_line(text)
        if self._rules.quiet(text) and self._reader.passes(text):
            return self._rules.passed(text) and self._trip.passes()
        events = self._reader.read(text)
        if self._streams(events, text):
            return True
        self._events = events
        return False

    def read(self, text: str) -> Iterator[Event | str]:
        """What is decided with the next text.

        `Text`, `Markup` and `Removed` account for the characters, in order: only `Text` is shown. A `str` is a text of
        our own, a `Verdict` is that of a call that was removed. Raises TooManyCandidates.
        """
        if self._events is not None:
            events, self._events = self._events, None
            yield from self._decided(events)
        else:
            for piece in self._without_quote_marks(text):
                yield from self._decided(self._reader.feed(piece))

    def finish(self) -> Iterator[Event | str]:
        """What is decided when no more text follows. Clients that run what they have do so also where it broke off."""
        yield from self._decided(self._reader.finish(cut=False))
        for what in self._rules.finish(cut=False):
            yield from self._as_text(what)
        yield from self._shown(self._trip.finish())
        self._indent, self._quoted = True, False

    def _streams(self, events: Sequence[Event], text: str) -> bool:
        """Whether these are the usual two events of a text inside a call that passes, which is shown as it comes."""
        if len(events) != 2 or not self._trip.streams:
            return False
        markup, piece = events
        if not (isinstance(piece, CallPiece) and isinstance(markup, Markup) and markup.text == text):
            return False
        if not self._rules.streams(piece):
            return False
        self._trip.streamed(text, piece)
        return True

    def _decided(self, events: Sequence[Event]) -> Iterator[Event | str]:
        if any(isinstance(event, Verdict) and event.reason == "max_candidates" for event in events):
            raise TooManyCandidates
        for what in self._rules.read(events):
            yield from self._as_text(what)

    def _as_text(self, what: Left) -> Iterator[Event | str]:
        """What the rules let pass, as the text that it stays."""
        self.removing = self.removing or isinstance(what, Withdrawn)
        if not isinstance(what, tuple):  # those are of native calls
            yield from self._shown(self._trip.feed(what))

    def _shown(self, outcomes: Iterable[Event | str]) -> Iterator[Event | str]:
        for what in outcomes:
            if isinstance(what, Text | Markup | Removed | str):
                yield what
            elif isinstance(what, Verdict) and what.rule is not None:
                self.removing = False
                yield what

    # Block quotes

    def _has_quote_marks(self, text: str) -> bool:
        """Whether a line of a block quote may begin or end in a text."""
        if self._quoted and "\n" in text:
            return True
        return ">" in text and (
            _QUOTES.search(text) is not None or (self._indent and text.lstrip(" \t").startswith(">"))
        )

    def _follow_line(self, text: str) -> None:
        """A text without such a line has been read."""
        line = text[text.rfind("\n") + 1 :]
        self._indent = not line.strip(" \t") and (self._indent or len(line) < len(text))

    def _without_quote_marks(self, text: str) -> Iterator[str]:
        """A text in pieces, with blanks for the marks of block quotes, so that no place moves. Each is read then."""
        if not self._has_quote_marks(text):
            yield text
            self._follow_line(text)
            return
        at = 0
        while at < len(text):
            marks = _MARKS.match(text, at) if self._indent else None
            if marks is not None:
                at, sign = marks.end(), marks[0]
                yield sign.replace(">", " ") if self._quoted or not self._reader.inside_call else sign
                self._quoted = self._quoted or (">" in sign and not self._reader.inside_call)
            end = text.find("\n", at) + 1 or len(text)
            if end > at:
                yield text[at:end]
                self._indent = text[end - 1] == "\n"
                self._quoted = self._quoted and (self._reader.inside_call or not self._indent)
            at = end
