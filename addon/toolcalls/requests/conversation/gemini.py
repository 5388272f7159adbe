"""Requests of Gemini: `contents`, `systemInstruction`, `tools`, `toolConfig`; in Code Assist inside `request`.

https://ai.google.dev/api/generate-content#request-body. A content's parts are texts, calls (`functionCall`), answers
(`functionResponse`) and data. Calls mostly have no id; the ids here are made up, and
only those that a client wrote are in a request.

A call that was text before bears the signature that Google names for calls of other models' making, since Gemini 3
refuses calls without one: https://ai.google.dev/gemini-api/docs/thought-signatures#faqs. An answer that is no object
becomes one: `{"output": text}`; one whose only member is `error` failed. Tools that Google runs itself cannot be
described in a prompt.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
    Role,
    Text,
    Turn,
    arguments_in,
    paired,
)
from toolcalls.requests.declared_tools import RequestReader, tool_of
from toolcalls.requests.past_calls import CallForm, Changes, ResultForm, edited_list, edited_member
from toolcalls.requests.session_ids import session_in
from toolcalls.requests.stop_texts import keep_stops
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.gemini.parts import RESULTS

_SIGNATURE = "skip_thought_signature_validator"
_ROLES: dict[str, Role] = {"model": "assistant", "user": "user", "function": "tool", "tool": "tool"}
_ROLE_WORDS: dict[Role, str] = {"assistant": "model", "user": "user", "tool": "user"}
_CHOICES = {"NONE": "none", "ANY": "required"}
_SYSTEM = ("systemInstruction", "system_instruction")
_TOOL_CONFIG = ("toolConfig", "tool_config")
_CONFIG = ("generationConfig", "generation_config")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_CALLING = ("functionCallingConfig", "function_calling_config")
_ALLOWED = ("allowedFunctionNames", "allowed_function_names")
_STOPS = tuple((config, key) for config in _CONFIG for key in ("stopSequences", "stop_sequences"))
_RUN_BY_CLIENTS = frozenset({"computerUse", "computer_use"})
_CALL = ("functionCall", "function_call")
_ANSWER = ("functionResponse", "function_response")
_CALL_FORM = CallForm("id", arguments="args", asks_id=False)
_RESULT_FORM = ResultForm("id", "name")


def _either(fields: Any, *keys: str) -> Any:
    """The member under the first of its spellings that is there: JSON's own, or the one of protocol buffers."""
    if isinstance(fields, dict):
        for key in keys:
            if key in fields:
                return fields[key]
    return None


def _tools_of(value: object) -> Iterator[Tool]:
    """The functions that a request's `tools` declare; tools that Google runs itself are passed over."""
    for item in value if isinstance(value, list) else (value,):
        declared = _either(item, *_DECLARATIONS)
        for function in declared if isinstance(declared, list) else ():
            if isinstance(function, dict):
                schema = _either(function, "parametersJsonSchema", "parameters_json_schema")
                schema = _json_schema(function.get("parameters")) if schema is None else schema
                if (tool := tool_of(function, schema)) is not None:
                    yield tool


def _json_schema(schema: object, depth: int = 0) -> object:
    """An OpenAPI schema (`type: "STRING"`, `nullable`) as JSON Schema; what is malformed stays as it is."""
    if depth > 64 or not isinstance(schema, dict):
        return schema
    made = dict(schema)
    if isinstance(kind := made.get("type"), str):
        made["type"] = [kind.lower(), "null"] if made.get("nullable") is True else kind.lower()
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = _json_schema(made[key], depth + 1)
    if isinstance(made.get("properties"), dict):
        made["properties"] = {key: _json_schema(inner, depth + 1) for key, inner in made["properties"].items()}
    if isinstance(branches := made.get("anyOf"), list):
        made["anyOf"] = [_json_schema(branch, depth + 1) for branch in branches]
    return made


