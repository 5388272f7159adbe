"""Processors on the wires whose calls come whole: `gemini` and `ollama`.

Strategy: the cases of `openai_chat.yaml`, which say what a model does and what its client gets, are run on these wires
too, in every kind of exchange and every form. What is the wires' own (which frame a call leaves, what is in its
place, the numbering, signatures) stands frame by frame in `tests/cases/processors/{gemini,ollama}.yaml`. All that a
client gets is read by the strict clients, wherever the bytes are cut.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import ollamaclient
from support.casefiles import canonical, load
from support.processorcases import (
    ACTING,
    CASES,
    KINDS,
    history_of,
    route_of,
    run,
    turn,
    words,
)
from support.processorframes import (
    FORMS,
    check_array,
    check_frames,
    check_whole,
    exchange_for,
    frames_of,
    read_back,
    received,
    sent,
)
from support.rewritings import offered
from support.sampling import examples
from toolcalls.processors import Call, Drop, Edit, Say
from toolcalls.processors.reactors import Answer
from toolcalls.requests.evidence import Kind
from toolcalls.route import Reactor, Route
from toolcalls.wires.frames import Form


@pytest.mark.sampled(1, per="case")
@pytest.mark.parametrize(("wire", "form"), FORMS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_the_cases_of_all_wires(case: dict[str, Any], kind: Kind, wire: str, form: Form) -> None:
    route = route_of(case["rules"])
    history = history_of(case)
    for size in (7, 1):
        body = sent(wire, form, frames_of(wire, case["says"], kind, size))
        exchange = exchange_for(wire, route, kind, form, history)
        out = run(exchange, body)
        got = received(wire, form, out)
        if kind in {"lower", "roundtrip"}:
            got = read_back(got)
        assert " ".join(got.text.split()) == case.get("text", "")
        assert [(name, canonical(arguments)) for name, arguments in got.calls] == [
            (name, canonical(arguments)) for name, arguments in turn(case.get("calls", []))
        ]
        assert got.finish in {"stop", "STOP"}
        assert got.numbers in ([], list(range(len(got.calls))))
        assert sorted(words(exchange)) == sorted(case["verdicts"])
        assert [note.rule for _, note in exchange.notes] == case.get("notes", [])
        again = exchange_for(wire, route, kind, form, history)
        cut = run(again, body, 1 if size == 7 else 40)
        assert received(wire, form, cut) == received(wire, form, out)
        assert again.verdicts == exchange.verdicts


# --- frame by frame ---------------------------------------------------------------------------------------------------


OWN = [
    pytest.param(wire, case, id=f"{wire}-{case['title']}")
    for wire in ("gemini", "ollama")
    for case in load("processors", wire)["cases"]
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("wire", "case"), OWN)
def test_frame_by_frame(wire: str, case: dict[str, Any]) -> None:
    check_frames(wire, case)


@pytest.mark.parametrize(
    "case", [case.values[1] for case in OWN if case.values[0] == "gemini"], ids=lambda c: c["title"]
)
def test_in_an_array_no_element_is_left_out(case: dict[str, Any]) -> None:
    check_array(case)


@pytest.mark.parametrize(("wire", "case"), [case for case in OWN if case.values[1].get("whole")])
def test_whole(wire: str, case: dict[str, Any]) -> None:
    check_whole(wire, case)


# --- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wire", "form"), FORMS, ids=str)
@pytest.mark.parametrize("kind", ["roundtrip", "process"])
def test_what_no_processor_changes_leaves_byte_for_byte(kind: Kind, wire: str, form: Form) -> None:
    says = ["I look.\n\n", {"read_file": {"path": "a"}}, {"Bash": {"command": "ls"}}, "\n\nSo."]
    body = sent(wire, form, frames_of(wire, says, kind, 7))
    for step in (1 << 20, 1):
        out = run(exchange_for(wire, ACTING, kind, form), body, step)
        assert out == body


def test_frames_behind_a_held_call_wait_in_their_order() -> None:
    pieces = [
        [{"functionCall": {"name": "Bash", "willContinue": True}}],
        [{"functionCall": {"partialArgs": [{"jsonPath": "$.command", "stringValue": "ls"}], "willContinue": True}}],
        ["Text."],
        [{"functionCall": {}}],
        ["More."],
    ]
    sent_frames = [sent("gemini", "sse", [one], finish=False) for one in pieces]
    exchange = exchange_for("gemini", ACTING, "process", "sse")
    out = [exchange.feed(frame) for frame in sent_frames]
    assert out == [b"", b"", b"", b"".join(sent_frames[:4]), sent_frames[4]]
    body = b"".join(sent_frames)
    assert run(exchange_for("gemini", ACTING, "process", "sse"), body, 1).split() == body.split()


def test_a_call_that_broke_off_is_not_delivered_where_a_rule_might_block_it() -> None:
    pieces = [
        [{"functionCall": {"name": "Bash", "willContinue": True}}],
        [{"functionCall": {"partialArgs": [{"jsonPath": "$.command", "stringValue": "rm"}], "willContinue": True}}],
    ]
    exchange = exchange_for("gemini", ACTING, "process", "sse")
    out = run(exchange, sent("gemini", "sse", pieces))
    assert b"functionCall" not in out
    assert [verdict.status for _, verdict in exchange.verdicts] == ["malformed"]


def test_a_part_of_no_call_opens_nothing_that_was_closed() -> None:
    start = {"name": "Bash", "partialArgs": [{"jsonPath": "$.command", "stringValue": "rm"}], "willContinue": True}
    calls = [{"partialArgs": []}, start, {}, {"name": "Bash", "args": {"command": "ls"}}]
    exchange = exchange_for("gemini", ACTING, "process", "sse")
    out = run(exchange, sent("gemini", "sse", [[{"functionCall": call} for call in calls]]))
    assert b'"rm"' not in out
    assert received("gemini", "sse", out).calls == [("Bash", '{"command": "ls"}')]


@pytest.mark.parametrize(("wire", "form"), FORMS, ids=str)
def test_our_own_fault_opens_nothing_that_was_closed(wire: str, form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> list[bytes]:
        raise RuntimeError("a fault")

    body = sent(wire, form, frames_of(wire, ["Now.\n\n", {"Bash": {"command": "rm x"}}], "process", 7))
    exchange = exchange_for(wire, ACTING, "process", form)
    monkeypatch.setattr(exchange._codec, "encode", broken)
    out = exchange.feed(body) + exchange.close()
    assert exchange.failure is not None
    assert b"rm x" not in out


# --- laws -------------------------------------------------------------------------------------------------------------

LAW = {"access": {"rules": [{"name": "rm", "action": "block", "tools": "Bash", "arguments": {"command": "^rm"}}]}}
COMMANDS = st.sampled_from(["rm x", "ls", "edit", "drop", "say"])
ITEMS = st.one_of(st.sampled_from(["So.", "a <b> ", "\n"]), st.tuples(st.sampled_from(["Bash", "read_file"]), COMMANDS))


def by_command(_: Reactor, call: Call) -> Answer:
    answers: dict[str, Answer] = {
        "edit": Edit("read_file", {"path": "e"}),
        "drop": Drop("Dropped."),
        "say": Say("Mind."),
    }
    return answers.get(call.arguments.get("command", "")) if call.name == "Bash" else None


def left_of(name: str, command: str) -> list[tuple[str, dict[str, Any]]]:
    """What the law's rules leave of a call."""
    if name == "Bash" and command in {"rm x", "drop"}:
        return []
    return [("read_file", {"path": "e"})] if (name, command) == ("Bash", "edit") else [(name, {"command": command})]


