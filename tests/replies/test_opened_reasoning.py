"""Replies that start inside reasoning, on each wire: what a stream holds back, and what a whole reply knows."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from support import anthropicclient, chatclient, geminiclient, responsesclient
from support.exchanges import in_pieces, of_request, run
from support.quoting import CALL, TOOLS, written
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.route import PolicyName, Route
from toolcalls.tools.parse.command import parsed
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

LS = written("hermes")
DRAFT = f"Shall I?\n{LS}\nNo.\n</think>\n"


def _chat(text: str, thought: str = "") -> bytes:
    head = [chatclient.event(chatclient.chunk({"reasoning_content": thought}))] if thought else []
    return b"".join([*head, chatclient.stream([text[:9], text[9:]])])


def _chat_whole(text: str, thought: str = "") -> bytes:
    message = {"role": "assistant", "content": text, **({"reasoning_content": thought} if thought else {})}
    return json.dumps({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


def _anthropic(text: str, thought: str = "", *, whole: bool) -> bytes:
    blocks = [*([anthropicclient.thinking(thought)] if thought else []), anthropicclient.text(text[:5], text[5:])]
    stream = anthropicclient.stream(blocks)
    return anthropicclient.whole(stream) if whole else anthropicclient.written(stream)


def _responses(text: str, thought: str = "", *, whole: bool) -> bytes:
    stream = responsesclient.stream(
        [
            *(
                [{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": thought}]}]
                if thought
                else []
            ),
            [text[:7], text[7:]],
        ]
    )
    return responsesclient.whole(stream) if whole else responsesclient.written(stream)


def _gemini(text: str, thought: str = "", *, form: geminiclient.Body) -> bytes:
    parts: list[Any] = [*([{"text": thought, "thought": True}] if thought else []), text]
    return geminiclient.body_of([geminiclient.reply(parts, "STOP")], form)


def _ollama(text: str, thought: str = "", *, whole: bool) -> bytes:
    said = {"role": "assistant", **({"thinking": thought} if thought else {})}
    if whole:
        return json.dumps({"message": {**said, "content": text}, "done": True, "done_reason": "stop"}).encode()
    lines = [{"message": {**said, "content": ""}, "done": False}] if thought else []
    lines += [{"message": {"role": "assistant", "content": text}, "done": False}]
    lines += [{"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


type Body = Callable[[str, str], bytes]
STREAMS: dict[str, tuple[str, Form, Body]] = {
    "chat": ("openai_chat", "sse", _chat),
    "anthropic": ("anthropic", "sse", partial(_anthropic, whole=False)),
    "responses": ("openai_responses", "sse", partial(_responses, whole=False)),
    "gemini": ("gemini", "sse", partial(_gemini, form="sse")),
    "ollama": ("ollama", "ndjson", partial(_ollama, whole=False)),
}
WHOLE: dict[str, tuple[str, Form, Body]] = {
    "chat": ("openai_chat", "whole", _chat_whole),
    "anthropic": ("anthropic", "whole", partial(_anthropic, whole=True)),
    "responses": ("openai_responses", "whole", partial(_responses, whole=True)),
    "gemini": ("gemini", "whole", partial(_gemini, form="whole")),
    "ollama": ("ollama", "whole", partial(_ollama, whole=True)),
}
ALL = {
    **{f"{name}, streamed": one for name, one in STREAMS.items()},
    **{f"{name}, whole": one for name, one in WHOLE.items()},
}


def made(
    key: str,
    text: str,
    thought: str = "",
    *,
    policy: PolicyName = "standard",
    starts: bool = False,
    model: str = "m",
    size: int = 0,
) -> list[str | None]:
    """The reasons of the verdicts, None for a call that was lifted."""
    wire, form, body = ALL[key]
    route = Route(client="native", upstream="text", policy=policy, tools=TOOLS, starts_in_reasoning=starts)
    one: Exchange = of_request(all_wires()[wire], Request(model=model), route, form=form, seed=b"x")
    came = body(text, thought)
    out = run(one, in_pieces(came, size))
    found = [verdict.reason for _, verdict in one.verdicts]
    assert (out == came) == (None not in found)
    return found


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("key", ALL)
def test_a_draft_before_a_closer_is_reasoning_where_that_is_known(key: str, size: int) -> None:
    for known in ({"starts": True}, {"model": "Qwen/QwQ-32B"}):
        assert made(key, DRAFT + LS, size=size, **known) == ["reasoning", None]
    assert made(key, f"Hm.\n{LS}", model="Qwen/QwQ-32B", size=size) == [None]  # split off, or not thought
    assert made(key, f"Hm.\n{LS}", starts=True, size=size) == ["reasoning"]


@pytest.mark.parametrize("key", ALL)
def test_only_a_whole_reply_knows_it_by_itself(key: str) -> None:
    whole = key.endswith("whole")
    assert made(key, DRAFT + LS) == (["reasoning", None] if whole else [None, None])
    assert made(key, DRAFT + LS, policy="strict") == ["not_terminal", None]
    assert made(key, f"{LS}\n</think>\n{LS}", policy="strict") == ["reasoning", None]
    # What reasoning that is over, code and a value hold says nothing.
    for text in (
        f"<think>\nHm.\n</think>\n{LS}\nI closed it with </think>.",
        f"{LS}\nClose it with `</think>`.",
        f"{LS}\n```\n</think>\n```",
        LS.replace("rm -rf build", "echo '</think>'"),
    ):
        assert made(key, text) == [None], text


@pytest.mark.parametrize("known", [{"starts": True}, {"model": "QwQ-32B"}, {}], ids=["route", "name", "nothing"])
@pytest.mark.parametrize("key", ALL)
def test_reasoning_in_a_field_of_its_own_ends_the_doubt(key: str, known: dict[str, Any]) -> None:
    for size in (0, 1):
        assert made(key, DRAFT + LS, "I think.", size=size, **known) == [None, None]


def test_choices_are_replies_of_their_own() -> None:
    choices = [
        {"index": number, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for number, text in enumerate([LS, DRAFT, LS])
    ]
    route = Route(client="native", upstream="text", tools=TOOLS)
    one = of_request(all_wires()["openai_chat"], Request(), route, form="whole", seed=b"x")
    run(one, [json.dumps({"id": "x", "choices": choices}).encode()])
    assert [(number, verdict.reason) for number, verdict in one.verdicts] == [(0, None), (1, "reasoning"), (2, None)]


def test_the_command_knows_a_text_that_is_all_there() -> None:
    policy = CallPolicy(Route(), Request(tools=TOOLS))
    for pieces, whole, found in (([DRAFT + LS], True, [CALL.name]), (list(DRAFT + LS), False, [CALL.name] * 2)):
        assert [call["name"] for call in parsed(pieces, policy, cut=False, whole=whole)["calls"]] == found
