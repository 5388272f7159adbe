"""Finish reasons that deny a reply's calls, promise some that are not there, or are missing: each API in its own words.

Strategy: one sound reply of each API with a reason of its own for calls, and what is done to its end. Every reply goes
through whole, in pieces of one byte and cut at every place. Without `mend`, all leave as they came.
"""

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from support.exchanges import in_pieces, of_request, run, same_wherever_it_is_cut
from toolcalls.replies.calls import Calls, ClientCall
from toolcalls.replies.exchange import Exchange
from toolcalls.replies.stages.end import FinishMending
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.wires import all_wires

TOOLS = (Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}}),)
LS = '{"command": "ls"}'
DONE = "data: [DONE]\n\n"


def exchange(wire: str, *, form: str = "sse", choice: str = "auto", **route: Any) -> Exchange:
    request = Request(tools=TOOLS, tool_choice=choice, model="m")
    return of_request(all_wires()[wire], request, Route(**route), form=form, seed=b"s")  # type: ignore[arg-type]


def chunk(delta: Mapping[str, Any], reason: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "Bash", "arguments": LS}}
HALF = {**CALL, "function": {"name": "Bash", "arguments": '{"command": "l'}}
OLDER = chunk({"function_call": {"name": "Bash", "arguments": LS}}, None)
HEAD = chunk({"role": "assistant", "content": ""}, None)
TEXT, NATIVE, OPEN = (
    chunk(delta, None) for delta in ({"content": "Hi"}, {"tool_calls": [CALL]}, {"tool_calls": [HALF]})
)


def events(*payloads: Mapping[str, Any]) -> str:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in payloads)


def block(index: int, kind: Mapping[str, Any], delta: Mapping[str, Any]) -> str:
    return events(
        {"type": "content_block_start", "index": index, "content_block": kind},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    )


USAGE = {"input_tokens": 3, "output_tokens": 1}
BEGIN = events(
    {
        "type": "message_start",
        "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": USAGE},
    }
)
SAYS = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
CALLS = block(1, TOOL_USE, {"type": "input_json_delta", "partial_json": LS})
OVER = events({"type": "message_stop"})


def stopped(reason: str | None) -> str:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return events({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}})


def reasons(wire: str, body: bytes) -> list[str]:
    """The finish reasons that a streamed reply gives, in order."""
    payloads = [json.loads(line[5:]) for line in body.splitlines() if line.startswith(b"data: {")]
    if wire == "openai_chat":
        found = [choice["finish_reason"] for one in payloads for choice in one["choices"]]
    else:
        found = [one["delta"]["stop_reason"] for one in payloads if one["type"] == "message_delta"]
    return [reason for reason in found if reason is not None]


# By what is odd about each: the wire, the reply, and the reason that the client is given.
ODD = {
    "stop denies the call": ("openai_chat", HEAD + NATIVE + chunk({}, "stop") + DONE, "tool_calls"),
    "unknown words": ("openai_chat", HEAD + NATIVE + chunk({}, "unknown") + DONE, "tool_calls"),
    "beside the call itself": ("openai_chat", HEAD + chunk({"tool_calls": [CALL]}, "stop") + DONE, "tool_calls"),
    "null to the end": ("openai_chat", HEAD + NATIVE + chunk({}, None) + DONE, "tool_calls"),
    "no reason for a call": ("openai_chat", HEAD + TEXT + NATIVE + DONE, "tool_calls"),
    "denied, in the older form": ("openai_chat", HEAD + OLDER + chunk({}, "stop") + DONE, "function_call"),
    "no reason for the older form": ("openai_chat", HEAD + OLDER + DONE, "function_call"),
    "a promise beside a text": ("openai_chat", HEAD + TEXT + chunk({}, "tool_calls") + DONE, "stop"),
    "a promise beside nothing": ("openai_chat", HEAD + chunk({}, "tool_calls") + DONE, "stop"),
    "the older promise": ("openai_chat", HEAD + TEXT + chunk({}, "function_call") + DONE, "stop"),
    "end_turn denies the call": ("anthropic", BEGIN + SAYS + CALLS + stopped("end_turn") + OVER, "tool_use"),
    "an unknown stop reason": ("anthropic", BEGIN + SAYS + CALLS + stopped("eos") + OVER, "tool_use"),
    "null to the end of a message": ("anthropic", BEGIN + SAYS + CALLS + stopped(None) + OVER, "tool_use"),
    "no message_delta": ("anthropic", BEGIN + SAYS + CALLS + OVER, "tool_use"),
    "tool_use without a call": ("anthropic", BEGIN + SAYS + stopped("tool_use") + OVER, "end_turn"),
}

