"""Requests of the Responses API: `instructions`, `input`, `tools`, `tool_choice`, `parallel_tool_calls`.

https://platform.openai.com/docs/api-reference/responses/create. `input` is a string or a list of items: messages,
calls, their outputs, reasoning, and what the provider's own tools did. A message of the model is one turn with the
reasoning in front of it and the calls after it, so that these, as text, end up in it; any other item is its own turn.

Calls of custom tools, of the local shell and of patches are read as the reply's wire reads them, with their outputs. A
changed turn writes its message again with the fields that it came with, and what does not fit into it as new ones;
items that are no messages stay as they came, reasoning with its `encrypted_content` too. A message whose whole text
became calls goes.

Tools that the API has built in (web search, MCP, a shell) cannot be described in a prompt. Functions and custom tools
in a namespace can, by the names that `tools` gives them; what is made of their calls names the namespace. Tools
that items declare (`additional_tools`) are described like the body's, and go with them.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import Any

import msgspec

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
)
from toolcalls.requests.declared_tools import RequestReader, custom_schema, tool_of
from toolcalls.requests.past_calls import CallForm, Changes, ResultForm, edited_list
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.openai_responses.calls import CUSTOM, input_of, kind_of
from toolcalls.wires.openai_responses.items import fetched

_TOOL_KEYS = ("tools", "tool_choice", "parallel_tool_calls", "max_tool_calls")
# The server keeps the conversation: a message of ours would be in it once more with each request. Instructions are
# those of one request alone.
_KEPT = ("previous_response_id", "conversation")
# What a request is about. Without any of them it is none of this API's.
_SUBJECTS = frozenset({"input", "instructions", "prompt", *_KEPT})
# Items of a conversation that declare tools from there on: a client's (Codex's, with newer models), and what a search
# for tools has found.
_DECLARING_ITEMS = frozenset({"additional_tools", "tool_search_output"})
_CHOICES = frozenset({"auto", "none", "required"})
_TEXTS = frozenset({"input_text", "output_text", "text"})
_OWN = frozenset({"function", "custom"})  # tools whose names and arguments are the request's own
# Built-in tools that the client runs; what they are called with, no request says.
_RUN_BY_CLIENTS = frozenset({"local_shell", "shell", "apply_patch", "computer", "computer_use", "computer_use_preview"})
# Calls whose results are text; what a computer answers is a picture.
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call"})
_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "assistant": "assistant"}
_ROLE_WORDS: dict[Role, str] = {"system": "developer", "user": "user", "tool": "user", "assistant": "assistant"}
_FUNCTION_CALL = CallForm("call_id", arguments="arguments", as_text=True)
_OTHER_CALL = CallForm("call_id")
_OUTPUT = ResultForm("call_id")


def _tools(value: object, space: str = "") -> Iterator[Tool]:
    """The tools of a request that have a name and arguments of its own, also those in namespaces.

    Others are passed over: no model after another server knows what a built-in tool is called with.
    """
    for item in rawjson.items(value):
        tool = rawjson.fields(item)
        kind = rawjson.word(tool, "type")
        if kind == "namespace":
            yield from _tools(tool.get("tools"), rawjson.word(tool, "name"))
        elif kind in _OWN and (
            made := tool_of(tool, custom_schema(tool) if kind == "custom" else tool.get("parameters"))
        ):
            yield replace(made, form=CUSTOM.form if kind == "custom" else "", space=space)


def _once(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """The tools, each as it was declared last: an item may declare again what an earlier one has."""
    return tuple({(tool.space, tool.name): tool for tool in tools}.values())


def _distinct(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools, those in namespaces with the namespace in front where the name is another tool's, too."""
    count = Counter(tool.name for tool in tools)
    return tuple(
        replace(tool, name=f"{tool.space}.{tool.name}") if tool.space and count[tool.name] > 1 else tool
        for tool in tools
    )


class _Field(msgspec.Struct, frozen=True):
    """The raw form of a turn that is a member of the body: `instructions`, or an `input` that is a string."""

    key: str
    raw: Any


