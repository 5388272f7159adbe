"""Native calls that repeat what the client has been given already, out of the reply's text: they must not run twice.

Servers that read calls out of a reply's text sometimes leave the text standing as well, in front of the native call.
The text has become a call by then, so of the two it is the native one that stays away (condition 6 the other way round:
a native call that came first makes its text no call). Each call that was made of text stands for one native call.

Only a native call of the name of such a call is held, until it is whole or has grown past anything that could mean the
same, and what comes behind it in its lane keeps its order.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Withdrawn
from toolcalls.values.call_index import CallIndex

# How much longer the same object may be written: every character as an escape, and some white space.
_GROWTH = 8
_SPACE = 4096  # characters

# What has become of one native event: itself, nothing, or other events and texts in its place.
type Parts = tuple[Event | str, ...]


class _Held:
    """A native call that may be a repetition. `repeats` is None until that is known."""

    __slots__ = ("name", "pieces", "repeats", "room")

    def __init__(self, name: str, room: int) -> None:
        self.name = name
        self.pieces: list[str] = []
        self.repeats: bool | None = None
        self.room = room  # characters of its arguments that are still waited for


class Twins:
    """The native calls of one lane.

    given   the whole calls that were made of the lane's text; the owner adds them as they come, and those whose
            repetition was found are taken out
    """

    def __init__(self, given: CallIndex) -> None:
        self._given = given
        self._calls: dict[int, _Held] = {}
        self._queue: deque[Parts] = deque()
        self.gone: list[str] = []  # names of calls that do not leave, and of which nobody was told yet

    def waits(self, event: Event) -> bool:
        """Whether an event is to be given to `take`: it begins a call that may be a repetition, or comes behind one."""
        return bool(self._queue) or event_index(event) in self._calls or self._suspects(event)

    def _suspects(self, event: Event | str) -> bool:
        return isinstance(event, CallStart) and event.dialect is None and event.name in self._given

    def take(self, parts: Parts) -> Iterator[Parts]:
        """What has become of the next native event elsewhere. Yields the rows that are decided, in order."""
        for part in parts:
            if isinstance(part, CallStart):
                self._calls.pop(part.index, None)  # some servers use an index again
                if self._suspects(part):
                    self._calls[part.index] = _Held(part.name, _GROWTH * self._given.longest(part.name) + _SPACE)
            elif isinstance(part, CallPiece | CallEnd) and (call := self._calls.get(part.index)):
                self._goes_on(call, part)
        self._queue.append(parts)
        yield from self._decided()

    def finish(self, *, cut: bool) -> Iterator[Parts]:
        """Nothing follows. `cut`: what is not whole never will be."""
        for call in self._calls.values():
            if call.repeats is None:
                self._decide(call, whole=not cut)
        yield from self._decided()

    def _goes_on(self, call: _Held, part: CallPiece | CallEnd) -> None:
        if call.repeats is not None:
            return
        if isinstance(part, CallEnd):
            self._decide(call, whole=True)
            return
        call.pieces.append(part.json)
        call.room -= len(part.json)
        if call.room < 0:
            self._decide(call, whole=False)

    def _decide(self, call: _Held, *, whole: bool) -> None:
        call.repeats = whole and self._given.take(call.name, "".join(call.pieces))
        call.pieces = []
        if call.repeats:
            self.gone.append(call.name)

    def _decided(self) -> Iterator[Parts]:
        while self._queue and all(self._known(part) for part in self._queue[0]):
            yield tuple(self._left(self._queue.popleft()))

    def _known(self, part: Event | str) -> bool:
        call = self._calls.get(event_index(part))
        return call is None or call.repeats is not None

    def _left(self, parts: Sequence[Event | str]) -> Iterator[Event | str]:
        for part in parts:
            index = event_index(part)
            call = self._calls.get(index)
            if call is None or not call.repeats:
                yield part
            elif not isinstance(part, CallEnd):
                yield Withdrawn(index)


def event_index(part: Event | str) -> int:
    """The index of the call that an event is of, -1 for none."""
    return part.index if isinstance(part, CallStart | CallPiece | CallEnd) else -1
