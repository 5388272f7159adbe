"""What is wrong with a call, native or in text, by its name, the text of its arguments and the tools of its request.

Each defect names a reason of the one vocabulary, the place in the arguments, and in a few words what was wanted and
what came. None holds a value of the call's. Pure functions over whole texts, called
once in a call, when all of it is there.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from toolcalls.events import Defect, Verdict
from toolcalls.mending import markup
from toolcalls.values.spans import place_of
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.validation import Step, defect_of, pointer, type_of

_MOST = 16  # defects of one call
_MOST_AFTER = 128  # characters that are said of what was understood of a call that breaks

_raw_decode = json.JSONDecoder().raw_decode


def defects_of(name: str, arguments: str | None, tools: Toolbox, *, undeclared: bool = False) -> tuple[Defect, ...]:
    """What is wrong with a native call; () for a sound one.

    arguments    the argument text as it came; None where it is not kept, or not all of it came
    undeclared   names that nobody declares are all right
    """
    found = list(_in_name(name, tools, undeclared=undeclared))
    if arguments is not None:
        found += _in_arguments(tools.resolve(name), arguments, tools)
    return tuple(found[:_MOST])


def checked(verdict: Verdict, arguments: str | None, tools: Toolbox) -> Verdict:
    """The verdict of a call in text. One that was lifted says what is wrong with its arguments, as a native one does,
    and one that broke says what was understood of them.

    arguments   those that the client is given; None where they are not known

    What was mended of them comes first, and what is left is the reason. A name that was mended is a repair alone.
    """
    if arguments and verdict.broke is not None and not verdict.broke.after:
        place = msgspec.structs.replace(verdict.broke, after=arguments[-_MOST_AFTER:])
        return msgspec.structs.replace(verdict, broke=place)
    if verdict.status != "lifted" or not arguments:
        return verdict
    left = tuple(islice(_in_arguments(tools.resolve(verdict.name or ""), arguments, tools), _MOST))
    defects = (*verdict.defects, *left)
    if not defects:
        return verdict
    return msgspec.structs.replace(verdict, defects=defects, reason=verdict.reason or (left or defects)[0].code)


# --- the name ---------------------------------------------------------------------------------------------------------


def _in_name(name: str, tools: Toolbox, *, undeclared: bool) -> Iterator[Defect]:
    if name in tools:
        return
    if not name.strip():
        yield Defect("no_name")
    elif is_repeated(name, tools):
        yield Defect("repeated_name")
    elif markup.in_name(name):
        yield Defect("markup_in_name")
    elif tools and tools.resolve(name) in tools:
        yield Defect("misspelt_name", wanted=tools.resolve(name))
    elif tools and not undeclared:
        yield Defect("undeclared")


def is_repeated(name: str, tools: Toolbox) -> bool:
    """Whether a name is one declared name, several times over: `bashbashbash`."""
    return any(len(name) > len(tool) > 0 and name == tool * (len(name) // len(tool)) for tool in tools.names)


# --- the arguments ----------------------------------------------------------------------------------------------------


def _in_arguments(tool: str, text: str, tools: Toolbox) -> Iterator[Defect]:
    if not text.strip():
        yield Defect("empty_arguments", wanted="object")
        return
    try:
        value = _decoded(text)
    except ValueError as error:
        yield _unreadable(text, error)
        return
    if not isinstance(value, dict):
        yield _no_object(value)
        return
    validator = tools.validator(tool)
    for mismatch in validator.mismatches(value) if validator is not None else ():
        yield defect_of(mismatch, text)
    if "<" in text or "\\u003c" in text.lower():
        keys = tools.keys(tool)
        for steps, string in _strings(value, ()):
            key = str(steps[0]) if len(steps) == 1 else ""
            if markup.place_in_value(string, key, keys) is not None:
                yield Defect("markup_in_value", pointer(steps), at=place_of(text, steps))


def _decoded(text: str) -> Any:
    """The value of a strict JSON text. Raises ValueError."""
    try:
        return json.loads(text, parse_constant=_refused, parse_int=_number)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _refused(_: str) -> Any:
    raise ValueError("not JSON")


def _number(written: str) -> int:
    """A whole number; one of more digits than Python converts is as good as any other."""
    return int(written) if len(written) < 4000 else 0


def _unreadable(text: str, error: ValueError) -> Defect:
    """Several objects, one after the other, or text that is no JSON from some place on."""
    objects = objects_in(text)
    if len(objects) > 1:
        same = all(value == objects[0][1] for _, value in objects)
        return Defect("repeated_arguments" if same else "glued_calls", at=objects[1][0])
    if isinstance(error, json.JSONDecodeError):
        return Defect("bad_arguments", wanted="JSON", got=error.msg, at=error.pos)
    return Defect("bad_arguments", wanted="JSON")


def objects_in(text: str) -> list[tuple[int, Any]]:
    """The JSON objects of which a text consists, one after the other, each with its place; [] for any other text."""
    found: list[tuple[int, Any]] = []
    at = len(text) - len(text.lstrip())
    while at < len(text):
        try:
            value, end = _raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        found.append((at, value))
        at = end + len(text[end:]) - len(text[end:].lstrip()) if text[end : end + 1].isspace() else end
    return found


def _no_object(value: Any) -> Defect:
    if isinstance(value, str) and is_encoded_object(value):
        return Defect("double_encoded", wanted="object", got="string that holds an object")
    return Defect("bad_arguments", wanted="object", got=type_of(value))


def is_encoded_object(text: str) -> bool:
    """Whether a text is a JSON object."""
    try:
        return isinstance(_decoded(text), dict)
    except ValueError:
        return False


def _strings(value: Any, steps: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], str]]:
    """The strings inside a value, each with the way to it."""
    if isinstance(value, str):
        yield steps, value
    elif isinstance(value, dict | list):
        members: Any = value.items() if isinstance(value, dict) else enumerate(value)
        for step, inner in members:
            yield from _strings(inner, (*steps, step))