@examples(120)
@given(
    st.lists(st.lists(ITEMS, min_size=1, max_size=4), max_size=4),
    st.sampled_from(FORMS),
    st.sampled_from(KINDS),
    st.integers(1, 400),
)
def test_what_is_blocked_goes_and_all_else_arrives_in_order(
    frames: list[list[Any]], target: tuple[str, Form], kind: Kind, step: int
) -> None:
    wire, form = target
    calls = [item for frame in frames for item in frame if isinstance(item, tuple)]
    given_: list[Any] = []
    for frame in frames:
        natives = [(name, {"command": command}) for name, command in (one for one in frame if isinstance(one, tuple))]
        if wire == "gemini":
            left = iter(natives)
            made = [
                one if isinstance(one, str) else dict(zip(("name", "args"), next(left), strict=True)) for one in frame
            ]
            given_.append([one if isinstance(one, str) else {"functionCall": one} for one in made])
        else:
            text = "".join(one for one in frame if isinstance(one, str))
            entries = {"tool_calls": [ollamaclient.call(*one) for one in natives]} if natives else {}
            given_.append({"content": text, **entries})
    route = route_of(LAW)
    route = Route(access=route.access, reactors=(Reactor("test.py", "by_command"),))
    exchange = exchange_for(wire, route, kind, form, (), by_command)
    got = received(wire, form, run(exchange, sent(wire, form, given_), step))
    if kind in {"lower", "roundtrip"} and got.calls == []:
        got = read_back(got)
    expected = [one for name, command in calls for one in left_of(name, command)]
    assert [(name, json.loads(arguments)) for name, arguments in got.calls] == expected
    assert got.finish in {"stop", "STOP"}
    for name, said in (("drop", "Dropped."), ("say", "Mind.")):
        assert got.text.count(said) == (("Bash", name) in calls)


# --- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "kept", "choice", "calling"),
    [
        (["a", "b", "c"], {"b", "c"}, None, {"mode": "ANY", "allowedFunctionNames": ["b", "c"]}),
        (["a", "b"], {"b", "c"}, None, {"mode": "ANY", "allowedFunctionNames": ["b"]}),
        (["a", "b"], {"c"}, None, {"mode": "AUTO"}),
        (["a"], {"b", "c"}, "auto", {"mode": "AUTO"}),
        (["b"], {"b", "c"}, None, {"mode": "ANY", "allowedFunctionNames": ["b"]}),
    ],
)
def test_a_choice_names_no_tool_that_is_not_offered(
    allowed: list[str], kept: set[str], choice: str | None, calling: dict[str, Any]
) -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
        "tools": [{"functionDeclarations": [{"name": name} for name in "abc"]}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": allowed}},
    }
    made = offered("gemini", body, kept, choice)
    assert made["tools"] == [{"functionDeclarations": [{"name": name} for name in sorted(kept)]}, {"googleSearch": {}}]
    assert made["toolConfig"] == {"functionCallingConfig": calling}


def test_a_choice_that_is_spelt_both_ways_names_no_such_tool_either() -> None:
    both = {"mode": "ANY", "allowedFunctionNames": ["a", "b"], "allowed_function_names": ["b", "a"]}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
        "tools": [{"functionDeclarations": [{"name": name} for name in "abc"]}],
        "toolConfig": {"functionCallingConfig": both, "function_calling_config": both},
    }
    left = {"mode": "ANY", "allowedFunctionNames": ["b"], "allowed_function_names": ["b"]}
    made = offered("gemini", body, {"b", "c"})
    assert made["toolConfig"] == {"functionCallingConfig": left, "function_calling_config": left}


def test_fewer_tools_are_offered_to_ollama() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in "ab"]
    body = {"messages": [{"role": "user", "content": "Go."}], "tools": tools}
    assert offered("ollama", body, {"b"})["tools"] == tools[1:]
    assert "tools" not in offered("ollama", body, set())
