"""The calls that complete JSON means where nothing marks it as a call.

So an object is one only if it has exactly a call's keys, or the name of a declared tool and arguments beside others; a
declaration (a JSON Schema for arguments) is none, nor is a record of a call that was made, with its result.
"""

import json
from collections.abc import Collection
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.shapes import Call
from toolcalls.shapes.json.call_keys import (
    ARGUMENTS,
    CALL_TYPES,
    LISTS,
    MARKS,
    NAMES,
    REMARKS,
    RESULTS,
    WRAPPERS,
    placed,
)
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


class MeantCall(NamedTuple):
    """A call that an object means, and what was repaired in it."""

    name: str
    arguments: str
    repairs: tuple[Repair, ...] = ()

    def remarked(self, *, left: bool) -> "MeantCall":
        """The call, noted where members beside it were `left` out."""
        return self._replace(repairs=("left_out", *self.repairs)) if left and "left_out" not in self.repairs else self


def calls_meant(pairs: list[tuple[str, str]], tools: Toolbox, depth: int = 0) -> list[MeantCall]:
    """The calls that an object with these members means when it stands for nothing else; [] where it may.

    An object with nothing but the name of a declared tool is a call without arguments (`NO_ARGUMENTS`).
    """
    raw = dict(pairs)
    if len(raw) < len(pairs) or depth >= _MAX_DEPTH:
        return []
    beside = {key for key in raw if raw[key] not in _MESSAGE.get(key, ())} - MARKS
    remarks = beside & REMARKS
    listed = beside - remarks
    if len(listed) == 1 and (only := next(iter(listed))) in STRICT_LISTS and raw[only].startswith("["):
        objects = [element for element in items(raw[only]) if element[0] == "{"]
        inner = [calls_meant(members(element), tools, depth + 1) for element in objects]
        calls = [call for calls in inner for call in calls] if all(inner) else []
        return [call.remarked(left=bool(remarks)) for call in calls]
    for wrapper in WRAPPERS:
        if listed == {wrapper} and raw[wrapper].startswith("{") and raw.get("type", '"function"') in CALL_TYPES:
            calls = calls_meant(members(raw[wrapper]), tools, depth + 1)
            return [call.remarked(left=bool(remarks)) for call in calls]
    return _call(raw, raw.keys() - MARKS, tools)


def _call(raw: dict[str, str], keys: set[str], tools: Toolbox) -> list[MeantCall]:
    is_call = raw.get("type", '"function"') in CALL_TYPES
    if keys == {_ACTION, _INPUT} and is_call:
        call = action_call(raw[_ACTION], raw[_INPUT], tools)
        return (
            [] if call is None or declares_tool(call.arguments, tools.resolve(call.name), tools) else [MeantCall(*call)]
        )
    named, given = keys.intersection((*NAMES, _RECIPIENT)), keys.intersection(ARGUMENTS)
    if len(named) != 1 or len(given) > 1:
        named = {key for key in named if raw[key].startswith('"') and _names_tool(raw[key], tools)}
    if len(named) != 1 or len(given) > 1:
        return []
    spelt, others = raw[next(iter(named))], keys - named - given
    arguments = argument_object(raw[next(iter(given))]) if given else NO_ARGUMENTS
    if not spelt.startswith('"') or len(spelt) > MAX_NAME or arguments is None:
        return []
    name = str(json.loads(spelt))
    if others or not is_call:
        beside = [(key, raw[key]) for key in raw if key in others]
        return _with_others(MeantCall(name, arguments), beside, given, tools)
    if _RECIPIENT in keys and not tools.means_tool(name):
        return []
    if name == _PARALLEL and name not in tools and arguments and list(dict(members(arguments))) == [_USES]:
        return calls_meant(members(arguments), tools, _MAX_DEPTH - 2)
    if arguments == NO_ARGUMENTS:
        return [MeantCall(name, arguments)] if tools.means_tool(name) else []
    return [MeantCall(name, arguments)] if name and not declares_tool(arguments, tools.resolve(name), tools) else []


def _names_tool(spelt: str, tools: Toolbox) -> bool:
    return len(spelt) <= MAX_NAME and tools.means_tool(str(json.loads(spelt)))


def _with_others(
    call: MeantCall, beside: list[tuple[str, str]], given: Collection[str], tools: Toolbox
) -> list[MeantCall]:
    """The call of an object that has other members `beside` a name and what is `given` as its arguments.

    Those that the tool declares are arguments, too. It is none where the tool is not declared, where no declared
    parameter is given, or where the others say that the object is a tool's declaration or a record.
    """
    tool, keys = tools.resolve(call.name), {key for key, _ in beside}
    if not given or tool not in tools:
        return []
    declared, own = tools.keys(tool), dict(members(call.arguments))
    if not keys.isdisjoint((*RESULTS.difference(declared), *_MESSAGE)) or declares_tool(call.arguments, tool, tools):
        return []
    if "description" in keys and "parameters" in given and (own.keys().isdisjoint(declared) or "properties" in own):
        return []
    if declared and own.keys().isdisjoint(declared):
        return []
    more, left = placed(beside, tool, tools, given=True)
    if any(key in own for key, _ in more):
        return []
    flat: tuple[Repair, ...] = ("flat_arguments",) if more else ()
    joined = ",".join(f"{quote(key)}:{raw}" for key, raw in more)
    body = call.arguments.rstrip()[:-1].rstrip()
    arguments = f"{body}{',' if own else ''}{joined}}}" if more else call.arguments
    return [MeantCall(call.name, arguments, flat).remarked(left=left or not beside)]


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


def declares_tool(arguments: str, name: str, tools: Toolbox) -> bool:
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