# What is noted of them, by the first word; else that the reason denies the calls.
DEFECTS = {
    "no": "no_finish",
    "null": "no_finish",
    "the": "finish_promises_calls",
    "a": "finish_promises_calls",
    "tool_use": "finish_promises_calls",
}

# These are sound, or nobody knows better.
SOUND = {
    "calls": ("openai_chat", HEAD + NATIVE + chunk({}, "tool_calls") + DONE),
    "text": ("openai_chat", HEAD + TEXT + chunk({}, "stop") + DONE),
    "a limit behind the call": ("openai_chat", HEAD + NATIVE + chunk({}, "length") + DONE),
    "a limit in other words": ("openai_chat", HEAD + NATIVE + chunk({}, "MAX_TOKENS") + DONE),
    "no end mark": ("openai_chat", HEAD + NATIVE),
    "a call that was cut off, and no reason": ("openai_chat", HEAD + OPEN + DONE),
    "a call that was cut off, and stop": ("openai_chat", HEAD + OPEN + chunk({}, "stop") + DONE),
    "nothing at all": ("openai_chat", HEAD + DONE),
    "no reason for a text": ("openai_chat", HEAD + TEXT + DONE),
    "no message_delta behind a text": ("anthropic", BEGIN + SAYS + OVER),
    "an unknown word behind a text": ("openai_chat", HEAD + TEXT + chunk({}, "eos") + DONE),
    "tool use": ("anthropic", BEGIN + SAYS + CALLS + stopped("tool_use") + OVER),
    "a turn": ("anthropic", BEGIN + SAYS + stopped("end_turn") + OVER),
    "a limit": ("anthropic", BEGIN + SAYS + CALLS + stopped("max_tokens") + OVER),
    "a pause": ("anthropic", BEGIN + SAYS + CALLS + stopped("pause_turn") + OVER),
    "a connection that closes": ("anthropic", BEGIN + SAYS + CALLS),
}


def mended(one: Exchange) -> list[str]:
    """The codes of the notes that say what was mended of the finish reason; others only say what was wrong."""
    for _, note in one.notes:
        assert note.mended == ("the client was given" in note.text)
    return [note.rule for _, note in one.notes if note.mended]


@pytest.mark.parametrize("name", ODD)
def test_the_reason_is_the_one_that_fits(name: str) -> None:
    wire, body, reason = ODD[name]
    one = exchange(wire)
    out = run(one, [body.encode()])
    assert reasons(wire, out)[-1] == reason
    assert mended(one) == [DEFECTS.get(name.partition(" ")[0], "finish_denies_calls")]
    assert all(verdict.status == "native" for _, verdict in one.verdicts)
    same_wherever_it_is_cut(lambda: exchange(wire), body.encode())


@pytest.mark.parametrize(("wire", "body", "reason"), ODD.values(), ids=ODD)
def test_without_mend_everything_leaves_as_it_came(wire: str, body: str, reason: str) -> None:
    one = exchange(wire, mend=())
    assert run(one, in_pieces(body.encode(), 7)) == body.encode()
    assert not mended(one), reason
    assert one.notes, "what is wrong is said all the same"


@pytest.mark.parametrize(("wire", "body"), SOUND.values(), ids=SOUND)
def test_a_sound_end_leaves_as_it_came(wire: str, body: str) -> None:
    one = exchange(wire)
    assert run(one, in_pieces(body.encode(), 7)) == body.encode()
    assert not mended(one)


def test_stop_answers_a_choice_that_names_a_tool() -> None:
    body = (HEAD + NATIVE + chunk({}, "stop") + DONE).encode()
    assert run(exchange("openai_chat", choice="Bash"), [body]) == body
    assert run(exchange("openai_chat", choice="required"), [body]) != body


def test_a_promise_waits_only_for_what_comes_next() -> None:
    one = exchange("openai_chat")
    promise, call = (
        chunk({"content": "Hi"}, "tool_calls").encode(),
        chunk({"tool_calls": [CALL]}, "tool_calls").encode(),
    )
    assert one.feed(promise) == b""
    assert one.feed(call) == promise + call


def test_the_reason_leaves_at_once() -> None:
    one = exchange("openai_chat")
    out = one.feed((HEAD + NATIVE + chunk({}, "stop")).encode())
    assert reasons("openai_chat", out) == ["tool_calls"]


def test_the_usage_that_was_said_stands_in_the_new_message_delta() -> None:
    out = run(exchange("anthropic"), [(BEGIN + CALLS + OVER).encode()])
    assert b'"stop_reason":"tool_use"' in out
    assert json.dumps(USAGE).encode() in out.split(b"event: message_delta")[1]


