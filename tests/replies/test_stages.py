"""The stages of a reply's way, each alone: what holds for whatever comes, in whatever order.

Strategy: every stage is fed with generated items in generated batches, is released in between, and ends with a reason
or a cut, once or twice. Its characters come out as they went in, in order; each native event is answered once, in
order; nothing is held after `finish`. The plan is checked as the table that it is.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Defect,
    Finish,
    Markup,
    Note,
    Removed,
    Text,
    Verdict,
    Withdrawn,
)
from toolcalls.processors import Processors, unavailable
from toolcalls.processors.reply import Reply
from toolcalls.processors.screening import ScreenedText
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.calls import Calls, ClientCall
from toolcalls.replies.lane import Lane
from toolcalls.replies.plan import PLAN
from toolcalls.replies.row import Row
from toolcalls.replies.stages import ITEMS, End, Item, Native, Stage
from toolcalls.replies.stages.act import Act
from toolcalls.replies.stages.end import Finishing
from toolcalls.replies.stages.judge import Judge
from toolcalls.replies.stages.number import Number
from toolcalls.replies.stages.reread import NOTE, Reread
from toolcalls.replies.stages.screen import Screening
from toolcalls.replies.stages.twins import Twins
from toolcalls.replies.stages.write import Write
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Kind
from toolcalls.route import Access, AccessRule, Condition, Filter, Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.roundtrip import ClientText

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = (Tool("Bash", SCHEMA), Tool("Read", SCHEMA))
BOX = Toolbox(TOOLS)
RM = Condition("command", "\\brm\\b")
ROUTE = Route(
    access=Access((AccessRule("rm", "block", ("Bash",), arguments=(RM,)),)),
    filters=(Filter("word", literal="secret", replace="<"),),
)
CLIENT = ClientText("invoke", ("invoke",))
POLICY = CallPolicy(ROUTE, Request(tools=TOOLS))


@dataclass(frozen=True)
class Built:
    """A stage, the stages before it that it cannot do without, and the calls of its lane."""

    stage: Stage
    calls: Calls
    before: tuple[Stage, ...] = ()


def _act(_: Calls, *, as_text: bool) -> Stage:
    reply = Reply(Processors(ROUTE, run=unavailable), whole=False, as_text=as_text)
    return Act(reply.chain())


def _screen(calls: Calls) -> Stage:
    rules = Reply(Processors(ROUTE, run=unavailable), whole=False, as_text=True).screen()
    assert rules is not None
    return Screening(
        ScreenedText(POLICY, BOX, rules, Write(calls, CLIENT, BOX, ROUTE).round_trip()), calls, room=10_000
    )


def _number(calls: Calls) -> Number:
    return Number(calls, BOX, lambda index, name: f"{name}-{index}", room=200)


def lane_of(calls: Calls, *stages: str) -> Lane:
    """A lane with the stages that every row has, and with these."""
    made: dict[str, Any] = dict.fromkeys(("thoughts", "reasoned", "act", "reread", "twins", "write", "screen"))
    made |= {name: STAGES[name](calls) for name in ("number", "judge", "end", *stages)}
    if "write" in stages and "act" in stages:
        made["act"] = STAGES["act, for a text client"](calls)
    return Lane(Reader(POLICY, tools=BOX), Row(**made, releases_text="act" not in stages), calls)


class _FirstStage(Stage):
    """A lane, which is the stage `read`, with the stages that every row has."""

    def __init__(self, calls: Calls) -> None:
        self.lane = lane_of(calls)

    def feed(self, items: Iterable[Item]) -> Iterable[Item]:
        for item in items:
            if isinstance(item, Text):
                yield from self.lane.text(item.text)
            elif isinstance(item, Native) and isinstance(event := item.parts[0], CallStart | CallPiece | CallEnd):
                yield from self.lane.native(event)

    def release(self) -> Iterable[Item]:
        return self.lane.release()

    def finish(self, end: End) -> Iterable[Item]:
        return self.lane.finish(end)


STAGES: dict[str, Callable[[Calls], Stage]] = {
    "read": _FirstStage,
    "act": partial(_act, as_text=False),
    "act, for a text client": partial(_act, as_text=True),
    "reread": lambda calls: Reread(Reader(POLICY, tools=BOX), calls),
    "twins": Twins,
    "number": _number,
    "write": lambda calls: Write(calls, CLIENT, BOX, ROUTE),
    "judge": lambda calls: Judge(calls, BOX),
    "screen": _screen,
    "end": lambda calls: Finishing(calls, as_text=False, broken_is_text=False, stopped=lambda: False),
}
FIRST = {"read"}  # its texts are what the model wrote; the others' come with the calls that were read from them
TEXTS = [
    "Hello ", "a <b", "\n", "secret", "rm -rf", "```\n", "> ", '<invoke name="Bash">', "\n<invoke name=",
    '<parameter name="command">', "ls", "</parameter>", "</invoke>", '\n<invoke name="Read"></invoke>\n', "\ud800",
]  # fmt: skip


def built(name: str) -> Built:
    """A stage of a lane in whose text a call of Bash was made."""
    calls = Calls()
    calls.repeatable.add("Bash", '{"command":"ls"}')
    # `write` knows native calls by what `number` has written down of them.
    return Built(STAGES[name](calls), calls, (_number(calls),) if name == "write" else ())


@st.composite
def native_rows(draw: st.DrawFn) -> list[Item]:
    """The events of some native calls, mixed, with ends missing and pieces of calls that never began."""
    items: list[Item] = []
    for index in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(["Bash", "Bash", "Read", "Write"]))
        whole = draw(st.sampled_from(['{"command":"ls"}', '{ "command": "ls" }', '{"command":"rm -rf /"}', "{", ""]))
        at = draw(st.integers(0, len(whole)))
        call: list[Item] = [Native((CallStart(index, name, None, f"n{index}"),))]
        call += [Native((CallPiece(index, piece),)) for piece in (whole[:at], whole[at:])]
        call += [Native((CallEnd(index),))] * draw(st.integers(0, 2))
        place = draw(st.integers(0, len(items)))
        if draw(st.booleans()):
            items += call
        else:  # beside the one before it
            items[place:place] = call
    return items


@st.composite
def text_call(draw: st.DrawFn, index: int) -> list[Item]:
    """A call as the reader finds it, whole or broken off, with its verdict."""
    name, value = draw(st.sampled_from([("Bash", "ls"), ("Bash", "rm"), ("Read", "x")]))
    call: list[Item] = [
        Markup(f'<invoke name="{name}">'),
        CallStart(index, name, "invoke"),
        Markup(f'<parameter name="command">{value}'),
        CallPiece(index, f'{{"command":"{value}'),
        Markup("</parameter></invoke>"),
        CallPiece(index, '"}'),
        CallEnd(index),
    ]
    if draw(st.booleans()):
        return [*call, Verdict("lifted", None, "invoke", name, 0, 9, index=index)]
    return [*call[: draw(st.integers(2, 4))], Verdict("truncated", "cut_off", "invoke", name, 0, 9, index=index)]


@st.composite
def lanes(draw: st.DrawFn, *, raw: bool) -> list[list[Item]]:
    """What comes to a stage, in the batches in which it was read."""
    batches: list[list[Item]] = []
    for index in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["text", "text", "call", "native", "ours"]))
        if kind == "text":
            batches += [[Text(text)] for text in draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6))]
        elif kind == "native":
            batches += [[item] for item in draw(native_rows())]
        elif not raw:
            batches.append(draw(text_call(index)) if kind == "call" else ["A text of ours."])
    return batches


def characters(items: Iterable[Item]) -> str:
    """The lane's own text among some items."""
    return "".join(item.text for item in items if isinstance(item, Text | Markup | Removed))


