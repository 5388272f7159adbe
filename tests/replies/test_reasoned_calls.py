"""`mend: [reasoning]`: a call in the reasoning of a reply that says nothing else, on each API, at every cut."""

import json
from dataclasses import replace
from typing import Any

import pytest

from support.damagedcalls import CALL, REQUEST, WIRES, streamed, whole
from support.exchanges import of_request
from support.thinkingreplies import MENDS, THOUGHT, form_of, frames, thinking, thought, through
from toolcalls.processors.reactor_runner import RUNNER
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.processing import processors_for
from toolcalls.route import Access, AccessRule, Route
from toolcalls.wires import all_wires

CALLED = THOUGHT.partition("\n")[2]
BOTH = pytest.mark.parametrize("form", ["streamed", "whole"])


def heard(exchange: Exchange) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for _, call in exchange.client_calls if call.complete]


ONE = [("edit", {"path": "a.ts"})]


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_a_call_at_the_end_of_the_reasoning(wire: str, form: str) -> None:
    body = thought(wire, form, THOUGHT)
    out, exchange = through(wire, form, body)
    assert heard(exchange) == ONE
    ((_, verdict),) = exchange.verdicts
    assert (verdict.status, verdict.dialect, verdict.repairs) == ("lifted", "hermes", ("call_in_reasoning",))
    assert (verdict.start, verdict.end) == (0, 0)
    assert [(note.rule, note.warns, note.mended) for _, note in exchange.notes] == [("call_in_reasoning", True, True)]
    # What left is a sound reply of the API, with the same reasoning.
    again, read = through(wire, form, out, Route(mend=()))
    assert (again, heard(read), read.notes) == (out, ONE, [])
    assert json.dumps(THOUGHT)[1:20].encode() in out
    if wire == "anthropic":
        assert b'"signature": "s"' in out
    assert through(wire, form, body, Route())[0] == body


@pytest.mark.parametrize("wire", WIRES)
def test_the_reasoning_of_a_stream_stays_byte_for_byte(wire: str) -> None:
    body = thought(wire, "streamed", THOUGHT)
    if wire == "gemini":  # all of it in one frame
        body = frames(wire, [_thought_of_gemini(THOUGHT), _thought_of_gemini("", "STOP")])
    out, exchange = through(wire, "streamed", body)
    assert heard(exchange) == ONE
    end = {"openai_chat": b'"delta": {}', "openai_responses": b"event: response.completed"}
    end |= {"anthropic": b"event: message_delta", "gemini": b'"finishReason"', "ollama": b'"done": true'}
    head = body[: body.index(end[wire])].rpartition(b"\n")[0]
    assert out.startswith(head)
    assert out.index(b'"edit"', len(head)) > 0


def _thought_of_gemini(text: str, reason: str = "") -> Any:
    parts = [{"text": text, "thought": True}] if text else []
    last = {"finishReason": reason} if reason else {}
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **last}]}


DRAFTS = {
    "nothing": "I need to look.",
    "words behind it": f"{THOUGHT}\nNo, I must ask first.",
    "a fence": f"```\n{THOUGHT}\n```",
    "inline": f"I would write {CALLED.replace(chr(10), '')} here",
    "cut off": THOUGHT[:-30],
    "an undeclared tool": THOUGHT.replace("edit", "view"),
    "two drafts": f"{THOUGHT}\nOr rather:\n{CALLED.replace('a.ts', 'b.ts')}",
    "a broken one in front": f'<tool_call>\n{{"name": "edit", "arguments": {{"path": @@}}}}\n</tool_call>\n{THOUGHT}',
}


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_a_draft_or_a_quotation_stays(wire: str, form: str) -> None:
    for text in DRAFTS.values():
        body = thought(wire, form, text)
        out, exchange = through(wire, form, body)
        assert (out, exchange.verdicts) == (body, []), text
        assert "empty" in [note.rule for _, note in exchange.notes]


def test_a_quotation_in_front_is_none_of_the_calls() -> None:
    body = thought("openai_chat", "whole", f"As in\n```\n{CALLED}\n```\nso:\n{CALLED}")
    assert heard(through("openai_chat", "whole", body)[1]) == ONE


@BOTH
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_every_field_of_chat_completions(field: str, form: str) -> None:
    body = thought("openai_chat", form, THOUGHT).replace(b"reasoning_content", field.encode())
    out, exchange = through("openai_chat", form, body)
    assert heard(exchange) == ONE
    assert out.count(f'"{field}"'.encode()) == body.count(f'"{field}"'.encode())


@pytest.mark.parametrize("reason", ["tool_calls", "eos"])
def test_the_finish_reason_follows_the_calls(reason: str) -> None:
    body = thought("openai_chat", "streamed", THOUGHT).replace(b'"stop"', f'"{reason}"'.encode())
    assert b'"finish_reason":"tool_calls"' in through("openai_chat", "streamed", body)[0].replace(b": ", b":")


