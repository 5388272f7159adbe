"""What stands in the places of native calls that came as a whole: they, others made in their places, or nothing.

A wire whose replies are rows (of blocks, of items) asks this when it writes such a row again. It knows nothing of JSON:
the wire says what a call is in its own form (`Told`, made its own), and by which of its items it is known.
"""

from collections.abc import Callable, Iterable, Sequence

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Withdrawn


class Told:
    """A call in a whole reply, with its events as they came, each with its lane."""

    def __init__(self, start: CallStart, lane: int = 0) -> None:
        self.start = start
        self.parts: list[tuple[int, Event]] = [(lane, start)]
        self.pieces: list[str] = []
        self.complete = False

    def take(self, lane: int, event: CallPiece | CallEnd) -> None:
        """Its next event."""
        self.parts.append((lane, event))
        if isinstance(event, CallPiece):
            self.pieces.append(event.json)
        else:
            self.complete = True

    @property
    def written(self) -> str:
        """Its argument JSON, as far as it came."""
        return "".join(self.pieces)


class Standing[Call: Told, Item]:
    """What stands in the places of native calls.

    Processors let each of them tell in turn what has become of it. Where calls become text only those are told that
    could not, and are known by what they are: no id tells calls apart, for some servers give none or one to several.

    items      of the native calls, as they came
    parts      what has become of them, each event with its lane; other events stand among these
    make       a call that begins in a lane
    stands_in  whether a call is the native one of an item, as it came

    in_order   each has told
    behind     calls that have no place
    rest       the parts that are of no native call
    """

    def __init__(
        self,
        items: Sequence[Item],
        parts: Iterable[tuple[int, Event]],
        make: Callable[[CallStart, int], Call],
        stands_in: Callable[[Call, Item], bool],
    ) -> None:
        self.rest: list[tuple[int, Event]] = []
        self.behind: list[Call] = []
        self._make = make
        self._stands_in = stands_in
        told = self._told(parts)
        self.in_order = len(told) == len(items)
        if not self.in_order:
            self.behind = [call for call in told if call is not None]
            told = [self._known(item) for item in items]
        self._places = iter(told)

    def next(self) -> Call | None:
        """The call that stands in the next one's place."""
        return next(self._places)

    def _known(self, item: Item) -> Call | None:
        """The call that is this item's, taken from those that have no place."""
        found = next((place for place, call in enumerate(self.behind) if self._stands_in(call, item)), None)
        return None if found is None else self.behind.pop(found)

    def _told(self, parts: Iterable[tuple[int, Event]]) -> list[Call | None]:
        told: list[Call | None] = []
        calls: dict[tuple[int, int], Call] = {}
        before: Event | None = None
        gone = -1
        for lane, event in parts:
            if isinstance(event, Withdrawn):
                told += [None] if event.index != gone else []
                gone = event.index
            elif isinstance(event, CallStart) and (event.dialect is None or isinstance(before, Withdrawn)):
                calls[lane, event.index] = call = self._make(event, lane)
                if event.dialect is None:
                    told.append(call)
                    gone = -1
                else:
                    told[-1] = call  # made anew
            elif isinstance(event, CallPiece | CallEnd) and (lane, event.index) in calls:
                calls[lane, event.index].take(lane, event)
            else:
                self.rest.append((lane, event))
            before = event
        return told
