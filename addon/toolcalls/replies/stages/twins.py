"""Native calls that repeat a call that was made of the reply's text: they must not run twice.

Servers that read calls out of a reply's text sometimes leave the text standing as well, in front of the native call.
The text has become a call by then, so of the two it is the native one that is withdrawn (condition 6 the other way
round: a native call that came first makes its text no call). Each call that was made of text covers one native call.

A native call without arguments after a text call of its name is what a server made that could not read the text: it
goes, too, where the route mends that. In a whole reply native calls come before the text that is beside them, so
there one that lacks what its tool requires waits for the end.

Only a native call of the name of such a call is held, until it is whole or has grown past anything that could mean the
same. Native events after it wait, so that their order stays.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Reason, Verdict, Withdrawn
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import End, Item, Native, Stage

# How much longer the same object may be written: every character as an escape, and some white space.
_GROWTH = 8
_SPACE = 4096  # characters


_BLANKS = dict.fromkeys(map(ord, " \t\r\n"))


class _Suspect:
    """A native call that may be a repetition. `repeats` is None until that is known; `lacks`: without arguments it
    waits for the end.
    """

    __slots__ = ("lacks", "name", "pieces", "repeats", "room")

    def __init__(self, name: str, room: int, *, lacks: bool) -> None:
        self.name = name
        self.lacks = lacks
        self.pieces: list[str] = []
        self.repeats: bool | None = None
        self.room = room  # how many more characters of its arguments are compared


class Twins(Stage):
    """Withdraws the native calls of one lane that repeat a call that was made of its text.

    mends_empty   those without arguments, too
    lacking       whether a tool requires arguments, in a whole reply; None in a stream
    """

    looks_at = (Native,)

    def __init__(
        self, calls: Calls, *, mends_empty: bool = False, lacking: Callable[[str], bool] | None = None
    ) -> None:
        self._made = calls.repeatable
        self._mends_empty = mends_empty
        self._lacking = lacking if mends_empty else None
        self._suspects: dict[int, _Suspect] = {}
        self._queue: deque[Native] = deque()
        self._withdrawn: list[tuple[str, Reason]] = []  # names of repetitions that have no verdict yet

    @property
    def is_idle(self) -> bool:
        """Whether nothing is held, so that no event inside a call will be."""
        return not (self._queue or self._suspects)

    def feed(self, items: Iterable[Item]) -> Iterator[Item]:
        """Hold what may be a repetition, and the native events after it."""
        for item in items:
            if not isinstance(item, Native) or (self.is_idle and not self._begins_suspect(item)):
                yield item
                continue
            for part in item.parts:
                self._take(part)
            self._queue.append(item)
            yield from self._decided()

    def release(self) -> Iterator[Item]:
        """What is not whole yet passes."""
        return self.finish(End(None))

    def finish(self, end: End) -> Iterator[Item]:
        """What is whole is compared, what was cut off passes."""
        for suspect in self._suspects.values():
            if suspect.repeats is None:
                self._decide(suspect, whole=not end.cut)
        yield from self._decided()

    def _begins_suspect(self, item: Native) -> bool:
        starts = [part for part in item.parts if isinstance(part, CallStart)]
        return any(map(self._is_suspect, starts))

    def _is_suspect(self, start: CallStart) -> bool:
        return start.dialect is None and (start.name in self._made or self._lacks(start.name))

    def _lacks(self, name: str) -> bool:
        return self._lacking is not None and self._lacking(name)

    def _take(self, part: Event | str) -> None:
        if isinstance(part, CallStart):
            self._suspects.pop(part.index, None)  # some servers use an index again
            if self._is_suspect(part):
                room = _GROWTH * self._made.longest(part.name) + _SPACE
                self._suspects[part.index] = _Suspect(part.name, room, lacks=self._lacks(part.name))
        elif isinstance(part, CallPiece | CallEnd) and (suspect := self._suspects.get(part.index)):
            self._compare(suspect, part)

    def _compare(self, suspect: _Suspect, part: CallPiece | CallEnd) -> None:
        if suspect.repeats is not None:
            return
        if isinstance(part, CallEnd):
            if not (suspect.lacks and _is_empty(suspect.pieces)):
                self._decide(suspect, whole=True)
            return
        suspect.pieces.append(part.json)
        suspect.room -= len(part.json)
        if suspect.room < 0:
            self._decide(suspect, whole=False)

    def _decide(self, suspect: _Suspect, *, whole: bool) -> None:
        suspect.repeats = whole and self._made.take(suspect.name, "".join(suspect.pieces))
        if suspect.repeats:
            self._withdrawn.append((suspect.name, "repeated"))
        elif whole and self._mends_empty and _is_empty(suspect.pieces) and self._made.take_any(suspect.name):
            suspect.repeats = True
            self._withdrawn.append((suspect.name, "empty_beside_text"))
        suspect.pieces = []

    def _decided(self) -> Iterator[Item]:
        """The native events up to the first that is undecided, and a verdict for each repetition."""
        while self._queue and all(self._is_decided(part) for part in self._queue[0].parts):
            yield Native(tuple(self._left(self._queue.popleft())))
        withdrawn, self._withdrawn = self._withdrawn, []
        for name, reason in withdrawn:
            yield Verdict("blocked", reason, None, name, 0, 0)

    def _is_decided(self, part: Event | str) -> bool:
        suspect = self._suspects.get(_index(part))
        return suspect is None or suspect.repeats is not None

    def _left(self, item: Native) -> Iterator[Event | str]:
        for part in item.parts:
            index = _index(part)
            suspect = self._suspects.get(index)
            if suspect is None or not suspect.repeats:
                yield part
            elif not isinstance(part, CallEnd):
                yield Withdrawn(index)


def _is_empty(pieces: Sequence[str]) -> bool:
    """Whether these arguments say nothing."""
    return "".join(pieces).translate(_BLANKS) in {"", "{}"}


def _index(part: Event | str) -> int:
    """The index of the call that an event belongs to, -1 for none."""
    return part.index if isinstance(part, CallStart | CallPiece | CallEnd) else -1
