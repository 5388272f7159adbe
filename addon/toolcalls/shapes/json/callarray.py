"""What closes an array of calls."""

from toolcalls.shapes import CallSink
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.text.scanner import Scanner, Step


def close(scan: Scanner, sink: CallSink, found: CallReader, closer: str) -> Step[bool]:
    """End the last call of a complete array, and take `closer`, which may be missing. False where it was cut off."""
    if found.begun:
        yield from take_surplus(scan, sink, (closer,))
    space = yield from scan.space()
    closed = yield from scan.starts(closer, space)
    short = not closed and scan.stops_short((closer,))
    if short and scan.cut:
        scan.take(scan.rest())
        return False
    found.end()
    if closed:
        scan.take(space + len(closer))
    elif found.begun:
        sink.note_repair("missing_closer")
        scan.take(scan.rest() if short else 0)
    return True