class GeminiConversation(Conversation):
    """A request of Gemini's."""

    stop_places = _STOPS
    joint = ""
    reader = RequestReader(("contents", "request", "model", *_SYSTEM, *_TOOL_CONFIG, *_CONFIG), _tools_of)

    def check(self) -> None:
        self._outer = self.given
        if "contents" not in self.given and isinstance(inner := self.given.get("request"), dict):
            self.given, self.declared = inner, tuple(_tools_of(inner.get("tools")))
        if not isinstance(self.given.get("contents"), list | dict | str):
            raise ValueError("the request body has no `contents`")

    # --- reading

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        system = _either(members, *_SYSTEM)
        if system is not None:
            yield Turn("system", _blocks, system)
        given = members["contents"]
        for raw in rawjson.items(given) if rawjson.is_list(given) else [given]:
            role = rawjson.word(rawjson.fields(raw), "role") or "user"
            yield Turn(_ROLES.get(role, "user"), _blocks, raw)

    @cached_property
    def fields(self) -> Fields:
        """The members of the request as they are written; those of the envelope are around them."""
        fields = rawjson.fields(self.body)
        return fields if self._outer is self.given else rawjson.fields(fields["request"])

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(paired(self.read_turns(self.fields)))

    def result_texts(self, result: Result) -> Iterable[str]:
        answer = rawjson.fields(_either(rawjson.fields(result.raw), *_ANSWER))
        return rawjson.strings(answer.get("response"))

    def fetched(self, raw: Any) -> Iterable[str]:
        return rawjson.strings(_either(rawjson.fields(raw), *RESULTS))

    @cached_property
    def _calling(self) -> Mapping[str, Any]:
        return rawjson.fields(_either(_either(self.given, *_TOOL_CONFIG), *_CALLING))

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """Those that `toolConfig` leaves the model, where it leaves several; one is a choice."""
        names = _either(self._calling, *_ALLOWED)
        some = isinstance(names, list) and bool(names) and self.tool_choice in {"auto", "required"}
        return tuple(tool for tool in self.declared if not some or tool.name in names)

    @cached_property
    def tool_choice(self) -> str:
        mode, names = self._calling.get("mode"), _either(self._calling, *_ALLOWED)
        if mode == "ANY" and isinstance(names, list) and len(names) == 1 and isinstance(names[0], str):
            return names[0]
        return _CHOICES.get(mode, "auto") if isinstance(mode, str) else "auto"

    @cached_property
    def opaque_tools(self) -> tuple[OpaqueTool, ...]:
        return tuple(dict.fromkeys(_opaque(self.fields.get("tools"))))

    @property
    def model(self) -> str:
        return rawjson.word(self._outer, "model")

    @property
    def session(self) -> str:
        return session_in(self._outer) or session_in(self.given)

    @property
    def is_structured(self) -> bool:
        """Whether the settings ask for JSON: by a media type, or by a schema."""
        config = _either(self.given, *_CONFIG)
        kind = _either(config, "responseMimeType", "response_mime_type")
        schema = _either(config, "responseSchema", "response_schema", "responseJsonSchema", "response_json_schema")
        is_json = isinstance(kind, str) and kind.partition(";")[0].strip() == "application/json"
        return is_json or isinstance(schema, dict)

    # --- writing

    def edit_history(self, fields: Fields, changes: Changes) -> Fields:
        def part(members: Fields) -> Fields:
            there = rawjson.present(members)
            for key in (key for key in (*_CALL, *_ANSWER) if key in there):
                if key in _CALL:
                    return edited_member(members, key, lambda call: changes.call(call, _CALL_FORM))
                return edited_member(members, key, lambda result: changes.result(result, _RESULT_FORM))
            return members

        return edited_list(fields, "contents", lambda content: edited_list(content, "parts", part))

    def body_with(self, fields: Fields) -> bytes:
        envelope = {} if self._outer is self.given else rawjson.fields(self.body)
        return rawjson.written({**envelope, "request": fields} if envelope else fields)

    def written(self) -> bytes:
        if not rawjson.items(self.fields["contents"]):
            raise ValueError("the request body has no list `contents`")
        fields: Fields = dict(self.fields)
        names = {call.id: call.name for call in self.calls}
        system = [turn for turn in self.turns if turn.role == "system"]
        if system:
            key = next((key for key in _SYSTEM if key in fields), _SYSTEM[0])
            fields[key] = _content(system[0], names)
        said = (turn for turn in self.turns if turn.role != "system")
        fields["contents"] = [_content(turn, names) for turn in _answers_together(said)]
        keep_stops(fields, self.stop, *self.stop_places)
        self._set_tools_and_choice(fields)
        return self.body_with(fields)

    def _set_tools_and_choice(self, fields: Fields) -> None:
        gone, new = self.dropped, [_declared(tool) for tool in self.added]
        if not self.tools and not self.opaque_tools:
            if gone:
                _drop_tools(fields)
            return
        if gone:
            _keep_tools(fields, gone)
        if new:
            fields["tools"] = [*_listed(fields.get("tools")), {_DECLARATIONS[0]: new}]
        if self.came.tool_choice != self.tool_choice:
            key = next((key for key in _TOOL_CONFIG if key in fields), _TOOL_CONFIG[0])
            calling: dict[str, Any] = {"mode": {"auto": "AUTO", "none": "NONE"}.get(self.tool_choice, "ANY")}
            if self.tool_choice not in {"auto", "none", "required"}:
                calling["allowedFunctionNames"] = [self.tool_choice]
            config = rawjson.without(rawjson.fields(fields.get(key)), *_CALLING)
            fields[key] = {**config, _CALLING[0]: calling}
        _allow(fields, gone)


