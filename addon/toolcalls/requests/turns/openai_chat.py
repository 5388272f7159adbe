"""Requests of Chat Completions: `messages`, `tools`, `tool_choice`, `parallel_tool_calls`.

https://platform.openai.com/docs/api-reference/chat/create. Contents are strings or lists of parts, and null or absent
beside calls; a tool's answer is a message of its own that names the call's id and usually not the tool.

The older form (`functions`, `function_call`) has one call a message and no ids: an answer belongs to the latest call of
its name, and the ids here are made up to say so.

A few lines over 300: what is read of a message is written back with the same fields.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from toolcalls.request import Tool
from toolcalls.requests.stop_texts import keep_stops, stops_in
from toolcalls.requests.turns import Block, Conversation, OpaqueTool, Other, PastCall, Result, Role, Text, Turn
from toolcalls.values import rawjson
from toolcalls.wires.openai_chat.calls import CUSTOM, LEGACY, called_custom, input_in
from toolcalls.wires.openai_chat.request import allowed_tools, choice_in, tools_in

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_NOTHING = rawjson.string("")
_TOOL_KEYS = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")
_STOP = ("stop",)


@dataclass(frozen=True, slots=True)
class _Legacy:
    """The raw form of a call in a message's `function_call`."""

    raw: Any


class _ChatRequests:
    def read(self, body: bytes) -> Conversation:
        try:
            fields = rawjson.fields(body)
            if not bytes(fields.get("messages", b"")).lstrip().startswith(b"["):
                raise ValueError("it has no list `messages`")
            messages = [(raw, rawjson.loaded(bytes(raw))) for raw in rawjson.items(fields["messages"])]
            asked = _asked(fields)
            parallel = rawjson.value(fields.get("parallel_tool_calls"))
            stop = stops_in(fields, _STOP)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the request body is not a Chat Completions request: {error}") from error
        reading = _Reading()
        turns = tuple(reading.turn(raw, message) for raw, message in messages)
        opaque_tools = tuple(dict.fromkeys(_opaque_tools(asked)))
        return Conversation(turns, tuple(tools_in(asked)), choice_in(asked), parallel is not False, opaque_tools, stop)

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        fields: dict[str, Any] = dict(rawjson.fields(body))
        asked = _asked(fields)
        declared = {tool.name: tool for tool in tools_in(asked)}
        known = _known(conversation.turns, declared)
        fields["messages"] = [message for turn in conversation.turns for message in _messages(turn, known)]
        keep_stops(fields, conversation.stop, _STOP)
        names = {tool.name for tool in conversation.tools}
        if not conversation.tools and not conversation.opaque_tools:
            for key in _TOOL_KEYS if declared or any(_opaque_tools(asked)) else ():
                fields.pop(key, None)
            return rawjson.written(fields)
        new = [_declared(tool) for tool in conversation.tools if tool.name not in declared]
        for key in ("tools", "functions"):
            listed = rawjson.items(fields.get(key))
            kept = [raw for raw in listed if all(tool.name in names for tool in _tools_of(key, raw))]
            kept = [raw for raw in kept if not conversation.dropped(_opaque_tools({key: [rawjson.value(raw)]}))]
            if kept and len(kept) < len(listed):
                fields[key] = kept
            elif listed and not kept:
                del fields[key]
        if new:
            fields["tools"] = [*rawjson.items(fields.get("tools")), *new]
        _choose(fields, asked, conversation.tool_choice, set(declared) - names)
        if not conversation.parallel and asked.get("parallel_tool_calls") is not False:
            fields["parallel_tool_calls"] = False
        return rawjson.written(fields)


