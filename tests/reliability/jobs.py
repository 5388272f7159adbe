"""How a group counts: inputs are tried one by one, and each breach becomes a line that says how to have it again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from reliability import leftovers
from reliability.invariants import Breach
from reliability.rows import Row

_MOST_LINES = 200  # a fault that strikes everywhere need not be told a million times
_LONG = 700  # characters of one line


@dataclass(frozen=True)
class Job:
    """A part of a group that a process of its own can do. `run` and `arguments` can be pickled."""

    run: Callable[..., Row | list[Row]]
    arguments: tuple[Any, ...]

    def __call__(self) -> list[Row]:
        """Do it."""
        done = self.run(*self.arguments)
        return done if isinstance(done, list) else [done]


def serially(jobs: Iterable[Job]) -> Iterator[Row]:
    """All rows of these jobs, one after the other."""
    for job in jobs:
        yield from job()


@dataclass
class Tally:
    """Counts the inputs of one group, and looks after each whether it has left anything after (I8)."""

    group: str
    n: int = 0
    survived: int = 0
    counted: dict[str, int] = field(default_factory=lambda: {"lost": 0, "invented": 0, "secret": 0, "hang": 0})
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        leftovers.LOOKOUT.changes()  # what was before is not its inputs'

    def count(self, name: str, breaches: Iterable[Breach]) -> None:
        """One input, and what it broke. An input counts once in each counter, however often it broke it."""
        self.n += 1
        found = list(breaches)  # here it is tried
        found += [Breach("failed", f"I8 left behind: {one}") for one in leftovers.LOOKOUT.changes()]
        if not found:
            self.survived += 1
            return
        for kind in {breach.kind for breach in found} & self.counted.keys():
            self.counted[kind] += 1
        if len(self.failures) < _MOST_LINES:
            told = "; ".join(dict.fromkeys(breach.text for breach in found))
            line = " ".join(f"{name}: {told}".split("\n"))
            self.failures.append(line if len(line) <= _LONG else f"{line[:_LONG]}…")

    @property
    def row(self) -> Row:
        """What was counted."""
        return Row(
            self.group,
            self.n,
            self.survived,
            lost=self.counted["lost"],
            invented=self.counted["invented"],
            secrets=self.counted["secret"],
            hangs=self.counted["hang"],
            failures=tuple(self.failures),
        )


def parts(count: int, size: int) -> Sequence[tuple[int, int]]:
    """`count` things in parts of at most `size`: the first of each, and the one after its last."""
    return [(start, min(count, start + size)) for start in range(0, count, size)]
