"""Processors on the wires whose replies are rows of blocks or items: `anthropic` and `openai_responses`.

Strategy: the cases of `openai_chat.yaml`, which say what a model does and what its client gets, are run on these wires
too, in every kind of exchange, streamed and whole. What native calls leave behind in a row (which block or item is
where, what broke off, why the reply ended) is in `tests/cases/processors/anthropic_and_openai_responses.yaml`, cut
at every place. All that a client gets is read by the strict clients. Laws end it: any row, any rules, any cut.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import anthropicclient, responsesclient
from support.casefiles import load
from support.exchanges import of_kind
from support.processorcases import (
    ACTING,
    CASES,
    KINDS,
    TOOLS,
    history_of,
    no_reactors,
    route_of,
    run,
    words,
)
from support.processorrows import (
    FORMS,
    WIRES,
    Got,
    check_row,
    check_whole,
    events,
    exchange_for,
    finish_of,
    react,
    read_back,
    received,
    row_of,
    same_calls,
    sent,
)
from support.rewritings import offered
from support.sampling import examples
from toolcalls.dialects import all_dialects
from toolcalls.processors import Processors
from toolcalls.requests.evidence import Kind
from toolcalls.route import Reactor, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

FILE = load("processors", "anthropic_and_openai_responses")
OWN = [pytest.param(case, id=case["title"]) for case in FILE["cases"]]


# --- the cases of all wires -------------------------------------------------------------------------------------------


@pytest.mark.sampled(1, per="case")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_the_cases_of_all_wires(case: dict[str, Any], kind: Kind, wire: str, form: Form) -> None:
    route = route_of(case["rules"])
    history = history_of(case)
    for size in (7, 1):
        body = sent(wire, form, row_of(case["says"], kind), size)
        exchange = exchange_for(wire, route, kind, form, history)
        out = run(exchange, body)
        got = received(wire, form, out)
        finish = case["finish"]
        if kind in {"lower", "roundtrip"}:
            got, finish = read_back(got), "stop" if finish == "tool_calls" else finish
        assert " ".join(got.text.split()) == case.get("text", "")
        assert same_calls(got.calls, case.get("calls", []))
        assert got.finish == finish_of(wire, finish)
        assert sorted(words(exchange)) == sorted(case["verdicts"])
        assert [note.rule for _, note in exchange.notes] == case.get("notes", [])
        again = exchange_for(wire, route, kind, form, history)
        assert run(again, body, 3 if size == 7 else 50) == out
        assert again.verdicts == exchange.verdicts


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_calls_that_a_message_begins_with(case: dict[str, Any], kind: Kind) -> None:
    """The Messages API's first event may bring whole blocks along: what rules say of calls holds for them, too."""
    route = route_of(case["rules"])
    history = history_of(case)
    made = anthropicclient.at_once(events("anthropic", row_of(case["says"], kind), 7))
    exchange = exchange_for("anthropic", route, kind, "sse", history)
    out = run(exchange, anthropicclient.written(made))
    assert sorted(words(exchange)) == sorted(case["verdicts"])
    if any(word.startswith("blocked") for word in case["verdicts"]):
        got, finish = received("anthropic", "sse", out), case["finish"]
        if kind in {"lower", "roundtrip"}:
            got, finish = read_back(got), "stop" if finish == "tool_calls" else finish
        assert " ".join(got.text.split()) == case.get("text", "")
        assert same_calls(got.calls, case.get("calls", []))
        assert got.finish == finish


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("case", OWN)
def test_a_row_streamed(case: dict[str, Any], wire: str) -> None:
    check_row(wire, case)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("case", [one for one in OWN if one.values[0].get("whole", True)])
def test_a_row_as_one_body(case: dict[str, Any], wire: str) -> None:
    check_whole(wire, case)


