"""What calls that wait do in each state (`reading/waiting_calls.py`): how much may be held, what decides each."""

import pytest

from support.readings import call_policy_for
from toolcalls.events import Reason, Repair
from toolcalls.reading.candidate import Candidate
from toolcalls.reading.limits import CallLimits
from toolcalls.reading.waiting_calls import WaitingCalls
from toolcalls.request import Tool
from toolcalls.route import PolicyName, Route
from toolcalls.text.scanner import Scanner
from toolcalls.values.call_index import CallIndex
from toolcalls.values.toolbox import Toolbox

TOOLS = Toolbox((Tool("Bash", {"type": "object", "required": ["command"]}),))
MOST, MOST_WHOLE = 100, 1000


class Waiting:
    """No call waits, and nothing is held."""

    def __init__(self, policy: PolicyName = "standard", native: str = "") -> None:
        route = Route(policy=policy, max_buffer_bytes=MOST, max_held_call_bytes=MOST_WHOLE)
        self.limits = CallLimits(route.max_call_chars, route.max_depth, route.max_buffer_bytes)
        natives = CallIndex(TOOLS)
        if native:
            natives.add("Bash", native)
        self.calls = WaitingCalls(call_policy_for(route), TOOLS, natives, self.limits)

    def begun(self, arguments: str = "", *, to_value: bool = False, to_end: bool = False) -> Candidate:
        """A call that waits: until its first value, or until it is complete."""
        candidate = Candidate("invoke", "Bash", 0)
        candidate.pieces.append(arguments)
        candidate.held_to_end = to_end
        self.calls.begin(candidate, Scanner(), 0)
        candidate.held_to_value = to_value
        return candidate


def test_one_waits_from_its_beginning_to_its_first_value() -> None:
    waiting = Waiting()
    candidate = waiting.begun(to_value=True)
    assert candidate.waits
    assert len(waiting.calls) == 1
    assert waiting.calls.must_wait(candidate)
    candidate.held_to_value = False
    assert not waiting.calls.must_wait(candidate)


@pytest.mark.parametrize(("to_end", "most"), [(False, MOST), (True, MOST_WHOLE)])
def test_more_is_held_of_a_call_that_counts_when_it_is_complete(to_end: bool, most: int) -> None:
    waiting = Waiting()
    candidate = waiting.begun(to_end=to_end)
    assert waiting.limits.max_held == most
    waiting.begun(to_end=not to_end)
    assert waiting.limits.max_held == most  # the first of them says it
    waiting.calls.remove(candidate)
    assert waiting.limits.max_held == (MOST if to_end else MOST_WHOLE)
    waiting.calls.release()
    assert waiting.limits.max_held == MOST


def test_more_is_held_of_what_is_expected_to_be_a_call() -> None:
    waiting = Waiting()
    waiting.calls.expect(True)
    assert waiting.limits.max_held == MOST_WHOLE
    waiting.begun()
    assert waiting.limits.max_held == MOST
    waiting.calls.release()
    assert waiting.limits.max_held == MOST


def test_all_leave_together_and_wait_no_more() -> None:
    waiting = Waiting()
    begun = [waiting.begun(), waiting.begun(to_end=True)]
    assert waiting.calls.release() == begun
    assert len(waiting.calls) == 0
    assert not any(candidate.waits for candidate in begun)


def test_the_last_one_says_whether_only_a_fence_ends_behind_it() -> None:
    waiting = Waiting()
    assert not waiting.calls.in_fence
    waiting.begun().in_fence = True
    assert waiting.calls.in_fence
    waiting.begun()
    assert not waiting.calls.in_fence


@pytest.mark.parametrize(
    ("policy", "native", "arguments", "repairs", "reason"),
    [
        ("standard", "", '{"command":"ls"}', [], None),
        ("standard", '{"command": "ls"}', '{"command":"ls"}', [], "duplicate"),
        ("standard", '{"command": "pwd"}', '{"command":"ls"}', [], None),
        ("standard", "", "{}", [], None),
        ("strict", "", "{}", [], "missing_argument"),
        ("strict", "", '{"command":"ls"}', ["missing_closer"], "fenced"),
        ("standard", "", '{"command":"ls"}', ["missing_closer"], None),
    ],
)
def test_what_decides_a_complete_call(
    policy: PolicyName, native: str, arguments: str, repairs: list[Repair], reason: Reason | None
) -> None:
    waiting = Waiting(policy, native)
    candidate = waiting.begun(arguments)
    candidate.whole_message, candidate.repairs = True, repairs
    assert waiting.calls.declines(candidate, overflows=lambda: False) == reason


def test_what_must_wait_may_not_be_too_much() -> None:
    waiting = Waiting()
    assert waiting.calls.declines(waiting.begun(to_end=True), overflows=lambda: True) == "overflow"
    assert waiting.calls.declines(waiting.begun(), overflows=lambda: True) is None


def test_a_complete_call_depends_on_what_comes_after_it_where_it_must_be_last() -> None:
    waiting = Waiting()
    candidate = waiting.begun()
    assert not waiting.calls.waits_for_others(candidate)
    candidate.must_be_last = True
    assert waiting.calls.waits_for_others(candidate)
    assert Waiting("strict").calls.waits_for_others(waiting.begun())
