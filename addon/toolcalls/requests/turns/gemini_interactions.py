"""Requests of Gemini's Interactions API: `system_instruction`, `input`, `tools`, `generation_config`.

https://ai.google.dev/api/interactions-api. The input is a text, one content, a list of contents, or a list of steps; a
step is what a user said, what the model said, a call, or what a tool answered (`function_result`), which names the
call's id. Neighbouring steps of the model are one turn: its output and its calls.

A call that was text before bears the signature that Google names for calls of other models' making, since Gemini 3
refuses calls without one: https://ai.google.dev/gemini-api/docs/thought-signatures#faqs. Tools that Google runs itself
cannot be described in a prompt. Thoughts, images, files and steps that nobody knows stay where they stand.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    Role,
    Text,
    Turn,
    body_system,
)
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.gemini_interactions import WIRE
from toolcalls.wires.gemini_interactions.request import CONTENTS

_SIGNATURE = "skip_thought_signature_validator"
_STOP = ("generation_config", "stop_sequences")
_CHOICE = ("generation_config", "tool_choice")
_RUN_BY_CLIENTS = frozenset({"computer_use"})
_MODEL_STEPS = frozenset({"model_output", "thought", "function_call"})


@dataclass(frozen=True, slots=True)
class _Steps:
    """The raw form of a turn: its steps as they came."""

    rows: tuple[Any, ...]


class _InteractionRequests:
    def read(self, body: bytes) -> Conversation:
        try:
            asked = WIRE.request(body)
            fields = rawjson.fields(body)
            turns = tuple(_turns(fields))
            opaque_tools = tuple(dict.fromkeys(_opaque_tools(rawjson.items(fields.get("tools")))))
            stop = stops_in(fields, _STOP)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the request body is not an Interactions request: {error}") from error
        return Conversation(turns, asked.tools, asked.tool_choice, True, opaque_tools, stop)

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        fields: Fields = dict(rawjson.fields(body))
        first, said = body_system(conversation.turns)
        if first is not None and (first.changed or first.raw is None):
            texts = (block.text for block in first.blocks if isinstance(block, Text))
            fields["system_instruction"] = rawjson.string("".join(texts))
        steps = [step for turn in said for step in _steps(turn)]
        if rawjson.written({"input": steps}) != rawjson.written({"input": _rows(fields.get("input"))}):
            fields["input"] = steps
        keep_stops(fields, conversation.stop, _STOP)
        _set_tools_and_choice(fields, WIRE.request(body), conversation)
        return rawjson.written(fields)


# --- reading ----------------------------------------------------------------------------------------------------------


def _turns(fields: Fields) -> Iterator[Turn]:
    system = rawjson.word(fields, "system_instruction")
    if system:
        yield Turn("system", (Text(system),), BodySystem(fields["system_instruction"]))
    yield from _input_turns(fields)


def _input_turns(fields: Fields) -> Iterator[Turn]:
    """The turns of the input. A step of the model's joins those before it, and so does a result."""
    role: Role | None = None
    rows: list[Any] = []
    for raw in _rows(fields.get("input")):
        now = _role_of(rawjson.fields(raw))
        if role is not None and (now != role or role == "user"):
            yield _turn(role, rows)
            rows = []
        role = now
        rows.append(raw)
    if role is not None:
        yield _turn(role, rows)


def _turn(role: Role, rows: Sequence[Any]) -> Turn:
    blocks = tuple(block for raw in rows for block in _blocks(raw, rawjson.fields(raw)))
    return Turn(role, blocks, _Steps(tuple(rows)))


def _rows(given: Any) -> list[Any]:
    """The steps of an input, as they came; a text and a content are steps of their own."""
    if isinstance(text := rawjson.value(given), str):
        return [_said([{"type": "text", "text": rawjson.string(text)}])]
    if rawjson.is_object(given):
        return [_said([given])]
    return [
        _said([raw]) if rawjson.word(rawjson.fields(raw), "type") in CONTENTS else raw for raw in rawjson.items(given)
    ]


def _said(contents: list[Any]) -> msgspec.Raw:
    """What a user said, as a step."""
    return msgspec.Raw(rawjson.written({"type": "user_input", "content": contents}))


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
        given = step.get("arguments")
        arguments = rawjson.text_of(given) if rawjson.is_object(given) else "{}"
        yield PastCall(rawjson.word(step, "id"), name, arguments, raw)
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


def _opaque_tools(declared: Iterable[Any]) -> Iterator[OpaqueTool]:
    """The tools that the API runs itself, and functions without a name."""
    for raw in declared:
        tool = rawjson.fields(raw)
        kind = rawjson.word(tool, "type")
        if kind != "function" or not rawjson.word(tool, "name"):
            yield OpaqueTool(kind or "one without a type", hosted=kind not in _RUN_BY_CLIENTS)


def _set_tools_and_choice(fields: Fields, asked: Request, conversation: Conversation) -> None:
    declared = rawjson.items(fields.get("tools"))
    opaque = list(_opaque_tools(declared))
    if not conversation.tools and not conversation.opaque_tools:
        if asked.tools or opaque:
            fields.pop("tools", None)
            _choose(fields, None)
        return
    known = {tool.name for tool in asked.tools}
    gone = (known - {tool.name for tool in conversation.tools}) | conversation.dropped(opaque)
    new = [_declared(tool) for tool in conversation.tools if tool.name not in known]
    if gone or new:
        fields["tools"] = [*(raw for raw in declared if _name_of(raw) not in gone), *new]
    if conversation.tool_choice != asked.tool_choice:
        _choose(fields, conversation.tool_choice)


def _name_of(raw: Any) -> str:
    opaque = next((tool.name for tool in _opaque_tools([raw])), "")
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


FORMAT = _InteractionRequests()
