"""The loop guard (`processors/loops.py`), compared with plain counting.

Strategy: rows of a few calls, some of them answered, and any numbers. What is found must be what somebody finds who
counts by the words of `Loops`; of each number, one call fewer is no loop. Then passages of text: how long, how often,
and where in a reply they are found.
"""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.processors.loops import CallLoops, EarlierCall, Loop, LoopWatch, TextLoops, note_of
from toolcalls.route import Loops

cheap = settings(law, max_examples=max(100, law.max_examples))  # also with TESTS=quick

NONE = Loops(same_call=0, same_result=0, cycle=0, message=0)
ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.sampled_from([None, "x", "y"])), max_size=14)


def earlier(row: Sequence[tuple[str, int, str | None]]) -> tuple[EarlierCall, ...]:
    return tuple(EarlierCall(name, json.dumps({"n": number}), result) for name, number, result in row)


def counted(row: Sequence[EarlierCall], call: tuple[str, str], loops: Loops) -> str | None:
    """What kind of loop one more call makes, None for none."""
    made = [(past.name, past.arguments) for past in row]
    same = [place for place, past in enumerate(made) if past == call]
    if loops.same_result and len(same) >= loops.same_result:
        results = [row[place].result for place in same[-loops.same_result :]]
        if results[0] is not None and all(left == right for left, right in pairwise(results)):
            return "same_result"
    first = [place for place, past in enumerate(made) if past != call and past not in made[:place]]
    answered = [place for place in first if row[place].result is not None]
    since = max(answered) if loops.progress and answered else -1
    if loops.same_call and len([place for place in same if place > since]) + 1 >= loops.same_call:
        return "same_call"
    for size in (2, 3):
        rounds = [*made, call][-size * loops.cycle :] if loops.cycle else []
        if len(rounds) == size * loops.cycle and rounds[:size] * loops.cycle == rounds and len(set(rounds[:size])) > 1:
            return "cycle"
    return None


@cheap
@given(
    row=ROWS,
    call=st.tuples(st.sampled_from("ab"), st.integers(0, 1)),
    numbers=st.fixed_dictionaries(
        {"same_call": st.integers(0, 4), "same_result": st.integers(0, 3), "cycle": st.integers(0, 3)}
    ),
    progress=st.booleans(),
)
def test_a_loop_is_what_counting_finds(
    row: Any, call: tuple[str, int], numbers: dict[str, int], progress: bool
) -> None:
    loops = Loops(**numbers, message=0, progress=progress)
    history, arguments = earlier(row), json.dumps({"n": call[1]})
    found = CallLoops(loops, history).detect(call[0], arguments)
    assert (found and found.what) == counted(history, (call[0], arguments), loops)
    may = CallLoops(loops, history).may_loop(call[0])
    known = {(past.name, past.arguments) for past in history if past.name == call[0]}
    assert may == any(counted(history, one, loops) for one in known)


@pytest.mark.parametrize(
    ("numbers", "calls", "result", "text"),
    [
        ({"same_call": 3}, "aaa", None, "a was called the same way 3 times"),
        ({"same_result": 2}, "aaa", "x", "a gave the same result 2 times"),
        ({"cycle": 2}, "abab", None, "the same 2 calls followed each other 2 times"),
        ({"cycle": 2}, "abcabc", None, "the same 3 calls followed each other 2 times"),
    ],
    ids=str,
)
def test_a_loop_is_made_by_its_last_call_alone(
    numbers: dict[str, int], calls: str, result: str | None, text: str
) -> None:
    loops = Loops(**{"same_call": 0, "same_result": 0, "cycle": 0, **numbers}, progress=False)
    row = tuple(EarlierCall(name, "{}", result) for name in calls)
    for count in range(len(row)):
        found = CallLoops(loops, row[:count]).detect(calls[count], "{}")
        assert (found is None) == (count < len(row) - 1)
    assert found is not None
    assert found.text == text


def test_the_same_call_again_and_again_is_no_cycle() -> None:
    """`same_call` is what counts it."""
    loops = CallLoops(Loops(same_call=0, same_result=0, cycle=2), (EarlierCall("a", "{}", None),) * 5)
    assert loops.detect("a", "{}") is None
    assert CallLoops(Loops(same_call=0, same_result=0, cycle=2), (EarlierCall("a", "{}", None),) * 3).detect(
        "a", "{}"
    ) is None  # fmt: skip


