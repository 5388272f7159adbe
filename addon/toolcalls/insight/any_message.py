"""What a message of an unknown API says, by the names that the APIs have for its parts."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from toolcalls.values import rawjson

NAME = 80  # characters of a call's name

_ROLES = {"model": "assistant", "developer": "system", "function_call": "assistant", "function_call_output": "tool"}
# Members that say nothing to a reader.
_UNSAID = frozenset({"cache_control", "id", "type", "role", "signature", "thoughtSignature", "encrypted_content"})


def role_of(item: Any) -> str:
    """Who speaks; the item's type where it does not say."""
    named = item.get("role", item.get("type", "")) if isinstance(item, dict) else "user"
    name = word(named)[:20]
    return _ROLES.get(name, name or "user")


def calls_and_answers(item: Any) -> tuple[list[str], list[str]]:
    """The names of the calls that are in it, and the ids of the calls that it answers."""
    calls: list[str] = []
    ids: list[str] = []
    _collect(item, calls, ids)
    return calls, ids


def _collect(item: Any, calls: list[str], ids: list[str]) -> None:
    if isinstance(item, list):
        for one in item:
            _collect(one, calls, ids)
    elif isinstance(item, dict):
        kind = word(item.get("type"))
        call, result = item.get("functionCall"), item.get("functionResponse")
        if kind in {"tool_use", "function_call"}:
            calls.append(word(item.get("name"))[:NAME])
        elif kind in {"tool_result", "function_call_output"}:
            ids.append(word(item.get("tool_use_id", item.get("call_id"))))
        elif isinstance(call, dict):
            calls.append(word(call.get("name"))[:NAME])
        elif isinstance(result, dict):
            ids.append(word(result.get("id")))
        for key in ("content", "parts"):
            _collect(item.get(key), calls, ids)


def strings(value: Any) -> Iterator[str]:
    """The strings, numbers and booleans in a value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            if key not in _UNSAID:
                yield from strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings(member)
    elif isinstance(value, msgspec.Raw):
        yield from strings(rawjson.value(value))
    elif value is not None:
        yield json.dumps(value)


def word(value: object) -> str:
    """A value that is a string, "" for any other."""
    return value if isinstance(value, str) else ""