def _asked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The members about tools, as plain data."""
    return {key: json.loads(bytes(fields[key])) for key in _TOOL_KEYS if key in fields}


def _tools_of(key: str, raw: msgspec.Raw) -> Iterator[Tool]:
    """The tool that one entry of `tools` or `functions` declares, if it does."""
    return tools_in({key: [json.loads(bytes(raw))]})


def _opaque_tools(asked: Mapping[str, Any]) -> Iterator[OpaqueTool]:
    """The tools that are neither functions nor custom ones."""
    tools = asked.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if not any(tools_in({"tools": [tool]})):
            kind = tool.get("type") if isinstance(tool, dict) else None
            yield OpaqueTool(kind if isinstance(kind, str) and kind else "one without a type", hosted=kind != CUSTOM)


def _declared(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _choose(fields: dict[str, Any], asked: Mapping[str, Any], word: str, gone: set[str]) -> None:
    """Set the choice where the request has one, and take tools that are gone out of those that it allows."""
    choice = asked.get("tool_choice")
    key = "tool_choice" if choice is not None else "function_call"
    if asked.get(key) is None:
        return
    if choice_in(asked) != word:
        fields[key] = word
    elif isinstance(choice, dict) and "allowed_tools" in choice and (allowed := allowed_tools(choice)) is not None:
        fields["tool_choice"] = _allowed(choice, allowed, gone)


def _allowed(choice: dict[str, Any], allowed: dict[str, Any], gone: set[str]) -> Any:
    """A `tool_choice` of some allowed tools without those that are gone; "none" where none is left."""
    tools = allowed.get("tools")
    kept = [
        tool
        for tool in (tools if isinstance(tools, list) else ())
        if not any(one.name in gone for one in tools_in({"tools": [tool]}))
    ]
    return {**choice, "allowed_tools": {**allowed, "tools": kept}} if kept else "none"


class _Reading:
    """Reads messages as turns, and finds the call of the older form that an answer belongs to."""

    def __init__(self) -> None:
        self._calls = 0
        self._ids: dict[str, str] = {}  # of the latest calls of the older form, by name

    def turn(self, raw: msgspec.Raw, message: Any) -> Turn:
        named = message.get("role") if isinstance(message, dict) else None
        role = _ROLES.get(named) if isinstance(named, str) else None
        if role is None:
            return Turn("user", (Other(message),), raw)
        if role == "tool":
            return Turn(role, (_result(message, self._ids.get(str(message.get("name")), "")),), raw)
        calls = (*_calls(message.get("tool_calls")), *self._legacy(message.get("function_call")))
        return Turn(role, (*_content(message.get("content")), *calls), raw)

    def _legacy(self, function: object) -> Iterator[Block]:
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(function, dict) and isinstance(name, str) and name:
            self._calls += 1
            self._ids[name] = f"function {self._calls}"
            yield PastCall(self._ids[name], name, _arguments(function), _Legacy(function))


def _content(content: object) -> Iterator[Block]:
    if isinstance(content, str):
        if content:
            yield Text(content)
        return
    for part in content if isinstance(content, list) else ():
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str) and (not isinstance(part, dict) or part.get("type") == "text"):
            yield Text(text, part, part.get("cache_control") if isinstance(part, dict) else None)
        else:
            yield Other(part)


def _calls(calls: object) -> Iterator[Block]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(function, dict) and isinstance(name, str):
            yield PastCall(str(call.get("id") or ""), name, _arguments(function), call)
        elif isinstance(call, dict) and (custom := called_custom(call)) is not None:
            yield PastCall(str(call.get("id") or ""), *custom, call)
        else:
            yield Other(call)


def _arguments(function: Mapping[str, Any]) -> str:
    arguments = function.get("arguments")
    return (arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)) or "{}"


def _result(message: dict[str, Any], called: str) -> Result:
    """`called`: the id of the call of the older form that a message without an id answers."""
    blocks = tuple(_content(message.get("content")))
    texts = [block for block in blocks if isinstance(block, Text)]
    marks = [block.cache_control for block in texts if block.cache_control is not None]
    return Result(
        id=str(message.get("tool_call_id") or called),
        text="\n".join(block.text for block in texts),
        raw=message,
        others=tuple(block for block in blocks if isinstance(block, Other)),
        cache_control=marks[-1] if marks else message.get("cache_control"),
    )


def _known(turns: Sequence[Turn], declared: Mapping[str, Tool]) -> dict[str, Tool]:
    """The tools that new calls are of, by the calls' ids. In the older form a message has one call at most."""
    found: dict[str, Tool] = {}
    for turn in turns:
        calls = [block for block in turn.blocks if isinstance(block, PastCall)]
        for call in calls:
            tool = declared.get(call.name)
            if call.raw is None and tool is not None and (tool.form != LEGACY or len(calls) == 1):
                found[call.id] = tool
    return found


