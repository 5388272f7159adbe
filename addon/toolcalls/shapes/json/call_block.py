"""What a form says about its calls in JSON, and what is known of a block of them while it is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolcalls.events import Reason, Repair
from toolcalls.shapes import CallSink
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

type Commit = Literal["name", "object", "message"]


@dataclass(frozen=True)
class CallRules:
    """What a form says about the calls of a block.

    commit      when a call is one
    sure        nothing but calls stands here. Else an object that calls its name `name` may be a manifest or a record,
                and what its members are is known when all of it has been read; so comments may be between them
    arguments   the key of the arguments as it is written; calls with others than it and `name` are noted as `alias`. ""
                where any is as good
    follow      what may come after the block or begin the next one
    ends        what ends the block wherever it stands
    closed      the block has a closer; where not, a broken call ends where its brackets are closed
    no_calls    names that stand for no call at all
    keyed       the key of the arguments is the tool's name
    own         what is no repair here: the form's own spelling, where it is not JSON's
    """

    commit: Commit = "name"
    sure: bool = True
    arguments: str = "arguments"
    follow: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    closed: bool = True
    no_calls: frozenset[str] = frozenset()
    keyed: bool = False
    own: frozenset[Repair] = frozenset()


class CallBlock:
    """The calls of one block.

    count       how many calls were reported, also those that were declined
    open        a call was reported and has not ended
    unclosed    what closes each bracket that is open, where JSON broke
    """

    def __init__(self, scan: Scanner, sink: CallSink, tools: Toolbox, rules: CallRules) -> None:
        self.scan = scan
        self.sink = sink
        self.tools = tools
        self.rules = rules
        self.count = 0
        self.open = False
        self.unclosed = list[str]()
        self._passed_over = False  # an object that names no tool was, and no call has said so yet
        self._listed = False  # in an array
        self._follow = ("]", "{", *rules.follow)

    @property
    def begun(self) -> bool:
        """Whether a call was reported."""
        return self.count > 0

    def begin(self, name: str, repairs: Sequence[Repair] = (), refused: Reason | None = None) -> None:
        """A call begins; `repairs` is what was noted before it could be. What is `refused` is none."""
        self.sink.begin(name, refused)
        self.count += 1
        self.open = True
        for repair in repairs:
            self.sink.note_repair(repair)
        if refused is None:
            self._say_what_was_passed_over()
        self._passed_over = False  # else it is shown with what was refused

    def end(self) -> None:
        """The call that is open is complete."""
        if self.open:
            self._say_what_was_passed_over()
            self.sink.end()
            self.open = False

    def _say_what_was_passed_over(self) -> None:
        if self._passed_over:
            self.sink.note_repair("left_out")
            self._passed_over = False

    def lacks_brace(self) -> Step[bool]:
        """Whether what follows here ends an object without its brace.

        Where no closer comes after it, the reply's end does, unless it broke off.
        """
        scan = self.scan
        space = yield from scan.space()
        if (yield from scan.starts("}", space)):
            return False
        if (yield from scan.starts(",", space)):
            return (yield from scan.starts("{", (yield from scan.space(space + 1))))
        if (yield from closer_among(scan, self._follow, space))[1]:
            return True
        ends = self.rules.follow or ("]",)
        return not (self.rules.closed or scan.cut) and scan.stops_short(ends, space)
