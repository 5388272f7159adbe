"""Chat Completions beyond the usual: calls of custom tools, choices of some tools, reasons for an end that not all
know, and requests that only come to its path.

Strategy: frames by hand, through the exchange; the strict client knows functions only, so chunks are read here.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from support.chatclient import HEAD, chunk, event, outer
from support.processorcases import no_reactors, route_of
from toolcalls.events import CallEnd, CallPiece, CallStart
from toolcalls.processors import Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

WIRE = all_wires()["openai_chat"]
LIFT = Route(client="native", upstream="text")
LOWER = Route(client="text", upstream="native", client_dialect="hermes")
BASH = Tool("bash", {"type": "object", "properties": {"command": {"type": "string"}}})
PATCH = Tool("patch", {"type": "object", "properties": {"input": {"type": "string"}}})
OPEN = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n'
LEAK = OPEN + "</tool_call>\n"
INPUT = 'a "b"\n\\é\U0001f600'
FLAT = {"type": "function", "name": "bash", "parameters": BASH.schema, "strict": True}


def exchange_for(route: Route, form: Form = "sse", tools: tuple[Tool, ...] = (BASH,)) -> Exchange:
    request = Request(tools=tools)
    decision = decide(route, request, {}, ())
    call_policy, toolbox = call_policy_of(route, request, decision)
    rules = Processors(route, model="m", agent="", run=no_reactors) if route.processes else None
    return Exchange(WIRE, call_policy, decision, toolbox, form=form, seed=b"s", processors=rules)


def through(exchange: Exchange, body: bytes, size: int = 0) -> bytes:
    size = size or len(body)
    out = b"".join([exchange.feed(body[at : at + size]) for at in range(0, len(body), size)]) + exchange.close()
    assert exchange.failure is None
    return out


def told(body: bytes) -> tuple[str, dict[int, dict[str, Any]], str | None]:
    """The text, the calls by index, each with its name and its arguments or its free text, and the finish reason."""
    text, finish = "", None
    calls: dict[int, dict[str, Any]] = {}
    for frame in body.decode().split("\n\n")[:-1]:
        if frame == "data: [DONE]":
            continue
        choice = json.loads(frame.removeprefix("data: "))["choices"][0]
        text += choice["delta"].get("content") or ""
        finish = choice["finish_reason"] or finish
        for entry in choice["delta"].get("tool_calls", ()):
            got = calls.setdefault(entry["index"], {"type": entry.get("type"), "said": ""})
            member = entry.get("custom") or entry["function"]
            got["name"] = member.get("name", got.get("name"))
            got["said"] += member.get("input", member.get("arguments", ""))
    return text, calls, finish


def custom(entry: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, **more, "custom": entry}]}


def stream(*deltas: dict[str, Any], finish: str = "tool_calls") -> bytes:
    return b"".join(event(chunk(delta)) for delta in (HEAD, *deltas)) + event(chunk({}, finish)) + b"data: [DONE]\n\n"


CUSTOM = [
    custom({"name": "patch", "input": ""}, id="q", type="custom"),
    *(custom({"input": INPUT[at : at + 3]}) for at in range(0, len(INPUT), 3)),
]
CALLED = {"type": "custom", "name": "patch", "said": INPUT}


def verdicts(exchange: Exchange) -> list[tuple[str, str | None, str | None]]:
    return [(verdict.status, verdict.reason, verdict.name) for _, verdict in exchange.verdicts]


# --- calls of custom tools, https://platform.openai.com/docs/guides/function-calling#custom-tools ---------------------


def test_a_custom_call_passes_byte_for_byte_with_a_verdict() -> None:
    exchange, body = exchange_for(LIFT), stream(*CUSTOM)
    assert through(exchange, body) == body
    assert verdicts(exchange) == [("native", None, "patch")]
    assert exchange.client_calls[0][1].arguments == json.dumps(
        {"input": INPUT}, ensure_ascii=False, separators=(",", ":")
    )


@pytest.mark.parametrize("size", [0, 1, 17])
def test_a_custom_call_behind_a_lifted_one_has_an_index_of_its_own(size: int) -> None:
    exchange = exchange_for(LIFT)
    text, calls, finish = told(through(exchange, stream({"content": LEAK}, *CUSTOM), size))
    assert (text, finish) == ("", "tool_calls")
    assert calls == {0: {"type": "function", "name": "bash", "said": '{"command": "ls"}'}, 1: CALLED}
    assert verdicts(exchange) == [("lifted", None, "bash"), ("native", None, "patch")]


@pytest.mark.parametrize(("tools", "lowered"), [((PATCH,), True), ((BASH,), False)], ids=["declared", "unknown"])
def test_a_custom_call_becomes_text_where_a_tool_can_hold_it(tools: tuple[Tool, ...], lowered: bool) -> None:
    body = stream(*CUSTOM)
    out = through(exchange_for(LOWER, tools=tools), body)
    assert (out != body) == lowered
    text, calls, _ = told(out)
    assert (f'"arguments": {{"input":{json.dumps(INPUT, ensure_ascii=False)}}}' in text) == lowered
    assert bool(calls) != lowered


FREE = Tool("patch", PATCH.schema, form="custom")
TOLD_FREE = '<tool_call>\n{"name": "patch", "arguments": {"input": %s}}\n</tool_call>\n'


@pytest.mark.parametrize("size", [0, 1, 17])
def test_a_custom_tool_that_is_called_in_text_gets_its_own_form(size: int) -> None:
    exchange = exchange_for(LIFT, tools=(BASH, FREE))
    leak = TOLD_FREE % json.dumps(INPUT)
    body = stream(*({"content": leak[at : at + 7]} for at in range(0, len(leak), 7)), {"content": LEAK}, finish="stop")
    text, calls, finish = told(through(exchange, body, size))
    assert (text, finish) == ("", "tool_calls")
    assert calls == {0: CALLED, 1: {"type": "function", "name": "bash", "said": '{"command": "ls"}'}}
    exchange = exchange_for(LIFT, "whole", (BASH, FREE))
    (choice,) = json.loads(through(exchange, whole(text=leak)))["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (call["type"], call["custom"]) == ("custom", {"name": "patch", "input": INPUT})
    assert "function" not in call


def test_a_custom_tool_is_read_from_the_request() -> None:
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: WORD"}}
    declared = {"type": "custom", "custom": {"name": "patch", "description": "Patches.", "format": grammar}}
    request = asked(messages=[], tools=[declared], tool_choice={"type": "custom", "custom": {"name": "patch"}})
    (tool,) = request.tools
    assert (tool.name, tool.description, tool.form, request.tool_choice) == ("patch", "Patches.", "custom", "patch")
    assert "start: WORD" in tool.schema["properties"]["input"]["description"]


# --- the older form, https://platform.openai.com/docs/api-reference/chat/create (functions, function_call) ------------

ARGUMENTS = '{"command": "ls"}'
OLDER = [
    {"function_call": {"name": "bash", "arguments": ""}},
    *({"function_call": {"arguments": ARGUMENTS[at : at + 4]}} for at in range(0, len(ARGUMENTS), 4)),
]
OLD_BASH = replace(BASH, form="function_call")


def older(content: str | None, call: Mapping[str, Any] | None, finish: str) -> bytes:
    message = {"role": "assistant", "content": content} | ({"function_call": call} if call else {})
    return json.dumps({"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}).encode()


def older_told(body: bytes) -> tuple[str, str, str, str | None]:
    """The text, the name and the arguments of the call in the older form, and the finish reason, of a stream."""
    text, name, arguments, finish = "", "", "", None
    for frame in body.decode().split("\n\n")[:-2]:
        choice = json.loads(frame.removeprefix("data: "))["choices"][0]
        text += choice["delta"].get("content") or ""
        said = choice["delta"].get("function_call") or {}
        name, arguments = name + said.get("name", ""), arguments + said.get("arguments", "")
        finish = choice["finish_reason"] or finish
    return text, name, arguments, finish


BODIES: dict[str, tuple[Form, bytes]] = {
    "streamed": ("sse", stream(*OLDER, finish="function_call")),
    "whole": ("whole", older(None, {"name": "bash", "arguments": ARGUMENTS, "x": 1}, "function_call")),
}


@pytest.mark.parametrize(("form", "body"), BODIES.values(), ids=BODIES)
def test_a_call_of_the_older_form_is_a_native_call(form: Form, body: bytes) -> None:
    exchange = exchange_for(LIFT, form)
    assert through(exchange, body) == body
    assert verdicts(exchange) == [("native", None, "bash")]
    assert exchange.client_calls[0][1].arguments == ARGUMENTS


@pytest.mark.parametrize(("form", "body"), BODIES.values(), ids=BODIES)
def test_a_call_of_the_older_form_becomes_text(form: Form, body: bytes) -> None:
    exchange = exchange_for(LOWER, form)
    out = through(exchange, body)
    assert verdicts(exchange) == [("lowered", None, "bash")]
    if form == "whole":
        (choice,) = json.loads(out)["choices"]
        text, finish = choice["message"]["content"], choice["finish_reason"]
        assert "function_call" not in choice["message"]
    else:
        text, name, _, finish = older_told(out)
        assert not name
    assert (text.strip(), finish) == (LEAK.strip(), "stop")


@pytest.mark.parametrize(("form", "body"), BODIES.values(), ids=BODIES)
def test_a_rule_blocks_a_call_of_the_older_form(form: Form, body: bytes) -> None:
    rule = {"name": "no", "action": "block", "tools": "bash"}
    exchange = exchange_for(route_of({"name": "r", "access": {"rules": [rule]}}), form)
    out = through(exchange, body)
    assert b"function_call" not in out
    assert [status for status, *_ in verdicts(exchange)] == ["blocked"]


@pytest.mark.parametrize("size", [0, 1, 17])
def test_a_client_of_the_older_form_gets_it(size: int) -> None:
    body = stream(*({"content": LEAK[at : at + 5]} for at in range(0, len(LEAK), 5)), finish="stop")
    out = through(exchange_for(LIFT, tools=(OLD_BASH,)), body, size)
    assert older_told(out) == ("", "bash", ARGUMENTS, "function_call")
    assert b"tool_calls" not in out
    (choice,) = json.loads(through(exchange_for(LIFT, "whole", (OLD_BASH,)), older(LEAK, None, "stop")))["choices"]
    message = {"role": "assistant", "content": None, "function_call": {"name": "bash", "arguments": ARGUMENTS}}
    assert (choice["message"], choice["finish_reason"]) == (message, "function_call")


def test_a_call_of_the_older_form_behind_a_lifted_one_stays() -> None:
    out = through(exchange_for(LIFT), stream({"content": LEAK.replace("ls", "pwd")}, *OLDER, finish="function_call"))
    assert older_told(out) == ("", "bash", ARGUMENTS, "tool_calls")
    assert b"pwd" in out


def test_functions_are_read_from_the_request() -> None:
    declared = [{"name": "bash", "parameters": BASH.schema}]
    request = asked(messages=[], functions=declared, function_call={"name": "bash"})
    assert (request.tools, request.tool_choice) == ((OLD_BASH,), "bash")
    assert asked(messages=[], functions=declared, function_call="none").tool_choice == "none"


def whole(*calls: dict[str, Any], text: str) -> bytes:
    message = {"role": "assistant", "content": text, "tool_calls": calls}
    return json.dumps(
        {"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    ).encode()


def test_a_custom_call_in_a_whole_reply() -> None:
    one = {"id": "q", "type": "custom", "custom": {"name": "patch", "input": INPUT}}
    exchange = exchange_for(LIFT, "whole")
    message = json.loads(through(exchange, whole(one, text=LEAK)))["choices"][0]["message"]
    assert [one, "bash"] == [message["tool_calls"][0], message["tool_calls"][1]["function"]["name"]]
    assert ("native", None, "patch") in verdicts(exchange)


@pytest.mark.parametrize("id_", [{}, {"id": ""}, {"id": "a"}], ids=["none", "empty", "the same"])
def test_native_calls_keep_their_fields_whatever_their_ids(id_: dict[str, str]) -> None:
    """Gemini's signatures are in `extra_content`: https://ai.google.dev/gemini-api/docs/thought-signatures."""
    natives = [
        {**id_, "type": "function", "function": {"name": name, "arguments": "{}"}, "extra_content": {"google": name}}
        for name in ("ls", "pwd")
    ]
    out = json.loads(through(exchange_for(replace(LIFT, mend=()), "whole"), whole(*natives, text=LEAK)))
    assert out["choices"][0]["message"]["tool_calls"][:2] == natives
    assert len(out["choices"][0]["message"]["tool_calls"]) == 3


