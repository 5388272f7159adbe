"""Requests of the Responses API: `instructions`, `input`, `tools`, `tool_choice`, `parallel_tool_calls`.

https://platform.openai.com/docs/api-reference/responses/create. `input` is a string or a list of items: messages,
calls, their outputs, reasoning, and what the provider's own tools did. A message of the model is one turn with the
reasoning in front of it and the calls after it, so that these, as text, end up in it; any other item is its own turn.

Calls of custom tools, of the local shell and of patches are read as the reply's wire reads them, with their outputs. A
changed turn writes its message again with the fields that it came with, and what does not fit into it as new ones;
items that are no messages stay as they came, reasoning with its `encrypted_content` too. A message whose whole text
became calls goes.

Tools that the API has built in (web search, MCP, a shell) cannot be described in a prompt. Functions and custom tools
in a namespace can, by the names that `WIRE.request` gives them; what is made of their calls names the namespace. Tools
that items declare (`additional_tools`) are described like the body's, and go with them.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import msgspec

from toolcalls.request import Request, Tool
from toolcalls.requests.turns import Block, Conversation, OpaqueTool, Other, PastCall, Result, Role, Text, Turn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.openai_responses import WIRE
from toolcalls.wires.openai_responses.calls import CUSTOM, input_of, kind_of
from toolcalls.wires.openai_responses.request import DECLARING_ITEMS

_TOOL_KEYS = ("tools", "tool_choice", "parallel_tool_calls", "max_tool_calls")
# The server keeps the conversation: a message of ours would be in it once more with each request. Instructions are
# those of one request alone.
_KEPT = ("previous_response_id", "conversation")
_CHOICES = frozenset({"auto", "none", "required"})
_TEXTS = frozenset({"input_text", "output_text", "text"})
_OWN = frozenset({"function", "custom"})  # tools whose names and arguments are the request's own
# Built-in tools that the client runs; what they are called with, no request says.
_RUN_BY_CLIENTS = frozenset({"local_shell", "shell", "apply_patch", "computer", "computer_use", "computer_use_preview"})
# Calls whose results are text; what a computer answers is a picture.
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call"})
_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "assistant": "assistant"}
_ROLE_WORDS: dict[Role, str] = {"system": "developer", "user": "user", "tool": "user", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class _Field:
    """The raw form of a turn that is a member of the body: `instructions`, or an `input` that is a string."""

    key: str
    raw: msgspec.Raw


class _ResponsesRequests:
    def read(self, body: bytes) -> Conversation:
        try:
            asked = WIRE.request(body)
            fields = rawjson.fields(body)
            turns = tuple(_turns(fields, {tool.name for tool in asked.tools}))
            opaque_tools = tuple(dict.fromkeys(_opaque_tools(_listed(fields))))
            parallel = rawjson.value(fields.get("parallel_tool_calls")) is not False
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the request body is not a Responses request: {error}") from error
        return Conversation(
            turns, asked.tools, asked.tool_choice, parallel, opaque_tools, own_system_prompt=_is_apart(fields)
        )

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        fields: Fields = dict(rawjson.fields(body))
        said: list[Turn] = []
        for turn in conversation.turns:
            if turn.role == "system" and turn.raw is None and _is_apart(fields):
                fields["instructions"] = rawjson.string("".join(_texts(turn)))
            elif not (isinstance(turn.raw, _Field) and turn.raw.key == "instructions"):
                said.append(turn)
            elif turn.changed:
                fields["instructions"] = rawjson.string("".join(_texts(turn)))
        is_same = len(said) == 1 and isinstance(said[0].raw, _Field) and not said[0].changed
        asked = WIRE.request(body)
        known = _known(said, asked)
        items = [item for turn in said for item in _items(turn, known)]
        if items and not is_same:
            fields["input"] = items
        _set_tools_and_choice(fields, asked, conversation)
        return rawjson.written(fields)


# --- reading ----------------------------------------------------------------------------------------------------------


def _turns(fields: Fields, names: Container[str]) -> Iterator[Turn]:
    """`names`: those of the request's tools."""
    if instructions := rawjson.word(fields, "instructions"):
        yield Turn("system", (Text(instructions),), _Field("instructions", fields["instructions"]))
    given = fields.get("input")
    if given is not None and _is_string(given):
        yield Turn("user", (Text(rawjson.word(fields, "input")),), _Field("input", given))
        return
    run: list[tuple[msgspec.Raw, Fields]] = []
    for raw in rawjson.items(given):
        item = rawjson.fields(raw)
        if run and not _goes_on(run, item):
            yield _turn(run, names)
            run = []
        run.append((raw, item))
    if run:
        yield _turn(run, names)


