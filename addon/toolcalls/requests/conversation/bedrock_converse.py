"""Requests of Bedrock's Converse API: `system`, `messages`, `toolConfig`. The model is in the path.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html. Contents are lists of blocks, and a
block has one member, whose name says what it is. A tool's answer is a block of the user's message directly after the
call's, so new answers go into the message that follows, and into one of their own where none does. A `cachePoint` is a
block of its own, after what is cached.

Tools that the provider runs itself (`systemTool`) cannot be described in a prompt. Reasoning with its signature,
images, documents and blocks that nobody knows stay where they stand, as they came.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
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
    Text,
    Turn,
    arguments_in,
    body_system,
    system_and_messages,
    with_answers,
)
from toolcalls.requests.declared_tools import RequestReader, tool_of
from toolcalls.requests.past_calls import CallForm, Changes, ResultForm, edited_list, edited_member
from toolcalls.requests.stop_texts import keep_stops
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

_CALL = CallForm("toolUseId", arguments="input")
_RESULT = ResultForm("toolUseId")
# Blocks with texts that a reply may quote.
_QUOTED = ("toolResult", "document", "searchResult", "guardContent")
# Members that hold no text.
_DATA = frozenset({"bytes", "s3Location", "toolUseId", "status", "type", "format", "qualifiers"})


class ConverseConversation(Conversation):
    """A request of the Converse API."""

    stop_places = (("inferenceConfig", "stopSequences"),)
    reader = RequestReader(("messages", "system", "toolConfig", "outputConfig"), lambda _: ())

    def check(self) -> None:
        if not isinstance(self.given.get("messages"), list):
            raise ValueError("the request body has no list `messages`")

    # --- reading

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        return system_and_messages(members, _blocks)

    def result_texts(self, result: Result) -> Iterator[str]:
        return self.fetched(result.raw)

    def fetched(self, raw: Any) -> Iterator[str]:
        block = rawjson.fields(raw)
        for kind in _QUOTED:
            yield from _strings(block.get(kind))

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        specs = (rawjson.fields(rawjson.fields(one).get("toolSpec")) for one in _declared_in(self.given))
        found = (tool_of(spec, rawjson.fields(spec.get("inputSchema")).get("json")) for spec in specs)
        return tuple({tool.name: tool for tool in found if tool is not None}.values())

    @cached_property
    def tool_choice(self) -> str:
        """`auto`, `required`, or the name of the tool that must be called; the API has no `none`."""
        choice = rawjson.fields(rawjson.fields(self.given.get("toolConfig")).get("toolChoice"))
        if "tool" in choice:
            return rawjson.word(rawjson.fields(choice["tool"]), "name") or "required"
        return "required" if "any" in choice else "auto"

    @cached_property
    def opaque_tools(self) -> tuple[OpaqueTool, ...]:
        return tuple(dict.fromkeys(_opaque(_declared_in(self.fields))))

    @property
    def is_structured(self) -> bool:
        return "textFormat" in rawjson.fields(self.given.get("outputConfig"))

    # --- writing

    def edit_history(self, fields: Fields, changes: Changes) -> Fields:
        def block(members: Fields) -> Fields:
            there = rawjson.present(members)
            if "toolUse" in there:
                return edited_member(members, "toolUse", lambda call: changes.call(call, _CALL))
            if "toolResult" in there:
                return edited_member(members, "toolResult", lambda result: changes.result(result, _RESULT))
            return members

        return edited_list(fields, "messages", lambda message: edited_list(message, "content", block))

    def written(self) -> bytes:
        fields: Fields = dict(self.fields)
        first, said = body_system(self.turns)
        if first is not None and (first.changed or first.raw is None):
            fields["system"] = [_written(block) for block in first.blocks]
        fields["messages"] = list(with_answers(said, _message, _written, rawjson.items))
        keep_stops(fields, self.stop, *self.stop_places)
        self._set_tools_and_choice(fields)
        return rawjson.written(fields)

    def _set_tools_and_choice(self, fields: Fields) -> None:
        gone, new = self.dropped, [_declared(tool) for tool in self.added]
        if not self.tools and not self.opaque_tools:
            if gone:
                fields.pop("toolConfig", None)
            return
        config = rawjson.fields(fields.get("toolConfig"))
        if gone or new:
            fields["toolConfig"] = config = {**config, "tools": [*_without(_declared_in(fields), gone), *new]}
        if self.tool_choice != self.came.tool_choice:
            fields["toolConfig"] = {**rawjson.without(config, "toolChoice"), **_choice(self.tool_choice)}


# --- reading ----------------------------------------------------------------------------------------------------------


def _blocks(content: Any) -> Iterator[Block]:
    for raw in rawjson.items(content):
        block = rawjson.present(rawjson.fields(raw))
        text = rawjson.value(block.get("text"))
        use = rawjson.fields(block.get("toolUse"))
        if isinstance(text, str):
            yield Text(text, raw)
        elif (name := rawjson.word(use, "name")) and not rawjson.word(use, "type"):
            yield PastCall(rawjson.word(use, "toolUseId"), name, arguments_in(use.get("input")), raw)
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
        parts=tuple(texts),
        raw=raw,
        others=tuple(others),
        is_error=rawjson.word(result, "status") == "error",
    )


def _strings(raw: Any) -> Iterator[str]:
    """All strings in a value but for files, and ids and the like beside the texts."""
    pending = [rawjson.value(raw)]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            pending.extend(reversed(one))
        elif isinstance(one, dict):
            pending.extend(reversed([member for key, member in one.items() if key not in _DATA]))


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


def _declared_in(members: Mapping[str, Any]) -> list[Any]:
    return rawjson.items(rawjson.fields(members.get("toolConfig")).get("tools"))


def _name_of(raw: Any) -> str:
    """A declared tool's name, "" for what is none (a cache point)."""
    return rawjson.word(rawjson.fields(rawjson.fields(raw).get("toolSpec")), "name")


def _opaque(declared: Sequence[Any]) -> Iterator[OpaqueTool]:
    """The system's tools, and those without a name that are no cache points."""
    for raw in declared:
        tool = rawjson.fields(raw)
        if "systemTool" in tool:
            yield OpaqueTool(rawjson.word(rawjson.fields(tool["systemTool"]), "name") or "systemTool")
        elif not _name_of(raw) and "cachePoint" not in tool:
            yield OpaqueTool(next(iter(tool), "one without a name"))


def _without(declared: Sequence[Any], gone: Container[str]) -> Iterator[Any]:
    for raw in declared:
        opaque = next((tool.name for tool in _opaque([raw])), "")
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


CONVERSATIONS = {"bedrock_converse": ConverseConversation}
