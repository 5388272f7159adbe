"""Requests of the Messages API: `system`, `messages`, `tools`, `tool_choice`.

https://docs.anthropic.com/en/api/messages. Contents are strings or lists of blocks. A tool's answer is a block of the
user's message directly after the call's, in front of all else that the user says there, so new answers go into the
message that follows, and into one of their own where none does. `system` is the body's, and newer clients also send
messages of that role between the others.

Thinking with its signature, images, documents and blocks that nobody knows stay where they stand, as they came. Tools
that the provider runs itself, MCP servers, and those that the client runs and that have no simple arguments (a
computer) cannot be described in a prompt; a shell, an editor and a memory can, by what is documented of them.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from toolcalls.request import Tool
from toolcalls.requests.conversation import (
    Block,
    BodySystem,
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
from toolcalls.requests.declared_tools import RequestReader
from toolcalls.requests.past_calls import CallForm, Changes, ResultForm, edited_list
from toolcalls.requests.stop_texts import keep_stops
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.anthropic.blocks import fetched

# Tools that the provider defines and the client runs; all others of its own run at the provider and are never called.
_CLIENT_TOOLS = ("bash_", "computer_", "memory_", "text_editor_")
_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}
_RANGE = {"type": "array", "items": _INTEGER}
_EDITED = {
    "command": _STRING, "path": _STRING, "file_text": _STRING, "old_str": _STRING, "new_str": _STRING,
    "insert_line": _INTEGER, "insert_text": _STRING, "view_range": _RANGE,
}  # fmt: skip
# What is documented of those whose arguments are simple, since requests do not tell them: what they are for, their
# commands, their parameters. https://docs.claude.com/en/docs/agents-and-tools/tool-use/bash-tool and its neighbours.
_DOCUMENTED: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "bash_": (
        "Runs a command in a bash session that goes on from call to call; `restart` begins a new one.",
        (), {"command": _STRING, "restart": {"type": "boolean"}},
    ),
    "text_editor_": ("Views and edits files.", ("view", "create", "str_replace", "insert"), _EDITED),
    "memory_": (
        "Keeps files in /memories, to remember them later.",
        ("view", "create", "str_replace", "insert", "delete", "rename"),
        _EDITED | {"old_path": _STRING, "new_path": _STRING},
    ),
}  # fmt: skip
_CHOICES = {"required": "any", "auto": "auto", "none": "none"}
_ONE_CALL = "disable_parallel_tool_use"  # of the choice
_CALL = CallForm("id", arguments="input")
_RESULT = ResultForm("tool_use_id")


def _tools(value: object) -> Iterator[Tool]:
    """The tools of a request that the client runs: its own, with a schema, and the provider's without."""
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        name, schema, about = item.get("name"), item.get("input_schema"), item.get("description")
        kind = item.get("type") or "custom"
        if not isinstance(kind, str) or not isinstance(name, str) or not name:
            continue
        if kind == "custom":
            yield Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")
        elif kind.startswith(_CLIENT_TOOLS):
            yield _documented(name, kind)


def _documented(name: str, kind: str) -> Tool:
    """A tool that the provider defines and the client runs, with its parameters where those are simple."""
    found = next((schema for prefix, schema in _DOCUMENTED.items() if kind.startswith(prefix)), None)
    if found is None:
        return Tool(name)
    about, commands, properties = found
    if not commands:
        return Tool(name, {"type": "object", "properties": properties}, about)
    properties = properties | {"command": {"type": "string", "enum": list(commands)}}
    return Tool(name, {"type": "object", "properties": properties, "required": ["command"]}, about)


