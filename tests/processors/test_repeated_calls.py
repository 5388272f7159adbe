"""What an upstream says of a native call more than once: a name in pieces, and an end that differs from the beginning.

Rules are asked about all that a client may take for the call. Without rules nothing of it is changed.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support import anthropicclient
from support.chatclient import HEAD, chunk, ending, event, outer, received
from support.processorcases import body_of, exchange_for, no_reactors, route_of, run, words
from toolcalls.insight.descriptions import describe
from toolcalls.insight.report import make_report
from toolcalls.processors import Call, Edit, Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision, Kind, call_policy_of
from toolcalls.route import Reactor, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

NO_SHELL = {"access": {"message": "No {tool}.", "rules": [{"name": "no-shell", "action": "block", "tools": "bash"}]}}
ONLY_SHELL = {
    "access": {"default": "deny", "message": "No {tool}.", "rules": [{"name": "a", "action": "allow", "tools": "Bash"}]}
}


def entry(index: int, id_: str = "", name: str = "", arguments: str | None = None) -> dict[str, Any]:
    function = {**({"name": name} if name else {}), **({} if arguments is None else {"arguments": arguments})}
    return {"index": index, **({"id": id_, "type": "function"} if id_ else {}), "function": function}


def stream(*entries: dict[str, Any]) -> bytes:
    return event(chunk(HEAD)) + b"".join(event(chunk({"tool_calls": [one]})) for one in entries) + ending("tool_calls")


ARGUMENTS = '{"command":"ls"}'
NAMES = {
    "whole": [entry(0, "a", "Bash"), entry(0, arguments=ARGUMENTS)],
    "in two": [entry(0, "a", "Ba"), entry(0, name="sh"), entry(0, arguments=ARGUMENTS)],
    "in four": [entry(0, "a", "B"), entry(0, "a", "a"), entry(0, name="s"), entry(0, name="h", arguments=ARGUMENTS)],
    "whole, with arguments that begin": [entry(0, "a", "Bash", ""), entry(0, arguments=ARGUMENTS)],
    "repeated": [entry(0, "a", "Bash"), entry(0, "a", "Bash", '{"command"'), entry(0, "a", "Bash", ':"ls"}')],
}


@pytest.mark.parametrize("entries", NAMES.values(), ids=NAMES)
def test_a_rule_by_name_decides_on_the_whole_name(entries: list[dict[str, Any]]) -> None:
    body = stream(*entries)
    blocked = exchange_for(route_of(NO_SHELL), "process")
    (choice,) = received(run(blocked, body)).choices.values()
    assert (choice.calls, choice.text, choice.finish) == ([], "No Bash.", "stop")
    assert words(blocked) == ["blocked Bash no-shell"]
    allowed = exchange_for(route_of({**ONLY_SHELL, "mend": []}), "process")
    assert run(allowed, body) == body
    assert words(allowed) == ["passed Bash"]


@pytest.mark.parametrize("entries", NAMES.values(), ids=NAMES)
def test_a_rule_by_name_holds_with_and_without_mending(entries: list[dict[str, Any]]) -> None:
    """What is mended of a name or an id is not another call, for rules as for clients."""
    body = stream(*entries)
    for mend in (["protocol"], []):
        blocked = exchange_for(route_of({**NO_SHELL, "mend": mend}), "process")
        out = run(blocked, body)
        assert b"Bash" not in out.replace(b"No Bash.", b"")
        assert received(out).choices[0].calls == []
        allowed = exchange_for(route_of({**ONLY_SHELL, "mend": mend}), "process")
        got = entries_of(run(allowed, body))
        assert "".join(one["function"].get("arguments", "") for one in got) == ARGUMENTS
        assert words(allowed) == ["passed Bash"]
        if mend:  # a client that adds the pieces
            assert "".join(one["function"].get("name", "") for one in got) == "Bash"
            assert [one["id"] for one in got if "id" in one] == ["a"]


def entries_of(body: bytes) -> list[dict[str, Any]]:
    """All entries of the calls of a stream's first choice."""
    payloads = [line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith("data: {")]
    choices = [choice for payload in payloads for choice in json.loads(payload)["choices"]]
    return [one for choice in choices for one in choice["delta"].get("tool_calls", ())]