@pytest.mark.parametrize(
    ("wire", "body", "at"),
    [
        (
            "openai_chat",
            {"choices": [{"index": 0, "message": {"content": None, "tool_calls": [CALL]}}]},
            "finish_reason",
        ),
        ("anthropic", {"type": "message", "content": [{**TOOL_USE, "input": {"command": "ls"}}]}, "stop_reason"),
    ],
)
@pytest.mark.parametrize("reason", ["stop", "end_turn", "unknown", None])
def test_whole_replies(wire: str, body: dict[str, Any], at: str, reason: str | None) -> None:
    holder = body["choices"][0] if "choices" in body else body
    holder[at] = reason
    sent = json.dumps(body).encode()
    got = json.loads(run(exchange(wire, form="whole"), [sent]))
    assert (got["choices"][0] if "choices" in got else got)[at] == {
        "finish_reason": "tool_calls",
        "stop_reason": "tool_use",
    }[at]
    assert run(exchange(wire, form="whole", mend=()), [sent]) == sent


@pytest.mark.parametrize("form", ["sse", "whole"])
def test_a_choice_may_promise_the_calls_of_another(form: str) -> None:
    """Copilot has the text in one choice and the call in the other; a stream says so before the reason comes."""
    choices = [{"index": 0, "delta": {"content": "I look."}}, {"index": 1, "delta": {"tool_calls": [CALL]}}]
    ends = [{"index": place, "delta": {}, "finish_reason": "tool_calls"} for place in (0, 1)]
    events = [json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [one]}) for one in choices + ends]
    body = "".join(f"data: {one}\n\n" for one in events) + DONE
    if form == "whole":
        messages = [{"content": "I look."}, {"content": None, "tool_calls": [{**CALL, "index": 0}]}]
        made = [{"index": at, "message": one, "finish_reason": "tool_calls"} for at, one in enumerate(messages)]
        body = json.dumps({"id": "x", "object": "chat.completion", "choices": made})
    one = exchange("openai_chat", form=form)
    assert run(one, [body.encode()]) == body.encode()
    assert one.notes == []


def test_a_lifted_call_keeps_its_promise() -> None:
    said = '<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'
    body = HEAD + chunk({"content": said}, None) + chunk({}, "tool_calls") + DONE
    one = exchange("openai_chat", client="native", upstream="text")
    assert reasons("openai_chat", run(one, [body.encode()])) == ["tool_calls"]
    assert not mended(one)


@pytest.mark.parametrize("says_calls", [False, True])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("reason", ["", "stop", "end_turn", "length", "max_tokens", "error"])
def test_what_fits_whole_native_calls(reason: str, named: bool, says_calls: bool) -> None:
    """An API without a reason for calls ends with `stop` or none; one whose request names the tool ends with `stop`."""
    calls = Calls()
    call = ClientCall(0, "Bash", None, "n")
    call.complete = True
    calls.client_calls, calls.had_native = [call], True
    finish = FinishMending(as_text=False, says_calls=says_calls, named=named)
    finish.calls.append(calls)
    stays = reason in {"length", "max_tokens", "error"}
    stays |= reason == "stop" and (named or not says_calls)
    stays |= reason == "" and not says_calls
    assert finish.mended(reason) == (reason if stays else "tool_calls")


@pytest.mark.parametrize("complete", [(True, False), (False, True), (False, False)])
def test_a_call_that_is_not_whole_leaves_the_reason_as_it_is(complete: tuple[bool, bool]) -> None:
    """Law 6: nothing says that there is a call to make."""
    calls = Calls()
    for index, whole in enumerate(complete):
        call = ClientCall(index, "Bash", None, f"n{index}")
        call.complete = whole
        calls.client_calls.append(call)
    calls.had_native = True
    finish = FinishMending(as_text=False, says_calls=True, named=False)
    finish.calls.append(calls)
    assert finish.mended("stop") == "stop"


def test_one_choice_with_a_native_call_is_enough() -> None:
    both = [Calls(), Calls()]
    call = ClientCall(0, "Bash", None, "n")
    call.complete = True
    both[1].client_calls, both[1].had_native = [call], True
    finish = FinishMending(as_text=False, says_calls=True, named=False)
    finish.calls += both
    assert finish.mended("stop") == "tool_calls"


def test_a_call_that_broke_off_beside_a_whole_one_leaves_the_reason() -> None:
    whole = SimpleNamespace(client_calls=[SimpleNamespace(complete=True)], had_native=True, broken_off=False)
    broken = SimpleNamespace(client_calls=[], had_native=True, broken_off=True)
    for calls, reason in (([whole], "tool_calls"), ([whole, broken], "stop"), ([broken, whole], "stop")):
        mending = FinishMending(as_text=False, says_calls=True, named=False)
        mending.calls.extend(calls)
        assert mending.mended("stop") == reason
