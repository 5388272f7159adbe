"""A block of calls that are elements: one call, or the calls of one wrapper, and the closers after them."""

from collections.abc import Callable

from toolcalls.shapes import CallSink
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.tags.value_end import CALL_END, DUPLICATE_CLOSER
from toolcalls.text.scanner import Scanner, Step


def calls_of_block(scan: Scanner, one: Callable[[], Step[bool | None]], *, wrapped: bool) -> Step[bool]:
    """One call, or in a wrapper all that follow each other.

    one   reads the call that begins here. Returns whether it is complete, None where none begins.

    Returns whether there is a call and the last one is complete.
    """
    begun = False
    while (complete := (yield from one())) is not None:
        begun = True
        if not complete:
            return False
        if not wrapped:
            break
        scan.take((yield from scan.space()))
    return begun


def block_end(scan: Scanner, sink: CallSink, ends: Tags, *, wrapped: bool, closers: tuple[str, ...] = ()) -> Step[bool]:
    """Take the closers after the last call, also those that are written twice.

    ends      a call's closer, of the kind `call_end`, and its wrapper's
    wrapped   a wrapper was opened, whose closer may be missing where the text ends
    closers   that closer as it may be spelt

    Returns whether what was taken belongs to the block.
    """
    own, open_ = False, wrapped
    while True:
        space = yield from scan.space()
        kind, length = yield from ends.at(scan, space)
        if not length:
            break
        scan.take(space + length)
        own = True
        if kind == CALL_END or (wrapped and not open_):
            sink.note_repair(DUPLICATE_CLOSER)
        open_ = open_ and kind == CALL_END
        if kind != CALL_END:
            sink.leave_open(())
    if open_ and not scan.ended:
        sink.leave_open(closers)
    if open_ and scan.ended:
        sink.note_repair("missing_closer")
        scan.take(scan.rest())
        return True
    return own
