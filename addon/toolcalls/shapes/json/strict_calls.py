"""The calls that complete JSON means where nothing marks it as a call.

So an object is one only if it has exactly a call's keys, and a declaration (a JSON Schema for arguments) is none.
"""

import json

from toolcalls.shapes import Call
from toolcalls.shapes.json.call_keys import ARGUMENTS, CALL_TYPES, LISTS, MARKS, NAMES, WRAPPERS
from toolcalls.shapes.json.json_arguments import argument_object
from toolcalls.shapes.json.json_values import MAX_NAME
from toolcalls.values.conversion import items, members, quote
from toolcalls.values.toolbox import Toolbox

NO_ARGUMENTS = ""  # of a call that has no member for them

# LangChain's structured chat, in which an answer to the user has the same form as a call.
_ACTION, _INPUT = "action", "action_input"
_ANSWERS = frozenset({"final answer", "final_answer"})
# The tool that calls others in OpenAI's prompts: `{"tool_uses": [{"recipient_name": "functions.N", "parameters": J}]}`.
_PARALLEL, _USES, _RECIPIENT = "multi_tool_use.parallel", "tool_uses", "recipient_name"
_MESSAGE = {"content": ("null", '""'), "role": ('"assistant"',)}  # what an API's message has beside its calls
STRICT_NAMES = (*NAMES, _RECIPIENT, _ACTION)
STRICT_ARGUMENTS = (*ARGUMENTS, _INPUT)
STRICT_LISTS = (*LISTS, _USES)
# All that a call has.
CALL_KEYS = frozenset((*STRICT_NAMES, *STRICT_ARGUMENTS, *STRICT_LISTS, *WRAPPERS, *MARKS, *_MESSAGE))
_SCHEMA_TYPES = frozenset(f'"{name}"' for name in ("object", "array", "string", "integer", "number", "boolean"))
_MAX_DEPTH = 4


def calls_meant(pairs: list[tuple[str, str]], tools: Toolbox, depth: int = 0) -> list[Call]:
    """The calls that an object with these members means when it stands for nothing else; [] where it may.

    An object with nothing but the name of a declared tool is a call without arguments (`NO_ARGUMENTS`).
    """
    raw = dict(pairs)
    if len(raw) < len(pairs) or depth >= _MAX_DEPTH:
        return []
    beside = [key for key in raw if raw[key] not in _MESSAGE.get(key, ())]
    if len(beside) == 1 and beside[0] in STRICT_LISTS and raw[beside[0]].startswith("["):
        objects = [element for element in items(raw[beside[0]]) if element[0] == "{"]
        inner = [calls_meant(members(element), tools, depth + 1) for element in objects]
        return [call for calls in inner for call in calls] if all(inner) else []
    if raw.get("type", '"function"') not in CALL_TYPES:
        return []
    keys = raw.keys() - MARKS
    for wrapper in WRAPPERS:
        if keys == {wrapper} and raw[wrapper].startswith("{"):
            return calls_meant(members(raw[wrapper]), tools, depth + 1)
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
        return calls_meant(members(arguments), tools, _MAX_DEPTH - 2)
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
