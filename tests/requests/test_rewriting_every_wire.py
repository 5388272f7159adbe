"""The same conversation told on every wire, rewritten: what `test_rewriting` shows for Chat holds on the others too.

Strategy: a conversation is written down once, in no API's words, and `TELL` says it on each wire; `SEEN` reads a body
back, by hand and not with the formats. So a table of directions runs over all wires. Laws: what nobody changed is the
same bytes, lowering twice is lowering once, an earlier message never changes, no body raises but ValueError. What only
one wire has (reasoning items, signatures, `system` blocks) is tested by itself. The recorded requests of `shared/` go
through reading, writing and lowering.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import nullmembers, rewritings
from support.repository import shared_path
from support.rewritings import LIFT, LOWER, MEND, through
from support.sampling import examples
from toolcalls.request import Tool
from toolcalls.requests.conversation import PastCall, Text, conversation_of, request_of
from toolcalls.requests.rewriting import NATIVELY, NOT_EXECUTED
from toolcalls.route import Route
from toolcalls.values import rawjson
from toolcalls.wires import all_wires

type Said = tuple[str, Any]  # ("user" | "model", text), ("calls", (text, calls)), ("results", results)
type Body = dict[str, Any]

TRANSLATE = Route(client="text", upstream="text", client_dialect="tagged", dialects=("hermes",), rewrite_request=True)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CLINE = "You are Cline.\n\n# Tools\n\n## read_file\nDescription: Reads.\nParameters:\n- path: (required) The path.\n"
HISTORY: list[Said] = [
    ("user", "Look."),
    ("calls", ("I look.", [("a", "read_file", {"path": "x"}), ("b", "ls", {})])),
    ("results", [("a", "read_file", "one"), ("b", "ls", "two")]),
    ("model", "Done."),
    ("user", "Thanks."),
]
LOWERED: list[Said] = [
    ("user", "Look."),
    (
        "model",
        'I look.\n\n<tool_call>\n{"name": "read_file", "arguments": {"path": "x"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>',
    ),
    ("user", "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"),
    ("model", "Done."),
    ("user", "Thanks."),
]
LEAKED = 'Let me look.\n<invoke name="read_file">\n<parameter name="path">x</parameter>\n</invoke>'
CALL = "I read.\n<read_file>\n<path>a.txt</path>\n</read_file>"
ANSWER = "[read_file for 'a.txt'] Result:\nline 1\nline 2"

# --- the wires' words -------------------------------------------------------------------------------------------------


def _responses(system: str, said: list[Said], tools: bool) -> Body:
    items: list[Any] = []
    for kind, what in said:
        if kind == "calls":
            items.append({"type": "message", "role": "assistant", "id": "msg_1", "content": [_output(what[0])]})
            items += [
                {"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps(given), "id": "fc"}
                for id_, name, given in what[1]
            ]
        elif kind == "results":
            items += [{"type": "function_call_output", "call_id": id_, "output": text} for id_, _, text in what]
        elif kind == "model":
            items.append({"type": "message", "role": "assistant", "content": [_output(what)], "status": "completed"})
        else:
            items.append({"role": kind, "content": [{"type": "input_text", "text": what}]})
    offered = {"tools": [{"type": "function", "name": "read_file", "parameters": SCHEMA}], "tool_choice": "required"}
    instructions = {"instructions": system} if system else {}
    return {"model": "m", **instructions, "input": items, **(offered | {"parallel_tool_calls": False} if tools else {})}


def _output(text: str) -> Body:
    return {"type": "output_text", "text": text, "annotations": []}


def _anthropic(system: str, said: list[Said], tools: bool) -> Body:
    messages: list[Body] = []
    for kind, what in said:
        if kind == "calls":
            calls = [{"type": "tool_use", "id": i, "name": name, "input": given} for i, name, given in what[1]]
            messages.append({"role": "assistant", "content": [{"type": "text", "text": what[0]}, *calls]})
        elif kind == "results":
            content = [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, _, text in what]
            messages.append({"role": "user", "content": content})
        else:
            messages.append({"role": "assistant" if kind == "model" else kind, "content": what})
    choice = {"type": "any", "disable_parallel_tool_use": True}
    offered = {"tools": [{"name": "read_file", "input_schema": SCHEMA}], "tool_choice": choice}
    return {"model": "m", **({"system": system} if system else {}), "messages": messages, **(offered if tools else {})}


def _converse(system: str, said: list[Said], tools: bool) -> Body:
    messages: list[Body] = []
    for kind, what in said:
        if kind == "calls":
            calls = [{"toolUse": {"toolUseId": i, "name": name, "input": given}} for i, name, given in what[1]]
            messages.append({"role": "assistant", "content": [{"text": what[0]}, *calls]})
        elif kind == "results":
            content = [{"toolResult": {"toolUseId": id_, "content": [{"text": text}]}} for id_, _, text in what]
            messages.append({"role": "user", "content": content})
        else:
            messages.append({"role": "assistant" if kind == "model" else kind, "content": [{"text": what}]})
    declared = [{"toolSpec": {"name": "read_file", "inputSchema": {"json": SCHEMA}}}]
    offered = {"toolConfig": {"tools": declared, "toolChoice": {"any": {}}}}
    prompt = {"system": [{"text": system}]} if system else {}
    return {**prompt, "messages": messages, **(offered if tools else {})}


def _invoke(system: str, said: list[Said], tools: bool) -> Body:
    return {"anthropic_version": "bedrock-2023-05-31", **_anthropic(system, said, tools)}


def _gemini(system: str, said: list[Said], tools: bool) -> Body:
    contents: list[Body] = []
    for kind, what in said:
        if kind == "calls":
            calls = [{"functionCall": {"name": name, "args": given}} for _, name, given in what[1]]
            contents.append({"role": "model", "parts": [{"text": what[0]}, *calls]})
        elif kind == "results":
            parts = [{"functionResponse": {"name": name, "response": {"output": text}}} for _, name, text in what]
            contents.append({"role": "user", "parts": parts})
        else:
            contents.append({"role": kind, "parts": [{"text": what}]})
    offered = {
        "tools": [{"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": SCHEMA}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    }
    prompt = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
    return {**prompt, "contents": contents, **(offered if tools else {})}


def _interactions(system: str, said: list[Said], tools: bool) -> Body:
    steps: list[Body] = []
    for kind, what in said:
        text = what[0] if kind == "calls" else what
        if kind == "results":
            steps += [{"type": "function_result", "call_id": i, "name": name, "result": told} for i, name, told in what]
            continue
        step = "user_input" if kind == "user" else "model_output"
        steps.append({"type": step, "content": [{"type": "text", "text": text}]})
        if kind == "calls":
            steps += [{"type": "function_call", "id": i, "name": n, "arguments": given} for i, n, given in what[1]]
    offered = {
        "tools": [{"type": "function", "name": "read_file", "parameters": SCHEMA}],
        "generation_config": {"tool_choice": "any"},
    }
    prompt = {"system_instruction": system} if system else {}
    return {"model": "m", **prompt, "input": steps, **(offered if tools else {})}


def _ollama(system: str, said: list[Said], tools: bool) -> Body:
    messages: list[Body] = [{"role": "system", "content": system}] if system else []
    for kind, what in said:
        if kind == "calls":
            calls = [{"function": {"name": name, "arguments": given}} for _, name, given in what[1]]
            messages.append({"role": "assistant", "content": what[0], "tool_calls": calls})
        elif kind == "results":
            messages += [{"role": "tool", "tool_name": name, "content": text} for _, name, text in what]
        else:
            messages.append({"role": "assistant" if kind == "model" else kind, "content": what})
    offered = {"tools": [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}]}
    return {"model": "m", "messages": messages, **(offered if tools else {})}


def _cohere(system: str, said: list[Said], tools: bool) -> Body:
    messages: list[Body] = [{"role": "system", "content": system}] if system else []
    for kind, what in said:
        if kind == "calls":
            functions = [(id_, {"name": name, "arguments": json.dumps(given)}) for id_, name, given in what[1]]
            calls = [{"id": id_, "type": "function", "function": function} for id_, function in functions]
            messages.append({"role": "assistant", "content": what[0], "tool_calls": calls})
        elif kind == "results":
            messages += [{"role": "tool", "tool_call_id": id_, "content": text} for id_, _, text in what]
        else:
            messages.append({"role": "assistant" if kind == "model" else kind, "content": what})
    declared = [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}]
    offered = {"tools": declared, "tool_choice": "REQUIRED"}
    return {"model": "m", "messages": messages, **(offered if tools else {})}


TELL: dict[str, Callable[[str, list[Said], bool], Body]] = {
    "openai_responses": _responses,
    "cohere": _cohere,
    "anthropic": _anthropic,
    "bedrock": _invoke,
    "bedrock_converse": _converse,
    "gemini": _gemini,
    "gemini_interactions": _interactions,
    "ollama": _ollama,
}
# Where the messages stand, and what speaks of tools.
LISTED = dict.fromkeys(TELL, "messages") | {
    "openai_responses": "input",
    "gemini": "contents",
    "gemini_interactions": "input",
}
SPEAKING = {"tools", "tool_choice", "parallel_tool_calls", "toolConfig"}
WIRES = list(TELL)


def _pieces(wire: str, message: Body) -> Iterator[Said]:
    """What a message says, in order: a role and a text, ("call", (name, arguments)), ("result", text)."""
    who = {"assistant": "model", "developer": "system"}.get(message.get("role", ""), message.get("role", "user"))
    if wire == "gemini_interactions":
        yield from _pieces_of_step(message)
        return
    if message.get("type") == "function_call":
        yield "call", (message["name"], json.loads(message["arguments"]))
    elif message.get("type") == "function_call_output" or who == "tool":
        yield "result", message.get("output", message.get("content"))
    content = message.get("parts", message.get("content")) if who != "tool" else None
    for part in [{"text": content}] if isinstance(content, str) else content or ():
        if "functionCall" in part:
            yield "call", (part["functionCall"]["name"], part["functionCall"]["args"])
        elif "functionResponse" in part:
            yield "result", part["functionResponse"]["response"]["output"]
        elif "toolUse" in part:
            yield "call", (part["toolUse"]["name"], part["toolUse"]["input"])
        elif "toolResult" in part:
            yield "result", part["toolResult"]["content"][0]["text"]
        elif part.get("type") == "tool_use":
            yield "call", (part["name"], part["input"])
        elif part.get("type") == "tool_result":
            yield "result", part["content"]
        else:
            yield who, part["text"]
    for call in message.get("tool_calls", ()):
        given = call["function"]["arguments"]
        yield "call", (call["function"]["name"], json.loads(given) if isinstance(given, str) else given)
    assert wire in WIRES


def _pieces_of_step(step: Body) -> Iterator[Said]:
    if step["type"] == "function_call":
        yield "call", (step["name"], step["arguments"])
    elif step["type"] == "function_result":
        yield "result", step["result"]
    else:
        for content in step["content"]:
            yield {"user_input": "user", "model_output": "model"}[step["type"]], content["text"]


def seen(wire: str, body: Body) -> list[Said]:
    """What a body says after its system prompt; texts of one message joined."""
    said: list[Said] = []
    for message in body[LISTED[wire]]:
        here: list[Said] = []
        for kind, what in _pieces(wire, message):
            if here and here[-1][0] == kind and kind not in {"call", "result"}:
                here[-1] = (kind, here[-1][1] + what)
            else:
                here.append((kind, what))
        said += [one for one in here if one[0] != "system"]
    return said


def system_of(wire: str, body: Body) -> str:
    """The texts of a body's system prompt."""
    if wire == "gemini":
        return "".join(part["text"] for part in body["systemInstruction"]["parts"])
    top = body.get("instructions", body.get("system", body.get("system_instruction")))
    if top is None:
        first = body[LISTED[wire]][0]
        assert first["role"] in {"system", "developer"}
        top = first["content"]
    return top if isinstance(top, str) else "".join(part["text"] for part in top)