@pytest.mark.parametrize("entries", NAMES.values(), ids=NAMES)
def test_a_name_in_pieces_is_one_name(entries: list[dict[str, Any]]) -> None:
    body = stream(*entries)
    plain = exchange_for(Route(mend=()), "lift")
    assert run(plain, body) == body
    assert words(plain) == ["passed Bash"]
    lowered = exchange_for(Route(), "lower")
    assert '<invoke name="Bash">' in received(run(lowered, body)).choices[0].text
    seen: list[str] = []

    def react(_: Reactor, call: Call) -> Edit:
        seen.append(call.name)
        return Edit(arguments={"command": "pwd"})

    reacted = exchange_for(Route(reactors=(Reactor("r.py", "f", ("Bash",)),)), "process", run=react)
    (call,) = received(run(reacted, body)).choices[0].calls
    assert (seen, call["name"], call["arguments"]) == (["Bash"], "Bash", '{"command":"pwd"}')


@pytest.mark.parametrize("last", ["sh", "Bash"])
def test_a_name_that_goes_on_when_the_arguments_have_begun(last: str) -> None:
    """A whole name does not wait for its arguments, so this one has left, and is never completed."""
    entries = [entry(0, "a", "Ba", ""), entry(0, name=last, arguments=""), entry(0, arguments=ARGUMENTS)]
    exchange = exchange_for(route_of(NO_SHELL), "process")
    out = run(exchange, stream(*entries))
    assert b"command" not in out
    assert b'"finish_reason":"length"' in out
    assert words(exchange)[0].startswith("blocked")
    allowed = exchange_for(route_of(ONLY_SHELL), "process")
    assert (run(allowed, stream(*entries)) == stream(*entries)) == (last == "sh")


def test_a_sibling_of_a_call_whose_name_comes_in_pieces() -> None:
    entries = [
        entry(0, "a", "Ba"), entry(1, "b", "read_file", ""), entry(0, name="sh"),
        entry(0, arguments=ARGUMENTS), entry(1, arguments='{"path":"a"}'),
    ]  # fmt: skip
    exchange = exchange_for(route_of(NO_SHELL), "process")
    choice = received(run(exchange, stream(*entries))).choices[0]
    assert [(call["name"], call["arguments"]) for call in choice.calls] == [("read_file", '{"path":"a"}')]
    assert choice.finish == "tool_calls"
    assert sorted(words(exchange)) == ["blocked Bash no-shell", "passed read_file"]


def test_a_name_that_grows_behind_its_arguments_is_never_completed() -> None:
    """Clients add the pieces, or take the last one; neither may get a call that a rule blocks."""
    entries = [entry(0, "a", "x", ""), entry(0, arguments='{"command":'), entry(0, name="Bash", arguments='"ls"}')]
    exchange = exchange_for(route_of(NO_SHELL), "process")
    choice = received(run(exchange, stream(*entries))).choices[0]
    assert choice.finish == "length"
    assert words(exchange)[0].startswith("blocked")


# --- the Responses API ------------------------------------------------------------------------------------------------

RESPONSES = all_wires()["openai_responses"]
RULES = {
    "access": {
        "message": "No.",
        "rules": [
            {"name": "no-rm", "action": "block", "arguments": {"*": "rm"}},
            {"name": "no-such", "action": "block", "tools": "evil"},
        ],
    }
}


def rules(argument: str) -> Route:
    return route_of(json.loads(json.dumps(RULES).replace('"*"', json.dumps(argument))))