# --- reading ----------------------------------------------------------------------------------------------------------


def _blocks(content: Any) -> Iterator[Block]:
    """The blocks of a content's parts. A content may be its text alone, and one part may stand without a list."""
    if rawjson.is_string(content):
        yield Text(rawjson.value(content))
        return
    parts = content if rawjson.is_list(content) else rawjson.fields(content).get("parts")
    for raw in [parts] if rawjson.is_object(parts) or rawjson.is_string(parts) else rawjson.items(parts):
        if rawjson.is_string(raw):
            yield Text(rawjson.value(raw), raw)
            continue
        part = rawjson.present(rawjson.fields(raw))
        call, answer = _either(part, *_CALL), _either(part, *_ANSWER)
        if call is not None and rawjson.word(rawjson.fields(call), "name"):
            members = rawjson.fields(call)
            name, id_ = rawjson.word(members, "name"), rawjson.word(members, "id")
            yield PastCall(id_, name, arguments_in(members.get("args")), raw)
        elif answer is not None:
            yield _result(raw, rawjson.fields(answer))
        elif rawjson.is_string(part.get("text")) and rawjson.value(part.get("thought")) is not True:
            yield Text(rawjson.word(part, "text"), part if len(part) > 1 else None)
        else:
            yield Other(raw)


def _result(raw: Any, answer: Fields) -> Result:
    others = tuple(Other(part) for part in rawjson.items(answer.get("parts")))
    response, name = answer.get("response"), rawjson.word(answer, "name")
    failed = set(rawjson.fields(response)) == {"error"}
    return Result(rawjson.word(answer, "id"), _answered(response), raw, others, is_error=failed, name=name)


def _answered(response: Any) -> str:
    """A function's answer as text: the one text in it where there is nothing else, else the JSON."""
    members = rawjson.fields(response)
    values = [rawjson.value(member) for member in members.values()]
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return "" if response is None else rawjson.text_of(response)


# --- writing ----------------------------------------------------------------------------------------------------------


