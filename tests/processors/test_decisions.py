"""What becomes of a call (`processors/decisions.py`): its state after each of its events, by what has to be asked.

Each row says what the processors are, what comes, and the state after each event. A call is decided as soon as it can
be, and no sooner; one whose beginning was sent is never dropped, and never completed once it is blocked.
"""

import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from toolcalls.events import CallPiece, CallStart, CallUpdate
from toolcalls.processors import Call, Drop, EarlierCall, Edit, Keep, Processors, Say
from toolcalls.processors.decisions import CallDecisions
from toolcalls.processors.filters import Filters
from toolcalls.processors.loops import Loop
from toolcalls.processors.pending_call import SHOWN, PendingCall
from toolcalls.processors.reactors import Answer
from toolcalls.processors.reply_state import ReplyState
from toolcalls.route import Access, AccessRule, Condition, Filter, Loops, Reactor, Route

NO_RM = Access((AccessRule("no-rm", "block", ("Bash",), arguments=(Condition("command", "^rm"),)),), message="No.")
NO_BASH = Access((AccessRule("no-bash", "block", ("Bash",)),), message="No.")
ONLY_LS = Access((AccessRule("ls", "allow", arguments=(Condition("command", "ls"),)),), "deny", "No.")
HISTORY = (EarlierCall("Bash", '{"command": "ls"}'),)
LONGER = (EarlierCall("Bash", '{"command": "ls", "t": 1}'),)
LOOPS = {"same_call": 2, "same_result": 0, "cycle": 0, "message": 0}
REPLACE = Loops("replace", **LOOPS, text="Loop: {what}")
WATCH = Loops(**LOOPS)
EDITED = '{"command": "pwd"}'


def react(_: Reactor, call: Call) -> Answer:
    answers: dict[str, Answer] = {
        "drop": Drop("Dropped."), "edit": Edit(arguments={"command": "pwd"}), "say": Say("Mind."),
        "rm": Edit(arguments={"command": "rm"}),
    }  # fmt: skip
    return answers.get(str(call.arguments.get("command")), Keep())


def decisions(history: tuple[EarlierCall, ...] = (), **settings: Any) -> CallDecisions:
    route = Route(loops=settings.pop("loops", None), **settings)
    processors = Processors(route, model="m", history=history, run=react)
    filters = Filters(route.filters, {}) if route.filters else None
    return CallDecisions(ReplyState(processors, whole=False, as_text=False), filters)


REACTORS = {"reactors": (Reactor("r.py", "f", ("Bash",)),)}
FILTERS = {"filters": (Filter("word", literal="secret", replace="[..]", calls=True),)}

U, P, D, B, R = "undecided", "passed", "dropped", "broken_off", "replaced"
# settings, the pieces of a call of Bash, and its state after the name, each piece and the end
ROWS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "nothing is asked": ({}, ['{"command":', '"ls"}'], [P] * 4),
    "its name": ({"access": NO_BASH}, ["{}"], [D] * 3),
    "an argument that passes": (
        {"access": NO_RM}, ['{"command":"l', 's"', ',"t":1}'], [U, U, U, P, P],
    ),
    "an argument that is forbidden": (
        {"access": NO_RM}, ['{"command":"rm', '"', ',"t":1}'], [U, U, U, D, D],
    ),
    "an argument that comes again": (
        {"access": NO_RM}, ['{"command":"ls",', '"command":"rm"', "}"], [U, P, P, B, B],
    ),
    "an argument that is missing": ({"access": NO_RM}, ['{"t":1}'], [U, U, P]),
    "an argument that must be there": ({"access": ONLY_LS}, ['{"t":1}'], [U, U, D]),
    "one that allows": ({"access": ONLY_LS}, ['{"command":"ls",', '"t":1}'], [U, P, P, P]),
    "arguments that are no JSON": ({"access": NO_RM}, ["{a", "}"], [U, U, D, D]),
    "no JSON, behind a decision": (
        {"access": NO_RM}, ['{"command":"ls",', "]"], [U, P, B, B],
    ),
    "a reactor": (REACTORS, ['{"command":"ls"}'], [U, U, P]),
    "a reactor that edits": (REACTORS, ['{"command":"edit"}'], [U, U, R]),
    "a reactor that drops": (REACTORS, ['{"command":"drop"}'], [U, U, D]),
    "a reactor that says something": (REACTORS, ['{"command":"say"}'], [U, U, P]),
    "a reactor, and no JSON": (REACTORS, ['{"command":"edit"'], [U, U, P]),
    "a rule for what a reactor made": (
        {**REACTORS, "access": NO_RM}, ['{"command":"rm"}'], [U, D, D],
    ),
    "a filter": (FILTERS, ['{"command":"a secret"}'], [U, U, R]),
    "a filter that finds nothing": (FILTERS, ['{"command":"a"}'], [U, U, P]),
    "a guard that replaces": (
        {"loops": REPLACE, "history": HISTORY}, ['{"command":"ls"}'], [U, D, D],
    ),
    "a guard, and another call": (
        {"loops": REPLACE, "history": HISTORY}, ['{"command":"pwd",', '"t":1}'], [U, P, P, P],
    ),
    "a guard, and what may still be the same call": (
        {"loops": REPLACE, "history": LONGER}, ['{"command":"ls",', '"t":1', "}"], [U, U, U, D, D],
    ),
    "a guard, and what is another call at its end": (
        {"loops": REPLACE, "history": LONGER}, ['{"command":"ls",', '"t":2,', '"u":3}'], [U, U, P, P, P],
    ),
    "a guard that observes, and a rule": (
        {"loops": WATCH, "history": LONGER, "access": NO_RM}, ['{"command":"ls",', '"t":1', "}"], [U, P, P, P, P],
    ),
    "a guard without history": ({"loops": REPLACE}, ['{"command":"ls"}'], [P] * 3),
    "a guard that observes": ({"loops": WATCH, "history": HISTORY}, ['{"command":"ls"}'], [P] * 3),
}  # fmt: skip


