"""Calls out as text: what a client that speaks a dialect is given instead of native calls.

A call is written only if it reads back as itself (law 7). That is checked here, once, with the reader that the project
has anyway, so no dialect can hand a client something that means another call.
"""

import json
import re
from collections.abc import Sequence
from operator import itemgetter

from toolcalls.dialects import grammar
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Repair, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route, Taken
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.conversion import members, quote
from toolcalls.values.toolbox import Toolbox

_TEXT = frozenset({"string"})
_IN_ATTRIBUTE = re.compile(r"""(<[^\s<>]+)\s+([^\s=<>]+)\s*=\s*["']?""")  # a tag up to the name of a tool


def write(dialect: str, calls: Sequence[Call], tools: Toolbox) -> str:
    """`calls` as text in `dialect`. Raises `Unwritable` with the reason for what the dialect cannot hold."""
    try:
        text = grammar(dialect).write(calls, tools)
    except Unwritable:
        raise
    except ValueError as error:
        raise Unwritable(f"the arguments are not a JSON object: {error}") from error
    if not same_calls(_read(dialect, text, tools), calls):
        names = ", ".join(call.name for call in calls)
        raise Unwritable(f"{names}: what {dialect} writes would be read back as something else")
    return text


def held(dialect: str, call: Call, tools: Toolbox) -> tuple[Call, tuple[Repair, ...]]:
    """The call as a dialect can hold it for this client, and the repair where that is another one.

    A form that shows types, such as JSON, keeps them. In any other, values are text to a client without schemas.
    """
    try:
        write(dialect, [call], tools)
    except Unwritable:
        text = as_text(call, tools)
        return text, ("value_as_text",) if text.arguments != call.arguments else ()
    return call, ()


def as_text(call: Call, tools: Toolbox) -> Call:
    """`call` with its values as strings where the client declared it in prose; itself where nothing changes.

    A native `false` or `{"a": 1}` is what a client without schemas reads as the text `false` or `{"a": 1}`. Prose that
    names types (OpenHands') is a schema, and a value of such a parameter stays what it is.
    """
    if not tools.textual:
        return call
    try:
        pairs = members(call.arguments)
    except ValueError:
        return call
    stays = {key for key, raw in pairs if raw.startswith('"') or "string" not in (tools.types(call.name, key) or _TEXT)}
    if all(key in stays for key, _ in pairs):
        return call
    written = ",".join(f"{quote(key)}:{raw if key in stays else quote(raw)}" for key, raw in pairs)
    return Call(call.name, f"{{{written}}}")


def separated(before: str, text: str, route: Route) -> str:
    """`text` with the line ends that part it from `before`, as many as the route asks for and no more."""
    if not before or not route.prepend_newlines:
        return text
    stands = len(before) - len(before.rstrip("\n"))
    return "\n" * max(0, route.newline_count - stands) + text


def stands(dialect: str, text: str, calls: Sequence[Call], tools: Toolbox) -> bool:
    """Whether `text` is these calls in `dialect` and nothing else, with nothing that a reader must put right."""
    events = _events(dialect, text, tools)
    repaired = any(isinstance(event, Verdict) and event.repairs for event in events)
    shown = any(isinstance(event, Text) and event.text.strip() for event in events)
    try:
        return not (repaired or shown) and same_calls(calls_in(events), calls)
    except ValueError:
        return False


def reads(dialect: str, text: str, call: Call, tools: Toolbox) -> bool:
    """Whether a client that reads `dialect` finds this call in `text`, and no other."""
    take: tuple[Taken, ...] = (
        ("undeclared", "escaped") if grammar(dialect).place == "message" else ("undeclared", "escaped", "inline")
    )
    found = calls_in(_events(dialect, text, tools, take))
    try:
        return same_calls(found, [call])
    except ValueError:
        return False


def begins(dialect: str, text: str, name: str, tools: Toolbox) -> bool:
    """Whether `text` begins as calls of this tool do in `dialect`: with the tag that names it, in a wrapper or not.

    Where an attribute names it, others may be beside that one, and its quotes are any.
    """
    try:
        written = grammar(dialect).write([Call(name, "{}")], tools)
    except ValueError:  # what a dialect cannot hold, too
        return False
    at = written.find(name)
    tag = written.rfind("<", 0, at)
    if at < 0 or tag < 0:
        return False
    text = text.lstrip().removeprefix(written[:tag].strip()).lstrip()
    if text.startswith(written[tag : at + len(name) + 1]):
        return True
    attribute = _IN_ATTRIBUTE.fullmatch(written, tag, at)
    if attribute is None:
        return False
    element, key = map(re.escape, attribute.groups())
    return re.match(rf"""{element}\s(?:[^<>]*?\s)??{key}\s*=\s*["']?{re.escape(name)}["'\s/>]""", text) is not None


def same_calls(found: Sequence[Call], calls: Sequence[Call]) -> bool:
    """Whether calls mean the same, in this order: their names and their arguments, but for the freedom JSON leaves.

    Raises ValueError where the arguments are no JSON object.
    """
    return [_meaning(one) for one in found] == [_meaning(call) for call in calls]


def _read(dialect: str, text: str, tools: Toolbox) -> list[Call]:
    """The calls in `text`; none when anything but calls is in it."""
    events = _events(dialect, text, tools)
    shown = any(isinstance(event, Text) and event.text.strip() for event in events)
    return [] if shown else calls_in(events)


def _events(dialect: str, text: str, tools: Toolbox, take: tuple[Taken, ...] | None = None) -> list[Event]:
    route = Route(dialects=(dialect,), policy="lenient", take=take, max_buffer_bytes=1 << 40)
    reader = Reader(CallPolicy(route, Request(), alone=True), tools=tools)
    return [*reader.feed(text), *reader.finish(cut=False)]


def _meaning(call: Call) -> tuple[str, list[tuple[str, object]]]:
    """A call without the freedom that JSON leaves: white space, escapes in strings, the order of keys.

    Numbers keep their spelling; of a key that comes twice, the last one counts, so those keep their order.
    """
    return call.name, sorted([(key, _value(raw)) for key, raw in members(call.arguments)], key=itemgetter(0))


def _value(raw: str) -> object:
    try:
        return _decoder.decode(raw)
    except RecursionError:
        return raw


def _object(pairs: list[tuple[str, object]]) -> object:
    return tuple(sorted(pairs, key=itemgetter(0)))


def _number(spelling: str) -> object:
    return float, spelling


_decoder = json.JSONDecoder(parse_int=_number, parse_float=_number, object_pairs_hook=_object)


def calls_in(events: Sequence[Event]) -> list[Call]:
    """The complete calls among `events`, in the order of their beginning."""
    names: dict[int, str] = {}
    pieces: dict[int, list[str]] = {}
    complete: set[int] = set()
    for event in events:
        if isinstance(event, CallStart):
            names[event.index] = event.name
        elif isinstance(event, CallPiece):
            pieces.setdefault(event.index, []).append(event.json)
        elif isinstance(event, CallEnd):
            complete.add(event.index)
    return [Call(name, "".join(pieces.get(index, ()))) for index, name in names.items() if index in complete]
