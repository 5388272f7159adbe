"""What came of a reply and what left of it, each piece with its time.

Most pieces leave as they came. They are kept once: `ReplyBodies` notes where runs of such pieces begin and end, and
puts the client's body together when it is asked for. Numbers are kept in arrays, so a stream makes no objects.
"""

from array import array
from time import monotonic_ns

# Of one body; a larger one is not kept. A reply has two bodies, so it may keep twice as much. Where the upstream's is
# not kept, neither is what the client shares with it.
MAX_KEPT = 16 * 1024 * 1024  # bytes
MAX_PIECES = 500_000

_NOTHING_SHARED = [0, 0, 0, 0]
_MOST_NUMBERS = 4_000  # of ends of runs; a reply with more has its two bodies kept apart, which costs less then


class TimedBody:
    """The pieces of one body in order, each with its time.

    since   the moment from which times count, in nanoseconds of the monotonic clock
    """

    def __init__(self, since: int) -> None:
        self._since = since
        self._bytes = bytearray()
        self._moments = array("q")
        self._sizes = array("L")
        self._limit = MAX_KEPT

    def add(self, piece: bytes, moment: int) -> None:
        """The next piece, and its moment on the monotonic clock, in nanoseconds."""
        self._bytes += piece
        self._moments.append(moment - self._since)
        self._sizes.append(len(piece))
        if len(self._bytes) > self._limit or len(self._sizes) > MAX_PIECES:
            self._drop()

    def add_run(self, other: "TimedBody", start: tuple[int, int], end: tuple[int, int]) -> None:
        """The pieces of another body between two of its places (`place`). Where that body grew too large to be kept,
        so did this one.
        """
        self._bytes += memoryview(other._bytes)[start[0] : end[0]]
        self._moments += other._moments[start[1] : end[1]]
        self._sizes += other._sizes[start[1] : end[1]]
        if other._limit < 0 or len(self._bytes) > self._limit or len(self._sizes) > MAX_PIECES:
            self._drop()

    def _drop(self) -> None:
        """From here on nothing is kept."""
        self._limit = -1
        self._bytes, self._moments, self._sizes = bytearray(), array("q"), array("L")

    def copy(self) -> "TimedBody":
        """A copy, to which other pieces can be added."""
        made = TimedBody(self._since)
        made._bytes, made._limit = self._bytes[:], self._limit
        made._moments, made._sizes = self._moments[:], self._sizes[:]
        return made

    @property
    def place(self) -> tuple[int, int]:
        """Where the next piece goes: bytes and pieces before it."""
        return len(self._bytes), len(self._sizes)

    @property
    def size(self) -> int:
        """How many bytes of it are kept."""
        return len(self._bytes)

    @property
    def microseconds(self) -> list[int]:
        """When each piece came, in microseconds since the reply's headers."""
        return [moment // 1000 for moment in self._moments]

    @property
    def sizes(self) -> list[int]:
        """The size of each piece, in bytes."""
        return self._sizes.tolist()

    def content(self) -> bytes | None:
        """The body so far; None if it grew too large to be kept."""
        return None if self._limit < 0 else bytes(self._bytes)


class ReplyBodies:
    """Both bodies of one reply. `upstream`: what came; `client()`: what left."""

    def __init__(self) -> None:
        self._since = monotonic_ns()
        self.upstream = TimedBody(self._since)
        self._own = TimedBody(self._since)  # what left otherwise than it came
        self._shares = True  # whether the latest piece left as it came
        # Four numbers for each end of a run, of pieces that are shared and not in turn: the places in both bodies.
        self._ends = array("L")
        self._is_apart = False

    @property
    def differ(self) -> bool:
        """Whether anything left otherwise than it came, or at another moment."""
        return bool(self._ends)

    def add(self, came: bytes, left: bytes) -> None:
        """What came now, and what left for it; either may be empty."""
        moment = monotonic_ns()
        shared = came == left and not self._is_apart
        if shared is not self._shares and (came or left):
            if len(self._ends) < _MOST_NUMBERS:
                self._ends.extend(self.upstream.place + self._own.place)
            else:
                self._own, self._ends, self._is_apart = self.client(), array("L", _NOTHING_SHARED), True
                shared = False
            self._shares = shared
        if came:
            self.upstream.add(came, moment)
        if left and not shared:
            self._own.add(left, moment)

    def client(self) -> TimedBody:
        """What left so far: the upstream's body itself where that is the same, else one that is made anew. Only for the
        thread that adds.
        """
        if not self._ends:
            return self.upstream
        if self._ends.tolist() == _NOTHING_SHARED:
            return self._own.copy()
        made = TimedBody(self._since)
        ends = [*self._ends, *self.upstream.place, *self._own.place]
        sides = (self.upstream, self._own)
        starts = ((0, 0), (0, 0))
        for run, at in enumerate(range(0, len(ends), 4)):
            places = ((ends[at], ends[at + 1]), (ends[at + 2], ends[at + 3]))
            side = run % 2
            made.add_run(sides[side], starts[side], places[side])
            starts = places
        return made
