"""The objects of an array that are calls, one after the other, and what closes it; what names none is passed over."""

from typing import NamedTuple

from toolcalls.shapes import CallSink
from toolcalls.shapes.json.callobject import CallObject
from toolcalls.shapes.json.surplus import take_surplus
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox


class ArrayCalls(NamedTuple):
    """What an array held.

    begun     a call was reported
    open      the last one has not been ended: whether it is one may hang on what comes after the array
    complete  the array is complete
    """

    begun: bool
    open: bool
    complete: bool


def call_array(
    scan: Scanner,
    sink: CallSink,
    tools: Toolbox,
    *,
    ends: tuple[str, ...] = (),
    not_calls: frozenset[str] = frozenset(),
) -> Step[ArrayCalls]:
    """An array of calls, or one object, that begins here. After a call that broke it goes on where that surely ends.

    ends        what ends the array wherever it stands
    not_calls   names that stand for no call at all; where there are some, arguments are held until their object ends
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
            return ArrayCalls(begun, opened, complete=True)
        item = CallObject(scan, sink, tools, stream=not not_calls)
        complete = yield from item.read()
        if not complete and item.name not in not_calls and (yield from item.skip_broken(ends)):
            complete = (yield from scan.among((",", "]"), (yield from scan.space()))) is not None
        elif complete and item.problem is None and not item.begun and item.name not in not_calls:
            item.begin()
        begun = begun or item.begun
        opened = item.begun
        if one or not complete:
            return ArrayCalls(begun, opened, complete)
        space = yield from scan.space()
        if (yield from scan.starts("}", space)):
            after = yield from scan.space(space + 1)
            if opened and (yield from scan.among((",", "]"), after)) is not None:
                sink.note_repair("surplus_bracket")
                space = after
        follows = yield from scan.among((",", "]"), space)
        if follows is None and opened and (yield from _ends_here(scan, ends, space)):
            sink.note_repair("missing_brace")
            return ArrayCalls(begun, opened, complete=True)
        if follows is None:
            return ArrayCalls(begun, opened, complete=False)
        scan.take(space + 1)
        if follows == "]":
            return ArrayCalls(begun, opened, complete=True)
        if opened:
            sink.end()


def _ends_here(scan: Scanner, ends: tuple[str, ...], ahead: int) -> Step[bool]:
    """Whether the array's bracket is missing: what ends it is here, or the text ends as it should."""
    if (yield from scan.among(ends, ahead)) is not None:
        return True
    return not scan.cut and scan.stops_short(ends, ahead)


def close(scan: Scanner, sink: CallSink, found: ArrayCalls, closer: str) -> Step[bool]:
    """End the last call of a complete array, and take `closer`, which may be missing. False where it was cut off."""
    if found.begun:
        yield from take_surplus(scan, sink, (closer,))
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