def responses(custom: bool, ends: dict[str, tuple[str, str]]) -> bytes:
    """A call of `shell` with `ls`; `ends` says what name and text its ends have instead."""
    type_, held = ("custom_tool_call", "input") if custom else ("function_call", "arguments")
    events = f"response.{type_}_{held}" if not custom else "response.custom_tool_call_input"

    def text(command: str) -> str:
        return command if custom else json.dumps({"command": command})

    def item(end: str, status: str = "completed") -> dict[str, Any]:
        name, command = ends.get(end, ("shell", "ls"))
        return {"id": "i", "type": type_, "status": status, "call_id": "c", "name": name, held: text(command)}

    begun = {**item("", "in_progress"), held: ""}
    response: dict[str, Any] = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    rows: list[dict[str, Any]] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": f"{events}.delta", "item_id": "i", "output_index": 0, "delta": text("ls")[:4]},
        {"type": f"{events}.delta", "item_id": "i", "output_index": 0, "delta": text("ls")[4:]},
        {"type": f"{events}.done", "item_id": "i", "output_index": 0, held: text(ends.get("done", ("", "ls"))[1])},
        {"type": "response.output_item.done", "output_index": 0, "item": item("item")},
        {"type": "response.completed", "response": {**response, "status": "completed", "output": [item("response")]}},
    ]
    frames = ({**row, "sequence_number": number} for number, row in enumerate(rows))
    return b"".join(f"event: {row['type']}\ndata: {json.dumps(row)}\n\n".encode() for row in frames)


def responses_exchange(route: Route, kind: Kind) -> Exchange:
    decision = Decision(kind, "native", "auto", None, ())
    call_policy, tools = call_policy_of(route, Request(tools=(Tool("shell"),), model="m"), decision)
    processors = Processors(route, run=no_reactors) if route.processes else None
    return Exchange(RESPONSES, call_policy, decision, tools, form="sse", seed=b"s", processors=processors)


ENDS = {
    "arguments": {"done": ("shell", "rm x")},
    "the item's": {"item": ("shell", "rm x")},
    "the response's": {"response": ("shell", "rm x")},
    "another tool": {"item": ("evil", "ls"), "response": ("evil", "ls")},
    "another tool in the response": {"response": ("evil", "ls")},
}


@pytest.mark.parametrize(("custom", "argument"), [(False, "command"), (True, "input"), (False, "*"), (True, "*")])
@pytest.mark.parametrize("kind", ["lift", "process"])
@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_a_rule_holds_for_what_the_end_of_a_call_says(
    ends: dict[str, tuple[str, str]], kind: Kind, custom: bool, argument: str
) -> None:
    body = responses(custom, ends)
    exchange = responses_exchange(rules(argument), kind)
    out = run(exchange, body).decode()
    assert "rm x" not in out
    assert "evil" not in out
    final = json.loads(out.split("data: ")[-1])
    left = [item["status"] for item in final["response"]["output"] if item["type"] != "message"]
    assert (left, final["type"]) in ((["incomplete"], "response.incomplete"), ([], "response.completed"))
    assert left or custom or argument == "*"  # free text is whole at its end, and all arguments are
    assert [word.split()[0] for word in words(exchange)] == ["blocked"]
    assert [note.rule for _, note in exchange.notes] == [verdict.rule for _, verdict in exchange.verdicts if left]
    for step in (1, 60):
        assert run(responses_exchange(rules(argument), kind), body, step).decode() == out


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize("ends", [*ENDS.values(), {}, {"item": ("shell", "pwd")}])
def test_without_a_rule_against_it_it_stays_as_it_came(ends: dict[str, tuple[str, str]], custom: bool) -> None:
    body = responses(custom, ends)
    assert run(responses_exchange(Route(), "lift"), body) == body
    if ends in ({}, {"item": ("shell", "pwd")}):
        assert run(responses_exchange(rules("*"), "process"), body) == body


# --- the Messages API -------------------------------------------------------------------------------------------------


def test_arguments_behind_the_end_of_their_block_are_judged() -> None:
    """SDKs add them to the block whenever they come; of a block that was over no rule saw them."""
    begun = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"command":"rm x"}'}
    rows: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    body = b"".join(f"event: {row['type']}\ndata: {json.dumps(row)}\n\n".encode() for row in rows)
    decision = Decision("process", "native", "auto", None, ())
    for route in (
        route_of({"access": {"rules": [{"name": "no", "action": "block", "arguments": {"*": "rm"}}]}}),
        Route(),
    ):
        call_policy, tools = call_policy_of(route, Request(tools=(Tool("Bash"),), model="m"), decision)
        processors = Processors(route, run=no_reactors) if route.access else None
        wire = all_wires()["anthropic"]
        exchange = Exchange(wire, call_policy, decision, tools, form="sse", seed=b"s", processors=processors)
        out = run(exchange, body)
        if route.access:
            assert b"rm x" not in out
            assert b'"stop_reason":"max_tokens"' in out
        else:
            assert out == body


