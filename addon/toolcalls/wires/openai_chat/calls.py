"""The forms of a call: a function's, the older one of a function's (`function_call`), and a custom tool's.

A custom tool takes free text; in the hub that is the only argument of its call, `input`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from toolcalls.values import rawjson
from toolcalls.values.conversion import escape

# What `CallStart.form` and `Tool.form` say of a call, "" for a function's.
CUSTOM = "custom"
LEGACY = "function_call"

INPUT_BEGINS, INPUT_ENDS = '{"input":"', '"}'


def call_of(index: int | None, id_: str, name: str, arguments: str, form: str = "") -> dict[str, Any]:
    """A call object, with its `index` in a stream and without in a whole reply."""
    place = {} if index is None else {"index": index}
    if form == CUSTOM:
        custom = {"name": rawjson.string(name), "input": rawjson.string(input_in(arguments))}
        return {**place, "id": rawjson.string(id_), "type": CUSTOM, CUSTOM: custom}
    return {**place, "id": rawjson.string(id_), "type": "function", "function": function_of(name, arguments)}


def function_of(name: str, arguments: str) -> dict[str, Any]:
    """The name and the arguments of a call; the older form is nothing more."""
    return {"name": rawjson.string(name), "arguments": rawjson.string(arguments)}


def input_in(arguments: str) -> str:
    """The free text in a custom tool's argument JSON; the JSON itself where it is of another kind."""
    given = rawjson.value(msgspec.Raw(arguments.encode("utf-8", "surrogatepass")))
    text = given.get("input") if isinstance(given, dict) else None
    return text if isinstance(text, str) else arguments


def called_custom(call: Mapping[str, Any]) -> tuple[str, str] | None:
    """The name and the argument JSON of a custom tool's call in a message; None for another call."""
    custom = call.get(CUSTOM)
    name, text = (custom.get("name"), custom.get("input")) if isinstance(custom, dict) else (None, None)
    if not isinstance(name, str) or not name:
        return None
    return name, f"{INPUT_BEGINS}{escape(text) if isinstance(text, str) else ''}{INPUT_ENDS}"
