"""Rules over the text that a text client gets: a call in it that a rule blocks does not leave, whoever wrote it.

What leaves the row waits in a queue, in order, until `ScreenedText` has decided its text. Where a call is too large to
be held until a rule is decided, where there are too many, or where one that began before the lane's end might go on
after it, no text is shown from there on.
"""

from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from toolcalls.events import Event, Markup, Note, Removed, Text, Verdict
from toolcalls.processors.careless_calls import Hidden
from toolcalls.processors.guarded_text import GuardedText
from toolcalls.processors.screening import ScreenedText, TooManyCandidates
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import ITEMS, End, Item, Stage


class Screening(Stage):
    """Removes blocked calls from a lane's text as it leaves. `room`: how many undecided characters may be held."""

    looks_at = ITEMS

    def __init__(self, screened: ScreenedText | GuardedText, calls: Calls, *, room: int) -> None:
        self._screened = screened
        self._calls = calls
        self._room = room
        self._silent = False  # no text is shown any more
        self._ended_early = False  # text was decided by the lane's end: what follows might make a call of it
        self._queue: deque[tuple[Item, str]] = deque()  # each item with its text
        self._held = 0  # characters in the queue that are undecided
        self._at = 0  # how many of its first text's are decided
        self._in_removed: list[Verdict] = []  # verdicts of the row whose text was removed
        self._unmatched: list[Verdict] = []  # verdicts of blocked calls that are none of the row's so far

    def feed(self, items: Iterable[Item]) -> Iterator[Item]:
        """What has become of the items, and of those before them that were not decided."""
        for item in items:
            text = item if isinstance(item, str) else item.text if isinstance(item, Text) else ""
            if self._ended_early and not self._silent and text.strip():
                yield from self._give_up("it goes on behind the reply's end")
            if text and not (self._queue or self._silent) and self._screened.passes(text):
                yield from self._take_in_removed()
                yield item
                continue
            if not (text or self._queue or isinstance(item, Verdict)):
                yield item
                continue
            self._queue.append((item, text))
            self._held += len(text)
            if text and not self._silent:
                yield from self._decided(self._screened.read(text))
            if self._held > self._room:
                yield from self._give_up("max_call_chars")
            if self._silent:
                yield from self._consumed(self._held, shown=False)
            yield from self._leaving()

    def finish(self, end: End) -> Iterator[Item]:  # noqa: ARG002 - it is the same at every end
        # What this addon has written are whole calls.
        self._ended_early = self._ended_early or any(isinstance(item, Text) for item, text in self._queue if text)
        if not self._silent:
            yield from self._decided(self._screened.finish())
        yield from self._consumed(self._held, shown=not self._silent)
        yield from self._take_in_removed()
        yield from self._leaving()
        unmatched, self._unmatched = self._unmatched, []
        yield from unmatched

    def _decided(self, decided: Iterator[Event | str]) -> Iterator[Item]:
        try:
            for what in decided:
                if isinstance(what, str):
                    yield what
                elif isinstance(what, Verdict):
                    yield from self._blocked(what)
                elif isinstance(what, Text | Markup | Removed):
                    yield from self._consumed(len(what.text), shown=isinstance(what, Text))
        except TooManyCandidates:
            yield from self._give_up("max_candidates")
        except Hidden as why:
            yield from self._give_up(str(why))

    def _give_up(self, limit: str) -> Iterator[Item]:
        """What is undecided and what follows is not looked at, so it is not shown."""
        if not self._silent:
            self._silent = self._calls.broken_off = True
            said = f"a rule may block what is not looked at ({limit}), so no text is shown from there on"
            yield Note("access", said, True)

    def _consumed(self, size: int, *, shown: bool) -> Iterator[Item]:
        """The next `size` characters are decided, and leave only if they are `shown`."""
        if shown:
            yield from self._take_in_removed()
        self._held -= size
        while size:
            item, text = self._queue[0]
            part = text[self._at : self._at + size]
            size -= len(part)
            self._at += len(part)
            if self._at == len(text):
                self._queue.popleft()
                self._at = 0
            if not text:
                yield from self._without_text(item, removed=not shown)
            elif isinstance(item, str):
                yield from [part] if shown else []
            else:
                yield Text(part) if shown else Removed(part)

    def _leaving(self) -> Iterator[Item]:
        """What comes after no text that is undecided."""
        while self._queue and not self._queue[0][1]:
            yield from self._without_text(self._queue.popleft()[0], removed=self._screened.removing)

    # One verdict for each call

    def _take_in_removed(self) -> list[Verdict]:
        """The verdicts of the row whose text was removed, but which are about no call that was blocked."""
        taken, self._in_removed = self._in_removed, []
        return taken

    def _blocked(self, blocked: Verdict) -> Iterator[Item]:
        """A call was removed. The row has judged it already, or will, or has not seen it: it has one verdict."""
        about = [verdict for verdict in self._in_removed if verdict.name is None or _same(verdict, blocked)]
        if not about:
            self._unmatched.append(blocked)
            return
        mine = next((verdict for verdict in about if verdict.name is not None), None)
        if mine is not None:
            self._in_removed.remove(mine)
        else:  # no name was read there, but perhaps more than one beginning
            end = about[0].start + blocked.end - blocked.start
            mine = msgspec.structs.replace(about[0], name=blocked.name, end=end)
            self._in_removed = [verdict for verdict in self._in_removed if verdict.name is not None]
        yield self._as_blocked(mine, blocked)

    def _without_text(self, item: Item, *, removed: bool) -> Iterator[Item]:
        """An item that is no text. `removed`: it is among text that was removed."""
        if not isinstance(item, Verdict) or item.status == "blocked" or item.rule is not None:
            yield item
            return
        for place, blocked in enumerate(self._unmatched):
            if _same(item, blocked):
                del self._unmatched[place]
                yield self._as_blocked(item, blocked)
                return
        if removed:
            self._in_removed.append(item)
        else:
            yield item

    def _as_blocked(self, verdict: Verdict, blocked: Verdict) -> Verdict:
        """The row's verdict of a call that was removed, which the client is not given."""
        self._calls.withhold(verdict.index)
        if verdict.name != blocked.name:
            return blocked
        return msgspec.structs.replace(
            verdict,
            status=blocked.status,
            reason=blocked.reason,
            rule=blocked.rule,
            changes=blocked.changes,
            index=None,
        )


def _same(verdict: Verdict, blocked: Verdict) -> bool:
    """Whether a verdict of the row is about a call that was removed. Another dialect may have read its markup, too."""
    return verdict.name == blocked.name or (verdict.start, verdict.end) == (blocked.start, blocked.end)