# --- through format and rewriting -------------------------------------------------------------------------------------


def sent(wire: str, request: Body, route: Route) -> Body:
    return rewritings.sent(wire, request, route)[0]


on_every_wire = pytest.mark.parametrize("wire", WIRES)


@on_every_wire
def test_a_native_request_for_a_text_upstream(wire: str) -> None:
    made = sent(wire, TELL[wire]("Be brief.", HISTORY, True) | {"x": {"y": 12345678901234567890}}, LOWER)
    assert not SPEAKING & set(made)
    assert made["x"] == {"y": 12345678901234567890}
    system = system_of(wire, made)
    assert system.startswith("Be brief.\n\n# Tools\n")
    assert '"name": "read_file"' in system
    assert ("must call at least one tool" in system) == (wire != "ollama")
    assert ("at most one tool" in system) == (wire in {"openai_responses", "anthropic", "bedrock"})
    assert seen(wire, made) == LOWERED


@pytest.mark.parametrize(("wire", "names"), [one for one in nullmembers.each(nullmembers.REQUESTS) if one[0] in TELL])
def test_members_that_are_null_say_nothing(wire: str, names: str) -> None:
    body = TELL[wire]("Be brief.", HISTORY, True)
    given = nullmembers.filled(body, nullmembers.REQUESTS[wire].split(), names.split())
    assert request_of(all_wires()[wire], json.dumps(given).encode()) == request_of(
        all_wires()[wire], json.dumps(body).encode()
    )
    assert seen(wire, nullmembers.emptied(sent(wire, given, LOWER))) == LOWERED


