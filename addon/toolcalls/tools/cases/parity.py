"""How a parser's answers compare with what the cases expect, counted by dialect.

Calls are compared by name and by the values of their arguments: white space and the order of members do not count. Text
is compared without the white space around it, of which engines keep more or less.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolcalls.flows.cases.dialect_cases import DialectCase
from toolcalls.insight.report import visible

_SHOWN = 120  # characters of a difference, on each side


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case. `has_calls`: calls are expected. `difference` is "" where nothing differs.

    answered   there was an answer to compare; else `skipped` (the parser does not read the dialect), or it failed
    """

    has_calls: bool
    answered: bool
    skipped: bool
    calls_right: bool
    text_right: bool
    difference: str


def compared(case: DialectCase, answer: Mapping[str, Any]) -> Outcome:
    """An answer beside its case. One that cannot be understood counts as a failure."""
    has_calls = bool(case.calls)
    if "skipped" in answer:
        return Outcome(has_calls, False, True, False, False, "")
    if "error" in answer:
        return Outcome(has_calls, False, False, False, False, f"failed: {answer['error']}")
    wanted = [(name, _values(arguments)) for name, arguments, _ in case.calls]
    try:
        got = [(str(call["name"]), _values(call["arguments"])) for call in answer["calls"]]
        text = str(answer.get("text") or "")
    except (KeyError, TypeError) as error:
        return Outcome(has_calls, False, False, False, False, f"failed: no answer by the schema ({error!r})")
    calls_right, text_right = wanted == got, case.shown.strip() == text.strip()
    difference = ""
    if not calls_right:
        difference = f"calls: expected {_calls(wanted)}, got {_calls(got)}"
    elif not text_right:
        difference = f"text: expected {case.shown[:_SHOWN]!r}, got {text[:_SHOWN]!r}"
    return Outcome(has_calls, True, False, calls_right, text_right, difference)


def _values(arguments: object) -> str:
    """Arguments in one spelling; those that are no JSON are what they are."""
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        return f"no JSON: {arguments}"


def _calls(calls: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {arguments}" for name, arguments in calls)[:_SHOWN] or "none"


@dataclass(slots=True)
class _Row:
    """Counts of one dialect."""

    cases: int = 0
    right: int = 0
    with_calls: int = 0
    calls_found: int = 0
    without_calls: int = 0
    left_alone: int = 0
    text_right: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, one: Outcome) -> None:
        self.cases += 1
        self.skipped += one.skipped
        if one.skipped:
            return
        self.right += not one.difference
        self.failed += not one.answered
        self.text_right += one.text_right
        if one.has_calls:
            self.with_calls += 1
            self.calls_found += one.calls_right
        else:
            self.without_calls += 1
            self.left_alone += one.calls_right

    def data(self) -> dict[str, int]:
        return {key: getattr(self, key) for key in self.__slots__}


class Parity:
    """The table: a row for each dialect that the parser reads, and the sum."""

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}
        self._sum = _Row()

    @property
    def all_right(self) -> bool:
        """Whether each case that was not skipped came out as expected."""
        return self._sum.right == self._sum.cases - self._sum.skipped

    def add(self, dialect: str, outcome: Outcome) -> None:
        self._rows.setdefault(dialect, _Row()).add(outcome)
        self._sum.add(outcome)

    def data(self) -> dict[str, dict[str, int]]:
        """Counts by dialect, and their sum as `*`."""
        return {name: row.data() for name, row in [*self._rows.items(), ("*", self._sum)]}

    def table(self) -> Iterator[str]:
        """Lines for people. A dialect whose cases were all skipped has no row."""
        shown = {name: row for name, row in self._rows.items() if row.skipped < row.cases}
        width = max(map(len, [*shown, "dialect"]))
        yield f"{'dialect':{width}}  {'right':>9}  {'calls':>9}  {'no calls':>9}  {'text':>9}  failed"
        for name, row in [*shown.items(), ("all", self._sum)]:
            asked = row.cases - row.skipped
            columns = (
                (row.right, asked),
                (row.calls_found, row.with_calls),
                (row.left_alone, row.without_calls),
                (row.text_right, asked),
            )
            counts = "  ".join(f"{f'{got}/{of}':>9}" for got, of in columns)
            yield f"{visible(name):{width}}  {counts}  {row.failed:6}"
        if self._sum.skipped:
            rest = len(self._rows) - len(shown)
            yield f"{self._sum.skipped} cases were skipped" + (f", among them all of {rest} dialects" if rest else "")