def test_a_call_of_the_reply_counts_and_has_no_result_yet() -> None:
    loops = CallLoops(Loops(same_call=0, same_result=2, cycle=0), (EarlierCall("a", "{}", "x"),))
    loops.add("a", "{}")
    assert loops.detect("a", "{}") is None
    again = CallLoops(Loops(same_call=3, same_result=0, cycle=0))
    for _ in range(2):
        assert again.detect("a", "{}") is None
        again.add("a", "{}")
    assert again.detect("a", "{ }") == Loop("same_call", "a was called the same way 3 times")
    assert again.detect("a", '{"n": 1}') is None
    assert again.detect("b", "{}") is None


def test_calls_of_other_tools_are_not_counted() -> None:
    loops = CallLoops(Loops(same_call=2, tools=("a", "x.*")), (EarlierCall("b", "{}"), EarlierCall("a", "{}")))
    assert [loops.watches(name) for name in ("a", "xy", "ab", "b")] == [True, True, False, False]
    loops.add("b", "{}")
    assert loops.detect("b", "{}") is None
    assert loops.detect("a", "{}") is not None


def test_only_the_latest_calls_of_a_long_row_count() -> None:
    row = [EarlierCall("a", "{}", None), *(EarlierCall("b", json.dumps({"n": n})) for n in range(63))]
    loops = Loops(same_call=2, same_result=0, cycle=0, progress=False)
    assert CallLoops(loops, tuple(row)).detect("a", "{}") is not None
    assert CallLoops(loops, (*row, EarlierCall("b", "{}"))).detect("a", "{}") is None
    grown = CallLoops(loops, tuple(row))
    grown.add("b", "{}")
    assert grown.detect("a", "{}") is None


def test_arguments_that_are_known_tell_which_call_may_loop() -> None:
    loops = CallLoops(Loops(same_call=2), (EarlierCall("a", '{"n": 1, "m": "x"}'), EarlierCall("a", '{"n": 2}')))
    assert loops.may_loop("a", (("n", "1"),))
    assert loops.may_loop("a", (("n", "1"), ("m", '"x"')))
    assert not loops.may_loop("a", (("n", "1"), ("m", '"y"')))
    assert not loops.may_loop("a", (("n", "3"),))
    assert not loops.may_loop("b")


def test_a_guard_that_only_reports_names_each_loop_of_a_reply_once() -> None:
    asked: list[frozenset[str]] = []

    def history(names: frozenset[str]) -> tuple[EarlierCall, ...]:
        asked.append(names)
        return (EarlierCall("a", "{}"),)

    watch = LoopWatch(Loops(same_call=2, same_result=0, cycle=0), history)
    notes = watch.notes([("a", "{}"), ("b", "{}"), ("b", "{}"), ("a", "{}")])
    assert [(note.rule, note.text, note.warns) for note in notes] == [
        ("same_call", "a was called the same way 3 times", False),
        ("same_call", "b was called the same way 2 times", False),
    ]
    assert asked == [frozenset("ab")]
    assert watch.notes([]) == []
    assert asked == [frozenset("ab")]  # a reply without calls reads no history


@pytest.mark.parametrize(("action", "warns"), [("observe", False), ("replace", True), ("stop", True)])
def test_a_guard_that_acts_warns(action: Any, warns: bool) -> None:
    note = note_of(Loop("cycle", "it turns"), Loops(action))
    assert (note.rule, note.text, note.warns) == ("cycle", "it turns", warns)


# --- passages ---------------------------------------------------------------------------------------------------------

PASSAGE = "I will now look at the file once more to see. "  # 46 characters


def at(text: str, times: int = 3, before: Sequence[str] = (), step: int = 0) -> int | None:
    """Where a passage is found in a reply, fed `step` characters at a time, 0 for all at once."""
    loops, step = TextLoops(times, before), step or max(1, len(text))
    for start in range(0, len(text), step):
        found = loops.feed(text[start : start + step])
        if found is not None:
            assert loops.feed(PASSAGE * 50) is None, "it is reported once"
            return start + found
    return None


@law
@given(
    st.lists(
        st.sampled_from(["```", "\n", "\r\n", "| ", "a b c d ", PASSAGE[:20], PASSAGE, "\x85", "é "]), max_size=30
    ),
    st.integers(1, 40),
)
@example([PASSAGE * 9], 7)
@example(["```\n", PASSAGE * 9], 7)
@example(["abcdefghijklmnopqrstuvwxyz abcdefghi\n" * 9], 1)  # at the beginning of a line
@example(["| ", "a b c d " * 60, "\n", PASSAGE * 9], 400)  # behind a table
def test_nothing_is_found_at_a_quiet_text(parts: list[str], step: int) -> None:
    """And it is found at the same place however the text is cut."""
    text, loops, found = "".join(parts), TextLoops(3), None
    for start in range(0, len(text), step):
        piece = text[start : start + step]
        quiet = loops.quiet(piece)
        here = loops.feed(piece)
        assert not (quiet and here is not None)
        found = start + here if found is None and here is not None else found
    assert found == at(text)


