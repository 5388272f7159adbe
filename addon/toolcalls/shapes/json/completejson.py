"""JSON in text that is read whole before anything comes of it, and the calls that such JSON means.

Bare JSON says nowhere that it is a call, so all of it must be seen: an object is a call only if it has exactly a call's
keys, and a declaration (a JSON Schema for arguments) is none. The first key that no call has ends the reading, so other
JSON streams on. What is collected here is held, so the limit for held text bounds it; comments are refused, since
openers might be in them without end.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.shapes import Call
from toolcalls.shapes.json.brokenjson import UNKNOWN
from toolcalls.shapes.json.jsonvalue import ARGUMENTS, MARKS, NAMES, accept, argument_object, separated
from toolcalls.shapes.words import word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import items, members, quote
from toolcalls.values.damaged_json import DamagedJson
from toolcalls.values.toolbox import Toolbox

NO_ARGUMENTS = ""  # of a call that has no member for them

MAX_NAME = 256  # characters of a name or key
MAX_PASSED = 1024  # characters of a value that nobody asks for, before the name is known
QUOTES = ('"', "'")
UNESCAPED = ('"{"', '"{ "', '"{\n')  # how a string of arguments begins whose own quotes lost their escapes

_BRACKETS = ("{", "[")
_WRAPPERS = ("function", "tool_call", "function_call")
# LangChain's structured chat, in which an answer to the user has the same form as a call.
_ACTION, _INPUT = "action", "action_input"
_ANSWERS = frozenset({"final answer", "final_answer"})
# The tool that calls others in OpenAI's prompts: `{"tool_uses": [{"recipient_name": "functions.N", "parameters": J}]}`.
_PARALLEL, _USES, _RECIPIENT = "multi_tool_use.parallel", "tool_uses", "recipient_name"
_LISTS = ("tool_calls", "toolCalls", _USES)
_MESSAGE = {"content": ("null", '""'), "role": ('"assistant"',)}  # what an API's message has beside its calls
# All that a call has.
CALL_KEYS = frozenset((*NAMES, *ARGUMENTS, *_WRAPPERS, *MARKS, *_LISTS, *_MESSAGE, _RECIPIENT, _ACTION, _INPUT))
_BARE = re.compile(r"[A-Za-z_$][\w$-]*+")  # a key without quotes
# How an object of a call begins that was escaped as a whole.
_ESCAPED = tuple(
    f"{{{space}{mark}{key}{mark}"
    for space in ("", " ", "\n", "\n  ", "\n    ")
    for mark in ('\\"', "&quot;", "&#34;")
    for key in sorted(CALL_KEYS)
)
_TYPES = frozenset({'"function"', '"tool_use"', '"tool_call"', '"tool-call"', '"function_call"'})
_SCHEMA_TYPES = frozenset(f'"{name}"' for name in ("object", "array", "string", "integer", "number", "boolean"))
_MAX_DEPTH = 4


class CompleteValue(NamedTuple):
    """A value as strict JSON, and what had to be repaired."""

    json: str
    repairs: list[Repair]


def complete_value(
    scan: Scanner, limit: int | None = None, unclosed: list[str] | None = None
) -> Step[CompleteValue | None]:
    """The JSON value that begins here, consumed; None where none does, or none within `limit` characters.

    unclosed   as for `jsonvalue.value`
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
    return CompleteValue("".join(pieces), reader.repairs) if reader.done and "comment" not in reader.repairs else None


@dataclass
class BrokenObject:
    """What is known of an object that was a call by its keys as far as it could be read.

    name      the tool that it names, "" for none
    given     its arguments have begun
    unclosed  what closes each bracket that is open, outermost first; empty where something else speaks against it
    """

    name: str = ""
    given: bool = False
    unclosed: list[str] = field(default_factory=list)


def complete_object(
    scan: Scanner,
    *,
    listed: bool = False,
    broken: BrokenObject | None = None,
    ends: Callable[[int], Step[bool]] | None = None,
    named: Callable[[str], None] | None = None,
) -> Step[CompleteValue | None]:
    """The object that begins here, consumed, if it has no keys but those of a call; None otherwise.

    listed   it is in an array: where that ends or goes on with another object, the brace that is missing is read
    broken   is given what is known of one that cannot be read to its end
    ends     whether what holds the object ends so many characters from here: then the brace that is missing after
             whole arguments is read
    named    is given the tool that is named before its arguments
    """
    broken = broken or BrokenObject()
    if (yield from scan.among(_ESCAPED)):
        return (yield from complete_value(scan))
    scan.take(1)
    bare = False  # the first key has no quotes
    written: list[str] = []
    repairs: list[Repair] = []
    while True:
        scan.take((yield from scan.space()))
        if written and (yield from scan.starts("}")):
            scan.take(1)
            return CompleteValue(f"{{{','.join(written)}}}", [*repairs, "trailing_comma"])
        quoted = yield from scan.among(QUOTES)
        bare = bare or (not written and quoted is None)
        if not bare and quoted is None:
            return None
        spelt = yield from complete_value(scan, MAX_NAME) if quoted else bare_key(scan)
        key = None if spelt is None else decoded_string(spelt, repairs)
        if key not in CALL_KEYS or not (yield from separated(scan, ":", repairs.append)):
            return None
        scan.take((yield from scan.space()))
        first = yield from scan.among(("{", "[", *QUOTES))
        if first == "[" and key not in _LISTS:
            return None
        given = key in ARGUMENTS or key == _INPUT
        broken.given = broken.given or given
        broken.unclosed = ["}"]
        if given and broken.name and named is not None:
            named(broken.name)
        unescaped = given and (yield from scan.among(UNESCAPED)) is not None
        scan.take(int(unescaped))
        found = yield from complete_value(scan, None if given or first in _BRACKETS else MAX_PASSED, broken.unclosed)
        if spelt is None or found is None:
            return None
        if unescaped:
            if not (yield from accept(scan, '"')):
                return None
            repairs.append("nested_quotes")
        if key in {*NAMES, _RECIPIENT, _ACTION} and found.json.startswith('"'):
            broken.name = str(json.loads(found.json))
        repairs += found.repairs
        written.append(f"{spelt.json}:{found.json}")
        if listed and (yield from _lacks_brace(scan)):
            return CompleteValue(f"{{{','.join(written)}}}", [*repairs, "missing_brace"])
        if not (yield from separated(scan, ",", repairs.append)):
            break
        broken.unclosed = []
    if (yield from accept(scan, "}")):
        return CompleteValue(f"{{{','.join(written)}}}", repairs)
    if ends is None or not (broken.name and broken.given and (yield from ends((yield from scan.space())))):
        return None
    return CompleteValue(f"{{{','.join(written)}}}", [*repairs, "missing_brace"])


