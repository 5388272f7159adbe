"""The verdicts of native calls that stayed native: each has one, at the lane's end."""

from collections.abc import Iterator

from toolcalls.events import Reason, Status, Verdict
from toolcalls.replies.calls import Calls, ClientCall
from toolcalls.replies.stages import End, Item, Stage


class Judge(Stage):
    """Judges the native calls of a lane that have no verdict yet."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def finish(self, end: End) -> Iterator[Item]:
        """A verdict for each native call."""
        for came_as, call in self._calls.natives.items():
            yield self._calls.mark(came_as, _verdict(call, end))
        self._calls.judge_natives()


def _verdict(call: ClientCall, end: End) -> Verdict:
    status: Status = "native"
    reason: Reason | None = call.stays
    lost = end.reason is None and call.stays is not None  # it would have become text at the end
    if call.outgrown and not end.cut:
        reason = "max_call_chars"
    elif lost or not call.complete:
        status, reason = ("truncated", "cut_off") if end.cut else ("malformed", "bad_arguments")
    return Verdict(status, reason, None, call.name, 0, 0, index=call.index)
