"""What a reply does at the moment, in a few words for the list of flows."""

from typing import Any

from toolcalls.insight import report
from toolcalls.replies.exchange import Exchange

_NAME = 40  # characters of a tool's name
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
