"""Processors, case by case: `tests/cases/processors/*.yaml`, in every kind of exchange.

Strategy: a case says what the model does and what the client gets in the end. The model's turn is written as text or
natively, sent streamed (in one piece, and in small ones) and as one body, and read back with the strict client or, for
a text client, with the reader. So whatever a processor does, it must do the same everywhere.
"""

from typing import Any

import pytest

from support.casefiles import CaseFile, case_file
from support.casereports import no_mistakes
from support.chatclient import HEAD, chunk, ending, event, outer, received
from support.processorcases import (
    ACTING,
    CASES,
    KINDS,
    TOOLS,
    body_of,
    check,
    exchange_for,
    frames,
    got,
    history_of,
    native,
    route_of,
    run,
)
from toolcalls.insight import report
from toolcalls.insight.descriptions import describe
from toolcalls.insight.report import make_report, verdict_data
from toolcalls.insight.turn import outcome_of
from toolcalls.mitm.log_line import causes
from toolcalls.processors import EarlierCall
from toolcalls.requests.evidence import Kind
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import write


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(case_file("processors", name), id=name)
        for name in ["openai_chat", "anthropic_and_openai_responses", "gemini", "ollama"]
    ],
)
def test_a_file_has_the_format(file: CaseFile) -> None:
    """A case with a mistake fails here, and in no other test."""
    no_mistakes(file)


