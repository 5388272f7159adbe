"""Requests of Ollama's chat: `messages` and `tools`.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion. Contents are strings, images stand
beside them. Arguments are objects; calls mostly have no id, so an answer belongs to the first call of its name
(`tool_name`) that has none yet, and without a name to the first one at all.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from toolcalls import rawjson
from toolcalls.rawjson import Fields
from toolcalls.turns import Block, Conversation, Other, PastCall, Result, Role, Text, Turn
from toolcalls.wires import function_tools

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


class _OllamaRequests:
    """The format."""

    def read(self, body: bytes) -> Conversation:
        """Raises ValueError for a body that is no such request."""
        fields = rawjson.fields(body)
        messages = rawjson.items(fields.get("messages"))
        if not messages:
            raise ValueError("the request body is no chat of Ollama's: it has no list `messages`")
        try:
            tools = json.loads(bytes(fields.get("tools", rawjson.NULL)))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the request body is no chat of Ollama's: {error}") from error
        reading = _Reading()
        return Conversation(tuple(reading.turn(raw) for raw in messages), tuple(function_tools(tools)))

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        """The body with these turns and tools."""
        fields = rawjson.fields(body)
        called = {
            block.id: block.name for turn in conversation.turns for block in turn.blocks if isinstance(block, PastCall)
        }
        fields["messages"] = [message for turn in conversation.turns for message in _messages(turn, called)]
        if not conversation.tools:
            fields.pop("tools", None)
        elif "tools" in fields:
            names = {tool.name for tool in conversation.tools}
            kept = [
                raw
                for raw in rawjson.items(fields["tools"])
                if all(tool.name in names for tool in function_tools([json.loads(bytes(raw))]))
            ]
            fields["tools"] = kept
        else:
            fields["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
                }
                for tool in conversation.tools
            ]
        return msgspec.json.encode(fields)


class _Reading:
    """Turns out of messages, and which call each answer belongs to."""

    def __init__(self) -> None:
        self._calls = 0
        self._open: list[tuple[str, str]] = []  # calls without an answer: names and ids

    def turn(self, raw: Any) -> Turn:
        """A message."""
        message = rawjson.fields(raw)
        role = _ROLES.get(rawjson.word(message, "role"))
        if role is None:
            return Turn("user", (Other(raw),), raw)
        if role == "tool":
            return Turn(role, (self._answer(raw, message),), raw)
        text = rawjson.word(message, "content")
        calls = (self._call(one) for one in rawjson.items(message.get("tool_calls")))
        return Turn(role, (*([Text(text)] if text else []), *calls), raw)

    def _call(self, raw: Any) -> Block:
        call = rawjson.fields(raw)
        function = rawjson.fields(call.get("function"))
        name = rawjson.word(function, "name")
        if not name:
            return Other(raw)
        self._calls += 1
        id_ = rawjson.word(call, "id") or f"call {self._calls}"
        self._open.append((name, id_))
        given = function.get("arguments")
        written = rawjson.text_of(given) if rawjson.is_object(given) else rawjson.word(function, "arguments")
        return PastCall(id_, name, written or "{}", raw)

    def _answer(self, raw: Any, message: Fields) -> Result:
        id_ = rawjson.word(message, "tool_call_id")
        name = rawjson.word(message, "tool_name") or rawjson.word(message, "name")
        found = next(
            (one for one in self._open if (id_ == one[1] if id_ else name in {"", one[0]})),
            None,
        )
        if found is not None:
            self._open.remove(found)
        return Result(found[1] if found else id_, rawjson.word(message, "content"), raw)


def _messages(turn: Turn, names: dict[str, str]) -> Iterator[Any]:
    if turn.raw is not None and not turn.changed:
        yield turn.raw
        return
    if turn.role == "tool":
        for block in turn.blocks:
            if isinstance(block, Result):
                name = {"tool_name": rawjson.string(names[block.id])} if block.id in names else {}
                yield {"role": "tool", **name, "content": rawjson.string(block.text)}
        return
    old = rawjson.without(rawjson.fields(turn.raw), "tool_calls") if turn.raw is not None else {"role": turn.role}
    text = "".join(block.text for block in turn.blocks if isinstance(block, Text))
    calls = [block.raw or _call(block) for block in turn.blocks if isinstance(block, PastCall)]
    unread = [block.raw for block in turn.blocks if isinstance(block, Other)]
    entries = {"tool_calls": [*calls, *unread]} if calls or unread else {}
    yield {**old, "content": rawjson.string(text), **entries}


def _call(call: PastCall) -> Fields:
    return {"function": {"name": rawjson.string(call.name), "arguments": rawjson.json_text(call.arguments)}}


FORMAT = _OllamaRequests()