@pytest.mark.parametrize("form", ["sse", "whole"])
def test_a_rule_blocks_a_custom_call(form: Form) -> None:
    rule = {"name": "no", "action": "block", "tools": "patch", "arguments": {"input": "b"}}
    exchange = exchange_for(route_of({"name": "r", "access": {"rules": [rule]}}), form)
    one = {"id": "q", "type": "custom", "custom": {"name": "patch", "input": INPUT}}
    out = through(exchange, stream(*CUSTOM) if form == "sse" else whole(one, text="Hi"))
    assert b"custom" not in out
    assert [verdict.rule for _, verdict in exchange.verdicts] == ["no"]


def test_a_custom_call_that_is_made_anew_is_told_as_one() -> None:
    codec = WIRE.codec(streamed=True)
    frame = json.dumps(chunk({"content": "x"})).encode()
    codec.decode(frame)
    written = json.dumps({"input": INPUT})
    parts = [
        (0, CallStart(0, "patch", "", "q", "custom")), (0, CallPiece(0, written[:5])), (0, CallPiece(0, written[5:])),
        (0, CallEnd(0)),
    ]  # fmt: skip
    made = codec.encode(frame, parts, can_omit=False)
    assert told(b"".join(b"data: " + one + b"\n\n" for one in made))[1] == {0: CALLED}


