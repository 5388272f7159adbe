"""Calls of the Responses API that are no functions, under rules and in processors' hands.

Strategy: one item of each kind, streamed with all the events that its API has for it, and whole. A rule sees each by
its tool's name and its arguments; what is blocked leaves no byte; what passes leaves as it came; what is made anew is
of its kind. Then the text of a custom tool out of its argument JSON, against the standard library, however it is cut.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.processorcases import no_reactors, route_of
from support.responsesclient import Reply, received, stream, take_items, whole, written
from support.strategies import cut, law
from toolcalls.processors import Call, Edit, Processors
from toolcalls.processors.reactors import Answer, Runner
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision, Kind, call_policy_of
from toolcalls.route import Reactor, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form
from toolcalls.wires.openai_responses.calls import CustomInput, input_of

WIRE = all_wires()["openai_responses"]
FORMS: tuple[Form, ...] = ("sse", "whole")

# One of each kind, with a word that must not leave when it is blocked, and the events that are about it alone.
ITEMS: dict[str, dict[str, Any]] = {
    "custom": {
        "type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "shell_text", "input": "rm -rf secret",
    },
    "local_shell": {
        "type": "local_shell_call", "id": "lsh_1", "call_id": "call_1",
        "action": {"type": "exec", "command": ["rm", "-rf", "secret"], "env": {}},
    },
    "shell": {
        "type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": ["rm secret"]},
        "environment": {"type": "local"},
    },
    "apply_patch": {
        "type": "apply_patch_call", "id": "apc_1", "call_id": "call_1",
        "operation": {"type": "delete_file", "path": "rm/secret", "diff": "-secret"},
    },
    "computer": {
        "type": "computer_call", "id": "cu_1", "call_id": "call_1", "pending_safety_checks": [],
        "action": {"type": "type", "text": "rm secret"},
    },
    "computer in steps": {
        "type": "computer_call", "id": "cu_1", "call_id": "call_1", "pending_safety_checks": [],
        "actions": [{"type": "screenshot"}, {"type": "type", "text": "rm secret"}],
    },
}  # fmt: skip
NAMES = {kind: ITEMS[kind].get("name", kind.split(" ")[0]) for kind in ITEMS}
SIDE: dict[str, list[dict[str, Any]]] = {
    "shell": [{"type": "response.shell_call_command.done", "command_index": 0, "command": "rm secret"}],
    "apply_patch": [
        {"type": "response.apply_patch_call_operation_diff.delta", "item_id": "apc_1", "delta": "-secret"},
        {"type": "response.apply_patch_call_operation_diff.done", "item_id": "apc_1", "diff": "-secret"},
    ],
}


def exchange_for(route: Route, form: Form, kind: Kind = "process", runner: Runner = no_reactors) -> Exchange:
    tools = (Tool("shell_text", {"properties": {"input": {"type": "string"}}}, form="custom_tool_call"), Tool("Bash"))
    decision = Decision(kind, "native", "auto", None, ())
    call_policy, box = call_policy_of(route, Request(tools=tools, model="m"), decision)
    processors = Processors(route, model="m", agent="test/1", run=runner) if route.processes else None
    return Exchange(WIRE, call_policy, decision, box, form=form, seed=b"s", processors=processors)


def events(kind: str, *, before: str = "Look.", after: str = "Done.") -> list[dict[str, Any]]:
    """A reply with the call between two messages. All that is about it has the place that it has."""
    made = stream([before, ITEMS[kind], after])
    ends = (place for place, event in enumerate(made) if event["type"] == "response.output_item.done")
    at = [*ends][1]
    side = [{**event, "output_index": 1} for event in SIDE.get(kind, ())]
    made[at:at] = side
    return [{**event, "sequence_number": number} for number, event in enumerate(made)]


def sent(made: list[dict[str, Any]], form: Form) -> bytes:
    return whole(made) if form == "whole" else written(made)


def run(exchange: Exchange, body: bytes, step: int = 0) -> bytes:
    step = step or len(body)
    out = b"".join(exchange.feed(body[at : at + step]) for at in range(0, len(body), step)) + exchange.close()
    assert exchange.failure is None, repr(exchange.failure)
    return out


def got(out: bytes, form: Form) -> Reply:
    if form == "sse":
        return received(out)
    reply = Reply()
    take_items(reply, json.loads(out))
    return reply


def statuses(exchange: Exchange) -> list[tuple[str, str | None, str | None]]:
    return [(one.status, one.name, one.rule) for _, one in exchange.verdicts]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ITEMS)
def test_what_is_not_allowed_leaves_no_byte(kind: str, form: Form) -> None:
    """Fail closed: no kind of call goes round `default: deny`."""
    route = route_of({"access": {"default": "deny", "message": "No."}})
    body = sent(events(kind), form)
    exchange = exchange_for(route, form)
    out = run(exchange, body)
    assert b"secret" not in out
    assert b"call_1" not in out
    reply = got(out, form)
    assert reply.calls == []
    assert reply.text.replace("\n", "") == "Look.No.Done."
    assert [(status, name) for status, name, _ in statuses(exchange)] == [("blocked", NAMES[kind])]
    if form == "sse":
        again = exchange_for(route, form)
        assert run(again, body, 1) == out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ITEMS)
def test_what_a_rule_finds_in_an_argument_leaves_no_byte(kind: str, form: Form) -> None:
    key = {"custom": "input", "local_shell": "command", "shell": "commands", "apply_patch": "path", "computer": "text"}
    rule = {"name": "rm", "action": "block", "tools": NAMES[kind], "arguments": {key.get(kind, "actions"): "rm"}}
    body = sent(events(kind), form)
    exchange = exchange_for(route_of({"access": {"message": "No.", "rules": [rule]}}), form)
    out = run(exchange, body)
    assert b"secret" not in out
    assert got(out, form).calls == []
    assert statuses(exchange) == [("blocked", NAMES[kind], "rm")]
    rule["arguments"] = {key.get(kind, "actions"): "xyz"}
    passing = exchange_for(route_of({"access": {"message": "No.", "rules": [rule]}}), form)
    assert run(passing, body) == body
    assert statuses(passing) == [("native", NAMES[kind], None)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ITEMS)
def test_what_passes_behind_what_was_lifted_keeps_all_that_it_says(kind: str, form: Form) -> None:
    """Only places and numbers are others."""
    made = events(kind, before='<invoke name="Bash"></invoke>\nSo.')
    exchange = exchange_for(route_of({}), form, "lift")
    out = run(exchange, sent(made, form))
    reply = got(out, form)
    assert [call["name"] for call in reply.calls] == ["Bash", NAMES[kind]]
    (item,) = [item for item in reply.items if item["type"] == ITEMS[kind]["type"]]
    assert {key: item[key] for key in ITEMS[kind]} == ITEMS[kind]
    if form == "sse":
        told = [json.loads(line[6:]) for line in out.split(b"\n") if line.startswith(b"data: ")]
        sides = [event for event in told if event["type"] in {side["type"] for side in SIDE.get(kind, ())}]
        assert [event["output_index"] for event in sides] == [2] * len(SIDE.get(kind, ()))


def edited(change: Mapping[str, Any], name: str | None = None) -> Runner:
    def react(_: Reactor, call: Call) -> Answer:
        return Edit(name=name, arguments=dict(change) if name else {**call.arguments, **change})

    return react


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("custom", {"input": 'ls "größe" \\ 😀'}),
        ("local_shell", {"command": ["ls"]}),
        ("shell", {"commands": ["ls"]}),
        ("apply_patch", {"path": "else", "diff": "-x"}),
        ("computer", {"text": "ls"}),
        ("computer in steps", {"actions": [{"type": "screenshot"}]}),
    ],
)
def test_a_call_made_anew_is_of_the_same_kind(kind: str, change: dict[str, Any], form: Form) -> None:
    route = Route(reactors=(Reactor("test.py", "react"),))
    exchange = exchange_for(route, form, runner=edited(change))
    reply = got(run(exchange, sent(events(kind), form)), form)
    (call,) = reply.calls
    assert (call["name"], call["form"], call["id"]) == (NAMES[kind], ITEMS[kind]["type"], "call_1")
    held = next(key for key in ("input", "action", "actions", "operation") if key in ITEMS[kind])
    (item,) = [item for item in reply.items if item["type"] == ITEMS[kind]["type"]]
    before = ITEMS[kind][held]
    expected = {**before, **change} if isinstance(before, dict) else change[held]
    assert item[held] == expected
    rest = set(ITEMS[kind]) - {held, "id"}
    assert {key: item[key] for key in rest} == {key: ITEMS[kind][key] for key in rest}
    assert reply.order == "tct"


@pytest.mark.parametrize("form", FORMS)
def test_a_custom_call_that_becomes_another_tools_is_a_function(form: Form) -> None:
    route = Route(reactors=(Reactor("test.py", "react"),))
    exchange = exchange_for(route, form, runner=edited({"command": "ls"}, "Bash"))
    (call,) = got(run(exchange, sent(events("custom"), form)), form).calls
    assert (call["name"], call["form"], json.loads(call["arguments"])) == ("Bash", "function_call", {"command": "ls"})


def test_a_shell_in_a_container_of_the_servers_is_no_call_of_the_clients() -> None:
    item = {**ITEMS["shell"], "environment": {"type": "container_reference", "container_id": "c"}}
    body = written(stream(["Look.", item]))
    exchange = exchange_for(route_of({"access": {"default": "deny", "message": "No."}}), "sse")
    assert run(exchange, body) == body
    assert exchange.verdicts == []


def test_a_long_text_for_a_custom_tool_streams() -> None:
    """What has come of it is told before the call is whole."""
    exchange = exchange_for(route_of({}), "sse", "lift")
    head = '<invoke name="shell_text">\n<parameter name="input">'
    made = stream([[head, "echo one\n", "echo two\n", "echo three</parameter>\n</invoke>"]])
    early = b"".join([exchange.feed(written([event])) for event in made[:7]])
    assert b'"response.custom_tool_call_input.delta"' in early
    assert b"echo one" in early
    assert b"custom_tool_call_input.done" not in early


# --- the text of a custom tool ----------------------------------------------------------------------------------------


@law
@given(st.data(), st.text(st.characters(), max_size=20), st.booleans(), st.sampled_from(["", " ", "\n\t"]))
def test_the_text_is_told_as_it_comes(data: st.DataObject, text: str, ascii_only: bool, space: str) -> None:
    arguments = f'{space}{{{space}"input"{space}:{space}{json.dumps(text, ensure_ascii=ascii_only)}{space}}}'
    reader = CustomInput()
    told = [reader.feed(piece) for piece in data.draw(cut(arguments))]
    assert "".join(told) + reader.end() == text
    assert input_of(arguments, ended=True) == text


@pytest.mark.parametrize(
    "arguments", ["{}", '{"patch":"x"}', '{"input":5}', '{"other":1,"input":"x"}', f'{{"{"k" * 99}":1}}']
)
def test_another_object_is_the_text_itself(arguments: str) -> None:
    assert input_of(arguments, ended=True) == arguments
    assert input_of(arguments, ended=False) == ""


@pytest.mark.parametrize("arguments", ['{"input":"a\\ud83d', '{"input":"a\\', '{"input":"a\\u00', '{"input":"a'])
def test_what_broke_off_in_a_character_is_told_up_to_it(arguments: str) -> None:
    assert input_of(arguments, ended=False) == "a"


@pytest.mark.parametrize("kind", ITEMS)
def test_an_item_that_is_told_twice_is_one_call(kind: str) -> None:
    """A gateway that repeats an event makes no second call of it, and its bytes leave as they came."""
    added = "response.output_item.added"
    body = written([again for event in events(kind) for again in [event] * (2 if event["type"] == added else 1)])
    exchange = exchange_for(Route(), "sse")
    assert run(exchange, body) == body
    assert [verdict.status for _, verdict in exchange.verdicts] == ["native"]
    assert [record.index for _, record in exchange.client_calls] == [0]
