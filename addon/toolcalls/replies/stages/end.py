"""The finish reason that fits what the client was given. What the upstream cut short stays cut short."""

from collections.abc import Callable, Iterator

from toolcalls.events import Finish
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import CUT_REASONS, End, Item, Stage


class Finishing(Stage):
    """Gives the lane's `Finish`.

    as_text         the client is given calls as text
    broken_is_text  a call that broke off is text to the client
    stopped         whether processors stopped the reply
    """

    def __init__(self, calls: Calls, *, as_text: bool, broken_is_text: bool, stopped: Callable[[], bool]) -> None:
        self._calls = calls
        self._as_text = as_text
        self._broken_is_text = broken_is_text
        self._stopped = stopped

    def finish(self, end: End) -> Iterator[Item]:
        """The client's finish reason, unless the reply broke off."""
        if end.reason is not None:
            yield Finish(self.reason(end.reason))

    def keeps(self, reason: str) -> bool:
        """Whether a native client is given this reason whatever follows."""
        calls = self._calls
        changed = calls.renumbers or calls.broken_off or calls.from_text
        return not self._stopped() and (reason in CUT_REASONS or not changed)

    def reason(self, reason: str) -> str:
        """What the client is given for the upstream's reason."""
        calls, stopped = self._calls, self._stopped()
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
