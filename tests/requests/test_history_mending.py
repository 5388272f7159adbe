"""Damaged calls in a history, mended on their way up: each kind on each wire, the same bytes every time.

A few lines over 300: one kind of test for each kind of damage.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import http

from support import nullmembers
from support.histories import AS_TEXT, BY_NAME, GOOD, TELL, Call, chat, gemini, messages, parts_of, sound
from support.repository import shared_path
from support.rewritings import IN_HISTORY, mended
from support.sampling import examples
from toolcalls.config import parse
from toolcalls.dialects import all_dialects
from toolcalls.flows.exchange_plan import plan_for
from toolcalls.request import Request
from toolcalls.requests.conversation import conversation_of, request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.history_mending import mended_history
from toolcalls.route import Mended, Route
from toolcalls.wires import all_wires

# What is wrong with the first call, the kind that mends it, and the repairs that are noted.
type Damage = Callable[[str, Call], Call]
ARGUMENTS: dict[str, tuple[Mended, str, Damage]] = {
    "encoded twice": (
        "protocol",
        "double_encoded",
        lambda _, call: (call[0], call[1], json.dumps(json.dumps(GOOD))),
    ),
    "a string for an array": ("types", "wrong_type", lambda wire, call: _given(wire, call, {**GOOD, "edits": '["x"]'})),
    "another spelling": ("names", "name", lambda _, call: (call[0], "functions.Edit", call[2])),
    "a token behind the name": ("names", "markup_in_name", lambda _, c: (c[0], "edit<|channel|>commentary", c[2])),
    "the name twice": ("protocol", "repeated_name", lambda _, call: (call[0], "editedit", call[2])),
}


def _given(wire: str, call: Call, arguments: Any) -> Call:
    return (call[0], call[1], json.dumps(arguments) if wire in AS_TEXT else arguments)


@pytest.mark.parametrize("wire", [*TELL])
@pytest.mark.parametrize("damage", [*ARGUMENTS])
def test_each_damage_is_mended_where_the_route_names_its_kind(wire: str, damage: str) -> None:
    kind, repair, damaged = ARGUMENTS[damage]
    calls, results = sound(wire)
    if repair == "double_encoded" and wire not in AS_TEXT:  # encoded once is as wrong there
        repair = "string_arguments, double_encoded"
    calls[0] = damaged(wire, calls[0])
    results = [(i, calls[0][1] if name == "edit" else name, said) for i, name, said in results]
    body = json.dumps(TELL[wire](calls, results)).encode()
    made, notes = mended(wire, body, kind)
    found = parts_of(wire, made)
    assert found[0] == [("c1", "edit", GOOD), ("c2", "now", {})]
    assert [one[1] for one in found[1]] == (["edit", "now"] if wire in BY_NAME else ["", ""])
    assert [one[0] for one in found[1]] == ["c1", "c2"]
    assert notes[0].startswith("1 past call mended (")
    assert set(repair.split(", ")) & set(notes[0].partition("(")[2].rstrip(")").split(", "))
    other: Mended = "json" if kind != "json" else "errors"
    assert mended(wire, body, other) == (body, ())
    assert mended(wire, body, "errors", "reasoning") == (body, ())


@pytest.mark.parametrize(("wire", "names"), [one for one in nullmembers.each(nullmembers.REQUESTS) if one[0] in TELL])
def test_calls_beside_members_that_are_null_are_mended(wire: str, names: str) -> None:
    body = TELL[wire](*[[("c1", *rest) for _, *rest in each] for each in sound(wire)])
    given = nullmembers.filled(body, nullmembers.REQUESTS[wire].split(), names.split())
    expected, notes = mended(wire, body, "protocol")
    made, said = mended(wire, given, "protocol")
    assert said == notes != ()
    assert nullmembers.changed(made, nullmembers.emptied) == nullmembers.changed(expected, nullmembers.emptied)


@pytest.mark.parametrize("wire", ["anthropic", "gemini", "ollama"])
def test_arguments_in_a_string_where_the_api_has_an_object(wire: str) -> None:
    calls, results = sound(wire)
    calls[0] = ("c1", "edit", '{"path": "a.py", "edits": ["x"], "n": 12345678901234567890}')
    made, notes = mended(wire, TELL[wire](calls, results), "protocol")
    assert notes == ("1 past call mended (string_arguments)",)
    assert b'"n": 12345678901234567890' in made


@pytest.mark.parametrize("wire", sorted(AS_TEXT))
def test_arguments_as_an_object_where_the_api_has_a_string(wire: str) -> None:
    calls, results = sound(wire)
    calls = [(id_, name, json.loads(arguments)) for id_, name, arguments in calls]
    made, notes = mended(wire, TELL[wire](calls, results), "protocol")
    assert parts_of(wire, made) == parts_of(wire, json.dumps(TELL[wire](*sound(wire))).encode())
    assert notes == ("2 past calls mended (object_arguments)",)


@pytest.mark.parametrize("wire", sorted(AS_TEXT))
@pytest.mark.parametrize("empty", ["", None, " "])
def test_no_arguments_of_a_tool_that_takes_none_are_an_empty_object(wire: str, empty: str | None) -> None:
    calls, results = sound(wire)
    calls[1] = ("c2", "now", empty)
    made, notes = mended(wire, TELL[wire](calls, results), "protocol")
    assert parts_of(wire, made)[0][1] == ("c2", "now", {})
    assert notes == ("1 past call mended (empty_arguments)",)


@pytest.mark.parametrize("wire", sorted(AS_TEXT))
@pytest.mark.parametrize("arguments", ['{"path": "a', '{"path": "a"', "", '{"path": 1}{"path": 2}', "go"])
def test_what_was_cut_off_or_says_nothing_sure_stays(wire: str, arguments: str) -> None:
    calls, results = sound(wire)
    calls[0] = ("c1", "edit", arguments)
    body = json.dumps(TELL[wire](calls, results)).encode()
    assert mended(wire, body) == (body, ())


@pytest.mark.parametrize("wire", sorted(AS_TEXT))
def test_json_that_is_none(wire: str) -> None:
    calls, results = sound(wire)
    calls[0] = ("c1", "edit", "{'path': 'a.py', 'edits': ['x',]}")
    body = json.dumps(TELL[wire](calls, results)).encode()
    assert parts_of(wire, mended(wire, body, "json")[0])[0][0] == ("c1", "edit", GOOD)
    assert mended(wire, body, "protocol") == (body, ())


# --- ids --------------------------------------------------------------------------------------------------------------

ASK_IDS = ["openai_chat", "anthropic", "openai_responses"]


@pytest.mark.parametrize("wire", [*TELL])
@pytest.mark.parametrize("id_", ["", "c1"])
def test_calls_with_one_id_get_their_own_and_their_results_too(wire: str, id_: str) -> None:
    calls, results = sound(wire)
    calls = [(id_, name, arguments) for _, name, arguments in calls]
    results = [(id_, name, said) for _, name, said in results]
    body = TELL[wire](calls, results)
    made, notes = mended(wire, body, "protocol")
    (first, second), (one, two) = parts_of(wire, made)
    assert (one[0], two[0]) == (first[0], second[0])
    assert (one[2], two[2]) == ("one", "two")
    assert len({first[0], second[0], ""}) == 3
    assert (first[0] == "c1") == (id_ == "c1")
    assert notes[0].endswith("(no_id)" if not id_ else "(repeated_id)")
    assert str(second[0]).startswith(all_wires()[wire].call_id_prefix)
    assert mended(wire, body, "types", "names", "json") == (json.dumps(body).encode(), ())


def test_coheres_history_is_that_of_chat_completions() -> None:
    calls, results = sound("openai_chat")
    body = chat([("", name, arguments) for _, name, arguments in calls], [("", n, said) for _, n, said in results])
    made, notes = mended("cohere", body, "protocol")
    (first, second), (one, two) = parts_of("openai_chat", made)
    assert first[0] == one[0]
    assert second[0] == two[0]
    assert len({first[0], second[0], "", None}) == 4
    assert notes


def test_the_interactions_api_has_calls_as_steps() -> None:
    calls = [{"type": "function_call", "id": "c1", "name": "edit", "arguments": {"path": path}} for path in "ab"]
    results = [{"type": "function_result", "call_id": "c1", "name": "edit", "result": said} for said in ("one", "two")]
    made, notes = mended("gemini_interactions", {"model": "m", "input": [*calls, *results]}, "protocol")
    as_text = [{**call, "id": f"c{place}", "arguments": '{"path": "a"}'} for place, call in enumerate(calls)]
    objects, said = mended("gemini_interactions", {"model": "m", "input": as_text}, "protocol")
    assert [one["arguments"] for one in json.loads(objects)["input"]] == [{"path": "a"}] * 2
    assert said
    first, second, one, two = json.loads(made)["input"]
    assert (first["id"], one["call_id"]) == ("c1", "c1")
    assert second["id"] == two["call_id"] != "c1"
    assert notes


@pytest.mark.parametrize("wire", [*TELL])
def test_a_new_id_is_that_of_its_call_whatever_other_calls_are_before_it(wire: str) -> None:
    """So it stays the same where an agent drops the beginning of its history."""
    arguments = [json.dumps({"path": path}) if wire in AS_TEXT else {"path": path} for path in "ab"]
    both, _ = mended(wire, TELL[wire]([("", "edit", one) for one in arguments], []), "protocol")
    alone, _ = mended(wire, TELL[wire]([("", "edit", arguments[1])], []), "protocol")
    (first, second), (only,) = parts_of(wire, both)[0], parts_of(wire, alone)[0]
    assert second[0] == only[0] != first[0]


@pytest.mark.parametrize("wire", ["gemini", "ollama", "openai_chat"])
def test_results_in_another_order_go_to_the_calls_that_they_name(wire: str) -> None:
    calls, results = sound(wire)
    calls = [("c", name, arguments) for _, name, arguments in calls]
    results = [("c", name, said) for _, name, said in reversed(results)]
    (first, second), (one, two) = parts_of(wire, mended(wire, TELL[wire](calls, results))[0])
    assert (one[0], two[0]) == (second[0], first[0])


@pytest.mark.parametrize("wire", ["gemini", "ollama", "openai_chat"])
def test_such_results_name_a_call_as_it_came_or_as_it_is_now(wire: str) -> None:
    calls, results = sound(wire)
    calls = [("c", f"functions.{name}", arguments) for _, name, arguments in calls]
    for spelt in ("functions.{}", "{}"):
        answers = [("c", spelt.format(name), said) for _, name, said in reversed(results)]
        (first, second), (one, two) = parts_of(wire, mended(wire, TELL[wire](calls, answers))[0])
        assert (one[0], two[0]) == (second[0], first[0])


def test_gemini_may_spell_its_keys_in_either_way() -> None:
    calls, results = sound("gemini")
    calls = [("c", name, arguments) for _, name, arguments in calls]
    body = json.dumps(TELL["gemini"](calls, [("c", name, said) for _, name, said in results])).encode()

    def snakes(text: bytes) -> bytes:
        return text.replace(b'"functionCall"', b'"function_call"').replace(
            b'"functionResponse"', b'"function_response"'
        )

    made, notes = mended("gemini", body)
    assert made != body
    assert mended("gemini", snakes(body)) == (snakes(made), notes)


@pytest.mark.parametrize("wire", ASK_IDS)
def test_an_id_that_is_missing_is_given(wire: str) -> None:
    calls, results = sound(wire)
    calls[0] = (None, *calls[0][1:])
    results = [(None, *results[0][1:]), results[1]]
    (first, second), (one, two) = parts_of(wire, mended(wire, TELL[wire](calls, results))[0])
    assert first[0] == one[0]
    assert first[0] not in {"", None, "c2"}
    assert (second[0], two[0]) == ("c2", "c2")


@pytest.mark.parametrize("wire", ["gemini", "ollama"])
def test_calls_without_ids_are_sound_where_the_api_asks_for_none(wire: str) -> None:
    calls, results = sound(wire)
    calls = [(None, *call[1:]) for call in calls]
    results = [(None, *result[1:]) for result in results]
    body = json.dumps(TELL[wire](calls, results)).encode()
    assert mended(wire, body) == (body, ())


def test_an_id_of_an_earlier_turn_is_repeated_and_a_second_answer_stays_with_its_call() -> None:
    calls, results = sound("openai_chat")
    one = chat(calls[:1], [results[0], results[0]])["messages"]
    body = {**chat([], []), "messages": [*one, *one[1:]]}
    made, notes = mended("openai_chat", body)
    (first, second), answers = parts_of("openai_chat", made)
    assert [answer[0] for answer in answers] == [first[0], first[0], second[0], second[0]]
    assert first[0] == "c1" != second[0]
    assert notes == ("1 past call mended (repeated_id)",)


@pytest.mark.parametrize("wire", ASK_IDS)
def test_a_history_that_grows_keeps_its_beginning(wire: str) -> None:
    """A prompt cache finds it: an earlier call is mended to the same bytes, whatever follows."""
    calls, results = sound(wire)
    calls = [("", *call[1:]) for call in calls]
    short = parts_of(wire, mended(wire, TELL[wire](calls, [("", *one[1:]) for one in results]))[0])
    more = [*calls, *calls]
    long = parts_of(wire, mended(wire, TELL[wire](more, [("", *one[1:]) for one in [*results, *results]]))[0])
    assert long[0][:2] == short[0]
    assert len({call[0] for call in long[0]}) == 4
    assert [one[0] for one in long[1]] == [call[0] for call in long[0]]


def test_a_cache_mark_does_not_change_an_id() -> None:
    calls, results = sound("anthropic")
    body = messages([("", *call[1:]) for call in calls], [("", *one[1:]) for one in results])
    plain = parts_of("anthropic", mended("anthropic", body)[0])
    body["messages"][1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    assert parts_of("anthropic", mended("anthropic", body)[0]) == plain


# --- what stays -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", [*TELL])
def test_a_sound_history_stays_byte_for_byte(wire: str) -> None:
    body = json.dumps(TELL[wire](*sound(wire)), indent=3).encode()
    assert mended(wire, body) == (body, ())


@pytest.mark.parametrize("wire", [*TELL])
def test_what_stands_around_a_mended_call_is_written_as_it_was(wire: str) -> None:
    calls, results = sound(wire)
    calls[0] = (calls[0][0], "functions.edit", calls[0][2])
    body = json.dumps(TELL[wire](calls, results)).replace('"go"', r'"g\u006f"')
    made, _ = mended(wire, body.encode())
    assert rb'"g\u006f"' in made
    assert list(json.loads(made)) == list(json.loads(body))


def test_a_custom_tools_call_gets_an_id_and_keeps_its_words() -> None:
    body = chat([], [])
    custom = {"id": "", "type": "custom", "custom": {"name": "Edit", "input": "{'a"}}
    body["messages"][1]["tool_calls"] = [custom]
    body["messages"].append({"role": "tool", "tool_call_id": "", "content": "ok"})
    made = json.loads(mended("openai_chat", body)[0])
    assert made["messages"][1]["tool_calls"][0]["custom"] == custom["custom"]
    assert made["messages"][1]["tool_calls"][0]["id"] == made["messages"][2]["tool_call_id"] != ""


def test_code_assist_has_the_contents_further_inside() -> None:
    calls, results = sound("gemini")
    calls[0] = ("c1", "functions.edit", GOOD)
    body = {"model": "m", "request": gemini(calls, results)}
    made = json.loads(mended("gemini", body)[0])
    assert made["request"]["contents"][1]["parts"][0]["functionCall"]["name"] == "edit"
    assert made["model"] == "m"


@pytest.mark.parametrize("wire", [*TELL])
def test_recorded_histories_are_sound_and_stay(wire: str) -> None:
    """Requests that real providers took, with all kinds of mending on."""
    lines = shared_path(f"suites/streams/{wire.replace('_', '-')}.jsonl").read_text("utf-8").splitlines()
    bodies = [json.dumps(row["request"]).encode() for row in map(json.loads, lines) if isinstance(row["request"], dict)]
    assert bodies
    for body in bodies:
        try:
            request_of(all_wires()[wire], body)
        except ValueError:
            continue
        assert mended(wire, body) == (body, ())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["id", "name", "function", "arguments", "role", "type", "content"]), inner)
)  # fmt: skip


@given(JSON, st.sampled_from(sorted(TELL)))
@examples(60)
def test_nothing_raises(value: Any, wire: str) -> None:
    key = {"openai_responses": "input", "gemini": "contents"}.get(wire, "messages")
    codec = all_wires()[wire]
    route = Route(mend=IN_HISTORY)
    call_policy, tools = call_policy_of(route, Request(), decide(route, Request(), {}, ()))
    body = json.dumps({key: value}).encode()
    try:
        conversation = conversation_of(wire, body)
    except ValueError:
        assert not isinstance(value, list)
        return
    made, notes = mended_history(codec, conversation, call_policy, tools)
    assert (made == body) == (not notes)
    json.loads(made)


# --- by configuration -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "changes"),
    [
        ("rewrite_request: true", True),
        ("rewrite_request: true, mend: []", False),
        ("rewrite_request: false", False),
    ],
)
def test_the_upstream_is_sent_the_mended_history_where_the_route_says_so(says: str, changes: bool) -> None:
    config = parse(f"routes:\n  - {{client: native, upstream: native, {says}}}\n", "c", all_dialects(), all_wires())
    calls, results = sound("openai_chat")
    body = json.dumps(chat([("", *calls[0][1:])], [("", *results[0][1:])])).encode()
    request = http.Request.make("POST", "http://h/v1/chat/completions", body, {"content-type": "application/json"})
    plan = plan_for(all_wires()["openai_chat"], request, config)
    assert (plan.request is not None) == changes
    noted = [note for note in plan.decision.evidence if "mended" in note]
    assert noted == (["request: 1 past call mended (no_id)"] if changes else [])
    if plan.request is not None:
        assert plan.request[0] == body
        ((call,), (result,)) = parts_of("openai_chat", plan.request[1])
        assert call[0] == result[0] != ""
