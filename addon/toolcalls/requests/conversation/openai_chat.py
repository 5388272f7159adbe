"""Requests of Chat Completions: `messages`, `tools`, `tool_choice`, `parallel_tool_calls`; and of Cohere's chat.

https://platform.openai.com/docs/api-reference/chat/create. Contents are strings or lists of parts, and null or absent
beside calls; a tool's answer is a message of its own that names the call's id and usually not the tool. The older form
(`functions`, `function_call`) has one call a message and no ids.

Cursor sends bodies of the Responses API here and wants chunks of this one, and tools in either form:
https://github.com/BerriAI/litellm/pull/34029. Such a body is read as far as its reply asks for, and never rewritten.

https://docs.cohere.com/v2/reference/chat: messages, calls, what tools answered and what tools are declared have the
same form there; a few members have other names and words, and documents stand beside the messages. A model can be made
to call tools, or none, but no certain one.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

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
    paired,
)
from toolcalls.requests.declared_tools import RequestReader, custom_schema, function_tools, tool_of
from toolcalls.requests.past_calls import CallForm, Changes, ResultForm, edited_list
from toolcalls.requests.stop_texts import keep_stops
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.openai_chat.calls import CUSTOM, LEGACY, called_custom, input_in
from toolcalls.wires.openai_chat.choices import fetched

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TEXTS = frozenset({"text", "input_text", "output_text"})
_NOTHING = rawjson.string("")
_TOOL_KEYS = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")
_CALL = CallForm("id", "function", "arguments", as_text=True)
_CUSTOM_CALL = CallForm("id", "custom")
_RESULT = ResultForm("tool_call_id", "name")


# --- tools ------------------------------------------------------------------------------------------------------------


def _tools(listed: object) -> Iterator[Tool]:
    """The functions and custom tools of a request's `tools`, also in the Responses API's flat form."""
    for item in listed if isinstance(listed, list) else ():
        if not isinstance(item, dict):
            continue
        kind = item.get("type")
        nested = {kind: item} if kind in ("function", CUSTOM) and kind not in item else item
        yield from function_tools([nested])
        custom = nested.get(CUSTOM)
        if isinstance(custom, dict) and (tool := tool_of(custom, custom_schema(custom))) is not None:
            yield replace(tool, form=CUSTOM)


def _functions(listed: object) -> Iterator[Tool]:
    for function in listed if isinstance(listed, list) else ():
        for tool in function_tools([{"function": function}]):
            yield replace(tool, form=LEGACY)


_BY_KEY = {"tools": _tools, "functions": _functions}


def _allowed_in(choice: object) -> dict[str, Any] | None:
    """What a `tool_choice` says that leaves some of the tools; None for another one."""
    if not isinstance(choice, dict):
        return None
    allowed = choice if choice.get("type") == "allowed_tools" and "tools" in choice else choice.get("allowed_tools")
    return allowed if isinstance(allowed, dict) else None


def _choice_of(value: object) -> str:
    """A request's `tool_choice`: "auto", "none", "required", or the name of the tool that is to be called.

    Of one that is neither a function nor a custom tool, that is its type.
    """
    if isinstance(value, dict):
        if (allowed := _allowed_in(value)) is not None:
            mode = allowed.get("mode")
            return mode if isinstance(mode, str) else "auto"
        kind = value.get("type")
        kind = kind if isinstance(kind, str) else ""
        flat = kind in {"function", CUSTOM} and "name" in value
        function = value if flat else value.get("function", value.get(CUSTOM))
        name = function.get("name") if isinstance(function, dict) else None
        other = kind if kind not in {"", "function", CUSTOM} else "required"
        return name if isinstance(name, str) else other
    return value if isinstance(value, str) else "auto"


def _opaque(tools: Iterable[Any]) -> Iterator[OpaqueTool]:
    """The tools that are neither functions nor custom ones."""
    for tool in tools:
        if not any(_tools([tool])):
            kind = tool.get("type") if isinstance(tool, dict) else None
            yield OpaqueTool(kind if isinstance(kind, str) and kind else "one without a type", hosted=kind != CUSTOM)


# --- the conversation -------------------------------------------------------------------------------------------------


class _Legacy(msgspec.Struct, frozen=True):
    """The raw form of a call in a message's `function_call`."""

    raw: Any