# --- why a reply ended ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reason", ["error", "abort", "insufficient_system_resource", "network_error", "model_length", "sensitive"]
)
@pytest.mark.parametrize("form", ["sse", "whole"])
def test_a_relatives_word_for_an_unfinished_reply_stays_and_completes_no_call(reason: str, form: Form) -> None:
    body = stream({"content": OPEN}, finish=reason)
    if form == "whole":
        message = {"role": "assistant", "content": OPEN}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        body = json.dumps({"id": "r", "choices": [choice]}).encode()
    exchange = exchange_for(LIFT, form)
    out = through(exchange, body)
    assert json.dumps(reason).encode() in out
    assert b'"tool_calls"}' not in out
    assert verdicts(exchange) == [("truncated", "cut_off", "bash")]


# --- servers that say the whole message again in the last chunk -------------------------------------------------------


def last_chunk(route: Route, text: str, finish: str) -> dict[str, Any]:
    """The last choice that leaves of a text whose message is said again after it."""
    again = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    body = stream({"content": text}, finish="stop").removesuffix(b"data: [DONE]\n\n") + event(outer([again]))
    out = through(exchange_for(route), body)
    found: dict[str, Any] = json.loads(out.split(b"data: ")[-1])["choices"][0]
    return found


def test_the_copy_of_a_message_goes_where_a_call_was_taken_from_it() -> None:
    assert last_chunk(LIFT, LEAK, "stop") == {"index": 0, "delta": {}, "finish_reason": "tool_calls"}