def fed(
    made: CallDecisions, pieces: Sequence[str], *, index: int = 0, native: bool = True
) -> tuple[PendingCall, list[str]]:
    call = made.begin(CallStart(index, "Bash", None, f"n{index}"), native=native)
    states = [call.state]
    for piece in pieces:
        made.add_piece(call, CallPiece(index, piece))
        states.append(call.state)
    return call, states


@pytest.mark.parametrize("title", ROWS)
def test_a_call_is_decided_as_soon_as_it_can_be(title: str) -> None:
    settings, pieces, wanted = ROWS[title]
    made = decisions(**settings)
    call, states = fed(made, pieces)
    made.end(call)
    assert [*states, call.state] == wanted
    assert (call.refusal is not None) == (call.state in {"dropped", "broken_off"})
    text = call.refusal.text if call.refusal else ""
    if text:
        assert (made.late_texts, call.texts) == (([text], []) if call.state == "broken_off" else ([], [text]))


def test_what_a_reactor_does_is_known() -> None:
    made = decisions(**REACTORS)
    edited, _ = fed(made, ['{"command":"edit"}'])
    made.end(edited)
    assert json_of(edited) == {"command": "pwd"}
    assert [change.rule for change in edited.changes] == ["f"]
    said, _ = fed(made, ['{"command":"say"}'], index=1)
    made.end(said)
    assert (said.texts, said.changes) == (["Mind."], [])
    dropped, _ = fed(made, ['{"command":"drop"}'], index=2)
    made.end(dropped)
    assert dropped.texts == ["Dropped."]
    assert dropped.refusal is not None
    assert (dropped.refusal.rule, dropped.refusal.reason) == ("f", "dropped")
    forbidden = decisions(
        **REACTORS, access=Access((AccessRule("no", "block", arguments=(Condition("command", "pwd"),)),))
    )
    call, _ = fed(forbidden, ['{"command":"edit"}'])
    forbidden.end(call)
    assert (call.state, call.refusal and call.refusal.rule) == ("dropped", "no")


def json_of(call: PendingCall) -> Any:
    return msgspec.json.decode(call.replacement[1])


def test_what_a_filter_does_is_known_as_the_filters() -> None:
    made = decisions(**FILTERS)
    call, _ = fed(made, ['{"command":"a secret","n":1}'])
    made.end(call)
    assert json_of(call) == {"command": "a [..]", "n": 1}
    (change,) = call.changes
    assert (change.rule, change.before, change.after) == (
        "filters",
        ("Bash", '{"command":"a secret","n":1}'),
        call.replacement,
    )


