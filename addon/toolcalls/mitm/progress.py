"""What a reply does at the moment, for the list of flows; and what went wrong in it, for the log."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from toolcalls.insight import report
from toolcalls.insight.descriptions import describe_briefly, subject_of
from toolcalls.insight.vocabulary.reasons import with_sentence
from toolcalls.replies.exchange import Exchange

_NAME = 40  # characters of a tool's name
_LONGEST = 400  # characters of a line
_LINES = 5  # of one reply in the log
# A call that is coming, and one that has come whole and waits for its verdict.
_DOING = {"lift": ("lifting", "lifted"), "roundtrip": ("reading", "read"), "lower": ("lowering", "lowering")}


def progress_of(exchange: Exchange) -> str:
    """What a reply does at the moment: `lifted Bash (invoke) · … lifting write_file (invoke)`; "" for nothing yet."""
    data: dict[str, Any] = report.make_report(exchange)
    parts = [str(data["summary"])] if data["summary"] else []
    judged = {(lane, verdict.index) for lane, verdict in exchange.verdicts}
    for lane, record in exchange.client_calls[-1:]:
        if (lane, record.index) not in judged:
            name = report.visible(record.name[:_NAME]) + ("…" if len(record.name) > _NAME else "")
            kind = exchange.decision.kind
            native = record.dialect is None and kind in {"lift", "process", "observe"}
            doing = "native" if native else _DOING.get(kind, ("seeing", "saw"))[record.complete]
            parts.append(f"… {doing} {name}" + (f" ({record.dialect})" if record.dialect else ""))
    return " · ".join(parts)


def log_lines(verdicts: Sequence[Mapping[str, Any]], notes: Sequence[Mapping[str, Any]] = ()) -> Iterator[str]:
    """A line for each verdict that has a reason: `Bash, text (invoke) → stays as it is. inline: other text stands …`;
    and for each of the `notes` that warn.

    Nothing of what was said is in it but the tool's name.
    """
    ill = [verdict for verdict in verdicts if verdict["reason"] is not None]
    for verdict in islice(ill, _LINES):
        name = report.visible(subject_of(verdict["name"], verdict["reason"])[:_NAME])
        rule = f"{report.visible(str(verdict['rule'])[:_NAME])}, " if verdict.get("rule") else ""
        yield f"{name}, {describe_briefly(verdict)}. {rule}{with_sentence(str(verdict['reason']))}"
    if len(ill) > _LINES:
        yield f"and {len(ill) - _LINES} more"
    warnings = [f"{report.visible(str(note['rule'])[:_NAME])}: {note['text']}" for note in notes if note["warns"]]
    yield from (report.visible(line[:_LONGEST]) for line in list(dict.fromkeys(warnings))[:_LINES])
