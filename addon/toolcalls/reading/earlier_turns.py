"""Whether the model's earlier turns hold a call of a dialect: one more sign for what a leak leaves of a form."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from toolcalls.events import Event, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.values.toolbox import Toolbox

_TURNS = 8  # the latest ones
_TEXT = 1 << 14  # characters of the end of each


class ReadsText(Protocol):
    """A reader (`reader.Reader`), which imports this module."""

    def feed(self, piece: str) -> list[Event]:
        """Read the next piece."""

    def finish(self, *, cut: bool) -> list[Event]:
        """The text ends."""


class EarlierTurns:
    """Reads them when somebody asks. `tools`: those of the request."""

    def __init__(self, reader: Callable[..., ReadsText], call_policy: CallPolicy, tools: Toolbox) -> None:
        self._reader = reader
        self._call_policy = call_policy
        self._tools = tools
        self._known: dict[str, bool] = {}

    def have(self, dialect: str) -> bool:
        """Whether one of them ends with a whole call of this dialect, all required arguments in it."""
        if dialect not in self._known:
            self._known[dialect] = any(self._ends_with(dialect, turn[-_TEXT:]) for turn in self._turns())
        return self._known[dialect]

    def _turns(self) -> Sequence[str]:
        return self._call_policy.request.assistant[-_TURNS:]

    def _ends_with(self, dialect: str, turn: str) -> bool:
        request = replace(self._call_policy.request, tool_choice="auto", quotable=(), prefill=(), assistant=())
        route = replace(
            self._call_policy.route,
            dialects=(dialect,),
            take=(),
            require=("complete", "arguments", "terminal"),
            starts_in_reasoning=False,
        )
        terms = replace(
            self._call_policy,
            request=request,
            route=route,
            lift=True,
            open_calls=False,
            may_start_in_reasoning=False,
            first=(),
        )
        reader = self._reader(terms, tools=self._tools)
        events = [*reader.feed(turn), *reader.finish(cut=False)]
        return any(
            isinstance(event, Verdict) and event.status == "lifted" and event.dialect == dialect for event in events
        )