# --- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_is_held_until_its_argument_is_final_and_no_longer(wire: str) -> None:
    client: Any = anthropicclient if wire == "anthropic" else responsesclient
    row = [{"call": "Bash", "json": '{"command": "ls", "t": 12}', "pieces": ['{"command": "l', "s", '", "t": 1', "2}"]}]
    made = [client.written([event]) for event in events(wire, row, 7)]
    head = 2  # a ping, or `response.in_progress`
    if wire == "anthropic":
        head, made = 1, [made[0], *made[1:2], *made[3:]]
    exchange = exchange_for(wire, ACTING, "process", "sse")
    out = [exchange.feed(one) for one in made]
    held = head + 4
    assert out == [*made[:head], b"", b"", b"", b"".join(made[head:held]), *made[held:]]


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_that_only_its_name_decides_is_not_held(wire: str) -> None:
    client: Any = anthropicclient if wire == "anthropic" else responsesclient
    exchange = exchange_for(wire, ACTING, "process", "sse")
    for event in events(wire, [{"call": "read_file", "json": '{"path": "a"}', "pieces": ['{"path"', ': "a"}']}], 7):
        frame = client.written([event])
        assert exchange.feed(frame) == frame


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("form", FORMS)
def test_our_own_fault_opens_nothing_that_was_closed(wire: str, form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> list[bytes]:
        raise RuntimeError("a fault")

    body = sent(wire, form, ["Now.", {"call": "Bash", "arguments": {"command": "rm x"}}])
    exchange = exchange_for(wire, ACTING, "process", form)
    monkeypatch.setattr(exchange._codec, "encode", broken)
    out = exchange.feed(body) + exchange.close()
    assert exchange.failure is not None
    assert b"rm x" not in out


@pytest.mark.parametrize("kind", ["lift", "lower", "process"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_blocked_call_that_a_reply_breaks_off_in_is_not_delivered(wire: str, kind: Kind) -> None:
    client: Any = anthropicclient if wire == "anthropic" else responsesclient
    made = events(wire, ["Now.", {"call": "Bash", "json": '{"command": "rm x"}', "pieces": ['{"command": ', '"rm']}], 7)
    last = next(place for place, event in enumerate(made) if b'"rm' in client.written([event]).replace(b"\\", b""))
    rule = {"name": "x", "action": "block", "tools": "Bash", "message": "No.", "arguments": {"command": "rm"}}
    exchange = exchange_for(wire, route_of({"access": {"rules": [rule]}}), kind, "sse")
    out = exchange.feed(client.written(made[: last + 1])) + exchange.abort()
    assert exchange.failure is None
    assert not any(word in out for word in (b"Bash", b"rm", b"tool_use", b"function_call"))
    assert [(verdict.status, verdict.name) for _, verdict in exchange.verdicts] == [("blocked", "Bash")]


# --- the whole response of a Responses stream -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_calls_that_only_the_whole_response_holds_are_judged(kind: Kind) -> None:
    row = [
        "Now.", {"call": "Bash", "arguments": {"command": "rm x"}}, {"call": "read_file", "arguments": {"path": "a"}},
    ]  # fmt: skip
    made = events("openai_responses", row, 7)
    body = responsesclient.written([event for event in made if event.get("output_index", 0) == 0])
    exchange = exchange_for("openai_responses", ACTING, kind, "sse")
    out = run(exchange, body)
    assert sorted(words(exchange)) == ["blocked Bash rm", "passed read_file"]
    ends = responsesclient.events_of(out)[-1]
    got = responsesclient.Reply()
    responsesclient.take_items(got, ends["response"])
    assert b"rm x" not in out
    if kind in {"lower", "roundtrip"}:
        back = read_back(Got(got.text, [], "stop", got.order, texts=[got.text]))
        assert same_calls(back.calls, [{"read_file": {"path": "a"}}])
    else:
        assert [(call["name"], call["arguments"]) for call in got.calls] == [("read_file", '{"path": "a"}')]
    passing = exchange_for("openai_responses", Route(), "process", "sse")
    assert run(passing, body) == body


def test_a_blocked_call_is_not_in_the_whole_response_of_a_server_that_numbers_no_items() -> None:
    made = events("openai_responses", ["Now.", {"call": "Bash", "arguments": {"command": "rm x"}}], 7)
    body = responsesclient.written([{**e, "output_index": 0} if "output_index" in e else e for e in made])
    out = run(exchange_for("openai_responses", ACTING, "process", "sse"), body)
    assert b"rm x" not in out


# --- laws -------------------------------------------------------------------------------------------------------------

EXAMPLES = 250
LAW = {"access": {"rules": [{"name": "rm", "action": "block", "tools": "Bash", "arguments": {"command": "^rm"}}]}}
COMMANDS = st.sampled_from(["rm x", "ls", "edit", "rename", "drop", "vanish", "say"])
ITEMS = st.one_of(
    st.sampled_from(["So.", "a <b> ", "\n"]), st.just({"thinking": "Hm."}),
    st.builds(
        lambda name, command: {"call": name, "arguments": {"command": command}},
        st.sampled_from(["Bash", "read_file"]), COMMANDS,
    ),
)  # fmt: skip


def left_of(name: str, command: str) -> list[tuple[str, dict[str, Any]]]:
    """What the law's rules leave of a call."""
    if name == "Bash" and command in {"rm x", "drop", "vanish"}:
        return []
    if name == "Bash" and command in {"edit", "rename"}:
        return [("Bash", {"command": "edited"}) if command == "edit" else ("read_file", {"command": command})]
    return [(name, {"command": command})]


@examples(EXAMPLES)
@given(
    st.lists(ITEMS, max_size=7), st.sampled_from(WIRES), st.sampled_from(FORMS), st.sampled_from(KINDS),
    st.integers(1, 30), st.integers(1, 400),
)  # fmt: skip
def test_what_is_blocked_goes_and_all_else_arrives_in_order(
    row: list[Any], wire: str, form: Form, kind: Kind, size: int, step: int
) -> None:
    route = Route(access=route_of(LAW).access, reactors=(Reactor("test.py", "react"),))
    exchange = exchange_for(wire, route, kind, form, (), react)
    body = sent(wire, form, row, size)
    out = run(exchange, body, step)
    got = received(wire, form, out)
    assert len(set(got.ids)) == len(got.ids)
    if kind in {"lower", "roundtrip"} and got.calls == []:
        got = read_back(got)
    calls = [(item["call"], item["arguments"]["command"]) for item in row if isinstance(item, dict) and "call" in item]
    expected = [one for name, command in calls for one in left_of(name, command)]
    assert [(name, json.loads(arguments)) for name, arguments in got.calls] == expected
    if kind in {"lift", "process"}:
        assert got.order.count("r") == sum(isinstance(item, dict) and "thinking" in item for item in row)
        assert got.finish == finish_of(wire, "tool_calls" if expected else "stop")
        said = [item for item in row if isinstance(item, str)]
        assert all(text in got.text for text in said)
        if all(left_of(*one) == [(one[0], {"command": one[1]})] and one != ("Bash", "say") for one in calls):
            assert out == body
    for command, text in (("drop", "Dropped."), ("say", "Mind.")):
        assert (text in got.text) == (("Bash", command) in calls)
    statuses = [verdict.status for _, verdict in exchange.verdicts]
    assert statuses.count("blocked") == sum(not left_of(*one) for one in calls)


@pytest.mark.parametrize("dialect", all_dialects())
def test_calls_on_both_sides_of_reasoning_reach_a_text_client(dialect: str) -> None:
    """The reasoning decides what came before it; the calls after it are written and screened all the same."""
    row = [{"call": "Bash", "arguments": {"command": "ls"}}, {"thinking": "Hm."}]
    row.append({"call": "Bash", "arguments": {"command": "pwd"}})
    route = Route(access=route_of(LAW).access)
    processors = Processors(route, model="m", agent="test/1", history=(), run=no_reactors)
    exchange = of_kind(
        all_wires()["anthropic"], TOOLS, route, "lower",
        form="sse", upstream="auto", dialect=dialect, processors=processors,
    )  # fmt: skip
    got = received("anthropic", "sse", run(exchange, sent("anthropic", "sse", row, 5), 7))
    assert exchange.notes == []
    commands = [json.loads(arguments)["command"] for _, arguments in got.calls]
    assert all(command in got.text or command in commands for command in ("ls", "pwd"))


# --- requests ---------------------------------------------------------------------------------------------------------


def test_fewer_tools_are_offered_to_anthropic() -> None:
    hosted = {"type": "web_search_20250305", "name": "web_search"}
    mark = {"cache_control": {"type": "ephemeral"}}
    tools = [{"name": name, "input_schema": {"type": "object"}, **mark} for name in "ab"]
    body = {
        "messages": [{"role": "user", "content": "Go."}], "tools": [*tools, hosted],
        "tool_choice": {"type": "tool", "name": "a", "disable_parallel_tool_use": True},
    }  # fmt: skip
    made = offered("anthropic", body, {"b"}, "auto")
    assert made["tools"] == [tools[1], hosted]
    assert made["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert offered("anthropic", body, {"a"})["tool_choice"] == body["tool_choice"]


CHOICE = {"type": "function", "name": "a"}
ALLOWED = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": name} for name in "ab"]}


@pytest.mark.parametrize(
    ("choice", "kept", "now", "made"),
    [
        (CHOICE, {"b"}, "auto", "auto"),
        (CHOICE, {"a"}, None, CHOICE),
        ({"type": "web_search"}, {"a"}, None, {"type": "web_search"}),
        ("required", {"a"}, None, "required"),
        ("auto", {"a"}, "a", CHOICE),
        (ALLOWED, {"a"}, None, {**ALLOWED, "tools": [{"type": "function", "name": "a"}]}),
    ],
    ids=str,
)
def test_fewer_tools_are_offered_to_responses(choice: Any, kept: set[str], now: str | None, made: Any) -> None:
    tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in "ab"]
    body = {"input": "Go.", "tools": [*tools, {"type": "web_search"}], "tool_choice": choice}
    changed = offered("openai_responses", body, kept, now)
    assert changed["tools"] == [*(tool for tool in tools if tool["name"] in kept), {"type": "web_search"}]
    assert changed["tool_choice"] == made
