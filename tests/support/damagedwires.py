"""Sound native calls and their damages on the wires beside Chat Completions (`support.damaging`), and strict readings.

A damage is a reply that a server sent in the place of a sound one with these calls.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from support import anthropicclient, damaging, geminiclient, ollamaclient, responsesclient
from support.damaging import Heard, Sound, without


@dataclass(frozen=True)
class Damaged:
    """What one form of a wire's replies can suffer.

    wire, form   of the exchange
    sound        a sound reply with these calls
    damages      by what is wrong with them
    heard        a strict reading: id, name and argument JSON of each call. It raises where the reply is none
    has_ids      whether a call must have an id
    """

    wire: str
    form: str
    sound: Callable[[Sequence[Sound]], bytes]
    damages: dict[str, Callable[[Sequence[Sound]], bytes]]
    heard: Callable[[bytes], Heard]
    has_ids: bool = True


def payloads(body: bytes) -> list[Any]:
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]


def twice_encoded(call: Sound) -> list[str]:
    text = json.dumps(call.arguments)
    return [text[at : at + 3] for at in range(0, len(text), 3)]


# --- Messages ---------------------------------------------------------------------------------------------------------

type Blocks = list[list[dict[str, Any]]]


def _anthropic(
    *,
    pieces: Callable[[Sound], Sequence[str]] = lambda call: call.pieces,
    id_: Callable[[Sound], str] = lambda call: call.id,
    index: int | None = None,
    closes: bool = True,
) -> Callable[[Sequence[Sound]], bytes]:
    def body(calls: Sequence[Sound]) -> bytes:
        blocks: Blocks = [anthropicclient.text("Hi.")]
        blocks += [anthropicclient.call(id_(call), call.name, *pieces(call)) for call in calls]
        events = anthropicclient.stream(blocks)
        if index is not None:
            events = [{**event, "index": index} if "index" in event else event for event in events]
        if not closes:
            stops = [place for place, event in enumerate(events) if event["type"] == "content_block_stop"]
            events = [event for place, event in enumerate(events) if place not in stops[1:-1]]
        return anthropicclient.written(events)

    return body


def heard_anthropic(body: bytes) -> Heard:
    calls: dict[int, list[str]] = {}
    blocks, open_ = 0, None
    for event in payloads(body):
        if event["type"] == "content_block_start":
            assert (event["index"], open_) == (blocks, None)
            open_, blocks = blocks, blocks + 1
            if event["content_block"]["type"] == "tool_use":
                block = event["content_block"]
                assert isinstance(block["input"], dict)
                calls[open_] = [block["id"], block["name"], "" if not block["input"] else json.dumps(block["input"])]
        elif event["type"] == "content_block_delta":
            assert event["index"] == open_
            if open_ in calls:
                calls[open_][2] += event["delta"]["partial_json"]
        elif event["type"] == "content_block_stop":
            assert event["index"] == open_
            open_ = None
    return [(id_, name, text or "{}") for id_, name, text in calls.values()]


def _in_start(calls: Sequence[Sound]) -> bytes:
    """The input as a string, in the events that open the blocks."""
    blocks: Blocks = [anthropicclient.text("Hi.")]
    for call in calls:
        events = anthropicclient.call(call.id, call.name)
        events[0]["content_block"]["input"] = call.arguments
        blocks.append(events)
    return anthropicclient.written(anthropicclient.stream(blocks))


MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


def _anthropic_whole(change: Callable[[dict[str, Any], Sound], dict[str, Any]]) -> Callable[[Sequence[Sound]], bytes]:
    def body(calls: Sequence[Sound]) -> bytes:
        blocks = [
            change({"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}, call)
            for call in calls
        ]
        return json.dumps({**MESSAGE, "content": blocks}).encode()

    return body


def heard_anthropic_whole(body: bytes) -> Heard:
    found = []
    for block in json.loads(body)["content"]:
        assert isinstance(block["input"], dict)
        found.append((block["id"], block["name"], json.dumps(block["input"])))
    return found


# --- Responses --------------------------------------------------------------------------------------------------------


def _item(call: Sound) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _changed(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Every item of a call in a value, changed."""
    if isinstance(value, list):
        return [_changed(one, change) for one in value]
    if not isinstance(value, dict):
        return value
    value = {key: _changed(one, change) for key, one in value.items()}
    return change(value) if value.get("type") == "function_call" else value


def _responses(
    change: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    told: Callable[[dict[str, Any]], Sequence[dict[str, Any]]] = lambda event: [event],
) -> Callable[[Sequence[Sound]], bytes]:
    def body(calls: Sequence[Sound]) -> bytes:
        events = responsesclient.stream(["Hi.", *map(_item, calls)])
        changed = [_changed(one, change) for event in events for one in told(event)]
        return b"".join(
            b"event: %b\ndata: %b\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in changed
        )

    return body