class ChatConversation(Conversation):
    """A request of Chat Completions."""

    reader = RequestReader(
        (
            *("messages", "input", "instructions", "model", "tool_choice", "response_format", "text", "functions"),
            *(LEGACY, "documents"),
        ),
        _tools,
    )
    stop_places = (("stop",),)
    takes_null: ClassVar[bool] = True  # a message of calls alone has the content null

    def check(self) -> None:
        if not isinstance(self.given.get("messages", self.given.get("input")), list | str) or isinstance(
            self.given.get("messages"), str
        ):
            raise ValueError("the request body has no list `messages`")

    # --- reading

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        if "messages" not in members:
            if isinstance(instructions := members.get("instructions"), str):
                yield Turn("system", (Text(instructions),))
            given = members.get("input")
            members = {"messages": [{"role": "user", "content": given}] if isinstance(given, str) else given}
        for message in members["messages"]:
            named = message.get("role") if isinstance(message, dict) else None
            role = _ROLES.get(named) if isinstance(named, str) else None
            yield _odd(message) if role is None else Turn(role, _results if role == "tool" else _blocks, message)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        turns: Iterable[Turn] = self.said
        if any(isinstance(message, dict) and LEGACY in message for message in self.given.get("messages", ())):
            turns = paired(turns)
        raws = rawjson.items(self.fields.get("messages"))
        return tuple(
            Turn(turn.role, _blocks_of(turn), raw)
            for turn, raw in zip(turns, raws or [None] * len(self.said), strict=True)
        )

    def reply_texts(self, turn: Turn) -> Iterable[str]:
        content = rawjson.fields(turn.raw).get("content")
        if isinstance(content, str | None):  # so that nobody reads the calls beside it
            return (content,) if content else ()
        return super().reply_texts(turn)

    def fetched(self, raw: Any) -> Iterable[str]:
        if not isinstance(raw, dict):
            return ()
        if raw.get("type") == "document":  # Cohere's, or a block of the Messages API, which gateways translate
            document = raw.get("document", raw.get("source"))
            return () if isinstance(document, dict) and document.get("type") == "base64" else _strings(document)
        if (
            "role" in raw
        ):  # a message of a role that only some templates have: `ipython`, `observation`, `tool_response`
            return [block.text for block in _content(raw.get("content")) if isinstance(block, Text)]
        text = raw.get("text")
        return [text] if isinstance(text, str) and raw.get("type") not in _TEXTS else []

    def echoes(self, turn: Turn) -> Iterator[str]:
        yield from super().echoes(turn)
        message = rawjson.fields(turn.raw)
        if "annotations" in message or "executed_tools" in message:
            yield from fetched(message.get("annotations"), message.get("executed_tools"))

    def documents(self) -> Iterator[str]:
        documents = self.given.get("documents")
        for document in documents if isinstance(documents, list) else ():
            yield from _strings(document)

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        tools = (*self.declared, *_functions(self.given.get("functions")))
        allowed = _allowed_in(self.given.get("tool_choice"))
        names = None if allowed is None else {tool.name for tool in _tools(allowed.get("tools"))}
        return tools if names is None else tuple(tool for tool in tools if tool.name in names)

    @cached_property
    def tool_choice(self) -> str:
        choice, older = self.given.get("tool_choice"), self.given.get(LEGACY)
        if choice is None and isinstance(older, dict):
            return _choice_of({"function": older})
        return _choice_of(older if choice is None else choice)

    @cached_property
    def parallel(self) -> bool:
        return rawjson.value(self.fields.get("parallel_tool_calls")) is not False

    @cached_property
    def opaque_tools(self) -> tuple[OpaqueTool, ...]:
        return tuple(dict.fromkeys(_opaque(map(rawjson.value, rawjson.items(self.fields.get("tools"))))))

    @property
    def is_structured(self) -> bool:
        text = self.given.get("text")  # what the Responses API says of the form of a reply's text
        formats = (self.given.get("response_format"), text.get("format") if isinstance(text, dict) else None)
        return any(isinstance(one, dict) and one.get("type", "text") != "text" for one in formats)

    # --- writing

    def edit_history(self, fields: Fields, changes: Changes) -> Fields:
        def message(members: Fields) -> Fields:
            if rawjson.word(members, "role") == "tool":
                return changes.result(members, _RESULT)
            return edited_list(members, "tool_calls", call) if rawjson.word(members, "role") == "assistant" else members

        def call(members: Fields) -> Fields:
            there = rawjson.present(members)
            form = _CUSTOM_CALL if "custom" in there and "function" not in there else _CALL
            return changes.call(members, form) if form.inside in there else members

        return edited_list(fields, "messages", message)

    def written(self) -> bytes:
        if "messages" not in self.given:
            raise ValueError("the request body has no list `messages`")
        fields: Fields = dict(self.fields)
        known = self._known()
        fields["messages"] = [message for turn in self.turns for message in self._messages(turn, known)]
        keep_stops(fields, self.stop, *self.stop_places)
        if not self.tools and not self.opaque_tools:
            for key in _TOOL_KEYS if self.dropped else ():
                fields.pop(key, None)
            return rawjson.written(fields)
        for key, tools_in in _BY_KEY.items():
            listed = rawjson.items(fields.get(key))
            kept = [raw for raw in listed if self._keeps(rawjson.value(raw), tools_in)]
            if kept and len(kept) < len(listed):
                fields[key] = kept
            elif listed and not kept:
                del fields[key]
        if new := [_declared(tool) for tool in self.added]:
            fields["tools"] = [*rawjson.items(fields.get("tools")), *new]
        self._choose(fields)
        if not self.parallel:
            self._ask_for_one_call(fields)
        return rawjson.written(fields)

    def _keeps(self, given: Any, tools_in: Any) -> bool:
        """Whether a declaration stays."""
        names = [tool.name for tool in tools_in([given])] or [tool.name for tool in _opaque([given])]
        return self.dropped.isdisjoint(names)

    def _ask_for_one_call(self, fields: Fields) -> None:
        if rawjson.value(fields.get("parallel_tool_calls")) is not False:
            fields["parallel_tool_calls"] = False

    def _choose(self, fields: Fields) -> None:
        """Set how the model may choose, if the request says otherwise."""
        choice = rawjson.value(fields.get("tool_choice"))
        key = "tool_choice" if choice is not None else LEGACY
        if rawjson.value(fields.get(key)) is None:
            return
        if self.came.tool_choice != self.tool_choice:
            fields[key] = self.choice_word(self.tool_choice)
        elif isinstance(choice, dict) and "allowed_tools" in choice and (allowed := _allowed_in(choice)) is not None:
            listed = allowed.get("tools")
            tools = [one for one in listed if self._keeps(one, _tools)] if isinstance(listed, list) else []
            fields["tool_choice"] = {**choice, "allowed_tools": {**allowed, "tools": tools}} if tools else "none"

    def choice_word(self, choice: str) -> str:
        """The API's word for a choice."""
        return choice

    def _known(self) -> dict[str, Tool]:
        """The tools that new calls are of, by the calls' ids. In the older form a message has one call at most."""
        declared = {tool.name: tool for tool in self.came.tools}
        found: dict[str, Tool] = {}
        for turn in self.turns:
            calls = [block for block in turn.blocks if isinstance(block, PastCall)]
            for call in calls:
                tool = declared.get(call.name)
                if call.raw is None and tool is not None and (tool.form != LEGACY or len(calls) == 1):
                    found[call.id] = tool
        return found

    def _messages(self, turn: Turn, known: Mapping[str, Tool]) -> Iterator[Any]:
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
        message = {**rawjson.without(old, "tool_calls", LEGACY), "content": said}
        calls: list[Any] = []
        for block in filter(_is_call, turn.blocks):
            raw = (
                block.raw if isinstance(block, Other) else _call(block, known) if isinstance(block, PastCall) else None
            )
            if isinstance(raw, _Legacy):
                message[LEGACY] = raw.raw
            else:
                calls.append(raw)
        if calls:
            message["tool_calls"] = calls
        if (calls or LEGACY in message) and said in ([], _NOTHING):
            message["content"] = None
            if not self.takes_null:
                del message["content"]
        yield message


