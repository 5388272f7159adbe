"""One lane of a text client's text, of which nothing leaves that a careless parser would make a forbidden call of.

What `ScreenedText` leaves goes through the reply's `CarelessReading`, which all lanes share, since their text is one
message to the client. Text waits here until that has decided it.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from toolcalls.events import Change, Event, Markup, Removed, Text, Verdict
from toolcalls.processors.careless import CarelessReading
from toolcalls.processors.careless_calls import Decided, Forbidden, Hidden
from toolcalls.processors.careless_messages import CarelessMessages
from toolcalls.processors.screening import ScreenedText
from toolcalls.processors.steering import TextInserter, notice
from toolcalls.values.conversion import quote


@dataclass(slots=True, eq=False)
class GuardedText:
    """One lane's text after `ScreenedText`, as the most careless parser would read what that leaves (`careless`).

    reading   shared by all lanes of a reply, whose text is one message
    notices   a removed call leaves a notice; its text goes into the next request
    """

    screened: ScreenedText
    reading: CarelessReading | CarelessMessages
    inserter: TextInserter
    dialect: str | None
    notices: bool = field(kw_only=True)
    # What `screened` was given and has not decided, whose marks it may blank; how many characters of the first it has.
    _given: deque[str] = field(default_factory=deque, init=False)
    _given_at: int = field(default=0, init=False)
    _passed: bool = field(default=False, init=False)  # `screened` has shown the text that is read next
    _queue: deque[Event | str] = field(default_factory=deque, init=False)
    _at: int = field(default=0, init=False)  # how many characters of the first one are decided
    _late: list[Decided | Forbidden] = field(default_factory=list, init=False)  # decided because another lane went on

    @property
    def removing(self) -> bool:
        """Whether a call is being removed, and its verdict or its end has not come yet."""
        return self.screened.removing or self.reading.removing

    def passes(self, text: str) -> bool:
        self._passed = self.screened.passes(text)
        if not self._passed or self._queue or not self.inserter.quiet or self.reading.owner is not self:
            return False
        if not self.reading.passes(text):
            return False
        self._passed = False
        self.inserter.shown(text)
        return True

    def read(self, text: str) -> Iterator[Event | str]:
        passed, self._passed = self._passed, False
        if passed:
            yield from self._read(Text(text))
            return
        self._given.append(text)
        for what in self.screened.read(text):
            yield from self._read(self._as_given(what))

    def finish(self) -> Iterator[Event | str]:
        for what in self.screened.finish():
            yield from self._read(self._as_given(what))
        if self.reading.owner is self:
            yield from self._decided(self.reading.boundary())
        else:
            late, self._late = self._late, []
            yield from self._decided(late)

    def _as_given(self, what: Event | str) -> Event | str:
        """What accounts for characters, with those that were given."""
        if not isinstance(what, Text | Markup | Removed):
            return what
        size, parts = len(what.text), []
        while size:
            part = self._given[0][self._given_at : self._given_at + size]
            parts.append(part)
            size -= len(part)
            self._given_at += len(part)
            if self._given_at == len(self._given[0]):
                self._given.popleft()
                self._given_at = 0
        return type(what)("".join(parts))

    def _read(self, what: Event | str) -> Iterator[Event | str]:
        text = what if isinstance(what, str) else what.text if isinstance(what, Text) else ""
        if not text:
            if self._queue:
                self._queue.append(what)
            else:
                yield what
            return
        owner = self.reading.owner
        if owner is not self:
            if isinstance(owner, GuardedText):
                owner._late.extend(self.reading.boundary())
            self.reading.owner = self
        self._queue.append(what)
        yield from self._decided(self.reading.feed(text))

    def _decided(self, outcomes: Iterable[Decided | Forbidden]) -> Iterator[Event | str]:
        for outcome in outcomes:
            if isinstance(outcome, Decided):
                yield from self._consumed(outcome.size, shown=outcome.shown)
                continue
            refusal = outcome.refusal
            text = notice(refusal.rule) if self.notices and refusal.text else refusal.text
            # What was on both sides of the call must not become one tag.
            yield self.inserter.insert(text) or "\n"
            before = (outcome.name, f"{{{','.join(f'{quote(key)}:{raw}' for key, raw in outcome.arguments)}}}")
            yield Verdict(
                "blocked",
                refusal.reason,
                self.dialect,
                outcome.name,
                outcome.start,
                outcome.end,
                rule=refusal.rule,
                changes=(Change(refusal.rule, before, None),),
            )
        if self.reading.hidden:
            raise Hidden(self.reading.hidden)

    def _consumed(self, size: int, *, shown: bool) -> Iterator[Event | str]:
        """The next `size` characters are decided, with what is among them."""
        while size:
            what = self._queue[0]
            text = what if isinstance(what, str) else what.text if isinstance(what, Text) else ""
            part = text[self._at : self._at + size]
            size -= len(part)
            self._at += len(part)
            if self._at == len(text):
                self._queue.popleft()
                self._at = 0
            if not text:
                yield what
            elif shown:
                apart = self.inserter.separator(part)
                if apart:
                    yield apart
                self.inserter.shown(part)
                yield part if isinstance(what, str) else Text(part)
            elif not isinstance(what, str):
                yield Removed(part)
        while self._queue and not isinstance(self._queue[0], str | Text):
            yield self._queue.popleft()