def natives(items: Iterable[Item]) -> list[Native]:
    return [item for item in items if isinstance(item, Native)]


ENDS = st.sampled_from([End("stop"), End("tool_calls"), End("length"), End(None)])
GIVEN_ENDS = ENDS.filter(lambda end: end.reason is not None)  # nothing comes after a reply that broke off


def fed(one: Built, batch: Iterable[Item]) -> list[Item]:
    """What leaves a stage for a batch."""
    for stage in (*one.before, one.stage):
        batch = stage.feed(batch)
    return list(batch)


@law
@given(st.data(), st.sampled_from(sorted(STAGES)), ENDS)
def test_every_character_leaves_once_and_every_native_event_is_answered(
    data: st.DataObject, name: str, end: End
) -> None:
    batches = data.draw(lanes(raw=name in FIRST))
    # In a row, `write` is released only together with `read`, which leaves no call open.
    released = -1 if name == "write" else data.draw(st.integers(-1, len(batches)))
    one = built(name)
    out: list[Item] = []
    for number, batch in enumerate(batches):
        out += fed(one, batch)
        out += one.stage.release() if number == released else ()
    out += one.stage.finish(end)
    came = [item for batch in batches for item in batch]
    assert characters(out) == characters(came)
    for answer, item in zip(natives(out), natives(came), strict=True):
        (event,) = item.parts
        same = [part for part in answer.parts if isinstance(part, type(event))]
        assert not same or same[0] == event or name in {"read", "number", "write"}