class CohereConversation(ChatConversation):
    """A request of Cohere's. Plans, citations and documents stay where they stand."""

    stop_places = (("stop_sequences",),)
    takes_null = False
    _CHOICES: ClassVar[Mapping[str, str]] = {"REQUIRED": "required", "NONE": "none"}

    def check(self) -> None:
        if not isinstance(self.given.get("messages"), list):
            raise ValueError("the request body has no list `messages`")

    @cached_property
    def tool_choice(self) -> str:
        choice = super().tool_choice
        return self._CHOICES.get(choice, choice)

    @cached_property
    def parallel(self) -> bool:
        return True

    def _ask_for_one_call(self, fields: Fields) -> None:
        """The API has no word for it."""

    def _choose(self, fields: Fields) -> None:
        super()._choose(fields)
        if fields.get("tool_choice") == "auto":
            del fields["tool_choice"]

    def choice_word(self, choice: str) -> str:
        return choice if choice == "auto" else "NONE" if choice == "none" else "REQUIRED"


# --- reading ----------------------------------------------------------------------------------------------------------


def _odd(message: object) -> Turn:
    """A message of no role: among the items of the Responses API, a tool's answer."""
    if isinstance(message, dict) and "role" not in message and str(message.get("type", "")).endswith("_call_output"):
        texts = [block.text for block in _content(message.get("output")) if isinstance(block, Text)]
        return Turn("tool", (Result("", "\n".join(texts)),))
    return Turn("user", (Other(message),), message)


