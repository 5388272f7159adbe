"""The stages of one lane after `read`, side by side, for those who compose something of them."""

from dataclasses import dataclass

from toolcalls.replies.stages import Stage
from toolcalls.replies.stages.act import Act
from toolcalls.replies.stages.end import Finishing
from toolcalls.replies.stages.judge import Judge
from toolcalls.replies.stages.number import Number
from toolcalls.replies.stages.reasoned_calls import ReasonedCalls
from toolcalls.replies.stages.reread import Reread
from toolcalls.replies.stages.screen import Screening
from toolcalls.replies.stages.thoughts import Thoughts
from toolcalls.replies.stages.twins import Twins
from toolcalls.replies.stages.write import Write


@dataclass(frozen=True, slots=True)
class Row:
    """The stages in order; None for one that the plan leaves out.

    releases_text   whether undecided text leaves when no more may be held
    """

    thoughts: Thoughts | None
    reasoned: ReasonedCalls | None
    act: Act | None
    reread: Reread | None
    twins: Twins | None
    number: Number
    write: Write | None
    judge: Judge
    screen: Screening | None
    end: Finishing
    releases_text: bool

    @property
    def at_once(self) -> tuple[Stage, ...]:
        """Those that are fed all that was read at once: a call and what comes before it are decided together."""
        return tuple(stage for stage in (self.thoughts, self.reasoned, self.act) if stage is not None)

    @property
    def one_by_one(self) -> tuple[Stage, ...]:
        """Those that are fed one item at a time, and not before the stages after have dealt with the item before it."""
        row = (self.reread, self.twins, self.number, self.write, self.judge, self.screen, self.end)
        return tuple(stage for stage in row if stage is not None)
