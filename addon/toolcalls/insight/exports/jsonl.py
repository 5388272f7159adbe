"""One line of JSON for each exchange. `vocabulary.fields` says what its fields are.

New fields may come at any time without a new version, so a reader ignores those that it does not know.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from toolcalls.insight.body_redaction import redacted_body
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.prices import cost_of
from toolcalls.insight.redaction import redacted_text, redacted_url, redacted_value
from toolcalls.insight.turn import outcome_of, reply_of, turn_of
from toolcalls.insight.vocabulary.fields import SCHEMA, VERDICT_FIELDS, VERSION
from toolcalls.route import Price

_REPORT = ("wire", "route", "kind", "client", "upstream", "dialect", "policy")
_VERDICT = [name for name, field in VERDICT_FIELDS.items() if field.in_report and field.presence == "always"]


def exchange_data(
    record: ExchangeRecord, *, content: bool = False, body: bool = True, prices: Sequence[Price] = ()
) -> dict[str, Any]:
    """An exchange as plain data. `content` adds arguments, the reply's text and, with `body`, the request's body."""
    turn = turn_of(record)
    report = record.report
    waits = bool(turn.request.tools) and report.get("client") != "text"
    verdicts = []
    for plain in report.get("verdicts", ()):
        one = {key: plain.get(key) for key in _VERDICT} | {"outcome": outcome_of(plain, waits=waits)}
        one["nearest"] = list(plain.get("nearest", ()))
        one["likely_meant"] = bool(plain.get("likely_meant"))
        one["defects"] = list(plain.get("defects", ()))
        one["broke"] = plain.get("broke")
        one["changes"] = [change if content else {"rule": change["rule"]} for change in plain.get("changes", ())]
        if content:
            one["arguments"] = plain.get("arguments")
        verdicts.append(one)
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "flow": record.id,
        "started": record.started_at,
        "session": turn.session,
        "agent": turn.agent or None,
        "server": turn.server,
        "method": record.method,
        "url": redacted_url(record.url),
        "status": record.status or None,
        "error": redacted_text(record.error) or None,
        "model": turn.model or None,
        **{key: report.get(key) for key in _REPORT},
        "evidence": list(report.get("evidence", ())),
        "verdicts": verdicts,
        "notes": list(report.get("notes", ())),
        "damage": [{**asdict(one), "possible": one.possible} for one in turn.damage],
        "summary": report.get("summary", ""),
        "worst": report.get("worst"),
        "judged": report.get("judged"),
        "failure": report.get("failure"),
        "finish": turn.finish or None,
        "tokens": {
            "input": turn.tokens.input,
            "output": turn.tokens.output,
            "cached": turn.tokens.cached,
            "reasoning": turn.tokens.reasoning,
        },
        "cost": cost_of(turn.model, turn.tokens, prices),
        "seconds": {
            "requested": _rounded(record.requested),
            "replied": _rounded(record.replied),
            "first_byte": _rounded(turn.after(turn.moments.first_byte)),
            "first_argument": _rounded(turn.after(turn.moments.first_argument)),
            "call_complete": _rounded(turn.after(turn.moments.call_complete)),
            "end": _rounded(turn.seconds),
        },
        "request": {
            "messages": turn.request.count,
            "tools": [name for name, _ in turn.request.tools],
            "bytes": len(record.request_body),
        },
    }
    if content:
        data["text"] = reply_of(record).text
    clean: dict[str, Any] = redacted_value(data)
    if content and body:  # which is searched for secrets as a body is, once
        clean["request"]["body"] = redacted_body(record.request_body).decode()
    return clean


def line(record: ExchangeRecord, *, content: bool = False, prices: Sequence[Price] = ()) -> str:
    """An exchange as one line, with its line end: ASCII, so that nothing in it ends a line early."""
    return json.dumps(exchange_data(record, content=content, prices=prices)) + "\n"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
