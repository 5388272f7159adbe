"""The finish reason that fits what the client was given. What the upstream cut short stays cut short.

Where the route mends it, a reason follows the calls also where the upstream's own denies them, promises some where the
reply has none, or is missing although the API's own end mark came.
"""

import re
from collections.abc import Callable, Iterator

from toolcalls.events import Finish, Note, ReplyDefect
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import CUT_REASONS, End, Item, Stage

# Reasons that wires do not know, and that say all the same that a reply was cut short or goes on: nobody knows better.
_SAYS_MORE = re.compile(
    r"length|max|limit|filter|safety|refus|error|fail|abort|cancel|interrupt|timeout|pause", re.IGNORECASE
)


class FinishMending:
    """What the finish reason of a reply should be, where its upstream gave one that cannot be.

    calls        those of each lane of the reply
    as_text      the client is given calls as text
    says_calls   the API has a reason of its own for calls, and one for every end
    named        the request's tool choice names a tool: then `stop` is how Chat Completions answers with its call
    elsewhere    whether another choice has native calls: Copilot has the text in one and the call in the other, and the
                 same reason in both
    """

    def __init__(
        self, *, as_text: bool, says_calls: bool, named: bool, elsewhere: Callable[[], bool] = lambda: False
    ) -> None:
        self.calls: list[Calls] = []
        self._as_text = as_text
        self._says_calls = says_calls
        self._named = named
        self._elsewhere = elsewhere

    def mended(self, reason: str) -> str:
        """The reason itself where it can be; "" is none."""
        given = [call for calls in self.calls for call in calls.client_calls]
        natives = any(calls.had_native for calls in self.calls)
        if reason == "tool_calls":
            return reason if given or natives or self._elsewhere() else "stop"
        if not all(call.complete for call in given) or any(calls.broken_off for calls in self.calls):
            return reason  # law 6
        if self._as_text or not (natives and given):
            return reason  # a text without a reason may have ended in any way
        answers = not self._says_calls and reason in {"", "stop"}
        if answers or (self._named and reason == "stop") or _SAYS_MORE.search(reason):
            return reason
        return "tool_calls"


class Finishing(Stage):
    """Gives the lane's `Finish`.

    as_text         the client is given calls as text
    broken_is_text  a call that broke off is text to the client
    stopped         whether processors stopped the reply; None where there are none
    mending         of the reply that the lane is a part of; None where the route does not mend it
    """

    def __init__(
        self,
        calls: Calls,
        *,
        as_text: bool,
        broken_is_text: bool,
        stopped: Callable[[], bool] | None = None,
        mending: FinishMending | None = None,
    ) -> None:
        self._calls = calls
        self._as_text = as_text
        self._broken_is_text = broken_is_text
        self._stopped = stopped
        self._mending = mending
        self._noted = ""

    def finish(self, end: End) -> Iterator[Item]:
        """The client's finish reason, unless the reply broke off."""
        if end.reason is None:
            return
        mended = end.reason if end.is_part else self._mended(end.reason)
        given = self._fitting(mended)
        if mended != end.reason and mended != self._noted:
            self._noted = mended
            yield Note(_defect(end.reason), _said(end.reason, given), mended=True)
        yield Finish(given)

    def doubts(self, reason: str) -> bool:
        """Whether the reason is `tool_calls`, and is to be mended because no call has been seen."""
        return reason == "tool_calls" and self._mended(reason) != reason

    def keeps(self, reason: str) -> bool:
        """Whether a native client is given this reason whatever follows."""
        calls = self._calls
        changed = calls.renumbers or calls.broken_off or calls.from_text
        return not self._is_stopped and (reason in CUT_REASONS or not changed)

    def reason(self, reason: str) -> str:
        """What the client is given for the upstream's reason."""
        return self._fitting(self._mended(reason))

    @property
    def _is_stopped(self) -> bool:
        return self._stopped is not None and self._stopped()

    def _fitting(self, reason: str) -> str:
        """What fits what the client was given."""
        calls, stopped = self._calls, self._is_stopped
        if reason in CUT_REASONS and not stopped:
            return reason
        if stopped or (calls.renumbers and reason == "tool_calls" and not calls.client_calls):
            reason = "tool_calls" if calls.client_calls and not self._as_text else "stop"
        if calls.broken_off:
            return "length"
        if self._as_text:
            return "stop" if reason == "tool_calls" and calls.all_lowered else reason
        texts = calls.from_text.values()
        if not all(call.complete or (call.malformed and self._broken_is_text) for call in texts):
            return "length"
        return "tool_calls" if any(call.complete for call in texts) else reason

    def _mended(self, reason: str) -> str:
        """The upstream's reason, or the one that it should have given."""
        if self._mending is None or self._is_stopped or reason in CUT_REASONS:
            return reason
        return self._mending.mended(reason)


def _defect(reason: str) -> ReplyDefect:
    """What is wrong with a finish reason that was mended."""
    if not reason:
        return "no_finish"
    return "finish_promises_calls" if reason == "tool_calls" else "finish_denies_calls"


def _said(reason: str, given: str) -> str:
    """What was mended of a finish reason. `given`: what the client has."""
    if reason == "tool_calls":
        return f"the finish reason promised calls, and the reply has none; the client was given {given}"
    if not reason:
        return f"the reply ended without a finish reason; the client was given {given}"
    return f"the finish reason was {reason[:40]!r} in a reply with calls; the client was given {given}"