def test_a_null_result_beside_something_else_is_none() -> None:
    blocks = [{"cachePoint": {"type": "default"}, "toolResult": None}, {"reasoningContent": {}, "toolResult": None}]
    body = {"messages": [{"role": "user", "content": [{"text": "Look."}, *blocks]}]}
    (turn,) = conversation_of("bedrock_converse", json.dumps(body).encode()).turns
    assert [type(block).__name__ for block in turn.blocks] == ["Text", "Other", "Other"]


@on_every_wire
def test_the_prompt_is_made_where_there_is_none(wire: str) -> None:
    made = sent(wire, TELL[wire]("", HISTORY[:1], True), LOWER)
    assert system_of(wire, made).startswith("# Tools\n")
    assert seen(wire, made) == HISTORY[:1]


@on_every_wire
def test_an_earlier_message_never_changes(wire: str) -> None:
    earlier: list[Body] = []
    for end in (1, 3, 4, 5):
        made = sent(wire, TELL[wire]("Be brief.", HISTORY[:end], True), LOWER)[LISTED[wire]]
        assert made[: len(earlier)] == earlier
        earlier = made


@pytest.mark.parametrize("wire", ["openai_responses", "ollama"])
def test_what_the_user_says_behind_results_stands_in_one_message_with_them(wire: str) -> None:
    """Where results are messages of their own. Templates of open models refuse two of the user's in a row."""
    said: list[Said] = [*HISTORY[:3], ("user", "Stop."), ("user", "Go on.")]
    made = sent(wire, TELL[wire]("", said, True), LOWER)
    results = LOWERED[2][1]
    assert seen(wire, made)[-2:] == [("user", f"{results}\n\nStop."), ("user", "Go on.")]


@on_every_wire
def test_leaked_calls_in_the_history_are_mended(wire: str) -> None:
    before = TELL[wire]("", [("user", "Hi"), ("model", LEAKED), ("user", "?")], True)
    made = sent(wire, before, MEND)
    call = ("call", ("read_file", {"path": "x"}))
    assert seen(wire, made) == [
        ("user", "Hi"),
        ("model", "Let me look."),
        call,
        ("result", NOT_EXECUTED),
        ("user", "?"),
    ]
    assert {key: made[key] for key in SPEAKING & set(made)} == {key: before[key] for key in SPEAKING & set(before)}
    assert [message.get("role") for message in made[LISTED[wire]]] == {
        "openai_responses": ["user", "assistant", None, None, "user"],
        "anthropic": ["user", "assistant", "user"],
        "bedrock": ["user", "assistant", "user"],
        "bedrock_converse": ["user", "assistant", "user"],
        "cohere": ["user", "assistant", "tool", "user"],
        "gemini": ["user", "model", "user", "user"],
        "gemini_interactions": [None] * 5,
        "ollama": ["user", "assistant", "tool", "user"],
    }[wire]


@on_every_wire
def test_a_leak_beside_a_native_call_is_answered_with_it(wire: str) -> None:
    before = TELL[wire]("", [("calls", (LEAKED, [("a", "ls", {})])), ("results", [("a", "ls", "two")])], True)
    made = sent(wire, before, MEND)
    calls = [("call", ("read_file", {"path": "x"})), ("call", ("ls", {}))]
    assert seen(wire, made) == [("model", "Let me look."), *calls, ("result", NOT_EXECUTED), ("result", "two")]
    if wire not in {"openai_responses", "cohere", "gemini_interactions", "ollama"}:
        assert len(made[LISTED[wire]]) == 2


