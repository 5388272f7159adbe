"""Replies with native calls as each API sends them, streamed and whole, and each way in which such a call is damaged.

`DAMAGES` is the one table: what is done to the calls of a sound reply, on which APIs and in which forms that can occur,
and the reason that its verdict has. `streamed` and `whole` write the replies.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolcalls.request import Request, Tool

WIRES = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")
TEXTUAL = ("openai_chat", "openai_responses")  # arguments are a string
PIECEWISE = (*TEXTUAL, "anthropic")  # a stream brings arguments in pieces of text

EDIT = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string"}}}},
        "all": {"type": "boolean"},
    },
    "required": ["path"],
}
TOOLS = (Tool("edit", EDIT), Tool("now", {"type": "object", "properties": {}}))
REQUEST = Request(tools=TOOLS, model="m")
SOUND = '{"path": "a.ts", "edits": [{"old": "x"}], "all": true}'


@dataclass(frozen=True)
class NativeCall:
    """A native call as a server writes it.

    text      the argument text; where an API has an object, its value
    given     what is in the place of the arguments where that is no text of an object: a value of JSON
    ids       an id for each piece instead of one for all; `names`: the name comes with each piece
    place     its index, where that is not the next one
    """

    name: str | None = "edit"
    text: str = SOUND
    id: str = "call_1"
    given: Any = None
    ids: tuple[str, ...] = ()
    names: bool = False
    place: int | None = None

    @property
    def pieces(self) -> list[str]:
        """The argument text in three pieces, the first of them empty."""
        middle = len(self.text) // 2
        return ["", self.text[:middle], self.text[middle:]]

    @property
    def value(self) -> Any:
        """The arguments where they are a value."""
        return self.given if self.given is not None else json.loads(self.text)


@dataclass(frozen=True)
class Damage:
    """One way in which calls are damaged.

    reason     of the verdict of one of the calls
    streamed, whole   the APIs on which it occurs in that form
    text       the text of the reply
    """

    title: str
    reason: str
    calls: tuple[NativeCall, ...]
    streamed: Sequence[str] = WIRES
    whole: Sequence[str] = WIRES
    text: str = ""


CALL = NativeCall()
SECOND = replace(CALL, id="call_2", text='{"path": "b.ts"}')
GLUED = '{"path": "a.ts"}{"path": "b.ts"}'
IN_TEXT = '<tool_call>{"name": "edit", "arguments": {"path": "a.ts"}}</tool_call>'
SWALLOWED = json.dumps({"path": "a.ts</parameter>\n<parameter=all>true"})

DAMAGES: tuple[Damage, ...] = (
    Damage("an array as a string", "wrong_type", (replace(CALL, text='{"path": "a.ts", "edits": "[{}]"}'),)),
    Damage("a boolean as a string", "wrong_type", (replace(CALL, text='{"path": "a.ts", "all": "true"}'),)),
    Damage("an object where a string is wanted", "wrong_type", (replace(CALL, text='{"path": {"a": 1}}'),)),
    Damage("of the second call", "wrong_type", (CALL, replace(SECOND, text='{"path": 1}'))),
    Damage("an argument is missing", "missing_argument", (replace(CALL, text='{"all": true}'),)),
    Damage("an unknown tool", "undeclared", (replace(CALL, name="view"),)),
    Damage("another case", "misspelt_name", (replace(CALL, name="Edit"),)),
    Damage("a prefix", "misspelt_name", (replace(CALL, name="functions.edit"),)),
    Damage("a channel in the name", "markup_in_name", (replace(CALL, name="edit<|channel|>commentary"),)),
    Damage("pairs in the name", "markup_in_name", (replace(CALL, name="edit<arg_key>path</arg_key>"),)),
    Damage("an empty name", "no_name", (replace(CALL, name=""),)),
    Damage("a null name", "no_name", (replace(CALL, name=None),)),
    Damage("of the second call", "no_name", (CALL, replace(SECOND, name=""))),
    Damage("the name several times over", "repeated_name", (replace(CALL, name="editedit"),)),
    Damage("the name in each delta", "repeated_name", (replace(CALL, names=True),), ("openai_chat",), ()),
    Damage("an empty id", "no_id", (replace(CALL, id=""),), PIECEWISE, PIECEWISE),
    Damage("the same id twice", "repeated_id", (CALL, replace(SECOND, id="call_1"))),
    Damage("an id in each delta", "changed_id", (replace(CALL, ids=("a", "b", "c")),), TEXTUAL, ()),
    Damage("an id and the name in each delta", "changed_id",
           (replace(CALL, ids=("a", "b", "c"), names=True),), ("openai_chat",), ()),
    Damage("no arguments", "empty_arguments", (replace(CALL, name="now", text="", given=""),),
           (*TEXTUAL, "ollama"), (*PIECEWISE, "ollama")),
    Damage("the object in a string", "double_encoded", (replace(CALL, text=json.dumps(SOUND), given=SOUND),)),
    Damage("an object", "object_arguments", (replace(CALL, given=json.loads(SOUND)),), TEXTUAL, TEXTUAL),
    Damage("one index", "glued_calls", (replace(CALL, place=0), replace(SECOND, place=0)), PIECEWISE, ()),
    Damage("in one text", "glued_calls", (replace(CALL, text=GLUED),), PIECEWISE, TEXTUAL),
    Damage("twice", "repeated_arguments", (replace(CALL, text=SOUND + SOUND),), PIECEWISE, TEXTUAL),
    Damage("a quote is missing", "bad_arguments", (replace(CALL, text='{"path": a.ts"}', given="{,}"),),
           (*PIECEWISE, "ollama"), (*PIECEWISE, "ollama")),
    Damage("an extra brace", "bad_arguments", (replace(CALL, text=SOUND + "}"),), PIECEWISE, TEXTUAL),
    Damage("a list", "bad_arguments", (replace(CALL, text="[1]", given=[1]),),
           (*PIECEWISE, "gemini", "ollama"), (*PIECEWISE, "gemini", "ollama")),
    Damage("the next parameter in a value", "markup_in_value", (replace(CALL, text=SWALLOWED),)),
    Damage("the text holds it", "empty_beside_text", (replace(CALL, text="{}"),), text=IN_TEXT),
)  # fmt: skip


# --- what a server sends ----------------------------------------------------------------------------------------------


def whole(wire: str, calls: Sequence[NativeCall] = (), text: str = "", finish: str | None = "") -> Any:
    """A whole reply. `finish` is the API's own word, "" for the right one, None for none at all."""
    return _WHOLE[wire](calls, text, finish)


