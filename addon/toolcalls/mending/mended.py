"""What was wrong with a call that was mended: its verdict says so as it would of one that stayed as it was."""

from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec

from toolcalls.events import Defect, Reason, Repair, Verdict

# What arguments that are no JSON are repaired of.
NOT_JSON: tuple[Repair, ...] = (
    "single_quotes", "raw_newline", "invalid_escape", "trailing_comma", "doubled_separator", "python_literal",
    "comment", "number", "bare_key", "surplus_bracket", "escaped_line_end", "backticks", "doubled_braces",
)  # fmt: skip

# Repairs that have another name than the defect; most bear the same.
_OF_REPAIR: Mapping[Repair, Reason] = {
    "shared_index": "glued_calls",
    "string_arguments": "double_encoded",
    "name": "misspelt_name",
    **dict.fromkeys(NOT_JSON, "bad_arguments"),
}
_MOST = 16  # places of one call that are said
_REASONS: Mapping[str, Reason] = {code: code for code in get_args(Reason)}


def with_mended(verdict: Verdict, repairs: Sequence[Repair], places: Sequence[Defect] = ()) -> Verdict:
    """A verdict with the defects that these repairs mended in front of those that are left.

    places   the mended ones of which more is known than what they are

    A call that became text has neither an id nor an index, so nothing of these was wrong for its client.
    """
    if verdict.status == "lowered":
        return verdict
    left = {defect.code for defect in verdict.defects}
    codes = (_OF_REPAIR.get(repair) or _REASONS.get(repair) for repair in repairs)
    mended = [Defect(code) for code in dict.fromkeys(codes) if code is not None and code not in left]
    known = {defect.code for defect in places}
    mended = [*places[:_MOST], *(defect for defect in mended if defect.code not in known)]
    defects = (*mended, *verdict.defects)
    reason = verdict.reason or (defects[0].code if defects else None)
    return msgspec.structs.replace(verdict, defects=defects, reason=reason)


def defect_of(repair: str) -> str:
    """The defect that a repair mends: for most, the one of the same name."""
    return next((reason for name, reason in _OF_REPAIR.items() if name == repair), repair)
