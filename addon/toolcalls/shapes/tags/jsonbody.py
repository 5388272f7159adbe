"""A call's arguments as one JSON object between its tags, in forms whose arguments are tags of their own as a rule.

The object ends where its braces say, and leaves as it comes. What no reading makes an object is the broken call's up to
its closer, and is never searched for other calls.
"""

from collections.abc import Callable

from toolcalls.shapes import CallSink
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import object_arguments
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.text.scanner import Scanner, Step


def json_body(
    scan: Scanner,
    sink: CallSink,
    ends: Tags,
    next_call: Callable[[Scanner, int], Step[int]],
    *,
    in_parentheses: bool = False,
) -> Step[bool]:
    """The object that begins here, and the call's closer. Returns whether the call is complete.

    ends        what ends a call: its own closer, of the kind `call_end`, and its wrapper's, which is left unread
    next_call   how long the opening of another call is that stands so many characters from here, 0 for none: then the
                closer is missing
    in_parentheses   a parenthesis closes after the object
    """
    complete = yield from object_arguments(scan, sink)
    if not complete and scan.ended:
        return False
    if complete and in_parentheses:
        yield from accept(scan, ")")
    if complete:
        yield from take_surplus(scan, sink, lambda scan, ahead: _ends_at(scan, ends, ahead))
    space = yield from scan.space()
    kind, length = yield from ends.at(scan, space)
    if complete and kind == "call_end":
        scan.take(space + length)
        sink.end()
        return True
    again = complete and not kind and (yield from next_call(scan, space))
    if complete and (kind or again or (ends.stops_short(scan) and not scan.cut)):
        sink.note_repair("missing_closer")
        if not kind and not again:
            scan.take(scan.rest())
        sink.end()
        return True
    if complete and ends.stops_short(scan):
        scan.take(scan.rest())
        return False
    sink.fail()
    yield from skip(scan, ends)
    return False


def _ends_at(scan: Scanner, ends: Tags, ahead: int) -> Step[bool]:
    return bool((yield from ends.at(scan, ahead))[1])


def skip(scan: Scanner, ends: Tags) -> Step[None]:
    """Consume what is left of a broken call."""
    while True:
        at = scan.text.find("<", scan.pos)
        scan.take((at if at >= 0 else len(scan.text)) - scan.pos)
        if at >= 0:
            _, length = yield from ends.at(scan)
            scan.take(length or 1)
            if length:
                return
        elif scan.ended:
            return
        else:
            yield