def test_calls_in_an_unknown_place_are_left_out_also_beside_what_is_read() -> None:
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "Bash", "arguments": ARGUMENTS}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    frame = event(outer([{"index": 0, "message": message, "finish_reason": "tool_calls"}]))
    exchange = exchange_for(route_of(NO_SHELL), "process")
    assert b"Bash" not in run(exchange, event(chunk(HEAD)) + frame + b"data: [DONE]\n\n")
    assert [note.rule for _, note in exchange.notes] == ["unread"]
    text = event(chunk({"content": json.dumps({"tool_calls": [call]})}))  # which only speaks of one
    assert text in run(exchange_for(route_of(NO_SHELL), "process"), event(chunk(HEAD)) + text + ending("stop"))


@pytest.mark.parametrize(
    ("kind", "got"),
    [("lift", "got a native call, changed"), ("process", "got it, changed"), ("lower", "got it as text, changed")],
)
def test_a_call_that_was_changed_is_not_told_as_the_model_made_it(kind: Kind, got: str) -> None:
    route = Route(reactors=(Reactor("r.py", "shorter"),))
    exchange = exchange_for(route, kind, run=lambda *_: Edit(arguments={"command": "ls"}))
    run(exchange, body_of([{"Bash": {"command": "ls -la"}}], kind, "sse"))
    told = make_report(exchange)
    (verdict,) = told["verdicts"]
    assert describe(verdict, told)[1] == got
    assert "ls -la" in str(verdict["changes"])


@pytest.mark.parametrize(
    "spell",
    [
        lambda call: event({"choices": [{"index": 0, "delta": {"tool_calls": call}}]}),
        lambda call: b" " + event(chunk({"tool_calls": [call]})),
        lambda call: event(chunk({"content": "x"}))[:-1] + b" " + event(chunk({"tool_calls": [call]})),
        lambda call: json.dumps(chunk({"tool_calls": [call]})).encode() + b"\n\n",
    ],
    ids=["an object for the list", "a blank before the field", "a line beside the payload", "no field at all"],
)
def test_calls_that_only_some_clients_find_are_left_out(spell: Callable[[dict[str, Any]], bytes]) -> None:
    """Clients that trim lines, or take them for JSON as they are."""
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "Bash", "arguments": ARGUMENTS}}
    body = event(chunk(HEAD)) + spell(call) + ending("stop")
    for step in (1, 50, 10_000):
        exchange = exchange_for(route_of(NO_SHELL), "process")
        assert b"Bash" not in run(exchange, body, step)
        assert [note.rule for _, note in exchange.notes] == ["unread"]
    assert run(exchange_for(route_of({"loops": {}}), "process"), body) == body


NO_RM: dict[str, Any] = {
    "access": {"message": "No.", "rules": [{"name": "no-rm", "action": "block", "arguments": {"command": "rm"}}]}
}


def to_messages(body: list[dict[str, Any]], rules: dict[str, Any], *, whole: bool) -> tuple[str, list[str]]:
    """What a client of the Messages API gets of these events, and the verdicts."""
    route, decision = route_of(rules), Decision("process", "native", "auto", None, ())
    call_policy, tools = call_policy_of(route, Request(), decision)
    processors = Processors(route, run=no_reactors)
    wire = all_wires()["anthropic"]
    form: Form = "whole" if whole else "sse"
    exchange = Exchange(wire, call_policy, decision, tools, form=form, seed=b"s", processors=processors)
    sent = anthropicclient.whole(body) if whole else anthropicclient.written(body)
    return run(exchange, sent).decode(), words(exchange)


