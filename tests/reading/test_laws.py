"""The laws of the design as properties, over texts made of the dialects' own markup (`strategies`).

Strategy: each law is stated once, over the reader, and once more over bytes where the exchange adds something that
could break it.
"""

import json
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from typing import get_args

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from support.readings import arguments, call_policy_for, meaning, read, shown, verdicts
from support.reasonings import reasoning_routes, reasonings
from support.sampling import examples
from support.strategies import (
    DIALECTS,
    NOISE,
    NS,
    STANDARD,
    TOOLS,
    blocks,
    calls,
    cut,
    invoke_of,
    law,
    replies,
    routes,
    tagged_of,
)
from toolcalls.events import CallEnd, CallStart, Event, Markup, Reasoning, Text
from toolcalls.insight.vocabulary.words import REASONS
from toolcalls.reading.openers import REASONING_CLOSERS
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.reading.unopened_reasoning import holds_closer
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route, Taken
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, write

# ------------------------------------------------------------------------------------------------------- the reader


@law
@given(st.data(), replies, routes, st.booleans())
def test_the_reply_is_the_same_however_it_is_cut(data: st.DataObject, text: str, route: Route, ends: bool) -> None:
    once = read(route, [text], ends=ends)
    again = read(route, data.draw(cut(text)), ends=ends)
    assert shown(again) == shown(once)
    assert calls_in(again) == calls_in(once)
    assert arguments(again) == arguments(once)
    assert verdicts(again) == verdicts(once)


@law
@given(replies, routes, st.booleans(), st.lists(st.integers(0, 400), max_size=8))
@example(f"&lt;{NS}invoke name=<Tool\n{invoke_of('Bash', {'command': ''})}", STANDARD, True, [7])
def test_what_may_be_reasoning_is_the_same_however_it_is_cut(
    text: str, route: Route, ends: bool, places: list[int]
) -> None:
    once = read(route, [text], ends=ends, likely=True)
    again = read(route, cut_at(text, places), ends=ends, likely=True)
    assert (shown(again), calls_in(again), verdicts(again)) == (shown(once), calls_in(once), verdicts(once))
    assert "".join(event.text for event in again if isinstance(event, Text | Markup)) == text
    if not holds_closer(text) and 4 * len(text) <= route.max_buffer_bytes:
        assert len(calls_in(again)) <= len(calls_in(read(route, [text], ends=ends)))


@law
@given(st.data(), replies, routes, st.booleans())
def test_an_echo_is_found_however_it_is_cut(data: st.DataObject, text: str, route: Route, ends: bool) -> None:
    quoted = (f"before\n{data.draw(st.sampled_from([text, text[: len(text) // 2], text[1:]]))}\nbehind",)
    once = read(route, [text], ends=ends, quotable=quoted)
    again = read(route, data.draw(cut(text)), ends=ends, quotable=quoted)
    assert (shown(again), calls_in(again), verdicts(again)) == (shown(once), calls_in(once), verdicts(once))


