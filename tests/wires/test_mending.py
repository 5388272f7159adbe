"""What all menders do to one call (`wires/mending.py`): its name, its id, its arguments, and what is said of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support import menders
from support.responsesclient import stream
from toolcalls.events import Repair
from toolcalls.request import Tool
from toolcalls.values import rawjson
from toolcalls.values.tool_values import ToolValues
from toolcalls.values.toolbox import Named, Toolbox
from toolcalls.values.value_mending import Held
from toolcalls.wires.mending import Ids, Mended, Mending, as_object

TOOLS = Toolbox([Tool("t", {"type": "object", "properties": {"n": {"type": "integer"}}}), Tool("nothing", {})])
NAMES = {
    "T": Named("t", "name"),
    "t<x": Named("t", "markup_in_name"),
    't{"n":1}': Named("t", "markup_in_name", '{"n": 1}'),
}


def mending(*, protocol: bool = True, values: bool = False, names: bool = True, held: Held | None = None) -> Mending:
    held = held or Held()
    return Mending(
        lambda lane, index, name: f"new-{lane}-{index}-{name}",
        lambda name: name == "nothing",
        TOOLS.__contains__,
        protocol=protocol,
        values=ToolValues(TOOLS, held, types=True, json=True).of_call if values else None,
        held=held,
        **({"named": NAMES.get, "begins_name": lambda name: name == "T"} if names else {}),  # type: ignore[arg-type]
    )


# What comes, what leaves, what was mended of it: of the protocol, and of values.
DOUBLE = '"{\\"n\\": \\"5\\"}"'
ARGUMENTS: list[tuple[str, str, str, list[Repair], str, list[Repair]]] = [
    ("t", '{"n": 5}', '{"n": 5}', [], '{"n": 5}', []),
    ("t", "", "", [], "", []),
    ("nothing", "", "{}", ["empty_arguments"], "{}", ["empty_arguments"]),
    ("t", '{"n": "5"}', '{"n": "5"}', [], '{"n": 5}', ["wrong_type"]),
    ("t", "{'n': 5,}", "{'n': 5,}", [], '{"n": 5}', ["single_quotes", "trailing_comma"]),
    ("t", DOUBLE, '{"n": "5"}', ["double_encoded"], '{"n": 5}', ["double_encoded", "wrong_type"]),
    ("t", '{"n": 5}{"n": 5}', '{"n": 5}', ["repeated_arguments"], '{"n": 5}', ["repeated_arguments"]),
    ("t", '  {"n": 5', '  {"n": 5', [], '  {"n": 5', []),
]
each_arguments = pytest.mark.parametrize(("tool", "came", "api", "of_api", "value", "of_value"), ARGUMENTS)


@each_arguments
@pytest.mark.parametrize("size", [0, 1, 3])
def test_arguments_are_mended_by_what_is_wanted(
    tool: str, came: str, api: str, of_api: list[Repair], value: str, of_value: list[Repair], size: int
) -> None:
    plain = [repair for repair in of_value if repair not in of_api]
    for protocol, values, left, repairs in (
        (True, False, api, of_api),
        (True, True, value, of_value),
        (False, False, came, []),
        (False, True, came if of_api else value, [] if of_api else plain),
    ):
        call = mending(protocol=protocol, values=values).begun(tool)
        pieces = [came[at : at + size] for at in range(0, len(came), size)] if size else [came]
        heard = "".join([*map(call.arguments.feed, pieces), call.arguments.end(cut=False)])
        assert (heard, sorted(call.all_repairs)) == (left, sorted(repairs)), (protocol, values)
        change = call.change
        assert (change is None) == (not repairs)
        if change is not None:
            assert (change.before, change.after) == ((tool, came), (tool, left))
        assert bool(call.defects) == bool(values and plain and repairs)
        assert call.arguments.begun == bool(came or heard)
        whole, arguments = mending(protocol=protocol, values=values).whole(Mended(), "", cut=False)
        assert (whole, arguments.repairs) == ("", [])


@each_arguments
def test_what_was_cut_off_is_not_completed(
    tool: str, came: str, api: str, of_api: list[Repair], value: str, of_value: list[Repair]
) -> None:
    del api, of_api, value, of_value
    for values in (False, True):
        for end in range(len(came)):
            call = mending(values=values).begun(tool)
            heard = call.arguments.feed(came[:end]) + call.arguments.end(cut=True)
            assert not heard or not heard.endswith("}") or came[:end].rstrip('"').endswith("}")


def test_without_what_mends_values_nothing_but_the_repairs_of_the_protocol_is_known() -> None:
    call = mending().begun("t")
    call.arguments.feed('{"n": "5"}')
    assert (call.change, call.defects, call.arguments.kept) == (None, (), ("", ""))
    call.arguments.give_up(drops=False)
    assert call.arguments.end(cut=False) == ""


@pytest.mark.parametrize(("drops", "then"), [(False, '"5'), (True, "")])
def test_what_was_held_leaves_with_what_comes_next(drops: bool, then: str) -> None:
    held = Held()
    call = mending(values=True, held=held).begun("t")
    assert (call.arguments.feed('{"n": "5'), held.open) == ('{"n": ', 1)
    call.arguments.give_up(drops=drops)
    assert held.open == 0
    assert call.arguments.feed('"') == then + '"'
    assert call.arguments.feed("}") == "}"
    assert call.arguments.end(cut=False) == ""
    assert call.arguments.kept == ('{"n": "5"}', '{"n": "5"}')
    late = mending(values=True).begun("t")
    late.arguments.feed('{"n": "5')
    late.arguments.give_up(drops=False)
    assert late.arguments.end(cut=True) == '"5'


@pytest.mark.parametrize(("before", "after", "repair"), [('"5"', "5", "wrong_type"), ("5,", "5", "trailing_comma")])
@pytest.mark.parametrize("size", range(32 * 1024 - 1, 32 * 1024 + 3))
def test_of_long_arguments_no_change_is_shown(size: int, before: str, after: str, repair: Repair) -> None:
    came = f'{{{" " * (size - 7 - len(before))}"n": {before}}}'
    assert len(came) == size
    call = mending(values=True).begun("t")
    left = call.arguments.feed(came)
    assert left == came.replace(before, after)
    long = len(came) + len(left) > 64 * 1024
    assert (call.change is None) == (call.arguments.kept is None) == (not call.defects) == long
    assert call.all_repairs == (repair,)


NAMED: list[tuple[str, str, list[Repair]]] = [
    ("t", "t", []), ("T", "t", ["name"]), ("t<x", "t", ["markup_in_name"]), ("other", "other", []),
]  # fmt: skip


@pytest.mark.parametrize(("came", "name", "repairs"), NAMED)
@pytest.mark.parametrize("protocol", [True, False])
def test_a_name(came: str, name: str, repairs: list[Repair], protocol: bool) -> None:
    held = Held()
    call = mending(protocol=protocol, values=True, held=held).begun(came)
    assert (call.came_name, call.name, call.repairs) == (came, name, repairs)
    assert call.new_name == (None if came == name else name)
    assert (held.mended, call.arguments.tool) == (len(repairs), name)
    assert call.arguments.feed('{"n": 5}') == '{"n": 5}'
    change = call.change
    assert (change is None) == (not repairs)
    if change is not None:
        assert (change.before, change.after) == ((came, '{"n": 5}'), (name, '{"n": 5}'))
    assert Mended().take_name(came).new_name is None


def test_a_name_that_may_go_on_stays_and_goes_on() -> None:
    call = Mended(mending()).take_name("T", goes_on=True)
    assert (call.name, call.new_name, call.repairs) == ("T", None, [])
    call.goes_on("x")
    assert (call.came_name, call.name, call.arguments.tool) == ("Tx", "Tx", "Tx")
    sure = Mended(mending()).take_name("t<x", goes_on=True)
    assert sure.name == "t"
    sure.goes_on("y")
    assert (sure.came_name, sure.name) == ("t<xy", "ty")
    named = Mended(mending()).take_name("noth")
    assert not named.arguments.takes_nothing
    named.goes_on("ing")
    assert named.arguments.takes_nothing
    assert named.arguments.end(cut=False) == "{}"
    named.arguments.may_be_empty()
    assert not named.arguments.takes_nothing


@pytest.mark.parametrize("protocol", [True, False])
def test_which_repairs_are_noted(protocol: bool) -> None:
    """Those of names also where the route does not mend what the API says; each once."""
    every: tuple[Repair, ...] = ("no_id", "name", "markup_in_name", "call_in_error", "name", "no_id", "shared_index")
    call = Mended(mending(protocol=protocol))
    for repair in every:
        call.repaired(repair)
    wanted = ["no_id", "name", "markup_in_name", "call_in_error", "shared_index"]
    assert call.repairs == (wanted if protocol else wanted[1:4])


def test_arguments_that_stood_in_the_name() -> None:
    call = mending(values=True).begun('t{"n":1}')
    assert (call.name, call.arguments.instead, call.arguments.takes_nothing) == ("t", '{"n": 1}', False)
    assert call.arguments.end(cut=False) == '{"n": 1}'
    assert call.all_repairs == ("markup_in_name",)
    other = mending(values=True).begun('t{"n":1}')
    assert other.arguments.feed('{"n": 2}') + other.arguments.end(cut=False) == '{"n": 2}'
    cut = mending(values=True).begun('t{"n":1}')
    assert cut.arguments.end(cut=True) == ""


# --- places -----------------------------------------------------------------------------------------------------------


def anthropic(id_: str) -> list[Any]:
    block = {"type": "tool_use", "id": id_, "name": "T", "input": {}}
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": DOUBLE[:5]}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": DOUBLE[5:]}},
        {"type": "content_block_stop", "index": 0},
    ]


def chat(id_: str) -> list[Any]:
    function = {"name": "T", "arguments": DOUBLE}
    entries = [{"index": 1, "id": id_, "type": "function", "function": function}]
    return [{"choices": [{"index": 0, "delta": {"tool_calls": entries}}]}]


def responses(id_: str) -> list[Any]:
    item = {"type": "function_call", "id": f"i{id_}", "call_id": id_, "name": "T", "arguments": ""}
    done = {**item, "arguments": DOUBLE}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": DOUBLE},
        {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": DOUBLE},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
    ]


def gemini(id_: str) -> list[Any]:
    part = {"functionCall": {"id": id_, "name": "T", "args": '{"n": "5"}'}}
    return [{"candidates": [{"index": 0, "content": {"parts": [part]}}]}]


def placed(value: Any, *, at_0: bool) -> Any:
    """A value with its places, or without those that are 0."""
    if isinstance(value, list):
        return [placed(one, at_0=at_0) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: placed(one, at_0=at_0)
        for key, one in value.items()
        if at_0 or key not in {"index", "output_index"} or one != 0
    }


@pytest.mark.parametrize(
    ("wire", "events"),
    [("anthropic", anthropic), ("openai_chat", chat), ("openai_responses", responses), ("gemini", gemini)],
)
def test_a_place_that_is_not_there_is_the_first(wire: str, events: Callable[[str], list[Any]]) -> None:
    """Where a server leaves out what is 0, its calls are mended as where it does not."""
    heard = []
    for at_0 in (True, False):
        mender = menders.mender(wire, mending(values=True))
        assert mender is not None
        left = []
        for event in placed([*events("a"), *events("a"), *events("")], at_0=at_0):
            made = mender.mend(json.dumps(event).encode())
            left += [event] if made is None else map(json.loads, made)
        calls = {place: (call.name, call.all_repairs, call.change) for place, call in mender.calls.items()}
        heard.append((placed(left, at_0=False), calls))
    assert heard[0] == heard[1]
    assert len(heard[0][1]) == (1 if wire == "openai_chat" else 3)
    assert {name for name, _, _ in heard[0][1].values()} == {"t"}
    new = [f"new-0-{index}-t" for index in (1, 2)]  # the second has the first one's id, the third none
    assert [id_ for id_ in new if id_ in json.dumps(heard[0][0])] == ([] if wire == "openai_chat" else new)


def test_each_of_geminis_candidates_has_calls_and_ids_of_its_own_wherever_it_stands() -> None:
    mender = menders.mender("gemini", mending())
    assert mender is not None
    call = {"functionCall": {"name": "t", "id": "", "args": {}}}
    for index in (1, 0, 1):
        frame = {"candidates": [{"index": index, "content": {"parts": [call]}}]}
        mender.mend(json.dumps(frame).encode())
    assert sorted(mender.calls) == [(0, 0), (1, 0), (1, 1)]


@pytest.mark.parametrize(("content", "places"), [([], [0, 0, 1, 1]), ([{"type": "text", "text": "So."}], [1, 1, 2, 2])])
def test_a_block_comes_behind_those_that_the_message_began_with(content: list[Any], places: list[int]) -> None:
    """Each block comes with the index 0 here, and so does what is said of the latest one."""
    mender = menders.mender("anthropic", mending())
    assert mender is not None
    assert mender.mend(json.dumps({"type": "message_start", "message": {"content": content}}).encode()) is None
    start = {"type": "content_block_start", "index": 0}
    events = [
        {**start, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_stop", "index": 0},
        {**start, "content_block": {"type": "tool_use", "id": "a", "name": "t", "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    ]
    frames = [json.dumps(event).encode() for event in events]
    assert [json.loads((mender.mend(frame) or [frame])[0])["index"] for frame in frames] == places


def test_all_that_is_said_of_a_moved_call_moves_with_it() -> None:
    mender = menders.mender("openai_responses", mending())
    assert mender is not None
    for event in [*responses("a"), *responses("b")]:
        mender.mend(json.dumps(event).encode())
    said = {"type": "response.function_call.noted", "output_index": 0}
    made = mender.mend(json.dumps(said).encode())
    assert made is not None
    assert [json.loads(one) for one in made] == [{**said, "output_index": 1}]
    for other in ({**said, "output_index": 7}, {"type": "response.in_progress"}):
        assert mender.mend(json.dumps(other).encode()) is None


@pytest.mark.parametrize("kind", ["response.function_call_arguments.done", "response.output_item.done"])
def test_what_was_held_of_arguments_leaves_once_and_in_the_place_of_their_end(kind: str) -> None:
    mender = menders.mender("openai_responses", mending(values=True))
    assert mender is not None
    item = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "t", "arguments": ""}
    where = {"item_id": "fc_1", "output_index": 3, "sequence_number": 7}
    more, cut = "response.function_call_arguments.delta", '{"n": 1,'
    assert mender.mend(json.dumps({"type": "response.output_item.added", **where, "item": item}).encode()) is None
    assert mender.mend(json.dumps({"type": more, **where, "delta": cut}).encode()) is not None
    end = json.dumps({"type": kind, **where, "arguments": cut, "item": {**item, "arguments": cut}}).encode()
    made = mender.mend(end)
    assert made is not None
    assert json.loads(made[0]) == {"type": more, **where, "delta": ","}
    assert len(made) == 2
    assert mender.mend(b'{"type": "response.incomplete", "response": {"output": []}}') is None


def test_the_input_of_a_custom_tool_is_text_and_stays() -> None:
    """Even where it looks like damaged JSON."""
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "t", "input": "{'n': 5,}"}
    mender = menders.mender("openai_responses", mending(values=True))
    assert mender is not None
    events = stream([{**item, "pieces": ["{'n'", ": 5,}"]}])
    assert any(event["type"] == "response.custom_tool_call_input.delta" for event in events)
    assert [mender.mend(json.dumps(event).encode()) for event in events] == [None] * len(events)


def test_a_call_whose_end_has_another_id_keeps_its_first_one_to_the_end_of_the_reply() -> None:
    """The Responses API says the id three times."""
    first, *between, end, last = stream(
        [{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "t", "arguments": "{}"}]
    )
    end = json.loads(json.dumps(end).replace("call_1", "call_2"))
    last = json.loads(json.dumps(last).replace("call_1", "call_2"))
    mender = menders.mender("openai_responses", mending())
    assert mender is not None
    made = [mender.mend(json.dumps(event).encode()) or [json.dumps(event).encode()] for event in
            (first, *between, end, last)]  # fmt: skip
    left = b"".join(frame for frames in made for frame in frames)
    assert left.count(b"call_1") == 3
    assert b"call_2" not in left


def test_a_sound_call_that_only_its_end_announces_leaves_as_it_came() -> None:
    mender = menders.mender("openai_responses", mending())
    assert mender is not None
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "t", "arguments": "{}"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    assert mender.mend(json.dumps(done).encode()) is None


def test_the_id_of_a_call_that_only_its_end_announces_has_not_changed() -> None:
    mender = menders.mender("openai_responses", mending())
    assert mender is not None
    item = {"type": "function_call", "id": "fc_1", "call_id": "", "name": "t", "arguments": "{}"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    made = mender.mend(json.dumps(done).encode())
    assert made is not None
    assert [json.loads(one) for one in made] == [{**done, "item": {**item, "call_id": "new-0-0-t"}}]
    assert mender.calls[0, 0].all_repairs == ("no_id",)


def test_a_call_that_is_only_in_the_response_is_mended_there() -> None:
    mender = menders.mender("openai_responses", mending())
    assert mender is not None
    calls = [{"type": "function_call", "call_id": id_, "name": "T", "arguments": "{}"} for id_ in ("a", "b")]
    made = mender.mend(json.dumps({"type": "response.completed", "response": {"output": calls}}).encode())
    assert made is not None
    assert [call["name"] for call in json.loads(made[0])["response"]["output"]] == ["t", "t"]


@pytest.mark.parametrize(("name", "indices"), [("t", [0, 1]), ("nothing", [0, 0]), ("other", [0, 0])])
def test_a_second_declared_name_begins_another_call_behind_one_without_parameters(
    name: str, indices: list[int]
) -> None:
    """Both come with the same index and with ids of their own, and no arguments came for the first."""
    mender = menders.mender("openai_chat", mending())
    assert mender is not None
    heard = []
    for id_, given in (("a", {"name": "nothing"}), ("b", {"name": name, "arguments": "{}"})):
        entry = {"index": 0, "id": id_, "type": "function", "function": given}
        frame = json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]}).encode()
        made = mender.mend(frame) or [frame]
        heard.append(json.loads(made[-1])["choices"][0]["delta"]["tool_calls"][0]["index"])
    assert heard == indices


def test_a_name_in_pieces_is_the_name_of_a_tool_without_parameters() -> None:
    mender = menders.mender("openai_chat", mending())
    assert mender is not None
    pieces = [{"id": "a", "type": "function", "function": {"name": "noth"}}, {"function": {"name": "ing"}}]
    for piece in pieces:
        delta = {"tool_calls": [{"index": 0, **piece}]}
        assert mender.mend(json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode()) is None
    assert mender.calls[0, 0].name == "nothing"
    made = mender.mend(b'{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}')
    assert made is not None
    assert json.loads(made[0])["choices"][0]["delta"]["tool_calls"] == [{"index": 0, "function": {"arguments": "{}"}}]
    assert json.loads(made[1])["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(("form", "given", "mended"), [("custom", "input", False), ("function", "arguments", True)])
def test_no_arguments_are_added_to_a_custom_call(form: str, given: str, mended: bool) -> None:
    """Its input is a text, and an empty one is sound."""
    mender = menders.mender("openai_chat", mending())
    assert mender is not None
    entry = {"index": 0, "id": "a", "type": form, form: {"name": "nothing", given: ""}}
    last = {"delta": {}, "finish_reason": "tool_calls"}
    frames = [{"choices": [{"index": 0, **one}]} for one in ({"delta": {"tool_calls": [entry]}}, last)]
    made = [mender.mend(json.dumps(frame).encode()) for frame in frames]
    assert [one is not None for one in made] == [False, mended]


# --- ids --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [True, False])
def test_an_id_that_is_empty_or_of_another_call_is_a_new_one(protocol: bool) -> None:
    made = mending(protocol=protocol)
    ids, calls = Ids(made), [made.begun("t") for _ in range(5)]
    given = ["a", "", "a", "b", ""]
    new = ["a", "new-1-1-t", "new-1-2-t", "b", "new-1-4-t"]
    assert [ids.of(one, 1, index, calls[index]) for index, one in enumerate(given)] == (new if protocol else given)
    wanted = [[], ["no_id"], ["repeated_id"], [], ["no_id"]]
    assert [call.repairs for call in calls] == (wanted if protocol else [[]] * 5)


# --- arguments as an object -------------------------------------------------------------------------------------------

# What came, and what leaves of it: where the protocol is mended, and where values are, None where it stays.
OBJECTS: list[tuple[str, str | None, list[Repair], str | None, list[Repair]]] = [
    ('{"n": 5}', None, [], None, []),
    ('{"n": "5"}', None, [], '{"n": 5}', ["wrong_type"]),
    ('"{\\"n\\": 5}"', '{"n": 5}', ["string_arguments"], None, []),
    ('"{\\"n\\": \\"5\\"}"', '{"n": "5"}', ["string_arguments"], None, []),
    ("\"{'n': 5}\"", None, [], None, []),
    ('"no"', None, [], None, []),
    ('""', None, [], None, []),
    ("5", None, [], None, []),
    ("[1]", None, [], None, []),
    ("null", None, [], None, []),
]


@pytest.mark.parametrize(("given", "api", "of_api", "value", "of_value"), OBJECTS)
def test_arguments_as_an_object(
    given: str, api: str | None, of_api: list[Repair], value: str | None, of_value: list[Repair]
) -> None:
    rows: list[tuple[dict[str, Any], str | None, list[Repair]]] = [
        ({}, api, of_api),
        ({"protocol": False}, None, []),
        ({"protocol": False, "values": True}, value, of_value),
    ]
    for asked, wanted, repairs in rows:
        made = mending(**asked)
        call = made.begun("t")
        found = as_object(rawjson.raw(given.encode()), call, made, cut=False)
        assert (None if found is None else rawjson.text_of(found)) == wanted
        assert list(call.all_repairs) == repairs
        assert bool(call.change) == ("wrong_type" in repairs)  # else the text is the same


def test_no_arguments_of_a_tool_that_takes_none_are_an_object() -> None:
    made = mending()
    for given in ('""', "null"):
        call = made.begun("nothing")
        found = as_object(rawjson.raw(given.encode()), call, made, cut=False)
        assert (found is not None) == (given == '""' or call.arguments.whole)
        assert as_object(rawjson.raw(given.encode()), made.begun("nothing"), made, cut=True) is None
    both = mending(values=True)
    call = both.begun('t{"n":1}')
    found = as_object(rawjson.raw(b"null"), call, both, cut=False)
    assert found is not None
    assert (rawjson.value(found), call.all_repairs) == ({"n": 1}, ("markup_in_name",))