@pytest.mark.parametrize("mend", [["protocol"], []], ids=["mended", "not mended"])
@pytest.mark.parametrize("whole", [False, True])
def test_arguments_that_come_as_a_string_are_looked_at(whole: bool, mend: list[str]) -> None:
    """Gateways send them so, and clients such as Claude Code take them apart."""
    for command, word in (("rm x", "blocked Bash no-rm"), ("ls", "passed Bash")):
        block = {"type": "tool_use", "id": "t", "name": "Bash", "input": json.dumps({"command": command})}
        body = anthropicclient.stream([anthropicclient.block(block)], "tool_use")
        out, found = to_messages(body, {**NO_RM, "mend": mend}, whole=whole)
        assert found == [word]  # also where a call that came damaged is blocked
        assert "rm x" not in out
        if command == "ls" and mend:
            assert ('"input":{"command": "ls"}' if whole else r'"partial_json":"{\"command\": \"ls\"}"') in out
        elif command == "ls":
            sent = anthropicclient.whole(body) if whole else anthropicclient.written(body)
            assert out == sent.decode()


def test_what_a_call_begins_with_is_looked_at_also_where_pieces_follow() -> None:
    """Some clients put the pieces after it."""
    for first, word in (("rm x", "blocked Bash no-rm"), ("pwd", "passed Bash")):
        block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": first}}
        delta = {"type": "input_json_delta", "partial_json": '{"command":"ls"}'}
        body = anthropicclient.stream([anthropicclient.block(block, delta)], "tool_use")
        out, found = to_messages(body, NO_RM, whole=False)
        assert found == [word]
        assert (out == anthropicclient.written(body).decode()) == (first == "pwd")


@pytest.mark.parametrize("begun", [None, ""], ids=["before its arguments", "behind their beginning"])
def test_a_name_in_more_pieces_than_any_server_sends_is_blocked(begun: str | None) -> None:
    """Each may be the name to a client that takes the latest one, so each costs a look at every rule."""
    entries = [
        entry(0, "a", "x", begun),
        *(entry(0, name=f"x{number}") for number in range(80)),
        entry(0, arguments="{}"),
    ]
    exchange = exchange_for(route_of(NO_SHELL), "process")
    assert all(one["function"].get("arguments") != "{}" for one in entries_of(run(exchange, stream(*entries))))
    assert words(exchange)[0].startswith("blocked" if begun is None else "malformed")  # that has begun to leave
    fewer = exchange_for(route_of(NO_SHELL), "process")
    run(fewer, stream(*entries[:40], entries[-1]))
    assert words(fewer)[0].startswith("passed")


ODD_MEMBERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "id": lambda one: one.update(id=5),
    "index": lambda one: one["choices"][0].update(index="0"),
    "finish_reason": lambda one: one["choices"][0].update(finish_reason=False),
    "reasoning": lambda one: next(iter(said(one))).update(reasoning={"a": 1}),
    "function_call": lambda one: next(iter(said(one))).update(function_call=[]),
    "tool_calls": lambda one: next(iter(said(one))).update(tool_calls=""),
}


def said(reply: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message, or its delta."""
    return (reply["choices"][0][key] for key in ("delta", "message") if key in reply["choices"][0])


@pytest.mark.parametrize("form", ["sse", "whole"])
@pytest.mark.parametrize("member", ODD_MEMBERS)
def test_a_member_of_the_wrong_type_hides_no_text_from_rules(member: str, form: Form) -> None:
    """SDKs read the rest of such a reply, so a text client finds the call that is in it."""
    text = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'
    reply = chunk({"content": text})
    if form == "whole":
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        reply = {**reply, "object": "chat.completion", "choices": [choice]}
    ODD_MEMBERS[member](reply)
    body = json.dumps(reply).encode() if form == "whole" else event(reply) + ending("stop")
    exchange = exchange_for(route_of(NO_SHELL), "roundtrip", form)
    out = run(exchange, body)
    assert b"invoke" not in out
    assert words(exchange) == ["blocked Bash no-shell"]
    free = exchange_for(Route(), "roundtrip", form)
    assert run(free, body) == body


@pytest.mark.parametrize("member", [one for one in ODD_MEMBERS if one != "tool_calls"])
def test_a_member_of_the_wrong_type_blocks_no_call_that_is_permitted(member: str) -> None:
    odd = chunk({"tool_calls": [entry(0, "a", "read_file", '{"path":"a"}')]})
    ODD_MEMBERS[member](odd)
    body = event(chunk(HEAD)) + event(odd) + ending("tool_calls")
    exchange = exchange_for(route_of({**NO_SHELL, "mend": []}), "process")
    assert run(exchange, body) == body
    assert words(exchange) == ["passed read_file"]