@on_every_wire
def test_a_text_request_for_a_native_upstream(wire: str) -> None:
    behind = "<environment_details>\nnow\n</environment_details>"
    said: list[Said] = [("user", "Go."), ("model", CALL), ("user", f"{ANSWER}\n\n{behind}")]
    made = sent(wire, TELL[wire](CLINE, said, False), LIFT)
    assert system_of(wire, made) == f"{CLINE}\n\n{NATIVELY}"
    call = ("call", ("read_file", {"path": "a.txt"}))
    assert seen(wire, made) == [
        ("user", "Go."), ("model", "I read."), call, ("result", "line 1\nline 2"), ("user", behind),
    ]  # fmt: skip
    (tool,) = conversation_of(wire, json.dumps(made).encode()).tools
    assert (tool.name, tool.schema["required"]) == ("read_file", ["path"])


CLOSES = "</read_file>"  # with which the calls of `CALL` end
STOPS: list[Any] = [
    pytest.param("anthropic", lambda stop: {"stop_sequences": stop}, id="anthropic"),
    pytest.param(
        "bedrock_converse", lambda stop: {"inferenceConfig": {"stopSequences": stop, "topP": 1}}, id="bedrock_converse"
    ),
    pytest.param("cohere", lambda stop: {"stop_sequences": stop}, id="cohere"),
    pytest.param("gemini", lambda stop: {"generationConfig": {"stopSequences": stop, "topK": 1}}, id="gemini"),
    pytest.param("gemini", lambda stop: {"generation_config": {"stop_sequences": stop, "topK": 1}}, id="snake"),
    pytest.param(
        "gemini_interactions",
        lambda stop: {"generation_config": {"stop_sequences": stop, "topK": 1}},
        id="interactions",
    ),
    pytest.param("ollama", lambda stop: {"options": {"stop": stop, "seed": 1}}, id="ollama"),
]


@pytest.mark.parametrize(("wire", "where"), STOPS)
def test_a_native_upstream_does_not_stop_in_a_call(wire: str, where: Callable[[Any], Body]) -> None:
    """A text client has generation stop where a call ends; a server that reads calls out of text would lose them."""
    asked = TELL[wire](CLINE, [("user", "Go.")], False)
    key, member = next(iter(where([CLOSES, "\nObservation:", "the"]).items()))
    made = sent(wire, {**asked, key: member}, LIFT)
    assert made[key] == where(["\nObservation:", "the"])[key]
    _, notes = through(wire, json.dumps({**asked, key: member}).encode(), LIFT)
    assert notes[1:] == ("no stop at </read_file>, with which calls in tagged end",)
    left = sent(wire, {**asked, **where([CLOSES])}, LIFT)
    assert CLOSES not in json.dumps(left.get(key))
    lowered = sent(wire, {**TELL[wire]("", [("user", "Go.")], True), key: member}, LOWER)
    assert lowered[key] == member


@on_every_wire
def test_from_one_dialect_to_another(wire: str) -> None:
    made = sent(wire, TELL[wire](CLINE, [("model", CALL), ("user", ANSWER)], False), TRANSLATE)
    assert seen(wire, made) == [
        ("model", 'I read.\n\n<tool_call>\n{"name": "read_file", "arguments": {"path":"a.txt"}}\n</tool_call>'),
        ("user", "<tool_response>\nline 1\nline 2\n</tool_response>"),
    ]


@on_every_wire
def test_from_one_dialect_to_another_what_the_user_says_behind_results_stays_with_them(wire: str) -> None:
    behind = "<environment_details>\nnow\n</environment_details>"
    said: list[Said] = [("user", "Go."), ("model", CALL), ("user", f"{ANSWER}\n\n{behind}"), ("model", "Done.")]
    made = sent(wire, TELL[wire](CLINE, said, False), TRANSLATE)
    result = f"<tool_response>\nline 1\nline 2\n</tool_response>\n\n{behind}"
    assert [text for who, text in seen(wire, made) if who == "user"] == ["Go.", result]


def test_from_one_dialect_to_another_marks_survive() -> None:
    mark = {"type": "ephemeral"}
    parts = [{"type": "text", "text": ANSWER}, {"type": "text", "text": "<task>\nx\n</task>", "cache_control": mark}]
    body = _anthropic(CLINE, [("user", "Go."), ("model", CALL)], False)
    body["messages"].append({"role": "user", "content": parts})
    result = {"type": "text", "text": "<tool_response>\nline 1\nline 2\n</tool_response>"}
    assert sent("anthropic", body, TRANSLATE)["messages"][-1]["content"] == [result, parts[1]]


_PROVIDERS, _CLIENTS = "which only the provider runs", "which the request does not describe"
# By wire: tools beside the request's own, what they are called, and why they are left out.
HOSTED: dict[str, list[tuple[Body, str, str]]] = {
    "openai_responses": [
        ({"type": "web_search"}, "web_search", _PROVIDERS),
        ({"type": "web_search_preview"}, "web_search_preview", _PROVIDERS),
        ({"type": "image_generation"}, "image_generation", _PROVIDERS),
        ({"type": "mcp", "server_label": "x", "server_url": "https://k:secret@x"}, "mcp x", _PROVIDERS),
        ({"type": "shell", "environment": {"type": "container_auto"}}, "shell", _PROVIDERS),
        ({"type": "shell"}, "shell", _CLIENTS),
        ({"type": "local_shell"}, "local_shell", _CLIENTS),
        ({"type": "tool_search", "execution": "client"}, "tool_search", _CLIENTS),
    ],
    "anthropic": [
        ({"type": "web_search_20250305", "name": "web_search"}, "web_search", _PROVIDERS),
        ({"type": "mcp_toolset", "mcp_server_name": "s"}, "s", _PROVIDERS),
        ({"type": "computer_20250124", "name": "computer", "display_width_px": 9}, "computer", _CLIENTS),
    ],
    "gemini": [
        ({"googleSearch": {}}, "googleSearch", _PROVIDERS),
        ({"codeExecution": {}}, "codeExecution", _PROVIDERS),
    ],
    "gemini_interactions": [
        ({"type": "google_search"}, "google_search", _PROVIDERS),
        ({"type": "mcp_server", "name": "x", "url": "https://k:secret@x"}, "mcp_server", _PROVIDERS),
        ({"type": "computer_use"}, "computer_use", _CLIENTS),
    ],
    "ollama": [({"type": "web_search"}, "web_search", _PROVIDERS)],
}
HOSTED_ROWS = [(wire, *row) for wire, rows in HOSTED.items() for row in rows]


