"""Requests of Bedrock's Converse API: `system`, `messages`, `toolConfig`.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html. Contents are lists of blocks, and a
block has one member, whose name says what it is. A tool's answer is a block of the user's message directly after the
call's, so new answers go into the message that follows, and into one of their own where none does. A `cachePoint` is a
block of its own, after what is cached.

Tools that the provider runs itself (`systemTool`) cannot be described in a prompt. Reasoning with its signature,
images, documents and blocks that nobody knows stay where they stand, as they came.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from toolcalls.request import Request, Tool
from toolcalls.requests.stop_texts import keep_stops, stops_in
from toolcalls.requests.turns import (
    Block,
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
from toolcalls.wires.bedrock_converse import WIRE

_STOP = ("inferenceConfig", "stopSequences")


class _ConverseRequests:
    def read(self, body: bytes) -> Conversation:
        try:
            asked = WIRE.request(body)
            fields = rawjson.fields(body)
            turns = tuple(system_and_messages(fields, _blocks))
            opaque_tools = tuple(dict.fromkeys(_opaque_tools(_declared_in(fields))))
            stop = stops_in(fields, _STOP)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the request body is not a Converse request: {error}") from error
        return Conversation(turns, asked.tools, asked.tool_choice, True, opaque_tools, stop)

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        fields: Fields = dict(rawjson.fields(body))
        first, said = body_system(conversation.turns)
        if first is not None and (first.changed or first.raw is None):
            fields["system"] = [_written(block) for block in first.blocks]
        fields["messages"] = list(with_answers(said, _message, _written, rawjson.items))
        keep_stops(fields, conversation.stop, _STOP)
        _set_tools_and_choice(fields, WIRE.request(body), conversation)
        return rawjson.written(fields)


# --- reading ----------------------------------------------------------------------------------------------------------


def _blocks(content: Any) -> Iterator[Block]:
    for raw in rawjson.items(content):
        block = rawjson.present(rawjson.fields(raw))
        text = rawjson.value(block.get("text"))
        use = rawjson.fields(block.get("toolUse"))
        if isinstance(text, str):
            yield Text(text, raw)
        elif (name := rawjson.word(use, "name")) and not rawjson.word(use, "type"):
            given = use.get("input")
            arguments = rawjson.text_of(given) if rawjson.is_object(given) else "{}"
            yield PastCall(rawjson.word(use, "toolUseId"), name, arguments, raw)
        elif "toolResult" in block and not rawjson.word(result := rawjson.fields(block["toolResult"]), "type"):
            yield _result(raw, result)
        else:
            yield Other(raw)


def _result(raw: Any, result: Fields) -> Result:
    texts: list[str] = []
    others: list[Other] = []
    for inner in rawjson.items(result.get("content")):
        content = rawjson.present(rawjson.fields(inner))
        text = rawjson.value(content.get("text"))
        if isinstance(text, str):
            texts.append(text)
        elif "json" in content:
            texts.append(rawjson.text_of(content["json"]))
        else:
            others.append(Other(inner))
    return Result(
        id=rawjson.word(result, "toolUseId"),
        text="\n".join(texts),
        raw=raw,
        others=tuple(others),
        is_error=rawjson.word(result, "status") == "error",
    )


# --- writing ----------------------------------------------------------------------------------------------------------


def _message(turn: Turn) -> Fields:
    old: Fields = {"role": turn.role} if turn.raw is None else rawjson.fields(turn.raw)
    if turn.raw is not None and not turn.changed:
        return old
    blocks: Sequence[Block] = turn.blocks
    if turn.role == "user":  # sorting is stable
        blocks = sorted(blocks, key=lambda block: not isinstance(block, Result))
    # The API refuses a text of nothing.
    return {**old, "content": [_written(block) for block in blocks if not isinstance(block, Text) or block.text]}


def _written(block: Block) -> Any:
    if isinstance(block, Text):
        if block.raw is not None and rawjson.word(rawjson.fields(block.raw), "text") == block.text:
            return block.raw
        return {"text": rawjson.string(block.text)}
    if block.raw is not None:
        return block.raw
    if isinstance(block, PastCall):
        named = {"toolUseId": rawjson.string(block.id), "name": rawjson.string(block.name)}
        return {"toolUse": {**named, "input": rawjson.json_text(block.arguments)}}
    if isinstance(block, Result):
        return {
            "toolResult": {"toolUseId": rawjson.string(block.id), "content": [{"text": rawjson.string(block.text)}]}
        }
    raise ValueError("a block of the request has no form in this API")


# --- tools ------------------------------------------------------------------------------------------------------------


def _declared_in(fields: Fields) -> list[Any]:
    return rawjson.items(rawjson.fields(fields.get("toolConfig")).get("tools"))


def _name_of(raw: Any) -> str:
    """A declared tool's name, "" for what is none (a cache point)."""
    return rawjson.word(rawjson.fields(rawjson.fields(raw).get("toolSpec")), "name")


def _opaque_tools(declared: Sequence[Any]) -> Iterator[OpaqueTool]:
    """The system's tools, and those without a name that are no cache points."""
    for raw in declared:
        tool = rawjson.fields(raw)
        if "systemTool" in tool:
            yield OpaqueTool(rawjson.word(rawjson.fields(tool["systemTool"]), "name") or "systemTool")
        elif not _name_of(raw) and "cachePoint" not in tool:
            yield OpaqueTool(next(iter(tool), "one without a name"))


def _set_tools_and_choice(fields: Fields, asked: Request, conversation: Conversation) -> None:
    declared = _declared_in(fields)
    opaque = list(_opaque_tools(declared))
    if not conversation.tools and not conversation.opaque_tools:
        if asked.tools or opaque:
            fields.pop("toolConfig", None)
        return
    known = {tool.name for tool in asked.tools}
    gone = (known - {tool.name for tool in conversation.tools}) | conversation.dropped(opaque)
    new = [_declared(tool) for tool in conversation.tools if tool.name not in known]
    config = rawjson.fields(fields.get("toolConfig"))
    if gone or new:
        fields["toolConfig"] = config = {**config, "tools": [*_without(declared, gone), *new]}
    if conversation.tool_choice != asked.tool_choice:
        fields["toolConfig"] = {**rawjson.without(config, "toolChoice"), **_choice(conversation.tool_choice)}


def _without(declared: Sequence[Any], gone: frozenset[str] | set[str]) -> Iterator[Any]:
    for raw in declared:
        opaque = next((tool.name for tool in _opaque_tools([raw])), "")
        if (_name_of(raw) or opaque) not in gone:
            yield raw


def _choice(choice: str) -> Fields:
    """The choice as a member; nothing where the model may choose, which is how the API says so, too."""
    if choice in {"auto", "none", ""}:
        return {}
    return {"toolChoice": {"any": {}} if choice == "required" else {"tool": {"name": choice}}}


def _declared(tool: Tool) -> Fields:
    about = {"description": tool.description} if tool.description else {}
    schema = {"json": {"type": "object", **tool.schema}}
    return {"toolSpec": {"name": tool.name, **about, "inputSchema": schema}}


FORMAT = _ConverseRequests()
