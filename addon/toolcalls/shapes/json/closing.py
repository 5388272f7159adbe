"""What closes a call behind its JSON: brackets that are too many, and closers that may be missing.

Models count brackets wrong. One bracket or brace too many goes with the call where the call's closer follows it, the
next call, a line end, or the end of the text. Anywhere else it is text.
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


def take_closer(scan: Scanner, sink: RepairSink, closers: tuple[str, ...], end: Callable[[], None]) -> Step[bool]:
    """End a call with `end`, and take one of `closers` after white space. One that is missing is noted.

    Returns whether the call is complete: not where the reply was cut off in front of its closer.
    """
    space = yield from scan.space()
    _, length = yield from closer_among(scan, closers, space)
    short = not length and scan.stops_short(closers)
    if short and scan.cut:
        scan.take(scan.rest())
        return False
    scan.take(space + length if length else 0)
    end()
    if not length:
        sink.note_repair("missing_closer")
        scan.take(scan.rest() if short else 0)
    return True
