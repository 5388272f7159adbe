"""Chat Completions as its relatives write it: what OpenRouter, DeepSeek, Mistral, Groq, vLLM, llama.cpp, LM Studio and
Azure do otherwise, read by the wire `openai_chat`.

Strategy: frames in each relative's spelling, with a call in their text; and the recorded streams of other protocols,
which must be forwarded unparsed. The recorded Chat streams, most of them of relatives, are in
`test_openai_chat_recorded`.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from support.chatclient import HEAD, chunk, ending, event, outer, received
from support.exchanges import run, words
from support.repository import shared_path
from support.wirecases import exchange_for as case_exchange
from toolcalls.replies.exchange import Exchange
from toolcalls.wires import all_wires, wire_of
from toolcalls.wires.frames import Form

WIRE = all_wires()["openai_chat"]
CALL = '<invoke name="Noop"></invoke>'


def chat_exchange(case: Mapping[str, Any], form: Form = "sse") -> Exchange:
    return case_exchange("openai_chat", case, form)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/chat/completions",  # OpenRouter
        "/chat/completions",  # DeepSeek
        "/openai/v1/chat/completions",  # Groq
        "/api/v0/chat/completions",  # LM Studio
        "/openai/deployments/gpt/chat/completions?api-version=2024-02-01",  # Azure
        "/api/coding/paas/v4/chat/completions",  # Z.ai
        "/models/chat/completions?api-version=2024-05-01-preview",  # GitHub Models
    ],
)
def test_their_paths_belong_to_the_wire(path: str) -> None:
    assert wire_of(path) is WIRE


def thinking(text: str) -> dict[str, Any]:
    """Mistral's part for reasoning."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def test_a_content_that_is_a_list_is_read() -> None:
    contents: list[Any] = [[thinking("<invoke")], [{"type": "text", "text": "Go.\n"}], [{"type": "text", "text": CALL}]]
    body = event(chunk(HEAD)) + b"".join(event(chunk({"content": content})) for content in contents) + ending()
    exchange = chat_exchange({})
    out = run(exchange, [body])
    assert words(exchange) == ["lifted Noop (invoke)"]
    assert out.startswith(body[: body.index(b"<invoke n") - 80])
    last = received(out[: out.index(b"data: ", 5)] + out[out.index(b'data: {"id":"r1"', 400) :])
    assert [call["name"] for call in last.choices[0].calls] == ["Noop"]


def test_a_part_that_is_no_text_stays_where_a_call_is_taken() -> None:
    reference = {"type": "reference", "reference_ids": [1]}
    content = [thinking("hm"), reference, {"type": "text", "text": f"Go.\n{CALL}"}]
    exchange = chat_exchange({})
    out = run(exchange, [event(chunk({**HEAD, "content": content})) + ending()])
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in out.splitlines() if b'"delta"' in line]
    assert deltas[0] == {"role": "assistant", "content": [thinking("hm"), reference]}
    assert deltas[1] == {"content": "Go.\n"}
    assert [bool(delta.get("tool_calls")) for delta in deltas[2:4]] == [True, True]


def test_a_content_that_is_a_list_in_a_whole_reply() -> None:
    content = [thinking("hm"), {"type": "text", "text": f"Go.\n{CALL}"}]
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    exchange = chat_exchange({}, "whole")
    message = json.loads(run(exchange, [json.dumps(outer([choice])).encode()]))["choices"][0]["message"]
    assert message["content"] == [thinking("hm"), {"type": "text", "text": "Go.\n"}]
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["Noop"]


ODD: list[Any] = [[], ["x"], [None, 3], [{"type": "text"}], [{"type": []}], [{"type": "thinking", "thinking": 3}]]


@pytest.mark.parametrize("content", ODD)
def test_a_content_of_odd_parts_passes(content: Any) -> None:
    body = event(chunk({**HEAD, "content": content})) + ending()
    assert run(chat_exchange({}), [body]) == body


@pytest.mark.parametrize("index", [{}, {"index": None}], ids=["missing", "null"])
@pytest.mark.parametrize("form", ["sse", "whole"])
def test_a_choice_without_a_number_is_the_first(form: Any, index: dict[str, Any]) -> None:
    exchange = chat_exchange({}, form)
    message = {"role": "assistant", "content": CALL}
    if form == "whole":
        body = json.dumps(outer([{**index, "message": message, "finish_reason": "stop"}])).encode()
    else:
        choices = [{**index, "delta": message, "finish_reason": None}, {**index, "delta": {}, "finish_reason": "stop"}]
        body = b"".join(event(outer([choice])) for choice in choices) + b"data: [DONE]\n\n"
    out = run(exchange, [body])
    assert words(exchange) == ["lifted Noop (invoke)"]
    assert b'"finish_reason":"tool_calls"' in out


@pytest.mark.parametrize("form", ["sse", "whole"])
def test_arguments_that_are_an_object_are_read_as_they_are_written(form: Any) -> None:
    entry = {"index": 0, "id": "n1", "type": "function", "function": {"name": "Bash", "arguments": "OBJECT"}}
    if form == "whole":
        choice = {"index": 0, "message": {**HEAD, "tool_calls": [entry]}, "finish_reason": "tool_calls"}
        body = json.dumps(outer([choice])).encode()
    else:
        body = event(chunk({**HEAD, "tool_calls": [entry]})) + ending("tool_calls")
    body = body.replace(b'"OBJECT"', b'{"command": "ls", "n": 1.10}')
    exchange = chat_exchange({"route": {"mend": []}}, form)
    assert run(exchange, [body]) == body
    assert [(record.arguments, record.complete) for _, record in exchange.client_calls] == [
        ('{"command": "ls", "n": 1.10}', True)
    ]
    lowering = chat_exchange({"route": {"client": "text", "upstream": "native"}, "tools": {}}, form)
    assert b"ls</parameter>" in run(lowering, [body])


def test_streams_of_other_protocols_pass_unread() -> None:
    for line in shared_path("suites/streams/other.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        body = row["body"].encode()
        exchange = chat_exchange({})
        assert run(exchange, [body]) == body, row["id"]
        assert exchange.verdicts == [], row["id"]