def test_it_stays_elsewhere_and_gains_no_delta() -> None:
    """Its finish reason promises calls that nobody sent, and is mended."""
    kept = {"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}
    assert last_chunk(LIFT, "Hi.", "tool_calls") == kept


# --- what a request says ----------------------------------------------------------------------------------------------


def asked(**fields: Any) -> Request:
    return request_of(WIRE, json.dumps({"model": "m", **fields}).encode())


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_a_choice_of_some_tools_leaves_those(mode: str) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("bash", "ls")]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools[1:]}}
    request = asked(messages=[], tools=tools, tool_choice=choice)
    assert ([tool.name for tool in request.tools], request.tool_choice) == (["ls"], mode)


def test_a_body_of_the_responses_api_says_how_its_reply_is_to_be_read() -> None:
    request = asked(
        instructions="Be brief.",
        input=[
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "out"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
        ],
        tools=[FLAT, {"type": "custom", "name": "ApplyPatch"}],
        tool_choice={"type": "function", "name": "bash"},
        text={"format": {"type": "json_schema"}},
    )
    patch = replace(PATCH, name="ApplyPatch", schema={**PATCH.schema, "required": ["input"]}, form="custom")
    assert request.tools == (BASH, patch)
    assert (request.tool_choice, request.system, request.response_format) == ("bash", "Be brief.", True)
    assert (request.assistant, request.quotable) == (("So.",), ("Hi", "out"))
    assert asked(input="Hi", tools=[FLAT]).quotable == ("Hi",)