@pytest.mark.parametrize(
    ("settings", "pieces", "broken_off", "released", "finished"),
    [
        ({"access": NO_RM}, ['{"command":"l'], "dropped", "dropped", "dropped"),
        ({"access": NO_RM}, ['{"command":"ls",'], "passed", "passed", "passed"),
        (REACTORS, ['{"command":"ls"'], "passed", "dropped", "passed"),
        (FILTERS, ['{"command":"ls"'], "passed", "passed", "passed"),
        ({"loops": REPLACE, "history": HISTORY}, ['{"command":"l'], "passed", "passed", "passed"),
        ({}, ['{"command":"l'], "passed", "passed", "passed"),
    ],
)
def test_a_call_that_does_not_end(
    settings: dict[str, Any], pieces: list[str], broken_off: str, released: str, finished: str
) -> None:
    """What needs all of it lets it pass, but not where no more may be held; a rule that blocks lets nothing pass."""
    made = decisions(**settings)
    call, _ = fed(made, pieces)
    made.break_off(call)
    assert call.state == broken_off
    made = decisions(**settings)
    call, _ = fed(made, pieces)
    made.release()
    assert call.state == released
    if (settings, released) == (REACTORS, "dropped"):
        assert call.refusal is not None
        assert (call.refusal.rule, call.refusal.reason, call.refusal.text) == ("max_frame_bytes", "undecided", "")
    for cut in (False, True):
        made = decisions(**settings)
        call, _ = fed(made, pieces)
        made.finish(cut=cut)
        assert call.state == finished
        assert call.unreadable == (not cut and call.arguments is not None)


def test_a_call_that_was_whole_is_readable() -> None:
    made = decisions(access=NO_RM)
    call, _ = fed(made, ['{"command":"ls"}'])
    made.end(call)
    made.finish(cut=False)
    assert not call.unreadable


def test_a_guard_replaces_a_call_by_what_it_says() -> None:
    made = decisions(loops=REPLACE, history=HISTORY)
    call, _ = fed(made, ['{"command":"ls"}'])
    assert call.texts == ["Loop: Bash was called the same way 2 times"]
    assert call.refusal is not None
    assert (call.refusal.rule, call.refusal.reason) == ("same_call", "loop")
    assert [(note.rule, note.warns) for note in made.notes] == [("same_call", True)]
    again = decisions(loops=REPLACE)
    for index in range(2):
        call, _ = fed(again, ['{"command":"ls"}'], index=index)
        again.end(call)
    assert call.state == "dropped"
    watched = decisions(loops=WATCH, history=HISTORY)
    call, _ = fed(watched, ['{"command":"ls"}'])
    assert (call.state, call.texts) == ("passed", [])
    assert watched.notes == []  # one that observes looks at the calls when the reply has ended


def test_a_guard_that_stops_ends_the_whole_reply() -> None:
    """No call of any lane leaves that has not begun to, none that begins later does, and no text; what left stays."""
    route = Route(loops=Loops("stop", **LOOPS))
    state = ReplyState(Processors(route, model="m", history=HISTORY, run=react), whole=False, as_text=False)
    lanes = [CallDecisions(state, None) for _ in range(2)]
    state.lanes.extend(lanes)  # type: ignore[arg-type]
    other, _ = fed(lanes[1], ['{"command":"pwd"}'])
    begun, _ = fed(lanes[1], ['{"command":"id"}'], index=1)
    begun.begun = True
    assert (other.state, begun.state) == ("passed", "passed")
    call, states = fed(lanes[0], ['{"command":"ls"}'])
    assert states == ["undecided", "dropped"]
    assert (other.state, begun.state) == ("dropped", "passed")
    assert other.refusal is not None
    assert (other.refusal.rule, other.refusal.reason) == ("same_call", "loop")
    assert state.stopped_by == "same_call"
    later, _ = fed(lanes[1], [], index=2)
    assert later.state == "dropped"
    assert later.refusal is not None
    assert (later.refusal.rule, later.refusal.reason, later.refusal.text) == ("same_call", "loop", "")
    lanes[0].end(call)
    assert [note.rule for note in lanes[0].notes] == ["same_call"]  # it is counted once


def test_a_guard_that_replaces_stops_nothing_else() -> None:
    route = Route(loops=REPLACE)
    state = ReplyState(Processors(route, model="m", history=HISTORY, run=react), whole=False, as_text=False)
    lanes = [CallDecisions(state, None) for _ in range(2)]
    state.lanes.extend(lanes)  # type: ignore[arg-type]
    other, _ = fed(lanes[1], ['{"command":"pwd"}'])
    call, _ = fed(lanes[0], ['{"command":"ls"}'])
    assert (call.state, other.state, state.stopped_by) == ("dropped", "passed", "")


