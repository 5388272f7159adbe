"""Requests of Chat Completions: `messages`, `tools`, `tool_choice`, `parallel_tool_calls`.

https://platform.openai.com/docs/api-reference/chat/create. Contents are strings or lists of parts, and null or absent
beside calls; a tool's answer is a message of its own that names the call's id and usually not the tool.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from toolcalls.turns import Block, Conversation, Other, PastCall, Result, Role, Text, Turn
from toolcalls.wires import function_tools
from toolcalls.wires.openai_chat import choice_of

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TOOL_KEYS = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class _ChatRequests:
    """The format."""

    def read(self, body: bytes) -> Conversation:
        """Raises ValueError for a body that is no such request."""
        try:
            fields = _fields(body)
            messages = [(raw, json.loads(bytes(raw))) for raw in _list(fields.get("messages", msgspec.Raw(b"null")))]
            tools = json.loads(bytes(fields.get("tools", msgspec.Raw(b"null")))) or []
            choice = json.loads(bytes(fields.get("tool_choice", msgspec.Raw(b"null"))))
            parallel = json.loads(bytes(fields.get("parallel_tool_calls", msgspec.Raw(b"null"))))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ValueError(f"the request body is no Chat Completions request: {error}") from error
        turns = tuple(_turn(raw, message) for raw, message in messages)
        return Conversation(turns, tuple(function_tools(tools)), choice_of(choice), parallel is not False)

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        """The body with these turns and tools."""
        fields: dict[str, Any] = dict(_fields(body))
        fields["messages"] = [message for turn in conversation.turns for message in _messages(turn)]
        asked = [tool.name for tool in function_tools(json.loads(bytes(fields.get("tools", b"null"))))]
        declared = _list(fields["tools"]) if asked else []
        if not conversation.tools:
            if len(asked) != len(declared):
                raise ValueError("a prompt cannot tell of a tool that is no function")
            for key in _TOOL_KEYS:
                fields.pop(key, None)
        elif not asked:
            fields["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
                }
                for tool in conversation.tools
            ]
        else:
            _keep(fields, {tool.name for tool in conversation.tools})
            choice = json.loads(bytes(fields.get("tool_choice", b"null")))
            if choice is not None and choice_of(choice) != conversation.tool_choice:
                fields["tool_choice"] = conversation.tool_choice
            elif isinstance(choice, dict) and isinstance(allowed := choice.get("allowed_tools"), dict):
                fields["tool_choice"] = _allowed(
                    choice, allowed, set(asked) - {tool.name for tool in conversation.tools}
                )
        return msgspec.json.encode(fields)


def _keep(fields: dict[str, Any], names: set[str]) -> None:
    """Leave out the functions among a body's tools that are not in `names`; other tools stay."""
    kept = [
        raw
        for raw in _list(fields["tools"])
        if all(tool.name in names for tool in function_tools([json.loads(bytes(raw))]))
    ]
    if len(kept) != len(_list(fields["tools"])):
        fields["tools"] = kept


def _allowed(choice: dict[str, Any], allowed: dict[str, Any], gone: set[str]) -> Any:
    """A `tool_choice` of some allowed tools, without those that are gone; where it was for no others, "none"."""
    tools = allowed.get("tools")
    kept = [
        tool
        for tool in (tools if isinstance(tools, list) else ())
        if not any(function.name in gone for function in function_tools([tool]))
    ]
    return {**choice, "allowed_tools": {**allowed, "tools": kept}} if kept else "none"


def _turn(raw: msgspec.Raw, message: Any) -> Turn:
    named = message.get("role") if isinstance(message, dict) else None
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        return Turn("user", (Other(message),), raw)
    if role == "tool":
        return Turn(role, (_result(message),), raw)
    return Turn(role, (*_content(message.get("content")), *_calls(message.get("tool_calls"))), raw)


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
            arguments = function.get("arguments")
            written = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
            yield PastCall(str(call.get("id") or ""), name, written or "{}", call)
        else:
            yield Other(call)


def _result(message: dict[str, Any]) -> Result:
    blocks = tuple(_content(message.get("content")))
    texts = [block for block in blocks if isinstance(block, Text)]
    marks = [block.cache_control for block in texts if block.cache_control is not None]
    return Result(
        id=str(message.get("tool_call_id") or ""),
        text="\n".join(block.text for block in texts),
        raw=message,
        others=tuple(block for block in blocks if isinstance(block, Other)),
        cache_control=marks[-1] if marks else message.get("cache_control"),
    )


def _messages(turn: Turn) -> Iterator[Any]:
    if turn.raw is not None and not turn.changed:
        yield turn.raw
        return
    if turn.role == "tool":
        for block in turn.blocks:
            if isinstance(block, Result):
                yield {"role": "tool", "tool_call_id": block.id, "content": block.text}
        return
    old: dict[str, Any] = dict(_fields(turn.raw)) if turn.raw is not None else {"role": turn.role}
    was_list = isinstance(old.get("content"), msgspec.Raw) and bytes(old["content"]).lstrip()[:1] == b"["
    old.pop("tool_calls", None)
    message: dict[str, Any] = {**old, "content": _written(turn.blocks, as_list=was_list)}
    calls = [block.raw or _call(block) for block in turn.blocks if isinstance(block, PastCall)]
    if calls:
        message["content"] = message["content"] or None
        message["tool_calls"] = calls
    yield message


def _written(blocks: Sequence[Block], *, as_list: bool) -> Any:
    """The content: a string where nothing asks for a list of parts."""
    said = [block for block in blocks if not isinstance(block, PastCall)]
    if not as_list and all(isinstance(block, Text) and block.cache_control is None for block in said):
        return "".join(block.text for block in said if isinstance(block, Text))
    return [_part(block) for block in said]


def _part(block: Block) -> Any:
    if isinstance(block, Text):
        old = block.raw if isinstance(block.raw, dict) else {"type": "text"}
        mark = {} if block.cache_control is None else {"cache_control": block.cache_control}
        return {**old, "text": block.text, **mark}
    return block.raw


def _call(call: PastCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


FORMAT = _ChatRequests()
