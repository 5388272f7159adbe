"""JSON that is in a reply's text, read value by value while it arrives.

Each step takes what it reads from the scanner. Strict JSON passes as it was written; what the transducer repairs is
noted on the call.
"""

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.shapes import CallSink
from toolcalls.shapes.json.brokenjson import UNKNOWN
from toolcalls.shapes.json.closing import RepairSink
from toolcalls.shapes.words import word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.damaged_json import DamagedJson

MAX_NAME = 256  # characters of a name or key
QUOTES = ('"', "'")
_BARE = re.compile(r"[A-Za-z_$][\w$-]*+")  # a key without quotes


def value(
    scan: Scanner,
    sink: RepairSink,
    keep: Callable[[str], None],
    unclosed: list[str] | None = None,
    *,
    direct: bool = False,
) -> Step[bool]:
    """One JSON value that begins here; `keep` is given its pieces. Returns whether it is complete.

    direct     `keep` is the call's own, so that a piece that is all string may leave unread. It may keep back no more
               than a brace at the end of a piece
    unclosed   is given what closes each bracket that is open where the value cannot be read any further
    """
    reader = DamagedJson()
    while True:
        made, end = reader.feed(scan.text, scan.pos, final=scan.ended)
        scan.take(end - scan.pos)
        keep(made)
        if reader.done or reader.failed or scan.ended:
            break
        if direct and made and made[-1] != "}" and end == len(scan.text):
            scan.wake_on = reader.wake_on
            before = scan.streamed
            yield
            scan.wake_on = None
            reader.skip(scan.streamed - before)
        else:
            yield
    for repair in reader.repairs:
        sink.note_repair(repair)
    if reader.failed and unclosed is not None:
        unclosed += reader.unclosed
    return reader.done


class WholeValue(NamedTuple):
    """A value as strict JSON, and what had to be repaired."""

    json: str
    repairs: list[Repair]

    @property
    def text(self) -> str | None:
        """The text of a string, decoded; None for another value."""
        return str(json.loads(self.json)) if self.json.startswith('"') else None


def whole_value(
    scan: Scanner, limit: int | None = None, unclosed: list[str] | None = None, *, comments: bool = False
) -> Step[WholeValue | None]:
    """The JSON value that begins here, consumed; None where none does, or none within `limit` characters.

    unclosed   as for `value`
    comments   they may be in it. Else openers might be in them without end
    """
    reader = DamagedJson()
    pieces: list[str] = []
    room = limit
    while True:
        if room is None:
            made, end = reader.feed(scan.text, scan.pos, final=scan.ended)
            scan.take(end - scan.pos)
        else:
            made, size = reader.feed(scan.text[scan.pos : scan.pos + room], final=scan.ended)
            scan.take(size)
            room -= size
        pieces.append(made)
        if reader.done or reader.failed or room == 0 or scan.ended:
            break
        yield
    if not reader.done:  # a number may end where the text does
        reader.finish()
    if not reader.done and unclosed is not None:
        unclosed += (*reader.unclosed, *([UNKNOWN] if reader.in_token else []))
    if not reader.done or ("comment" in reader.repairs and not comments):
        return None
    return WholeValue("".join(pieces), reader.repairs)


def bare_key(scan: Scanner) -> Step[WholeValue | None]:
    """A word in the place of a key, consumed, as the string that it means; None where none stands."""
    found = yield from word(scan, _BARE)
    if not found:
        return None
    scan.take(len(found))
    return WholeValue(quote(found), ["bare_key"])


def string(scan: Scanner, sink: CallSink) -> Step[str | None]:
    """A JSON string that begins here, decoded; None for any other value, or one that is not complete."""
    pieces: list[str] = []
    if not (yield from value(scan, sink, pieces.append)):
        return None
    written = "".join(pieces)
    return str(json.loads(written)) if written.startswith('"') else None


def separated(scan: Scanner, literal: str, note: Callable[[Repair], None]) -> Step[bool]:
    """Take a comma or a colon of an object after white space; one that comes twice is one."""
    space = yield from scan.space()
    if not (yield from scan.starts(literal, space)):
        return False
    scan.take(space + 1)
    while (yield from scan.starts(literal, (space := (yield from scan.space())))):
        note("doubled_separator")
        scan.take(space + 1)
    return True