@pytest.mark.parametrize(
    ("settings", "pieces", "kept"),
    [
        ({}, ['{"command":"ls"}'], ""),
        ({"loops": WATCH}, ['{"command":', '"ls"}'], ""),  # it looks at the calls when the reply has ended
        ({"loops": REPLACE}, ['{"command":', '"ls"}'], '{"command":"ls"}'),
        ({"access": NO_RM}, ['{"command":', '"ls"}'], '{"command":"ls"}'),
        ({"access": NO_BASH}, ['{"command":', '"ls"}'], '{"command":"ls"}'),
        (REACTORS, ['{"command":', '"ls"}'], '{"command":"ls"}'),
    ],
)
def test_what_is_asked_again_or_shown_is_kept(settings: dict[str, Any], pieces: list[str], kept: str) -> None:
    for native in (True, False):
        call, _ = fed(decisions(**settings), pieces, native=native)
        assert call.call == ("Bash", kept)
        made = decisions(**settings)
        streamed = made.begin(CallStart(0, "Bash", None, "n"), native=False)
        for piece in pieces:
            if not made.streams(CallPiece(0, piece), native=False):
                made.add_piece(streamed, CallPiece(0, piece))
        assert streamed.call == ("Bash", kept)


@pytest.mark.parametrize(
    ("settings", "room"),
    [
        ({"access": NO_RM}, SHOWN),  # as much as is shown of it
        ({"access": NO_BASH}, SHOWN),
        ({"loops": WATCH, "max_call_chars": 100}, SHOWN),
        ({"loops": REPLACE, "max_call_chars": 100}, 100),  # as much as may be counted
        (REACTORS, sys.maxsize),  # all that its frames hold
        ({**REACTORS, "loops": REPLACE, "max_call_chars": 100}, sys.maxsize),
        ({"loops": REPLACE, "access": NO_BASH, "max_call_chars": 100}, 100),
    ],
)
def test_how_much_is_kept_of_a_call(settings: dict[str, Any], room: int) -> None:
    call, _ = fed(decisions(**settings), [])
    assert call.room == room


def test_of_a_call_that_was_taken_out_less_is_kept() -> None:
    """What nobody counts is only shown; what is counted yet is kept as far as it may be counted."""
    counted = decisions(loops=REPLACE, history=HISTORY, max_call_chars=100_000)
    call, _ = fed(counted, ['{"command":"ls"}'])
    assert call.counted
    assert call.room == SHOWN
    uncounted = decisions(loops=REPLACE, access=NO_RM, max_call_chars=100_000)
    call, _ = fed(uncounted, ['{"command":"rm",'])
    assert (call.state, call.counted) == ("dropped", False)
    assert SHOWN < call.room <= 100_000
    plain = decisions(**REACTORS, access=NO_RM)
    call, _ = fed(plain, ['{"command":"rm"}'])
    assert call.room == SHOWN


def test_a_call_without_readable_arguments_is_unreadable() -> None:
    for pieces, unreadable in ((["{a", "}"], True), (['{"command":"ls"}'], False)):
        made = decisions(access=NO_RM)
        call, _ = fed(made, pieces)
        assert call.unreadable == unreadable
        made.end(call)
        assert call.unreadable == unreadable


def test_the_end_of_a_call_that_cannot_be_read_passes_no_rule_about_arguments() -> None:
    for access, state in ((NO_RM, "broken_off"), (Access((AccessRule("r", "block", ("Read",)),)), "passed")):
        for arguments in ("{", "[1]"):
            made = decisions(access=access)
            call, _ = fed(made, ['{"command":"ls"}'])
            made.add_piece(call, CallPiece(0, "", CallUpdate("Bash", arguments, "Bash")))
            assert call.state == state
    by_name = decisions(access=Access((AccessRule("r", "block", ("Read",)),)))
    call, _ = fed(by_name, ['{"command":"ls"}'])
    by_name.add_piece(call, CallPiece(0, "", CallUpdate("Read", '{"command":"ls"}', "Read")))
    assert call.state == "broken_off"
    done = decisions(access=NO_RM)
    call, _ = fed(done, ['{"command":"rm"}'])
    done.add_piece(call, CallPiece(0, "", CallUpdate("Bash", '{"command":"rm"}', "Bash")))
    assert (call.state, done.notes) == ("dropped", [])


def test_a_filter_looks_into_strings_alone() -> None:
    made = decisions(filters=(Filter("n", literal="1", replace="2", calls=True),))
    call, _ = fed(made, ['{"a":1,"b":"1","c":["1"],"d":"x"}'])
    made.end(call)
    assert json_of(call) == {"a": 1, "b": "2", "c": ["1"], "d": "x"}


