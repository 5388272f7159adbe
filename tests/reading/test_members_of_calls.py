"""What the JSON of a lifted call held is in its arguments, or a repair says that something was left out.

Strategy: the writer of each dialect shows where a call's object stands. In its place come objects with the members of a
call under every name that models use, beside arguments, marks and members that belong to no call, in any order. Each
value is a word of its own, so that it can be found again: in the arguments, in the text, or not at all.
"""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.readings import read, shown, verdicts
from support.strategies import TOOLS, cut, law
from toolcalls.dialects import all_dialects
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.shapes.json.call_keys import ARGUMENTS
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in

_WORD = re.compile(r"W\d\w*")
_NAME_KEYS = ("name", "tool_name", "tool", "function")


def object_in(text: str) -> tuple[int, int] | None:
    """Where the object stands that holds the call's name and its arguments, None for none."""
    for at in (found.start() for found in re.finditer(r"\{", text)):
        try:
            value, size = json.JSONDecoder().raw_decode(text[at:])
        except ValueError:
            continue
        if "Save" in value.values():
            return at, at + size
    return None


def written(dialect: str) -> str:
    return all_dialects()[dialect].write([Call("Save", '{"text": "W0"}')], Toolbox(TOOLS))


JSON_DIALECTS = [name for name in all_dialects() if object_in(written(name)) is not None]

_members = {
    "arguments": st.tuples(
        st.sampled_from(ARGUMENTS),
        st.sampled_from([{}, {"text": "W1"}, {"text": "W1", "n": 5}, '{"text": "W1"}', "W1", None, ["W1"]]),
    ),
    "flat": st.just(("text", "W2")),
    "typed": st.just(("data", {"k": "W3"})),
    "mark": st.sampled_from([("id", "call_1"), ("type", "function"), ("index", 0)]),
    "strange": st.sampled_from([("thought", "W4"), ("why", ["W4"]), ("cmd", {"x": "W4"})]),
}


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    pairs = [(draw(st.sampled_from(_NAME_KEYS)), "Save")]
    pairs += [draw(_members[kind]) for kind in draw(st.lists(st.sampled_from([*_members]), max_size=4, unique=True))]
    return dict(draw(st.permutations(pairs)))


def wrapped(made: list[dict[str, Any]], how: str) -> str:
    texts = [json.dumps(one) for one in made]
    if how == "array":
        return f"[{', '.join(texts)}]"
    return f'{{"function": {texts[0]}}}' if how == "wrapper" else texts[0]


@pytest.mark.parametrize("dialect", JSON_DIALECTS)
@law
@given(st.data(), st.lists(objects(), min_size=1, max_size=2), st.sampled_from(["object", "array", "wrapper"]))
def test_nothing_of_a_lifted_call_is_lost(
    dialect: str, data: st.DataObject, made: list[dict[str, Any]], how: str
) -> None:
    text = written(dialect)
    start, end = object_in(text) or (0, 0)
    reply = text[:start] + wrapped(made, how) + text[end:]
    policy = data.draw(st.sampled_from(["standard", "lenient"]))
    route = Route(client="native", upstream="text", policy=policy, dialects=(dialect,))
    events = read(route, [reply])
    again = read(route, data.draw(cut(reply)))
    assert (shown(again), calls_in(again), verdicts(again)) == (shown(events), calls_in(events), verdicts(events))
    kept = set(_WORD.findall(shown(events) + "".join(call.arguments for call in calls_in(events))))
    lost = set(_WORD.findall(reply)) - kept
    assert not lost or "left_out" in {repair for verdict in verdicts(events) for repair in verdict.repairs}


def test_there_are_many_such_dialects() -> None:
    assert {"hermes", "marker", "jamba", "bare_json", "cohere_cmd3", "zeroclaw"} <= set(JSON_DIALECTS)


def test_without_a_schema_no_member_is_an_argument() -> None:
    text = '<tool_call>{"name": "Loose", "x": 1}</tool_call>'
    events = read(Route(client="native", upstream="text"), [text])
    assert [verdict.reason for verdict in verdicts(events)] == ["unknown_arguments"]
    assert shown(events) == text
