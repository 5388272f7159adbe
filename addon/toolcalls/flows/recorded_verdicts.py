"""The verdicts of a recording, and what the current configuration says beside them.

Only the report that was written when a reply passed says what its client got: rules may have changed since. So that
report stays. These keys of a report tell whose its verdicts are:

current    the current configuration gives other verdicts: {"summary", "worst", "failure", "verdicts"}. Each verdict
           has `differs`, the keys in which it differs from the one in the same place, and no arguments
judged     the verdicts are not those of when the reply passed; a few words say where they come from
recorded   beside `judged`: the report of when the reply passed, where there is one

Reports come from files, so their types are checked.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from toolcalls.insight.report import summarize, worst

# What makes a verdict another one. Ids are digests of the request, and follow from the rest.
COMPARED = ("status", "reason", "rule", "dialect", "name", "start", "end", "repairs", "lane", "index", "arguments")

_OPTIONAL_TEXT = (str, type(None))
_VERDICT = {
    "status": str,
    "reason": _OPTIONAL_TEXT,
    "dialect": _OPTIONAL_TEXT,
    "name": _OPTIONAL_TEXT,
    "start": int,
    "end": int,
    "repairs": list,
    "lane": int,
    "index": (int, type(None)),
    "id": _OPTIONAL_TEXT,
    "arguments": _OPTIONAL_TEXT,
}
_NOTE = {"rule": str, "text": str, "warns": bool}
_REPORT = {
    **dict.fromkeys(("wire", "route", "kind", "client", "upstream", "policy", "model", "summary"), str),
    **dict.fromkeys(("dialect", "failure", "worst"), _OPTIONAL_TEXT),
    **dict.fromkeys(("evidence", "verdicts", "notes"), list),
    "guarded": bool,
}
_ADDED = {"notes": [], "guarded": False}  # that older versions did not write
_OWN = ("current", "judged", "recorded")


def as_recorded(report: object) -> dict[str, Any] | None:
    """The report of when the reply passed, from the one that a flow holds. None where there is none."""
    if not isinstance(report, dict):
        return None
    found = report.get("recorded") if report.get("judged") else report
    if not isinstance(found, dict) or found.get("judged"):
        return None
    whole = {**_ADDED, **_without_own(found)}
    return whole if _is_report(whole) else None


def same_verdicts(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two reports say the same of each call."""
    return _compared(before) == _compared(now) and bool(before.get("failure")) == bool(now.get("failure"))


def beside(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a recording, with what the current configuration says (`now`) where that is something else.

    Places in the text do not count: those of a recording without secrets have moved.
    """
    made = _without_own(recorded)
    pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = list(
        zip_longest(recorded["verdicts"], now["verdicts"], fillvalue={})
    )
    differences = [[key for key in COMPARED if old.get(key) != new.get(key)] for old, new in pairs]
    if any(set(keys) - {"start", "end"} for keys in differences) or bool(recorded["failure"]) != bool(now["failure"]):
        verdicts = [
            {**{key: new.get(key) for key in COMPARED if key != "arguments"}, "differs": differs}
            for (_, new), differs in zip(pairs, differences, strict=True)
            if new
        ]
        made["current"] = {**{key: now[key] for key in ("summary", "worst", "failure")}, "verdicts": verdicts}
    return made


def judged(now: Mapping[str, Any], how: str, before: object) -> dict[str, Any]:
    """The report of now in the place of the one that a flow holds (`before`), of which the recorded one is kept."""
    made = {**_without_own(now), "judged": how}
    recorded = as_recorded(before)
    return made if recorded is None else {**made, "recorded": recorded}


def joined(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The report of a connection: that of the latest reply, with the verdicts and notes of all. `reports` has one."""
    made = _together(reports)
    if how := next((one["judged"] for one in reversed(reports) if one.get("judged")), None):
        made["judged"] = how
    if any(isinstance(one.get("current"), dict) for one in reports):
        current = _together([{**one, **_current(one)} for one in reports])
        made["current"] = {key: current[key] for key in ("summary", "worst", "failure", "verdicts")}
    return made


def _together(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    made = {
        **{key: value for key, value in _without_own(reports[-1]).items() if key != "number"},
        "verdicts": [verdict for one in reports for verdict in one.get("verdicts", ())],
        "notes": [note for one in reports for note in one.get("notes", ())],
        "failure": next((one["failure"] for one in reports if one.get("failure")), None),
    }
    return {**made, "worst": worst(made), "summary": summarize(made)}


def _current(report: Mapping[str, Any]) -> dict[str, Any]:
    found = report.get("current")
    return found if isinstance(found, dict) else {}


def _without_own(report: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key not in _OWN}


def _compared(report: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(one.get(key) for key in COMPARED) for one in report.get("verdicts", ())]


def _is_report(report: Mapping[str, Any]) -> bool:
    """Whether everything that is shown of a report has the right type."""
    return (
        _has(report, _REPORT)
        and all(isinstance(one, str) for one in report["evidence"])
        and all(_has(one, _VERDICT) for one in report["verdicts"])
        and all(_has(one, _NOTE) for one in report["notes"])
    )


def _has(value: object, kinds: Mapping[str, Any]) -> bool:
    return isinstance(value, dict) and all(key in value and isinstance(value[key], kinds[key]) for key in kinds)
