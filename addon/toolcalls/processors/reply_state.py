"""What the processors of one reply's lanes share: the calls so far, its repeated passages, whether it was stopped."""

from typing import Protocol

from toolcalls.processors.exchange_processors import Processors
from toolcalls.processors.loops import CallLoops, Loop, TextLoops
from toolcalls.processors.pending_call import PendingCall
from toolcalls.processors.steering import InsertedTexts


class Stoppable(Protocol):
    """What a stopped reply asks of each of its lanes. `silent`: the lane's text is removed from here on."""

    silent: bool

    def block_unsent(self, loop: Loop, *, but: PendingCall) -> None:
        """Block each call of which nothing was sent yet, except one."""


class ReplyState:
    """What the lanes of one reply share.

    call_loops  the calls of the conversation and the reply, None where the loop guard does not count them
    text_loops  the same for passages of text
    inserted    texts of our own that the client was sent
    replaced    how many places each filter replaced
    disabled    filters whose pattern cost too much
    stopped_by  the loop that stopped the reply, "" for none
    silent      the text of lanes that begin from here on is removed
    lanes       those that have begun
    """

    def __init__(self, processors: Processors, *, whole: bool, as_text: bool) -> None:
        loops = processors.loops
        self.processors = processors
        self.whole = whole
        self.as_text = as_text
        self.call_loops = CallLoops(loops, processors.history, processors.work) if loops else None
        self.text_loops = TextLoops(loops.message, processors.said) if loops and loops.message else None
        self.inserted = InsertedTexts()
        self.replaced: dict[str, int] = {}
        self.disabled: set[str] = set()
        self.stopped_by = ""
        self.silent = False
        self.lanes: list[Stoppable] = []
        self._speaker: Stoppable | None = None  # the lane whose text `text_loops` was fed last

    def repeats_nothing(self, lane: Stoppable, text: str) -> bool:
        """Whether a lane's next text cannot complete a repeated passage: it may leave before `repeats` sees it."""
        return self.text_loops is None or (self._speaker is lane and self.text_loops.quiet(text))

    def repeats(self, lane: Stoppable, text: str) -> int | None:
        """The offset in a lane's next text at which a passage was repeated too often, None for none."""
        if self.text_loops is None:
            return None
        if self._speaker is not lane:  # another block: a line begins
            self._speaker = lane
            self.text_loops.start_block()
        return self.text_loops.feed(text)

    def stop(self, loop: Loop, *, silence: bool) -> None:
        """Send nothing more of the reply. `silence`: not even the text of lanes that have begun."""
        self.stopped_by = loop.what
        self.silence(begun=silence)

    def silence(self, *, begun: bool = True) -> None:
        """Remove all text from here on. `begun`: also in the lanes that have begun."""
        self.silent = True
        for lane in self.lanes if begun else ():
            lane.silent = True
