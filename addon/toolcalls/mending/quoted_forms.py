"""How servers write the calls that their errors quote: as their models do, or in JSON or a notation of their own.

Where all of a text was to be calls (Groq's `failed_generation`, Gemini's `finishMessage`) it lacks what models write
around them: the opening of a tag, a fence that says that it is code.
"""

import json
import re
from typing import Any

from toolcalls.mending.error_texts import MALFORMED, TOOL_USE
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.values.toolbox import Toolbox

_FENCED = re.compile(r"\s*```[\w-]*[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
_ELEMENT = re.compile(r"\s*<(tool[-_]use|tool_calls?)>(.*)</\1>\s*", re.DOTALL)
_LOST_OPENER = re.compile(r"\s*([\w.:-]+)\s*>?\s*\{.*\}\s*</function>\s*", re.DOTALL)
_KEYED = re.compile(r"(?:call|declaration):default_api[:.]")
_PYTHON = re.compile(r"(?:print\(\s*)?(?:default_api\.)?[\w.]+\(")
_MARK = '<|"|>'
_SURPLUS = re.compile(r"[\s\]}]*")


def as_written(where: str, text: str, tools: Toolbox) -> str:
    """A text that an error quotes, as a model would have written it in a reply. `where`: what quotes it."""
    if where == TOOL_USE:
        if (fenced := _FENCED.fullmatch(text)) is not None:
            return fenced[1]
        if (lost := _LOST_OPENER.fullmatch(text)) is not None and tools.resolve(lost[1]) in tools:
            return f"<function={text.lstrip()}"
    elif where == MALFORMED:
        if _KEYED.match(text):
            marked = text.replace("<ctrl46>", _MARK).rstrip()
            return f"{marked}<tool_call|>" if _is_balanced(marked) else marked
        if _PYTHON.match(text):
            return f"```tool_code\n{text.strip()}\n```"
    return text


def _is_balanced(text: str) -> bool:
    """Whether each bracket outside of Gemma's strings is closed, and each of these."""
    between = text.split(_MARK)
    outside = "".join(between[::2])
    return len(between) % 2 == 1 and all(outside.count(a) == outside.count(b) for a, b in ("{}", "[]", "()"))


def calls_of_json(text: str) -> tuple[tuple[str, str], ...] | None:
    """The calls that a text is, each its name and its argument JSON; None for a text that is not strict JSON of calls.

    One object or several in an array, alone or as `tool_calls`, each with its name and its arguments side by side, or
    in `function` (where Groq's models leave the arguments beside it). Brackets too many at the end are none.
    """
    element = _ELEMENT.fullmatch(text)
    inner = (element[2] if element is not None else text).strip()
    try:
        value, end = json.JSONDecoder().raw_decode(inner)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict | list) or _SURPLUS.fullmatch(inner, end) is None:
        return None
    raw = rawjson.raw(inner[:end].encode("utf-8", "surrogatepass"))
    objects: list[Any] = rawjson.items(raw) if isinstance(value, list) else [raw]
    if len(objects) == 1 and "tool_calls" in (members := rawjson.fields(objects[0])):
        objects = rawjson.items(members["tool_calls"])
    calls = [_call_of(rawjson.fields(one)) for one in objects]
    found = tuple(call for call in calls if call is not None)
    return found if found and len(found) == len(calls) else None


def _call_of(members: Fields) -> tuple[str, str] | None:
    """The name and the arguments of one object; None where it has no name, or not one place of arguments."""
    function = rawjson.fields(members.get("function"))
    name = rawjson.word(function, "name") or rawjson.word(members, "name") or rawjson.word(members, "function")
    places = [around[key] for around in (function, members) for key in ("arguments", "parameters") if key in around]
    if not name or len(places) != 1:
        return None
    if isinstance(written := rawjson.value(places[0]), str):
        return name, written
    return name, rawjson.text_of(places[0])
