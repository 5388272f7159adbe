"""A call as marker text beside another, native call: both have a verdict, and the native one leaves as it came.

Marker text takes the place of native calls. So before the first of those it is lifted, as nobody knows of them yet;
after one it is text, and the verdict says so. On every wire, streamed and whole, also in one frame.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support import (
    anthropicclient,
    chatclient,
    cohereclient,
    converseclient,
    geminiclient,
    interactionsclient,
    invokeclient,
    ollamaclient,
    responsesclient,
)
from support.exchanges import of_request, words
from support.spoken import SPOKEN, exchange, through
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.wires import all_wires

PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = (Tool("Bash", PARAMETERS), Tool("Read", PARAMETERS), Tool("now", {"type": "object", "properties": {}}))
GIVEN = {"command": "ls"}
ARGUMENTS = json.dumps(GIVEN)
NATIVE = ("Read", GIVEN)
TEXTS = {
    'TOOL_CALL {"tool": "Bash", "params": {"command": "pwd"}}': ("Bash", {"command": "pwd"}),
    'TOOL_CALL: ```json\n{"name": "Bash", "arguments": {"command": "pwd"}}\n```': ("Bash", {"command": "pwd"}),
    'TOOL_CALL\n{"tool_name": "now"}': ("now", {}),
}

Parts = Sequence[str | None]  # the pieces of the text, and None where the native call comes


def chat(parts: Parts) -> bytes:
    body = chatclient.event(chatclient.chunk(chatclient.HEAD))
    for part in parts:
        if part is None:
            body += chatclient.native(Call("Read", ARGUMENTS), 0, [ARGUMENTS[:5], ARGUMENTS[5:]])
        else:
            body += chatclient.event(chatclient.chunk({"content": part}))
    return body + chatclient.ending("tool_calls")


def cohere(parts: Parts) -> bytes:
    entry = {"index": 0, "id": "n0", "type": "function", "function": {"name": "Read", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": ARGUMENTS}}
    deltas: list[Any] = []
    for part in parts:
        deltas += [{"tool_calls": [entry]}, {"tool_calls": [more]}] if part is None else [{"content": part}]
    return cohereclient.written([*((delta, None) for delta in deltas), ({}, "tool_calls")])


def runs(parts: Parts) -> list[list[str] | None]:
    """The parts by blocks."""
    out: list[list[str] | None] = []
    for part in parts:
        if part is None:
            out.append(None)
        elif out and out[-1] is not None:
            out[-1].append(part)
        else:
            out.append([part])
    return out


def responses(parts: Parts) -> bytes:
    call = {"type": "function_call", "call_id": "c1", "name": "Read", "arguments": ARGUMENTS}
    return responsesclient.written(responsesclient.stream([call if run is None else run for run in runs(parts)]))


def message(written: Callable[[list[dict[str, Any]]], bytes]) -> Callable[[Parts], bytes]:
    """As a message of Messages, in whose words `written` says it."""

    def body(parts: Parts) -> bytes:
        call = anthropicclient.call("toolu_1", "Read", ARGUMENTS)
        blocks = [call if run is None else anthropicclient.text(*run) for run in runs(parts)]
        return written(anthropicclient.stream(blocks, "tool_use"))

    return body


def gemini(form: Any) -> Callable[[Parts], bytes]:
    def body(parts: Parts) -> bytes:
        call = {"functionCall": {"name": "Read", "args": GIVEN}}
        replies = [geminiclient.reply([call if part is None else part]) for part in parts]
        return geminiclient.body_of([*replies, geminiclient.reply([""], "STOP")], form)

    return body


def ollama(parts: Parts) -> bytes:
    call = {"tool_calls": [ollamaclient.call("Read", GIVEN)]}
    lines = [ollamaclient.line(call if part is None else part) for part in parts]
    return ollamaclient.body_of([*lines, ollamaclient.line("", "stop")])


BODIES: dict[str, Callable[[Parts], bytes]] = {
    "openai_chat": chat,
    "cohere": cohere,
    "openai_responses": responses,
    "anthropic": message(anthropicclient.written),
    "bedrock_converse": message(converseclient.written),
    "bedrock": message(invokeclient.written),
    "gemini_interactions": message(interactionsclient.written),
    "gemini, events": gemini("sse"),
    "gemini, array": gemini("json_array"),
    "ollama": ollama,
}
# A frame that holds both.
TOGETHER: dict[str, Callable[[str], bytes]] = {
    "openai_chat": lambda text: (
        chatclient.event(
            chatclient.chunk(
                {
                    **chatclient.HEAD,
                    "content": text,
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "n",
                            "type": "function",
                            "function": {"name": "Read", "arguments": ARGUMENTS},
                        }
                    ],
                }
            )
        )
        + chatclient.ending("tool_calls")
    ),
    "gemini, events": lambda text: geminiclient.body_of(
        [geminiclient.reply([text, {"functionCall": {"name": "Read", "args": GIVEN}}], "STOP")]
    ),
    "ollama": lambda text: ollamaclient.body_of(
        [
            ollamaclient.line({"content": text, "tool_calls": [ollamaclient.call("Read", GIVEN)]}),
            ollamaclient.line("", "stop"),
        ]
    ),
}


def lifting(name: str, **settings: Any) -> Any:
    return exchange(SPOKEN[name], TOOLS, Route(client="native", upstream="text", **settings))


def test_every_wire_is_here() -> None:
    assert BODIES.keys() == SPOKEN.keys()


@pytest.mark.sampled(4, per="name")
@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", BODIES)
def test_it_is_lifted_before_the_native_one_and_text_behind_it(name: str, text: str, size: int, policy: str) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    for parts, lifted in (([*pieces, None], True), ([None, *pieces], False)):
        one = lifting(name, policy=policy)
        heard = SPOKEN[name].heard(through(one, BODIES[name](parts), 50 * size))
        assert_heard(one, heard, text, lifted=lifted)


def assert_heard(one: Any, heard: tuple[str, Any], text: str, *, lifted: bool) -> None:
    call = TEXTS[text]
    assert heard == ("" if lifted else text, [call, NATIVE] if lifted else [NATIVE])
    verdict = f"lifted {call[0]}" if lifted else f"declined beside_native {call[0]}"
    assert sorted(words(one)) == sorted([f"{verdict} (marker)", "native Read"])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", TOGETHER)
def test_it_has_a_verdict_in_one_frame_with_the_native_one(name: str, text: str) -> None:
    one = lifting(name)
    shown, calls = SPOKEN[name].heard(through(one, TOGETHER[name](text)))
    assert_heard(
        one, (shown, sorted(calls, key=lambda call: call != TEXTS[text])), text, lifted=True
    )  # Ollama's native calls come before a line's text


@pytest.mark.parametrize("name", BODIES)
def test_the_same_call_is_not_made_twice(name: str) -> None:
    text = 'TOOL_CALL {"tool": "Read", "params": {"command": "ls"}}'
    for parts in ([text, None], [None, text]):
        one = lifting(name)
        _, calls = SPOKEN[name].heard(through(one, BODIES[name](parts)))
        assert calls == [NATIVE]


MESSAGE = {"id": "n", "type": "function", "function": {"name": "Read", "arguments": ARGUMENTS}}
ITEM = {"type": "function_call", "call_id": "c1", "name": "Read", "arguments": ARGUMENTS}
WHOLE: dict[str, Callable[[str], bytes]] = {
    "openai_chat": lambda text: json.dumps(
        {
            **chatclient.outer([]),
            "choices": [
                {"index": 0, "message": {"content": text, "tool_calls": [MESSAGE]}, "finish_reason": "tool_calls"}
            ],
        }
    ).encode(),
    "openai_responses": lambda text: responsesclient.whole(responsesclient.stream([text, ITEM])),
    "anthropic": lambda text: anthropicclient.whole(
        anthropicclient.stream([anthropicclient.text(text), anthropicclient.call("toolu_1", "Read", ARGUMENTS)])
    ),
    "gemini": lambda text: geminiclient.body_of(
        [geminiclient.reply([text, {"functionCall": {"name": "Read", "args": GIVEN}}], "STOP")], "whole"
    ),
    "ollama": lambda text: ollamaclient.body_of(
        [ollamaclient.line({"content": text, "tool_calls": [ollamaclient.call("Read", GIVEN)]}, "stop")], b""
    ),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", WHOLE)
def test_in_a_whole_reply_it_is_lifted_before_the_native_one_as_well(name: str, text: str) -> None:
    """An API that has texts and calls apart says nothing of their order: the text is in front of them, as streamed."""
    one = of_request(all_wires()[name], Request(tools=TOOLS), Route(client="native", upstream="text"), form="whole")
    body = WHOLE[name](text)
    assert one.feed(body) + one.close() != body
    assert sorted(words(one)) == sorted([f"lifted {TEXTS[text][0]} (marker)", "native Read"])
    assert [(call.name, json.loads(call.arguments)) for _, call in one.client_calls] in (
        [TEXTS[text], NATIVE],
        [NATIVE, TEXTS[text]],
    )


BEHIND: dict[str, Callable[[str], bytes]] = {
    "openai_responses": lambda text: responsesclient.whole(responsesclient.stream([ITEM, text])),
    "anthropic": lambda text: anthropicclient.whole(
        anthropicclient.stream([anthropicclient.call("toolu_1", "Read", ARGUMENTS), anthropicclient.text(text)])
    ),
    "gemini": lambda text: geminiclient.body_of(
        [geminiclient.reply([{"functionCall": {"name": "Read", "args": GIVEN}}, text], "STOP")], "whole"
    ),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", BEHIND)
def test_in_a_whole_reply_it_is_text_behind_the_native_one(name: str, text: str) -> None:
    one = of_request(all_wires()[name], Request(tools=TOOLS), Route(client="native", upstream="text"), form="whole")
    body = BEHIND[name](text)
    assert one.feed(body) + one.close() == body
    assert sorted(words(one)) == sorted(["native Read", f"declined beside_native {TEXTS[text][0]} (marker)"])
