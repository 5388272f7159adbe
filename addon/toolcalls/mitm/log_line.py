"""The line of mitmproxy's log about one reply: what became of its calls, what went wrong, why, and what would help.

A reply of which there is nothing to say, as one whose calls all came native and sound, has none.
The words of statuses and reasons come from `insight/vocabulary/`.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from toolcalls.insight import report
from toolcalls.insight.descriptions import (
    defects_beside_reason,
    describe_break,
    describe_briefly,
    describe_changes,
    describe_defect,
    did_you_mean,
    is_changed,
    subject_of,
)
from toolcalls.insight.vocabulary.reasons import with_remedy, with_sentence
from toolcalls.insight.vocabulary.statuses import POSSIBLY_LOST
from toolcalls.insight.vocabulary.words import NOTES

_NAME = 40  # characters of a tool's name
_LONGEST = 400  # characters of a line
_CAUSES = 3  # of one reply
_DEFECTS = 3  # of one call


def log_line(data: Mapping[str, Any]) -> str:
    """What is said of a reply: its summary, and the causes of what went wrong; "" for nothing."""
    if not _is_worth_a_line(data):
        return ""
    told = [report.visible(data["summary"] or report.NO_CALLS), *causes(data)]
    if current := data.get("current"):
        told.append(f"by the current configuration: {report.visible(current['summary'] or report.NO_CALLS)}")
    return " | ".join(told)


def _is_worth_a_line(data: Mapping[str, Any]) -> bool:
    if data["failure"] or data.get("current") or any(note["warns"] for note in data["notes"]):
        return True
    return any(
        one["status"] != "native" or one["reason"] is not None or one["repairs"] or one.get("changes")
        for one in data["verdicts"]
    )


def causes(data: Mapping[str, Any]) -> Iterator[str]:
    """A text for each verdict of a report that has a reason: `Bash, text (invoke) → stays as it is. inline: other text
    stands …`; for each call that the client got changed: `Bash, text (invoke) → native call, changed. fix: command
    changed`; and for each of its notes that warn.

    Nothing of what was said is in it but the tool's name, those of arguments that were changed, and the last characters
    that were understood of a call that can be read no further.
    """
    ill = [verdict for verdict in data["verdicts"] if verdict["reason"] is not None or is_changed(verdict)]
    for verdict in islice(ill, _CAUSES):
        name = report.visible(subject_of(verdict["name"], verdict["reason"])[:_NAME])
        rule = f"{report.visible(str(verdict['rule'])[:_NAME])}, " if verdict.get("rule") else ""
        guess = f"; {report.visible(did_you_mean(verdict))}" if verdict.get("nearest") else ""
        broke = filter(None, (describe_break(verdict),))
        told = "; ".join([*broke, *map(describe_defect, defects_beside_reason(verdict)[:_DEFECTS])])
        where = f" ({report.visible(told)})" if told else ""
        parts = []
        if verdict["reason"] is not None:
            said = (with_sentence if is_changed(verdict) else with_remedy)(str(verdict["reason"]))
            lost = f"{POSSIBLY_LOST}: " if verdict.get("likely_meant") else ""
            parts.append(f"{lost}{rule}{said}{where}{guess}")
        if verdict.get("changes") and (is_changed(verdict) or verdict["reason"] == "unwritable"):
            parts.append(report.visible(describe_changes(verdict)))
        if not parts:
            parts.append(f"put right: {', '.join(verdict['repairs'])}")
        yield f"{name}, {describe_briefly(verdict, data)}. {'. '.join(parts)}"[:_LONGEST]
    if len(ill) > _CAUSES:
        yield f"and {len(ill) - _CAUSES} more"
    warnings = [_warning(str(note["rule"]), str(note["text"])) for note in data["notes"] if note["warns"]]
    yield from (report.visible(line[:_LONGEST]) for line in list(dict.fromkeys(warnings))[:_CAUSES])


def _warning(rule: str, text: str) -> str:
    """A note that warns. What was possibly lost is told with what can be done about it."""
    said = f"{report.visible(rule[:_NAME])}: {text}"
    return f"{POSSIBLY_LOST}: {said}; {NOTES[rule].remedy}" if report.is_possible(rule) else said