@law
@given(st.data(), st.sampled_from(sorted(STAGES.keys() - FIRST)))
def test_what_a_stage_does_not_look_at_goes_past_it(data: st.DataObject, name: str) -> None:
    """So a lane need not feed it such items, whatever the stage holds."""
    one = built(name)
    batches = data.draw(lanes(raw=False))
    for batch in batches:
        for item in fed(one, batch):
            assert type(item) in ITEMS
    for item in (item for batch in batches for item in batch if type(item) not in one.stage.looks_at):
        assert list(one.stage.feed([item])) == [item]


ROWS = ((), ("act", "twins"), ("twins",), ("write",), ("act", "write"), ("act", "reread", "twins", "write", "screen"))


@law
@given(st.data(), st.sampled_from(ROWS), ENDS)
def test_a_row_does_what_its_stages_do_one_after_the_other(
    data: st.DataObject, stages: tuple[str, ...], end: End
) -> None:
    """No stage is passed by that would have done something with an item."""
    batches = data.draw(lanes(raw=True))
    released = data.draw(st.integers(-1, len(batches)))

    def left() -> list[list[Item]]:
        lane = lane_of(Calls(), *stages)
        out: list[list[Item]] = []
        for number, item in enumerate(item for batch in batches for item in batch):
            if isinstance(item, Text):
                out.append([*lane.text(item.text)])
            elif isinstance(item, Native) and isinstance(event := item.parts[0], CallStart | CallPiece | CallEnd):
                out.append([*lane.native(event)])
            if number == released:
                out.append([*lane.release()])
        return [*out, [*lane.finish(end)], [*lane.finish(end)]]

    def all_stages(lane: Lane, items: Iterable[Item], place: int, out: list[Item]) -> None:
        for stage in lane._one_by_one[place:]:
            items = stage.feed(items)
        out += items

    found = left()
    with patch.object(Lane, "_take", all_stages):
        assert found == left()


@law
@given(st.data(), st.sampled_from(sorted(STAGES)), GIVEN_ENDS, ENDS)
def test_nothing_is_held_behind_the_end(data: st.DataObject, name: str, first: End, second: End) -> None:
    """A second end has nothing to give but its reason: no text, no native event, no verdict."""
    one = built(name)
    for batch in data.draw(lanes(raw=name in FIRST)):
        fed(one, batch)
    list(one.stage.finish(first))
    second_end = [item for item in one.stage.finish(second) if not isinstance(item, Finish)]
    # What stays native leaves with each end that the upstream gives, and is judged after it.
    assert second_end == [] or (name == "write" and one.calls.natives)


@law
@given(native_rows(), ENDS)
def test_each_native_call_has_one_verdict_and_is_text_or_leaves(items: list[Item], end: End) -> None:
    """`number`, `write` and `judge` in a row: a call becomes text or leaves, and is judged once."""
    one = built("write")
    write, judge = one.stage, Judge(one.calls, BOX)
    fed(one, items)
    begun = set(one.calls.natives)
    out = [*write.finish(end), *judge.finish(end)]
    verdicts = [item for item in out if isinstance(item, Verdict)]
    assert len(verdicts) == len(begun)
    lowered = [verdict for verdict in verdicts if verdict.status == "lowered"]
    assert bool(lowered) == any(isinstance(item, str) for item in out)
    assert (end.reason is None) <= (not lowered)
    left = [item.index for item in out if isinstance(item, CallStart)]
    assert len(left) == (0 if end.reason is None else len(begun) - len(lowered))
    assert [*write.finish(end), *judge.finish(end)] == []


