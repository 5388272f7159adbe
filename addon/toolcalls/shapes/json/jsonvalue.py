"""JSON that is in a reply's text, read piece by piece: what all forms share whose arguments are JSON.

Each step takes what it reads from the scanner. Strict JSON passes as it was written; what the transducer repairs is
noted on the call.
"""

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.shapes import Call, CallSink, Unwritable
from toolcalls.shapes.json.brokenjson import UNKNOWN, skip_json
from toolcalls.shapes.json.closing import RepairSink, take_surplus
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.shapes.words import skip_past, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, quote
from toolcalls.values.damaged_json import DamagedJson

# What arguments begin with that are an object, or a JSON string that holds one, which may be encoded twice itself.
OBJECT_STARTS = ("{", '"{', '"\\"{')
_MOST_ENCODED = 2  # strings around an object of arguments
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


def json_call(scan: Scanner, sink: CallSink, name: str, marks: tuple[str, ...] = ()) -> Step[bool]:
    """A call whose arguments are the JSON that begins here, and which ends with it. `marks` may come after it.

    Returns whether its end was found: that of broken JSON is where its brackets are closed.
    """
    sink.begin(name)
    whole = yield from own_arguments(scan, sink)
    if whole:
        sink.end()
        yield from take_surplus(scan, sink, marks)
    return whole


def own_arguments(
    scan: Scanner, sink: CallSink, past: tuple[str, ...] = (), before: tuple[str, ...] = ()
) -> Step[bool]:
    """The arguments of a call that has begun, which start here. What is broken in them is the call's own as well.

    past, before   as the ends of `skip_past`: what broken arguments are read up to; () where their brackets say it

    Returns whether their end was found, after which the call may be closed.
    """
    unclosed = list[str]()
    if (yield from object_arguments(scan, sink, unclosed)):
        return True
    if not scan.rest() and scan.ended:
        return False
    sink.fail()
    if past:
        yield from skip_past(scan, past, before=before)
        return False
    return bool(unclosed) and (yield from skip_json(scan, unclosed))


def string(scan: Scanner, sink: CallSink) -> Step[str | None]:
    """A JSON string that begins here, decoded; None for any other value, or one that is not complete."""
    pieces: list[str] = []
    if not (yield from value(scan, sink, pieces.append)):
        return None
    written = "".join(pieces)
    return str(json.loads(written)) if written.startswith('"') else None


def object_of(scan: Scanner, keys: tuple[str, ...], ahead: int) -> Step[bool]:
    """Whether one of `OBJECT_STARTS` is here with nothing in it, or with one of these keys as its first."""
    start = yield from scan.among(OBJECT_STARTS, ahead)
    if start is None:
        return False
    first = yield from scan.space(ahead + len(start))
    marks = ("'", "\\" * start.count("\\") * 2 + '\\"' if start[0] == '"' else '"')
    return (yield from scan.among((*(mark + key + mark for key in keys for mark in marks), "}"), first)) is not None


def object_arguments(scan: Scanner, sink: CallSink, unclosed: list[str] | None = None) -> Step[bool]:
    """The arguments of a call that has begun, which start here with one of `OBJECT_STARTS`. Returns whether complete.

    An object leaves while it arrives; one in a string leaves when it is whole. `unclosed` as for `value`.
    """
    if (yield from scan.starts("{")):
        return (yield from value(scan, sink, sink.piece, unclosed, direct=True))
    found = yield from call_arguments(scan, sink)
    sink.piece(found or "")
    return found is not None


def call_arguments(scan: Scanner, sink: CallSink) -> Step[str | None]:
    """The whole arguments of a call that begin here, as `argument_object` has them; None where they are none."""
    pieces: list[str] = []
    if not (yield from value(scan, sink, pieces.append)):
        return None
    written = "".join(pieces)
    found = argument_object(written)
    if found is not None and is_double_encoded(written):
        sink.note_repair("double_encoded")
    return found


def argument_object(written: str) -> str | None:
    """The JSON text of the object that stands for a call's arguments, None where `written` (strict JSON) is none.

    An object, a string that holds one (in which another string may), or nothing: null and the empty string are `{}`.
    """
    text, level = written, 0
    while text.startswith('"') and level < _MOST_ENCODED:
        try:
            text = str(json.loads(text)).strip() or "{}"
        except ValueError:
            return None
        level += 1
    if text == "null":
        return "{}"
    try:
        members(text)
    except ValueError:
        return None
    return text


def is_double_encoded(written: str) -> bool:
    """Whether a string stands for a call's arguments (strict JSON), in the place of the object that it holds."""
    return written.startswith('"') and written != '""'


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


def accept(scan: Scanner, *literals: str) -> Step[bool]:
    """Take one of `literals` after white space; False, and nothing taken, where something else stands.

    White space may be in it where it is a closing tag.
    """
    space = yield from scan.space()
    found, length = yield from closer_among(scan, literals, space)
    if found is None:
        return False
    scan.take(space + length)
    return True


def checked(call: Call) -> Call:
    """The call. Raises Unwritable for one without a name, and ValueError where its arguments are no JSON object."""
    if not call.name:
        raise Unwritable("a call without a name")
    members(call.arguments)
    return call
