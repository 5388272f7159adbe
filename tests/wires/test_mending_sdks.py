"""The official SDKs take what mending made of damaged native calls: each damage, streamed, by the helper and whole.

Strategy: what leaves the exchange is the reply of a transport that asks nobody, so the SDKs' own reading is tested.
Their helpers are the strictest clients that there are: they join ids and names, and look calls up by their indices.
"""

import json
from importlib import import_module
from typing import Any

import anthropic
import openai
import pytest

from support import damaging, sdk
from support.damagedwires import ALL
from support.damaging import CAT, CHAT, CHAT_WHOLE, LS, Sound
from support.exchanges import of_request, run
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import all_wires

CALLS = (LS, CAT)
MEANT = [(call.name, json.loads(call.arguments)) for call in CALLS]
EVENTS = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


def mended(wire: str, form: Any, body: bytes) -> bytes:
    request = Request(tools=damaging.TOOLS, model="m")
    return run(of_request(all_wires()[wire], request, Route(), form=form, seed=b"s"), [body])


def answering(module: Any, body: bytes, headers: dict[str, str]) -> Any:
    """An HTTP client of this module that gets this body from everybody."""
    return module.Client(transport=module.MockTransport(lambda _: module.Response(200, headers=headers, content=body)))


def chat_client(body: bytes, headers: dict[str, str]) -> openai.OpenAI:
    return openai.OpenAI(api_key="made-up", max_retries=0, http_client=answering(sdk.HTTPX, body, headers))


def same(calls: Any) -> None:
    """Assert that these are the calls that were meant, each with an id of its own."""
    found = list(calls)
    assert [(name, json.loads(text) if isinstance(text, str) else text) for _, name, text in found] == MEANT
    assert len({id_ for id_, _, _ in found} - {"", None}) == len(found)


@pytest.mark.parametrize("way", ["stream", "helper"])
@pytest.mark.parametrize("damage", CHAT)
def test_openai_streamed(damage: str, way: Any) -> None:
    body = mended("openai_chat", "sse", damaging.chat_stream(CHAT[damage](CALLS)))
    answer = sdk.ask(chat_client(body, EVENTS), way, tools=[sdk.tool("Bash", "command"), sdk.tool("Read", "command")])
    same(answer.only.calls)
    assert answer.only.finish == "tool_calls"


@pytest.mark.parametrize("damage", CHAT_WHOLE)
def test_openai_whole(damage: str) -> None:
    body = mended("openai_chat", "whole", damaging.chat_whole(CHAT_WHOLE[damage](CALLS)))
    same(sdk.ask(chat_client(body, JSON), "whole").only.calls)


@pytest.mark.parametrize("reason", ["stop", "unknown", None])
def test_openai_is_told_that_there_are_calls(reason: str | None) -> None:
    deltas = [{"tool_calls": [entry]} for entry in damaging.entries(CAT, 0)]
    body = mended("openai_chat", "sse", damaging.chat_stream(deltas, reason))
    tools = [sdk.tool("Read", "command")]
    assert sdk.ask(chat_client(body, EVENTS), "helper", tools=tools).only.finish == "tool_calls"


@pytest.mark.parametrize("form", ["openai_responses", "openai_responses whole"])
def test_openai_responses(form: str) -> None:
    of = ALL[form]
    request: Any = {"model": "m", "input": "go"}
    for damage in of.damages.values():
        body = mended(of.wire, of.form, damage(CALLS))
        if of.form == "whole":
            reply = chat_client(body, JSON).responses.create(**request)
        else:
            with chat_client(body, EVENTS).responses.stream(**request) as told:
                reply = told.get_final_response()
        calls: list[Any] = [item for item in reply.output if item.type == "function_call"]
        same((item.call_id, item.name, item.arguments) for item in calls)


@pytest.mark.parametrize("form", ["anthropic", "anthropic whole"])
def test_anthropic(form: str) -> None:
    of = ALL[form]
    module = import_module(anthropic.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
    request: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]}
    for damage in of.damages.values():
        body = mended(of.wire, of.form, damage(CALLS))
        headers = JSON if of.form == "whole" else EVENTS
        client = anthropic.Anthropic(api_key="made-up", max_retries=0, http_client=answering(module, body, headers))
        if of.form == "whole":
            message = client.messages.create(**request)
        else:
            with client.messages.stream(**request) as told:
                message = told.get_final_message()
        blocks: list[Any] = [block for block in message.content if block.type == "tool_use"]
        same((block.id, block.name, block.input) for block in blocks)
        assert message.stop_reason == "tool_use"


def test_a_sound_call_is_read_without_mending() -> None:
    """The transport itself changes nothing."""
    call: Sound = CAT
    body = damaging.chat_whole([damaging.entry(call)])
    assert sdk.ask(chat_client(body, JSON), "whole").only.calls == [(call.id, call.name, call.arguments)]