def _blocks_of(turn: Turn) -> Callable[[Any], tuple[Block, ...]]:
    return lambda _: turn.blocks


def _blocks(message: Mapping[str, Any]) -> Iterator[Block]:
    yield from _content(message.get("content"))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(function, dict) and isinstance(name, str):
            yield PastCall(str(call.get("id") or ""), name, _arguments(function), call)
        elif isinstance(call, dict) and (custom := called_custom(call)) is not None:
            yield PastCall(str(call.get("id") or ""), *custom, call)
        else:
            yield Other(call)
    function = message.get(LEGACY)
    name = function.get("name") if isinstance(function, dict) else None
    if isinstance(function, dict) and isinstance(name, str) and name:
        yield PastCall("", name, _arguments(function), _Legacy(function))


def _content(content: object) -> Iterator[Block]:
    if isinstance(content, str):
        if content:
            yield Text(content)
        return
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            yield Text(part, part)
        elif isinstance(part, dict) and part.get("type", "text") in _TEXTS and isinstance(part.get("text"), str):
            yield Text(part["text"], part, part.get("cache_control"))
        else:
            yield Other(part)


def _arguments(function: Mapping[str, Any]) -> str:
    arguments = function.get("arguments")
    return (arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)) or "{}"


def _results(message: dict[str, Any]) -> tuple[Result, ...]:
    content, mark = message.get("content"), message.get("cache_control")
    others: tuple[Other, ...] = ()
    texts: list[Text] = []
    if not isinstance(content, str):
        blocks = tuple(_content(content))
        texts = [block for block in blocks if isinstance(block, Text)]
        mark = next((block.cache_control for block in reversed(texts) if block.cache_control is not None), mark)
        content = "\n".join(block.text for block in texts)
        others = tuple(block for block in blocks if isinstance(block, Other))
    name, id_ = str(message.get("name") or ""), str(message.get("tool_call_id") or "")
    return (Result(id_, content, message, others, mark, name=name, parts=tuple(block.text for block in texts)),)


def _strings(document: object) -> Iterator[str]:
    data = document.get("data", document) if isinstance(document, dict) else document
    yield from (text for text in rawjson.strings(data) if text)


# --- writing ----------------------------------------------------------------------------------------------------------


def _declared(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


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


CONVERSATIONS = {"openai_chat": ChatConversation, "cohere": CohereConversation}