def test_most_pieces_inside_a_line_are_quiet() -> None:
    loops, quiet = TextLoops(3), 0
    loops.feed("Well, now: ")
    for _ in range(100):
        quiet += loops.quiet("abcd")
        loops.feed("abcd")
    assert quiet > 80


@pytest.mark.parametrize("times", [2, 3, 8])
@pytest.mark.parametrize("begin", ["", "Well:", "Well.\n"])
def test_a_passage_counts_when_it_stands_so_often(times: int, begin: str) -> None:
    """A window of 128 characters must have it after it `times` - 1 times; text is looked at every 32 characters."""
    enough = len(begin) + (times - 1) * len(PASSAGE) + 128
    found = at(begin + PASSAGE * 60, times)
    assert found is not None
    assert enough <= found < enough + 32
    assert found % 32 == 0
    assert at((begin + PASSAGE * 60)[: found - 1], times) is None
    assert {at(begin + PASSAGE * 60, times, step=step) for step in (1, 7, 33)} == {found}
    assert TextLoops(times).loop == Loop("message", f"the same passage stood in the reply {times} times")


def test_a_passage_may_begin_the_reply() -> None:
    """Its first copy counts from the first character on."""
    passage = f"{PASSAGE}{PASSAGE[:17]}.".ljust(64)
    assert at(passage * 10, times=2) == 64 + 128


def test_what_was_said_before_counts_and_is_not_reported() -> None:
    often = PASSAGE * 60
    alone = at(often)
    assert alone is not None
    next_look = at(PASSAGE, before=[often])
    assert next_look is not None
    assert next_look < 32
    found = at(often, before=[PASSAGE * 4])
    assert found is not None
    assert found < alone
    assert at("Now something else, which nobody has said. ", before=[often]) is None


@pytest.mark.parametrize("begin", ["```\nx\n```\n", "Well:\n~~~\nx\n~~~\n", "| a | b |\n", PASSAGE + "\n| a |\n"])
def test_behind_code_and_tables_it_counts_as_at_the_beginning(begin: str) -> None:
    alone = at(PASSAGE * 60)
    assert alone is not None
    assert {at(begin + PASSAGE * 60, step=step) for step in (0, 1, 7, 33)} == {len(begin) + alone}


def test_code_and_tables_between_begin_a_new_count() -> None:
    half = PASSAGE * 3 + "\n"
    assert at(half * 20, 4) is not None
    for between in ("```\nx = 1\n```\n", "~~~\nx = 1\n~~~\n", "| a | b |\n"):
        assert at((half + between) * 20, 4) is None
    inside = "```\n" + PASSAGE * 60 + "\n~~~\n" + PASSAGE * 60 + "\n"
    assert at(inside) is None
    assert at(inside + "```\n" + PASSAGE * 60) is not None


def test_a_block_of_the_reply_begins_a_line_and_closes_a_code_block() -> None:
    loops = TextLoops(3)
    assert loops.feed("```\n" + PASSAGE * 60) is None
    loops.start_block()
    assert loops.feed(PASSAGE * 60) is not None
    table = TextLoops(3)
    assert table.feed("Look: ") is None
    table.start_block()
    assert table.feed("| " + PASSAGE * 60) is None


def test_a_passage_has_letters() -> None:
    assert at("1, 2, 3, 4; 5, 6, 7. " * 60) is None
    assert at("a 1 2 3 4 5 6 7 8 9 0 . " * 60) is None
    assert at("abc def 1 2 3. " * 60) is not None
    assert at("x" * 2000) is None  # one letter, again and again
    assert at("xy" * 1000) is not None


@pytest.mark.parametrize(("before", "found"), [(5, None), (6, "same_result")])
def test_without_settings_the_seventh_equal_result_is_a_loop(before: int, found: str | None) -> None:
    loops = CallLoops(Loops(same_call=0, cycle=0), (EarlierCall("a", "{}", "x"),) * (before + 1))
    loop = loops.detect("a", "{}")
    assert (None if loop is None else loop.what) == found