def test_a_native_call_that_repeats_a_call_of_the_text_is_withdrawn() -> None:
    one = built("twins")
    events = [CallStart(0, "Bash", None, "n0"), CallPiece(0, '{ "command": "ls" }'), CallEnd(0)]
    out = fed(one, [Native((event,)) for event in events])
    rows = [Native((Withdrawn(0),)), Native((Withdrawn(0),)), Native(())]
    assert out == [*rows, Verdict("blocked", "repeated", None, "Bash", 0, 0)]


def test_text_behind_a_replacement_that_makes_a_call_is_removed() -> None:
    one = built("reread")
    texts = ["\n", "<", 'invoke name="Bash"><parameter name="command">ls</parameter></invoke>', " and on"]
    items: list[Item] = [Text(texts[0]), Removed("secret"), texts[1], Text(texts[2]), Text(texts[3])]
    assert fed(one, items) == [*items[:3], NOTE, Removed(texts[2]), Removed(texts[3])]
    assert one.calls.broken_off


def test_a_rule_holds_for_text_that_a_text_client_would_read_as_a_call() -> None:
    one = built("screen")
    text = '```\n<invoke name="Bash"><parameter name="command">rm x</parameter></invoke>\n```\n'
    out = [*fed(one, [Text(text)]), *one.stage.finish(End("stop"))]
    assert "rm x" not in "".join(item.text for item in out if isinstance(item, Text))
    assert characters(out) == text


def test_a_verdict_leaves_behind_the_text_that_was_held_before_it() -> None:
    one = built("screen")
    held, verdict = 'Use <invoke name="Bash">', Verdict("declined", "inline", "invoke", "Bash", 4, 24)
    out = fed(one, [Text(held), verdict])
    assert verdict not in out
    out += [*fed(one, [Text(" for it. " * 2000)]), *one.stage.finish(End("stop"))]
    before = out[: out.index(verdict)]
    assert characters(before) == held
    assert out.count(verdict) == 1


@pytest.mark.parametrize(
    ("complete", "stays", "end", "found"),
    [
        (True, None, End("stop"), ("native", None)),
        (True, "unwritable", End("stop"), ("native", "unwritable")),
        (True, "unwritable", End(None), ("truncated", "cut_off")),
        (False, None, End("length"), ("truncated", "cut_off")),
        (False, None, End("stop"), ("malformed", "bad_arguments")),
    ],
)
def test_a_native_call_is_judged(complete: bool, stays: None, end: End, found: tuple[str, str | None]) -> None:
    one = built("judge")
    call = one.calls.natives[3] = ClientCall(0, "Bash", None, "n")
    call.complete, call.stays = complete, stays
    call.pieces = ['{"command":"ls"}' if complete else '{"command":']
    (verdict,) = one.stage.finish(end)
    assert isinstance(verdict, Verdict)
    assert (verdict.status, verdict.reason, verdict.index) == (*found, 0)


def test_what_the_wire_noticed_of_a_native_call_is_in_its_verdict() -> None:
    one = built("judge")
    call = one.calls.natives[3] = ClientCall(0, "Bash", None, "n")
    call.complete, call.pieces = True, ['{"command":"ls"}']
    one.calls.begun.add(3)
    one.calls.damages[3] = [Defect("no_index")]
    (verdict,) = one.stage.finish(End("stop"))
    assert isinstance(verdict, Verdict)
    assert verdict.defects == (Defect("no_index"),)


@pytest.mark.parametrize(
    ("reason", "calls", "broken_off", "found"),
    [
        ("stop", [], False, "stop"),
        ("stop", [True], False, "tool_calls"),
        ("tool_calls", [], False, "tool_calls"),
        ("stop", [True, False], False, "length"),
        ("stop", [], True, "length"),
        ("length", [True], False, "length"),
    ],
)
def test_the_finish_reason_fits_what_the_client_was_given(
    reason: str, calls: list[bool], broken_off: bool, found: str
) -> None:
    one = built("end")
    for index, complete in enumerate(calls):
        call = one.calls.from_text[index] = ClientCall(index, "Bash", "invoke", "n")
        call.complete = complete
    one.calls.broken_off = broken_off
    assert list(one.stage.finish(End(reason))) == [Finish(found)]
    assert list(one.stage.finish(End(None))) == []


