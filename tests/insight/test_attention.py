"""What needs a look: which turns do, how they are grouped, and what the groups say."""

from collections.abc import Sequence

import pytest

from support.turns import turn, verdict
from toolcalls.insight import attention
from toolcalls.insight.attention import OTHERS, Attention, Concern, Group, concerns_of
from toolcalls.insight.damage import Damage
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.words import NEEDS_LOOK, NOTES

FENCED = verdict("declined", "leak", reason="fenced")
CUT = verdict("truncated", "broken", reason="cut_off")
BAD = verdict("native", "broken", reason="wrong_type", dialect=None)

CONCERNS = {
    "sound": (turn(verdicts=(verdict("lifted", "success"),)), []),
    "quoted": (turn(verdicts=(verdict("declined", "decline", reason="fenced"),)), []),
    "coming": (turn(state="streaming", verdicts=(FENCED,), failure="KeyError"), []),
    "a fault": (turn(failure="KeyError"), [Concern("failed", "KeyError")]),
    "an error": (turn(status=529, error="overloaded"), [Concern("failed request", "HTTP 529")]),
    "no reply": (turn(status=0), [Concern("failed request", "no reply")]),
    "broke off": (turn(error="reset"), [Concern("broke off", "reset")]),
    "broke off in a call": (
        turn(error="reset", verdicts=(CUT,)),
        [Concern("truncated", "cut_off", "invoke", "read_file")],
    ),
    "a leak": (turn(verdicts=(FENCED,)), [Concern("leak", "fenced", "invoke", "read_file")]),
    "a leak each": (turn(verdicts=(FENCED, FENCED)), [Concern("leak", "fenced", "invoke", "read_file")] * 2),
    "damaged": (
        turn(verdicts=(BAD,), damage=(Damage("wrong_type", 1, 0),)),
        [Concern("damaged", "wrong_type", "", "read_file")],
    ),
    "empty": (turn(damage=(Damage("empty", 1, 0),)), [Concern("empty reply", "empty")]),
    "a note": (turn(damage=(Damage("finish_denies_calls", 1, 0),)), [Concern("damaged", "finish_denies_calls")]),
    "mended": (turn(damage=(Damage("finish_denies_calls", 2, 2),)), []),
    "partly mended": (turn(damage=(Damage("no_id", 2, 1),)), [Concern("damaged", "no_id")]),
    "text": (turn(damage=(Damage("call_in_text", 1, 0),)), []),
}


@pytest.mark.parametrize("name", CONCERNS)
def test_what_of_a_turn_needs_a_look(name: str) -> None:
    given, concerns = CONCERNS[name]
    assert list(concerns_of(given)) == concerns
    assert all(one.kind in NEEDS_LOOK for one in concerns)


def _groups(turns: Sequence[Turn]) -> Attention:
    made = Attention()
    for one in turns:
        made.add(one)
    return made


def test_turns_with_the_same_cause_are_one_group_and_the_latest_comes_first() -> None:
    leaks = [turn(name, started=float(at), session=name, verdicts=(FENCED,)) for at, name in enumerate("abc")]
    made = _groups([leaks[2], turn("d", started=1.5, status=500), leaks[0], leaks[1]])
    first, second = made.groups()
    assert (first.kind, first.cause, first.dialect, first.model, first.count) == ("leak", "fenced", "invoke", "m", 3)
    assert first.newest(2) == ["c", "b"]
    assert first.newest(9) == ["c", "b", "a"]
    assert (dict(first.tools), dict(first.sessions)) == ({"read_file": 3}, {"a": 1, "b": 1, "c": 1})
    assert (second.kind, second.cause, second.newest(9)) == ("failed request", "HTTP 500", ["d"])


def test_what_goes_leaves_nothing_behind() -> None:
    twice = turn("a", verdicts=(FENCED, FENCED))
    other = turn("b", started=2.0, verdicts=(FENCED,))
    made = _groups([twice, other, turn("c", status=500)])
    made.remove(other)
    (leak,) = [one for one in made.groups() if one.kind == "leak"]
    assert (leak.count, leak.newest(9)) == (2, ["a"])
    made.remove(twice)
    made.remove(twice)
    assert [one.kind for one in made.groups()] == ["failed request"]


def test_of_too_many_groups_the_later_ones_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "GROUPS", 2)
    made = _groups([turn(name, started=float(at), model=name, verdicts=(FENCED,)) for at, name in enumerate("abcda")])
    assert [(one.model, one.count) for one in made.groups()] == [("a", 2), (OTHERS, 2), ("b", 1)]


@pytest.mark.parametrize(
    ("kind", "cause", "sentence", "remedy"),
    [
        ("leak", "fenced", "it is in a fenced code block", "it is accepted if the route has take: [fenced]"),
        ("damaged", "wrong_type", "a value has another type", "it is mended if the route has mend: [types]"),
        ("damaged", "undeclared", "the request does not declare a tool of this name", ""),
        ("damaged", "missing_argument", "an argument that the tool requires is missing", ""),
        ("leak", "missing_argument", "an argument that the tool requires is missing", "it is accepted if the route's"),
        ("empty reply", "empty", NOTES["empty"].sentence, NOTES["empty"].remedy),
        ("broke off", "reset", NEEDS_LOOK["broke off"], ""),
        ("failed", "KeyError in a.py", NEEDS_LOOK["failed"], ""),
    ],
)
def test_a_group_says_what_it_means_and_what_helps(kind: str, cause: str, sentence: str, remedy: str) -> None:
    """A remedy for damage mends it. It never accepts the call: the agent has that already."""
    group = Group(kind, cause, "", "m")
    assert group.sentence.startswith(sentence)
    assert group.remedy.startswith(remedy)
    assert bool(group.remedy) == bool(remedy)
