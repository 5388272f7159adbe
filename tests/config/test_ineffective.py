"""What has no effect (`config/ineffective.py`): each setting beside the nearest one that has some.

The line is that of the key. What has an effect is never reported: people would take out what they need.
"""

import pytest

from toolcalls.config import parse
from toolcalls.config.ineffective import findings
from toolcalls.dialects import all_dialects
from toolcalls.route import Access, AccessRule, Condition, Config, Filter, Loops, Route
from toolcalls.wires import all_wires


def found(route: Route, *keys: str, default: Route | None = None) -> list[tuple[int, str, bool]]:
    """The findings of a route whose keys are on the lines 1, 2 and so on."""
    lines = {f"routes[0].{key}": number for number, key in enumerate(keys, 1)}
    config = Config(default=default or Route(), routes=(route,))
    return [(one.line, one.text.removeprefix("routes[0]."), one.is_mistake) for one in findings(config, lines)]


ALLOW, BLOCK = AccessRule("a", "allow", ("x",)), AccessRule("b", "block", ("y",))
ALL = AccessRule("c", "block")


def access(*rules: AccessRule, default: str = "allow") -> list[str]:
    keys = ["access", *(f"access.rules[{place}].name" for place in range(len(rules)))]
    return [f"{line} {text}" for line, text, _ in found(Route(access=Access(rules, default)), *keys)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rules",
    [(BLOCK,), (ALLOW, BLOCK), (ALLOW, ALL), (ALLOW, ALLOW, BLOCK), (BLOCK, ALL), (BLOCK, ALLOW, BLOCK)],
    ids=lambda rules: " ".join(rule.name for rule in rules),
)
def test_rules_that_count_are_not_reported(rules: tuple[AccessRule, ...]) -> None:
    assert access(*rules) == []
    assert access(*rules, default="deny") == []


def test_rules_that_do_not_count() -> None:
    assert access()[0].startswith("1 access does nothing")
    assert [line[:10] for line in access(ALLOW)] == ["1 access d"]
    assert access(default="deny") == access(ALLOW, default="deny") == []
    assert access(BLOCK, ALLOW) == [
        "3 access.rules[1] does nothing: no rule behind it blocks, so its calls are allowed without it"
    ]
    assert access(BLOCK, ALLOW, default="deny") == []
    assert access(ALL, BLOCK, ALLOW) == [
        '3 access.rules[1] does nothing: the rule "c" before it decides every call',
        '4 access.rules[2] does nothing: the rule "c" before it decides every call',
    ]
    first = AccessRule("d", "allow", ("z",), priority=1)
    assert access(BLOCK, first) == []
    assert access(ALL, first) == []
    assert access(AccessRule("e", "block", arguments=(Condition("k", "v"),)), BLOCK) == []


@pytest.mark.parametrize(("action", "reported"), [("allow", True), ("block", False)])
def test_a_rule_that_allows_says_nothing(action: str, reported: bool) -> None:
    rule = AccessRule("a", action, ("x",), message="m")  # type: ignore[arg-type]
    route = Route(access=Access((rule, BLOCK)))
    keys = ("access", "access.rules[0].name", "access.rules[0].message")
    texts = [(3, "access.rules[0].message does nothing: a rule that allows says nothing", False)] if reported else []
    assert found(route, *keys) == texts
    assert found(route, *keys[:2]) == []


@pytest.mark.parametrize(
    ("filter_", "text"),
    [
        (Filter("f", literal="x"), "filters[0].max_length does nothing"),
        (Filter("f", pattern="a{3}", max_length=3), ""),
        (Filter("f", pattern="a{4}", max_length=3), "filters[0] does nothing: a match has 4 characters at least"),
        (Filter("f", pattern="a{1,3}", max_length=3), ""),
        (Filter("f", pattern="a{1,4}", max_length=3), "filters[0].max_length is too little: a match may have 4"),
        (Filter("f", pattern="a+", max_length=3), ""),
        (Filter("f", pattern="^", max_length=3), "filters[0].pattern does nothing"),
    ],
    ids=str,
)
def test_the_length_of_a_match(filter_: Filter, text: str) -> None:
    reported = found(Route(filters=(filter_,)), "filters[0].pattern", "filters[0].max_length")
    assert [(line, one.startswith(text)) for line, one, _ in reported] == ([(2, True)] if text else [])
    assert found(Route(filters=(filter_,))) == []  # inherited: reported where it is set


