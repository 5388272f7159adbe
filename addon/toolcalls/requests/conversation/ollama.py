"""Requests of Ollama's chat: `messages` and `tools`. There is no choice among tools in this API.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion. Contents are strings, images are
beside them. Arguments are objects; calls mostly have no id, and an answer names the tool (`tool_name`) or nothing. An
answer's images go with its text.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from toolcalls.request import Tool
from toolcalls.requests.conversation import (
    Block,
    Conversation,
    OpaqueTool,
    Other,
    PastCall,
    Result,
    Role,
    Text,
    Turn,
    arguments_in,
    paired,
)
from toolcalls.requests.declared_tools import RequestReader, function_tools
from toolcalls.requests.past_calls import CallForm, Changes, ResultForm, edited_list
from toolcalls.requests.stop_texts import keep_stops
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_CALL = CallForm("id", "function", "arguments", asks_id=False)
_RESULT = ResultForm("tool_call_id", "tool_name")


class OllamaConversation(Conversation):
    """A request of Ollama's chat."""

    stop_places = (("options", "stop"),)
    reader = RequestReader(("messages", "model", "format"), function_tools)

    def check(self) -> None:
        if not isinstance(self.given.get("messages", []), list):
            raise ValueError("the request body has no list `messages`")

    # --- reading

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        for raw in rawjson.items(members.get("messages")):
            role = _ROLES.get(rawjson.word(rawjson.fields(raw), "role"))
            if role is None:
                yield Turn("user", (Other(raw),), raw)
            else:
                yield Turn(role, _result if role == "tool" else _blocks, raw)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(paired(self.read_turns(self.fields)))

    @cached_property
    def opaque_tools(self) -> tuple[OpaqueTool, ...]:
        return tuple(dict.fromkeys(_opaque(rawjson.items(self.fields.get("tools")))))

    @property
    def is_structured(self) -> bool:
        return bool(self.given.get("format"))

    # --- writing

    def edit_history(self, fields: Fields, changes: Changes) -> Fields:
        def message(members: Fields) -> Fields:
            if rawjson.word(members, "role") == "tool":
                return changes.result(members, _RESULT)
            return edited_list(members, "tool_calls", lambda call: changes.call(call, _CALL))

        return edited_list(fields, "messages", message)

    def written(self) -> bytes:
        if not self.said:  # such a request loads a model
            raise ValueError("the request body has no messages")
        fields: Fields = dict(self.fields)
        names = {call.id: call.name for call in self.calls}
        fields["messages"] = [message for turn in self.turns for message in _messages(turn, names)]
        keep_stops(fields, self.stop, *self.stop_places)
        listed, gone = rawjson.items(fields.get("tools")), self.dropped
        if not self.tools and not self.opaque_tools:
            if gone:
                del fields["tools"]
        elif gone or self.added:
            kept = [raw for raw in listed if gone.isdisjoint(_names_of(raw))]
            fields["tools"] = [*kept, *map(_declared, self.added)]
        return rawjson.written(fields)


def _blocks(raw: Any) -> Iterator[Block]:
    message = rawjson.fields(raw)
    if text := rawjson.word(message, "content"):
        yield Text(text)
    for one in rawjson.items(message.get("tool_calls")):
        call = rawjson.fields(one)
        function = rawjson.fields(call.get("function"))
        name = rawjson.word(function, "name")
        given = function.get("arguments")
        arguments = rawjson.word(function, "arguments") or arguments_in(given)
        yield PastCall(rawjson.word(call, "id"), name, arguments, one) if name else Other(one)


def _result(raw: Any) -> Iterator[Block]:
    message = rawjson.fields(raw)
    images = tuple(Other(image) for image in rawjson.items(message.get("images")))
    name = rawjson.word(message, "tool_name") or rawjson.word(message, "name")
    yield Result(rawjson.word(message, "tool_call_id"), rawjson.word(message, "content"), raw, images, name=name)


def _messages(turn: Turn, names: Mapping[str, str]) -> Iterator[Any]:
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


def _opaque(tools: list[Any]) -> Iterator[OpaqueTool]:
    """The tools among these that are no functions."""
    for raw in tools:
        if not any(function_tools([rawjson.value(raw)])):
            yield OpaqueTool(rawjson.word(rawjson.fields(raw), "type") or "one without a type")


def _names_of(raw: Any) -> list[str]:
    """The name by which a declaration is known here."""
    return [tool.name for tool in function_tools([rawjson.value(raw)])] or [tool.name for tool in _opaque([raw])]


def _declared(tool: Tool) -> Fields:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


CONVERSATIONS = {"ollama": OllamaConversation}
