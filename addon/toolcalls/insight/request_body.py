"""A request's body taken apart into the parts that a summary needs, each still raw JSON.

Whoever parses a document, searches a text or makes a hundred thousand objects in one go holds Python's lock as long,
and the proxy stands still. A body may have megabytes, so it is cut by skipping, which is fast, and no part of it that
is ever parsed is larger than `MESSAGE`; of messages and tools there are so many as a page can show.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from typing import Any

import msgspec

from toolcalls.values import rawjson

MESSAGES = 3000  # of one request; of a longer one, the last
TOOLS = 500
MESSAGE = 4 * 1024 * 1024  # bytes of one message, and of all tools
_AT_ONCE = 1000  # messages that are left out together, so that the next request leaves out the same
_SHOWN = 64 * 1024  # bytes of a message that is too large
SETTINGS = 60
_LISTS = ("messages", "input", "contents")
# Members that have a place of their own elsewhere, or are another one in each request.
_NO_SETTINGS = frozenset(
    {*_LISTS, "tools", "functions", "system", "instructions", "systemInstruction", "system_instruction", "request"}
    | {"metadata", "user", "prompt_cache_key", "session_id", "previous_response_id", "type", "stream_id"}
)
_EMPTY = re.compile(rb"\s*\{\s*\}\s*")


class _Named(msgspec.Struct):
    role: str | None = None


_role = msgspec.json.Decoder(_Named).decode


@dataclass(frozen=True, slots=True)
class Body:
    """A request's members, without the envelope that Code Assist puts around them.

    messages   the last of the list of messages, `left_out` is the number of earlier messages
    tools      the first declarations
    json       a request with these messages alone, for whoever reads its API
    """

    members: Mapping[str, Any]
    messages: tuple[Any, ...]
    left_out: int
    tools: tuple[Any, ...]
    json: bytes
    model: str

    @property
    def settings(self) -> dict[str, bytes]:
        """What else the request says, by its names: how to sample, what to answer with. Values are raw JSON."""
        found = ((key, bytes(raw)) for key, raw in self.members.items() if key not in _NO_SETTINGS)
        return dict(islice(found, SETTINGS))

    def text(self, key: str) -> str:
        return rawjson.word(self.members, key)

    def beginning(self, count: int) -> "Body":
        """The request as far as its first `count` messages, and without its tools."""
        messages = self.messages[:count]
        said = {**rawjson.without(self.members, "tools", "functions"), _list_in(self.members): list(messages)}
        return replace(self, messages=messages, tools=(), json=rawjson.written(said))


def body_of(body: bytes) -> Body | None:
    """The parts of a body; None for what is no JSON object."""
    outer = rawjson.fields(body)
    if not outer and _EMPTY.fullmatch(body) is None:
        return None
    members = outer
    if not any(key in outer for key in _LISTS) and rawjson.is_object(outer.get("request")):
        members = rawjson.fields(outer["request"])
    key = _list_in(members)
    listed = rawjson.items(members.get(key))
    left_out = -(-max(0, len(listed) - MESSAGES) // _AT_ONCE) * _AT_ONCE
    messages = tuple(_small(one, key) for one in listed[left_out:])
    tools = _tools(members)
    small = members
    if left_out or any(mine is not theirs for mine, theirs in zip(messages, listed[left_out:], strict=True)):
        small = {**small, key: list(messages)}
    if sum(map(len, tools)) > MESSAGE or len(tools) > TOOLS:
        small = rawjson.without(small, "tools", "functions")
    model = rawjson.word(members, "model") or rawjson.word(outer, "model")
    return Body(members, messages, left_out, tools[:TOOLS], body if small is outer else rawjson.written(small), model)


def _list_in(members: Mapping[str, Any]) -> str:
    """The name of the member that is the list of messages; "" for none."""
    return next((one for one in _LISTS if _opens(members.get(one), b"[")), "")


def _opens(raw: object, with_: bytes) -> bool:
    return isinstance(raw, msgspec.Raw) and bytes(raw).lstrip(b" \t\r\n")[:1] == with_


def _tools(members: Mapping[str, Any]) -> tuple[Any, ...]:
    """Declarations, each raw: of tools, and of the functions that Chat Completions had before."""
    return tuple(tool for key in ("tools", "functions") for tool in rawjson.items(members.get(key)))


def _small(raw: Any, key: str) -> Any:
    """A message as it is; of one that is too large the beginning, as text, with what tells it from others."""
    size = len(raw)
    if size <= MESSAGE:
        return raw
    data = bytes(raw)
    try:
        role = _role(data).role or "user"
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        role = "user"
    beginning = data[:_SHOWN].decode("utf-8", "replace")
    digest = blake2b(data, digest_size=9).hexdigest()
    text = f"(a message of {size:,} bytes, of which this is the beginning as it came; digest {digest}) {beginning}"
    content: dict[str, Any] = {"parts": [{"text": text}]} if key == "contents" else {"content": text}
    return msgspec.Raw(msgspec.json.encode({"role": role, **content}))
