"""The calls of a request's history and their results, where each API has them, handed over to be changed.

Nothing is read but what is around a call or a result. Where none of them changes, nothing is written: what leaves
is what came. A changed body holds everything else as it was written.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields


@dataclass(frozen=True, slots=True)
class CallForm:
    """Where a call has its parts.

    id         the member with its id
    inside     the member that holds name and arguments; "" where they are beside the id
    arguments  the member with the arguments; "" where they are no function's and stay
    as_text    they are JSON in a string, else the object itself
    asks_id    each call needs an id; else only one that has the member
    """

    id: str
    inside: str = ""
    arguments: str = ""
    as_text: bool = False
    asks_id: bool = True


@dataclass(frozen=True, slots=True)
class ResultForm:
    """Where a result names the call that it answers: by its id, and by the tool's name ("" for none)."""

    id: str
    name: str = ""


class Changes(Protocol):
    """What is done to calls and results, in the order of the history. A member that stays is given back as it is."""

    def call(self, members: Fields, form: CallForm) -> Fields:
        """The call's members as they should be."""

    def result(self, members: Fields, form: ResultForm) -> Fields:
        """The result's members as they should be."""


def with_changes(wire: str, body: bytes, changes: Changes) -> bytes | None:
    """A request's body with its changed calls and results; None where nothing changes, or where it has no such form."""
    walk = _WALKS.get(wire)
    if walk is None:
        return None
    fields = rawjson.fields(body)
    made = walk(fields, changes)
    return None if made is fields else rawjson.written(made)


type _Edit = Callable[[Fields], Fields]


def _edited_list(members: Fields, key: str, edit: _Edit) -> Fields:
    """An object whose list `key` has objects that are edited; the same where none is."""
    came = rawjson.items(members.get(key))
    made: list[Any] = []
    for raw in came:
        was = rawjson.fields(raw)
        now = edit(was) if was else was
        made.append(raw if now is was else now)
    return members if all(one is raw for one, raw in zip(made, came, strict=True)) else {**members, key: made}


def _edited_member(members: Fields, key: str, edit: _Edit) -> Fields:
    """An object whose member `key`, an object, is edited."""
    was = rawjson.fields(members[key])
    now = edit(was) if was else was
    return members if now is was else {**members, key: now}


# --- each API ---------------------------------------------------------------------------------------------------------

_CHAT_CALL = CallForm("id", "function", "arguments", as_text=True)
_CHAT_CUSTOM = CallForm("id", "custom")
_CHAT_RESULT = ResultForm("tool_call_id", "name")


def _chat(fields: Fields, changes: Changes) -> Fields:
    def message(members: Fields) -> Fields:
        if rawjson.word(members, "role") == "tool":
            return changes.result(members, _CHAT_RESULT)
        if rawjson.word(members, "role") != "assistant":
            return members
        return _edited_list(members, "tool_calls", call)

    def call(members: Fields) -> Fields:
        there = rawjson.present(members)
        form = _CHAT_CUSTOM if "custom" in there and "function" not in there else _CHAT_CALL
        return changes.call(members, form) if form.inside in there else members

    return _edited_list(fields, "messages", message)


_USE = CallForm("id", arguments="input")
_USED = ResultForm("tool_use_id")


def _messages(fields: Fields, changes: Changes) -> Fields:
    def block(members: Fields) -> Fields:
        kind = rawjson.word(members, "type")
        if kind == "tool_use":
            return changes.call(members, _USE)
        return changes.result(members, _USED) if kind == "tool_result" else members

    return _edited_list(fields, "messages", lambda message: _edited_list(message, "content", block))


_CONVERSE_USE = CallForm("toolUseId", arguments="input")
_CONVERSE_USED = ResultForm("toolUseId")


def _converse(fields: Fields, changes: Changes) -> Fields:
    def block(members: Fields) -> Fields:
        there = rawjson.present(members)
        if "toolUse" in there:
            return _edited_member(members, "toolUse", lambda call: changes.call(call, _CONVERSE_USE))
        if "toolResult" in there:
            return _edited_member(members, "toolResult", lambda result: changes.result(result, _CONVERSE_USED))
        return members

    return _edited_list(fields, "messages", lambda message: _edited_list(message, "content", block))


def _invoke(fields: Fields, changes: Changes) -> Fields:
    """Bodies of Claude or of Nova; those of other models have neither's blocks."""
    return _messages(fields, changes) if "anthropic_version" in fields else _converse(fields, changes)


_FUNCTION = CallForm("call_id", arguments="arguments", as_text=True)
_OTHER_CALL = CallForm("call_id")
_OUTPUT = ResultForm("call_id")


def _responses(fields: Fields, changes: Changes) -> Fields:
    def item(members: Fields) -> Fields:
        kind = rawjson.word(members, "type")
        if kind == "function_call":
            return changes.call(members, _FUNCTION)
        if kind.endswith("_call_output"):
            return changes.result(members, _OUTPUT)
        is_call = kind == "custom_tool_call" or (kind.endswith("_call") and "call_id" in members)
        return changes.call(members, _OTHER_CALL) if is_call else members

    return _edited_list(fields, "input", item)


_GEMINI_CALL = CallForm("id", arguments="args", asks_id=False)
_GEMINI_RESULT = ResultForm("id", "name")


def _gemini(fields: Fields, changes: Changes) -> Fields:
    if "contents" not in fields and rawjson.is_object(fields.get("request")):
        return _edited_member(fields, "request", lambda inner: _gemini(inner, changes))

    def part(members: Fields) -> Fields:
        there = rawjson.present(members)
        for key in ("functionCall", "function_call"):
            if key in there:
                return _edited_member(members, key, lambda call: changes.call(call, _GEMINI_CALL))
        for key in ("functionResponse", "function_response"):
            if key in there:
                return _edited_member(members, key, lambda result: changes.result(result, _GEMINI_RESULT))
        return members

    return _edited_list(fields, "contents", lambda content: _edited_list(content, "parts", part))


_OLLAMA_CALL = CallForm("id", "function", "arguments", asks_id=False)
_OLLAMA_RESULT = ResultForm("tool_call_id", "tool_name")


def _ollama(fields: Fields, changes: Changes) -> Fields:
    def message(members: Fields) -> Fields:
        if rawjson.word(members, "role") == "tool":
            return changes.result(members, _OLLAMA_RESULT)
        return _edited_list(members, "tool_calls", lambda call: changes.call(call, _OLLAMA_CALL))

    return _edited_list(fields, "messages", message)


_STEP_CALL = CallForm("id", arguments="arguments", asks_id=True)
_STEP_RESULT = ResultForm("call_id", "name")


def _interactions(fields: Fields, changes: Changes) -> Fields:
    def step(members: Fields) -> Fields:
        match rawjson.word(members, "type"):
            case "function_call":
                return changes.call(members, _STEP_CALL)
            case "function_result":
                return changes.result(members, _STEP_RESULT)
        return members

    return _edited_list(fields, "input", step)


_WALKS: Mapping[str, Callable[[Fields, Changes], Fields]] = {
    "openai_chat": _chat,
    "cohere": _chat,
    "openai_responses": _responses,
    "anthropic": _messages,
    "bedrock": _invoke,
    "bedrock_converse": _converse,
    "gemini": _gemini,
    "gemini_interactions": _interactions,
    "ollama": _ollama,
}
