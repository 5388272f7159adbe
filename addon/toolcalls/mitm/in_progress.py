"""The replies that are coming: which of a flow's are, and what each does at the moment, in a few words for the list."""

from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import http

from toolcalls.flows.websocket.connection import Connection
from toolcalls.insight import report
from toolcalls.replies.exchange import Exchange

_NAME = 40  # characters of a tool's name
# A call that is coming, and one that has come whole and waits for its verdict.
_DOING = {"lift": ("lifting", "lifted"), "roundtrip": ("reading", "read"), "lower": ("lowering", "lowering")}

# The connections that are read now: who looks at a flow finds here how far its replies are.
open_connections: WeakKeyDictionary[http.HTTPFlow, Connection] = WeakKeyDictionary()


def replies_in_progress(flow: http.HTTPFlow) -> list[tuple[int, Exchange]]:
    """`Connection.replies_in_progress` of a live connection; [] for any other flow."""
    connection = open_connections.get(flow) if flow.websocket is not None else None
    return [] if connection is None else connection.replies_in_progress


def tap_of(flow: http.HTTPFlow) -> Any:
    """The tap that reads a flow's reply now, None for no such. Also one that an older load of the addon made."""
    stream: Any = flow.response.stream if flow.response is not None else None
    return stream if getattr(stream, "is_toolcalls_tap", False) else None


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