def _messages(turn: Turn, known: Mapping[str, Tool]) -> Iterator[Any]:
    """A turn's messages. `known`: the tools that new calls and results are of, by their ids."""
    if turn.raw is not None and not turn.changed:
        yield turn.raw
        return
    if turn.role == "tool":
        for block in turn.blocks:
            if isinstance(block, Result):
                text, tool = rawjson.string(block.text), known.get(block.id)
                if tool is not None and tool.form == LEGACY:
                    yield {"role": "function", "name": rawjson.string(tool.name), "content": text}
                else:
                    yield {"role": "tool", "tool_call_id": block.id, "content": text}
        return
    old: dict[str, Any] = dict(rawjson.fields(turn.raw)) if turn.raw is not None else {"role": turn.role}
    was_list = isinstance(old.get("content"), msgspec.Raw) and bytes(old["content"]).lstrip()[:1] == b"["
    said = _written(turn.blocks, as_list=was_list)
    message = {**rawjson.without(old, "tool_calls", "function_call"), "content": said}
    calls: list[Any] = []
    for block in filter(_is_call, turn.blocks):
        made = block.raw if isinstance(block, Other) else _call(block, known) if isinstance(block, PastCall) else None
        if isinstance(made, _Legacy):
            message["function_call"] = made.raw
        else:
            calls.append(made)
    if calls:
        message["tool_calls"] = calls
    if calls or "function_call" in message:
        message["content"] = said if said not in ([], _NOTHING) else None
    yield message


def _is_call(block: Block) -> bool:
    """Whether a block is among a message's calls, also one that cannot be read."""
    if isinstance(block, Other):
        return isinstance(block.raw, dict) and bool({"function", "custom"} & set(block.raw))
    return isinstance(block, PastCall)


def _written(blocks: Sequence[Block], *, as_list: bool) -> Any:
    """The content: a string where nothing asks for a list of parts."""
    said = [block for block in blocks if not _is_call(block)]
    if not as_list and all(isinstance(block, Text) and block.cache_control is None for block in said):
        return rawjson.string("".join(block.text for block in said if isinstance(block, Text)))
    return [_part(block) for block in said]


def _part(block: Block) -> Any:
    if isinstance(block, Text):
        old = block.raw if isinstance(block.raw, dict) else {"type": "text"}
        mark = {} if block.cache_control is None else {"cache_control": block.cache_control}
        return {**old, "text": rawjson.string(block.text), **mark}
    return block.raw


def _call(call: PastCall, known: Mapping[str, Tool]) -> Any:
    """A call as it came, or a new one in the form of its tool."""
    if call.raw is not None:
        return call.raw
    name, tool = rawjson.string(call.name), known.get(call.id)
    if tool is not None and tool.form == CUSTOM:
        custom = {"name": name, "input": rawjson.string(input_in(call.arguments))}
        return {"id": call.id, "type": CUSTOM, CUSTOM: custom}
    function = {"name": name, "arguments": rawjson.string(call.arguments)}
    if tool is not None and tool.form == LEGACY:
        return _Legacy(function)
    return {"id": call.id, "type": "function", "function": function}


FORMAT = _ChatRequests()
