"""Members beside a call's name and arguments, in JSON that is the whole message and behind marks.

Strategy: a call with further members in any order, in each form that holds JSON with a name. It is the call, what is
left out is named, and it is the same at every cut. With a schema for its arguments, or with a result, it is none.
"""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.events import Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes.json.call_keys import ARGUMENTS, REMARKS, RESULTS
from toolcalls.writing.writer import calls_in

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
TOOLS = (Tool("read_file", SCHEMA), Tool("now", {"type": "object", "properties": {}}))
FORMS = (
    *("{}", " {}\n", "[{}]", "```json\n{}\n```", "TOOL_CALL\n{}", "TOOL_CALL: {}", "[TOOL_CALL]{}[/TOOL_CALL]"),
    *("<tool_call>{}</tool_call>", "[TOOL_REQUEST]{}[END_TOOL_REQUEST]"),
)
MARKS = {"id": "1", "type": "function", "index": 0, "call_id": "c"}
VALUES = st.sampled_from(["look", "", 5, True, None, {"a": [1]}, ["a", {"b": "}"}], 'a "b" {c}'])
# What the tool does not declare, and no form has for its own.
OTHERS = st.dictionaries(st.sampled_from(sorted(REMARKS)), VALUES, max_size=4)
LATER = st.dictionaries(st.sampled_from(("why", "x", "tags", "meta", "timeout_ms")), VALUES, max_size=2)


def found(text: str, sizes: Sequence[int] = ()) -> tuple[list[tuple[str, object]], list[Verdict]]:
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS)))
    at, events = 0, []
    for size in (*sizes, len(text)):
        events += reader.feed(text[at : at + size])
        at += size
    events += reader.finish(cut=False)
    calls = [(call.name, json.loads(call.arguments)) for call in calls_in(events)]
    return calls, [event for event in events if isinstance(event, Verdict)]


@law
@given(
    form=st.sampled_from(FORMS),
    others=OTHERS,
    later=LATER,
    marks=st.lists(st.sampled_from(sorted(MARKS)), unique=True, max_size=2),
    named=st.sampled_from(("name", "tool_name", "tool")),
    given=st.sampled_from(("arguments", "args", "input")),
    data=st.data(),
)
def test_members_beside_a_call_are_left_out_and_named(
    form: str,
    others: dict[str, object],
    later: dict[str, object],
    marks: list[str],
    named: str,
    given: str,
    data: st.DataObject,
) -> None:
    arguments = {"path": "a"}
    members = [*others.items(), *((mark, MARKS[mark]) for mark in marks), (named, "read_file"), (given, arguments)]
    members = [*data.draw(st.permutations(members)), *later.items()]
    text = form.replace("{}", json.dumps(dict(members)))
    whole = found(text)
    assert whole[0] == [("read_file", arguments)]
    assert ("left_out" in whole[1][-1].repairs) == bool(others or later)
    assert found(text, [1] * len(text)) == whole
    cut = data.draw(st.integers(1, len(text) - 1))
    assert found(text, (cut,)) == whole


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("described", [{}, {"description": "Reads."}, {"description": "Reads.", "strict": True}])
@pytest.mark.parametrize("given", ARGUMENTS)
def test_a_schema_is_no_call(form: str, described: dict[str, object], given: str) -> None:
    """In tags in which nothing but calls stands, where a description is in front of it: arguments are what they are."""
    if form in FORMS[-3:] and not described:
        return
    declared = form.replace("{}", json.dumps({"name": "read_file", **described, given: SCHEMA}))
    assert found(declared)[0] == []


@pytest.mark.parametrize("form", FORMS[:4])
@pytest.mark.parametrize("result", sorted(RESULTS))
def test_a_record_of_a_call_is_none(form: str, result: str) -> None:
    text = form.replace("{}", json.dumps({"name": "read_file", "arguments": {"path": "a"}, result: "b"}))
    assert found(text)[0] == []
