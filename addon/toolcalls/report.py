"""Verdicts as plain data: what the flow view, the log, the exports and the command line show of one exchange.

Everything here is None, bool, int, str, list or dict, so it survives JSON and mitmproxy's flow files. Text from a model
or a server is kept as it is; whoever shows it escapes it (`visible`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolcalls.events import Verdict
from toolcalls.exchange import Exchange
from toolcalls.lane import Record

VERSION = 1

# From the best outcome to the one that most needs a look.
SEVERITY = ("native", "lowered", "lifted", "declined", "truncated", "malformed", "blocked", "failed")

_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def visible(text: str) -> str:
    """`text` on one line, with control, bidi, zero-width and surrogate characters as escapes."""
    return _HIDDEN.sub(lambda found: _escape(ord(found.group())), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def of(exchange: Exchange, *, model: str = "") -> dict[str, Any]:
    """The report of one exchange."""
    records: dict[tuple[int, int | None], Record] = {(lane, record.index): record for lane, record in exchange.records}
    verdicts = [plain(verdict, lane, records.get((lane, verdict.index))) for lane, verdict in exchange.verdicts]
    failure = None if exchange.failure is None else repr(exchange.failure)
    decision = exchange.decision
    data = {
        "version": VERSION,
        "wire": exchange.wire.name,
        "route": exchange.terms.route.name,
        "kind": decision.kind,
        "client": decision.client,
        "upstream": decision.upstream,
        "dialect": decision.dialect,
        "evidence": list(decision.evidence),
        "policy": exchange.terms.route.policy,
        "model": model,
        "verdicts": verdicts,
        "failure": failure,
    }
    return {**data, "worst": worst(data), "summary": summary(verdicts, failure)}


def plain(verdict: Verdict, lane: int = 0, record: Record | None = None) -> dict[str, Any]:
    """One verdict. `arguments` is the call's JSON text as far as it came, None when nothing became a call."""
    return {
        "status": verdict.status,
        "reason": verdict.reason,
        "dialect": verdict.dialect,
        "name": verdict.name,
        "start": verdict.start,
        "end": verdict.end,
        "repairs": list(verdict.repairs),
        "lane": lane,
        "index": verdict.index,
        "id": record.id if record else None,
        "arguments": record.arguments if record else None,
    }


def worst(data: Mapping[str, Any]) -> str | None:
    """The status that most needs a look, "failed" for a fault of our own; None when there was nothing to judge."""
    found = {verdict["status"] for verdict in data["verdicts"]}
    if data["failure"]:
        found.add("failed")
    return max(found, key=SEVERITY.index, default=None)


def summary(verdicts: Sequence[Mapping[str, Any]], failure: str | None = None) -> str:
    """One line: `lifted write_file (invoke) · 1 declined: fenced`; "" when there was nothing to judge."""
    parts = []
    for status in ("lifted", "lowered", "native", "blocked"):
        names = [_called(verdict) for verdict in verdicts if verdict["status"] == status]
        if names:
            parts.append(f"{status} {_counted(names)}")
    for status in ("declined", "truncated", "malformed"):
        reasons = [str(verdict["reason"]) for verdict in verdicts if verdict["status"] == status]
        if reasons:
            parts.append(f"{len(reasons)} {status}: {_counted(reasons)}")
    if failure:
        parts.append("failed: the upstream's bytes passed as they are")
    return " · ".join(parts)


def _called(verdict: Mapping[str, Any]) -> str:
    name = visible(str(verdict["name"]))[:60]
    return f"{name} ({verdict['dialect']})" if verdict["dialect"] else name


def _counted(words: Sequence[str]) -> str:
    counts = dict.fromkeys(words, 0)
    for word in words:
        counts[word] += 1
    shown = [word if count == 1 else f"{word} ×{count}" for word, count in counts.items()]
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
