"""Requests of the Messages API: `system`, `messages`, `tools`, `tool_choice`.

https://docs.anthropic.com/en/api/messages. Contents are strings or lists of blocks. A tool's answer is a block of the
user's message directly after the call's, in front of all else that the user says there, so new answers go into the
message that follows, and into one of their own where none does. `system` is the body's, and newer clients also send
messages of that role between the others.

Thinking with its signature, images, documents and blocks that nobody knows stay where they stand, as they came. Tools
that the provider runs itself, MCP servers, and those that the client runs and that have no simple arguments (a
computer) cannot be described in a prompt; a shell, an editor and a memory can, by what is documented of them.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from toolcalls.request import Request, Tool
from toolcalls.requests.stop_texts import keep_stops, stops_in
from toolcalls.requests.turns import (
    Block,
    BodySystem,
    Conversation,
    OpaqueTool,
    Other,
    PastCall,
    Result,
    Text,
    Turn,
    body_system,
    system_and_messages,
    with_answers,
)
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.anthropic import WIRE

_CHOICES = {"required": "any", "auto": "auto", "none": "none"}
_STOP = ("stop_sequences",)
_ONE_CALL = "disable_parallel_tool_use"  # of the choice


class _AnthropicRequests:
    def read(self, body: bytes) -> Conversation:
        try:
            asked = WIRE.request(body)
            fields = rawjson.fields(body)
            turns = tuple(system_and_messages(fields, _blocks))
            opaque_tools = tuple(dict.fromkeys(_opaque_tools(fields, asked)))
            choice = rawjson.fields(fields.get("tool_choice"))
            parallel = rawjson.value(choice.get(_ONE_CALL)) is not True
            stop = stops_in(fields, _STOP)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the request body is not a Messages request: {error}") from error
        return Conversation(turns, asked.tools, asked.tool_choice, parallel, opaque_tools, stop)

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        fields: Fields = dict(rawjson.fields(body))
        first, said = body_system(conversation.turns)
        if first is not None and (first.changed or first.raw is None):
            fields["system"] = _content(first.blocks, first.raw.raw if isinstance(first.raw, BodySystem) else None)
        fields["messages"] = list(with_answers(said, _message, _written, _listed))
        keep_stops(fields, conversation.stop, _STOP)
        _set_tools_and_choice(fields, WIRE.request(body), conversation)
        return rawjson.written(fields)


# --- reading ----------------------------------------------------------------------------------------------------------


def _is_string(raw: object) -> bool:
    return isinstance(raw, msgspec.Raw) and bytes(raw).lstrip()[:1] == b'"'


def _blocks(content: Any) -> Iterator[Block]:
    """The blocks of a content: a string, or a list."""
    if _is_string(content):
        if text := rawjson.value(content):
            yield Text(text)
        return
    for raw in rawjson.items(content):
        block = rawjson.fields(raw)
        kind, mark = rawjson.word(block, "type"), rawjson.value(block.get("cache_control"))
        text = rawjson.value(block.get("text"))
        if kind == "text" and isinstance(text, str):
            yield Text(text, raw, mark)
        elif kind == "tool_use" and (name := rawjson.word(block, "name")):
            given = block.get("input")
            yield PastCall(
                rawjson.word(block, "id"), name, rawjson.text_of(given) if rawjson.is_object(given) else "{}", raw, mark
            )
        elif kind == "tool_result":
            yield _result(raw, block, mark)
        else:
            yield Other(raw)


def _result(raw: msgspec.Raw, block: Fields, mark: Any) -> Result:
    blocks = tuple(_blocks(block.get("content")))
    texts = [inner for inner in blocks if isinstance(inner, Text)]
    inner_marks = [inner.cache_control for inner in texts if inner.cache_control is not None]
    return Result(
        id=rawjson.word(block, "tool_use_id"),
        text="\n".join(inner.text for inner in texts),
        raw=raw,
        others=tuple(inner for inner in blocks if isinstance(inner, Other)),
        cache_control=mark if mark is not None or not inner_marks else inner_marks[-1],
        is_error=rawjson.value(block.get("is_error")) is True,
    )


# --- writing ----------------------------------------------------------------------------------------------------------


def _message(turn: Turn) -> Fields:
    old: Fields = {"role": turn.role} if turn.raw is None else rawjson.fields(turn.raw)
    if turn.raw is not None and not turn.changed:
        return old
    blocks: Sequence[Block] = turn.blocks
    if turn.role == "user":  # sorting is stable
        blocks = sorted(blocks, key=lambda block: not isinstance(block, Result))
    return {**old, "content": _content(blocks, old.get("content"))}


def _listed(content: Any) -> list[Any]:
    """A written content as a list of blocks."""
    if _is_string(content):
        return [{"type": "text", "text": content}] if rawjson.value(content) else []
    return rawjson.items(content)


def _content(blocks: Sequence[Block], old: Any) -> Any:
    """A content with these blocks; a string where it was one, or is new, and nothing asks for a list."""
    texts = [block.text for block in blocks if isinstance(block, Text) and block.cache_control is None]
    if len(texts) == len(blocks) and (old is None or _is_string(old)):
        return rawjson.string("".join(texts))
    return [_written(block) for block in blocks if not isinstance(block, Text) or block.text]


def _written(block: Block) -> Any:
    mark = {} if isinstance(block, Other) or block.cache_control is None else {"cache_control": block.cache_control}
    if isinstance(block, Text):
        old: Fields = {"type": "text"} if block.raw is None else rawjson.fields(block.raw)
        is_same = block.raw is not None and rawjson.word(old, "text") == block.text
        return block.raw if is_same else {**old, "text": rawjson.string(block.text), **mark}
    if block.raw is not None:
        return block.raw
    if isinstance(block, PastCall):
        fields = {"name": rawjson.string(block.name), "input": rawjson.json_text(block.arguments)}
        return {"type": "tool_use", "id": rawjson.string(block.id), **fields, **mark}
    if isinstance(block, Result):
        fields = {"tool_use_id": rawjson.string(block.id), "content": rawjson.string(block.text)}
        return {"type": "tool_result", **fields, **mark}
    raise ValueError("a block of the request has no form in this API")


# --- tools ------------------------------------------------------------------------------------------------------------


def _set_tools_and_choice(fields: Fields, asked: Request, conversation: Conversation) -> None:
    declared = rawjson.items(fields.get("tools"))
    if not conversation.tools and not conversation.opaque_tools:
        for key in ("tools", "tool_choice", "mcp_servers") if asked.tools or any(_opaque_tools(fields, asked)) else ():
            fields.pop(key, None)
        return
    known = {tool.name for tool in asked.tools}
    gone = (known - {tool.name for tool in conversation.tools}) | conversation.dropped(_opaque_tools(fields, asked))
    new = [_declared(tool) for tool in conversation.tools if tool.name not in known]
    if gone or new:
        fields["tools"] = [*_without(declared, gone), *new]
        servers = rawjson.items(fields.get("mcp_servers"))
        left = list(_without(servers, gone))
        if left and len(left) < len(servers):
            fields["mcp_servers"] = left
        elif servers and not left:
            del fields["mcp_servers"]
    if conversation.tool_choice != asked.tool_choice:
        kept = rawjson.without(rawjson.fields(fields.get("tool_choice")), "type", "name")
        fields["tool_choice"] = {**_choice(conversation.tool_choice), **kept}
    choice = rawjson.fields(fields.get("tool_choice"))
    if not conversation.parallel and conversation.tool_choice != "none" and _ONE_CALL not in choice:
        fields["tool_choice"] = {**(choice or _choice("auto")), _ONE_CALL: True}


def _opaque_tools(fields: Mapping[str, Any], asked: Request) -> Iterator[OpaqueTool]:
    """What a request declares that no prompt can describe: no tool of the client's own making, and none documented."""
    known = {tool.name: tool for tool in asked.tools}
    for raw in rawjson.items(fields.get("tools")):
        tool = rawjson.fields(raw)
        kind = rawjson.word(tool, "type")
        name = _called(tool)
        if kind not in {"", "custom"} and not (name in known and known[name].schema):
            yield OpaqueTool(name, hosted=name not in known)
    for raw in rawjson.items(fields.get("mcp_servers")):
        yield OpaqueTool(_called(rawjson.fields(raw)) or "MCP")


def _called(tool: Fields) -> str:
    """A tool's name, or that of the server whose tools it stands for, or its type."""
    return rawjson.word(tool, "name") or rawjson.word(tool, "mcp_server_name") or rawjson.word(tool, "type")


def _without(tools: Sequence[Any], gone: Container[str]) -> Iterator[Any]:
    return (raw for raw in tools if _called(rawjson.fields(raw)) not in gone)


def _choice(choice: str) -> Fields:
    word = _CHOICES.get(choice)
    return {"type": word} if word else {"type": "tool", "name": choice}


def _declared(tool: Tool) -> Fields:
    about = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **about, "input_schema": {"type": "object", **tool.schema}}


FORMAT = _AnthropicRequests()
