"""Parts of a message that have ended while their calls wait for what follows.

A call that must be the last of its message (`strict`, a fenced call of `lenient`) is decided by the message's end. On
some wires (Messages blocks, Responses items) that comes parts after its own, and until then the lanes of those parts
are here. Their verdicts are put where they would stand without the wait, so that their order does not depend on the
pieces in which the reply came.
"""

from toolcalls.events import PartEnd, Reason, Verdict
from toolcalls.replies.waiting import LaneFrames, WaitingFrame


class WaitingParts:
    """The parts of one reply whose calls are undecided. `verdicts`: of the whole reply, each with its lane's number."""

    def __init__(self, verdicts: list[tuple[int, Verdict]]) -> None:
        self._verdicts = verdicts
        self._places: dict[LaneFrames, int] = {}  # how many verdicts there were when the part ended

    def __bool__(self) -> bool:
        return bool(self._places)

    def __contains__(self, lane: LaneFrames) -> bool:
        return lane in self._places

    def keep(self, lane: LaneFrames, waiting: WaitingFrame, end: PartEnd) -> bool:
        """A part of the message ends. Returns whether it is kept, as its calls wait for what follows in the message."""
        shows = lane.ends_part(waiting, end)
        if shows and self._places:
            self.decide(waiting, "not_terminal")
        if not lane.lane.reader.waits_for_message:
            return False
        self._places[lane] = len(self._verdicts)
        return True

    def go_on(self, lane: LaneFrames) -> None:
        """A part that seemed to have ended goes on."""
        self._places.pop(lane, None)

    def decide(self, waiting: WaitingFrame, reason: Reason | None) -> None:
        """What follows has come: it makes the calls none for a reason, or the message ends and they are calls."""
        places, self._places = self._places, {}
        decided: list[tuple[int, list[tuple[int, Verdict]]]] = []
        for lane, place in places.items():
            before = len(self._verdicts)
            if reason is not None:
                lane.decline(waiting, reason)
            else:
                lane.finish(waiting)
            decided.append((place, self._verdicts[before:]))
            del self._verdicts[before:]
        for place, verdicts in reversed(decided):
            self._verdicts[place:place] = verdicts
