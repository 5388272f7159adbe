"""The processors of one exchange: what a route configures, and what they need to know of the request."""

from collections.abc import Iterable

from toolcalls.processors.access import Gate
from toolcalls.processors.loops import EarlierCall
from toolcalls.processors.reactors import Reactors, Runner
from toolcalls.route import Route
from toolcalls.text.patterns import Work


class Processors:
    """The processors of one exchange. Its replies share them: one, or one for each choice.

    agent    the client's User-Agent
    tools    the names of those that are declared
    history  the calls of the conversation so far
    said     what the model said in it, a text each
    run      runs a reactor within its time limit; only the host has a clock, so without one there is none
    work     what the regular expressions of all of them may still cost
    """

    def __init__(
        self,
        route: Route,
        *,
        model: str = "",
        agent: str = "",
        tools: Iterable[str] = (),
        history: tuple[EarlierCall, ...] = (),
        said: tuple[str, ...] = (),
        run: Runner,
    ) -> None:
        self.route = route
        self.work = Work()
        self.loops = route.loops if route.loops is not None and route.loops.takes_part else None
        self.gate = (
            Gate(route.access, model=model, agent=agent, work=self.work, declared=tools) if route.access else None
        )
        self.history = history
        self.said = said
        self.reactors = Reactors(route.reactors, run, model=model, work=self.work) if route.reactors else None

    @property
    def blocks(self) -> bool:
        """Whether a rule was written to block. Then a failure must not let anything through."""
        return self.route.access is not None and self.route.access.blocks
