"""How often calls went well: counts of outcomes by model, dialect, tool and agent; and how replies came.

Counts go on for all turns, also for those that are no longer kept; each table has a bound on its rows, after which a
name that is new is counted as `(others)`.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from toolcalls.insight.conformance import Conformance
from toolcalls.insight.damage import LIKELY_MEANT
from toolcalls.insight.descriptions import form_without_dialect
from toolcalls.insight.model_totals import Totals
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.entries import Outcome
from toolcalls.insight.vocabulary.words import OUTCOMES

ROWS = 200  # names of one table
OTHERS = "(others)"
NO_DIALECT = "(no dialect)"  # what a person may see a call in, and no dialect reads
_NOT_NAMED, _NOT_READ = "(not named)", "(not read)"
BY = ("model", "dialect", "tool", "agent")


@dataclass(frozen=True, slots=True)
class Row:
    """One name and the number of its calls with each outcome."""

    name: str
    counts: Mapping[Outcome, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def rate(self, *outcomes: Outcome) -> float:
        """The share of calls with one of these outcomes, 0 to 1."""
        return sum(self.counts.get(outcome, 0) for outcome in outcomes) / self.total if self.total else 0.0


class Scorecard:
    """Counts that grow, and shrink again when a turn is replaced."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, Counter[Outcome]]] = {by: {} for by in BY}
        self.conformance = Conformance()
        self.totals = Totals()

    def add(self, turn: Turn, sign: int = 1) -> None:
        """Count a turn's calls; `sign` is -1 to take them back."""
        self.totals.add(turn, sign)
        if turn.is_read:
            self.conformance.add(turn.model, turn.server, turn.damage, sign)
        for verdict in turn.verdicts:
            form = verdict.dialect or form_without_dialect(verdict.reason)
            self._count(turn, form, verdict.name or _NOT_READ, verdict.outcome, sign)
        for one in turn.damage:  # notes; a quoted call has its verdict
            if one.possible and one.code != LIKELY_MEANT:
                self._count(turn, NO_DIALECT, _NOT_READ, "possible", sign)

    def _count(self, turn: Turn, form: str, tool: str, outcome: Outcome, sign: int) -> None:
        names = {"model": turn.model or _NOT_NAMED, "dialect": form, "tool": tool, "agent": turn.agent or _NOT_NAMED}
        for by, name in names.items():
            table = self._counts[by]
            row = table.get(name)
            if row is None:
                row = table.setdefault(name if len(table) < ROWS else OTHERS, Counter())
            row[outcome] += sign

    def rows(self, by: str) -> list[Row]:
        """The rows of one table, the most calls first."""
        made = [
            Row(name, {outcome: row[outcome] for outcome in OUTCOMES if row[outcome] > 0})
            for name, row in self._counts[by].items()
        ]
        return sorted((row for row in made if row.total), key=lambda row: (-row.total, row.name))

    @property
    def total(self) -> Row:
        counts: Counter[Outcome] = Counter()
        for row in self._counts["model"].values():
            counts.update(row)
        return Row("all", {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome] > 0})