class ResponsesConversation(Conversation):
    """A request of the Responses API."""

    reader = RequestReader((*sorted(_SUBJECTS), "model", "tool_choice", "text"), _tools)

    def check(self) -> None:
        if not _SUBJECTS & self.given.keys():
            raise ValueError("the request body has no `input`")

    # --- reading

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        if instructions := rawjson.word(members, "instructions"):
            yield Turn("system", (Text(instructions),), _Field("instructions", members["instructions"]))
        given = members.get("input")
        if rawjson.is_string(given):
            yield Turn("user", (Text(rawjson.value(given)),), _Field("input", given))
            return
        names = frozenset(tool.name for tool in self.came.tools if tool.space)

        def blocks(run: Sequence[Any]) -> Iterator[Block]:
            return (block for raw in run for block in _blocks(raw, rawjson.fields(raw), names))

        run: list[Any] = []  # the items of one turn
        only_reasoning = False
        before: Role = "user"
        for raw in rawjson.items(given):
            item = rawjson.fields(raw)
            kind = _kind(item)
            role = _role(kind, item)
            # A message of the model goes on with its calls; reasoning is in front of it.
            goes_on = role == before == "assistant" and (kind != "message" or only_reasoning)
            if run and not goes_on:
                yield Turn(before, blocks, tuple(run))
                run = []
            only_reasoning = kind == "reasoning" and (not run or only_reasoning)
            before = role
            run.append(raw)
        if run:
            yield Turn(before, blocks, tuple(run))

    def fetched(self, raw: Any) -> Iterable[str]:
        item = rawjson.fields(raw)
        if not _kind(item).endswith("_call_output"):
            return fetched(item)
        return [block.text for block in map(_block, rawjson.items(item.get("output"))) if isinstance(block, Text)]

    @cached_property
    def _own_tools(self) -> tuple[Tool, ...]:
        """The tools in items of the conversation."""
        given = self.given.get("input")
        items = [rawjson.fields(one) for one in given] if isinstance(given, list) else []
        declaring = (one for one in items if rawjson.word(one, "type") in _DECLARING_ITEMS)
        return _once(tool for one in declaring for tool in _tools(one.get("tools")))

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        tools, choice = _once([*self.declared, *self._own_tools]), rawjson.fields(self.given.get("tool_choice"))
        if rawjson.word(choice, "type") == "allowed_tools":
            names = {rawjson.word(rawjson.fields(entry), "name") for entry in rawjson.items(choice.get("tools"))}
            tools = tuple(tool for tool in tools if tool.name in names)
        return _distinct(tools)

    @property
    def kept_tools(self) -> tuple[Tool, ...]:
        return _distinct(self._own_tools)

    @cached_property
    def tool_choice(self) -> str:
        """Of a tool that is built in, that is its type."""
        value = self.given.get("tool_choice")
        if not isinstance(value, dict):
            return value if isinstance(value, str) else "auto"
        if value.get("type") == "allowed_tools":
            return rawjson.word(value, "mode") or "auto"
        kind, name = value.get("type"), value.get("name")
        if isinstance(kind, str) and kind not in {"", *_OWN}:
            return kind
        return name if kind and isinstance(name, str) else "required"

    @cached_property
    def parallel(self) -> bool:
        return rawjson.value(self.fields.get("parallel_tool_calls")) is not False

    @cached_property
    def opaque_tools(self) -> tuple[OpaqueTool, ...]:
        return tuple(dict.fromkeys(_opaque_tools(_listed(self.fields))))

    @cached_property
    def own_system_prompt(self) -> bool:
        return not rawjson.word(self.given, "instructions") and any(map(self.given.get, _KEPT))

    @property
    def is_structured(self) -> bool:
        """Whether `text.format` asks for JSON: any type but text does."""
        form = rawjson.fields(rawjson.fields(self.given.get("text")).get("format"))
        return bool(form) and form.get("type", "text") != "text"

    @property
    def continues(self) -> str:
        kept = self.given.get("previous_response_id") or self.given.get("conversation")
        id_ = kept.get("id") if isinstance(kept, dict) else kept
        return id_ if isinstance(id_, str) else ""

    # --- writing

    def edit_history(self, fields: Fields, changes: Changes) -> Fields:
        def item(members: Fields) -> Fields:
            kind = rawjson.word(members, "type")
            if kind == "function_call":
                return changes.call(members, _FUNCTION_CALL)
            if kind.endswith("_call_output"):
                return changes.result(members, _OUTPUT)
            is_call = kind == "custom_tool_call" or (kind.endswith("_call") and "call_id" in members)
            return changes.call(members, _OTHER_CALL) if is_call else members

        return edited_list(fields, "input", item)

    def written(self) -> bytes:
        fields: Fields = dict(self.fields)
        said: list[Turn] = []
        for turn in self.turns:
            if turn.role == "system" and turn.raw is None and self.own_system_prompt:
                fields["instructions"] = rawjson.string("".join(turn.texts))
            elif not (isinstance(turn.raw, _Field) and turn.raw.key == "instructions"):
                said.append(turn)
            elif turn.changed:
                fields["instructions"] = rawjson.string("".join(turn.texts))
        is_same = len(said) == 1 and isinstance(said[0].raw, _Field) and not said[0].changed
        # The tools that new calls are of, by the calls' ids, where the request declares them.
        tools = {tool.name: tool for tool in self.came.tools}
        known = {call.id: tools[call.name] for call in self.calls if call.raw is None and call.name in tools}
        items = [item for turn in said for item in _items(turn, known)]
        if items and not is_same:
            fields["input"] = items
        self._set_tools_and_choice(fields)
        return rawjson.written(fields)

    def _set_tools_and_choice(self, fields: Fields) -> None:
        gone, new = self.dropped, [_declared(tool) for tool in self.added]
        if not self.tools and not self.opaque_tools:
            for key in _TOOL_KEYS if gone else ():
                fields.pop(key, None)
            _keep_brought(fields, lambda _: ())
            return
        declared = rawjson.items(fields.get("tools"))
        if new or (gone and declared):
            fields["tools"] = [*_without(declared, gone), *new]
        if gone:
            _keep_brought(fields, lambda tools: _without(tools, gone))
        if not self.parallel and rawjson.value(fields.get("parallel_tool_calls")) is not False:
            fields["parallel_tool_calls"] = False
        choice = rawjson.fields(fields.get("tool_choice"))
        kind, word = rawjson.word(choice, "type"), self.tool_choice
        if kind not in {"", "allowed_tools", *_OWN} and _own_name(choice) in gone:
            fields["tool_choice"] = "auto"
        elif word != self.came.tool_choice:
            custom = any(tool.name == word and tool.form == CUSTOM.form for tool in self.tools)
            named = {"type": "custom" if custom else "function", "name": word}
            fields["tool_choice"] = word if word in _CHOICES else named
        elif gone and kind == "allowed_tools":
            fields["tool_choice"] = {**choice, "tools": list(_without(rawjson.items(choice.get("tools")), gone))}


