"""The objects of an array that are calls, one after the other, and what closes it; what names none is passed over."""

from typing import NamedTuple

from toolcalls.shapes import CallSink
from toolcalls.shapes.callobject import CallObject
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox


class Found(NamedTuple):
    """What an array held.

    begun   a call was told
    open    the last one has not been ended: whether it is one may hang on what stands behind the array
    whole   the array is complete
    """

    begun: bool
    open: bool
    whole: bool


def call_array(scan: Scanner, sink: CallSink, tools: Toolbox, *, none: frozenset[str] = frozenset()) -> Step[Found]:
    """An array of calls, or one object, that begins here.

    none   names that stand for no call at all; where there are some, arguments are held until their object has ended
    """
    one = yield from scan.starts("{")
    scan.take(0 if one else 1)
    begun = opened = False
    while True:
        scan.take((yield from scan.space()))
        if begun and (yield from scan.starts("]")):
            scan.take(1)
            if opened:
                sink.note_repair("trailing_comma")
            return Found(begun, opened, whole=True)
        item = CallObject(scan, sink, tools, stream=not none)
        whole = yield from item.read()
        if whole and item.problem is None and not item.begun and item.name not in none:
            item.begin()
        begun = begun or item.begun
        opened = item.begun
        if one or not whole:
            return Found(begun, opened, whole)
        space = yield from scan.space()
        follows = yield from scan.among((",", "]"), space)
        if follows is None:
            return Found(begun, opened, whole=False)
        scan.take(space + 1)
        if follows == "]":
            return Found(begun, opened, whole=True)
        if opened:
            sink.end()


def close(scan: Scanner, sink: CallSink, found: Found, closer: str) -> Step[bool]:
    """End the last call of a whole array, and take `closer`, which may be missing. False where it was cut off."""
    space = yield from scan.space()
    closed = yield from scan.starts(closer, space)
    short = not closed and scan.stops_short((closer,))
    if short and scan.cut:
        scan.take(scan.rest())
        return False
    if found.open:
        sink.end()
    if closed:
        scan.take(space + len(closer))
    elif found.begun:
        sink.note_repair("missing_closer")
        scan.take(scan.rest() if short else 0)
    return True
