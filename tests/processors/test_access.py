"""Access rules (`processors/access.py`), compared with what they say.

Strategy: a few rules of both kinds about a few arguments, and calls whose arguments come one by one. At its end a call
must pass or not as somebody says who reads the rules from the top. What is decided before must be what is decided then,
whatever else may come; and it is decided as soon as nothing that may come can change it.
"""

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.processors.access import Gate, Judgement, printable_name, readings, spellings, visible
from toolcalls.processors.paths import lies_in
from toolcalls.route import Access, AccessRule, Condition

cheap = settings(law, max_examples=max(100, law.max_examples))  # also with TESTS=quick

KEYS, VALUES = ("p", "q"), ("x", "y")
CONDITIONS = st.lists(
    st.builds(Condition, st.sampled_from([*KEYS, "*"]), st.sampled_from([*VALUES, "x|y"])),
    max_size=2,
    unique_by=lambda condition: condition.argument,
).map(tuple)
RULES = st.lists(
    st.tuples(st.sampled_from(["allow", "block"]), st.sampled_from(["tool", "other", ".*"]), CONDITIONS), max_size=3
)
MEMBERS = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), max_size=3)

type Members = list[tuple[str, str]]


def gate(rules: list[tuple[Any, str, Any]], default: Any) -> Gate:
    made = (
        AccessRule(str(place), action, (name,), arguments=arguments)
        for place, (action, name, arguments) in enumerate(rules)
    )
    return Gate(Access(tuple(made), default), model="m", agent="a")


def judged(made: Gate, members: Members, *, whole: bool = True) -> Judgement:
    judgement = made.judge("tool")
    for key, value in members:
        judgement.learn(key, json.dumps(value))
    if whole:
        judgement.end(whole=True)
    return judgement


def meets(condition: Condition, members: Members, *, blocks: bool) -> bool:
    """Of an argument that comes twice one is enough for a rule that blocks; one that allows wants them all."""
    values = [value for key, value in members if condition.argument in {key, "*"}]
    met = [value in str(condition.matches).split("|") for value in values]
    return any(met) if blocks else bool(met) and all(met)


def blocking(rules: list[tuple[Any, str, Any]], default: str, members: Members) -> str | None:
    """The name of the rule that blocks a call, None where it passes: the first rule that holds, read from the top."""
    for place, (action, name, conditions) in enumerate(rules):
        if name != "other" and all(meets(one, members, blocks=action == "block") for one in conditions):
            return str(place) if action == "block" else None
    return "default" if default == "deny" else None


@cheap
@given(rules=RULES, default=st.sampled_from(["allow", "deny"]), members=MEMBERS)
@example(
    rules=[("block", "tool", (Condition("q", matches="x"),)), ("block", "tool", ())],
    default="allow",
    members=[("q", "x")],
)
def test_the_first_rule_that_holds_decides(rules: Any, default: str, members: Members) -> None:
    judgement = judged(gate(rules, default), members)
    assert judgement.decided
    first = blocking(rules, default, members)

    def holds(number: str) -> bool:
        alone = rules[int(number) :][:1]
        return blocking(alone, "allow", members) is not None

    assert (judgement.refusal is None) == (first is None)
    if judgement.refusal is not None:
        assert judgement.refusal.reason == "access"
        # A rule after it is named where an argument came first that made that one hold: either would block.
        assert judgement.refusal.rule in {"default", *(name for name in map(str, range(len(rules))) if holds(name))}


@cheap
@given(rules=RULES, default=st.sampled_from(["allow", "deny"]), members=MEMBERS)
def test_what_is_decided_before_the_end_stays_so(rules: Any, default: str, members: Members) -> None:
    """A call that is refused stays refused. One that passes does so unless an argument comes once more."""
    made = gate(rules, default)
    for count in range(len(members) + 1):
        judgement = judged(made, members[:count], whole=False)
        known = {key for key, _ in members[:count]}
        later = [[], *([(key, value)] for key, value in product(KEYS, VALUES) if key not in known)]
        outcomes = {blocking(rules, default, [*members[:count], *more]) for more in later}
        if judgement.refusal is not None:
            assert judgement.decided
            assert None not in outcomes
        elif judgement.decided:
            assert outcomes == {None}
        alone = not any(condition.argument == "*" for _, _, conditions in rules for condition in conditions)
        if alone and known == set(KEYS):
            assert judgement.decided


@cheap
@given(rules=RULES, default=st.sampled_from(["allow", "deny"]), members=MEMBERS)
def test_what_only_blocks_is_refused_whatever_is_left_out(rules: Any, default: str, members: Members) -> None:
    judgement = judged(gate(rules, default), members)
    about = [(action, conditions) for action, name, conditions in rules if name != "other"]
    assert judgement.only_blocks == (default == "allow" and all(action == "block" for action, _ in about))
    assert judgement.watches == any(conditions for _, conditions in about)
    for key in (*KEYS, "z"):
        asked = {condition.argument for _, conditions in about for condition in conditions}
        assert judgement.asks(key) == bool({key, "*"} & asked)