def cut_at(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, *(place for place in places if place < len(text)), len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


def behind(route: Route, pieces: list[str]) -> tuple[str | None, bool]:
    """Where a block after the one that consists of these pieces begins: what it is in, and whether at a line."""
    reader = Reader(call_policy_for(route))
    for piece in pieces:
        reader.feed(piece)
    reader.finish(cut=False)
    place = reader.next_block()
    return place.reason(), place.line_start


@law
@given(replies, routes, st.lists(st.integers(0, 400), max_size=8))
@example("<invoke>\n<invoke>\n<Bash>\n<command>```</command>\n</Bash>", Route(max_candidates=1), [24])
def test_the_next_block_begins_at_the_same_place_however_this_one_is_cut(
    text: str, route: Route, places: list[int]
) -> None:
    assert behind(route, cut_at(text, places)) == behind(route, [text])


@pytest.mark.parametrize(
    "filling", [' x="' + 3000 * "a" + '"', 3000 * " ", 600 * ' a="b"'], ids=["value", "space", "many"]
)
def test_a_tag_past_its_limit_is_read_the_same_however_it_is_cut(filling: str) -> None:
    text = f'<invoke name="Bash"{filling}><parameter name="command">ls</parameter></invoke>'
    once = read(STANDARD, [text])
    assert [verdict.reason for verdict in verdicts(once)] == ["not_a_call"]
    for size in (1, 7, 1000, 1100):
        assert verdicts(read(STANDARD, [text[at : at + size] for at in range(0, len(text), size)])) == verdicts(once)


def test_what_overflows_behind_an_open_wrapper_is_the_same_however_it_is_cut() -> None:
    opened = "&lt;function_calls&gt;<function_calls>\n"
    first = f'<invoke name="Save">\n<parameter name="text">{"x" * 60}</parameter>\n</invoke>\n'
    text = f'{opened}{first}<invoke name="Bash">\n</invoke>\n</function_calls>'
    route = Route(client="native", upstream="text", policy="lenient", max_buffer_bytes=80, max_held_call_bytes=80)
    assert verdicts(read(route, list(text))) == verdicts(read(route, [text]))


@law
@given(replies, routes, st.sampled_from([40, 80, 200]), st.sampled_from([40, 80, 200]), st.booleans(), st.booleans())
def test_held_text_overflows_at_the_same_character_however_it_is_cut(
    text: str, route: Route, most: int, most_of_call: int, ends: bool, likely: bool
) -> None:
    route = replace(route, max_buffer_bytes=most, max_held_call_bytes=most_of_call)
    once, again = (read(route, pieces, ends=ends, likely=likely) for pieces in ([text], list(text)))
    assert (shown(again), arguments(again), verdicts(again)) == (shown(once), arguments(once), verdicts(once))


@law
@given(st.data(), reasonings, reasoning_routes, st.booleans(), st.booleans())
def test_reasoning_is_the_same_however_it_is_cut(
    data: st.DataObject, text: str, route: Route, ends: bool, likely: bool
) -> None:
    once = read(route, [text], ends=ends, likely=likely)
    for pieces in (list(text), data.draw(cut(text))):
        again = read(route, pieces, ends=ends, likely=likely)
        assert (shown(again), arguments(again), verdicts(again)) == (shown(once), arguments(once), verdicts(once))
        assert thoughts(again) == thoughts(once)


def thoughts(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Reasoning))


def test_what_stands_before_a_bracket_in_reasoning_does_not_depend_on_the_cut() -> None:
    route = Route(client="native", upstream="text", policy="lenient", take=get_args(Taken), starts_in_reasoning=True)
    text = '"list": [{"name": "Noop"}]'
    assert not calls_in(read(route, [text]))
    assert not calls_in(read(route, list(text)))


@pytest.mark.parametrize("policy", ["standard", "lenient"])
def test_behind_the_message_that_the_prompt_began_a_line_begins_however_it_is_cut(policy: PolicyName) -> None:
    route = Route(client="native", upstream="text", policy=policy, starts_in_reasoning=True)
    text = f"I look.<|eom|>{tagged_of('Bash', {'command': 'ls'})}"
    for size in range(1, len(text) + 1):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert [call.name for call in calls_in(read(route, pieces))] == ["Bash"]


def without_layout(text: str) -> str:
    """Without white space, and without closers of reasoning, which go with a call after them."""
    for closer in REASONING_CLOSERS:
        text = text.replace(closer, "")
    return "".join(text.split())


@law
@given(replies, routes, st.booleans())
def test_nothing_is_lost(text: str, route: Route, ends: bool) -> None:
    events = read(route, [text], ends=ends)
    assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == text
    # What a dialect's frame takes away of a message that is no call is no text: so without frames.
    events = read(route, [text], ends=ends, frames=False)
    left, at = [], 0
    for verdict in verdicts(events):
        if verdict.index is not None:
            left.append(text[at : verdict.start])
            at = verdict.end
    left.append(text[at:])
    assert without_layout("".join(left)) == without_layout(shown(events))


