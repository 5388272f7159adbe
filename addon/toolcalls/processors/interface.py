"""A lane's processors as the lane sees them: what goes in, and what leaves."""

from collections.abc import Sequence
from typing import Protocol

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Verdict

# What leaves: an event or a text of our own, in its place in the reply's text; or, as a tuple, what has become of the
# next native event, in the order in which they came.
type Left = Event | str | tuple[Event | str, ...]


class Processing(Protocol):
    """One lane's processors, as the lane sees them."""

    def quiet(self, piece: str) -> bool:
        """Whether nothing can happen to a piece of plain text. If it leaves then, `passed` must be called."""

    def passed(self, piece: str) -> bool:
        """A quiet piece of text has left; always True."""

    def streams(self, piece: CallPiece) -> bool:
        """Whether the next piece of a call in text leaves as it is, its markup with it. If so, it has been seen."""

    def held(self, markup: Markup, piece: CallPiece) -> list[Left] | None:
        """What leaves when the next two events are of a call in text that waits alone. None: `read` takes them."""

    def passes_piece(self, piece: CallPiece) -> bool:
        """Whether the next piece of a native call leaves as it is. If so, it has been seen; else `native` takes it."""

    def read(self, events: Sequence[Event]) -> list[Left]:
        """The next events that were read from text."""

    def native(self, event: CallStart | CallPiece | CallEnd) -> list[Left]:
        """The next event of a native call."""

    def release(self) -> list[Left]:
        """No more can be held: calls that are not decided are taken for ones that will never be whole."""

    def finish(self, *, cut: bool) -> list[Left]:
        """Nothing follows: everything is decided now. `cut`: what is not whole was cut off."""

    @property
    def adds_at_end(self) -> bool:
        """Whether there is text of our own that leaves behind everything else."""

    def judged(self, index: int, verdict: Verdict) -> Verdict:
        """The verdict of a native call that passed, with what happened to it here."""

    def is_stopped(self) -> bool:
        """Whether the reply was stopped: nothing of it leaves any more."""