def bare_key(scan: Scanner) -> Step[CompleteValue | None]:
    """A word in the place of a key, consumed, as the string that it means; None where none stands."""
    found = yield from word(scan, _BARE)
    if not found:
        return None
    scan.take(len(found))
    return CompleteValue(quote(found), ["bare_key"])


def _lacks_brace(scan: Scanner) -> Step[bool]:
    """Whether an array ends here, or goes on with its next object."""
    space = yield from scan.space()
    follows = yield from scan.among(("]", ","), space)
    if follows != ",":
        return follows is not None
    return (yield from scan.starts("{", (yield from scan.space(space + 1))))


def decoded_string(found: CompleteValue, repairs: list[Repair]) -> str | None:
    """The text of a string, decoded, with its repairs added to `repairs`; None for another value."""
    if not found.json.startswith('"'):
        return None
    repairs += found.repairs
    return str(json.loads(found.json))


def calls_meant(written: str, tools: Toolbox, depth: int = 0) -> list[Call]:
    """The calls that an object (strict JSON) means when it stands for nothing else; [] where it may.

    An object with nothing but the name of a declared tool is a call without arguments (`NO_ARGUMENTS`).
    """
    pairs = members(written)
    raw = dict(pairs)
    if len(raw) < len(pairs) or depth >= _MAX_DEPTH:
        return []
    beside = [key for key in raw if raw[key] not in _MESSAGE.get(key, ())]
    if len(beside) == 1 and beside[0] in _LISTS and raw[beside[0]].startswith("["):
        inner = [calls_meant(element, tools, depth + 1) for element in items(raw[beside[0]]) if element[0] == "{"]
        return [call for calls in inner for call in calls] if all(inner) else []
    if raw.get("type", '"function"') not in _TYPES:
        return []
    keys = raw.keys() - MARKS
    for wrapper in _WRAPPERS:
        if keys == {wrapper} and raw[wrapper].startswith("{"):
            return calls_meant(raw[wrapper], tools, depth + 1)
    return _call(raw, keys, tools)


def _call(raw: dict[str, str], keys: set[str], tools: Toolbox) -> list[Call]:
    if keys == {_ACTION, _INPUT}:
        call = action_call(raw[_ACTION], raw[_INPUT], tools)
        return [] if call is None or _declares(call.arguments, tools.resolve(call.name), tools) else [call]
    named, given = keys.intersection((*NAMES, _RECIPIENT)), keys.intersection(ARGUMENTS)
    if len(named) != 1 or len(given) > 1 or len(keys) != len(named) + len(given):
        return []
    spelt = raw[named.pop()]
    arguments = argument_object(raw[given.pop()]) if given else NO_ARGUMENTS
    if not spelt.startswith('"') or len(spelt) > MAX_NAME or arguments is None:
        return []
    name = str(json.loads(spelt))
    if _RECIPIENT in keys and tools.resolve(name) not in tools:
        return []
    if name == _PARALLEL and name not in tools and arguments and list(dict(members(arguments))) == [_USES]:
        return calls_meant(arguments, tools, _MAX_DEPTH - 2)
    if arguments == NO_ARGUMENTS:
        return [Call(name, arguments)] if tools.resolve(name) in tools else []
    return [Call(name, arguments)] if name and not _declares(arguments, tools.resolve(name), tools) else []


def action_call(spelt: str, given: str, tools: Toolbox) -> Call | None:
    """The call of an action and its input (strict JSON); None where it is none, or an answer to the user.

    An input that is no object is the argument of a tool with exactly one parameter.
    """
    name = str(json.loads(spelt)) if spelt.startswith('"') and len(spelt) <= MAX_NAME else ""
    if not name or name.lower() in _ANSWERS:
        return None
    arguments, keys = argument_object(given), tools.keys(tools.resolve(name))
    if arguments is None and len(keys) == 1:
        arguments = f"{{{quote(keys[0])}:{given}}}"
    return None if arguments is None else Call(name, arguments)


def _declares(arguments: str, name: str, tools: Toolbox) -> bool:
    """Whether what stands for the arguments of this tool is a schema of some."""
    raw = dict(members(arguments))
    if raw.get("properties", "").startswith("{") and raw.get("type", '"object"') == '"object"':
        return "properties" not in tools.keys(name)
    return bool(raw) and all(
        schema.startswith("{")
        and dict(members(schema)).get("type") in _SCHEMA_TYPES
        and "object" not in (tools.types(name, key) or ())
        for key, schema in raw.items()
    )
