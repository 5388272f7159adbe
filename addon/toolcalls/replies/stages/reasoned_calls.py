"""Calls in the reasoning of a message that says nothing else (`mend: [reasoning]`): read when the message ends."""

from collections.abc import Sequence

from toolcalls.events import Note, Verdict
from toolcalls.mending.reasoning_calls import events_of_calls
from toolcalls.mending.reply_watch import MessageWatch
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.stages import End, Item, Stage
from toolcalls.values.toolbox import Toolbox


class ReasonedCalls(Stage):
    """Those of one message, all of whose lanes share it."""

    def __init__(self, message: MessageWatch, call_policy: CallPolicy, tools: Toolbox) -> None:
        self.message = message
        self._call_policy = call_policy
        self._tools = tools
        self._read = False

    @property
    def possible(self) -> bool:
        """Whether there may be some: the message has reasoning, and nothing else so far."""
        return not self._read and self.message.only_reasons

    def finish(self, end: End) -> Sequence[Item]:
        """The calls, with their verdicts and a note, where the message ends here as it should."""
        if end.cut or end.is_part or not self.possible:
            return ()
        self._read = True
        events = events_of_calls(self.message.all_reasoning, self._call_policy, self._tools)
        names = [event.name for event in events if isinstance(event, Verdict) and event.name is not None]
        if not names:
            return ()
        said = ", ".join(name[:80] for name in names[:4])
        return (
            *events,
            Note("call_in_reasoning", f"{said}; the client was given it as a call", warns=True, mended=True),
        )
