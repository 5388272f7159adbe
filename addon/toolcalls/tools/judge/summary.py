"""The sum over the flows that `toolcalls judge` has read: by dialect, model, agent, reason and kind of defect.

Flows are added one at a time and sums can be added up, so memory follows the number of models, not of flows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from toolcalls.insight.report import visible

_CHANGES = ("changed", "new", "same", "unread")
# Key of the sum → what its column is called, and what is counted.
_KINDS = {
    "dialect": "calls",
    "model": "flows",
    "agent": "flows",
    "reason": "calls",
    "defect": "times",
}
_ROWS = 40  # of a kind that are printed; data has all
_NAME = 60


class Summary:
    """Counts of flows by their change, and of what they hold."""

    def __init__(self) -> None:
        self.changes: Counter[str] = Counter()
        self._count: dict[str, Counter[str]] = defaultdict(Counter)
        self._changed: dict[str, Counter[str]] = defaultdict(Counter)  # what is in flows that have changed

    def add(self, result: Mapping[str, Any]) -> None:
        """Count one compared flow (`judged_flow.compare`)."""
        change = result["change"]
        self.changes[change] += 1
        if change == "unread":
            return
        verdicts = result["verdicts"]
        found: dict[str, Counter[str]] = {
            "dialect": Counter(str(one.get("dialect") or "native") for one in verdicts),
            "model": Counter([result.get("model") or "not named"]),
            "agent": Counter([result.get("agent") or "not named"]),
            "reason": Counter(str(one["reason"]) for one in verdicts if one.get("reason")),
            "defect": Counter(result.get("damage", {})),
        }
        for kind, counts in found.items():
            self._count[kind].update(counts)
            if change == "changed":
                self._changed[kind].update(counts)

    def merge(self, other: "Summary") -> None:
        """Add what another one has counted."""
        self.changes.update(other.changes)
        for mine, theirs in ((self._count, other._count), (self._changed, other._changed)):
            for kind, counts in theirs.items():
                mine[kind].update(counts)

    @property
    def line(self) -> str:
        """`2 changed, 31 same`."""
        counts = (f"{self.changes[word]} {word}" for word in _CHANGES if self.changes[word])
        return ", ".join(counts) or "no replies of an LLM API"

    def data(self) -> dict[str, Any]:
        """{"flows": {change: count}, "dialect": {name: {"count", "changed"}}, …}, the most frequent first."""
        made: dict[str, Any] = {"flows": {word: self.changes[word] for word in _CHANGES}}
        for kind in _KINDS:
            made[kind] = {
                name: {"count": count, "changed": self._changed[kind][name]} for name, count in self._sorted(kind)
            }
        return made

    def table(self) -> Iterator[str]:
        """Lines for people: a block for each kind that occurs. `changed` counts what is in flows that changed."""
        for kind, unit in _KINDS.items():
            rows = self._sorted(kind)
            if not rows:
                continue
            width = max(len(kind), *(min(_NAME, len(visible(name))) for name, _ in rows[:_ROWS]))
            yield f"{kind:{width}}  {unit:>7}  changed"
            for name, count in islice(rows, _ROWS):
                yield f"{visible(name)[:_NAME]:{width}}  {count:7}  {self._changed[kind][name]:7}"
            if len(rows) > _ROWS:
                yield f"and {len(rows) - _ROWS} more"
            yield ""

    def _sorted(self, kind: str) -> list[tuple[str, int]]:
        return sorted(self._count[kind].items(), key=lambda one: (-one[1], one[0]))
