"""Requests of Ollama's chat: `messages` and `tools`.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion. Contents are strings, images are
beside them. Arguments are objects; calls mostly have no id, so an answer belongs to the first call of its name
(`tool_name`) that has none yet, and without a name to the first one at all. An answer's images go with its text.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolcalls.request import Tool
from toolcalls.requests.stop_texts import keep_stops, stops_in
from toolcalls.requests.turns import Block, Conversation, OpaqueTool, Other, PastCall, Result, Role, Text, Turn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import function_tools

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_STOP = ("options", "stop")


class _OllamaRequests:
    def read(self, body: bytes) -> Conversation:
        reading = _Reading()
        try:
            fields = rawjson.fields(body)
            messages = rawjson.items(fields.get("messages"))
            if not messages:
                raise ValueError("it has no list `messages`")
            turns = tuple(reading.turn(raw) for raw in messages)
            declared = _tools(fields)
            opaque_tools = tuple(dict.fromkeys(_opaque_tools(declared)))
            return Conversation(
                turns, tuple(_functions(declared)), opaque_tools=opaque_tools, stop=stops_in(fields, _STOP)
            )
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the request body is not an Ollama chat: {error}") from error

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        fields: Fields = dict(rawjson.fields(body))
        called = {
            block.id: block.name for turn in conversation.turns for block in turn.blocks if isinstance(block, PastCall)
        }
        fields["messages"] = [message for turn in conversation.turns for message in _messages(turn, called)]
        keep_stops(fields, conversation.stop, _STOP)
        _set_tools(fields, conversation)
        return rawjson.written(fields)


class _Reading:
    """Reads messages as turns, and finds the call that each answer belongs to."""

    def __init__(self) -> None:
        self._calls = 0
        self._open: list[tuple[str, str]] = []  # calls without an answer: names and ids

    def turn(self, raw: Any) -> Turn:
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
        by_id = (one for one in self._open if id_ == one[1])
        found = next(by_id, next((one for one in self._open if name in {"", one[0]}), None))
        if found is not None:
            self._open.remove(found)
        images = tuple(Other(image) for image in rawjson.items(message.get("images")))
        return Result(found[1] if found else id_, rawjson.word(message, "content"), raw, images)


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
    key = "tool_calls" if turn.role == "assistant" else "images"  # where what is no text came from
    entries = {key: [*calls, *unread]} if calls or unread else {}
    yield {**old, "content": rawjson.string(text), **entries}


def _call(call: PastCall) -> Fields:
    return {"function": {"name": rawjson.string(call.name), "arguments": rawjson.json_text(call.arguments)}}


def _tools(fields: Mapping[str, Any]) -> list[Any]:
    return rawjson.items(fields.get("tools"))


def _functions(tools: Sequence[Any]) -> Iterator[Tool]:
    return function_tools([json.loads(bytes(raw)) for raw in tools])


def _opaque_tools(tools: Sequence[Any]) -> Iterator[OpaqueTool]:
    """The tools among these that are no functions."""
    for raw in tools:
        if not any(_functions([raw])):
            yield OpaqueTool(rawjson.word(rawjson.fields(raw), "type") or "one without a type")


def _set_tools(fields: Fields, conversation: Conversation) -> None:
    declared = _tools(fields)
    known = {tool.name for tool in _functions(declared)}
    if not conversation.tools and not conversation.opaque_tools:
        if known or any(_opaque_tools(declared)):
            del fields["tools"]
        return
    names = {tool.name for tool in conversation.tools}
    kept = [raw for raw in declared if all(tool.name in names for tool in _functions([raw]))]
    kept = [raw for raw in kept if not conversation.dropped(_opaque_tools([raw]))]
    new = [_declared(tool) for tool in conversation.tools if tool.name not in known]
    if new or len(kept) < len(declared):
        fields["tools"] = [*kept, *new]


def _declared(tool: Tool) -> Fields:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


FORMAT = _OllamaRequests()
