"""`toolcalls judge FILE…`: recorded replies read again by today's configuration and code; exit status 1 for changes.

What they are compared with is what the addon wrote into each flow when it was recorded, or, with `--baseline`, an
earlier output of `judge --json`. A flow that has no earlier verdicts is new, which is no change.

`--mend KINDS` asks something else: what mending would have changed (`mending`).
"""

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from toolcalls.commands.streams import BadInput, as_json, encode, read_json, write_line, write_output
from toolcalls.insight import report
from toolcalls.insight.redaction import redacted_value
from toolcalls.mitm.exchange_plan import ReplyNotParsed, wire_for
from toolcalls.mitm.offline.files import configuration, exchanges, recorded_report, today
from toolcalls.mitm.offline.mending import show_mending
from toolcalls.mitm.offline.redact import flow_secrets
from toolcalls.mitm.recorded_verdicts import COMPARED, same_verdicts
from toolcalls.mitm.websocket.upgrade import is_api_websocket


def run(arguments: Namespace) -> int:
    """The command. Raises BadInput."""
    config = configuration(arguments.config)
    if arguments.mend is not None:
        return show_mending(arguments.files, config, arguments.mend, as_data=arguments.json)
    baseline = None if arguments.baseline is None else _baseline(arguments.baseline)
    results = []
    for path, flow in exchanges(arguments.files):
        recorded = recorded_report(flow)
        if wire_for(flow.request) is None and recorded is None and not is_api_websocket(flow):
            continue  # no LLM API
        own = flow_secrets(flow)
        before = own.value(redacted_value(recorded if baseline is None else baseline.get(flow.id)))
        result: dict[str, Any] = {"file": path, "flow": flow.id, "path": flow.request.path.partition("?")[0]}
        try:
            now = own.value(redacted_value(today(flow, config)))
        except ReplyNotParsed as reason:
            results.append(result | {"change": "unread", "why": str(reason), "summary": "", "verdicts": []})
            continue
        same = before is not None and same_verdicts(before, now)
        change = "new" if before is None else "same" if same else "changed"
        result |= {"change": change, "summary": now["summary"], "failure": now["failure"], "verdicts": now["verdicts"]}
        if before is not None and not same:
            result["was"] = {"summary": before.get("summary", ""), "verdicts": before.get("verdicts", [])}
        results.append(result)
    changed = any(result["change"] == "changed" for result in results)
    if arguments.json:
        write_line(as_json({"version": 1, "flows": results}, pretty=sys.stdout.isatty()))
    else:
        write_output(encode("".join(f"{line}\n" for line in _summary_lines(results))))
    return 1 if changed else 0


def _baseline(path: str) -> dict[str, Any]:
    """An earlier output, by flow."""
    data = json.loads(read_json(path))
    found = data.get("flows") if isinstance(data, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) and "flow" in one for one in found):
        raise BadInput(f"{path}: this is not an output of `toolcalls judge --json`")
    return {str(one["flow"]): one for one in found if one.get("change") != "unread"}


def _summary_lines(results: list[dict[str, Any]]) -> Iterator[str]:
    counts = dict.fromkeys(("changed", "new", "same", "unread"), 0)
    for result in results:
        counts[result["change"]] += 1
        if result["change"] == "same":
            continue
        about = f"{result['change']:8} {result['file']} {result['flow']}: "
        if result["change"] == "unread":
            yield report.visible(about + result["why"])
        elif result["change"] == "new":
            yield report.visible(about + (result["summary"] or "no calls"))
        else:
            yield report.visible(
                about + f"{result['was']['summary'] or 'no calls'} → {result['summary'] or 'no calls'}"
            )
            yield from _differences(result["was"]["verdicts"], result["verdicts"])
    yield ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no replies of an LLM API"


def _differences(was: list[Mapping[str, Any]], now: list[Mapping[str, Any]]) -> Iterator[str]:
    """What differs, a line for each verdict."""
    for place in range(max(len(was), len(now))):
        old = was[place] if place < len(was) else None
        new = now[place] if place < len(now) else None
        if old is None or new is None:
            one, sign = (new, "+") if old is None else (old, "-")
            yield report.visible(f"           {sign} {_short(one or {})}")
            continue
        fields = [key for key in COMPARED if old.get(key) != new.get(key)]
        if fields:
            changes = "; ".join(f"{key} {_value(old.get(key))} → {_value(new.get(key))}" for key in fields)
            yield report.visible(f"           ± {_short(new)}: {changes}")


def _short(verdict: Mapping[str, Any]) -> str:
    reason = f": {verdict['reason']}" if verdict.get("reason") else ""
    return f"{verdict.get('status')} {verdict.get('name') or 'a call'} ({verdict.get('dialect') or 'native'}){reason}"


def _value(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
