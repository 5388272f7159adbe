"""Native calls whose arguments are no object, on every wire: a rule about arguments that cannot read them refuses them.

A client may take such arguments apart all the same: Claude Code reads an object out of a string, others the only
element of an array. So a rule that blocks treats what it cannot read as what it forbids.
"""

import json
from typing import Any

import pytest

from support import anthropicclient, chatclient, geminiclient, ollamaclient, responsesclient
from support.careless import RULES, TOOLS
from support.exchanges import run
from support.processorcases import no_reactors, route_of, words
from toolcalls.processors import Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.evidence import Decision, call_policy_of
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

NAME = "execute_command"
COMMAND = "rm -rf build"
ODD = ([{"command": COMMAND}], [COMMAND], COMMAND, json.dumps(COMMAND), json.dumps([COMMAND]), [[["x"]]], 3, True)
FINISHED = {"stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2}}


def _chat(given: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": given}}


def _chat_whole(given: Any) -> bytes:
    message = {"role": "assistant", "content": None, "tool_calls": [_chat(given)]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    ).encode()


def _chat_stream(given: Any) -> bytes:
    delta = {"role": "assistant", "tool_calls": [{"index": 0, **_chat(given)}]}
    return chatclient.event(chatclient.chunk(delta)) + chatclient.ending("tool_calls")


def _anthropic(given: Any) -> list[dict[str, Any]]:
    block = {"type": "tool_use", "id": "toolu_1", "name": NAME, "input": given}
    return anthropicclient.stream([anthropicclient.block(block)], "tool_use")


def _responses(given: Any) -> list[dict[str, Any]]:
    return responsesclient.stream([{"type": "function_call", "call_id": "c1", "name": NAME, "arguments": given}])


def _gemini(given: Any, form: geminiclient.Body) -> bytes:
    return geminiclient.body_of([geminiclient.reply([{"functionCall": {"name": NAME, "args": given}}], "STOP")], form)


def _ollama(given: Any) -> bytes:
    message = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": NAME, "arguments": given}}]}
    return ollamaclient.body_of([ollamaclient.line(message), ollamaclient.line("", "stop")])


def _said(given: Any) -> Any:
    """Arguments as the wires write them that have them as text."""
    return given if isinstance(given, str) else json.dumps(given)


BODIES: dict[tuple[str, Form], Any] = {
    ("openai_chat", "whole"): lambda given: _chat_whole(_said(given)),
    ("openai_chat", "sse"): lambda given: _chat_stream(_said(given)),
    ("openai_responses", "sse"): lambda given: responsesclient.written(_responses(_said(given))),
    ("openai_responses", "whole"): lambda given: responsesclient.whole(_responses(_said(given))),
    ("anthropic", "sse"): lambda given: anthropicclient.written(_anthropic(given)),
    ("anthropic", "whole"): lambda given: anthropicclient.whole(_anthropic(given)),
    ("gemini", "sse"): lambda given: _gemini(given, "sse"),
    ("gemini", "json_array"): lambda given: _gemini(given, "json_array"),
    ("gemini", "whole"): lambda given: _gemini(given, "whole"),
    ("ollama", "ndjson"): _ollama,
}


@pytest.mark.parametrize("mend", [("protocol",), ()], ids=["mended", "not mended"])
@pytest.mark.parametrize("given", ODD, ids=json.dumps)
@pytest.mark.parametrize("place", BODIES, ids=" ".join)
def test_a_rule_about_arguments_refuses_what_it_cannot_read(
    place: tuple[str, Form], given: Any, mend: tuple[str, ...]
) -> None:
    wire, form = place
    body = BODIES[place](given)
    assert b"rm -rf" in body or not isinstance(given, str)
    for size in (len(body), 1):
        route = route_of({**RULES, "mend": list(mend)})
        decision = Decision("lift", "native", "auto", None, ())
        call_policy, tools = call_policy_of(route, Request(tools=TOOLS), decision)
        processors = Processors(route, run=no_reactors)
        one = Exchange(all_wires()[wire], call_policy, decision, tools, form=form, seed=b"s", processors=processors)
        out = run(one, [body[at : at + size] for at in range(0, len(body), size)])
        assert NAME.encode() not in out
        assert b"rm -rf" not in out
        assert words(one) == [f"malformed {NAME} no-rm"]
