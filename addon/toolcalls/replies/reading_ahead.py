"""What a reply that is all here says about its own beginning: whether its text began inside reasoning, and up to where.

Its text is read once more, ahead of everything else, and only where a closer of reasoning is in it. A stream cannot
be: there, what is in front of such a closer has left.
"""

from collections.abc import Callable, Iterable

from toolcalls.events import CallStart, Reasoning, Text
from toolcalls.reading.reader import Reader
from toolcalls.reading.unopened_reasoning import holds_closer
from toolcalls.text.markdown import Position
from toolcalls.wires import Part


def reasoning_ends(
    parts: Iterable[Part], reader: Callable[[Position], Reader], first: Position, *, joined: bool
) -> dict[int, int]:
    """For each lane whose text began inside reasoning: the offset of the closer, or where the lane ends before it.

    reader   makes a reader for a text that begins at a place
    first    where the reply's text begins
    joined   the lanes are parts of one message, one after the other
    """
    parts = list(parts)
    if not any(isinstance(event, Text) and holds_closer(event.text) for _, event in parts):
        return {}
    ends: dict[int, int] = {}
    groups = [parts] if joined else [[part for part in parts if part[0] == lane] for lane in dict(parts)]
    for group in groups:
        ends |= _ends_in(group, reader, first)
    return ends


def _ends_in(parts: list[Part], reader: Callable[[Position], Reader], first: Position) -> dict[int, int]:
    """As `reasoning_ends`, for the parts of one message."""
    before: dict[int, int] = {}  # the lanes so far, and how long their text is
    reading: Reader | None = None
    place = first.copy()
    for lane, event in parts:
        if isinstance(event, Reasoning):
            return {}
        if isinstance(event, CallStart) and reading is not None:
            reading.finish(cut=False)
        if not isinstance(event, Text):
            continue
        if lane not in before:
            if reading is not None:
                reading.finish(cut=False)
                place = reading.next_block()
            reading = reader(place)
            before[lane] = 0
        if reading is not None:
            reading.feed(event.text)
            before[lane] += len(event.text)
            if (end := reading.unopened.began_inside) is not None:
                return before | {lane: end}
            if reading.unopened.reasoning_is_over:
                return {}
    return {}
