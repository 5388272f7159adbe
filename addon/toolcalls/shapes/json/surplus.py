"""One bracket or brace too many after a call's JSON: models count them wrong.

It goes with the call where the call's closer follows it, the next call, a line end, or the end of the text. Anywhere
else it is text.
"""

from collections.abc import Callable
from typing import Protocol

from toolcalls.events import Repair
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.text.scanner import Scanner, Step

_BRACKETS = ("}", "]")


class RepairSink(Protocol):
    """What repairs are reported to: a call, or what is not a call yet."""

    def note_repair(self, name: Repair) -> None:
        """As `CallSink.note_repair`."""


# Whether what may follow a call stands so many characters from here.
type Follows = Callable[[Scanner, int], Step[bool]]


def take_surplus(scan: Scanner, sink: RepairSink, follows: tuple[str, ...] | Follows) -> Step[None]:
    """Take such a bracket where one stands, and note it. `follows`: the marks after it, or what finds them."""
    space = yield from scan.space()
    if (yield from scan.among(_BRACKETS, space)) is None:
        return
    behind = space + 1
    end = yield from scan.space(behind)
    gap = scan.text[scan.pos + behind : scan.pos + end]
    if "\n" in gap or (scan.ended and end == scan.rest()):
        found = True
    elif isinstance(follows, tuple):
        found = (yield from closer_among(scan, follows, end))[1] > 0 or (scan.ended and scan.stops_short(follows, end))
    else:
        found = yield from follows(scan, end)
    if found:
        scan.take(behind)
        sink.note_repair("surplus_bracket")
