"""Text that begins inside reasoning, which only its closer says: what is declined, what waits for it, and how long."""

from collections.abc import Sequence

import pytest

from support.quoting import CALL, TOOLS, written
from support.reasonings import FRAMED, OWN_MARKS
from toolcalls.dialects import all_dialects
from toolcalls.events import CallStart, Event, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import PolicyName, Route, Taken
from toolcalls.text.markdown import Position
from toolcalls.text.quoting_marks import MESSAGE_ENDS, REASONING_CLOSERS, REASONING_TAGS

LS = written("hermes")
SIZES = (0, 1, 7)
DIALECTS = [name for name in all_dialects() if written(name)]


def read(
    text: str,
    size: int = 0,
    *,
    policy: PolicyName = "standard",
    likely: bool = True,
    starts: bool = False,
    cut: bool = False,
    take: tuple[Taken, ...] | None = None,
    room: int = 64 * 1024,
    elsewhere: bool = False,
) -> tuple[list[tuple[str, str | None]], list[Event]]:
    route = Route(
        client="native",
        upstream="text",
        policy=policy,
        take=take,
        max_buffer_bytes=room,
        starts_in_reasoning=starts,
    )
    reader = Reader(CallPolicy(route, Request(tools=TOOLS), may_start_in_reasoning=likely))
    if elsewhere:
        reader.reasons_elsewhere()
    pieces = [text[at : at + size] for at in range(0, len(text), size)] if size else [text]
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.finish(cut=cut)
    return [(one.status, one.reason) for one in events if isinstance(one, Verdict)], events


def shown(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


LIFTED, REASONED = ("lifted", None), ("declined", "reasoning")
IN_A_VALUE = '<tool_call>\n{"name": "run_shell", "arguments": {"command": "a </think> b\\" [/THINK]"}}\n</tool_call>'
LIKELY = {
    "a mark in a value": (IN_A_VALUE, [LIFTED]),
    "marks in a draft's value and after it": (f"{IN_A_VALUE}\n</think>\n{LS}", [REASONED, LIFTED]),
    "a draft that breaks off in a string": (f'<tool_call>\n{{"name": "LS\n</think>\n{LS}', [REASONED, LIFTED]),
    "a string that does not end on its line": (f'<tool_call>\n{{"name": "a </think>\n{LS}', [REASONED, LIFTED]),
    "a draft before a closer": (f"Shall I?\n{LS}\nNo.\n</think>\nHi.", [REASONED]),
    "a draft at the start": (f"{LS}\n</think>", [REASONED]),
    "a draft that breaks off": (f"Shall I?\n<tool_call>\nNo.\n</think>\n{LS}", [REASONED, LIFTED]),
    "the call behind": (f"Shall I?\n{LS}\nYes.\n</think>\n\n{LS}", [REASONED, LIFTED]),
    "no closer at all": (f"I look.\n{LS}", [LIFTED]),
    "two calls and no closer": (f"I look.\n{LS}\n{LS}", [LIFTED, LIFTED]),
    "text behind and no closer": (f"I look.\n{LS}\nThere.", [LIFTED]),
    "an opening tag": (f"<think>\nHm.\n</think>\n{LS}\nNo </think>", [LIFTED]),
    "a quotation": (f"```\n{LS}\n```\n</think>\n{LS}", [("declined", "fenced"), LIFTED]),
    "the end of the channel of thoughts": (f"Shall I?\n{LS}\nNo.\n<|close|>think<|sep|>Hi.", [REASONED]),
    "the end of a channel that it does not name": (f"I look.\n{LS}\n<|close|><|sep|>Hi.", [LIFTED]),
    "the end of another channel": (f"I look.\n{LS}\n<|close|>response<|sep|>", [LIFTED]),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("text", "found"), LIKELY.values(), ids=LIKELY)
def test_where_it_is_likely_a_call_waits_for_a_closer(
    text: str, found: list[tuple[str, str | None]], size: int
) -> None:
    assert read(text, size)[0] == found


def test_text_before_the_first_candidate_streams_and_a_call_comes_at_the_end() -> None:
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS), may_start_in_reasoning=True))
    assert shown(reader.feed("I look. ")) == "I look. "
    assert reader.feed(f"\n{LS}\n")[1:] == []
    assert any(isinstance(event, CallStart) for event in reader.finish(cut=False))
    # After a closer nothing waits any more.
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS), may_start_in_reasoning=True))
    assert any(isinstance(event, CallStart) for event in reader.feed(f"Yes.\n</think>\n{LS}\n"))