def streamed(wire: str, calls: Sequence[NativeCall] = (), text: str = "", finish: str | None = "") -> bytes:
    """A streamed reply, as `whole`."""
    payloads = _STREAMED[wire](calls, text, finish)
    if wire == "ollama":
        return b"".join(json.dumps(one).encode() + b"\n" for one in payloads)
    named = wire in {"anthropic", "openai_responses"}
    frames = [(f"event: {one['type']}\n" if named else "") + f"data: {json.dumps(one)}\n\n" for one in payloads]
    return "".join([*frames, "data: [DONE]\n\n" if wire == "openai_chat" else ""]).encode()


def _chat_arguments(call: NativeCall) -> Any:
    return call.text if call.given is None or isinstance(call.given, str | list) else call.given


def _chat_whole(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    made = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _chat_arguments(call)}}
        for call in calls
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {})}
    reason = ("tool_calls" if calls else "stop") if finish == "" else finish
    usage = {"prompt_tokens": 10, "completion_tokens": 7}
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


def chat_streamed(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    def chunk(delta: Any, reason: str | None = None) -> Any:
        return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    if text:
        yield chunk({"content": text[:9]})
        yield chunk({"content": text[9:]})
    for number, call in enumerate(calls):
        index = number if call.place is None else call.place
        pieces = call.pieces if isinstance(_chat_arguments(call), str) else [_chat_arguments(call)]
        for at, piece in enumerate(pieces):
            entry: dict[str, Any] = {"index": index, "function": {"arguments": piece}}
            if at == 0 or call.ids:
                entry |= {"id": call.ids[at] if call.ids else call.id, "type": "function"}
            if at == 0 or call.names:
                entry["function"] = {"name": call.name, **entry["function"]}
            yield chunk({"tool_calls": [entry]})
    if finish is not None:
        yield chunk({}, finish or ("tool_calls" if calls else "stop"))
    yield {"id": "c", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7}}


def _responses_item(number: int, call: NativeCall, *, id_: str | None = None) -> Any:
    return {
        "type": "function_call", "id": f"fc_{number}", "call_id": call.id if id_ is None else id_, "name": call.name,
        "arguments": _chat_arguments(call), "status": "completed",
    }  # fmt: skip


def _last_item(number: int, call: NativeCall) -> Any:
    return _responses_item(number, call, id_=call.ids[-1] if call.ids else None)