# --- reading ----------------------------------------------------------------------------------------------------------


def _kind(item: Fields) -> str:
    """An item's type; messages may lack it."""
    return rawjson.word(item, "type") or "message"


def _role(kind: str, item: Fields) -> Role:
    """The role of an item. An unknown item is the user's, in which nothing is looked for."""
    if kind == "additional_tools":
        return "system"
    if kind == "message":
        return _ROLES.get(rawjson.word(item, "role"), "user")
    if kind.endswith("_call_output"):
        return "tool"
    return "assistant" if kind == "reasoning" or kind.endswith("_call") else "user"


def _blocks(raw: Any, item: Fields, names: Container[str]) -> Iterator[Block]:
    kind, content = _kind(item), item.get("content")
    call = kind_of(item) if kind in _CALLS else None
    if kind == "message" and rawjson.is_string(content):
        if text := rawjson.word(item, "content"):
            yield Text(text)
    elif kind == "message" and rawjson.is_list(content):
        yield from map(_block, rawjson.items(content))
    elif call is not None and (name := call.name(item)):
        full = f"{rawjson.word(item, 'namespace')}.{name}"
        name = full if full in names else name
        yield PastCall(rawjson.word(item, "call_id"), name, call.arguments(item) or "{}", raw)
    elif kind.removesuffix("_output") in _CALLS and kind.endswith("_output"):
        yield _result(raw, item)
    else:
        yield Other(raw)


