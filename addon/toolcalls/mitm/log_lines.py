"""The lines of mitmproxy's log about one reply: what went wrong in it, and why.

The words of statuses and reasons come from `insight/vocabulary/`.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from toolcalls.insight import report
from toolcalls.insight.descriptions import (
    defects_beside_reason,
    describe_briefly,
    describe_changes,
    describe_defect,
    did_you_mean,
    is_changed,
    subject_of,
)
from toolcalls.insight.vocabulary.reasons import with_remedy, with_sentence

_NAME = 40  # characters of a tool's name
_LONGEST = 400  # characters of a line
_LINES = 5  # of one reply
_DEFECTS = 3  # of one call


def log_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """A line for each verdict of a report that has a reason: `Bash, text (invoke) → stays as it is. inline: other text
    stands …`; for each call that the client got changed: `Bash, text (invoke) → native call, changed. fix: command
    changed`; and for each of its notes that warn.

    Nothing of what was said is in it but the tool's name and those of arguments that were changed.
    """
    ill = [verdict for verdict in data["verdicts"] if verdict["reason"] is not None or is_changed(verdict)]
    for verdict in islice(ill, _LINES):
        name = report.visible(subject_of(verdict["name"], verdict["reason"])[:_NAME])
        rule = f"{report.visible(str(verdict['rule'])[:_NAME])}, " if verdict.get("rule") else ""
        guess = f"; {report.visible(did_you_mean(verdict))}" if verdict.get("nearest") else ""
        told = "; ".join(map(describe_defect, defects_beside_reason(verdict)[:_DEFECTS]))
        where = f" ({report.visible(told)})" if told else ""
        parts = []
        if verdict["reason"] is not None:
            said = (with_sentence if is_changed(verdict) else with_remedy)(str(verdict["reason"]))
            parts.append(f"{rule}{said}{where}{guess}")
        if verdict.get("changes") and (is_changed(verdict) or verdict["reason"] == "unwritable"):
            parts.append(report.visible(describe_changes(verdict)))
        yield f"{name}, {describe_briefly(verdict, data)}. {'. '.join(parts)}"[:_LONGEST]
    if len(ill) > _LINES:
        yield f"and {len(ill) - _LINES} more"
    warnings = [
        f"{report.visible(str(note['rule'])[:_NAME])}: {note['text']}" for note in data["notes"] if note["warns"]
    ]
    yield from (report.visible(line[:_LONGEST]) for line in list(dict.fromkeys(warnings))[:_LINES])
