"""What each status means, and what it says of a call: what the model did, what the client got, how it counts."""

from collections.abc import Mapping
from typing import Literal

from toolcalls.events import Status
from toolcalls.insight.vocabulary.entries import Description, ReplyStatus, StatusEntry

AS_WRITTEN = "got the text as the model wrote it"
NOT_GOT = "did not get it"
AS_MADE = "got it as the model made it"


_ENTRIES = (
    StatusEntry(
        code="lifted",
        in_docs="the model wrote the call as text, and the client got a native call",
        severity=2,
        in_summary=0,
        mark="wrench",
        native=Description("made a native call", AS_MADE, "native call"),
        text=Description("wrote this call as text ({dialect})", "got a native call", "native call"),
        changed="got a native call",
        outcome="success",
    ),
    StatusEntry(
        code="lowered",
        in_docs=(
            "the client got the call as text in its dialect; the summary says `unchanged` where that is the text that "
            "the model wrote"
        ),
        severity=1,
        in_summary=1,
        mark="wrench",
        native=Description("made a native call", "got it as text ({dialect})", "text ({dialect})"),
        text=Description("wrote this call as text ({dialect})", AS_WRITTEN, "text"),
        changed="got it as text",
        outcome="success",
    ),
    StatusEntry(
        code="native",
        in_docs="a native call passed as it was, or mended (`repairs` says of what)",
        severity=0,
        in_summary=2,
        mark="",
        native=Description("made a native call", AS_MADE, "native call"),
        text=Description("wrote this call as text ({dialect})", AS_WRITTEN, "native call"),
        changed="got it",
        outcome="success",
    ),
    StatusEntry(
        code="declined",
        in_docs="a rule said no: the text stays text",
        severity=4,
        in_summary=4,
        mark="eyes",
        native=Description("made a native call", AS_MADE, "stays as it is"),
        text=Description("wrote this call as text ({dialect})", AS_WRITTEN, "stays as it is"),
        changed="",
        outcome="leak",
    ),
    StatusEntry(
        code="truncated",
        in_docs="the reply ended inside the call; what the client got of it is never completed",
        severity=6,
        in_summary=5,
        mark="warning",
        native=Description("began a native call and did not end it", AS_MADE, "never completed"),
        text=Description("began a call as text ({dialect}) and did not end it", "got no call", "never completed"),
        changed="",
        outcome="broken",
    ),
    StatusEntry(
        code="malformed",
        in_docs="it begins like a call and is none, or a native call's arguments cannot be read",
        severity=7,
        in_summary=6,
        mark="warning",
        native=Description("made a native call with a fault", AS_MADE, "stays as it is"),
        text=Description("wrote what begins like a call ({dialect}) and is none", AS_WRITTEN, "stays as it is"),
        changed="",
        outcome="broken",
    ),
    StatusEntry(
        code="blocked",
        in_docs=(
            "the client did not get the call; `rule` names what blocked it ([rules.md](rules.md)), or it has "
            "the same call already (`repeated`)"
        ),
        severity=8,
        in_summary=3,
        mark="warning",
        native=Description("made a native call", NOT_GOT, "not delivered"),
        text=Description("wrote this call as text ({dialect})", NOT_GOT, "not delivered"),
        changed="",
        outcome="blocked",
    ),
)

# By their codes; a code of a file may be any.
STATUSES: Mapping[str, StatusEntry] = {one.code: one for one in _ENTRIES}

# What a reply has beside the statuses of its verdicts, where it needs a look for another reason.
MENDED: Literal["mended"] = "mended"
DAMAGED: Literal["damaged"] = "damaged"
FAILED_STATUS: Literal["failed"] = "failed"
REPLY_STATUSES = (
    ReplyStatus(
        MENDED,
        severity=3,
        mark="wrench",
        in_docs="of a reply, in its mark and on the page: a native call or the reply's end came damaged and was mended",
    ),
    ReplyStatus(
        DAMAGED,
        severity=5,
        mark="warning",
        in_docs="of a reply, in its mark and on the page: a native call or the reply as a whole came damaged "
        "(`defects`, notes), and the client got it so",
    ),
    ReplyStatus(
        FAILED_STATUS,
        severity=9,
        mark="x",
        in_docs="a fault of the addon (in the log, and as the summary): the bytes passed unchanged from there on",
    ),
)

# From the best to the one that most needs a look.
_BY_SEVERITY: Mapping[int, str] = {
    **{one.severity: one.code for one in _ENTRIES},
    **{one.severity: one.code for one in REPLY_STATUSES},
}
SEVERITY: tuple[str, ...] = tuple(_BY_SEVERITY[severity] for severity in sorted(_BY_SEVERITY))
# The order in which a summary names them.
IN_SUMMARY: tuple[Status, ...] = tuple(one.code for one in sorted(_ENTRIES, key=lambda one: one.in_summary))
# mitmproxy's marks by the worst of a reply; one that has only sound native calls bears none.
MARKS: Mapping[str, str] = {
    **{one.code: f":{one.mark}:" for one in _ENTRIES if one.mark},
    **{one.code: f":{one.mark}:" for one in REPLY_STATUSES},
}
