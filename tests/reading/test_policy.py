"""Conditions 1 to 4 (`reading/policy.py`): which are asked, in which order, and what a route takes or requires."""

from typing import Any, get_args

import pytest

from toolcalls.events import Reason
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Required, Route, Taken

PLACES: tuple[Reason, ...] = (
    "inline",
    "fenced",
    "indented_code",
    "inline_code",
    "block_quote",
    "html_comment",
    "reasoning",
)


def policy_of(route: dict[str, Any] | None = None, tool_choice: str = "auto", **terms: bool) -> CallPolicy:
    return CallPolicy(Route(**route or {}), Request(tools=(Tool("Bash"),), tool_choice=tool_choice), **terms)


def test_the_first_condition_that_fails_is_the_reason() -> None:
    """Everything fails at first; each line makes one more hold, in the order of the conditions."""
    nothing: dict[str, Any] = {"allowed_tools": ()}
    assert policy_of(nothing, "none", lift=False).declines("Read", "fenced") == "observed"
    assert policy_of(nothing, "none").declines("Read", "fenced") == "undeclared"
    assert policy_of(nothing, "none").declines("Bash", "fenced") == "not_allowed"
    assert policy_of({}, "none").declines("Bash", "fenced") == "tool_choice_none"
    assert policy_of().declines("Bash", "fenced") == "fenced"
    assert policy_of().declines("Bash", None) is None


def test_a_name_that_neither_request_nor_route_declares_is_undeclared() -> None:
    assert policy_of().declines("Read", None) == "undeclared"
    assert policy_of({"tools": (Tool("Read"),)}).declines("Read", None) is None
    assert CallPolicy(Route(), Request()).declines("Read", None) == "no_tools"


@pytest.mark.parametrize("policy", [policy_of(allow_undeclared=True), policy_of({"take": ("undeclared",)})])
def test_an_undeclared_name_passes_where_it_may(policy: CallPolicy) -> None:
    assert policy.declines("Read", None) is None


@pytest.mark.parametrize(
    ("allowed", "name", "reason"),
    [
        (None, "Bash", None),
        ((), "Bash", "not_allowed"),
        (("Bash",), "Bash", None),
        (("Read", "Ba.*"), "Bash", None),
        (("Bas",), "Bash", "not_allowed"),
        (("ash",), "Bash", "not_allowed"),
    ],
)
def test_allowed_tools_match_the_whole_name(allowed: tuple[str, ...] | None, name: str, reason: str | None) -> None:
    assert policy_of({"allowed_tools": allowed}).declines(name, None) == reason


@pytest.mark.parametrize(
    ("policy", "takes"),
    [
        ("standard", {"escaped"}),
        ("strict", set()),
        (
            "lenient",
            {"undeclared", "escaped", "inline", "fenced", "indented_code"}
            | {"undeclared_arguments", "no_arguments", "weak_sign"},
        ),
    ],
)
def test_each_policy_takes_what_the_page_says(policy: PolicyName, takes: set[Taken]) -> None:
    found = policy_of({"policy": policy})
    assert {reason for reason in get_args(Taken) if found.takes(reason)} == takes
    assert {place for place in PLACES if found.declines("Bash", place) is None} == takes & set(PLACES)


@pytest.mark.parametrize(
    ("policy", "requires"),
    [("standard", set()), ("strict", {"complete", "arguments", "terminal", "line_start"}), ("lenient", set())],
)
def test_each_policy_requires_what_the_page_says(policy: PolicyName, requires: set[Required]) -> None:
    found = policy_of({"policy": policy})
    assert {more for more in get_args(Required) if found.requires(more)} == requires


def test_what_a_route_takes_and_requires_replaces_what_its_policy_does() -> None:
    lenient = policy_of({"policy": "lenient", "take": ("block_quote",), "require": ("complete",)})
    assert [lenient.takes("block_quote"), lenient.takes("inline")] == [True, False]
    assert [lenient.requires("complete"), lenient.requires("terminal")] == [True, False]
    strict = policy_of({"policy": "strict", "take": (), "require": ()})
    assert not strict.takes("escaped")
    assert not strict.requires("complete")


@pytest.mark.parametrize(
    ("require", "place", "waits"),
    [
        ((), None, False), (("complete",), None, True), (("arguments",), None, True), (("terminal",), None, True),
        (("line_start",), None, False), (("line_start", "complete"), None, True), (("line_start",), "inline", True),
        ((), "inline", True), (("terminal",), "inline", True),
    ],
)  # fmt: skip
def test_a_call_waits_where_more_is_required_or_its_place_is_taken(
    require: tuple[Required, ...], place: Reason | None, waits: bool
) -> None:
    assert policy_of({"require": require}).waits(place) is waits


def test_an_echo_is_looked_for_unless_the_route_takes_it() -> None:
    quoted = "some text that the user wrote"
    request = Request(tools=(Tool("Bash"),), quotable=(quoted,))
    assert CallPolicy(Route(), request).echo_index.trace(quoted) is not None
    assert CallPolicy(Route(take=("echo",)), request).echo_index.trace(quoted) is None