def _message_item(text: str) -> Any:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def _responses_whole(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    output = [*([_message_item(text)] if text else []), *(_last_item(n, call) for n, call in enumerate(calls))]
    return {
        "id": "resp_1", "object": "response", "status": finish or "completed", "output": output,
        "usage": {"input_tokens": 10, "output_tokens": 7},
    }  # fmt: skip


def _responses_streamed(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    yield {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}
    if text:
        place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
        item = _message_item(text)
        yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}}
        yield {"type": "response.content_part.added", **place, "part": {**item["content"][0], "text": ""}}
        yield {"type": "response.output_text.delta", **place, "delta": text}
        yield {"type": "response.output_text.done", **place, "text": text}
        yield {"type": "response.content_part.done", **place, "part": item["content"][0]}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    for number, call in enumerate(calls):
        index = number + bool(text) if call.place is None else call.place
        place = {"output_index": index, "item_id": f"fc_{number}"}
        item = _responses_item(number, call, id_=call.ids[0] if call.ids else None)
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}}
        if isinstance(_chat_arguments(call), str):
            for piece in call.pieces[1:]:
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
            yield {"type": "response.function_call_arguments.done", **place, "arguments": call.text}
        yield {"type": "response.output_item.done", "output_index": index, "item": _last_item(number, call)}
    if finish is not None:
        response = _responses_whole(calls, text, finish)
        yield {"type": "response.completed", "response": response}


def _anthropic_input(call: NativeCall) -> Any:
    return call.given if call.given is not None else json.loads(call.text)


def _anthropic_whole(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    blocks = [{"type": "tool_use", "id": call.id, "name": call.name, "input": _anthropic_input(call)} for call in calls]
    reason = ("tool_use" if calls else "end_turn") if finish == "" else finish
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": reason,
        "stop_sequence": None, "content": [*([{"type": "text", "text": text}] if text else []), *blocks],
        "usage": {"input_tokens": 10, "output_tokens": 7},
    }  # fmt: skip


def anthropic_streamed(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    opened = {**_anthropic_whole((), "", None), "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}
    yield {"type": "message_start", "message": opened}
    if text:
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        yield {"type": "content_block_stop", "index": 0}
    for number, call in enumerate(calls):
        index = number + bool(text) if call.place is None else call.place
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for piece in call.pieces:
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = ("tool_use" if calls else "end_turn") if finish == "" else finish
    if finish is not None:
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}
    yield {"type": "message_stop"}


def _gemini_parts(calls: Sequence[NativeCall], text: str) -> Any:
    yield from ([{"text": text}] if text else [])
    ids = len(calls) > 1
    for call in calls:
        yield {"functionCall": {"name": call.name, "args": call.value, **({"id": call.id} if ids else {})}}


def _gemini_whole(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    reason = "STOP" if finish == "" else finish
    candidate = {
        "index": 0,
        "content": {"role": "model", "parts": list(_gemini_parts(calls, text))},
        **({"finishReason": reason} if reason else {}),
    }
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 7}
    return {"candidates": [candidate], "usageMetadata": usage, "responseId": "r"}


def _gemini_streamed(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    parts = list(_gemini_parts(calls, text))
    for at, part in enumerate(parts):
        content = {"role": "model", "parts": [part]}
        last = {"finishReason": finish or "STOP"} if at == len(parts) - 1 and finish is not None else {}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 7}
        yield {"candidates": [{"index": 0, "content": content, **last}], "usageMetadata": usage, "responseId": "r"}
    if not parts:
        yield _gemini_whole(calls, text, finish)


def _ollama_message(calls: Sequence[NativeCall], text: str) -> Any:
    ids = len(calls) > 1
    made = [
        {**({"id": call.id} if ids else {}), "function": {"name": call.name, "arguments": call.value}} for call in calls
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def _ollama_whole(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    done = {"done": True, "done_reason": finish or "stop", "eval_count": 7, "prompt_eval_count": 10}
    ended = done if finish is not None else {"done": False}
    return {"model": "m", "created_at": "t", "message": _ollama_message(calls, text), **ended}


def _ollama_streamed(calls: Sequence[NativeCall], text: str, finish: str | None) -> Any:
    line = {"model": "m", "created_at": "t"}
    if text:
        yield {**line, "message": _ollama_message((), text), "done": False}
    if calls:
        yield {**line, "message": _ollama_message(calls, ""), "done": False}
    if finish is not None:
        yield {**_ollama_whole((), "", finish)}


_WHOLE = {
    "openai_chat": _chat_whole,
    "openai_responses": _responses_whole,
    "anthropic": _anthropic_whole,
    "gemini": _gemini_whole,
    "ollama": _ollama_whole,
}
_STREAMED = {
    "openai_chat": chat_streamed,
    "openai_responses": _responses_streamed,
    "anthropic": anthropic_streamed,
    "gemini": _gemini_streamed,
    "ollama": _ollama_streamed,
}
