"""What a reply came with that costs its client a call, by kind: each defect of a call, each note about the reply
as a whole, each call that the model wrote as text. How often, and how often it was mended.

It reads what verdicts and notes say, so a kind that comes with a new reason or note is counted without a line here.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcalls.insight.vocabulary.words import NOTES, REASONS, STATUSES
from toolcalls.mending.mended import defect_of

IN_TEXT = "call_in_text"
LIKELY_MEANT = "likely_meant"
_IN_TEXT_SENTENCE = "the model wrote a call as text, for a client that waits for native calls"
_WITHDRAWN = "empty_beside_text"  # mended where the client did not get the empty one (`blocked`)
_DAMAGED = frozenset({"malformed", "truncated"})  # statuses of a native call that did not come as one


@dataclass(frozen=True, slots=True)
class Damage:
    """One kind: how often it came, and how many of these were mended."""

    code: str
    count: int
    mended: int

    @property
    def possible(self) -> bool:
        """Whether a call may have been lost, and nothing is certain."""
        entry = NOTES.get(self.code)
        return entry is not None and entry.possible


def damage_of(report: Mapping[str, Any], *, waits: bool) -> tuple[Damage, ...]:
    """The damage of one reply, the kinds in the order in which they are first said.

    waits   the client waits for native calls
    """
    counts: Counter[str] = Counter()
    mended: Counter[str] = Counter()
    for verdict in report.get("verdicts", ()):
        if NOTES.keys() & set(verdict.get("repairs", ())):
            continue  # a note says where it stood
        if verdict["dialect"] is not None:
            if waits and verdict.get(LIKELY_MEANT):
                counts[LIKELY_MEANT] += 1
            elif waits and (verdict["status"] == "lifted" or _is_leak(verdict)):
                counts[IN_TEXT] += 1
                mended[IN_TEXT] += verdict["status"] == "lifted"
            if verdict["status"] != "lifted":
                continue
        repaired = {*map(defect_of, verdict.get("repairs", ()))}
        if verdict["status"] == "blocked" and verdict["reason"] == _WITHDRAWN:
            repaired.add(_WITHDRAWN)
        for code in _codes(verdict):
            counts[code] += 1
            mended[code] += code in repaired
    for note in report.get("notes", ()):
        if note["rule"] in NOTES:
            counts[note["rule"]] += 1
            mended[note["rule"]] += bool(note.get("mended"))
    return tuple(Damage(code, count, mended[code]) for code, count in counts.items())


def sentence_of(code: str) -> str:
    """What a kind means, as a sentence goes on; "" for one of a newer version."""
    entry = REASONS.get(code) or NOTES.get(code)
    return entry.sentence if entry is not None else _IN_TEXT_SENTENCE if code == IN_TEXT else ""


def _codes(verdict: Mapping[str, Any]) -> list[str]:
    """What is wrong with a native call. One kind counts once in a call, in however many places it stands."""
    codes = [str(defect["code"]) for defect in verdict.get("defects", ()) if defect["code"] in REASONS]
    stands_alone = verdict["status"] in _DAMAGED or verdict["reason"] == _WITHDRAWN
    if not codes and stands_alone and verdict["reason"] in REASONS:
        codes = [str(verdict["reason"])]
    return list(dict.fromkeys(codes))


def _is_leak(verdict: Mapping[str, Any]) -> bool:
    status, reason = STATUSES.get(verdict["status"]), REASONS.get(verdict["reason"] or "")
    if status is None:
        return False
    outcome = status.outcome if reason is None else reason.outcomes.get(status.code, status.outcome)
    return outcome == "leak"