def _answers_together(turns: Iterable[Turn]) -> Iterator[Turn]:
    """The turns, new answers joined with old ones that follow: the calls of a reply are answered in one content."""
    made: Turn | None = None
    for turn in turns:
        if made is not None and any(isinstance(block, Result) for block in turn.blocks):
            yield turn.with_blocks((*made.blocks, *turn.blocks))
            made = None
            continue
        if made is not None:
            yield made
        made = turn if turn.role == "tool" and turn.raw is None else None
        if made is None:
            yield turn
    if made is not None:
        yield made


def _content(turn: Turn, names: Mapping[str, str]) -> Any:
    if turn.raw is not None and not turn.changed:
        return turn.raw
    old = rawjson.fields(turn.raw) if turn.raw is not None else {}
    role = {} if turn.role == "system" else {"role": _ROLE_WORDS[turn.role]}
    return {**role, **old, "parts": list(_written(turn.blocks, names))}


def _written(blocks: Sequence[Block], names: Mapping[str, str]) -> Iterator[Any]:
    for block in blocks:
        if isinstance(block, Text):
            old = block.raw if isinstance(block.raw, dict) else {}
            yield {**old, "text": rawjson.string(block.text)}
        elif block.raw is not None:
            yield block.raw
        elif isinstance(block, PastCall):
            call = {"name": rawjson.string(block.name), "args": rawjson.json_text(block.arguments)}
            yield {"functionCall": call, "thoughtSignature": _SIGNATURE}
        elif isinstance(block, Result):
            answer = {"name": names.get(block.id, ""), "response": {"output": rawjson.string(block.text)}}
            yield {"functionResponse": answer}


# --- tools ------------------------------------------------------------------------------------------------------------


def _listed(tools: Any) -> list[Any]:
    """A request's `tools`; one alone may stand without a list."""
    return [tools] if rawjson.is_object(tools) else rawjson.items(tools)


def _opaque(tools: Any) -> Iterator[OpaqueTool]:
    """The tools among these that Google runs itself."""
    for raw in _listed(tools):
        for key, member in rawjson.without(rawjson.fields(raw), *_DECLARATIONS).items():
            if rawjson.value(member) is not None:
                yield OpaqueTool(key, hosted=key not in _RUN_BY_CLIENTS)


def _declared(tool: Tool) -> Fields:
    about = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **about, **({"parametersJsonSchema": tool.schema} if tool.schema else {})}


def _drop_tools(fields: Fields) -> None:
    """Remove all tools and the members about them."""
    del fields["tools"]
    for key in [key for key in _TOOL_CONFIG if key in fields]:
        if left := rawjson.without(rawjson.fields(fields.pop(key)), *_CALLING):
            fields[key] = left


def _keep_tools(fields: Fields, gone: Container[str]) -> None:
    """Leave out the functions and the other tools in `gone`."""
    kept: list[Fields] = []
    for raw in _listed(fields["tools"]):
        tool = {key: member for key, member in rawjson.fields(raw).items() if key not in gone}
        for key in [key for key in _DECLARATIONS if key in tool]:
            declared = [
                one for one in rawjson.items(tool[key]) if rawjson.word(rawjson.fields(one), "name") not in gone
            ]
            tool = {**tool, key: declared} if declared else rawjson.without(tool, key)
        kept.extend([tool] if tool else [])
    fields["tools"] = kept


def _allow(fields: Fields, gone: Container[str]) -> None:
    """Take names from those that may be called; with none of them left, the list is gone and the model may choose."""
    key = next((key for key in _TOOL_CONFIG if key in fields), "")
    config = rawjson.fields(fields.get(key))
    for calling in [calling for calling in _CALLING if calling in config]:
        for names in _ALLOWED:  # people write either spelling, and some both
            chosen = rawjson.fields(config[calling])
            listed = rawjson.items(chosen.get(names))
            kept = [raw for raw in listed if rawjson.value(raw) not in gone]
            if len(kept) < len(listed):
                fewer = {names: kept} if kept else {"mode": rawjson.string("AUTO")}
                config = {**config, calling: {**rawjson.without(chosen, names), **fewer}}
                fields[key] = config


CONVERSATIONS = {"gemini": GeminiConversation}