@pytest.mark.parametrize(
    ("wire", "tool", "name", "why"), HOSTED_ROWS, ids=[f"{wire}-{json.dumps(tool)}" for wire, tool, *_ in HOSTED_ROWS]
)
def test_tools_that_no_prompt_can_tell_are_left_out(wire: str, tool: Body, name: str, why: str) -> None:
    plain = sent(wire, TELL[wire]("", HISTORY, True), LOWER)
    for own in (True, False):
        body = TELL[wire]("", HISTORY, True)
        body["tools"] = [*(body["tools"] if own else ()), tool]
        _, notes = through(wire, json.dumps(body).encode(), LOWER)
        assert f"left out: {name}, {why}" in notes
        made = sent(wire, body, LOWER)
        assert not SPEAKING & set(made)
        assert seen(wire, made) == LOWERED
        assert made == plain or not own
    leaked = TELL[wire]("", [("user", "Hi"), ("model", LEAKED)], True)
    leaked["tools"].append(tool)
    assert sent(wire, leaked, MEND)["tools"] == leaked["tools"]


def told_in(system: str) -> dict[str, Body]:
    """The functions that a prompt tells of, by name."""
    lines = system.partition("<tools>\n")[2].partition("\n</tools>")[0].splitlines()
    return {function["name"]: function for function in (json.loads(line)["function"] for line in lines)}


def test_responses_tools_of_one_name_in_two_namespaces_are_told_apart() -> None:
    inner = {"type": "function", "name": "look", "parameters": SCHEMA}
    spaces = [{"type": "namespace", "name": name, "tools": [inner]} for name in ("x", "y")]
    call = {"type": "function_call", "call_id": "q", "name": "look", "namespace": "y", "arguments": "{}"}
    body = {"instructions": "Hi.", "input": [{"role": "user", "content": "Go."}, call], "tools": spaces}
    made = sent("openai_responses", body, LOWER)
    assert set(told_in(made["instructions"])) == {"x.look", "y.look"}
    assert '"name": "y.look"' in seen("openai_responses", made)[1][1]
    leaked = {**body, "input": [{"role": "assistant", "content": LEAKED.replace("read_file", "x.look")}]}
    past = sent("openai_responses", leaked, MEND)["input"][1]
    assert (past["name"], past["namespace"]) == ("look", "x")
    format_ = partial(conversation_of, "openai_responses")
    written = json.dumps(body).encode()
    read = format_(written)
    fewer = json.loads(read.changed(tools=read.tools[1:]).written())
    assert fewer["tools"] == spaces[1:]


NAMED = {
    "openai_responses": ({"type": "web_search_preview"}, {"type": "web_search_preview"}, "web_search_preview"),
    "anthropic": (
        {"type": "web_search_20250305", "name": "web_search"}, {"type": "tool", "name": "web_search"}, "web_search",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("wire", "row"), NAMED.items(), ids=NAMED)
def test_a_choice_of_a_tool_that_is_left_out_is_left_out(wire: str, row: tuple[Body, Body, str]) -> None:
    tool, choice, name = row
    body = TELL[wire]("Hi.", HISTORY[:1], True)
    body["tools"].append(tool)
    assert (
        f"the choice of {name} is left out with it"
        in (through(wire, json.dumps({**body, "tool_choice": choice}).encode(), LOWER)[1])
    )
    system = system_of(wire, sent(wire, {**body, "tool_choice": choice}, LOWER))
    assert "read_file" in system
    assert "must call" not in system


def test_responses_tools_in_namespaces_are_told_by_their_own_names() -> None:
    """What Codex sends: functions, namespaces of functions, and a search of the provider's."""
    inner = {"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA, "strict": False}
    space = {"type": "namespace", "name": "mcp__x", "description": "X.", "tools": [inner]}
    body = _responses("Hi.", HISTORY[:1], True)
    body["tools"] += [space, {"type": "web_search", "external_web_access": False}]
    call = {"type": "function_call", "call_id": "q", "name": "look", "namespace": "mcp__x", "arguments": "{}"}
    body["input"] += [call, {"type": "function_call_output", "call_id": "q", "output": "seen"}]
    made = sent("openai_responses", body, LOWER)
    assert set(told_in(made["instructions"])) == {"read_file", "look"}
    assert seen("openai_responses", made)[1:] == [
        ("model", '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>'),
        ("user", "<tool_response>\nseen\n</tool_response>"),
    ]
    leaked = _responses("", [("user", "Hi"), ("model", LEAKED.replace("read_file", "look"))], True)
    leaked["tools"].append(space)
    past = sent("openai_responses", leaked, MEND)["input"][2]
    assert (past["name"], past["namespace"]) == ("look", "mcp__x")


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("bash_20250124", {"command", "restart"}),
        ("text_editor_20250728", {"command", "path", "file_text", "old_str", "new_str", "insert_line", "insert_text",
                                  "view_range"}),
        ("memory_20250818", {"command", "path", "file_text", "old_str", "new_str", "insert_line", "insert_text",
                             "view_range", "old_path", "new_path"}),
    ],
)  # fmt: skip
def test_anthropic_tools_with_documented_parameters_are_told(kind: str, parameters: set[str]) -> None:
    body = _anthropic("Hi.", HISTORY[:1], True)
    body["tools"].append({"type": kind, "name": "told"})
    _, notes = through("anthropic", json.dumps(body).encode(), LOWER)
    assert notes == ("2 tools into the prompt (hermes)",)
    told = told_in(sent("anthropic", body, LOWER)["system"])["told"]
    assert set(told["parameters"]["properties"]) == parameters
    assert told["description"]


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
@pytest.mark.parametrize(("failed", "told"), [(True, "Error: one"), (False, "one")])
def test_a_result_of_a_failure_says_so(wire: str, failed: bool, told: str) -> None:
    body = TELL[wire]("", HISTORY[:3], True)
    if wire == "anthropic":
        body["messages"][-1]["content"][0]["is_error"] = failed
    elif failed:
        body["contents"][-1]["parts"][0]["functionResponse"]["response"] = {"error": "one"}
    _, text = seen(wire, sent(wire, body, LOWER))[-1]
    assert text == f"<tool_response>\n{told}\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"