def test_flat_and_nested_tools_stand_side_by_side() -> None:
    nested = {"type": "function", "function": {"name": "ls"}}
    custom = {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", "definition": "start"}}
    given = [FLAT, nested, custom, {"type": "custom", "custom": {"name": "sql"}}, {"type": "custom"}]
    tools = asked(messages=[], tools=given).tools
    assert [(tool.name, tool.form) for tool in tools] == [
        ("bash", ""), ("ls", ""), ("patch", "custom"), ("sql", "custom"),
    ]  # fmt: skip
    assert "lark grammar:\nstart" in tools[2].schema["properties"]["input"]["description"]


ODD = [
    pytest.param(b'"x":"\\ud83d"', id="half an emoji"),
    pytest.param(b'"\\ud83d":1', id="half an emoji in a key"),
    pytest.param(b'"x":"\xff"', id="no UTF-8"),
]
EXACT = b'"n":1.10,"big":1e400'


@pytest.mark.parametrize("form", ["sse", "whole"])
@pytest.mark.parametrize("odd", ODD)
def test_what_a_chunk_says_besides_stays_as_it_is_written_beside_odd_text(odd: bytes, form: Form) -> None:
    """JSON that only lenient readers take is taken apart like any other: numbers keep their spelling."""
    chunk_of = b'{"id":"c",%b,"logs":{%b},"choices":[{"index":0,"%b":{"content":%b},"finish_reason":"stop"}]}'
    content = json.dumps(LEAK).encode()
    key = b"delta" if form == "sse" else b"message"
    body = chunk_of % (odd, EXACT, key, content)
    out = through(exchange_for(LIFT, form), b"data: %b\n\ndata: [DONE]\n\n" % body if form == "sse" else body)
    assert b'"tool_calls":[{' in out
    assert odd in out
    assert b"{%b}" % EXACT in out


@pytest.mark.parametrize("form", ["sse", "whole"])
@pytest.mark.parametrize("odd", ODD)
def test_arguments_that_are_an_object_keep_their_numbers_beside_odd_text(odd: bytes, form: Form) -> None:
    call = b'{"index":0,"id":"n0","function":{"name":"bash","arguments":{"command":"ls",%b}}}' % EXACT
    key = b"delta" if form == "sse" else b"message"
    body = b'{"id":"c",%b,"choices":[{"index":0,"%b":{"tool_calls":[%b]},"finish_reason":"tool_calls"}]}'
    codec = WIRE.codec(streamed=form == "sse")
    parts = codec.decode(body % (odd, key, call))
    pieces = "".join(part.json for _, part in parts if isinstance(part, CallPiece))
    assert pieces.encode() == b'{"command":"ls",%b}' % EXACT
