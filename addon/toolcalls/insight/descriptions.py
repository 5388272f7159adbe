"""A verdict in words: what the model did and what the client got. The same in the views, on the page and in the log.

The words are those of the vocabulary. Verdicts are plain data, as `report` makes them, also those of older files.
"""

from collections.abc import Mapping
from typing import Any

from toolcalls.insight.vocabulary.entries import A_CALL, Description, StatusEntry
from toolcalls.insight.vocabulary.statuses import AS_MADE, NOT_GOT
from toolcalls.insight.vocabulary.words import REASONS, STATUSES
from toolcalls.values.conversion import members

_NAME = 80  # characters of a tool's name, or of an argument's
_KEYS = 5  # of one change
_OTHER_DIALECT = "got it as text in another dialect ({})"
_BEGINNING_WITHHELD = "got the beginning of it, which is never completed"
_BEGINNING = "got the beginning of a native call, which is never completed"


def describe(verdict: Mapping[str, Any], report: Mapping[str, Any]) -> tuple[str, str]:
    """What the model did, and what the client got; `report` is the one that holds the verdict."""
    status, dialect, found = _status(verdict), verdict["dialect"], _description(verdict)
    client = found.client.format(dialect=dialect)
    if _is_withheld(verdict):
        client = _BEGINNING_WITHHELD if verdict.get("index") is not None else client
    elif (how := _how_changed(verdict)) and (status.changed or client == AS_MADE):
        client = f"{status.changed or 'got it'}, {how}"
    elif found is status.text and status.code == "lowered" and dialect != report.get("dialect"):
        client = _OTHER_DIALECT.format(report.get("dialect"))
    elif _is_begun(verdict, report):
        client = _BEGINNING
    return found.model.format(dialect=dialect), client