@on_every_wire
def test_a_lone_surrogate_is_rewritten_around(wire: str) -> None:
    body = json.dumps(TELL[wire]("Be brief.", [*HISTORY, ("user", "HERE é 1")], True)).replace("HERE", "\\uD800")
    made, notes = through(wire, body.encode(), LOWER)
    assert notes
    assert through(wire, made, LOWER)[0] == made
    assert b"\\uD800 \\u00e9 1" in made, "it stays as it was written"
    plain, _ = through(wire, body.replace("\\uD800", "").encode(), LOWER)
    assert made.replace(b"\\uD800", b"") == plain


@on_every_wire
def test_fewer_and_more_tools_are_written(wire: str) -> None:
    format_ = partial(conversation_of, wire)
    body = json.dumps(TELL[wire]("", HISTORY[:1], True)).encode()
    read = format_(body)
    more = read.changed(tools=(*read.tools, Tool("ls", SCHEMA, "Lists."))).written()
    assert [tool.name for tool in format_(more).tools] == ["read_file", "ls"]
    assert format_(more).tools[1] == Tool("ls", SCHEMA, "Lists.")
    fewer = format_(more).changed(tools=(Tool("ls"),), tool_choice="auto")
    again = format_(fewer.written())
    assert ([tool.name for tool in again.tools], again.tool_choice) == (["ls"], "auto")


# --- laws -------------------------------------------------------------------------------------------------------------

_texts = st.text(st.sampled_from('ab <>\n`{}"é'), min_size=1, max_size=12)
_calls = st.lists(st.tuples(st.sampled_from(["read_file", "ls"]), st.dictionaries(st.just("path"), _texts)), min_size=1)


@st.composite
def conversations(draw: st.DrawFn) -> list[Said]:
    said: list[Said] = [("user", draw(_texts))]
    for round_ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            calls = [(f"id{round_}_{n}", name, given) for n, (name, given) in enumerate(draw(_calls))]
            said += [("calls", (draw(_texts), calls)), ("results", [(i, name, draw(_texts)) for i, name, _ in calls])]
        said += [("model", draw(_texts)), ("user", draw(_texts))]
    return said


@on_every_wire
@examples(25)
@given(said=conversations())
def test_lowering_holds_for_all_conversations(wire: str, said: list[Said]) -> None:
    before = TELL[wire]("Be brief.", said, True)
    made = sent(wire, before, LOWER)
    assert not SPEAKING & set(made)
    plain = [one for one in seen(wire, before) if one[0] not in {"call", "result"}]
    left = "".join(str(what) for _, what in seen(wire, made))
    for _, text in plain:
        assert text in left, "a text was lost, or stands elsewhere"
        left = left[left.index(text) + len(text) :]
    for end in range(1, len(said)):
        if said[end][0] != "results":
            shorter = sent(wire, TELL[wire]("Be brief.", said[:end], True), LOWER)[LISTED[wire]]
            assert made[LISTED[wire]][: len(shorter)] == shorter


_WORDS = """type role content text parts id name input output tools system user assistant tool_use tool_result message
function_call function_call_output function tool_calls functionCall functionResponse instructions messages contents tool
call_id arguments args tool_choice reasoning images output_text"""
_words = st.sampled_from(_WORDS.split())
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | _words | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=12,
)


@on_every_wire
@examples(60)
@given(messages=st.lists(_json, max_size=4), rest=st.dictionaries(_words, _json, max_size=3))
def test_no_body_raises_but_value_errors(wire: str, messages: list[Any], rest: Body) -> None:
    told = TELL[wire]("", HISTORY[:3], True)
    body = json.dumps({**told, **rest, LISTED[wire]: [*told[LISTED[wire]], *messages]}).encode()
    for route in (LOWER, LIFT, MEND, TRANSLATE):
        try:
            through(wire, body, route)
        except ValueError:
            continue
    try:
        conversation = conversation_of(wire, body)
    except ValueError:
        assert rest or messages, "a plain request was refused"
        return
    asked = conversation.request  # what can be read as a request can be read to its end
    assert all(isinstance(text, str) for text in (*asked.quotable, *asked.assistant, *asked.prefill))
    assert [len(turn.blocks) for turn in conversation.said] == [len(turn.blocks) for turn in conversation.turns]
    try:
        assert _raws(wire, conversation.written()) == _raws(wire, body)
    except ValueError:
        assert rest or messages, "a plain request was refused"


