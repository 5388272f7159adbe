"""What errors quote, as the reply that they were meant to be: each server's words, and what is left alone."""

import json
from typing import Any

import pytest

from toolcalls.mending.quoted_replies import QuotedReply, quoted_reply
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import Route

READ = {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}, "required": ["path"]}
TOOLS = (Tool("read_file", READ), Tool("now", {"type": "object", "properties": {}}))
CALL = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.ts"}}\n</tool_call>'
XML = "<tool_call>\n<function=read_file>\n<parameter=path>\na.ts\n</parameter>\n</function>\n</tool_call>"
ONE = ("read_file", {"path": "a.ts"})


def read(body: Any, request: Request | None = None, route: Route | None = None) -> QuotedReply | None:
    request = Request(tools=TOOLS) if request is None else request
    route = Route() if route is None else route
    policy, tools = call_policy_of(route, request, decide(route, request, {}, ()))
    return quoted_reply(body if isinstance(body, bytes) else json.dumps(body).encode(), policy, tools)


def llama(text: str) -> Any:
    return {"error": {"code": 500, "message": f"Failed to parse input at pos 7: {text}", "type": "server_error"}}


def groq(text: str) -> Any:
    message = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    told = {"message": message, "type": "invalid_request_error", "code": "tool_use_failed"}
    return {"error": {**told, "failed_generation": text}}


def ollama(text: str) -> Any:
    return {"error": f"error parsing tool call: raw='{text}', err=invalid character '<' looking for beginning of value"}


def gemini(text: str) -> Any:
    said = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": f"Malformed function call: {text}"}
    return {"candidates": [said]}


def vllm(text: str) -> Any:
    said = "1 validation error for list[FunctionDefinition]\n  Invalid JSON: trailing comma at line 1 column 36 "
    return {"object": "error", "message": f"{said}[type=json_invalid, input_value={text!r}, input_type=str]"}


PENDING = {"id": "pending", "type": "function", "function": {"name": "read_file"}, "parameters": {"path": "a.ts"}}
QUOTED: dict[str, Any] = {
    "llama-server, XML": llama(XML),
    "llama-server, JSON in tags": llama(CALL),
    "llama-server, JSON without its tag's end": llama(CALL.removesuffix("\n</tool_call>")),
    "llama-server, bare": llama('{"name": "read_file", "arguments": {"path": "a.ts"}}'),
    "Groq, Llama": groq('<function=read_file>{"path": "a.ts"}</function>'),
    "Groq, an open tag": groq('<function=read_file{"path": "a.ts"}</function>'),
    "Groq, a lost opener": groq('read_file{"path": "a.ts"}</function>'),
    "Groq, a list": groq('[{"name": "read_file", "parameters": {"path": "a.ts"}}]'),
    "Groq, gpt-oss": groq('{"name": "read_file", "arguments": {"path": "a.ts"}}'),
    "Groq, as OpenAI": groq('{"function": {"name": "read_file", "arguments": "{\\"path\\": \\"a.ts\\"}"}}'),
    "Groq, calls": groq(json.dumps({"tool_calls": [PENDING]})),
    "Groq, calls in a fence": groq(f"```json\n{json.dumps({'tool_calls': [PENDING]})}\n```"),
    "Groq, calls in an element": groq(f"<tool-use>\n{json.dumps({'tool_calls': [PENDING]})}\n</tool-use>"),
    "Groq behind OpenRouter": {
        "error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(groq(CALL))}}
    },
    "Groq behind LiteLLM": {
        "error": {"message": f"litellm.BadRequestError: GroqException - {json.dumps(groq(CALL))}", "code": "400"}
    },
    "Groq behind LiteLLM, without its wrapper": {
        "error": {"message": f"litellm.BadRequestError: GroqException - {json.dumps(groq(CALL)['error'])}"}
    },
    "Groq's event": f"event: error\ndata: {json.dumps(groq(CALL))}\n\n".encode(),
    "Ollama, XML": ollama(XML.replace("\n", "")),
    "Ollama, JSON": ollama('{"name": "read_file", "parameters": {"path": "a.ts"}}'),
    "Ollama, a bracket too many": ollama('{"name": "read_file", "arguments": {"path": "a.ts"}}]'),
    "Ollama, OpenAI's API": {"error": {"message": ollama(CALL)["error"], "type": "api_error"}},
    "Gemini, its notation": gemini("call:default_api:read_file{path:<ctrl46>a.ts<ctrl46>}"),
    "Gemini, Python": gemini("print(default_api.read_file(path='a.ts'))"),
    "Gemini, Python without print": gemini('default_api.read_file(path="a.ts")'),
}  # fmt: skip


