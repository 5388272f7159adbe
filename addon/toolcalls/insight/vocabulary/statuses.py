"""Statuses in their orders, the marks that they give, and the phrases of their descriptions that the code looks for."""

from collections.abc import Mapping
from typing import Literal

from toolcalls.events import Status
from toolcalls.insight.vocabulary.words import REPLY_STATUSES, STATUSES

AS_MADE = "got it as the model made it"
NOT_GOT = "did not get it"

# What a reply has beside the statuses of its verdicts.
MENDED: Literal["mended"] = "mended"
DAMAGED: Literal["damaged"] = "damaged"
POSSIBLY_LOST: Literal["possibly lost"] = "possibly lost"
FAILED_STATUS: Literal["failed"] = "failed"

# From the best to the one that most needs a look.
_SEVERITIES = {code: one.severity for code, one in STATUSES.items()}
_SEVERITIES |= {code: one.severity for code, one in REPLY_STATUSES.items()}
SEVERITY: tuple[str, ...] = tuple(sorted(_SEVERITIES, key=lambda code: _SEVERITIES[code]))
# The order in which a summary names them.
IN_SUMMARY: tuple[Status, ...] = tuple(one.code for one in sorted(STATUSES.values(), key=lambda one: one.in_summary))
# mitmproxy's marks by the worst of a reply; one that has only sound native calls bears none.
MARKS: Mapping[str, str] = {
    **{code: f":{one.mark}:" for code, one in STATUSES.items() if one.mark},
    **{code: f":{one.mark}:" for code, one in REPLY_STATUSES.items()},
}