REPEATED = Verdict("blocked", "repeated", None, "Bash", 0, 0)


@pytest.mark.parametrize(
    ("end", "repeats"), [(End("stop"), True), (End("tool_calls"), True), (End("length"), False), (End(None), False)]
)
def test_a_repetition_without_its_end_is_one_where_the_reply_ended_well(end: End, repeats: bool) -> None:
    one = built("twins")
    rows: list[Item] = [Native((CallStart(0, "Bash", None, "n0"),)), Native((CallPiece(0, '{"command":"ls"}'),))]
    assert fed(one, rows) == []
    assert not one.stage.is_idle  # type: ignore[attr-defined]
    out = list(one.stage.finish(end))
    gone: list[Item] = [Native((Withdrawn(0),)), Native((Withdrawn(0),)), REPEATED]
    assert out == (gone if repeats else rows)
    assert list(one.stage.finish(end)) == []


def test_one_that_is_held_no_longer_is_none() -> None:
    one = built("twins")
    rows: list[Item] = [Native((CallStart(0, "Bash", None, "n0"),)), Native((CallPiece(0, '{"command":"ls"}'),))]
    assert [*fed(one, rows), *one.stage.release()] == rows
    assert fed(one, [Native((CallEnd(0),))]) == [Native((CallEnd(0),))]


def test_one_with_far_longer_arguments_is_none_as_soon_as_it_is_longer() -> None:
    """White space makes a repetition longer, and not without end."""
    one = built("twins")
    pieces = ['{"command":"ls"', *[" " * 1000] * 40]
    left = [
        len(fed(one, [Native((event,))])) for event in (CallStart(0, "Bash", None), *(CallPiece(0, p) for p in pieces))
    ]
    assert left[0] == 0
    assert sum(left) == len(left)
    assert 0 < left.index(next(filter(None, left))) < len(left) - 1
    assert fed(one, [Native((CallStart(1, "Read", None),))]) == [Native((CallStart(1, "Read", None),))]


def test_each_call_of_the_text_has_one_repetition_and_an_index_may_come_again() -> None:
    one = built("twins")
    call: list[Item] = [
        Native((CallStart(0, "Bash", None, "n0"), CallPiece(0, '{"command":"ls"}'), CallEnd(0))),
    ]
    assert fed(one, call) == [Native((Withdrawn(0), Withdrawn(0))), REPEATED]
    assert fed(one, call) == call
    other = built("twins")
    again: list[Item] = [Native((CallStart(0, "Read", None, "n1"),)), Native((CallEnd(0),))]
    assert fed(other, [*call, *again]) == [Native((Withdrawn(0), Withdrawn(0))), REPEATED, *again]


def test_events_behind_one_that_is_undecided_wait_in_their_order() -> None:
    one = built("twins")
    begin, other = Native((CallStart(0, "Bash", None, "n0"),)), Native((CallStart(1, "Read", None, "n1"), "A text."))
    assert fed(one, [begin, other]) == []
    assert fed(one, [Text("a")]) == [Text("a")]
    end = Native((CallPiece(0, '{"command":"pwd"}'), CallEnd(0)))
    assert fed(one, [end]) == [begin, other, end]


def test_a_text_without_any_replacement_may_make_calls() -> None:
    one = built("reread")
    items: list[Item] = [Text('\n<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'), Text(" so")]
    assert fed(one, items) == items
    assert not one.calls.broken_off
    behind = built("reread")
    assert fed(behind, [Removed("secret"), Text("\nno call"), "ours"]) == [Removed("secret"), Text("\nno call"), "ours"]
    assert not behind.calls.broken_off


def test_a_text_of_ours_that_makes_a_call_is_left_out() -> None:
    one = built("reread")
    text = '\n<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'
    markup = Markup("<x>")
    assert fed(one, [Text("a"), text, Text("b"), "c", markup]) == [Text("a"), NOTE, Removed("b"), markup]