@pytest.mark.parametrize(("text", "nothing"), [("x</think>y", True), ("<think>x</think>y", False), ("x", False)])
def test_it_is_known_afterwards_whether_a_closer_closed_nothing(text: str, nothing: bool) -> None:
    """The next request of the session is read by it."""
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS)))
    reader.feed(text)
    reader.finish(cut=False)
    assert reader.unopened.closed_nothing == nothing


def test_reasoning_is_over_once_it_was_closed() -> None:
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS)))
    reader.feed("<think>I look.")
    assert not reader.unopened.reasoning_is_over
    reader.feed("</think>Now.")
    assert reader.unopened.reasoning_is_over


@pytest.mark.parametrize("size", SIZES)
def test_a_reply_that_breaks_off_before_a_closer_says_nothing(size: int) -> None:
    text = f"Shall I?\n{LS}\nMaybe"
    found, events = read(text, size, cut=True)
    assert (found, shown(events)) == ([("truncated", "cut_off")], text)


@pytest.mark.parametrize("size", SIZES)
def test_what_waits_is_bounded(size: int) -> None:
    """By bytes; and what is declined then owns what is in it."""
    text = f"Shall I?\n{LS}\n{'ä' * 300}\n</think>"
    found, events = read(text, size, room=400)
    assert (found, shown(events)) == ([("declined", "overflow")], text)
    assert read(text, size, room=1000)[0] == [REASONED]
    quoted = written("invoke").replace("rm -rf build", f"x\n{LS}\n")
    assert read(f"{quoted}{'ä' * 300}", size, room=400)[0] == [("declined", "overflow")]


def test_when_no_more_can_be_held_a_call_that_waits_is_text() -> None:
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS), may_start_in_reasoning=True))
    events = [*reader.feed(f"Hm.\n{LS}\nyes"), *reader.release()]
    assert [one.reason for one in events if isinstance(one, Verdict)] == ["overflow"]


def test_what_ends_the_doubt() -> None:
    text = f"Shall I?\n{LS}\nNo.\n</think>"
    assert read(text, elsewhere=True)[0] == [LIFTED]
    assert read(text, take=("reasoning",))[0] == [LIFTED]
    assert read(text, likely=False)[0] == [LIFTED]
    assert read(text, starts=True, elsewhere=True)[0] == [LIFTED]


def test_nothing_waits_where_nothing_is_lifted_or_calls_in_reasoning_are_taken() -> None:
    """It is there at once: before the end, and before any closer."""
    text = f"I look.\n{LS}\nSo."
    observed = Reader(CallPolicy(Route(), Request(tools=TOOLS), lift=False, may_start_in_reasoning=True))
    assert shown(observed.feed(text)) == text
    taken = Reader(CallPolicy(Route(take=("reasoning",)), Request(tools=TOOLS), may_start_in_reasoning=True))
    assert any(isinstance(event, CallStart) for event in taken.feed(text))


def test_what_cannot_be_the_mark_of_a_channel_any_more_waits_no_longer() -> None:
    reader = Reader(CallPolicy(Route(dialects=("hermes",)), Request(tools=TOOLS)))
    assert shown(reader.feed("I look.\n<|close|>x Hi.\n")) == "I look.\n<|close|>x Hi.\n"
    assert shown(reader.feed("<|close|>thi")) == ""
    assert shown(reader.finish(cut=False)) == "<|close|>thi"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("blank", ["", " "])
def test_the_mark_of_a_channel_closes_what_nothing_opened_if_it_names_the_thoughts(size: int, blank: str) -> None:
    for name, verdict in {"think": "reasoning", "": "not_terminal", "response": "not_terminal"}.items():
        text = f"Thought.\n{LS}\n<|close|>{blank}{name}<|sep|>\n{LS}"
        found, _ = read(text, size, policy="strict", likely=False)
        assert [one for one in found if one[1] != "not_a_call"] == [("declined", verdict), LIFTED]