def test_a_reply_that_is_stopped_sends_no_other_call() -> None:
    made = decisions(access=NO_RM, loops=Loops("stop", **LOOPS), history=HISTORY)
    first, _ = fed(made, ['{"command":"p'], index=0)
    sent, _ = fed(made, ['{"command":"pwd"}'], index=1)
    sent.begun = True
    other, _ = fed(made, ['{"command":"pwd","t":1}'], index=2)
    refused, _ = fed(made, ['{"command":"rm"}'], index=3)
    assert (sent.state, other.state, refused.state) == ("passed", "passed", "dropped")
    made.block_unsent(Loop("cycle", "It turns."), but=first)
    assert (first.state, sent.state, other.state) == ("undecided", "passed", "dropped")
    assert refused.refusal is not None
    assert (refused.refusal.rule, refused.texts) == ("no-rm", ["No."])  # what blocked it first stays the reason
    assert other.refusal is not None
    assert (other.refusal.rule, other.refusal.reason, other.refusal.text) == ("cycle", "loop", "")


def test_of_a_name_that_is_refused_more_may_come() -> None:
    """It is judged when its arguments begin, or at its end."""
    for more, state in (("", "dropped"), ("perhaps", "undecided"), ("likely", "undecided")):
        made = decisions(access=NO_BASH)
        call = made.begin(CallStart(0, "Bash", None, "n", more=more), native=True)  # type: ignore[arg-type]
        assert (call.state, call.name_open) == (state, state == "undecided")
        if state == "undecided":
            made.add_piece(call, CallPiece(0, ""))
            assert call.name_open
            made.add_piece(call, CallPiece(0, "{"))
            assert (call.state, call.name_open) == ("dropped", False)
    for finish in (CallDecisions.end, CallDecisions.break_off):
        made = decisions(access=NO_BASH)
        call = made.begin(CallStart(0, "Bash", None, "n", more="likely"), native=True)
        finish(made, call)
        assert call.state == "dropped"
    plain = decisions(access=NO_BASH)
    assert plain.begin(CallStart(0, "Read", None, "n", more="perhaps"), native=True).state == "passed"
    assert plain.begin(CallStart(1, "Read", None, "n", more="likely"), native=True).name_open


def test_each_piece_of_a_name_is_judged_as_a_name() -> None:
    """Some clients take one piece for the whole name."""
    for pieces, state in ((("x", "y", "z"), "passed"), (("x", "Bash", "z"), "dropped")):
        made = decisions(access=NO_BASH)
        call = made.begin(CallStart(0, "t", None, "n", more="likely"), native=True)
        for number, piece in enumerate(pieces, start=1):
            update = CallUpdate("t" + "".join(pieces[:number]), None, piece)
            made.add_piece(call, CallPiece(0, "", update))
        made.add_piece(call, CallPiece(0, "{}"))
        assert call.state == state


def test_what_the_end_of_a_call_says_is_judged_too() -> None:
    made = decisions(access=NO_RM)
    call, _ = fed(made, ['{"command":"ls"}'])
    assert call.state == "passed"
    made.add_piece(call, CallPiece(0, "", CallUpdate("Bash", '{"command":"ls"}', "Bash")))
    assert (call.state, made.notes) == ("passed", [])
    made.add_piece(call, CallPiece(0, "", CallUpdate("Bash", '{"command":"rm"}', "Bash")))
    assert call.state == "broken_off"
    assert [(note.rule, note.warns) for note in made.notes] == [("no-rm", True)]
    assert made.late_texts == ["No."]
    early = decisions(access=NO_RM)
    call, _ = fed(early, ["{"])
    early.add_piece(call, CallPiece(0, "", CallUpdate("Bash", '{"command":"rm"}', "Bash")))
    assert (call.state, early.notes, early.late_texts, call.texts) == ("dropped", [], [], ["No."])


def test_a_call_in_text_streams_once_it_passed() -> None:
    made = decisions(access=NO_RM)
    call = made.begin(CallStart(0, "Bash", "invoke", "n"), native=False)
    piece = CallPiece(0, '{"command":"ls",')
    assert not made.streams(piece, native=False)
    made.add_piece(call, piece)
    assert call.state == "passed"
    assert made.streams(CallPiece(0, '"t'), native=False)
    found = CallPiece(0, '":1,"command":"rm",')
    assert not made.streams(found, native=False)
    made.add_piece(call, found)  # it was looked at, and is not looked at again
    assert call.state == "broken_off"
    assert dict(call.known_arguments) == {"command": '"rm"', "t": "1"}
    assert not made.streams(CallPiece(0, "}"), native=False)
    plain = decisions()
    plain.begin(CallStart(0, "Bash", "invoke", "n"), native=False)
    assert plain.streams(CallPiece(0, "{}"), native=False)