@cheap
@given(rules=RULES, default=st.sampled_from(["allow", "deny"]), members=MEMBERS)
def test_a_call_that_cannot_be_read_passes_only_where_no_rule_may_block_it(
    rules: Any, default: str, members: Members
) -> None:
    judgement = judged(gate(rules, default), members, whole=False)
    decided, refused = judgement.decided, judgement.refusal
    judgement.end(whole=False)
    assert judgement.decided
    if decided:
        assert judgement.refusal is refused
    else:
        assert judgement.refusal is not None
        assert judgement.refusal.reason == "undecided"
    broken = judged(gate(rules, default), members, whole=False)
    broken.mark_invalid()
    asks = any(action == "block" and name != "other" and conditions for action, name, conditions in rules)
    assert (broken.refusal is not None) == (judgement.refusal is not None or asks)


def test_a_tool_is_refused_always_where_no_arguments_let_it_through() -> None:
    block, allow = ("block", "tool", ()), ("allow", "tool", (Condition("p", "x"),))
    assert gate([block], "allow").refuses_always("tool") is not None
    assert gate([allow, block], "allow").refuses_always("tool") is None
    assert gate([], "deny").refuses_always("tool") is not None
    assert gate([], "allow").refuses_always("tool") is None
    assert gate([allow], "deny").refuses_always("other") is not None
    assert gate([("block", "tool", (Condition("p", "x"),))], "allow").refuses_always("tool") is None
    assert [gate([], default).denies for default in ("allow", "deny")] == [False, True]


def test_what_a_client_is_told() -> None:
    rules = (
        AccessRule("mine", "block", ("a",), message="{tool} is off ({rule})."),
        AccessRule("plain", "block", ("b",)),
    )
    made = Gate(Access(rules, "deny", "No {tool}: {rule}."), model="m", agent="a")
    texts = [refusal.text for name in "abc" if (refusal := made.refuses_always(name))]
    assert texts == ["a is off (mine).", "No b: plain.", "No c: default."]
    assert made.refusal("x" * 129, None).text == "No the tool: default."
    assert printable_name("x" * 128) == "x" * 128
    assert printable_name("a b") == printable_name("") == "the tool"


@pytest.mark.parametrize(
    ("model", "agent", "applies"),
    [(None, None, True), ("m*", None, True), ("M*", None, False), ("n", None, False), (None, "CLI/*", True),
     (None, "x", False), ("m-1", "cli/?", True), ("m-1", "x", False), ("x", "cli/1", False)],
)  # fmt: skip
def test_a_rule_is_for_its_model_and_its_agent(model: str | None, agent: str | None, applies: bool) -> None:
    rule = AccessRule("r", "block", model=model, agent=agent)
    made = Gate(Access((rule,)), model="m-1", agent="Cli/1")
    assert (made.refuses_always("x") is not None) == applies


def test_another_name_that_a_client_may_take_counts_for_rules_that_block() -> None:
    block, allow = ("block", "bad", ()), ("allow", "good", ())
    assert gate([block], "allow").judge("good", ["bad"]).refusal is not None
    assert gate([block], "allow").judge("good", ["fine"]).refusal is None
    assert gate([block], "allow").judge("good").refusal is None
    assert gate([allow], "deny").judge("bad", ["good"]).refusal is not None


def test_many_names_are_judged_as_the_first_one() -> None:
    made = gate([("block", "bad.*", ())], "allow")
    names = [f"{kind}{number}" for number in range(300) for kind in ("bad", "good")]
    for _ in range(2):
        assert all((made.refuses_always(name) is not None) == name.startswith("bad") for name in names)
    assert made.refuses_always("bad" + "x" * 200) is not None


