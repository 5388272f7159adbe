"""Requests of Gemini's Interactions API: `system_instruction`, `input`, `tools`, `generation_config`.

https://ai.google.dev/api/interactions-api. The input is a text, one content, a list of contents, or a list of steps; a
step is what a user said, what the model said, a call, or what a tool answered (`function_result`), which names the
call's id. Neighbouring steps of the model are one turn: its output and its calls.

A call that was text before bears the signature that Google names for calls of other models' making, since Gemini 3
refuses calls without one: https://ai.google.dev/gemini-api/docs/thought-signatures#faqs. Tools that Google runs itself
cannot be described in a prompt. Thoughts, images, files and steps that nobody knows stay where they stand.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from toolcalls.request import Tool
from toolcalls.requests.conversation import (
    Block,
    BodySystem,
    Conversation,
    OpaqueTool,
    Other,
    PastCall,
    Result,
    Role,
    Text,
    Turn,
    arguments_in,
    body_system,
)
from toolcalls.requests.declared_tools import RequestReader, tool_of
from toolcalls.requests.past_calls import CallForm, Changes, ResultForm, edited_list
from toolcalls.requests.stop_texts import keep_stops
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

_SIGNATURE = "skip_thought_signature_validator"
_CHOICE = ("generation_config", "tool_choice")
_RUN_BY_CLIENTS = frozenset({"computer_use"})
_CALL = CallForm("id", arguments="arguments")
_RESULT = ResultForm("call_id", "name")
_MODEL_STEPS = frozenset({"model_output", "thought", "function_call"})
# What a user may say, without a step around it.
_CONTENTS = frozenset({"text", "image", "audio", "document", "video"})


def _tools(value: object) -> Iterator[Tool]:
    """The functions in a request's `tools`; all others run at Google."""
    for declared in map(rawjson.fields, rawjson.items(value)):
        if declared.get("type") == "function" and (tool := tool_of(declared, declared.get("parameters"))) is not None:
            yield tool


class _Steps(msgspec.Struct, frozen=True):
    """The raw form of a turn: its steps as they came."""

    rows: tuple[Any, ...]