@pytest.mark.parametrize(
    ("settings", "end", "found"),
    [
        ({"room": -1, "complete": True}, End("stop"), ("native", "max_call_chars")),
        ({"room": -1, "complete": False}, End("stop"), ("native", "max_call_chars")),
        ({"room": -1, "complete": False}, End(None), ("truncated", "cut_off")),
        ({"complete": True}, End(None), ("native", None)),
        ({"complete": True, "stays": "unwritable"}, End("length"), ("native", "unwritable")),
    ],
    ids=str,
)
def test_a_native_call_that_outgrew_what_is_kept(
    settings: dict[str, object], end: End, found: tuple[str, str | None]
) -> None:
    one = built("judge")
    call = one.calls.natives[0] = ClientCall(0, "Bash", None, "n")
    call.pieces = ['{"command":"ls"}']
    for key, value in settings.items():
        setattr(call, key, value)
    (verdict,) = one.stage.finish(end)
    assert isinstance(verdict, Verdict)
    assert (verdict.status, verdict.reason) == found
    assert list(one.stage.finish(end)) == []


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("renumbers", [False, True])
@pytest.mark.parametrize("broken_off", [False, True])
@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("has_call", [False, True])
def test_a_reply_that_processors_changed_ends_for_what_was_left(
    stopped: bool, renumbers: bool, broken_off: bool, as_text: bool, has_call: bool
) -> None:
    calls = Calls()
    calls.renumbers, calls.broken_off, calls.all_lowered = renumbers, broken_off, False
    calls.client_calls = [ClientCall(0, "Bash", None, "n")] if has_call else []
    stage = Finishing(calls, as_text=as_text, broken_is_text=False, stopped=lambda: stopped)
    for reason in ("stop", "tool_calls", "length", "content_filter"):
        cut = reason in {"length", "content_filter"}
        if cut and not stopped:
            expected = reason
        elif broken_off:
            expected = "length"
        elif stopped or (renumbers and reason == "tool_calls" and not has_call):
            expected = "tool_calls" if has_call and not as_text else "stop"
        else:
            expected = reason
        assert stage.reason(reason) == expected
        assert stage.keeps(reason) == (not stopped and (cut or not (renumbers or broken_off)))


@pytest.mark.parametrize(("all_lowered", "found"), [(True, "stop"), (False, "tool_calls")])
def test_a_text_client_has_no_native_calls_to_end_for(all_lowered: bool, found: str) -> None:
    calls = Calls()
    calls.all_lowered = all_lowered
    stage = Finishing(calls, as_text=True, broken_is_text=False, stopped=lambda: False)
    assert [stage.reason(reason) for reason in ("tool_calls", "stop")] == [found, "stop"]


@pytest.mark.parametrize(("broken_is_text", "malformed", "found"), [
    (False, False, "length"), (False, True, "length"), (True, False, "length"), (True, True, "stop"),
])  # fmt: skip
def test_a_call_of_the_text_that_broke_off(broken_is_text: bool, malformed: bool, found: str) -> None:
    calls = Calls()
    call = calls.from_text[0] = ClientCall(0, "Bash", "invoke", "n")
    call.malformed = malformed
    stage = Finishing(calls, as_text=False, broken_is_text=broken_is_text, stopped=lambda: False)
    assert stage.reason("stop") == found
    assert not stage.keeps("stop")