def _block(raw: Any) -> Text | Other:
    part = rawjson.fields(raw)
    text = rawjson.value(part.get("text"))
    if isinstance(text, str) and rawjson.word(part, "type") in _TEXTS:
        return Text(text, raw, rawjson.value(part.get("cache_control")))
    return Other(raw)


def _result(raw: Any, item: Fields) -> Result:
    """What a tool answered. The local shell's names its call by its own `id`; a shell's has a part for each command."""
    output = item.get("output")
    id_ = rawjson.word(item, "call_id") or rawjson.word(item, "id")
    if not rawjson.is_list(output):
        return Result(id_, rawjson.word(item, "output"), raw)
    if _kind(item) == "shell_call_output":
        said = [
            rawjson.word(rawjson.fields(part), key) for part in rawjson.items(output) for key in ("stdout", "stderr")
        ]
        return Result(id_, "\n".join(filter(None, said)), raw)
    blocks = [_block(part) for part in rawjson.items(output)]
    texts = tuple(block.text for block in blocks if isinstance(block, Text))
    return Result(
        id=id_,
        text="\n".join(texts),
        parts=texts,
        raw=raw,
        others=tuple(block for block in blocks if isinstance(block, Other)),
    )


# --- writing ----------------------------------------------------------------------------------------------------------


def _items(turn: Turn, known: Mapping[str, Tool]) -> Iterator[Any]:
    """A turn's items. `known`: the tools that new calls and results are of, by their ids."""
    if isinstance(turn.raw, _Field) and not turn.changed:
        yield {"type": "message", "role": "user", "content": turn.raw.raw}
        return
    came: Sequence[Any] = turn.raw if isinstance(turn.raw, tuple) else ()
    if came and not turn.changed:
        yield from came
        return
    homes = [raw for raw in came if _kind(rawjson.fields(raw)) == "message"]
    parts: list[Text | Other] = []
    for block in turn.blocks:
        if isinstance(block, Text | Other) and not any(block.raw is raw for raw in came):
            parts.append(block)
            continue
        if parts:
            yield _message(turn.role, homes.pop() if homes else None, parts)
            parts = []
        yield block.raw if block.raw is not None else _written(block, known)
    if parts:
        yield _message(turn.role, homes.pop() if homes else None, parts)


def _message(role: Role, home: Any, blocks: Sequence[Text | Other]) -> Fields:
    """`home` with these blocks, or a new message. Its content stays a string where nothing asks for parts."""
    new: Fields = {"type": "message", "role": _ROLE_WORDS[role]}
    old = new if home is None else rawjson.fields(home)
    content = old.get("content")
    plain = [block for block in blocks if block.raw is None and isinstance(block, Text)]
    texts = [block.text for block in plain if block.cache_control is None]
    if len(texts) == len(blocks) and (content is None or rawjson.is_string(content)):
        return {**old, "content": rawjson.string("".join(texts))}
    return {**old, "content": [_part(role, block) for block in blocks]}


def _part(role: Role, block: Text | Other) -> Any:
    if isinstance(block, Other):
        return block.raw
    mark = {} if block.cache_control is None else {"cache_control": block.cache_control}
    if block.raw is not None:
        old = rawjson.fields(block.raw)
        is_same = rawjson.word(old, "text") == block.text
        return block.raw if is_same else {**old, "text": rawjson.string(block.text), **mark}
    if role == "assistant":
        return {"type": "output_text", "text": rawjson.string(block.text), "annotations": [], **mark}
    return {"type": "input_text", "text": rawjson.string(block.text), **mark}


