"""A request's members with the tools that it declares, which are read once for all requests that declare the same.

An agent sends the same tools with each request, often more bytes of them than of anything else. So `tools` stays raw
while the other members are decoded, and what was made of the same bytes before is taken.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from toolcalls.request import Tool
from toolcalls.requests.constrained_text import MEMBERS
from toolcalls.requests.session_ids import SESSION_KEYS
from toolcalls.values import rawjson

_KEPT = 8  # sets of tools
_LARGEST = 256 * 1024  # bytes of one that is kept


class RequestReader:
    """Reads the bodies of one API.

    members   those that are asked for, beside `tools` and those that any server may have
    tools     makes tools of the plain data that `tools` is
    """

    def __init__(self, members: tuple[str, ...], tools: Callable[[object], Iterable[Tool]]) -> None:
        self._members = tuple(dict.fromkeys((*members, *SESSION_KEYS, *MEMBERS)))
        self._tools = tools
        fields: list[Any] = [(name, Any, msgspec.UNSET) for name in self._members]
        fields.append(("tools", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET))
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(msgspec.defstruct("Members", fields)).decode
        self._known = lru_cache(_KEPT)(self._read)

    def read(self, body: bytes) -> tuple[Any, tuple[Tool, ...]]:
        """A body as plain data, of an object the members that are asked for, and its tools. Raises ValueError for what
        is no JSON.
        """
        try:
            found = self._decode(body)
            raw = b"" if found.tools is msgspec.UNSET else bytes(found.tools)
            tools = self._known(raw) if len(raw) <= _LARGEST else self._read(raw)
        except rawjson.REFUSED:
            fields = rawjson.loaded(body)
            return fields, tuple(self._tools(fields.get("tools"))) if isinstance(fields, dict) else ()
        values = ((name, getattr(found, name)) for name in self._members)
        return {name: value for name, value in values if value is not msgspec.UNSET}, tools

    def _read(self, raw: bytes) -> tuple[Tool, ...]:
        return tuple(self._tools(msgspec.json.decode(raw))) if raw else ()


def tool_of(declared: Mapping[str, Any], schema: object) -> Tool | None:
    """The tool that an object with a name and a description declares; None where it has no name."""
    name, about = declared.get("name"), declared.get("description")
    if not isinstance(name, str) or not name:
        return None
    return Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")


def function_tools(value: object) -> Iterator[Tool]:
    """The function tools of a request's `tools` in OpenAI's form; what is not one is passed over."""
    for item in value if isinstance(value, list) else ():
        function = item.get("function") if isinstance(item, dict) else None
        if isinstance(function, dict) and (tool := tool_of(function, function.get("parameters"))) is not None:
            yield tool


def custom_schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A custom tool's free text as a schema. The grammar that it must keep to, if any, is described in words."""
    form = tool.get("format")
    grammar = form.get("grammar", form) if isinstance(form, dict) else None  # Chat has an object more
    about: dict[str, Any] = {"type": "string"}
    if isinstance(grammar, dict) and isinstance(definition := grammar.get("definition"), str):
        about["description"] = f"Text of this {grammar.get('syntax') or 'grammar'} grammar:\n{definition}"
    return {"type": "object", "properties": {"input": about}, "required": ["input"]}
