"""A request's members with the tools that it declares, which are read once for all requests that declare the same.

An agent sends the same tools with each request, often more bytes of them than of anything else. So `tools` stays raw
while the other members are decoded, and what was made of the same bytes before is taken.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

from toolcalls.request import Tool
from toolcalls.values import rawjson

_KEPT = 8  # sets of tools
_LARGEST = 256 * 1024  # bytes of one that is kept


class RequestReader:
    """Reads the bodies of one API.

    members   those that are asked for, beside `tools`
    tools     makes tools of the plain data that `tools` is
    """

    def __init__(self, members: tuple[str, ...], tools: Callable[[object], Iterable[Tool]]) -> None:
        self._members = members
        self._tools = tools
        fields: list[Any] = [(name, Any, msgspec.UNSET) for name in members]
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
