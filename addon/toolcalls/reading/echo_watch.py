"""Condition 5 for a candidate that is still coming: whether its held text so far is in the request.

`text/echo.py` finds and follows the places in the request; this file says which text of the candidate to compare.
"""

from toolcalls.text.echo import EchoIndex, EchoTrace
from toolcalls.text.scanner import Scanner


def watched(scan: Scanner, index: EchoIndex, start: int, limit: int) -> "EchoWatch | None":
    """Begins to watch the candidate that begins at `start` in the held text; None where the request does not hold it.

    limit   characters of held text; those past it do not count, so that it never matters how much came at once
    """
    trace = index.trace(scan.taken_from(start)[: max(0, limit - start)])
    return None if trace is None else EchoWatch(scan, trace, scan.taken_size, limit)


class EchoWatch:
    """Compares a candidate's held text with the request, each piece of it once."""

    __slots__ = ("_limit", "_read", "_scan", "_size", "_trace")

    def __init__(self, scan: Scanner, trace: EchoTrace, size: int, limit: int) -> None:
        self._scan = scan
        self._trace: EchoTrace | None = trace
        self._read = len(scan.taken)  # pieces of the held text that were compared
        self._size = size  # and their characters
        self._limit = limit

    def matches(self) -> bool:
        """Whether all held text so far is in the request. Once it does not, it never does again."""
        if self._trace is None:
            return False
        coming = "".join(self._scan.taken[self._read :])
        room = max(0, self._limit - self._size)
        self._read = len(self._scan.taken)
        self._size += len(coming)
        if not self._trace.grow(coming[:room]):
            self._trace = None
        return self._trace is not None

    @property
    def matched(self) -> bool:
        """What `matches` said last."""
        return self._trace is not None

    def matches_to_limit(self) -> bool:
        """Whether as much text as may be held is an echo: then the candidate is one, however it goes on."""
        return self._scan.taken_size > self._limit and self.matches()