@on_every_wire
@pytest.mark.parametrize("tools", [{}, {"tools": None}, {"tools": []}, {"toolConfig": None}, {"functions": []}])
@pytest.mark.parametrize(
    "choice",
    [
        *({"tool_choice": word} for word in ("auto", "none", "required", "NONE", {"type": "any"})),
        *({"generation_config": {"tool_choice": "auto", **more}} for more in ({}, {"temperature": 1})),
        {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}, "parallel_tool_calls": False, "mcp_servers": []},
        {"function_call": "auto"},
    ],
)
def test_a_choice_without_tools_is_left(wire: str, tools: Body, choice: Body) -> None:
    """What a request says of tools that it does not declare is no business of ours."""
    body = json.dumps({**TELL[wire]("", [("user", "Look.")], False), **tools, **choice}).encode()
    try:
        read = conversation_of(wire, body)
    except ValueError:
        return
    assert json.loads(read.written()) == json.loads(body)


@on_every_wire
@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"\xff", b'{"a":' * 50_000, b'{"messages":[' + b"[" * 100_000])
def test_what_is_no_request_is_a_value_error(wire: str, body: bytes) -> None:
    with pytest.raises(ValueError, match=r"the request body (?:is not JSON|is not an object|has no|has neither)"):
        conversation_of(wire, body).written()


# --- what only one wire has -------------------------------------------------------------------------------------------


def test_responses_reasoning_stays_in_front_of_the_message_with_the_calls() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA", "x": 1.10}
    body = _responses("", HISTORY[:3], True)
    body["input"].insert(1, thought)
    made = sent("openai_responses", body, LOWER)
    developer, user, reasoning, past, results = made["input"]
    assert (developer["role"], user, reasoning) == ("developer", body["input"][0], thought)
    assert b'"x": 1.1}' in through("openai_responses", json.dumps(body).encode(), LOWER)[0]
    assert past["id"] == "msg_1"
    assert past["content"][0] == _output("I look.")
    assert past["content"][1]["type"] == "output_text"
    assert results == {"type": "message", "role": "user", "content": LOWERED[2][1]}


def test_responses_an_input_that_is_a_string_stays_one_beside_instructions() -> None:
    tools = _responses("", [], True)["tools"]
    assert sent("openai_responses", {"instructions": "Hi.", "input": "Go.", "tools": tools}, LOWER)["input"] == "Go."
    developer, user = sent("openai_responses", {"input": "Go.", "tools": tools}, LOWER)["input"]
    assert developer["role"] == "developer"
    assert user == {"type": "message", "role": "user", "content": "Go."}


def test_responses_a_developer_message_is_added_to() -> None:
    first = {"role": "developer", "content": [{"type": "input_text", "text": "Rules.", "x": 1}], "y": 2}
    body = _responses("", HISTORY[:1], True)
    body["input"].insert(0, first)
    made = sent("openai_responses", body, LOWER)["input"][0]
    assert made["content"][0] == first["content"][0]
    assert made["content"][1]["text"].startswith("\n\n# Tools")
    assert made["y"] == 2


def test_responses_each_message_is_written_once_with_its_fields() -> None:
    message = {"type": "message", "role": "assistant"}
    items = [
        {**message, "id": "m1", "content": [_output("One."), _output(LEAKED), _output("Two.")]},
        {**message, "id": "m2", "phase": "final", "content": LEAKED},
        {**message, "id": "m3", "content": [{"type": "refusal", "refusal": "no"}]},
    ]
    body = {**_responses("", [], True), "input": items}
    made = sent("openai_responses", body, MEND)["input"]
    assert [item.get("id", item["type"]) for item in made] == [
        "m1", "function_call", "message", "function_call_output", "m2", "function_call", "function_call_output", "m3",
    ]  # fmt: skip
    assert made[0]["content"] == [_output("One."), _output("Let me look.")]
    assert made[2]["content"] == [_output("Two.")]
    assert made[4] == {**items[1], "content": "Let me look."}
    assert made[7] == items[2]


def test_responses_images_of_an_output_go_to_the_user() -> None:
    image = {"type": "input_image", "image_url": "data:,"}
    body = _responses("Hi.", HISTORY[:3], True)
    body["input"][-1]["output"] = [{"type": "input_text", "text": "two"}, image]
    results = sent("openai_responses", body, LOWER)["input"][-1]
    assert results["content"] == [{"type": "input_text", "text": LOWERED[2][1]}, image]


def test_responses_only_allowed_tools_stay_allowed() -> None:
    format_ = partial(conversation_of, "openai_responses")
    allowed = [{"type": "function", "name": "a"}, {"type": "function", "name": "b"}]
    tools = [
        {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "a"}]},
        allowed[1],
        {"type": "mcp"},
    ]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": allowed}
    body = json.dumps({"input": "Hi", "tools": tools, "tool_choice": choice}).encode()
    read = format_(body)
    made = json.loads(read.changed(tools=tuple(tool for tool in read.tools if tool.name == "b")).written())
    assert made["tools"] == tools[1:]
    assert made["tool_choice"] == {**choice, "tools": allowed[1:]}


