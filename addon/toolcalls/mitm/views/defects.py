"""What is wrong with a native call, in the view: each defect, and below it its place in what was sent.

Of a value that was mended stand what was sent and what the client got of it, one below the other.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from toolcalls.insight.descriptions import defects_beside_reason, describe_defect
from toolcalls.insight.report import visible
from toolcalls.mitm.views.lines import field as named
from toolcalls.mitm.views.lines import literal
from toolcalls.values.spans import place_at

_MOST = 12  # defects of one call
_BEFORE, _BEHIND = 24, 40  # characters of the arguments around a place


def defects(verdict: Mapping[str, Any]) -> Iterator[str]:
    """A line for each defect of a verdict, and where the arguments are kept the place in them, with a mark below it."""
    found = defects_beside_reason(verdict)
    for defect in islice(found, _MOST):
        yield from named("wrong", describe_defect(defect))
        if (both := _mended(verdict, defect)) is not None:
            yield from literal("sent", _place(*both[0]))
            yield from literal("got", _place(*both[1]))
        elif defect["at"] is not None and verdict["arguments"]:
            yield from literal("sent", _place(verdict["arguments"], defect["at"]))
    if len(found) > _MOST:
        yield from named("wrong", f"and {len(found) - _MOST} more")


def _mended(verdict: Mapping[str, Any], defect: Mapping[str, Any]) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """The arguments before and after mending, each with the character at which the value begins that was mended; None
    where it was not.
    """
    changes = [change for change in verdict.get("changes", ()) if change["rule"] == "mend" and change["after"]]
    if not changes or defect["at"] is None:
        return None
    before, after = changes[0]["before"][1], changes[0]["after"][1]
    if defect["code"] == "bad_arguments":  # up to there they are the same
        return (before, defect["at"]), (after, min(defect["at"], len(after)))
    was, now = place_at(before, defect["path"]), place_at(after, defect["path"])
    if was is None or now is None or was[0] != defect["at"] or before[slice(*was)] == after[slice(*now)]:
        return None
    return (before, was[0]), (after, now[0])


def _place(arguments: str, at: int) -> list[str]:
    """The arguments around a character, on one line, and a mark under it."""
    start, end = max(0, at - _BEFORE), at + _BEHIND
    before = ("… " if start else "") + visible(arguments[start:at])
    behind = visible(arguments[at:end]) + (" …" if end < len(arguments) else "")
    return [before + behind, " " * len(before) + "^"]
