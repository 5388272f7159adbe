"""What every group of the reliability run counts, and the table of it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Row:
    """How one group fared: `n` inputs, of which `survived` broke no invariant.

    `lost` counts inputs of which bytes were lost or altered, `invented` those with a call that nobody wrote, `secrets`
    canaries found in our own output, `hangs` inputs that stalled. `failures` has one line for each input that did not
    survive, naming stream, fault and seed, so that it can be run again.
    """

    group: str
    n: int
    survived: int
    lost: int = 0
    invented: int = 0
    secrets: int = 0
    hangs: int = 0
    failures: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether every counter that must be 0 is 0."""
        return not (self.lost or self.invented or self.secrets or self.hangs)


HEADER = ("group", "N", "survived", "%", "lost/altered", "invented", "secrets", "hangs")


def merged(rows: Iterable[Row]) -> list[Row]:
    """Rows of the same group as one, in the order in which the groups first came."""
    groups: dict[str, Row] = {}
    for row in rows:
        old = groups.get(row.group)
        groups[row.group] = row if old is None else added(old, row)
    return list(groups.values())


def added(one: Row, other: Row) -> Row:
    """Two rows of a group as one."""
    return replace(
        one,
        n=one.n + other.n,
        survived=one.survived + other.survived,
        lost=one.lost + other.lost,
        invented=one.invented + other.invented,
        secrets=one.secrets + other.secrets,
        hangs=one.hangs + other.hangs,
        failures=one.failures + other.failures,
    )


def share(row: Row) -> str:
    """The survivors in percent, never rounded up to 100."""
    if row.n == row.survived:
        return "100" if row.n else "-"
    return f"{int(row.survived / row.n * 1_000_000) / 10_000:.4f}"


def table(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table, which is also how a terminal shows them."""
    lines = [HEADER]
    for row in rows:
        counters = (row.lost, row.invented, row.secrets, row.hangs)
        lines.append((row.group, f"{row.n:,}", f"{row.survived:,}", share(row), *map(str, counters)))
    match_widths = [max(len(line[at]) for line in lines) for at in range(len(HEADER))]

    def drawn(line: Iterable[str]) -> str:
        first, *rest = zip(line, match_widths, strict=True)
        cells = (first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest))
        return f"| {' | '.join(cells)} |"

    ruler = (f"{'-' * (width - 1)}:" if at else "-" * width for at, width in enumerate(match_widths))
    return "\n".join([drawn(lines[0]), drawn(ruler), *map(drawn, lines[1:])])