def _with_arguments(made: Callable[[str], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda item: {**item, "arguments": made(item["arguments"])} if item.get("arguments") else item


def _told_twice(event: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The pieces of each call's arguments, and all of them as one piece more."""
    if event["type"] != "response.function_call_arguments.done":
        return [event]
    again = {key: value for key, value in event.items() if key not in {"arguments", "name"}}
    piece = {**again, "type": "response.function_call_arguments.delta", "delta": event["arguments"]}
    return [piece, {**event, "arguments": event["arguments"] * 2}]


def _told_as_string(event: dict[str, Any]) -> Sequence[dict[str, Any]]:
    if event["type"] == "response.function_call_arguments.delta":
        return [] if event["delta"] == "" else [event]
    if event["type"] != "response.function_call_arguments.done":
        return [event]
    return [{**event, "arguments": json.dumps(event["arguments"])}]


def _under_one(event: dict[str, Any]) -> Sequence[dict[str, Any]]:
    return [{**event, "output_index": 1}] if event.get("output_index", 0) > 1 else [event]


def _is_same(streamed: str, said: object) -> bool:
    """Whether a call's pieces, if any came, are what is said of it at its end."""
    assert isinstance(said, str)
    return not streamed or json.loads(streamed) == json.loads(said)


def heard_responses(body: bytes) -> Heard:
    calls: dict[int, list[str]] = {}
    done: dict[int, tuple[str, str, str]] = {}
    for event in payloads(body):
        kind = event["type"]
        if kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            assert event["output_index"] not in calls
            calls[event["output_index"]] = [event["item"]["call_id"], event["item"]["name"], ""]
        elif kind == "response.function_call_arguments.delta":
            calls[event["output_index"]][2] += event["delta"]
        elif kind == "response.function_call_arguments.done":
            assert _is_same(calls[event["output_index"]][2], event["arguments"])
        elif kind == "response.output_item.done" and event["item"]["type"] == "function_call":
            item = event["item"]
            done[event["output_index"]] = (item["call_id"], item["name"], item["arguments"])
            began = calls[event["output_index"]]
            assert _is_same(began[2], item["arguments"])
            assert began[:2] == [item["call_id"], item["name"]]
        elif kind == "response.completed":
            found = [one for one in event["response"]["output"] if one["type"] == "function_call"]
            assert [(one["call_id"], one["name"], one["arguments"]) for one in found] == list(done.values())
    assert list(done) == list(calls)
    return list(done.values())


def heard_responses_whole(body: bytes) -> Heard:
    found = []
    for item in json.loads(body)["output"]:
        if item["type"] == "function_call":
            assert isinstance(item["arguments"], str)
            found.append((item["call_id"], item["name"], item["arguments"]))
    return found


def _responses_whole(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Sequence[Sound]], bytes]:
    def body(calls: Sequence[Sound]) -> bytes:
        items = [{"id": f"fc_{call.id}", "status": "completed", **_item(call)} for call in calls]
        output = [change(item) for item in items]
        head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
        return json.dumps({**head, "output": output, "usage": responsesclient.USAGE}).encode()

    return body


# --- Gemini and Ollama ------------------------------------------------------------------------------------------------


def _gemini(change: Callable[[dict[str, Any], Sound], dict[str, Any]], form: Any) -> Callable[[Sequence[Sound]], bytes]:
    def body(calls: Sequence[Sound]) -> bytes:
        given = [
            {"functionCall": change({"id": call.id, "name": call.name, "args": json.loads(call.arguments)}, call)}
            for call in calls
        ]
        if form == "whole":
            return geminiclient.body_of([geminiclient.reply(given, "STOP")], form)
        replies = [*(geminiclient.reply([one]) for one in given), geminiclient.reply([""], "STOP")]
        return geminiclient.body_of(replies, form)

    return body


def heard_gemini(body: bytes) -> Heard:
    found: Heard = []
    for reply in payloads(body) or [json.loads(body)]:
        for candidate in reply["candidates"]:
            for part in candidate["content"]["parts"]:
                if "functionCall" in part:
                    call = part["functionCall"]
                    assert isinstance(call.get("args", {}), dict)
                    found.append((call.get("id", ""), call["name"], json.dumps(call.get("args", {}))))
    return found


def _ollama(change: Callable[[dict[str, Any], int, Sound], dict[str, Any]]) -> Callable[[Sequence[Sound]], bytes]:
    def body(calls: Sequence[Sound]) -> bytes:
        entries = [
            change(
                {
                    "id": call.id,
                    "function": {"index": place, "name": call.name, "arguments": json.loads(call.arguments)},
                },
                place,
                call,
            )
            for place, call in enumerate(calls)
        ]
        lines = [ollamaclient.line({"content": "", "tool_calls": [entry]}) for entry in entries]
        return ollamaclient.body_of([*lines, ollamaclient.line("", "stop")])

    return body


def _function(entry: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**entry, "function": {**entry["function"], **more}}


def heard_ollama(body: bytes) -> Heard:
    found: Heard = []
    for line in map(json.loads, body.splitlines()):
        for one in line["message"].get("tool_calls", ()):
            assert one["function"]["index"] == len(found)
            assert isinstance(one["function"]["arguments"], dict)
            found.append((one["id"], one["function"]["name"], json.dumps(one["function"]["arguments"])))
    return found


ALL = {
    "anthropic": Damaged(
        "anthropic",
        "sse",
        _anthropic(),
        {
            "an empty id": _anthropic(id_=lambda _: ""),
            "one id for all": _anthropic(id_=lambda _: "toolu_x"),
            "one index for all": _anthropic(index=0),
            "one index, and blocks that nothing ends": _anthropic(index=0, closes=False),
            "the whole twice": _anthropic(pieces=lambda call: [*call.pieces, call.arguments]),
            "the whole in each delta": _anthropic(pieces=lambda call: [call.arguments] * 3),
            "encoded twice": _anthropic(pieces=twice_encoded),
            "a string in the start": _in_start,
        },
        heard_anthropic,
    ),
    "anthropic whole": Damaged(
        "anthropic",
        "whole",
        _anthropic_whole(lambda block, _: block),
        {
            "no id": _anthropic_whole(lambda block, _: without(block, "id")),
            "one id for all": _anthropic_whole(lambda block, _: {**block, "id": "x"}),
            "a string": _anthropic_whole(lambda block, call: {**block, "input": call.arguments}),
            "encoded twice": _anthropic_whole(lambda block, call: {**block, "input": json.dumps(call.arguments)}),
        },
        heard_anthropic_whole,
    ),
    "openai_responses": Damaged(
        "openai_responses",
        "sse",
        _responses(),
        {
            "an empty id": _responses(lambda item: {**item, "call_id": ""}),
            "no id": _responses(lambda item: without(item, "call_id")),
            "one id for all": _responses(lambda item: {**item, "call_id": "x"}),
            "an object at the end": _responses(_with_arguments(json.loads)),
            "encoded twice at the end": _responses(_with_arguments(json.dumps), _told_as_string),
            "the whole twice": _responses(_with_arguments(lambda text: text * 2), _told_twice),
            "one place for all": _responses(told=_under_one),
        },
        heard_responses,
    ),
    "openai_responses whole": Damaged(
        "openai_responses",
        "whole",
        _responses_whole(dict),
        {
            "no id": _responses_whole(lambda item: without(item, "call_id")),
            "one id for all": _responses_whole(lambda item: {**item, "call_id": "x"}),
            "an object": _responses_whole(_with_arguments(json.loads)),
            "encoded twice": _responses_whole(_with_arguments(json.dumps)),
            "the whole twice": _responses_whole(_with_arguments(lambda text: text * 2)),
        },
        heard_responses_whole,
    ),
    **{
        f"gemini {form}": Damaged(
            "gemini",
            form,
            _gemini(lambda call, _: call, form),
            {
                "an empty id": _gemini(lambda call, _: {**call, "id": ""}, form),
                "one id for all": _gemini(lambda call, _: {**call, "id": "x"}, form),
                "a string": _gemini(lambda call, one: {**call, "args": one.arguments}, form),
                "encoded twice": _gemini(lambda call, one: {**call, "args": json.dumps(one.arguments)}, form),
            },
            heard_gemini,
        )
        for form in ("sse", "whole")
    },
    "ollama": Damaged(
        "ollama",
        "ndjson",
        _ollama(lambda entry, _, __: entry),
        {
            "an empty id": _ollama(lambda entry, _, __: {**entry, "id": ""}),
            "one id for all": _ollama(lambda entry, _, __: {**entry, "id": "x"}),
            "a string": _ollama(lambda entry, _, call: _function(entry, arguments=call.arguments)),
            "encoded twice": _ollama(lambda entry, _, call: _function(entry, arguments=json.dumps(call.arguments))),
            "one index for all": _ollama(lambda entry, _, __: _function(entry, index=0)),
        },
        heard_ollama,
    ),
}


def _streamed(damage: Callable[[Sequence[Sound]], Any]) -> Callable[[Sequence[Sound]], bytes]:
    return lambda calls: damaging.chat_stream(damage(calls))


def _whole(damage: Callable[[Sequence[Sound]], Any]) -> Callable[[Sequence[Sound]], bytes]:
    return lambda calls: damaging.chat_whole(damage(calls))


EVERY = ALL | {
    "openai_chat": Damaged(
        "openai_chat",
        "sse",
        damaging.sound_chat,
        {name: _streamed(one) for name, one in damaging.CHAT.items()},
        damaging.heard_chat,
    ),
    "openai_chat whole": Damaged(
        "openai_chat",
        "whole",
        lambda calls: damaging.chat_whole([damaging.entry(call) for call in calls]),
        {name: _whole(one) for name, one in damaging.CHAT_WHOLE.items()},
        damaging.heard_chat_whole,
    ),
}
"""`ALL`, and Chat Completions."""
