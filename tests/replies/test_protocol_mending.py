"""Damaged native calls come out as their API would have sent them: each wire, each damage, wherever the bytes are cut.

Strategy: sound calls are damaged in every way of `support.damaging`, and a strict reading of the wire must find them:
the same names and arguments, ids of their own, indices of their own, each said once. Then what must stay as it is:
sound replies with mending on, damaged ones with it off, and what was cut off.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import pytest

from support import damaging
from support.damaging import CALLS, CAT, CHAT, HALF, LS, NOW, Sound, heard_chat, repairs, same_calls, sound_chat
from support.exchanges import in_pieces, of_request, run
from support.processorcases import exchange_for as processed
from support.processorcases import route_of
from toolcalls.replies.exchange import Exchange
from toolcalls.replies.stages.mend import Mend
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import all_wires

counted = pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)


def exchange(wire: str, form: str = "sse", **route: Any) -> Exchange:
    request = Request(tools=damaging.TOOLS, model="m")
    return of_request(all_wires()[wire], request, Route(**route), form=form, seed=b"s")  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", CHAT.values(), ids=CHAT)
def test_each_damage_is_one(damage: Callable[[Sequence[Sound]], list[Mapping[str, Any]]]) -> None:
    body = damaging.chat_stream(damage((LS, CAT)))
    with pytest.raises((AssertionError, KeyError, IndexError, ValueError, TypeError)):
        same_calls(heard_chat(body), (LS, CAT))


@counted
def test_a_sound_stream_leaves_as_it_came(calls: Sequence[Sound]) -> None:
    body = sound_chat(calls)
    one = exchange("openai_chat")
    out = [one.feed(body[at : at + 1]) for at in range(len(body))]
    assert b"".join(out) + one.close() == body
    ends = [at + 1 for at in range(len(body)) if body[: at + 1].endswith(b"\n\n")]
    assert [at + 1 for at, left in enumerate(out) if left] == ends  # each event at once
    assert not repairs(one)
    assert not [verdict for _, verdict in one.verdicts if verdict.changes]


@pytest.mark.parametrize("mend", [("protocol",), ("protocol", "json", "types", "names")])
def test_what_comes_after_the_end_of_the_stream_is_no_part_of_a_call(mend: tuple[str, ...]) -> None:
    """Else its verdict would depend on whether both came in one piece."""
    body = sound_chat([LS])
    assert body.endswith(b"data: [DONE]\n\n")
    first = body[: body.index(b"\n\n", body.index(b"tool_calls")) + 2].rpartition(b"\n\n")[0].rpartition(b"\n\n")[2]
    again = body + first + b"\n\n"
    heard = []
    for size in (0, 1, 7, 64):
        one = exchange("openai_chat", mend=mend)
        assert run(one, in_pieces(again, size)) == again
        heard.append(one.verdicts)
    assert heard[0][0][1].defects == ()
    assert heard == heard[:1] * 4


AFTER_THE_END = {
    "anthropic": (
        {"type": "message_start", "message": {"content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {
            "type": "tool_use", "id": "a", "name": "now", "input": {}}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ),
    "openai_responses": (
        {"type": "response.output_item.added", "output_index": 0, "item": {
            "type": "function_call", "id": "f", "call_id": "a", "name": "now", "arguments": ""}},
        {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "f", "arguments": "{}"},
        {"type": "response.output_item.done", "output_index": 0, "item": {
            "type": "function_call", "id": "f", "call_id": "a", "name": "now", "arguments": "{}"}},
        {"response": {"status": "completed", "output": [], "instructions": "x" * 1000}, "type": "response.completed"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("wire", AFTER_THE_END)
def test_an_event_that_comes_again_after_the_last_one_leaves_as_it_came(wire: str) -> None:
    """And what is said of it does not depend on the pieces in which it came."""
    events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in AFTER_THE_END[wire]]
    sound = exchange(wire)
    assert run(sound, events) == b"".join(events)
    for event in events[:-1]:
        again = b"".join([*events, event])
        heard = []
        for size in (0, 1, 40):
            one = exchange(wire)
            assert run(one, in_pieces(again, size)) == again
            heard.append(one.verdicts)
        assert heard == heard[:1] * 3
        assert heard[0][:1] == sound.verdicts


def test_no_arguments_of_a_tool_without_parameters() -> None:
    for arguments in ({}, {"arguments": ""}, {"arguments": None}):
        begins = {"index": 0, "id": "a", "type": "function", "function": {"name": "now", **arguments}}
        one = exchange("openai_chat")
        out = run(one, [damaging.chat_stream([{"tool_calls": [begins]}])])
        assert heard_chat(out) == [("a", "now", "{}")]
        assert repairs(one) == {"empty_arguments"}
        (change,) = [change for _, verdict in one.verdicts for change in verdict.changes]
        assert (change.rule, change.before, change.after) == ("mend", ("now", ""), ("now", "{}"))


def test_a_tool_without_parameters_is_called_before_another_under_one_index() -> None:
    now, ls = (damaging.entries(call, 0) for call in (NOW, LS))
    head = {**now[0], "function": {"name": NOW.name}}
    one = exchange("openai_chat")
    out = run(one, [damaging.chat_stream([{"tool_calls": [entry]} for entry in (head, *ls)])])
    same_calls(heard_chat(out), (NOW, LS))
    assert "shared_index" in repairs(one)


@pytest.mark.parametrize("reason", ["length", "content_filter", "failed", None])
def test_what_was_cut_off_is_not_completed(reason: str | None) -> None:
    begins = {"index": 0, "id": "a", "type": "function", "function": {"name": "now", "arguments": ""}}
    body = damaging.chat_stream([{"tool_calls": [begins]}], reason)
    if reason is not None:
        assert run(exchange("openai_chat"), [body]) == body
    cut = body.removesuffix(b"data: [DONE]\n\n").removesuffix(damaging.chat_chunk({}, reason))
    assert run(exchange("openai_chat"), [cut]) == cut
    half = damaging.chat_stream([{"tool_calls": [one]} for one in damaging.entries(HALF, 0)], reason)
    assert run(exchange("openai_chat"), [half]) == half
    twice = json.dumps(HALF.arguments)[:-1]
    begins["function"] = {"name": "Bash", "arguments": twice}
    (heard,) = heard_chat(run(exchange("openai_chat"), [damaging.chat_stream([{"tool_calls": [begins]}], reason)]))
    assert heard == ("a", "Bash", HALF.arguments)


def test_an_empty_call_of_a_tool_with_parameters_stays() -> None:
    begins = {"index": 0, "id": "a", "type": "function", "function": {"name": "Bash", "arguments": ""}}
    body = damaging.chat_stream([{"tool_calls": [begins]}])
    assert run(exchange("openai_chat"), [body]) == body


def test_two_objects_that_differ_stay() -> None:
    begins = {"index": 0, "id": "a", "type": "function", "function": {"name": "Bash", "arguments": '{"a":1}{"b":2}'}}
    body = damaging.chat_stream([{"tool_calls": [begins]}])
    assert run(exchange("openai_chat"), [body]) == body


def test_a_name_in_pieces_is_one_name() -> None:
    deltas = [
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "Re"}}]},
        {"tool_calls": [{"index": 0, "function": {"name": "ad", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": CAT.arguments}}]},
    ]
    body = damaging.chat_stream(deltas)
    assert run(exchange("openai_chat"), [body]) == body


def test_the_older_form() -> None:
    for given in ({"command": "a"}, json.dumps(CAT.arguments), CAT.arguments * 2):
        body = damaging.chat_stream([{"function_call": {"name": "Read", "arguments": given}}], "function_call")
        one = exchange("openai_chat")
        out = run(one, [body])
        said = [json.loads(line[6:])["choices"][0]["delta"] for line in out.splitlines() if line.startswith(b"data: {")]
        (call,) = [delta["function_call"] for delta in said if "function_call" in delta]
        assert (call["name"], json.loads(call["arguments"])) == ("Read", {"command": "a"})
        assert repairs(one)


def test_a_text_client_gets_the_mended_calls() -> None:
    body = damaging.chat_stream(CHAT["one index for all"]((LS, CAT)))
    one = exchange("openai_chat", client="text", client_dialect="invoke", upstream="native")
    out = run(one, [body])
    assert out.count(b"<invoke name=") == 2
    assert [(verdict.status, verdict.repairs) for _, verdict in one.verdicts] == [
        ("lowered", ()),
        ("lowered", ("shared_index",)),
    ]


RULE = {"name": "no-rm", "action": "block", "tools": "Bash", "arguments": {"command": "rm"}}


@pytest.mark.parametrize(
    "damage", ["encoded twice", "encoded twice, in pieces", "an object", "the whole in each delta"]
)
def test_rules_see_the_mended_call(damage: str) -> None:
    """What a careless reader would make of the damaged arguments is what the rule is about."""
    route = route_of({"name": "r", "access": {"rules": [RULE]}})
    blocked, passes = (Sound("a", "Bash", (json.dumps({"command": command}),)) for command in ("rm -r /", "ls"))
    one = processed(route, "process")
    assert b"/" not in run(one, [damaging.chat_stream(CHAT[damage]((blocked,)))]).replace(b"rule", b"")
    assert [(verdict.status, verdict.rule) for _, verdict in one.verdicts] == [("blocked", "no-rm")]
    assert repairs(one)
    one = processed(route, "process")
    same_calls(heard_chat(run(one, [damaging.chat_stream(CHAT[damage]((passes,)))])), (passes,))
    assert [verdict.status for _, verdict in one.verdicts] == ["native"]
    assert repairs(one)


def test_a_fault_of_mending_loses_nothing() -> None:
    body = damaging.chat_stream(CHAT["one index for all"]((LS, CAT)))
    for size in (0, 9):
        one = exchange("openai_chat")
        with patch.object(Mend, "_piece", side_effect=ZeroDivisionError):
            pieces = in_pieces(body, size)
            out = b"".join([one.feed(piece) for piece in pieces]) + one.close()
        assert out == body
        assert isinstance(one.failure, ZeroDivisionError)
