"""Calls that may not leave yet, and why: each must be complete first, or begin its first value, or cease to be an echo.

They wait in order, with their text held, until the ledger commits all of them or declines all of them.
"""

from collections.abc import Callable

from toolcalls.events import Reason
from toolcalls.reading.candidate import Candidate
from toolcalls.reading.echo_watch import watched
from toolcalls.reading.limits import CallLimits
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.strength import lacking
from toolcalls.text.scanner import Scanner
from toolcalls.values.call_index import CallIndex
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox


class WaitingCalls:
    """The calls of one reply that wait. What may be held meanwhile (`CallLimits.max_held`) depends on them."""

    def __init__(self, call_policy: CallPolicy, tools: Toolbox, natives: CallIndex, limits: CallLimits) -> None:
        """`natives` are the native calls of the reply."""
        self._calls: list[Candidate] = []
        self._expects = False
        self._call_policy = call_policy
        self._tools = tools
        self._natives = natives
        self._limits = limits
        self._most = call_policy.route.max_buffer_bytes
        self._most_whole = max(self._most, call_policy.route.max_held_call_bytes)

    def __len__(self) -> int:
        return len(self._calls)

    def expect(self, expects: bool) -> None:
        """Whether what is held is a call, as far as is known, that begins when all of it has been read."""
        self._expects = expects
        self._set_limit()

    def _set_limit(self) -> None:
        """A call that counts only when it is complete may be held for longer."""
        whole = self._calls[0].held_to_end if self._calls else self._expects
        self._limits.max_held = self._most_whole if whole else self._most

    @property
    def in_fence(self) -> bool:
        """Whether the last of them is in a fence, and only the fence's end comes after it in its text."""
        return bool(self._calls) and self._calls[-1].in_fence

    def begin(self, candidate: Candidate, scan: Scanner, held: int) -> None:
        """A call begins, against which nothing speaks so far, `held` characters after the text that is held."""
        limit = self._most if held < self._most else min(held + self._most, self._most_whole)
        candidate.echo = watched(scan, self._call_policy.echo_index, held, limit)
        candidate.held_to_value = True
        self._expects = False
        self.add(candidate)

    def add(self, candidate: Candidate) -> None:
        candidate.waits = True
        self._calls.append(candidate)
        self._set_limit()

    def remove(self, candidate: Candidate) -> None:
        candidate.waits = False
        self._calls.remove(candidate)
        self._set_limit()

    def release(self) -> list[Candidate]:
        """All of them, of which none waits any more."""
        calls, self._calls = self._calls, []
        self._set_limit()
        for candidate in calls:
            candidate.waits = False
        return calls

    # Deciding

    def must_wait(self, candidate: Candidate, *, echo: bool = True) -> bool:
        """Whether a call cannot be committed yet. `echo`: nor while its text so far repeats the request."""
        native = not self._call_policy.takes("duplicate") and (candidate.name or "") in self._natives
        return (echo and candidate.may_echo) or native or candidate.held_to_end or candidate.held_to_value

    def waits_for_others(self, candidate: Candidate) -> bool:
        """Whether a complete call depends on what comes after it."""
        return self._call_policy.requires("terminal") or candidate.must_be_last

    def declines(self, candidate: Candidate, *, overflows: Callable[[], bool]) -> Reason | None:
        """Why a complete call is declined: as an echo, a duplicate, or by what its sign or `strict` asks; None if not.

        overflows   whether more is held than may be
        """
        policy, arguments = self._call_policy, "".join(candidate.pieces)
        if candidate.echoes():
            candidate.echo = None
            return "echo"
        if self.must_wait(candidate, echo=False) and overflows():
            return "overflow"
        if not policy.takes("duplicate") and self._natives.has(candidate.name or "", arguments):
            return "duplicate"
        if candidate.whole_message and policy.requires("complete") and "missing_closer" in candidate.repairs:
            return "fenced"  # of a message that is a fence, the fence's own end is part of the call
        asks_all = policy.requires("arguments") or "complete" in candidate.asked
        if not asks_all and not candidate.asked:
            return None
        name, keys = candidate.name or "", {key for key, _ in members(arguments)}
        reason = lacking(name, keys, candidate.asked, self._tools)
        if reason is not None and ("own" in candidate.asked or not policy.takes(reason)):
            return reason
        return None if not asks_all or keys.issuperset(self._tools.required(name)) else "missing_argument"
