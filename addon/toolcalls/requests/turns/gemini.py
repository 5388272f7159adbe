"""Requests of Gemini: `contents`, `systemInstruction`, `tools`, `toolConfig`; in Code Assist inside `request`.

https://ai.google.dev/api/generate-content#request-body. A content's parts are texts, calls (`functionCall`), answers
(`functionResponse`) and data. Calls mostly have no id, so an answer belongs to the first call of its name that has none
yet; the ids here are made up to say so, and only those that a client wrote are in a request.

A call that was text before bears the signature that Google names for calls of other models' making, since Gemini 3
refuses calls without one: https://ai.google.dev/gemini-api/docs/thought-signatures#faqs. An answer that is no object
becomes one: `{"output": text}`; one whose only member is `error` failed. Tools that Google runs itself cannot be
described in a prompt.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from toolcalls.request import Tool
from toolcalls.requests.stop_texts import keep_stops, stops_in
from toolcalls.requests.turns import Block, Conversation, OpaqueTool, Other, PastCall, Result, Role, Text, Turn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.gemini.request import choice_of, either, tools_of

_SIGNATURE = "skip_thought_signature_validator"
_ROLES: dict[Role, str] = {"assistant": "model", "user": "user", "tool": "user"}
_SYSTEM = ("systemInstruction", "system_instruction")
_TOOL_CONFIG = ("toolConfig", "tool_config")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_CALLING = ("functionCallingConfig", "function_calling_config")
_ALLOWED = ("allowedFunctionNames", "allowed_function_names")
_STOPS = tuple(
    (config, key) for config in ("generationConfig", "generation_config") for key in ("stopSequences", "stop_sequences")
)
_RUN_BY_CLIENTS = frozenset({"computerUse", "computer_use"})
_CALL = ("functionCall", "function_call")
_ANSWER = ("functionResponse", "function_response")


class _GeminiRequests:
    def read(self, body: bytes) -> Conversation:
        reading = _Reading()
        try:
            fields, _ = _opened(body)
            contents = rawjson.items(fields.get("contents"))
            if not contents:
                raise ValueError("it has no list `contents`")
            system = either(fields, *_SYSTEM)
            turns = [] if system is None else [Turn("system", tuple(reading.blocks(_parts(system))), system)]
            turns.extend(reading.turn(raw) for raw in contents)
            tools = tuple(tools_of(_loads(fields.get("tools"))))
            choice = choice_of(_loads(either(fields, *_TOOL_CONFIG)))
            opaque_tools = tuple(dict.fromkeys(_opaque_tools(fields.get("tools"))))
            return Conversation(tuple(turns), tools, choice, opaque_tools=opaque_tools, stop=stops_in(fields, *_STOPS))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the request body is not a Gemini request: {error}") from error

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        fields, around = _opened(body)
        names = {
            block.id: block.name for turn in conversation.turns for block in turn.blocks if isinstance(block, PastCall)
        }
        system = [turn for turn in conversation.turns if turn.role == "system"]
        if system:
            key = next((key for key in _SYSTEM if key in fields), _SYSTEM[0])
            fields[key] = _content(system[0], names)
        said = (turn for turn in conversation.turns if turn.role != "system")
        fields["contents"] = [_content(turn, names) for turn in _answers_together(said)]
        keep_stops(fields, conversation.stop, *_STOPS)
        _set_tools_and_choice(fields, conversation)
        return rawjson.written(fields if around is None else {**around, "request": fields})


class _Reading:
    """Reads parts as blocks, and finds the call that each answer belongs to."""

    def __init__(self) -> None:
        self._calls = 0
        self._open: list[tuple[str, str]] = []  # calls without an answer: names and ids

    def turn(self, raw: Any) -> Turn:
        content = rawjson.fields(raw)
        role = rawjson.word(content, "role") or "user"
        roles: dict[str, Role] = {"model": "assistant", "user": "user", "function": "tool", "tool": "tool"}
        if role not in roles or not content:
            return Turn("user", (Other(raw),), raw)
        return Turn(roles[role], tuple(self.blocks(_parts(raw))), raw)

    def blocks(self, parts: Iterable[Any]) -> Iterator[Block]:
        """The blocks of a content's parts."""
        for raw in parts:
            part = rawjson.present(rawjson.fields(raw))
            call, answer = either(part, *_CALL), either(part, *_ANSWER)
            if call is not None and rawjson.word(rawjson.fields(call), "name"):
                yield self._call(raw, rawjson.fields(call))
            elif answer is not None:
                yield self._answer(raw, rawjson.fields(answer))
            elif isinstance(text := _loads(part.get("text")), str) and rawjson.value(part.get("thought")) is not True:
                yield Text(text, part if set(part) - {"text"} else None)
            else:
                yield Other(raw)

    def _call(self, raw: Any, call: Fields) -> PastCall:
        self._calls += 1
        name = rawjson.word(call, "name")
        id_ = rawjson.word(call, "id") or f"call {self._calls}"
        self._open.append((name, id_))
        args = call.get("args")
        return PastCall(id_, name, rawjson.text_of(args) if rawjson.is_object(args) else "{}", raw)

    def _answer(self, raw: Any, answer: Fields) -> Result:
        name, id_ = rawjson.word(answer, "name"), rawjson.word(answer, "id")
        found = next((one for one in self._open if id_ == one[1] or (not id_ and name == one[0])), None)
        if found is not None:
            self._open.remove(found)
        others = tuple(Other(part) for part in rawjson.items(answer.get("parts")))
        response = answer.get("response")
        failed = set(rawjson.fields(response)) == {"error"}
        return Result(found[1] if found else id_, _answered(response), raw, others, is_error=failed)


