"""The finish reason that fits what the client was given. What the upstream cut short stays cut short."""

from collections.abc import Callable, Iterator

from toolcalls.events import Finish
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import CUT_REASONS, End, Item, Stage


class Finishing(Stage):
    """Gives the lane's `Finish`.

    as_text   the client is given calls as text
    stopped   whether processors stopped the reply
    """

    def __init__(self, calls: Calls, *, as_text: bool, stopped: Callable[[], bool]) -> None:
        self._calls = calls
        self._as_text = as_text
        self._stopped = stopped

    def finish(self, end: End) -> Iterator[Item]:
        """The client's finish reason, unless the reply broke off."""
        if end.reason is not None:
            yield Finish(self._reason(end.reason))

    def _reason(self, reason: str) -> str:
        calls, stopped = self._calls, self._stopped()
        if reason in CUT_REASONS and not stopped:
            return reason
        if stopped or (calls.renumbers and reason == "tool_calls" and not calls.client_calls):
            reason = "tool_calls" if calls.client_calls and not self._as_text else "stop"
        if calls.broken_off:
            return "length"
        if self._as_text:
            return "stop" if reason == "tool_calls" and calls.all_lowered else reason
        if not all(call.complete for call in calls.from_text.values()):
            return "length"
        return "tool_calls" if calls.from_text else reason