@pytest.mark.parametrize("closer", REASONING_CLOSERS)
@pytest.mark.parametrize("size", SIZES)
def test_a_route_that_says_so_is_believed(closer: str, size: int) -> None:
    text = f"Shall I?\n{LS}\nYes.\n{closer}\n{LS}"
    assert read(text, size, likely=False, starts=True)[0][:1] == [REASONED]
    assert LIFTED in read(text, size, likely=False, starts=True)[0]
    assert read(LS, size, likely=False, starts=True)[0] == [REASONED]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("closer", REASONING_CLOSERS)
def test_strict_takes_nothing_before_a_closer_that_nothing_opened(closer: str, size: int) -> None:
    """Whatever is known: what it takes has to wait for the end in any case."""
    found, events = read(f"Thought.\n{LS}\n{closer}\n{LS}", size, policy="strict", likely=False)
    assert [one for one in found if one[1] != "not_a_call"] == [REASONED, LIFTED]
    assert shown(events).startswith(f"Thought.\n{LS}")
    assert LIFTED not in read(f"<think>a</think>\n{LS}\n{closer}", size, policy="strict", likely=False)[0]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_a_draft_of_any_dialect_is_reasoning_before_a_closer(dialect: str, policy: PolicyName) -> None:
    for tail in ("\n</think>\nHi.", "\nNo.\n</think>", "</think>"):
        text = f"{written(dialect)}{tail}"
        for size in SIZES:
            found, events = read(text, size, policy=policy)
            assert LIFTED not in found
            assert CALL.name in shown(events)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize("dialect", FRAMED)
def test_a_draft_in_a_dialects_own_reasoning_is_reasoning(dialect: str, policy: PolicyName, size: int) -> None:
    begin, end = OWN_MARKS[dialect]
    for draft in (written(dialect), f"\n{LS}\n", written(dialect) * 3):
        text = f"{begin}Shall I? {draft} No.{end}\n"
        assert LIFTED not in read(text, size, policy=policy, likely=False)[0]
        assert read(text + written(dialect), size, policy=policy, likely=False)[0].count(LIFTED) == 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dialect", ["cohere_cmd3", "cohere_cmd4", "kimi_k3"])
def test_where_a_thought_is_not_closed_an_action_ends_it(dialect: str, size: int) -> None:
    begin, _ = OWN_MARKS[dialect]
    text = f"{begin}I do. {written(dialect)}"
    assert read(text, size, likely=False)[0] == [LIFTED]
    assert LIFTED not in read(text, size, likely=False, cut=True)[0]  # it may have been closed after that
    assert LIFTED not in read(text + "x" * 70_000, size or 4096, likely=False)[0]


@pytest.mark.parametrize("mark", [mark for mark in REASONING_TAGS if "|" in mark])
def test_a_mark_that_prose_names_hides_no_call(mark: str) -> None:
    assert LIFTED in read(f"The token `{mark}` begins it.\n\n{LS}", likely=False)[0]


def test_a_mark_inside_a_line_opens_nothing() -> None:
    mark = OWN_MARKS["plamo3"][0]
    assert LIFTED in read(f"The token {mark} begins it.\n\n{LS}", likely=False)[0]


@pytest.mark.parametrize("end", MESSAGE_ENDS)
def test_the_end_of_a_message_ends_reasoning_that_the_prompt_began_and_nothing_waits_behind_it(end: str) -> None:
    route = Route(client="native", upstream="text", starts_in_reasoning=True)
    call_policy = CallPolicy(route, Request(tools=TOOLS), may_start_in_reasoning=True)
    reader = Reader(call_policy, starts_in_reasoning=True, may_start_in_reasoning=True, place=Position(reasoning=True))
    events = [event for piece in (f"Shall I?{end}", "\n", LS, "\nDone.") for event in reader.feed(piece)]
    assert [event.name for event in events if isinstance(event, CallStart)] == [CALL.name]