def _goes_on(run: Sequence[tuple[msgspec.Raw, Fields]], item: Fields) -> bool:
    """Whether an item belongs to the same turn as those before it."""
    if _role(run[-1][1]) != "assistant" or _role(item) != "assistant":
        return False
    return _kind(item) != "message" or all(_kind(before) == "reasoning" for _, before in run)


def _turn(run: Sequence[tuple[msgspec.Raw, Fields]], names: Container[str]) -> Turn:
    blocks = tuple(block for raw, item in run for block in _blocks(raw, item, names))
    return Turn(_role(run[0][1]), blocks, tuple(raw for raw, _ in run))


def _is_apart(fields: Fields) -> bool:
    return not rawjson.word(fields, "instructions") and any(rawjson.value(fields.get(key)) for key in _KEPT)


def _is_string(raw: msgspec.Raw) -> bool:
    return bytes(raw).lstrip()[:1] == b'"'


def _is_list(raw: msgspec.Raw) -> bool:
    return bytes(raw).lstrip()[:1] == b"["


def _kind(item: Fields) -> str:
    """An item's type; messages may lack it."""
    return rawjson.word(item, "type") or "message"


def _role(item: Fields) -> Role:
    """The role of an item. An unknown item is the user's, in which nothing is looked for."""
    kind = _kind(item)
    if kind == "additional_tools":
        return "system"
    if kind == "message":
        return _ROLES.get(rawjson.word(item, "role"), "user")
    if kind.endswith("_call_output"):
        return "tool"
    return "assistant" if kind == "reasoning" or kind.endswith("_call") else "user"


def _blocks(raw: msgspec.Raw, item: Fields, names: Container[str]) -> Iterator[Block]:
    kind, content = _kind(item), item.get("content")
    call = kind_of(item) if kind in _CALLS else None
    if kind == "message" and content is not None and _is_string(content):
        if text := rawjson.word(item, "content"):
            yield Text(text)
    elif kind == "message" and content is not None and _is_list(content):
        yield from map(_block, rawjson.items(content))
    elif call is not None and (name := call.name(item)):
        full = f"{rawjson.word(item, 'namespace')}.{name}"
        name = full if full in names else name
        yield PastCall(rawjson.word(item, "call_id"), name, call.arguments(item) or "{}", raw)
    elif kind.removesuffix("_output") in _CALLS and kind.endswith("_output"):
        yield _result(raw, item)
    else:
        yield Other(raw)


def _block(raw: msgspec.Raw) -> Text | Other:
    part = rawjson.fields(raw)
    text = rawjson.value(part.get("text"))
    if isinstance(text, str) and rawjson.word(part, "type") in _TEXTS:
        return Text(text, raw, rawjson.value(part.get("cache_control")))
    return Other(raw)


def _result(raw: msgspec.Raw, item: Fields) -> Result:
    """What a tool answered. The local shell's names its call by its own `id`; a shell's has a part for each command."""
    output = item.get("output")
    id_ = rawjson.word(item, "call_id") or rawjson.word(item, "id")
    if output is None or not _is_list(output):
        return Result(id_, rawjson.word(item, "output"), raw)
    if _kind(item) == "shell_call_output":
        said = [
            rawjson.word(rawjson.fields(part), key) for part in rawjson.items(output) for key in ("stdout", "stderr")
        ]
        return Result(id_, "\n".join(filter(None, said)), raw)
    blocks = [_block(part) for part in rawjson.items(output)]
    return Result(
        id=id_,
        text="\n".join(block.text for block in blocks if isinstance(block, Text)),
        raw=raw,
        others=tuple(block for block in blocks if isinstance(block, Other)),
    )


