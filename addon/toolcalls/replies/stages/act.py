"""A route's processors: rules, loop guard, reactors and filters. They hold a call until they have decided it."""

from collections.abc import Iterable, Iterator

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Text
from toolcalls.processors import Left, Processing
from toolcalls.replies.stages import ITEMS, End, Item, Native, Stage


class Act(Stage):
    """Lets the processors of one lane act on calls and text.

    `quiet`, `passed`, `streams`, `held` and `passes_piece` are what the short ways ask, see `Processing`.
    """

    looks_at = ITEMS

    def __init__(self, processing: Processing) -> None:
        self.quiet = processing.quiet
        self.passed = processing.passed
        self.streams = processing.streams
        self.held = processing.held
        self.passes_piece = processing.passes_piece
        self._processing = processing

    def feed(self, items: Iterable[Item]) -> Iterable[Item]:
        """What leaves the processors. Events that were read at once go in at once."""
        items = list(items)
        item = items[0] if len(items) == 1 else None
        if isinstance(item, Text) and self.quiet(item.text) and self.passed(item.text):
            return items
        if isinstance(item, Native) and isinstance(event := item.parts[0], CallStart | CallPiece | CallEnd):
            return self.leaving(self._processing.native(event))
        return self._left(items)

    def _left(self, items: Iterable[Item]) -> Iterator[Item]:
        read: list[Event] = []
        for item in items:
            if not isinstance(item, Native | str):
                read.append(item)
                continue
            if read:
                yield from self.leaving(self._processing.read(read))
                read = []
            if isinstance(item, str):
                yield item
                continue
            (event,) = item.parts
            if isinstance(event, CallStart | CallPiece | CallEnd):
                yield from self.leaving(self._processing.native(event))
        if read:
            yield from self.leaving(self._processing.read(read))

    @property
    def adds_at_end(self) -> bool:
        return self._processing.adds_at_end

    def release(self) -> Iterable[Item]:
        """Calls that are undecided count as ones that will never be whole."""
        return self.leaving(self._processing.release())

    def finish(self, end: End) -> Iterable[Item]:
        return self.leaving(self._processing.finish(cut=end.cut))

    @staticmethod
    def leaving(left: Iterable[Left]) -> list[Item]:
        """What has left the processors, as items."""
        return [Native(what) if isinstance(what, tuple) else what for what in left]