def _opened(body: bytes) -> tuple[Fields, Fields | None]:
    """The request's own members, and those of the envelope around it; None for none. Raises ValueError."""
    fields: Fields = dict(rawjson.fields(body))
    if "contents" not in fields and rawjson.is_object(fields.get("request")):
        return dict(rawjson.fields(fields["request"])), fields
    return fields, None


def _loads(raw: Any) -> Any:
    """A member as plain data, with numbers of any size exact."""
    return None if raw is None else rawjson.loaded(bytes(raw))


def _parts(raw: Any) -> list[Any]:
    """A content's parts. A system instruction may be its text alone, and a single part may stand without a list."""
    if isinstance(text := rawjson.value(raw), str):
        return [{"text": rawjson.string(text)}]
    parts = rawjson.fields(raw).get("parts")
    return [parts] if rawjson.is_object(parts) else rawjson.items(parts)


def _answered(response: Any) -> str:
    """A function's answer as text: the one text in it where there is nothing else, else the JSON."""
    members = rawjson.fields(response)
    values = [rawjson.value(member) for member in members.values()]
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return "" if response is None else rawjson.text_of(response)


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
    role = {} if turn.role == "system" else {"role": _ROLES[turn.role]}
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


def _set_tools_and_choice(fields: Fields, conversation: Conversation) -> None:
    known = {tool.name for tool in tools_of(_loads(fields.get("tools")))}
    if not conversation.tools and not conversation.opaque_tools:
        if known or any(_opaque_tools(fields.get("tools"))):
            _drop_tools(fields)
        return
    gone = known - {tool.name for tool in conversation.tools}
    _keep_tools(fields, gone, conversation.dropped(_opaque_tools(fields.get("tools"))))
    new = [_declared(tool) for tool in conversation.tools if tool.name not in known]
    if new:
        fields["tools"] = [*_listed(fields.get("tools")), {_DECLARATIONS[0]: new}]
    _choose(fields, conversation.tool_choice)
    _allow(fields, gone)


def _listed(tools: Any) -> list[Any]:
    """A request's `tools`; one alone may stand without a list."""
    return [tools] if rawjson.is_object(tools) else rawjson.items(tools)


def _opaque_tools(tools: Any) -> Iterator[OpaqueTool]:
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


def _keep_tools(fields: Fields, gone: set[str], opaque_tools: Set[str]) -> None:
    """Leave out the functions in `gone`, and the `opaque_tools` tools, most of which Google runs itself."""
    if not (gone or opaque_tools):
        return
    kept: list[Fields] = []
    for raw in _listed(fields["tools"]):
        tool = rawjson.without(rawjson.fields(raw), *opaque_tools)
        for key in [key for key in _DECLARATIONS if key in tool]:
            declared = [
                one for one in rawjson.items(tool[key]) if rawjson.word(rawjson.fields(one), "name") not in gone
            ]
            tool = {**tool, key: declared} if declared else rawjson.without(tool, key)
        kept.extend([tool] if tool else [])
    fields["tools"] = kept


def _allow(fields: Fields, gone: set[str]) -> None:
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


def _choose(fields: Fields, choice: str) -> None:
    """Set the mode of function calling, and the one function that may be called, if the request says otherwise."""
    key = next((key for key in _TOOL_CONFIG if key in fields), _TOOL_CONFIG[0])
    if choice_of(_loads(fields.get(key))) == choice:
        return
    calling: dict[str, Any] = {"mode": {"auto": "AUTO", "none": "NONE"}.get(choice, "ANY")}
    if choice not in {"auto", "none", "required"}:
        calling["allowedFunctionNames"] = [choice]
    config = rawjson.without(rawjson.fields(fields.get(key)), *_CALLING)
    fields[key] = {**config, _CALLING[0]: calling}


FORMAT = _GeminiRequests()