def _written(block: Block, known: Mapping[str, Tool]) -> Fields:
    """A new call, or a new output."""
    tool = known.get(block.id) if isinstance(block, PastCall | Result) else None
    custom = tool is not None and tool.form == CUSTOM.form
    if isinstance(block, PastCall):
        space = {"namespace": rawjson.string(tool.space)} if tool is not None and tool.space else {}
        holds = {"input": input_of(block.arguments, ended=True)} if custom else {"arguments": block.arguments}
        name = block.name.removeprefix(f"{tool.space}.") if tool is not None and tool.space else block.name
        fields = {key: rawjson.string(text) for key, text in {"name": name, **holds}.items()}
        kind = CUSTOM.type if custom else "function_call"
        return {"type": kind, "call_id": rawjson.string(block.id), **fields, **space}
    if isinstance(block, Result):
        output = rawjson.string(block.text)
        kind = f"{CUSTOM.type if custom else 'function_call'}_output"
        return {"type": kind, "call_id": rawjson.string(block.id), "output": output}
    raise ValueError("a block of the request has no form in this API")


# --- tools ------------------------------------------------------------------------------------------------------------


def _listed(fields: Fields) -> list[Any]:
    """The tools that a body declares, also in items."""
    given = map(rawjson.fields, rawjson.items(fields.get("input")))
    brought = (tool for item in given if _kind(item) in _DECLARING_ITEMS for tool in rawjson.items(item.get("tools")))
    return [*rawjson.items(fields.get("tools")), *brought]


def _keep_brought(fields: Fields, keep: Callable[[list[Any]], Iterable[Any]]) -> None:
    """Leave out tools that a client's items declare, and an item with none of them left."""
    given = rawjson.items(fields.get("input"))
    items: list[Any] = []
    for raw in given:
        item = rawjson.fields(raw)
        was = rawjson.items(item.get("tools")) if _kind(item) == "additional_tools" else []
        left = list(keep(was)) if was else []
        if left or not was:
            is_same = len(left) == len(was) and all(one is tool for one, tool in zip(left, was, strict=True))
            items.append(raw if is_same else {**item, "tools": left})
    if len(items) < len(given) or any(one is not raw for one, raw in zip(items, given, strict=True)):
        fields["input"] = items


def _opaque_tools(tools: object) -> Iterator[OpaqueTool]:
    """The tools among these that no prompt can describe, by what they call themselves."""
    for tool in map(rawjson.fields, rawjson.items(tools)):
        kind = rawjson.word(tool, "type")
        if kind == "namespace":
            yield from _opaque_tools(tool.get("tools"))
        elif kind not in _OWN:
            where = rawjson.word(rawjson.fields(tool.get("environment")), "type")
            client = (kind in _RUN_BY_CLIENTS and not where.startswith("container")) or (
                rawjson.word(tool, "execution") == "client"
            )
            yield OpaqueTool(_own_name(tool), hosted=not client)


def _own_name(tool: Fields) -> str:
    """What a tool calls itself that is no function: its name, its type, and the server that it stands for."""
    kind, label = rawjson.word(tool, "type"), rawjson.word(tool, "server_label")
    return rawjson.word(tool, "name") or (f"{kind} {label}" if label else kind) or "one without a type"


def _without(tools: Sequence[Any], gone: Set[str], space: str = "") -> Iterator[Any]:
    """The tools without those of the request's own that are gone, also those in namespaces."""
    for raw in tools:
        tool = rawjson.fields(raw)
        kind = rawjson.word(tool, "type")
        if kind == "namespace":
            inner = rawjson.items(tool.get("tools"))
            left = list(_without(inner, gone, rawjson.word(tool, "name")))
            if left:
                yield raw if len(left) == len(inner) else {**tool, "tools": left}
        elif not {name := rawjson.word(tool, "name") if kind in _OWN else _own_name(tool), f"{space}.{name}"} & gone:
            yield raw


def _declared(tool: Tool) -> Fields:
    """A tool as a function; not strict, since strict schemas may leave nothing optional."""
    schema = {"type": "object", "properties": {}, **tool.schema}
    about = {"description": tool.description} if tool.description else {}
    return {"type": "function", "name": tool.name, **about, "parameters": schema, "strict": False}


CONVERSATIONS = {"openai_responses": ResponsesConversation}