class InteractionsConversation(Conversation):
    """A request of the Interactions API."""

    stop_places = (("generation_config", "stop_sequences"),)
    reader = RequestReader(
        (*("input", "model", "system_instruction", "generation_config", "response_format", "response_mime_type"),),
        _tools,
    )

    def check(self) -> None:
        if not isinstance(self.given.get("input"), str | list | dict):
            raise ValueError("the request body has no `input`")

    # --- reading

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        """A step of the model's joins those before it, and so does a result."""
        system = members.get("system_instruction")
        given = rawjson.fields(system).get("parts") if rawjson.is_object(system) else system
        if said := tuple(block for block in _contents(given) if isinstance(block, Text)):
            yield Turn("system", said, BodySystem(system))
        role: Role | None = None
        rows: list[Any] = []
        for raw in _rows(members.get("input")):
            now = _role_of(rawjson.fields(raw))
            if role is not None and (now != role or role == "user"):
                yield Turn(role, _step_blocks, _Steps(tuple(rows)))
                rows = []
            role = now
            rows.append(raw)
        if role is not None:
            yield Turn(role, _step_blocks, _Steps(tuple(rows)))

    def fetched(self, raw: Any) -> Iterable[str]:
        """The texts of a result of Google's own tools."""
        step = rawjson.fields(raw)
        return rawjson.strings(step.get("result")) if rawjson.word(step, "type").endswith("_result") else ()

    def result_texts(self, result: Result) -> Iterable[str]:
        return self.fetched(result.raw)

    @cached_property
    def _choice(self) -> tuple[str, frozenset[str] | None]:
        """`auto`, `none` or `required`, and the names that may be called; None for all.

        A choice of one tool is one of several: the API has no word of its own for it. `validated` is `auto` with the
        promise that the schema is kept.
        """
        choice = rawjson.fields(self.given.get("generation_config")).get("tool_choice")
        allowed = rawjson.fields(rawjson.fields(choice).get("allowed_tools"))
        names = allowed.get("tools")
        word = allowed.get("mode") if allowed else choice
        kind = {"any": "required", "none": "none"}.get(word if isinstance(word, str) else "", "auto")
        if not isinstance(names, list):
            return kind, None
        only = frozenset(name for name in names if isinstance(name, str))
        return (next(iter(only)) if kind == "required" and len(only) == 1 else kind), only

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        _, allowed = self._choice
        tools = {tool.name: tool for tool in self.declared if allowed is None or tool.name in allowed}
        return tuple(tools.values())

    @cached_property
    def tool_choice(self) -> str:
        return self._choice[0]

    @cached_property
    def opaque_tools(self) -> tuple[OpaqueTool, ...]:
        return tuple(dict.fromkeys(_opaque(rawjson.items(self.fields.get("tools")))))

    @property
    def is_structured(self) -> bool:
        """Whether a request asks for JSON: by a schema, by the type of a text, or by a format of text that names it."""
        form = self.given.get("response_format")
        formats = list(filter(None, map(rawjson.fields, form if isinstance(form, list) else [form])))
        kinds = [self.given.get("response_mime_type"), *(one.get("mime_type") for one in formats)]
        texts = {"text", "image", "audio"}
        return "application/json" in kinds or any(
            rawjson.word(one, "type") not in texts or "schema" in one for one in formats
        )

    # --- writing

    def edit_history(self, fields: Fields, changes: Changes) -> Fields:
        def step(members: Fields) -> Fields:
            kind = rawjson.word(members, "type")
            if kind == "function_call":
                return changes.call(members, _CALL)
            return changes.result(members, _RESULT) if kind == "function_result" else members

        return edited_list(fields, "input", step)

    def written(self) -> bytes:
        fields: Fields = dict(self.fields)
        first, said = body_system(self.turns)
        if first is not None and (first.changed or first.raw is None):
            fields["system_instruction"] = rawjson.string("".join(first.texts))
        steps = [step for turn in said for step in _steps(turn)]
        if rawjson.written({"input": steps}) != rawjson.written({"input": _rows(fields.get("input"))}):
            fields["input"] = steps
        keep_stops(fields, self.stop, *self.stop_places)
        self._set_tools_and_choice(fields)
        return rawjson.written(fields)

    def _set_tools_and_choice(self, fields: Fields) -> None:
        gone, new = self.dropped, [_declared(tool) for tool in self.added]
        if not self.tools and not self.opaque_tools:
            if gone:
                fields.pop("tools", None)
                _choose(fields, None)
            return
        if gone or new:
            declared = rawjson.items(fields.get("tools"))
            fields["tools"] = [*(raw for raw in declared if _name_of(raw) not in gone), *new]
        if self.tool_choice != self.came.tool_choice:
            _choose(fields, self.tool_choice)


# --- reading ----------------------------------------------------------------------------------------------------------


def _step_blocks(steps: _Steps) -> Iterator[Block]:
    return (block for raw in steps.rows for block in _blocks(raw, rawjson.fields(raw)))


def _rows(given: Any) -> list[Any]:
    """The steps of an input, as they came; a text and a content are steps of their own."""
    if rawjson.is_string(given):
        return [_said([rawjson.raw(rawjson.written({"type": "text", "text": given}))])]
    if rawjson.is_object(given):
        return [_said([given])]
    return [
        _said([raw]) if rawjson.word(rawjson.fields(raw), "type") in _CONTENTS else raw for raw in rawjson.items(given)
    ]


def _said(contents: list[Any]) -> Any:
    """What a user said, as a step; raw where the contents are."""
    step = {"type": "user_input", "content": contents}
    return msgspec.Raw(rawjson.written(step)) if isinstance(contents[0], msgspec.Raw) else step


def _role_of(step: Fields) -> Role:
    kind = rawjson.word(step, "type")
    if kind in _MODEL_STEPS:
        return "assistant"
    return "tool" if kind == "function_result" else "user"


def _blocks(raw: Any, step: Fields) -> Iterator[Block]:
    kind = rawjson.word(step, "type")
    if kind in {"user_input", "model_output"}:
        yield from _contents(step.get("content"))
    elif kind == "function_call" and (name := rawjson.word(step, "name")):
        yield PastCall(rawjson.word(step, "id"), name, arguments_in(step.get("arguments")), raw)
    elif kind == "function_result":
        yield _result(raw, step)
    else:
        yield Other(raw)


