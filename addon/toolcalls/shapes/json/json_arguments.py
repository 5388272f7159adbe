"""A call's arguments as JSON: an object, or a string that holds one."""

import json

from toolcalls.shapes import Call, CallSink, Unwritable
from toolcalls.shapes.json.brokenjson import skip_json
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_values import value
from toolcalls.shapes.words import skip_past
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.backslashes import without_drives
from toolcalls.values.conversion import members

# What arguments begin with that are an object, or a JSON string that holds one, which may be encoded twice itself.
OBJECT_STARTS = ("{", '"{', '"\\"{')
_MOST_ENCODED = 2  # strings around an object of arguments


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


def checked(call: Call) -> Call:
    """The call as JSON dialects write it. Raises Unwritable for one without a name, and ValueError for arguments that
    are no JSON object.
    """
    if not call.name:
        raise Unwritable("a call without a name")
    return call._replace(arguments=written_arguments(call))


def written_arguments(call: Call) -> str:
    """A call's arguments as the readers of JSON take them for what they are. Raises ValueError where they are no JSON
    object.
    """
    members(call.arguments)
    return without_drives(call.arguments)