class MessagesConversation(Conversation):
    """A request of the Messages API."""

    stop_places = (("stop_sequences",),)
    reader = RequestReader(("messages", "model", "tool_choice", "system", "output_config", "output_format"), _tools)

    def check(self) -> None:
        if not isinstance(self.given.get("messages"), list):
            raise ValueError("the request body has no list `messages`")

    # --- reading

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        return system_and_messages(members, _blocks)

    def fetched(self, raw: Any) -> Iterable[str]:
        block = rawjson.fields(raw)
        return fetched(block) or (() if rawjson.word(block, "type") == "text" else _documents(block))

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(
            {tool.name: tool for tool in (*self.declared, *_tools([*_added(self.given["messages"])]))}.values()
        )

    @cached_property
    def tool_choice(self) -> str:
        value = self.given.get("tool_choice")
        kind = value.get("type") if isinstance(value, dict) else None
        if isinstance(value, dict) and kind == "tool":
            return rawjson.word(value, "name") if isinstance(value.get("name"), str) else "required"
        return "required" if kind == "any" else kind if isinstance(kind, str) else "auto"

    @cached_property
    def parallel(self) -> bool:
        return rawjson.value(rawjson.fields(self.fields.get("tool_choice")).get(_ONE_CALL)) is not True

    @cached_property
    def opaque_tools(self) -> tuple[OpaqueTool, ...]:
        """What a request declares that no prompt can describe: no tool of the client's own making, none documented."""
        known = {tool.name: tool for tool in self.tools}
        found: list[OpaqueTool] = []
        for raw in rawjson.items(self.fields.get("tools")):
            tool = rawjson.fields(raw)
            name = _called(tool)
            if rawjson.word(tool, "type") not in {"", "custom"} and not (name in known and known[name].schema):
                found.append(OpaqueTool(name, hosted=name not in known))
        for raw in rawjson.items(self.fields.get("mcp_servers")):
            found.append(OpaqueTool(_called(rawjson.fields(raw)) or "MCP"))
        return tuple(dict.fromkeys(found))

    @property
    def is_structured(self) -> bool:
        """Whether the request asks for JSON: `output_config.format`, in older versions `output_format`."""
        config = self.given.get("output_config")
        asked = config.get("format") if isinstance(config, dict) else self.given.get("output_format")
        return isinstance(asked, dict) and asked.get("type", "text") != "text"

    # --- writing

    def edit_history(self, fields: Fields, changes: Changes) -> Fields:
        def block(members: Fields) -> Fields:
            kind = rawjson.word(members, "type")
            if kind == "tool_use":
                return changes.call(members, _CALL)
            return changes.result(members, _RESULT) if kind == "tool_result" else members

        return edited_list(fields, "messages", lambda message: edited_list(message, "content", block))

    def written(self) -> bytes:
        fields: Fields = dict(self.fields)
        first, said = body_system(self.turns)
        if first is not None and (first.changed or first.raw is None):
            fields["system"] = _content(first.blocks, first.raw.raw if isinstance(first.raw, BodySystem) else None)
        fields["messages"] = list(with_answers(said, _message, _written, _listed))
        keep_stops(fields, self.stop, *self.stop_places)
        self._set_tools_and_choice(fields)
        return rawjson.written(fields)

    def _set_tools_and_choice(self, fields: Fields) -> None:
        gone, new = self.dropped, [_declared(tool) for tool in self.added]
        if not self.tools and not self.opaque_tools:
            for key in ("tools", "tool_choice", "mcp_servers") if gone else ():
                fields.pop(key, None)
            return
        if gone or new:
            fields["tools"] = [*_without(rawjson.items(fields.get("tools")), gone), *new]
            servers = rawjson.items(fields.get("mcp_servers"))
            left = list(_without(servers, gone))
            if left and len(left) < len(servers):
                fields["mcp_servers"] = left
            elif servers and not left:
                del fields["mcp_servers"]
        if self.tool_choice != self.came.tool_choice:
            kept = rawjson.without(rawjson.fields(fields.get("tool_choice")), "type", "name")
            fields["tool_choice"] = {**_choice(self.tool_choice), **kept}
        choice = rawjson.fields(fields.get("tool_choice"))
        if not self.parallel and self.tool_choice != "none" and _ONE_CALL not in choice:
            fields["tool_choice"] = {**(choice or _choice("auto")), _ONE_CALL: True}


# --- reading ----------------------------------------------------------------------------------------------------------


def _added(messages: Iterable[Any]) -> Iterator[Any]:
    """The tools that are defined in a message (`tool_addition`), to be offered from there on."""
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            tool = block.get("tool") if isinstance(block, dict) and block.get("type") == "tool_addition" else None
            if isinstance(tool, dict) and tool.get("type") == "tool_definition":
                yield tool.get("definition")


def _blocks(content: Any) -> Iterator[Block]:
    """The blocks of a content: a string, or a list."""
    if rawjson.is_string(content):
        if text := rawjson.value(content):
            yield Text(text)
        return
    for raw in rawjson.items(content):
        block = rawjson.fields(raw)
        kind, text = rawjson.word(block, "type"), rawjson.value(block.get("text"))
        if kind == "text" and isinstance(text, str):
            yield Text(text, raw, rawjson.value(block.get("cache_control")))
        elif kind == "tool_use" and (name := rawjson.word(block, "name")):
            mark = rawjson.value(block.get("cache_control"))
            yield PastCall(rawjson.word(block, "id"), name, arguments_in(block.get("input")), raw, mark)
        elif kind == "tool_result":
            yield _result(raw, block)
        else:
            yield Other(raw)


def _result(raw: Any, block: Fields) -> Result:
    mark = rawjson.value(block.get("cache_control"))
    blocks = tuple(_blocks(block.get("content")))
    texts = [inner for inner in blocks if isinstance(inner, Text)]
    inner_marks = [inner.cache_control for inner in texts if inner.cache_control is not None]
    return Result(
        id=rawjson.word(block, "tool_use_id"),
        text="\n".join(inner.text for inner in texts),
        parts=tuple(inner.text for inner in texts),
        raw=raw,
        others=tuple(inner for inner in blocks if isinstance(inner, Other)),
        cache_control=mark if mark is not None or not inner_marks else inner_marks[-1],
        is_error=rawjson.value(block.get("is_error")) is True,
    )


def _documents(block: Any) -> Iterator[str]:
    """The texts of a document or a search result: in the block, in its `source`, in contents inside of either."""
    pending = [block]
    while pending:
        block = rawjson.fields(pending.pop())
        source = rawjson.fields(block.get("source"))
        if rawjson.word(source, "type") == "text" and (text := rawjson.word(source, "data")):
            yield text
        for holder in (block, source):
            inner = holder.get("content")
            if rawjson.is_string(inner):
                yield rawjson.value(inner)
            for raw in rawjson.items(inner):
                if text := rawjson.word(rawjson.fields(raw), "text"):
                    yield text
                pending.append(raw)


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
    if rawjson.is_string(content):
        return [{"type": "text", "text": content}] if rawjson.value(content) else []
    return rawjson.items(content)


def _content(blocks: Sequence[Block], old: Any) -> Any:
    """A content with these blocks; a string where it was one, or is new, and nothing asks for a list."""
    texts = [block.text for block in blocks if isinstance(block, Text) and block.cache_control is None]
    if len(texts) == len(blocks) and (old is None or rawjson.is_string(old)):
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


CONVERSATIONS = {"anthropic": MessagesConversation}
