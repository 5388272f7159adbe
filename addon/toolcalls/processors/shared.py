"""What the replies of one exchange share (`Processors`), and what the lanes of one reply do (`Shared`)."""

from typing import Protocol

from toolcalls.processors.access import Gate
from toolcalls.processors.loops import Circle, Circles, Made, Passages
from toolcalls.processors.pending_call import Held
from toolcalls.processors.reactors import Reactors, Runner
from toolcalls.processors.steering import Said
from toolcalls.route import Route


class Processors:
    """What a route's processors need to know of one exchange.

    agent     the client's User-Agent
    history   the calls of the conversation so far
    said      what the model said in it, a text each
    run       runs a reactor within its time limit; only the host has a clock, so without one there is none
    """

    def __init__(
        self,
        route: Route,
        *,
        model: str = "",
        agent: str = "",
        history: tuple[Made, ...] = (),
        said: tuple[str, ...] = (),
        run: Runner,
    ) -> None:
        self.route = route
        self.loops = route.loops if route.loops is not None and route.loops.takes_part else None
        self.gate = Gate(route.access, model=model, agent=agent) if route.access else None
        self.history = history
        self.said = said
        self.reactors = Reactors(route.reactors, run, model=model) if route.reactors else None

    @property
    def blocks(self) -> bool:
        """Whether a rule was written to block: then what fails must not let anything through."""
        access = self.route.access
        return access is not None and (access.default == "deny" or any(r.action == "block" for r in access.rules))


class Stoppable(Protocol):
    """What a reply that is stopped asks of each of its lanes. `silent`: its text is taken away from here on."""

    silent: bool

    def give_up(self, circle: Circle, *, besides: Held) -> None:
        """The reply was stopped: no call leaves that has not begun to."""


class Shared:
    """What the lanes of one reply share: the row of calls, the passages, what was said, whether it was stopped."""

    def __init__(self, of: Processors, *, whole: bool, as_text: bool) -> None:
        loops = of.loops
        self.of = of
        self.whole = whole
        self.as_text = as_text
        self.circles = Circles(loops, of.history) if loops else None
        self.passages = Passages(loops.message, of.said) if loops and loops.message else None
        self.said = Said()
        self.replaced: dict[str, int] = {}  # by filter
        self.given_up: set[str] = set()  # filters whose pattern took too long
        self.stopped_by = ""  # the circle that nothing leaves behind any more
        self.silent = False  # the text of lanes that begin from here on is taken away
        self.lanes: list[Stoppable] = []
        self._speaker: Stoppable | None = None  # whose text the passages heard last

    def repeats(self, lane: Stoppable, text: str) -> int | None:
        """Where in a lane's next text a passage has come too often."""
        passages = self.passages
        if passages is None:
            return None
        if self._speaker is not lane:  # another block: a line begins
            self._speaker = lane
            passages.apart()
        return passages.feed(text)

    def stop(self, circle: Circle, *, silence: bool) -> None:
        """Nothing more of the reply leaves. `silence`: the text of its lanes that have begun, too."""
        self.stopped_by = circle.what
        self.silence(begun=silence)

    def silence(self, *, begun: bool = True) -> None:
        """The text from here on is taken away. `begun`: in the lanes that have begun, too."""
        self.silent = True
        for lane in self.lanes if begun else ():
            lane.silent = True