def test_several_calls() -> None:
    text = f'{THOUGHT}\n<tool_call>\n{{"name": "now", "arguments": {{}}}}\n</tool_call>\n'
    for form in ("streamed", "whole"):
        assert heard(through("openai_chat", form, thought("openai_chat", form, text))[1]) == [*ONE, ("now", {})]


def test_the_request_decides_as_for_calls_in_text() -> None:
    body = thought("openai_chat", "streamed", THOUGHT)
    echoed = replace(REQUEST, quotable=(CALLED,))
    for request in (replace(REQUEST, tools=()), replace(REQUEST, tool_choice="none"), echoed):
        assert through("openai_chat", "streamed", body, request=request)[0] == body
    assert through("openai_chat", "streamed", body, replace(MENDS, allowed_tools=("now",)))[0] == body


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_reply_that_was_cut_short_has_none(reason: str) -> None:
    body = thought("openai_chat", "streamed", THOUGHT).replace(b'"stop"', f'"{reason}"'.encode())
    assert through("openai_chat", "streamed", body)[0] == body


def test_a_connection_that_breaks_completes_nothing() -> None:
    body = thought("openai_chat", "streamed", THOUGHT).rpartition(b"data: ")[0]
    exchange = of_request(all_wires()["openai_chat"], REQUEST, MENDS, form="sse")
    assert exchange.feed(body) + exchange.abort() == body
    assert exchange.verdicts == []


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_beside_text_or_a_call_it_is_a_draft(wire: str, form: str) -> None:
    for calls, text in (([CALL], ""), ([], "Done."), ([CALL], "I look.")):
        said = streamed(wire, calls, text) if form == "streamed" else json.dumps(whole(wire, calls, text)).encode()
        assert through(wire, form, said)[0] == said
    if wire in {"openai_chat", "ollama"}:
        body = thought(wire, form, THOUGHT).replace(b'"content": null', b'"content": "Done."')
        body = body.replace(b'"content": ""', b'"content": "Done."')
        body = body.replace(b'"delta": {}', b'"delta": {"content": "Done."}')
        assert through(wire, form, body)[0] == body


def test_a_reason_in_every_frame_ends_nothing() -> None:
    """Some servers of Gemini's API say `STOP` in each frame: only the last one ends the reply."""
    silent = [_thought_of_gemini(f"{THOUGHT}\n", "STOP"), _thought_of_gemini("", "STOP")]
    assert heard(through("gemini", "streamed", frames("gemini", silent))[1]) == ONE
    more = frames("gemini", [silent[0], _thought_of_gemini("But no.", "STOP")])
    assert through("gemini", "streamed", more)[0] == more
    spoken: Any = _thought_of_gemini("Done.", "STOP")
    del spoken["candidates"][0]["content"]["parts"][0]["thought"]
    body = frames("gemini", [silent[0], spoken])
    assert through("gemini", "streamed", body)[0] == body


def test_each_choice_has_its_own() -> None:
    chunks = thinking("openai_chat", THOUGHT)["streamed"]
    other: Any = json.loads(json.dumps(chunks).replace('"index": 0', '"index": 1').replace("a.ts", "b.ts"))
    body = frames("openai_chat", [one for pair in zip(chunks, other, strict=True) for one in pair])
    _, exchange = through("openai_chat", "streamed", body)
    found = {(lane, call.arguments) for lane, call in exchange.client_calls}
    assert found == {(0, '{"path": "a.ts"}'), (1, '{"path": "b.ts"}')}


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_a_text_client_gets_it_as_text(wire: str, form: str) -> None:
    for upstream in ("native", "text"):
        route = replace(MENDS, client="text", upstream=upstream, client_dialect="invoke")
        out, exchange = through(wire, form, thought(wire, form, THOUGHT), route)
        assert [verdict.status for _, verdict in exchange.verdicts] == ["lowered"]
        assert b"<invoke name=" in out


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_a_rule_sees_it(wire: str, form: str) -> None:
    route = replace(MENDS, access=Access((AccessRule("no edits", "block", ("edit",)),)))
    decision = decide(route, REQUEST, {}, ())
    policy, tools = call_policy_of(route, REQUEST, decision)
    rules = processors_for(None, route, decision, model="m", agent="", run=RUNNER)
    exchange = Exchange(
        all_wires()[wire], policy, decision, tools, form=form_of(wire, form), seed=b"s", processors=rules
    )
    out = exchange.feed(thought(wire, form, THOUGHT)) + exchange.close()
    assert exchange.failure is None
    assert [(verdict.status, verdict.rule) for _, verdict in exchange.verdicts] == [("blocked", "no edits")]
    assert b"was blocked by the rule no edits" in out
