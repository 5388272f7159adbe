"""Native calls of the Responses API whose tools have one name in two namespaces.

The item names the namespace apart from the name, while the request's tools, rules and verdicts have `namespace.name`
where a name alone is two tools'. Strategy: `a.look`, `b.look` and a `look` without a namespace, streamed, whole and
cut at every byte; through no rule, a rule for one of them, and a reactor.
"""

import json
from typing import Any

import pytest

from support.processorcases import no_reactors, route_of
from support.responsesclient import received, stream, whole, written
from toolcalls.processors import Edit, Processors
from toolcalls.processors.reactors import Runner
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.conversation import conversation_of, request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.processing import loop_watch_for
from toolcalls.route import Loops, Reactor, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

WIRE = all_wires()["openai_responses"]
FORMS: tuple[Form, ...] = ("sse", "whole")
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}
TOOLS = [LOOK, *({"type": "namespace", "name": space, "tools": [LOOK]} for space in "ab")]
SPACES = {"a.look": {"namespace": "a"}, "b.look": {"namespace": "b"}, "look": {}}
ONLY_A = {"access": {"message": "No.", "rules": [{"name": "a", "action": "block", "tools": r"a\.look"}]}}


def request(times: int = 0, name: str = "look") -> bytes:
    """A request, after so many equal calls with as many results."""
    items: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for number in range(times):
        call = {"call_id": f"c{number}", "name": "look", "arguments": '{"q": "x"}', **SPACES[name]}
        items.append({"type": "function_call", **call})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": f"{number}"})
    return json.dumps({"model": "m", "input": items, "tools": TOOLS}).encode()


def reply(name: str, form: Form) -> bytes:
    item = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"q": "x"}', **SPACES[name]}
    events = stream(["So.", item])
    return whole(events) if form == "whole" else written(events)


def exchange_for(form: Form, route: Route, asked: bytes | None = None, runner: Runner = no_reactors) -> Exchange:
    asked = asked or request()
    known = request_of(WIRE, asked)
    decision = decide(route, known, {}, ())
    call_policy, tools = call_policy_of(route, known, decision)
    processors = Processors(route, model="m", agent="test/1", run=runner) if route.processes else None
    watch = loop_watch_for(conversation_of(WIRE.name, asked), route, decision)
    return Exchange(WIRE, call_policy, decision, tools, form=form, seed=b"s", processors=processors, watch=watch)


def run(exchange: Exchange, body: bytes, step: int = 1 << 20) -> bytes:
    out = b"".join(exchange.feed(body[at : at + step]) for at in range(0, len(body), step)) + exchange.close()
    assert exchange.failure is None, repr(exchange.failure)
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SPACES)
def test_a_sound_call_passes_and_is_no_undeclared_one(name: str, form: Form) -> None:
    body = reply(name, form)
    for step in (1, 1 << 20):
        exchange = exchange_for(form, Route(client="native", upstream="text"))
        assert run(exchange, body, step) == body
        ((_, verdict),) = exchange.verdicts
        assert (verdict.status, verdict.reason, verdict.name, verdict.defects) == ("native", None, name, ())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SPACES)
def test_a_rule_for_one_of_them_blocks_that_one(name: str, form: Form) -> None:
    body = reply(name, form)
    for step in (1, 1 << 20):
        exchange = exchange_for(form, route_of({**ONLY_A, "client": "native"}))
        out = run(exchange, body, step)
        ((_, verdict),) = exchange.verdicts
        assert verdict.name == name
        assert verdict.status == ("blocked" if name == "a.look" else "native")
        assert (b"call_1" in out) == (name != "a.look")
        assert (out == body) == (name != "a.look")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SPACES)
def test_a_call_that_a_reactor_changed_stays_in_its_namespace(name: str, form: Form) -> None:
    route = Route(client="native", reactors=(Reactor("test.py", "react"),))
    exchange = exchange_for(form, route, runner=lambda _, call: Edit(arguments={"q": f"{call.name}!"}))
    out = run(exchange, reply(name, form))
    items = received(out).items if form == "sse" else json.loads(out)["output"]
    (item,) = [item for item in items if item["type"] == "function_call"]
    assert (item["name"], item.get("namespace")) == ("look", SPACES[name].get("namespace"))
    assert json.loads(item["arguments"]) == {"q": f"{name}!"}


@pytest.mark.parametrize("form", FORMS)
def test_a_call_that_a_reactor_gave_to_another_namespace_is_in_that_one(form: Form) -> None:
    route = Route(client="native", reactors=(Reactor("test.py", "react"),))
    exchange = exchange_for(form, route, runner=lambda *_: Edit(name="b.look"))
    out = run(exchange, reply("a.look", form))
    items = received(out).items if form == "sse" else json.loads(out)["output"]
    (item,) = [item for item in items if item["type"] == "function_call"]
    assert (item["name"], item["namespace"]) == ("look", "b")


@pytest.mark.parametrize("changed", [{"name": "look"}, {"namespace": "a"}, {"name": "look", "namespace": "a"}])
def test_a_rule_sees_what_a_call_turns_out_to_be(changed: dict[str, str]) -> None:
    """A call that begins as another one, and ends as the one that is forbidden, is never complete."""
    begun = {"name": "look", "namespace": "b"} | {key: "other" if key == "name" else "b" for key in changed}
    begun |= {} if "namespace" in changed else {"namespace": "a"}
    item = {"type": "function_call", "call_id": "call_1", "arguments": '{"q": "x"}', **begun}
    events = stream(["So.", item])
    ends = [event for event in events if event["type"] == "response.output_item.done"]
    ends[-1]["item"] = {**ends[-1]["item"], **changed}
    exchange = exchange_for("sse", route_of({**ONLY_A, "client": "native"}))
    run(exchange, written(events))
    ((_, verdict),) = exchange.verdicts
    assert (verdict.status, verdict.rule) == ("blocked", "a")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SPACES)
def test_a_call_beside_one_that_was_lifted_keeps_all_that_it_says(name: str, form: Form) -> None:
    item = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{ "q": "x" }', "more": 1}
    events = stream(['<invoke name="a.look"><parameter name="q">y</parameter></invoke>', item | SPACES[name]])
    body = whole(events) if form == "whole" else written(events)
    out = run(exchange_for(form, Route(client="native", upstream="text")), body)
    items = received(out).items if form == "sse" else json.loads(out)["output"]
    lifted, native = (item for item in items if item["type"] == "function_call")
    assert (lifted["name"], lifted["namespace"]) == ("look", "a")
    assert native.items() >= (item | SPACES[name]).items()


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("native", [True, False])
def test_the_loop_guard_counts_the_calls_of_one_of_them(name: str, native: bool) -> None:
    """Eight calls of the history are one loop with the ninth, whether that comes native or as text."""
    text = f'<invoke name="{name}"><parameter name="q">x</parameter></invoke>'
    body = reply(name, "sse") if native else written(stream([text]))
    route = Route(client="native", upstream="text", loops=Loops(message=0))
    for asked in SPACES:
        exchange = exchange_for("sse", route, request(8, asked))
        run(exchange, body)
        assert [note.rule for _, note in exchange.notes] == (["same_call"] if asked == name else [])