@pytest.mark.parametrize(
    ("loops", "reported"),
    [
        (Loops(same_call=0, same_result=0, cycle=0, message=0), ["1 loops does nothing"]),
        (Loops(same_call=0, same_result=0, cycle=0, message=8), ["2 loops.tools does nothing", "3 loops.text does"]),
        (Loops(same_call=1, same_result=0, cycle=0, message=0), ["3 loops.text does"]),
        (Loops(same_call=0, same_result=1, cycle=0, message=0), ["3 loops.text does"]),
        (Loops(same_call=0, same_result=0, cycle=1, message=0), ["3 loops.text does"]),
        (Loops("warn"), ["3 loops.text does"]),
        (Loops("replace"), []),
        (Loops("stop"), []),
    ],
    ids=str,
)
def test_a_loop_guard_that_never_looks_or_says_nothing(loops: Loops, reported: list[str]) -> None:
    lines = [f"{line} {text}" for line, text, _ in found(Route(loops=loops), "loops", "loops.tools", "loops.text")]
    if reported[:1] == ["1 loops does nothing"]:
        lines = lines[:1]
    assert len(lines) == len(reported)
    assert all(line.startswith(text) for line, text in zip(lines, reported, strict=True))
    assert found(Route(loops=loops), "loops") == [one for one in found(Route(loops=loops), "loops") if one[0] == 1]


@pytest.mark.parametrize("key", ["policy", "take", "require", "allowed_tools", "multiple_calls"])
def test_where_both_sides_are_native_text_is_no_call(key: str) -> None:
    for client, upstream in (("native", "native"), ("native", "text"), ("text", "native"), ("auto", "native")):
        reported = found(Route(client=client, upstream=upstream), key)  # type: ignore[arg-type]
        both = (client, upstream) == ("native", "native")
        assert [text for _, text, _ in reported] == (
            [f"{key} does nothing: where both sides are native, text is no call"] if both else []
        )
    assert found(Route(client="native", upstream="native")) == []


@pytest.mark.parametrize(("client", "reported"), [("native", True), ("text", False), ("auto", False)])
def test_a_native_client_speaks_no_dialect(client: str, reported: bool) -> None:
    route = Route(client=client, upstream="text", client_dialect="hermes")  # type: ignore[arg-type]
    assert bool(found(route, "client_dialect")) == reported
    assert found(route) == []


BLOCKS, ACTS = Access((BLOCK,)), Loops("replace")


@pytest.mark.parametrize(
    ("route", "keys", "reported"),
    [
        (Route(steering="request", access=BLOCKS), ("steering",), ["mistake"]),
        (Route(steering="request", access=BLOCKS), ("access",), ["mistake"]),
        (Route(steering="request", access=BLOCKS), (), []),
        (Route(steering="request", loops=ACTS), ("steering",), ["mistake"]),
        (Route(steering="request", loops=None), ("steering",), ["mistake"]),
        (Route(steering="request", loops=None), ("loops",), []),
        (Route(steering="request", rewrite_request=True, access=BLOCKS), ("steering",), []),
        (Route(steering="request", rewrite_request=True, loops=ACTS), ("steering",), []),
        (Route(steering="request", rewrite_request=True, loops=Loops()), ("steering",), ["warning"]),
        (Route(steering="request", rewrite_request=True, loops=None), ("steering",), ["warning"]),
        (Route(steering="request", rewrite_request=True, loops=None), ("rewrite_request",), []),
        (Route(access=BLOCKS), ("access",), []),
    ],
)
def test_steering_by_request_needs_rewriting_and_something_that_blocks(
    route: Route, keys: tuple[str, ...], reported: list[str]
) -> None:
    found_ = [one for one in found(route, *keys) if "steering" in one[1]]
    assert ["mistake" if mistake else "warning" for _, _, mistake in found_] == reported
    assert [line for line, _, _ in found_] == [1] * len(reported)


@pytest.mark.parametrize(
    ("routes", "mistake"),
    [
        ("", True),
        ("routes: [{rewrite_request: true, access: {rules: [{name: a, action: block}]}}]", False),
        ("routes: [{access: {rules: [{name: a, action: block}]}}]", True),
        ("routes: [{steering: reply, rewrite_request: true}]", True),
    ],
)
def test_defaults_may_leave_rewriting_to_their_routes(routes: str, mistake: bool) -> None:
    text = f"version: 1\ndefaults: {{steering: request}}\n{routes}\n"
    if mistake:
        with pytest.raises(ValueError, match="steering: request needs rewrite_request"):
            parse(text, "c.yaml", all_dialects(), all_wires())
    else:
        parse(text, "c.yaml", all_dialects(), all_wires())