# --- writing ----------------------------------------------------------------------------------------------------------


def _texts(turn: Turn) -> Iterator[str]:
    return (block.text for block in turn.blocks if isinstance(block, Text))


def _known(turns: Sequence[Turn], asked: Request) -> dict[str, Tool]:
    """The tools that new calls are of, by the calls' ids, where the request declares them."""
    tools = {tool.name: tool for tool in asked.tools}
    calls = (block for turn in turns for block in turn.blocks if isinstance(block, PastCall))
    return {call.id: tools[call.name] for call in calls if call.raw is None and call.name in tools}


def _items(turn: Turn, known: Mapping[str, Tool]) -> Iterator[Any]:
    """A turn's items. `known`: the tools that new calls and results are of, by their ids."""
    if isinstance(turn.raw, _Field) and not turn.changed:
        yield {"type": "message", "role": "user", "content": turn.raw.raw}
        return
    came: Sequence[msgspec.Raw] = turn.raw if isinstance(turn.raw, tuple) else ()
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


def _message(role: Role, home: msgspec.Raw | None, blocks: Sequence[Text | Other]) -> Fields:
    """`home` with these blocks, or a new message. Its content stays a string where nothing asks for parts."""
    new: Fields = {"type": "message", "role": _ROLE_WORDS[role]}
    old = new if home is None else rawjson.fields(home)
    content = old.get("content")
    plain = [block for block in blocks if block.raw is None and isinstance(block, Text)]
    texts = [block.text for block in plain if block.cache_control is None]
    if len(texts) == len(blocks) and (content is None or _is_string(content)):
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


def _set_tools_and_choice(fields: Fields, asked: Request, conversation: Conversation) -> None:
    declared = rawjson.items(fields.get("tools"))
    if not conversation.tools and not conversation.opaque_tools:
        for key in _TOOL_KEYS if asked.tools or any(_opaque_tools(_listed(fields))) else ():
            fields.pop(key, None)
        _keep_brought(fields, lambda _: ())
        return
    known = {tool.name for tool in asked.tools}
    gone = (known - {tool.name for tool in conversation.tools}) | conversation.dropped(_opaque_tools(_listed(fields)))
    new = [_declared(tool) for tool in conversation.tools if tool.name not in known]
    if new or (gone and declared):
        fields["tools"] = [*_without(declared, gone), *new]
    if gone:
        _keep_brought(fields, lambda tools: _without(tools, gone))
    if not conversation.parallel and rawjson.value(fields.get("parallel_tool_calls")) is not False:
        fields["parallel_tool_calls"] = False
    named = rawjson.fields(fields.get("tool_choice"))
    if rawjson.word(named, "type") not in {"", "allowed_tools", *_OWN} and _own_name(named) in gone:
        fields["tool_choice"] = "auto"
    elif conversation.tool_choice != asked.tool_choice:
        word = conversation.tool_choice
        custom = any(tool.name == word and tool.form == CUSTOM.form for tool in conversation.tools)
        named = {"type": "custom" if custom else "function", "name": word}
        fields["tool_choice"] = word if word in _CHOICES else named
    elif gone and rawjson.word(choice := rawjson.fields(fields.get("tool_choice")), "type") == "allowed_tools":
        fields["tool_choice"] = {**choice, "tools": list(_without(rawjson.items(choice.get("tools")), gone))}


def _listed(fields: Fields) -> list[Any]:
    """The tools that a body declares, also in items."""
    given = map(rawjson.fields, rawjson.items(fields.get("input")))
    brought = (tool for item in given if _kind(item) in DECLARING_ITEMS for tool in rawjson.items(item.get("tools")))
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


FORMAT = _ResponsesRequests()
