"""What a text client has of a block of calls in which processors blocked, dropped or changed some.

Strategy: three calls, in every dialect that a client reads, from an upstream that makes them natively, writes them in
that dialect, or in another one; a plan says which are blocked by a rule, dropped or changed by a reactor, or left. By
the strict parser of its dialect (`support/strictparsers.py`, none of the product's code), what the client gets must be
exactly the calls that the plan leaves and that the verdicts name, with no markup and no text besides but the rule's.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest

from support.chatclient import HEAD, chunk, ending, event, outer, received, stream
from support.exchanges import of_kind, run
from support.processorcases import route_of
from support.sampling import DEEP, some
from support.strictparsers import FORMS, Found, strictly
from toolcalls.dialects import all_dialects
from toolcalls.events import Verdict
from toolcalls.insight.descriptions import describe, describe_briefly
from toolcalls.insight.report import make_report
from toolcalls.mitm.log_line import causes
from toolcalls.processors import Call as Seen
from toolcalls.processors import Drop, Edit, Processors, Say
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Tool
from toolcalls.route import Reactor, Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import write

PARAMETERS = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "n": {"type": "integer"}, "flag": {"type": "boolean"}},
}
TOOLS = tuple(Tool(name, PARAMETERS) for name in ("Bash", "Read", "Edit", "Run"))
NAMES = ("Bash", "Read", "Edit")
CALLS = [
    Call("Bash", '{"command":"echo \\"a\\", b","n":1}'),
    Call("Read", '{"command":"pwd","n":2,"flag":true}'),
    Call("Edit", '{"command":"id","n":3}'),
]
NOTICE = "Not here."
LEAD = "I look.\n\n"
ONE_CALL = {"openhands_fn"}
BARE_LISTS = {"json_array", "pythonic", "xlam"}

WIRE = all_wires()["openai_chat"]

# What happens to one call. `block` and `refuse` are a rule's, the latter with a text; the others are a reactor's.
ACTIONS = ("block", "refuse", "drop", "rename", "string", "number", "add", "remove", "all", "say")
# For each of the three calls, what happens to it.
PLANS = [
    *(
        tuple(action if place in places else "keep" for place in range(3))
        for action in ACTIONS
        for places in ((0,), (1,), (2,), (0, 1, 2))
    ),
    ("drop", "drop", "keep"), ("keep", "block", "block"), ("block", "keep", "block"), ("drop", "number", "keep"),
    ("rename", "drop", "keep"), ("keep", "drop", "string"), ("string", "keep", "drop"), ("keep", "remove", "block"),
    ("keep", "keep", "keep"), ("refuse", "keep", "rename"), ("keep", "refuse", "number"),
]  # fmt: skip
UPSTREAMS = ("native", "own", "hermes", "json_array", "llama4_pythonic", "minimax_m2")
type Plan = tuple[str, ...]


def edited(action: str, name: str, arguments: dict[str, Any]) -> Found:
    """A call as a reactor changes it."""
    match action:
        case "rename":
            return "Run", arguments
        case "string":
            return name, {**arguments, "command": "true [x], y"}
        case "number":
            return name, {**arguments, "n": 40}
        case "add":
            return name, {**arguments, "flag": False}
        case "remove":
            return name, {key: value for key, value in arguments.items() if key != "n"}
        case "retype":
            return name, {**arguments, "command": 40}
        case "all":
            return "Run", {"n": -7, "command": "w"}
    return name, arguments


def left(plan: Plan) -> list[Found]:
    """The calls that the client must have."""
    rows = zip(plan, CALLS, strict=False)
    return [
        edited(action, call.name, json.loads(call.arguments))
        for action, call in rows
        if action not in {"block", "refuse", "drop"}
    ]


def route_by(plan: Plan) -> Route:
    rules = [
        {"name": f"r{name}", "action": "block", "tools": name} | ({"message": NOTICE} if action == "refuse" else {})
        for name, action in zip(NAMES, plan, strict=False)
        if action in {"block", "refuse"}
    ]
    route = route_of({"access": {"message": "", "rules": rules}} if rules else {})
    return replace(route, reactors=(Reactor("x.py", "f"),))


def exchange(dialect: str, upstream: str, plan: Plan, form: Form) -> Exchange:
    actions = dict(zip(NAMES, plan, strict=False))

    def react(_: Reactor, call: Seen) -> Drop | Edit | Say | None:
        action = actions.get(call.name, "keep")
        if action == "drop":
            return Drop()
        if action == "say":
            return Say(NOTICE)
        name, arguments = edited(action, call.name, dict(call.arguments))
        return None if (name, arguments) == (call.name, call.arguments) else Edit(name, arguments)

    route = route_by(plan)
    native = upstream == "native"
    read = dialect if upstream in {"own", "native"} else upstream
    return of_kind(
        WIRE,
        TOOLS,
        replace(route, dialects=tuple(dict.fromkeys((read, dialect)))),
        "lower" if native and route.access is None else "roundtrip",
        form=form,
        upstream="native" if native else "text",
        dialect=dialect,
        processors=Processors(route, model="m", run=react),
    )


@cache
def written(dialect: str) -> str:
    return write(dialect, CALLS, Toolbox(TOOLS))


def body_of(dialect: str, upstream: str, cut: int, lead: str = "") -> bytes:
    """The upstream's reply; `cut`: characters in each piece, 0 for a reply that is whole. `lead`: text before calls."""
    if upstream != "native":
        text = lead + written(dialect if upstream == "own" else upstream)
        if cut:
            return stream([text[at : at + cut] for at in range(0, len(text), cut)])
        message: dict[str, Any] = {"role": "assistant", "content": text}
    else:
        entries = [
            {"index": at, "id": f"n{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for at, (name, arguments) in enumerate(CALLS)
        ]
        if cut:
            return (
                event(chunk(HEAD))
                + event(chunk({"content": lead}))
                + b"".join(event(chunk({"tool_calls": [entry]})) for entry in entries)
                + ending("tool_calls")
            )
        message = {"role": "assistant", "content": lead or None, "tool_calls": entries}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
    return json.dumps({**outer([choice]), "object": "chat.completion"}).encode()


def text_of(out: bytes, form: Form) -> str:
    """All that a text client has."""
    if form == "sse":
        choice = received(out).choices[0]
        assert not choice.calls, f"native calls: {choice.calls}"
        return choice.text
    message = json.loads(out)["choices"][0]["message"]
    assert not message.get("tool_calls"), f"native calls: {message}"
    return message["content"] or ""


def named(verdicts: list[Verdict]) -> list[Found]:
    """The calls that the client has, as the verdicts name them."""
    arguments = dict(CALLS)
    found: list[Found] = []
    for one in verdicts:
        if one.status == "lowered" and one.name is not None:
            name, text = (one.changes[-1].after if one.changes else None) or (one.name, arguments[one.name])
            found.append((name, json.loads(text)))
    return found


def examples() -> Iterator[Any]:
    for dialect, upstream in product(sorted(all_dialects()), UPSTREAMS):
        if upstream != dialect and dialect not in ONE_CALL:
            yield pytest.param(dialect, upstream, id=f"{dialect}-{upstream}")


def check(dialect: str, upstream: str, plan: Plan, cut: int) -> None:
    form: Form = "sse" if cut else "whole"
    one = exchange(dialect, upstream, plan, form)
    places = {all_dialects()[name].place for name in (dialect, upstream) if name in FORMS}
    lead = "" if "message" in places else LEAD
    text = text_of(run(one, [body_of(dialect, upstream, cut, lead)]), form)
    assert text.startswith(lead)
    text = text.removeprefix(lead)
    blocks = strictly(dialect, text.replace(NOTICE, "\n"))
    expected = left(plan)
    assert [call for block in blocks for call in block] == expected, text
    assert named([verdict for _, verdict in one.verdicts]) == expected
    assert len(one.verdicts) == len(plan)
    said = any(action in {"refuse", "say"} for action in plan)
    left_out = said and bool(expected) and all_dialects()[dialect].place == "message"
    assert text.count(NOTICE) == (said and not left_out), text  # each text is said once
    assert [note.rule for _, note in one.notes] == (["steering"] if left_out else [])
    if NOTICE not in text and (FORMS[dialect].opener or dialect in BARE_LISTS):
        assert len(blocks) <= 1, text


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("dialect", "upstream"), list(examples()))
def test_the_client_has_whole_markup(dialect: str, upstream: str) -> None:
    chosen = Random(f"{dialect} {upstream}")
    plans = PLANS if DEEP else chosen.sample(PLANS, 4)
    for plan in some(plans, 6, f"{dialect} {upstream}"):
        cut = chosen.choice((0, 1, 7, 50))
        try:
            check(dialect, upstream, plan, cut)
        except Exception as error:
            raise AssertionError(f"{plan}, cut {cut}: {error}") from error


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("dialect", "upstream"), [one for one in examples() if one.values[1] in {"own", "hermes"}])
@pytest.mark.parametrize("place", range(3))
def test_a_change_that_the_dialect_cannot_hold(dialect: str, upstream: str, place: int) -> None:
    """A number where the schema wants a text: the changed call leaves, or none. The model's own never does."""
    plan = tuple("retype" if at == place else "keep" for at in range(3))
    one = exchange(dialect, upstream, plan, "sse")
    text = text_of(run(one, [body_of(dialect, upstream, 7)]), "sse")
    found = [call for block in strictly(dialect, text) for call in block]
    expected = left(plan)
    report = make_report(one)
    verdict = report["verdicts"][place]
    if expected[place] in found:
        assert verdict["status"] == "lowered"
        said = f"{NAMES[place]}, {describe_briefly(verdict, report)}. f: command changed"
    else:
        del expected[place]
        assert (verdict["status"], verdict["reason"]) == ("blocked", "unwritable")
        sentence = "unwritable: the client's dialect cannot hold this call, or not in this place"
        said = f"{NAMES[place]}, {describe_briefly(verdict, report)}. {sentence}. f: command changed"
        assert describe(verdict, report)[1] == "did not get it"
    assert found == expected
    assert named([verdict for _, verdict in one.verdicts]) == expected
    assert list(causes(report)) == [said]
    assert "stays" not in said


CHANGES = {
    "rename": "renamed to Run",
    "string": "command changed",
    "number": "n changed",
    "add": "flag added",
    "remove": "n removed",
    "all": "renamed to Run, n and command changed",
}


@pytest.mark.parametrize("upstream", ["native", "own", "json_array"])
@pytest.mark.parametrize("action", CHANGES)
def test_log_and_view_say_what_was_changed(action: str, upstream: str) -> None:
    one = exchange("hermes", upstream, (action, "keep", "keep"), "sse")
    run(one, [body_of("hermes", upstream, 7)])
    report = make_report(one)
    (changed,) = [verdict for verdict in report["verdicts"] if verdict.get("changes")]
    made = {"native": "native → text (hermes)", "own": "text (hermes) → text", "json_array": "text (json_array) → text"}
    said = f"{changed['name']}, {made[upstream]}, changed. f: {CHANGES[action]}"
    assert list(causes(report)) == [said]
    assert describe(changed, report)[1] == "got it as text, changed"
    assert "1 changed: f" in report["summary"]
