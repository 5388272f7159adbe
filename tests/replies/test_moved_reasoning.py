"""`mend: [reasoning]`: reasoning in tags, with which a text begins, goes to the API's field for it, at every cut."""

import json
from dataclasses import replace
from typing import Any

import pytest

from support.damagedcalls import REQUEST, WIRES, streamed, whole
from support.exchanges import of_request
from support.thinkingreplies import MENDS, form_of, frames, through
from toolcalls.events import Reasoning, Text
from toolcalls.processors.reactor_runner import RUNNER
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Tool
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.processing import processors_for
from toolcalls.route import Filter, Route
from toolcalls.text.quoting_marks import REASONING_TAGS
from toolcalls.wires import all_wires
from toolcalls.wires.frames import FRAMES

BOTH = pytest.mark.parametrize("form", ["streamed", "whole"])
CALL = '<tool_call>\n{"name": "edit", "arguments": {"path": "a.ts"}}\n</tool_call>'


def body_of(wire: str, form: str, text: str) -> bytes:
    return streamed(wire, (), text) if form == "streamed" else json.dumps(whole(wire, (), text)).encode()


def told(wire: str, form: str, body: bytes) -> tuple[str, str]:
    """The reasoning and the text that a client reads in a reply."""
    decoder = all_wires()[wire].decoder(streamed=form == "streamed")
    payloads: list[bytes | None] = [body]
    if form == "streamed":
        cut = FRAMES[form_of(wire, form)]()
        payloads = [frame.data for frame in (*cut.feed(body), *cut.flush())]
    events = [event for payload in payloads if payload is not None for _, event in decoder.decode(payload)]
    thought = "".join(event.text or event.said for event in events if isinstance(event, Reasoning))
    return thought, "".join(event.text for event in events if isinstance(event, Text))


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_reasoning_in_tags_goes_to_its_field(wire: str, form: str) -> None:
    for text in ("<think>\nI look.\nYes.\n</think>\n\nHello.", "\n <think>I look.\nYes.</think>Hello."):
        body = body_of(wire, form, text)
        out, exchange = through(wire, form, body)
        assert told(wire, form, out)[1] == "Hello."
        assert json.dumps("I look.\nYes.").encode() in out or told(wire, form, out)[0] == "I look.\nYes."
        assert [note.rule for _, note in exchange.notes] == ["reasoning_in_text"]
        assert through(wire, form, out)[0] == out
        assert through(wire, form, body, Route())[0] == body


@pytest.mark.parametrize("tag", REASONING_TAGS)
def test_every_tag(tag: str) -> None:
    text = f"{tag}\nI <look>.\n{REASONING_TAGS[tag]}\n\nHello."
    for form in ("streamed", "whole"):
        out, _ = through("openai_chat", form, body_of("openai_chat", form, text))
        thought, said = told("openai_chat", form, out)
        assert (thought.strip(), said.strip()) == ("I <look>.", "Hello.")


def _chunks(*pieces: str) -> bytes:
    deltas: list[Any] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    ended = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return frames("openai_chat", [{"id": "c", "choices": [choice]} for choice in (*choices, ended)])


def test_a_thought_leaves_as_it_comes() -> None:
    exchange = of_request(all_wires()["openai_chat"], REQUEST, MENDS, form="sse")
    left = []
    pieces = ("<th", "ink>", "\nI", " look", ".", "\n</", "think>", "\n\n", "Hel", "lo.")
    for frame in _chunks(*pieces).split(b"\n\n"):
        out = exchange.feed(frame + b"\n\n") if frame else b""
        left.append(told("openai_chat", "streamed", out))
    spoken = [one for one in left if any(one)]
    assert spoken == [("I", ""), (" look", ""), (".", ""), ("", "Hel"), ("", "lo.")]


LEFT = {
    "no tag": "Hello.",
    "a tag in a sentence": "The tag <think> begins it, </think> ends it.",
    "a tag behind a line": "Hello.\n<think>\nI look.\n</think>",
    "another element": "<thinker>\nI look.\n</thinker>",
    "the beginning of a tag": "<thi",
    "a comparison": "<5 things",
    "blanks": " \n\n ",
    "many blanks": " " * 70 + "<think>I look.</think>Hello.",
    "a closer alone": "I look.\n</think>\n\nHello.",
}


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_other_text_leaves_byte_for_byte(wire: str, form: str) -> None:
    for name, text in LEFT.items():
        body = body_of(wire, form, text)
        assert through(wire, form, body)[0] == body, name


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_a_text_client_gets_its_own_text(wire: str, form: str) -> None:
    for upstream in ("native", "text"):
        route = replace(MENDS, client="text", upstream=upstream, client_dialect="invoke")
        body = body_of(wire, form, "<think>\nI look.\n</think>\n\nHello.")
        assert through(wire, form, body, route)[0] == body


def test_behind_reasoning_in_its_field_or_a_prefill_it_is_text() -> None:
    body = _chunks("<think>\nI look.\n</think>\n\nHello.")
    field = body.replace(b'"content": ""', b'"reasoning_content": "Hm."')
    assert through("openai_chat", "streamed", field)[0] == field
    assert through("openai_chat", "streamed", body, request=replace(REQUEST, prefill=("As: ",)))[0] == body


def test_a_thought_that_is_not_closed_is_one_to_the_end() -> None:
    out, exchange = through("openai_chat", "streamed", _chunks("<think>\nI look", ".\n", "And"))
    assert told("openai_chat", "streamed", out) == ("I look.\nAnd", "")
    assert [note.rule for _, note in exchange.notes] == ["reasoning_in_text", "empty"]


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_a_call_behind_the_thought_and_one_that_ends_it(wire: str, form: str) -> None:
    begun = "<think>\nI look.\n"
    for text in (f"{begun}</think>\n\n{CALL}", f"{begun}{CALL}", f"{begun}{CALL}\n</think>\n"):
        _, exchange = through(wire, form, body_of(wire, form, text))
        calls = [(call.name, call.arguments) for _, call in exchange.client_calls]
        assert calls == [("edit", '{"path": "a.ts"}')], text
    _, exchange = through(wire, form, body_of(wire, form, f"<think>\n{CALL}\n</think>\n\nHello."))
    assert exchange.client_calls == []


def test_a_tool_of_the_same_name_is_called() -> None:
    tool = Tool("think", {"type": "object", "properties": {"thought": {"type": "string"}}, "required": ["thought"]})
    body = _chunks("<think>\n<thought>I look.</thought>\n</think>")
    _, exchange = through("openai_chat", "streamed", body, request=replace(REQUEST, tools=(*REQUEST.tools, tool)))
    assert [call.name for _, call in exchange.client_calls] == ["think"]


def test_filters_see_what_is_left_of_the_text() -> None:
    route = replace(MENDS, filters=(Filter("no greeting", literal="Hello", replace="Hi"),))
    decision = decide(route, REQUEST, {}, ())
    policy, tools = call_policy_of(route, REQUEST, decision)
    rules = processors_for(None, route, decision, model="m", agent="", run=RUNNER)
    exchange = Exchange(all_wires()["openai_chat"], policy, decision, tools, form="sse", seed=b"s", processors=rules)
    out = exchange.feed(_chunks("<think>\nHel", "lo?\n</think>\n\nHel", "lo.")) + exchange.close()
    assert exchange.failure is None
    assert told("openai_chat", "streamed", out) == ("Hello?", "Hi.")
