"""Markup of models' templates in a place where none belongs: a tool's name, a value of an argument.

A value may hold markup for good reasons: a page about tool calls, a parser's own test. So a value counts as one that
swallowed markup only where closing markup is in it that nothing in the value opened, and where nothing comes
after it but other markup of a call: the next parameter, the call's own end, or the value's end.
"""

import re
from collections.abc import Collection

# No API's rule for names allows any of these: https://platform.openai.com/docs/api-reference/chat/create.
_IN_NAME = re.compile(r"[<>|｜{}\[\]()=\"'\n\r]|＜|＞")

_PREFIX = r"(?:[\w.-]*:|[|｜]DSML[|｜])?"
_WORDS = "parameter|param|arg_key|arg_value|argument|invoke|function|function_calls|tool_calls?|tool_use"
_TOKEN = r"<[|｜][^<>|｜\s]{1,40}[|｜]>"
_OF_CALLS = r"<[|｜](?:/?tools?(?![_▁a-z]*begin)[_▁a-z]*|im_end|end|call|eot_id|eom_id)[|｜]>"
_CLOSER = re.compile(rf"</{_PREFIX}({_WORDS})\s*>|{_OF_CALLS}")
_NEXT_CLOSER = re.compile(rf"\s*(?:</{_PREFIX}(?:{_WORDS})\s*>|{_OF_CALLS})")
_NEXT_OPENER = re.compile(rf"\s*(?:<{_PREFIX}(?:{_WORDS})\b[^<>]*>|{_TOKEN})")


def in_name(name: str) -> bool:
    """Whether a tool's name holds what no tool's name can hold."""
    return _IN_NAME.search(name) is not None


def place_in_value(value: str, key: str = "", keys: Collection[str] = ()) -> int | None:
    """The character of a string at which swallowed markup begins; None where there is none.

    key, keys   the argument that the string is, and the tool's arguments: tags of some dialects bear their names
    """
    if "<" not in value:
        return None
    places = [place for place in (_of_call(value), _of_argument(value, key, keys)) if place is not None]
    return min(places, default=None)


def _of_call(value: str) -> int | None:
    found = _CLOSER.search(value)
    if found is None:
        return None
    if found[1] is not None and re.search(rf"<{_PREFIX}{found[1]}\b", value[: found.start()]):
        return None  # the value opened it itself: it is about such markup
    return found.start() if _goes_on_as_markup(value, found.end()) else None


def _goes_on_as_markup(value: str, at: int) -> bool:
    """Whether another parameter or call comes after this place, or nothing but closers to the value's end."""
    while (found := _NEXT_CLOSER.match(value, at)) is not None:
        at = found.end()
    return _NEXT_OPENER.match(value, at) is not None or not value[at:].strip()


def _of_argument(value: str, key: str, keys: Collection[str]) -> int | None:
    """The place of the closing tag of the argument itself, with another argument after it."""
    closer = f"</{key}>"
    at = value.find(closer) if key else -1
    if at < 0 or f"<{key}>" in value[:at]:
        return None
    behind = value[at + len(closer) :].lstrip()
    return at if any(behind.startswith(f"<{other}>") for other in keys if other != key) else None