# --- names and values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "also"),
    [
        ("run", {"run"}),
        ("functions.run", {"functions.run", "run"}),
        ("mcp__a_b__run", {"mcp__a_b__run", "a_b__run", "run", "mcp__a-b__run", "a-b__run"}),
        ("run-it", {"run-it", "run_it"}),
        ("run it", {"run it", "run_it", "run-it"}),
        (" run:3", {"run"}),
        ("run<|x|>y", {"run"}),
        ("(run)", {"run"}),
        ("r\u200bun", {"run"}),
        ("\u0440un", {"\u0440un", "pun"}),
    ],
)
def test_what_a_client_may_take_a_name_for(name: str, also: set[str]) -> None:
    assert set(spellings(name)) >= also
    assert {one for one in spellings(name) if one not in also} <= {name.replace("_", "-"), name.replace("-", "_")} | {
        part.replace("-", "_") for part in also
    } | {part.replace("_", "-") for part in also}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" a ", "a"),
        ("a\u200b", "a"),
        ("\uff41", "a"),
        ("a\0b", "ab"),
        ("a b", "a b"),
        ("\u00e9", "\u00e9"),
        ("a\tb", "a\tb"),
    ],
)
def test_a_name_without_what_shows_nothing(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_value_is_read_with_its_entities_and_without() -> None:
    assert list(readings("a & b")) == ["a & b"]
    assert list(readings("&lt;")) == ["&lt;", "<"]
    assert list(readings("lt;")) == ["lt;"]


@pytest.mark.parametrize(
    ("path", "root", "inside"),
    [
        ("/p", "/p", True), ("/p/", "/p", True), ("/p/a", "/p", True), ("/pa", "/p", False), ("/", "/p", False),
        ("/p/../q", "/p", False), ("/q/../p/a", "/p", True), ("a", "/p", True), ("../a", "/p", False),
        ("/p/a", "/", True), ("//p/a", "/p", True), ("file:///p/a", "/p", True), ("file:///q", "/p", False),
        ("https://x/p", "/p", False), ("~/a", "/p", None), ("$HOME", "/p", None), ("%TEMP%", "/p", None),
        ("a\0b", "/p", None), ("C:/a", "/p", None), (" /p/a ", "/p", True), ("/p\\a", "/p", None),
        ("/p\\..\\a", "/p", False),
        ("a", "p", False), ("p", "p", True), ("p/a", "p", True), ("./p/a", "p", True), ("/p", "p", None),
        ("..", ".", False), ("../x", ".", False), ("x", ".", True), (".", ".", True), ("C:/p/a", "C:/p", True),
        ("c:\\p\\a", "C:/p", True), ("D:/p/a", "C:/p", False), ("C:/q", "C:/p", False), ("C:a", "C:/p", None),
        ("/p", "C:/p", None), ("a", "C:/p", True), ("../a", "C:/p", False),
    ],
)  # fmt: skip
def test_where_a_path_lies(path: str, root: str, inside: bool | None) -> None:
    assert lies_in(path, root) is inside


@pytest.mark.parametrize(
    ("condition", "value", "blocked", "allowed"),
    [
        ({"inside": ("/p",)}, "/p/a", True, True), ({"inside": ("/p",)}, "/q", False, False),
        ({"inside": ("/p",)}, "~", True, False), ({"outside": ("/p",)}, "/p/a", False, False),
        ({"outside": ("/p",)}, "/q", True, True), ({"outside": ("/p",)}, "~", True, False),
        ({"inside": ("/p", "/q")}, "/q/a", True, True), ({"outside": ("/p", "/q")}, "/q/a", False, False),
        ({"inside": ("/p",), "outside": ("/p/x",)}, "/p/a", True, True),
        ({"inside": ("/p",), "outside": ("/p/x",)}, "/p/x/a", False, False),
        ({"inside": ("/p",), "outside": ("/p/x",)}, "/q", False, False),
        ({"inside": ("/p",), "matches": ".*a"}, "/p/a", True, True),
        ({"inside": ("/p",), "matches": ".*a"}, "/p/b", False, False), ({"matches": "a"}, "bab", True, False),
        ({"matches": "a"}, "a", True, True), ({"matches": "a"}, "b", False, False),
        ({"matches": "a b"}, ["a", "b"], True, False), ({"matches": "a b"}, {"x": "a b"}, True, False),
        ({"matches": '"x": 3}'}, {"x": 3}, True, False), ({"matches": '"3"'}, [{"x": 3}], False, False),
        ({"matches": r'\{"x": -1.5, "y": \[null, true\]\}'}, {"x": -1.5, "y": [None, True]}, True, True),
        ({"matches": "<"}, "&lt;", True, False), ({"inside": ("/p",)}, ["/p/a", "/q"], True, False),
        ({"outside": ("/p",)}, ["/p/a", "/q"], True, False), ({"inside": ("/p",)}, [], False, True),
    ],
)  # fmt: skip
def test_what_meets_a_condition(condition: dict[str, Any], value: Any, blocked: bool, allowed: bool) -> None:
    """One that blocks asks for any value that may be meant, one that allows for every one, and is sure of it."""
    for action, met in (("block", blocked), ("allow", allowed)):
        made = gate([(action, "tool", (Condition("p", **condition),))], "allow" if action == "block" else "deny")
        judgement = made.judge("tool")
        judgement.learn("p", json.dumps(value))
        judgement.end(whole=True)
        assert (judgement.refusal is not None) == (met == (action == "block")), action
