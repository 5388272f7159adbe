"""Requests that tell their server what the reply must look like: JSON that nothing marks is the answer then."""

import json
from typing import Any

import pytest

from toolcalls.events import Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import conversation_of
from toolcalls.route import PolicyName, Route

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}
ASKING: list[dict[str, Any]] = [
    {"guided_json": SCHEMA},
    {"guided_json": {}},
    {"guided_json": json.dumps(SCHEMA)},
    {"guided_choice": ["a", "b"]},
    {"guided_grammar": "root ::= x"},
    {"guided_regex": ".*"},
    {"structured_outputs": {"json": SCHEMA}},
    {"structured_outputs": {"choice": ["a"]}},
    {"structured_outputs": {"json_object": True}},
    {"guided_decoding": {"regex": "x"}},
    {"json_schema": SCHEMA},
    {"regex": ".*"},
    {"ebnf": "root ::= x"},
    {"grammar": "root ::= x"},
    {"grammar": {"type": "json", "value": SCHEMA}},
    {"format": "json"},
    {"format": SCHEMA},
    {"nvext": {"guided_json": SCHEMA}},
    {"extra_body": {"structured_outputs": {"regex": "x"}}},
]
NOT_ASKING: list[dict[str, Any]] = [
    {"guided_json": None},
    {"guided_choice": []},
    {"guided_decoding_backend": "xgrammar"},
    {"structured_outputs": {"structural_tag": {"triggers": ["<tool_call>"]}}},
    {"structured_outputs": {"json": None, "disable_any_whitespace": True}},
    {"grammar": ""},
    {"format": "text"},
    {"nvext": {"annotations": ["a"]}},
]
WIRES = {
    "openai_chat": {"messages": []},
    "openai_responses": {"input": "x"},
    "anthropic": {"messages": []},
    "ollama": {"messages": []},
}
TOOLS = (Tool("read_file", {"type": "object", "properties": {"path": {"type": "string"}}}),)
CALL = '{"name": "read_file", "arguments": {"path": "a"}}'


def asked(wire: str, members: dict[str, Any]) -> Request:
    return conversation_of(wire, json.dumps({**WIRES[wire], **members}).encode()).request


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("members", ASKING, ids=json.dumps)
def test_asked_for(wire: str, members: dict[str, Any]) -> None:
    assert asked(wire, members).response_format


@pytest.mark.parametrize("members", NOT_ASKING, ids=json.dumps)
def test_not_asked_for(members: dict[str, Any]) -> None:
    assert not asked("openai_chat", members).response_format


def statuses(text: str, request: Request, policy: PolicyName) -> list[tuple[str, str | None]]:
    reader = Reader(CallPolicy(Route(policy=policy), request, open_calls=True))
    events = [*reader.feed(text), *reader.finish(cut=False)]
    return [(event.status, event.reason) for event in events if isinstance(event, Verdict)]


@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize("text", [CALL, f"[{CALL}]", f"```json\n{CALL}\n```"])
def test_unmarked_json_is_the_answer(text: str, policy: PolicyName) -> None:
    for request in (Request(tools=TOOLS, response_format=True), Request(tools=TOOLS, prefill=("[",))):
        assert statuses(text, request, policy) == [("declined", "response_format")]


@pytest.mark.parametrize("prefill", ["", "["])
def test_marked_forms_stay_calls(prefill: str) -> None:
    request = Request(tools=TOOLS, response_format=not prefill, prefill=(prefill,) if prefill else ())
    assert statuses(f"<tool_call>\n{CALL}\n</tool_call>", request, "standard") == [("lifted", None)]