def test_anthropic_blocks_and_marks_of_the_system_prompt_survive() -> None:
    rules = {"type": "text", "text": "Rules.", "cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "x-anthropic-billing-header: cc"}, rules]
    made = sent("anthropic", {**_anthropic("", HISTORY, True), "system": system}, LOWER)
    assert made["system"][:2] == system
    assert made["system"][2]["text"].startswith("\n\n# Tools")


def test_anthropic_messages_of_the_system_stay_between_the_others() -> None:
    between = {"role": "system", "content": "Now be quick."}
    body = _anthropic("Be brief.", HISTORY[:3], True)
    body["messages"].append(between)
    made = sent("anthropic", body, LOWER)
    assert made["messages"][-1] == between
    assert made["system"].startswith("Be brief.")


def test_anthropic_thinking_documents_and_marks_survive() -> None:
    mark = {"type": "ephemeral"}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln", "x": 1.10}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    document = {"type": "document", "source": {"type": "text", "data": "x"}, "cache_control": mark}
    call = {"type": "tool_use", "id": "a", "name": "ls", "input": {"n": 1.10}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "one"}, image]}
    messages = [
        {"role": "user", "content": [document, {"type": "text", "text": "Look."}]},
        {"role": "assistant", "content": [thinking, call]},
        {"role": "user", "content": [{**result, "cache_control": mark}, {"type": "text", "text": "Go on."}], "y": 1},
    ]
    body = {**_anthropic("", [], True), "messages": messages}
    made = sent("anthropic", body, LOWER)["messages"]
    assert made[0] == messages[0]
    assert made[1]["content"][0] == thinking
    assert '{"n": 1.1}' in made[1]["content"][1]["text"]
    told = {"type": "text", "text": "<tool_response>\none\n</tool_response>", "cache_control": mark}
    assert made[2] == {"role": "user", "content": [told, image, {"type": "text", "text": "Go on."}], "y": 1}


def test_anthropic_answers_stand_in_front_of_what_else_the_user_says() -> None:
    format_ = partial(conversation_of, "anthropic")
    body = json.dumps(_anthropic("", HISTORY[:3], True)).encode()
    read = format_(body)
    steered = read.turns[-1].with_blocks((Text("Not so."), *read.turns[-1].blocks))
    made = json.loads(read.changed(turns=(*read.turns[:-1], steered)).written())
    assert [block["type"] for block in made["messages"][-1]["content"]] == ["tool_result", "tool_result", "text"]


def test_ollama_images_of_an_answer_go_to_the_user() -> None:
    body = _ollama("Hi.", HISTORY[:3], True)
    body["messages"][-1]["images"] = ["aGk="]
    results = sent("ollama", body, LOWER)["messages"][-1]
    assert results == {"role": "user", "content": LOWERED[2][1], "images": ["aGk="]}


def test_arguments_keep_the_spelling_of_their_numbers() -> None:
    for wire in WIRES:
        said: list[Said] = [
            ("user", "Hi"),
            ("calls", ("x", [("a", "ls", {"n": "N"})])),
            ("results", [("a", "ls", "y")]),
        ]
        body = json.dumps(TELL[wire]("", said, True)).replace('\\"N\\"', "1.10").replace('"N"', "1.10").encode()
        calls = [
            block for turn in conversation_of(wire, body).turns for block in turn.blocks if isinstance(block, PastCall)
        ]
        assert calls[0].arguments == '{"n": 1.10}', wire


# --- recorded requests ------------------------------------------------------------------------------------------------


def _recorded(wire: str) -> list[tuple[str, bytes]]:
    name = "bedrock" if wire == "bedrock_converse" else wire.replace("_", "-")
    lines = shared_path(f"suites/streams/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    if name == "bedrock":  # both of its APIs, and models without a place for calls
        mine = all_wires()[wire]
        rows = [row for row in rows if mine.matches(row["url_path"])]
        rows = [row for row in rows if request_of(mine, json.dumps(row["request"]).encode()).carries_calls]
    found = [(row["id"], json.dumps(row["request"]).encode()) for row in rows if isinstance(row["request"], dict)]
    assert found
    return found


def _raws(wire: str, body: bytes) -> object:
    """The messages of a body as they are written, and its other members."""
    fields = dict(rawjson.fields(body))
    listed = fields.pop(LISTED[wire], msgspec.Raw(b"[]"))
    if not bytes(listed).startswith(b"["):
        return bytes(listed), {key: bytes(raw) for key, raw in fields.items()}
    messages = [bytes(raw) for raw in rawjson.items(listed)]
    return messages, {key: bytes(raw) for key, raw in fields.items()}


@on_every_wire
def test_a_recorded_request_is_written_as_it_came(wire: str) -> None:
    for id_, body in _recorded(wire):
        read = conversation_of(wire, body)
        assert _raws(wire, read.written()) == _raws(wire, body), id_


@on_every_wire
def test_recorded_requests_are_lowered_and_say_what_is_left_out(wire: str) -> None:
    lowered = hosted = 0
    for id_, body in _recorded(wire):
        made, notes = through(wire, body, LOWER)
        if _hosts(wire, body):
            assert any(note.startswith("left out: ") for note in notes), id_
            hosted += 1
        assert through(wire, made, LOWER)[0] == made, id_
        left = conversation_of(wire, made)
        assert not left.tools, id_
        assert not left.opaque_tools, id_
        assert not any(isinstance(block, PastCall) for turn in left.turns for block in turn.blocks), id_
        lowered += bool(notes)
    assert lowered or wire == "gemini_interactions"  # whose recorded requests declare no tools
    assert hosted or wire in {"bedrock", "cohere", "gemini", "gemini_interactions", "ollama"}


def _hosts(wire: str, body: bytes) -> bool:
    """Whether a request declares a tool that is not its own."""
    if wire == "bedrock_converse":
        return b'"systemTool"' in body
    tools = json.loads(body).get("tools") or []
    if wire == "gemini":
        return any(
            member is not None and key != "functionDeclarations" for tool in tools for key, member in tool.items()
        )
    own = {None, "custom"} if wire == "anthropic" else {None, "function", "custom"}
    return any(tool.get("type") not in own for tool in tools)
