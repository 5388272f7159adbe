"""How replies came, by model and server: how many there were, how many with each kind of damage, how many were mended.

This is what people count by hand of a provider. Counts go on for all turns, as those of the scorecard do, and the
number of rows is bounded in the same way.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as member

from toolcalls.insight.damage import Damage

ROWS = 200  # models and servers
OTHERS = "(others)"
NOT_NAMED = "(not named)"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of damage of one model on one server. `turns` replies had it, `count` times in all."""

    code: str
    turns: int
    count: int
    mended: int

    @property
    def possible(self) -> bool:
        """Whether a call may have been lost, and nothing is certain."""
        return Damage(self.code, self.count, self.mended).possible


@dataclass(frozen=True, slots=True)
class Row:
    """One model on one server. `sound` of its replies had no damage, though some of these may have lost a call."""

    model: str
    server: str
    turns: int
    sound: int
    kinds: tuple[Kind, ...]

    def rate(self, code: str) -> float:
        """The share of replies with this kind, 0 to 1."""
        return next((kind.turns / self.turns for kind in self.kinds if kind.code == code), 0.0)


@dataclass(slots=True)
class _Counts:
    turns: int = 0
    sound: int = 0
    with_kind: Counter[str] = member(default_factory=Counter)
    times: Counter[str] = member(default_factory=Counter)
    mended: Counter[str] = member(default_factory=Counter)


class Conformance:
    """Counts that grow, and shrink again when a turn is replaced."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _Counts] = {}

    def add(self, model: str, server: str, damage: tuple[Damage, ...], sign: int = 1) -> None:
        """Count one reply that has ended; `sign` is -1 to take it back."""
        key = (model or NOT_NAMED, server or NOT_NAMED)
        if key not in self._counts and len(self._counts) >= ROWS:
            key = (OTHERS, OTHERS)
        counts = self._counts.setdefault(key, _Counts())
        counts.turns += sign
        counts.sound += sign * all(one.possible for one in damage)
        for one in damage:
            counts.with_kind[one.code] += sign
            counts.times[one.code] += sign * one.count
            counts.mended[one.code] += sign * one.mended

    def rows(self) -> list[Row]:
        """All rows, those with the most replies first; the kinds of each, the most frequent first."""
        made = [
            Row(model, server, counts.turns, counts.sound, _kinds(counts))
            for (model, server), counts in self._counts.items()
            if counts.turns > 0
        ]
        return sorted(made, key=lambda row: (-row.turns, row.model, row.server))


def _kinds(counts: _Counts) -> tuple[Kind, ...]:
    found: Mapping[str, int] = counts.with_kind
    codes = sorted((code for code, turns in found.items() if turns > 0), key=lambda code: (-found[code], code))
    return tuple(Kind(code, found[code], counts.times[code], counts.mended[code]) for code in codes)