def describe_briefly(verdict: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """The same in a few words: `text (invoke) → native call`."""
    dialect, found = verdict["dialect"], _description(verdict)
    became = STATUSES["truncated"].text.became if _is_begun(verdict, report) else found.became
    form = "text" if dialect is None else f"text ({dialect})"
    if found is _status(verdict).native or (dialect is None and _is_withheld(verdict)):
        form = "native"
    how = _how_changed(verdict)
    return ", ".join(filter(None, [f"{form} → {became.format(dialect=dialect)}", how]))


def is_changed(verdict: Mapping[str, Any]) -> bool:
    """Whether the client got a call that was mended or that processors changed."""
    return bool(_how_changed(verdict))


def _how_changed(verdict: Mapping[str, Any]) -> str:
    """What was done to the call that the client got: `mended`, `changed`, both, or "" for nothing."""
    if _is_withheld(verdict):
        return ""
    status, repairs = _status(verdict), verdict.get("repairs")
    by = {change["rule"] for change in verdict.get("changes", ())}
    # A call that became text has no id, index or place in a frame: only mended arguments are the client's.
    mended = bool(repairs) and ("mend" in by or (verdict["dialect"] is None and status.code != "lowered"))
    changed = bool(by - {"mend"} if mended else by) and bool(status.changed)
    return " and ".join([*["mended"] * mended, *["changed"] * changed])


def describe_changes(verdict: Mapping[str, Any]) -> str:
    """Who changed a call and what of it, without values: `fix: renamed to Run, command changed, n removed`."""
    return "; ".join(f"{change['rule']}: {describe_change(change)}" for change in verdict["changes"])


def describe_change(change: Mapping[str, Any]) -> str:
    """What one processor changed of a call: its name, and its arguments by their keys."""
    (name, arguments), after = change["before"], change["after"]
    if after is None:
        return "not delivered"
    parts = [] if after[0] == name else [f"renamed to {after[0][:_NAME]}"]
    try:
        was, now = dict(members(arguments)), dict(members(after[1]))
    except ValueError:  # it was kept only in part
        return ", ".join([*parts, "arguments changed"])
    for word, keys in (
        ("changed", [key for key in now if key in was and was[key] != now[key]]),
        ("added", [key for key in now if key not in was]),
        ("removed", [key for key in was if key not in now]),
    ):
        shown = [key[:_NAME] for key in keys[:_KEYS]] + ([f"{len(keys) - _KEYS} more"] if len(keys) > _KEYS else [])
        parts += [f"{' and '.join(filter(None, (', '.join(shown[:-1]), shown[-1])))} {word}"] if keys else []
    return ", ".join(parts) or "arguments changed"


def form_without_dialect(reason: str | None) -> str:
    """What is in the place of a dialect where a verdict has none: `native`, or `no call` for what is none."""
    entry = None if reason is None else REASONS.get(reason)
    return "native" if entry is None or entry.subject is A_CALL else "no call"


def subject_of(name: str | None, reason: str | None) -> str:
    """What a verdict is about: the tool's name as the model wrote it, or what stands for it where there is none."""
    entry = None if reason is None else REASONS.get(reason)
    return name if name is not None else (entry.subject if entry else A_CALL).name


def _status(verdict: Mapping[str, Any]) -> StatusEntry:
    """A status that is not known here is a newer version's: nothing can be said but that the reply was left alone."""
    return STATUSES.get(verdict["status"], STATUSES["declined"])


def _is_withheld(verdict: Mapping[str, Any]) -> bool:
    """Whether a processor kept the call from the client, for whatever reason."""
    return verdict["status"] == "blocked" or bool(verdict.get("rule"))


def _is_begun(verdict: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    """Whether the client has the beginning of a native call that became none: text that broke when it had left."""
    status = _status(verdict)
    left = verdict.get("index") is not None and report.get("kind") == "lift" and not _is_withheld(verdict)
    return left and _description(verdict) is status.text and status.code in {"declined", "truncated", "malformed"}


def _description(verdict: Mapping[str, Any]) -> Description:
    reason = REASONS.get(verdict["reason"] or "")
    if reason is not None and reason.subject.description is not None:
        return reason.subject.description
    status = _status(verdict)
    if _is_withheld(verdict) and status.code != "blocked":
        made = status.native if verdict["dialect"] is None else status.text
        return Description(made.model, NOT_GOT, STATUSES["blocked"].native.became)
    lowered = status.code == "lowered" and not verdict["end"]
    return status.native if verdict["dialect"] is None or lowered else status.text


def did_you_mean(verdict: Mapping[str, Any]) -> str:
    """A question that names the declared tools closest to an undeclared name; "" where none is close."""
    nearest = [f"`{name[:_NAME]}`" for name in verdict.get("nearest", ())]
    return f"did you mean {' or '.join(nearest)}?" if nearest else ""


def describe_break(verdict: Mapping[str, Any]) -> str:
    """Where text stops being a call: `line 3, column 14, after '"limit": '`; "" where nothing is known of that."""
    place = verdict.get("broke")
    if not place:
        return ""
    after = f", after {place['after']!r}" if place["after"] else ""
    return f"line {place['line']}, column {place['column']}{after}"


def defects_beside_reason(verdict: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The defects of a verdict of which there is more to say than its reason does."""
    return [one for one in verdict.get("defects", ()) if describe_defect(one) != verdict["reason"]]


def describe_defect(defect: Mapping[str, Any]) -> str:
    """What is wrong with a native call, and where: `wrong_type at /edits, wanted array, got string`."""
    place = f" at {defect['path'][:_NAME]}" if defect["path"] else ""
    if defect["code"] == "misspelt_name" and defect["wanted"]:
        return f"misspelt_name, the request declares {defect['wanted'][:_NAME]}"
    wanted = f", wanted {defect['wanted']}" if defect["wanted"] else ""
    got = f", got {defect['got']}" if defect["got"] else ""
    return f"{defect['code']}{place}{wanted}{got}"
