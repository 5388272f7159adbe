"""Rules over the text that a text client gets: a call in it that a rule blocks does not leave, whoever wrote it."""

from collections.abc import Iterable, Iterator

from toolcalls.processors.screening import Screen
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import End, Item, Native, Stage


class Screening(Stage):
    """Looks through a lane's text as it leaves. Where it gives up, no text is shown and the reply counts as cut off."""

    def __init__(self, screen: Screen[Native], calls: Calls) -> None:
        self._screen = screen
        self._calls = calls

    def feed(self, items: Iterable[Item]) -> Iterator[Item]:
        """What has become of the items, and of those before them that were not decided."""
        yield from self._screen.passing(items)

    def finish(self, end: End) -> Iterator[Item]:  # noqa: ARG002 - clients that run what they have do so at a cut, too
        """Decide what is left."""
        yield from self._screen.ends()
        if self._screen.silent:
            self._calls.broken_off = True
