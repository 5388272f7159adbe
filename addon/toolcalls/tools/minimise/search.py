"""Which atoms of a list can go: delta debugging by lithium, Mozilla's reducer, within a limit of time.

Lithium removes chunks of the list, halving their size, as long as what is left shows it.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolcalls.streams import BadInput

WORDS = re.compile(r"\w+|\s+|[^\w\s]")  # the atoms of a text, where they are no characters
ROUNDS = 20  # in which all of an example is tried again, as long as something goes


@dataclass
class Clock:
    """How long it may take, and how often an example was read. `seen` is called after each reading."""

    seconds: float
    seen: Callable[["Clock"], None] = lambda _: None
    readings: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def passed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.passed > self.seconds

    def counting[Example](self, shows: Callable[[Example], bool]) -> Callable[[Example], bool]:
        """The same question, asked once of each example, counted, and answered with no when the time is up: then
        everything stays as it is.
        """
        known: dict[str, bool] = {}  # by what an example says; schemas have no hash

        def counted(example: Example) -> bool:
            if self.over:
                return False
            said = repr(example)
            if said not in known:
                self.readings += 1
                known[said] = shows(example)
                self.seen(self)
            return known[said]

        return counted


def fewer[Atom](atoms: Sequence[Atom], shows: Callable[[Sequence[Atom]], bool], clock: Clock) -> list[Atom]:
    """The atoms without those that can go. Raises BadInput where lithium is not installed."""
    try:
        from lithium.strategies import Minimize
        from lithium.testcases import TestcaseLine
    except ImportError as error:
        raise BadInput(
            "this needs lithium-reducer, a tool for delta debugging; install it with "
            "`pip install 'mitmproxy-toolcalls[minimise]'` or `pip install lithium-reducer`"
        ) from error
    if not atoms or shows([]):
        return []
    testcase = TestcaseLine()
    testcase.parts = [str(number).encode() for number in range(len(atoms))]  # atoms are handed over by their numbers
    testcase.reducible = [True] * len(atoms)
    attempts: Any = Minimize().reduce(testcase)  # it is typed as a plain iterator
    for attempt in attempts:
        attempts.feedback(shows([atoms[int(part)] for part in attempt.parts]))
        if clock.over:
            break
    return [atoms[int(part)] for part in attempts.testcase.parts]