@law
@given(replies, routes, st.booleans())
def test_every_candidate_has_one_verdict(text: str, route: Route, ends: bool) -> None:
    events = read(route, [text], ends=ends)
    found = verdicts(events)
    started = [event.index for event in events if isinstance(event, CallStart)]
    ended = {event.index for event in events if isinstance(event, CallEnd)}
    assert started == list(range(len(started)))
    assert sorted(verdict.index for verdict in found if verdict.index is not None) == started
    for verdict in found:
        assert 0 <= verdict.start <= verdict.end <= len(text)
        assert verdict.status in {"lifted", "declined", "truncated", "malformed"}
        assert (verdict.reason is None) == (verdict.status == "lifted")
        assert verdict.reason is None or verdict.reason in REASONS
        assert (verdict.status == "lifted") == (verdict.index in ended)
    # A call in the open is judged when the text around it has ended, after candidates that are further on.
    for before, behind in pairwise(sorted(found, key=attrgetter("start", "end"))):
        assert before.end <= behind.start or route.policy == "lenient"  # which looks again after what never closed


@law
@given(replies, routes, st.booleans())
def test_a_complete_call_has_one_object_for_arguments(text: str, route: Route, ends: bool) -> None:
    for call in calls_in(read(route, [text], ends=ends)):
        assert isinstance(json.loads(call.arguments), dict)


@law
@given(replies, st.data())
def test_a_reply_that_is_cut_off_completes_nothing(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    whole = calls_in(read(STANDARD, [text]))
    part = calls_in(read(STANDARD, [text[:place]], ends=False))
    assert part == whole[: len(part)]


@law
@given(
    st.lists(st.one_of(blocks, st.sampled_from(["\n", "words\n", "```\n", "<b>x</b>\n"])), max_size=4), st.booleans()
)
def test_the_payload_of_a_refused_call_is_never_searched(payload: list[str], tagged: bool) -> None:
    inside = "".join(payload)
    assume("</text>" not in inside and "</parameter>\n</invoke>\n</invoke>" not in inside)
    outer = tagged_of("Save", {"text": inside}) if tagged else invoke_of("Save", {"text": inside})
    route = Route(allowed_tools=("Bash", "Noop"))
    events = read(route, [outer])
    assert shown(events) == outer
    assert [(verdict.status, verdict.name) for verdict in verdicts(events)] == [("declined", "Save")]


# ------------------------------------------------------------------------------------------------------- the writer


@law
@given(st.sampled_from(DIALECTS), st.lists(calls, max_size=2), st.booleans())
@example("invoke", [Call("Save", '{"text":"a && b < c ]]> </parameter> \'q\' \\"d\\""}')], True)
@example("tagged", [Call("Save", '{"text":"</text>\\n<n>"}')], True)
def test_what_is_written_is_read_back_as_itself(dialect: str, written: list[Call], declared: bool) -> None:
    names = {call.name for call in written} - {tool.name for tool in TOOLS}
    known = (*TOOLS, *map(Tool, sorted(names))) if declared else ()  # lenient takes no name that only resembles one
    try:
        text = write(dialect, written, Toolbox(known))
    except Unwritable:
        return
    reader = Reader(CallPolicy(Route(policy="lenient", dialects=(dialect,)), Request(tools=known)))
    events = [*reader.feed(text), *reader.finish(cut=False)]
    assert meaning(calls_in(events)) == meaning(written)
    assert shown(events).strip() == ""


@pytest.mark.parametrize("dialect", DIALECTS)
@examples(25)
@given(value=st.lists(st.sampled_from([*NOISE, "<b>", "</b>", "<p>", "if (a<b)"]), max_size=6).map("".join))
@example(value="  if a < b:\n\treturn\n")
def test_code_can_be_written_where_the_schema_says_string(dialect: str, value: str) -> None:
    written = [Call("Save", json.dumps({"text": value}))]
    try:
        text = write(dialect, written, Toolbox(TOOLS))
    except Unwritable:
        assert "\r" in value, "only a CR at a value's edge may run into the line ends around it"
        return
    reader = Reader(call_policy_for(STANDARD))
    assert meaning(calls_in([*reader.feed(text), *reader.finish(cut=False)])) == meaning(written)
