"""What the commands answer, as tables: rows of cells, which mitmproxy's console shows in a box.

mitmweb shows an answer as JSON on one line, so there a row is one sentence with the essentials
(`conditions_in_sentences`). On a narrow screen a row is a line, too. A cell shows the beginning of what a model wrote,
with hidden characters as escapes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mitmproxy import flow, http

from toolcalls.insight.conformance import Conformance
from toolcalls.insight.damage import damage_of
from toolcalls.insight.descriptions import form_without_dialect
from toolcalls.insight.formatting import counted, percent
from toolcalls.insight.redaction import redacted_text
from toolcalls.insight.report import visible
from toolcalls.insight.turn import server_of
from toolcalls.insight.vocabulary.statuses import POSSIBLY_LOST, SEVERITY
from toolcalls.mitm.conditions import Candidate
from toolcalls.mitm.views.message import report_of
from toolcalls.shapes import Call

type Table = list[list[str]]

_CELL = 200  # characters of a cell that a model wrote


def conditions_table(candidates: Sequence[Candidate]) -> Table:
    """Each candidate with its verdict, and its conditions."""
    rows = [row for number, candidate in enumerate(candidates, 1) for row in _candidate(number, candidate)]
    return _even(rows or [["", "no call in text", "nothing in this reply begins as a call does in any dialect"]])


def conditions_in_sentences(candidates: Sequence[Candidate]) -> Table:
    """Each candidate in one sentence: its verdict, and the conditions that it fails."""
    rows = []
    for number, candidate in enumerate(candidates, 1):
        verdict = candidate.verdict
        name = "a call" if verdict.name is None else cell(verdict.name)
        failed = [f"{one.words}: no, {cell(one.said)}" for one in candidate.conditions if one.met is False]
        why = "; ".join(failed) or "all conditions are met"
        rows.append([f"{number}. {name} ({verdict.dialect}) {_outcome(candidate)}. {why}"])
    return rows or [["no call in text: nothing in this reply begins as a call does in any dialect"]]


def in_lines(table: Table) -> Table:
    """A table with a head as one sentence for each row: `m, invoke: lifted 2, declined 1`."""
    head, *rows = table
    made = []
    for row in rows:
        names = [one for one in row[:2] if one and not one.isdigit()]
        counts = [f"{word} {count}" for word, count in zip(head[2:], row[2:], strict=True) if word and count]
        if not counts and row[1] and not row[1].isdigit():
            names, counts = [row[0]], [row[1]]
        alone = [row[1]] if row[1].isdigit() else []
        made.append([f"{', '.join(names)}: {', '.join(counts or alone)}"])
    return made


def in_a_column(table: Table) -> Table:
    """A `conditions_table` with a line for each row, for a screen that is too narrow for its columns."""
    return [[f"{number}. {what}: {said}" if number else f"   {what}: {said}"] for number, what, said in table]


def outcome_counts(reports: Iterable[tuple[str, Mapping[str, Any]]]) -> Table:
    """How many calls had which outcome: by model and dialect, and by reason; and how many replies of each model on each
    server came with which damage. Each report has its server before it.
    """
    conformance = Conformance()
    counts: dict[tuple[str, str], Counter[str]] = {}
    reasons: Counter[str] = Counter()
    read = 0
    for server, data in reports:
        read += 1
        model = redacted_text(str(data["model"]))
        conformance.add(model, server, damage_of(data, waits=data.get("client") != "text"))
        for verdict in data["verdicts"]:
            form = verdict["dialect"] or f"({form_without_dialect(verdict['reason'])})"
            who = str(data["model"]) or "no model", str(form)
            for key in (who, ("all", "")):
                found = counts.setdefault(key, Counter())
                found[str(verdict["status"])] += 1
                found["repaired"] += bool(verdict["repairs"])
            if verdict["reason"] is not None:
                reasons[f"{verdict['status']}: {verdict['reason']}"] += 1
    columns = [status for status in (*SEVERITY, "repaired") if any(one[status] for one in counts.values())]
    rows = [["model", "dialect", *columns]]
    for model, dialect in sorted(counts, key=lambda key: (key == ("all", ""), key)):
        found = counts[model, dialect]
        rows.append([cell(model), cell(dialect), *(str(found[status] or "") for status in columns)])
    rows += [[cell(reason), str(count)] for reason, count in reasons.most_common()]
    rows += [[cell(what), said] for what, said in damage_lines(conformance)]
    return _even([*rows, ["replies read", str(read)]])


def damage_lines(found: Conformance) -> Iterator[tuple[str, str]]:
    """Each kind of damage of each model on its server: `empty, kimi at host`, `30% (3 of 10 replies), 0 mended`."""
    for row in found.rows():
        for kind in row.kinds:
            times = f", {kind.count} times" if kind.count > kind.turns else ""
            share = f"{percent(row.rate(kind.code))} ({kind.turns} of {counted(row.turns, 'reply')})"
            yield (
                f"{kind.code}, {row.model} at {row.server}",
                f"{share}{times}, {POSSIBLY_LOST if kind.possible else f'{kind.mended} mended'}",
            )


def _candidate(number: int, candidate: Candidate) -> Iterator[list[str]]:
    verdict = candidate.verdict
    name = "a call" if verdict.name is None else cell(verdict.name)
    yield [str(number), f"{name} ({verdict.dialect})", _outcome(candidate)]
    where = f"characters {verdict.start} to {verdict.end}"
    yield ["", where, cell(next(iter(candidate.text.strip().splitlines()), ""))]
    for condition in candidate.conditions:
        met = {True: "met", False: "FAILED", None: "not asked"}[condition.met]
        label = f"{condition.number}  " if condition.number is not None else "+  "
        yield ["", f"{label}{condition.words}", f"{met}{': ' if condition.said else ''}{cell(condition.said)}"]


def _outcome(candidate: Candidate) -> str:
    verdict = candidate.verdict
    return f"{verdict.status}: {verdict.reason}" if verdict.reason else verdict.status


def calls_of(one: flow.Flow) -> Iterator[Call]:
    """The calls that a reply made, in the order of the flow view."""
    for _, data in reports_by_server([one]):
        for verdict in data["verdicts"]:
            if verdict["arguments"] is not None:
                yield Call(str(verdict["name"]), str(verdict["arguments"]))


def reports_by_server(flows: Iterable[flow.Flow]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The reports of those flows that have one, also of replies that are coming, each behind its server."""
    for one in flows:
        data = report_of(one) if isinstance(one, http.HTTPFlow) else None
        if data is not None and isinstance(one, http.HTTPFlow):
            yield server_of(one.request.pretty_host, one.request.port), dict(data)


def cell(text: str) -> str:
    """Text of a model or a server, fit to be shown."""
    return visible(text if len(text) <= _CELL else f"{text[:_CELL]}…")


def _even(rows: Table) -> Table:
    """Rows that are all as long as the longest, as mitmproxy wants them."""
    width = max(map(len, rows))
    return [[*row, *[""] * (width - len(row))] for row in rows]
