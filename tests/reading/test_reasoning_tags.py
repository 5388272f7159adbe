"""Reasoning in tags that a declared tool is named after."""

from itertools import product

import pytest

from support.dialectcases import chunks
from support.quoting import CALL, COMMAND, DIALECTS, written
from support.sampling import share, some
from support.thoughts import NAMES, PARAMETERS, POLICIES, THOUGHTS
from toolcalls.events import CallStart, Event, Markup, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route
from toolcalls.writing.writer import calls_in


def read(text: str, name: str, policy: PolicyName, size: int) -> list[Event]:
    tools = (Tool(name, PARAMETERS), Tool(CALL.name, COMMAND))
    reader = Reader(CallPolicy(Route(client="native", upstream="text", policy=policy), Request(tools=tools)))
    events: list[Event] = [event for piece in chunks(text, size) for event in reader.feed(piece)]
    events += reader.finish(cut=False)
    assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == text
    return events


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("thought", THOUGHTS)
def test_reasoning_is_no_call_of_a_tool_of_that_name(thought: str, name: str) -> None:
    """Each policy reads each dialect, in pieces of one size."""
    turn = [*product(THOUGHTS, NAMES)].index((thought, name))
    for at, dialect in enumerate(some(DIALECTS, 2, f"{thought} {name}")):
        call = written(dialect)
        for place, policy in enumerate(POLICIES, turn + at):
            text = f"<{name}>{THOUGHTS[thought].format(call=call)}</{name}>\nDone."
            for size in share((1, 5, len(text)), place, 3):
                events = read(text, name, policy, size)
                assert not calls_in(events), (dialect, policy, size)
                assert not [event for event in events if isinstance(event, CallStart)]
                first = next(event for event in events if isinstance(event, Verdict))
                assert (first.status, first.reason) == ("declined", "reasoning")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("policy", POLICIES)
def test_whole_parameters_alone_make_a_call(policy: PolicyName, name: str) -> None:
    inside = ("<idea>a <b> c</idea>", "\n<idea>\na\n</idea>\n<depth>3</depth>\n", "<depth>1</depth>\n\n<idea>x</idea>")
    for text in (f"<{name}>{one}</{name}>" for one in inside):
        for size in (1, 5, len(text)):
            made = calls_in(read(text, name, policy, size))
            assert [call.name for call in made] == [name], (text, size)


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_call_behind_the_reasoning_counts(size: int) -> None:
    text = f"<think>\n\n</think>\n\n{written('hermes')}"
    assert [call.name for call in calls_in(read(text, "think", "standard", size))] == [CALL.name]


@pytest.mark.parametrize("over", [-1, 0, 1, 100])
def test_a_long_thought_is_read_alike_however_it_comes(over: int) -> None:
    text = f"<think><idea>{'x' * (16384 - len('</idea>') + over)}</idea></think>"
    assert [len(calls_in(read(text, "think", "standard", size))) for size in (97, len(text))] == [int(over <= 0)] * 2