@pytest.mark.parametrize("name", QUOTED)
def test_the_call_of_each_server(name: str) -> None:
    found = read(QUOTED[name])
    assert found is not None
    assert [(tool, json.loads(arguments)) for tool, arguments in found.calls] == [ONE]
    assert (found.text, found.reasoning) == ("", "")


def test_what_pydantic_shows_whole() -> None:
    found = read(vllm('[{"name": "now", "parameters": {},}]'))
    assert found is not None
    assert found.calls == (("now", "{}"),)
    longest = '[{"name": "now", "parameters": {}, "id": "12345"}]'
    assert len(longest) == 50
    assert read(vllm(longest)) is not None
    longer = '[{"name": "now", "parameters": {}, "id": "12345678"}]'
    assert len(longer) > 50  # pydantic shows no more of a value
    assert read(vllm(longer)) is None


def test_what_stands_in_front_of_the_call() -> None:
    found = read(llama(f"<think>\nHm.\n</think>\n\nI look.\n{CALL}"))
    assert found is not None
    assert (found.reasoning, found.text) == ("Hm.", "I look.")


def test_several_calls() -> None:
    found = read(llama(f'{CALL}\n<tool_call>\n{{"name": "now", "arguments": {{}}}}\n</tool_call>'))
    assert found is not None
    assert [name for name, _ in found.calls] == ["read_file", "now"]


def test_the_same_text_twice_is_one_reading() -> None:
    body = {"error": {**llama(CALL)["error"], "failed_generation": CALL}}
    assert read(body) is not None
    other = {"error": {**llama(CALL)["error"], "failed_generation": CALL.replace("a.ts", "b.ts")}}
    assert read(other) is None


LEFT: dict[str, Any] = {
    "a rate limit": {"error": {"message": "Rate limit reached for model `m`", "type": "tokens"}},
    "no call": groq("Tool use failed: JSON does not match the expected schema for tool calls"),
    "an undeclared tool": llama(CALL.replace("read_file", "view")),
    "cut off in the value": llama(CALL[:-25]),
    "cut off in the value, XML": llama(XML[:-40]),
    "without its closers and braces": llama(CALL.removesuffix("}\n</tool_call>")),
    "without its closers, behind a second one": llama(f"{CALL}\n{CALL.removesuffix('}}' + chr(10) + '</tool_call>')}"),
    "without its closers, XML": llama(XML.removesuffix("\n</function>\n</tool_call>")),
    "a second one that is cut off": llama(f"{CALL}\n{CALL[:40]}"),
    "in a fence": llama(f"As an example:\n```\n{CALL}\n```"),
    "in reasoning": llama(f"<think>\n{CALL}\n"),
    "in a sentence": llama("The tag <tool_call> begins a call of `read_file`."),
    "arguments alone": ollama('{"path": "a.ts"}]'),
    "Python that is no literal": gemini("print(default_api.read_file(path=name))"),
    "Python that is cut off": gemini("print(default_api.read_file(path='a.t"),
    "Gemini's notation, cut off": gemini("call:default_api:read_file{path:<ctrl46>a.ts<ctrl46>,n:"),
    "Gemini's notation, cut off in a string": gemini("call:default_api:read_file{path:<ctrl46>a.ts}"),
    "JSON that is cut off": groq('{"name": "read_file", "arguments": {"path": "a.t'),
    "arguments in two places": groq('{"name": "read_file", "arguments": {"path": "a"}, "parameters": {"path": "b"}}'),
    "arguments that are no object": groq('{"name": "read_file", "arguments": ["a.ts"]}'),
    "nothing": {"error": ""},
    "no JSON": b"<html>Bad gateway</html>",
}


@pytest.mark.parametrize("name", LEFT)
def test_what_has_no_reading_is_left(name: str) -> None:
    assert read(LEFT[name]) is None


def test_what_the_request_says_counts() -> None:
    assert read(llama(CALL), Request(tools=TOOLS, tool_choice="none")) is None
    assert read(llama(CALL), Request()) is None
    assert read(llama(CALL), Request(tools=TOOLS, carries_calls=False)) is None
    assert read(llama(CALL), route=Route(allowed_tools=("now",))) is None
    bare = '{"name": "read_file", "arguments": {"path": "a.ts"}}'
    assert read(llama(bare), Request(tools=TOOLS, response_format=True)) is None
    assert read(groq(bare), Request(tools=TOOLS, response_format=True)) is not None