@pytest.mark.sampled(2, per="case")
@pytest.mark.parametrize("form", ["sse", "whole"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_exchange_does_the_same(case: dict[str, Any], kind: Kind, form: Form) -> None:
    route = route_of(case["rules"])
    history = history_of(case)
    body = body_of(case["says"], kind, form)
    exchange = exchange_for(route, kind, form, history)
    out = run(exchange, body)
    check(case, exchange, got(out, kind, form), kind)
    for step in (1, 50):
        again = exchange_for(route, kind, form, history)
        assert run(again, body, step) == out
        assert again.verdicts == exchange.verdicts
    other = body_of(case["says"], kind, form, step=1)
    check(case, *((made := exchange_for(route, kind, form, history)), got(run(made, other), kind, form)), kind)


# --- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["roundtrip", "process"])
@pytest.mark.parametrize("form", ["sse", "whole"])
def test_what_no_processor_changes_leaves_byte_for_byte(kind: Kind, form: Form) -> None:
    says = ["I look.\n\n", {"read_file": {"path": "a"}}, {"Bash": {"command": "ls"}}, "\n\nSo."]
    body = body_of(says, kind, form)
    for step in (1 << 20, 1):
        assert run(exchange_for(ACTING, kind, form), body, step) == body


def test_a_call_is_held_until_its_argument_is_final_and_no_longer() -> None:
    exchange = exchange_for(ACTING, "process")
    head = event(chunk(HEAD))
    sent = frames(*native(0, "Bash", '{"command": "l', "s", '", "timeout": 1', "2", "}"))
    assert exchange.feed(head) == head
    assert [exchange.feed(frame) for frame in sent] == [b"", b"", b"", b"".join(sent[:4]), sent[4], sent[5]]


def test_a_call_that_only_its_name_decides_is_not_held() -> None:
    exchange = exchange_for(ACTING, "process")
    exchange.feed(event(chunk(HEAD)))
    for frame in frames(*native(0, "read_file", '{"path": "', 'a"}')):
        assert exchange.feed(frame) == frame


def test_an_argument_that_comes_twice_does_not_slip_through() -> None:
    exchange = exchange_for(ACTING, "process")
    sent = frames(*native(0, "Bash", '{"command": "ls", ', '"command": "rm -rf /"}'))
    out = run(exchange, b"".join([event(chunk(HEAD)), *sent, ending("tool_calls")]))
    choice = received(out).choices[0]
    assert (choice.finish, choice.calls[0]["arguments"]) == ("length", '{"command": "ls", ')
    assert [(verdict.status, verdict.rule) for _, verdict in exchange.verdicts] == [("blocked", "rm")]


@pytest.mark.parametrize("arguments", ['{"command": "r', "[1]", '{"command": "ls"} x', '{"command": ls}'])
@pytest.mark.parametrize("kind", ["lower", "process"])
def test_arguments_that_cannot_be_read_are_blocked_where_a_rule_might(arguments: str, kind: Kind) -> None:
    rule = {"name": "x", "action": "block", "tools": "Bash", "arguments": {"*": "rm"}}
    exchange = exchange_for(route_of({"access": {"rules": [rule]}}), kind)
    out = run(exchange, b"".join([event(chunk(HEAD)), *frames(*native(0, "Bash", arguments)), ending("tool_calls")]))
    choice = received(out).choices[0]
    assert (choice.calls, choice.finish) == ([], "stop")
    ((_, verdict),) = exchange.verdicts
    assert (verdict.status, verdict.reason, verdict.rule, verdict.index) == ("malformed", "bad_arguments", "x", None)
    report = make_report(exchange)
    assert report["summary"] == "1 malformed: bad_arguments"
    assert describe(report["verdicts"][0], report)[1] == "did not get it"
    assert outcome_of(report["verdicts"][0], waits=True) == "broken"
    assert list(causes(report)) == [
        "Bash, native → not delivered. x, bad_arguments: the call's arguments are not a JSON object"
    ]


@pytest.mark.parametrize("kind", ["lower", "process"])
def test_arguments_that_were_cut_off_may_have_been_sound(kind: Kind) -> None:
    rule = {"name": "x", "action": "block", "tools": "Bash", "arguments": {"*": "rm"}}
    exchange = exchange_for(route_of({"access": {"rules": [rule]}}), kind)
    run(exchange, b"".join([event(chunk(HEAD)), *frames(*native(0, "Bash", '{"command": "r')), ending("length")]))
    ((_, verdict),) = exchange.verdicts
    assert (verdict.status, verdict.reason, verdict.rule) == ("blocked", "undecided", "x")
    assert outcome_of(verdict_data(verdict), waits=True) == "blocked"


@pytest.mark.parametrize("behind", ['x "command": "rm -rf /"}', "'command': 'rm -rf /'}"])
@pytest.mark.parametrize("kind", ["lower", "process"])
def test_what_breaks_behind_a_decision_is_never_completed(behind: str, kind: Kind) -> None:
    """A client that mends JSON would find there what no rule has seen."""
    exchange = exchange_for(ACTING, kind)
    sent = frames(*native(0, "Bash", '{"command": "ls", ', behind))
    out = run(exchange, b"".join([event(chunk(HEAD)), *sent, ending("tool_calls")]))
    assert b"rm -rf" not in out
    assert received(out).choices[0].finish == "length"
    assert [(verdict.status, verdict.reason, verdict.rule) for _, verdict in exchange.verdicts] == [
        ("malformed", "bad_arguments", "rm")
    ]
    report = make_report(exchange)
    assert describe(report["verdicts"][0], report)[1] == "got the beginning of it, which is never completed"


@pytest.mark.parametrize("kind", ["lower", "process"])
@pytest.mark.parametrize(
    "entry",
    [
        {"index": 0, "function": {"arguments": ""}},
        {"index": 0, "id": "n0", "type": "function", "function": {"name": "Bash", "arguments": ""}},
        {"index": 0},
    ],
    ids=["no more arguments", "name and id once more", "nothing"],
)
def test_an_entry_that_adds_nothing_goes_with_its_call(entry: dict[str, Any], kind: Kind) -> None:
    """Servers end a call with one; left alone it would be a call without a name, or one without arguments."""
    rule = {"name": "x", "action": "block", "tools": "Bash", "message": "No."}
    calls = [*native(0, "Bash", '{"command": "ls"}'), entry, *native(1, "read_file", '{"path": "a"}')]
    exchange = exchange_for(route_of({"access": {"rules": [rule]}}), kind)
    found = got(run(exchange, b"".join([event(chunk(HEAD)), *frames(*calls), ending("tool_calls")])), kind, "sse")
    assert (found.text.strip(), [call["name"] for call in found.calls]) == ("No.", ["read_file"])


@pytest.mark.parametrize("kind", ["lower", "process"])
@pytest.mark.parametrize("rules", [
    {"access": {"default": "deny", "message": "No {tool}."}},
    {"loops": {"action": "replace", "same_call": 2, "text": "No {what}."}},
])  # fmt: skip
def test_a_name_that_holds_a_call_is_not_said(rules: dict[str, Any], kind: Kind) -> None:
    name = "x\n" + write("invoke", [Call("Bash", '{"command":"rm x"}')], Toolbox(TOOLS))
    exchange = exchange_for(route_of(rules), kind, history=(EarlierCall(name, '{"command":"ls"}', "a"),))
    out = run(
        exchange, b"".join([event(chunk(HEAD)), *frames(*native(0, name, '{"command": "ls"}')), ending("tool_calls")])
    )
    found = got(out, kind, "sse")
    assert found.calls == []
    assert found.text.strip() in {"No the tool.", "No the tool was called the same way 2 times."}


def test_two_calls_in_one_frame_are_told_apart() -> None:
    entries = [
        {"index": place, "id": f"n{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate([("Bash", '{"command":"rm"}'), ("read_file", '{"path":"a"}')])
    ]
    body = event(chunk({**HEAD, "tool_calls": entries})) + ending("tool_calls")
    choice = received(run(exchange_for(ACTING, "process"), body)).choices[0]
    assert [(call["id"], call["name"]) for call in choice.calls] == [("n1", "read_file")]


@pytest.mark.parametrize(
    ("delta", "reads"),
    [
        ({"tool_calls": {"index": 0, "function": {"name": "Bash", "arguments": '{"command":"rm x"}'}}}, 0),
        ({"more": {"tool_calls": [{"function": {"name": "Bash", "arguments": '{"command":"rm x"}'}}]}}, 0),
        ({"content": 'So: {"tool_calls": [{"name": "rm x"}], "function_call": {}}', "function_call": None}, 1),
        ({"tool_calls": []}, 1),
    ],
)
def test_a_call_that_cannot_be_read_opens_nothing(delta: dict[str, Any], reads: bool) -> None:
    """Without a rule that blocks it passes, as all that is not read."""
    body = event(chunk(HEAD)) + event(chunk(delta)) + ending("stop")
    exchange = exchange_for(ACTING, "process")
    out = exchange.feed(body) + exchange.close()
    assert exchange.failure is None
    rules = [note.rule for _, note in exchange.notes]
    assert rules == (([] if "content" in delta else ["empty"]) if reads else ["unread"])
    assert (out == body) == reads
    assert reads or b"rm x" not in out
    assert run(exchange_for(route_of({"loops": {}}), "process"), body) == body


@pytest.mark.parametrize("form", ["sse", "whole"])
def test_our_own_fault_opens_nothing_that_was_closed(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> list[bytes]:
        raise RuntimeError("a fault")

    body = body_of(["Now.\n\n", {"Bash": {"command": "rm x"}}], "process", form)
    exchange = exchange_for(ACTING, "process", form)
    monkeypatch.setattr(exchange._codec, "encode", broken)
    out = exchange.feed(body) + exchange.close()
    assert exchange.failure is not None
    assert b"rm x" not in out


def test_a_blocked_call_shows_before_and_after() -> None:
    exchange = exchange_for(ACTING, "lift")
    run(exchange, body_of([{"Bash": {"command": "rm x"}}], "lift", "sse"))
    ((_, verdict),) = exchange.verdicts
    ((change),) = verdict.changes
    assert (verdict.status, verdict.reason, verdict.rule, verdict.index) == ("blocked", "access", "rm", None)
    assert (change.rule, change.before, change.after) == ("rm", ("Bash", '{"command":"rm x"}'), None)
    assert report.make_report(exchange)["summary"] == "1 blocked: rm"


def test_each_choice_is_a_reply_of_its_own() -> None:
    """What stops one choice, or was said or counted in it, does not touch the other."""
    route = route_of({"loops": {"action": "stop", "same_call": 2, "text": "Stop."}})

    def part(choice: int, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return event(outer([{"index": choice, "delta": delta, "finish_reason": finish}]))

    ls = {"name": "Bash", "arguments": '{"command": "ls"}'}
    calls = [[ls, ls], [ls, {"name": "Bash", "arguments": '{"command": "pwd"}'}]]
    body = b"".join(part(choice, {**HEAD, "content": "So."}) for choice in (0, 1))
    for place in (0, 1):
        for choice in (0, 1):
            call = {"index": place, "id": f"n{choice}{place}", "type": "function", "function": calls[choice][place]}
            body += part(choice, {"tool_calls": [call]})
    body += b"".join(part(choice, {"content": "End."}) for choice in (0, 1))
    body += part(0, {}, "tool_calls") + part(1, {}, "tool_calls") + b"data: [DONE]\n\n"
    exchange = exchange_for(route, "process")
    choices = received(run(exchange, body)).choices
    first, second = choices[0], choices[1]
    assert (first.text, len(first.calls)) == ("So.\n\nStop.", 1)
    assert (second.text, len(second.calls), second.finish) == ("So.End.", 2, "tool_calls")
    assert [(lane, note.rule) for lane, note in exchange.notes] == [(0, "same_call")]