def _contents(given: Any) -> Iterator[Block]:
    if isinstance(text := rawjson.value(given), str):
        yield Text(text)
        return
    for raw in rawjson.items(given):
        content = rawjson.fields(raw)
        text = rawjson.value(content.get("text"))
        yield Text(text, raw) if isinstance(text, str) else Other(raw)


def _result(raw: Any, step: Fields) -> Result:
    given = step.get("result")
    texts: list[str] = []
    others: list[Other] = []
    if isinstance(text := rawjson.value(given), str):
        texts.append(text)
    elif rawjson.is_object(given):
        texts.append(rawjson.text_of(given))
    for one in rawjson.items(given):
        text = rawjson.value(rawjson.fields(one).get("text"))
        if isinstance(text, str):
            texts.append(text)
        else:
            others.append(Other(one))
    failed = rawjson.value(step.get("is_error")) is True
    return Result(rawjson.word(step, "call_id"), "\n".join(texts), raw, tuple(others), is_error=failed)


# --- writing ----------------------------------------------------------------------------------------------------------


def _steps(turn: Turn) -> Iterator[Any]:
    """The steps of a turn; as they came where all of its blocks are."""
    if isinstance(turn.raw, _Steps) and not turn.changed:
        yield from turn.raw.rows
        return
    kind = "model_output" if turn.role == "assistant" else "user_input"
    said: list[Any] = []
    for block in turn.blocks:
        if isinstance(block, Text):
            if block.text:
                said.append(_content(block))
        elif isinstance(block, Other) and not _is_step(block.raw):
            said.append(block.raw)
        else:
            if said:
                yield {"type": kind, "content": said}
                said = []
            yield _step(block)
    if said:
        yield {"type": kind, "content": said}


def _is_step(raw: Any) -> bool:
    """Whether an unknown block is a step, and not a content of one."""
    kind = rawjson.word(rawjson.fields(raw), "type")
    return kind in {"user_input", "model_output", "thought"} or kind.endswith(("_call", "_result"))


def _content(block: Text) -> Any:
    if block.raw is not None and rawjson.word(rawjson.fields(block.raw), "text") == block.text:
        return block.raw
    return {"type": "text", "text": rawjson.string(block.text)}


def _step(block: Block) -> Any:
    """The step for a call, an answer or an unknown block."""
    if not isinstance(block, Text) and block.raw is not None:
        return block.raw
    if isinstance(block, PastCall):
        named = {"id": rawjson.string(block.id), "name": rawjson.string(block.name)}
        given = rawjson.json_text(block.arguments)
        return {"type": "function_call", **named, "arguments": given, "signature": _SIGNATURE}
    if isinstance(block, Result):
        return {"type": "function_result", "call_id": rawjson.string(block.id), "result": rawjson.string(block.text)}
    raise ValueError("a block of the request has no form in this API")


# --- tools ------------------------------------------------------------------------------------------------------------


def _opaque(declared: Iterable[Any]) -> Iterator[OpaqueTool]:
    """The tools that the API runs itself, and functions without a name."""
    for raw in declared:
        tool = rawjson.fields(raw)
        kind = rawjson.word(tool, "type")
        if kind != "function" or not rawjson.word(tool, "name"):
            yield OpaqueTool(kind or "one without a type", hosted=kind not in _RUN_BY_CLIENTS)


def _name_of(raw: Any) -> str:
    opaque = next((tool.name for tool in _opaque([raw])), "")
    return opaque or rawjson.word(rawjson.fields(raw), "name")


def _choose(fields: Fields, choice: str | None) -> None:
    """Set how the model may choose; None removes the choice."""
    config = rawjson.fields(fields.get(_CHOICE[0]))
    rest = rawjson.without(config, _CHOICE[1])
    if choice is None:
        if rest and len(rest) < len(config):
            fields[_CHOICE[0]] = rest
        elif config and not rest:
            del fields[_CHOICE[0]]
        return
    word: object = {"required": "any", "none": "none", "auto": "auto"}.get(choice)
    word = word or {"allowed_tools": {"mode": "any", "tools": [choice]}}
    fields[_CHOICE[0]] = {**rest, _CHOICE[1]: word}


def _declared(tool: Tool) -> Fields:
    about = {"description": tool.description} if tool.description else {}
    return {"type": "function", "name": tool.name, **about, "parameters": {"type": "object", **tool.schema}}


CONVERSATIONS = {"gemini_interactions": InteractionsConversation}