@pytest.mark.parametrize("holds", range(1, 9))
@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 20])
def test_as_many_calls_are_written_as_the_dialect_holds(
    holds: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Write(Calls(), CLIENT, BOX, ROUTE)
    asked: list[int] = []

    def writable(_: Write, *calls: Call) -> bool:
        asked.append(len(calls))
        return len(calls) <= holds and not any(call.name == "bad" for call in calls)

    monkeypatch.setattr(Write, "_is_writable", writable)
    calls = {index: Call("Bash", "{}") for index in range(count)}
    assert list(stage._writable(calls)) == list(range(min(holds, count)))
    asked.clear()
    mixed = {99: Call("bad", "{}"), **calls}
    assert list(stage._writable(mixed)) == list(range(min(holds, count)))
    assert sum(asked[count + 2 :]) <= 8 * count


def written_for(client: ClientText, *natives: tuple[str, str, str]) -> tuple[list[Item], Calls]:
    """What leaves `write` and the stages before it for whole native calls: name, arguments and form."""
    calls = Calls()
    one = Built(Write(calls, client, BOX, ROUTE), calls, (_number(calls),))
    out: list[Item] = []
    for index, (name, arguments, form) in enumerate(natives):
        events = (CallStart(index, name, None, f"n{index}", form), CallPiece(index, arguments), CallEnd(index))
        for event in events:
            out += fed(one, [Native((event,))])
    for stage in (*one.before, one.stage):
        out += stage.finish(End("tool_calls"))
    return out, calls


def written(items: Iterable[Item]) -> str:
    return "".join(item for item in items if isinstance(item, str))


def test_a_client_of_one_call_gets_the_first_native_one_and_the_others_say_why_not() -> None:
    ls = ("Bash", '{"command":"ls"}', "")
    out, calls = written_for(ClientText("invoke", ("invoke",), one_call=True), ls, ls, ls)
    assert written(out).count("<invoke") == 1
    verdicts = [(item.status, item.reason) for item in out if isinstance(item, Verdict)]
    assert verdicts == [("blocked", "multiple_calls")] * 2 + [("lowered", None)]
    assert [call.index for call in calls.client_calls] == [0]


@pytest.mark.parametrize("with_call", [True, False])
def test_a_text_of_ours_is_left_out_beside_a_native_call_that_is_a_whole_message(with_call: bool) -> None:
    calls = Calls()
    one = Built(Write(calls, ClientText("json_array", ("json_array",)), BOX, ROUTE), calls, (_number(calls),))
    out = fed(one, ["A rule said no."])
    assert one.stage.adds_at_end
    if with_call:
        for event in (CallStart(0, "Bash", None, "n0"), CallPiece(0, '{"command":"ls"}'), CallEnd(0)):
            out += fed(one, [Native((event,))])
    for stage in (*one.before, one.stage):
        out += stage.finish(End("tool_calls"))
    assert ("rule said no" in written(out)) is not with_call
    notes = [(item.rule, item.warns) for item in out if isinstance(item, Note)]
    assert notes == ([("steering", True)] if with_call else [])
    assert not one.stage.adds_at_end
    assert list(one.stage.finish(End("stop"))) == []


def test_a_call_of_the_text_that_the_client_does_not_get_is_none_of_its_calls() -> None:
    """It does not count for the finish reason."""
    calls = Calls()
    stage = Write(calls, ClientText("invoke", ("invoke",), one_call=True), BOX, ROUTE)
    text = '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>'
    out: list[Item] = []
    reader = Reader(POLICY, tools=BOX)
    for event in [*reader.feed(f"{text}\n{text}"), *reader.finish(cut=False)]:
        if isinstance(event, CallStart):
            calls.client_calls.append(ClientCall(event.index, event.name, event.dialect, f"n{event.index}"))
        out += stage.feed([event])
    out += stage.finish(End("stop"))
    verdicts = [(item.status, item.reason) for item in out if isinstance(item, Verdict)]
    assert verdicts == [("lowered", None), ("blocked", "multiple_calls")]
    assert [call.index for call in calls.client_calls] == [0]


def test_of_calls_that_cannot_be_written_a_client_of_one_call_gets_the_first() -> None:
    """One that is not whole stays beside it: no client runs it."""
    other, broken = ("Bash", '{"other":1}', "shell"), ("Bash", '{"command":', "")
    out, calls = written_for(ClientText("invoke", ("invoke",), one_call=True), other, other, broken, other)
    assert written(out) == ""
    assert [item.id for item in out if isinstance(item, CallStart)] == ["n0", "n2"]
    verdicts = [(item.status, item.reason, item.name) for item in out if isinstance(item, Verdict)]
    assert verdicts == [("blocked", "multiple_calls", "Bash")] * 2
    assert [call.index for call in calls.client_calls] == [0, 2]


def test_a_native_call_is_written_whole_however_long_it_is() -> None:
    out, _ = written_for(CLIENT, ("Bash", f'{{"command":"{"x" * 5000}"}}', ""))
    assert "x" * 5000 in written(out)


@pytest.mark.parametrize(("ours", "between"), [("A rule said no.", "\n\n"), ("```\nls\n", "```\n\n")])
def test_a_native_call_is_written_apart_from_a_text_of_ours_before_it(ours: str, between: str) -> None:
    calls = Calls()
    one = Built(Write(calls, CLIENT, BOX, ROUTE), calls, (_number(calls),))
    out = fed(one, [Native((ours,))])
    out += fed(one, [Native((CallStart(0, "Bash", None, "n0"), CallPiece(0, '{"command":"ls"}'), CallEnd(0)))])
    for stage in (*one.before, one.stage):
        out += stage.finish(End("tool_calls"))
    assert written(out).partition("<")[0] == between


def test_what_is_beside_a_call_in_one_frame_leaves() -> None:
    """It may be written at the end, be withdrawn, or never have begun."""
    other = (CallStart(1, "browse", None, "n1", "shell"), CallPiece(1, "{}"), CallEnd(1))
    for before in (CallStart(0, "Bash", None, "n0"), Withdrawn(0), CallPiece(7, "x")):
        (left,) = fed(built("write"), [Native((before, *other))])
        assert isinstance(left, Native)
        assert [type(part) for part in left.parts] == [CallStart, CallPiece, CallEnd]


def test_a_call_of_another_form_is_written_only_where_a_tool_can_hold_it() -> None:
    out, _ = written_for(CLIENT, ("Bash", '{"command":"ls"}', "shell"))
    assert written(out).count("<invoke") == 1
    for arguments in ('{"other":1}', '{"command":"ls","other":1}', '{"command":'):
        out, _ = written_for(CLIENT, ("Bash", arguments, "shell"))
        assert written(out) == ""


def test_calls_that_become_text_stand_on_both_sides_of_one_that_stays() -> None:
    ls, broken, read = ("Bash", '{"command":"ls"}', ""), ("Bash", '{"command":', ""), ("Read", '{"command":"x"}', "")
    out, _ = written_for(CLIENT, ls, broken, read)
    found = [one.partition("<invoke")[2][:12] if isinstance(one, str) else one.name for one in out
             if isinstance(one, str | CallStart)]  # fmt: skip
    assert found == [' name="Bash"', "Bash", ' name="Read"']


def test_where_no_dialect_is_known_a_native_call_leaves_as_it_comes() -> None:
    calls = Calls()
    one = Built(Write(calls, ClientText(None, ()), BOX, ROUTE), calls, (_number(calls),))
    for event in (CallStart(0, "Bash", None, "n0"), CallPiece(0, '{"command":'), CallPiece(0, '"ls"}'), CallEnd(0)):
        assert fed(one, [Native((event,))]) == [Native((event,))]


def test_a_blocked_call_of_which_no_name_was_read_has_its_name_and_its_end_from_the_rule() -> None:
    one = built("screen")
    before, text = "```\n", '<invoke name="Bash"><parameter name="command">rm x</parameter></invoke>'
    start = 500 + len(before)  # the row counts from another place than the stage
    unread = Verdict("malformed", "not_a_call", "invoke", None, start, start + 8)
    items: list[Item] = [Text(f"{before}{text[:8]}"), unread, Text(f"{text[8:]}\n```\n")]
    out = [*fed(one, items), *one.stage.finish(End("stop"))]
    (verdict,) = (item for item in out if isinstance(item, Verdict))
    assert (verdict.status, verdict.name, verdict.rule) == ("blocked", "Bash", "rm")
    assert (verdict.start, verdict.end) == (start, start + len(text))


# --- the plan ---------------------------------------------------------------------------------------------------------

ORDER = ["read", "act", "reread", "twins", "number", "write", "judge", "screen", "end"]


def test_the_plan_shows_every_kind_and_every_stage_in_one_order() -> None:
    assert set(PLAN) == set(get_args(Kind.__value__))
    for kind, row in PLAN.items():
        assert [name for name in row if name in ORDER] == ORDER, kind


@pytest.mark.parametrize("kind", PLAN)
def test_a_reply_that_is_observed_meets_no_stage_that_changes_it(kind: Kind) -> None:
    changing = {name for name in ("act", "reread", "twins", "write", "screen") if PLAN[kind][name]}
    assert (
        changing
        == {
            "observe": set(),
            "process": {"act"},
            "lift": {"act", "twins"},
            "lower": {"act", "reread", "write", "screen"},
            "roundtrip": {"act", "reread", "twins", "write", "screen"},
        }[kind]
    )
