"""Native calls that became text for a text client are the same calls when that text is lifted again, in their order.

The replies are the recorded streams of `shared/suites` that hold native calls, and built ones on every wire with calls
that a dialect cannot hold between those that it can.
"""

import json
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from reliability.driving import Outcome, driven
from reliability.heard import heard
from reliability.materials import Reply, recorded
from support.damagedwires import ALL, Damaged
from support.damaging import TOOLS, Sound
from support.exchanges import of_kind, run
from support.repository import shared_path
from support.sampling import a_few, some
from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.requests.conversation import request_of
from toolcalls.route import Route
from toolcalls.wires import all_wires

SUITE = "suites/streams/openai-chat.jsonl"
# Each writes calls in a way of its own; the last three hold no call without arguments. They get more of the streams.
DIALECTS = (
    "hermes",
    "invoke",
    "tagged",
    "pythonic",
    "bare_json",
    "glm_naked",
    "damaged_tags",
    "function_tags_stripped",
)
UNCHANGED = Route(client="native", upstream="native")


@cache
def with_calls() -> tuple[tuple[Reply, Outcome], ...]:
    """The recorded streams whose calls are all whole, and what a native client gets of each."""
    found = []
    for reply in recorded():
        if not reply.id.startswith("recordings/"):
            outcome = driven(reply, [reply.body], route=UNCHANGED)
            calls = [call for _, call in outcome.client_calls]
            if calls and all(call.complete for call in calls):
                found.append((reply, outcome))
    return tuple(found)


def tools_of(reply: Reply, outcome: Outcome) -> tuple[Tool, ...]:
    """Tools of the calls that the recorded request, which is not always there, does not declare."""
    declared = {tool.name for tool in request_of(all_wires()[reply.wire], reply.request).tools}
    return tuple(Tool(name) for name in sorted({call.name for _, call in outcome.client_calls} - declared))


def decoded(calls: list[tuple[str, str]]) -> list[tuple[str, object]]:
    return [(name, json.loads(arguments or "{}")) for name, arguments in calls]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dialect", all_dialects())
def test_recorded_calls_come_back(dialect: str) -> None:
    shared_path(SUITE)
    for reply, native in some(a_few(with_calls(), 50 if dialect in DIALECTS else 5, dialect), 6, dialect):
        tools = tools_of(reply, native)
        lower = Route(client="text", upstream="native", client_dialect=dialect, tools=tools)
        lowered = driven(reply, [reply.body], route=lower)
        lift = Route(client="native", upstream="text", dialects=(dialect,), tools=tools)
        lifted = driven(replace(reply, body=lowered.out), [lowered.out], route=lift)
        left_out = sum(verdict.reason == "multiple_calls" for _, verdict in lowered.verdicts)
        first = native.complete[: len(native.complete) - left_out]
        assert decoded(lifted.complete) == decoded(first), reply.id
        if reply.wire in {"openai_chat", "openai_responses", "anthropic", "gemini"}:
            before, behind = (heard(reply.wire, "sse", each.out) for each in (native, lifted))
            assert behind.text.rstrip() == before.text.rstrip(), reply.id  # but for the line ends in front of a call
            assert behind.finish in {before.finish, "tool_calls"}, reply.id  # "stop" of a call that was asked for
            assert not behind.behind.strip(), reply.id


def sound(number: int, name: str, **arguments: str) -> Sound:
    return Sound(f"call_{number}", name, (json.dumps(arguments),))


UNHELD = {  # `glm_naked` does not hold a call without arguments
    "first": (sound(1, "now"), sound(2, "Bash", command="ls"), sound(3, "Read", command="a")),
    "between": (sound(1, "Bash", command="ls"), sound(2, "now"), sound(3, "Read", command="a")),
    "last": (sound(1, "Bash", command="ls"), sound(2, "Read", command="a"), sound(3, "now")),
    "each other": (sound(1, "now"), sound(2, "Bash", command="ls"), sound(3, "now"), sound(4, "Read", command="a")),
}


@pytest.mark.parametrize(
    ("of", "calls"),
    [
        pytest.param(of, calls, id=f"{form}: {name}")
        for (form, of), (name, calls) in product(ALL.items(), UNHELD.items())
        if of.form != "whole"
    ],
)
def test_calls_that_stay_native_keep_their_place(of: Damaged, calls: tuple[Sound, ...]) -> None:
    wire = all_wires()[of.wire]
    route = Route(client="text", upstream="native", client_dialect="glm_naked")
    lowered = run(of_kind(wire, TOOLS, route, "lower", form=of.form, dialect="glm_naked"), [of.sound(calls)])
    lift = Route(client="native", upstream="text", dialects=("glm_naked",))
    lifted = run(of_kind(wire, TOOLS, lift, "lift", form=of.form), [lowered])
    assert [(name, json.loads(arguments)) for _, name, arguments in of.heard(lifted)] == [
        (call.name, json.loads(call.arguments)) for call in calls
    ]
