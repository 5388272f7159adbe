"""What each model took: exchanges, calls, tokens, and how long its replies took. Counts that grow, and shrink again.

Times are kept as counts in steps of five percent, so that a percentile is known to half a step however many there are.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, log

from toolcalls.insight.conformance import NOT_NAMED, OTHERS, ROWS
from toolcalls.insight.turn import Turn
from toolcalls.values.usage import Tokens

_STEP = log(1.05)
TIMES = ("first byte", "first argument byte", "end")  # of `Turn.marks`
PERCENTILES = (50, 90, 99)


class Durations:
    """Times in seconds, of which percentiles are asked."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.total = 0

    def add(self, seconds: float, sign: int = 1) -> None:
        """Count one; `sign` is -1 to take it back."""
        self._counts[round(log(max(seconds, 1e-6)) / _STEP)] += sign
        self.total += sign

    def percentile(self, percent: float) -> float | None:
        """The time that this share of them did not exceed (nearest rank), to 2.5 percent; None for none at all."""
        if self.total <= 0:
            return None
        wanted, seen = max(1, ceil(self.total * percent / 100)), 0
        for step in sorted(self._counts):
            seen += self._counts[step]
            if seen >= wanted:
                return float(1.05**step)
        return None


@dataclass(slots=True)
class ModelTotals:
    """What one model took. `counted` of its turns say how many tokens; `priceable` is the sum of those that say all.

    cached   of `priceable.input`, so that a price can be put on each part
    """

    turns: int = 0
    calls: int = 0
    counted: int = 0
    complete: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    priceable: Tokens = field(default_factory=lambda: Tokens(input=0, output=0, cached=0))
    times: dict[str, Durations] = field(default_factory=lambda: {name: Durations() for name in TIMES})


class Totals:
    """By model; "" is all of them."""

    def __init__(self) -> None:
        self._models: dict[str, ModelTotals] = {"": ModelTotals()}

    def add(self, turn: Turn, sign: int = 1) -> None:
        """Count a turn; `sign` is -1 to take it back. One whose reply is awaited or coming is not counted yet."""
        if turn.state != "ended":
            return
        name = turn.model or NOT_NAMED
        if name not in self._models and len(self._models) > ROWS:
            name = OTHERS
        for key in (name, ""):
            _count(self._models.setdefault(key, ModelTotals()), turn, sign)

    @property
    def all(self) -> ModelTotals:
        """All models together."""
        return self._models[""]

    def models(self) -> Iterable[tuple[str, ModelTotals]]:
        """Each model with what it took."""
        return [(name, one) for name, one in self._models.items() if name and one.turns > 0]


def _count(one: ModelTotals, turn: Turn, sign: int) -> None:
    tokens = turn.tokens
    one.turns += sign
    one.calls += sign * len(turn.verdicts)
    one.counted += sign * (tokens.input is not None or tokens.output is not None)
    one.input += sign * (tokens.input or 0)
    one.cached += sign * (tokens.cached or 0)
    one.output += sign * (tokens.output or 0)
    if tokens.input is not None and tokens.output is not None:
        was = one.priceable
        one.complete += sign
        one.priceable = Tokens(
            input=(was.input or 0) + sign * tokens.input,
            output=(was.output or 0) + sign * tokens.output,
            cached=(was.cached or 0) + sign * min(tokens.cached or 0, tokens.input),
        )
    if not turn.failed:
        for name, seconds in turn.marks().items():
            if seconds is not None and name in one.times:
                one.times[name].add(seconds, sign)
