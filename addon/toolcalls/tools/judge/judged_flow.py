"""One recorded flow judged: its verdicts by a configuration, and whether they are those of before.

Both are plain data (`as_json` takes them), without secrets. `judge_flow` needs the flow and its reading only, so
that it can run anywhere; `compare` needs no flow.
"""

from collections.abc import Mapping
from typing import Any

from mitmproxy import http

from toolcalls.flows.exchange_plan import ReplyNotParsed, wire_for
from toolcalls.flows.flow_redaction import flow_secrets
from toolcalls.flows.recorded_verdicts import same_verdicts
from toolcalls.flows.reports import Reading, recorded_report
from toolcalls.flows.websocket.upgrade import is_api_websocket
from toolcalls.insight.agents import agent_named
from toolcalls.insight.damage import damage_of
from toolcalls.insight.redaction import redacted_value

UNREAD = "unread"  # `change` of a reply that cannot be read
_RECORDED = "recorded"
_COMPARED = ("summary", "failure", "verdicts")


def judge_flow(path: str, number: int, flow: http.HTTPFlow, read: Reading | ReplyNotParsed) -> dict[str, Any] | None:
    """What a configuration says of a flow, as it was read by it; None where it is no exchange with an LLM API.

    Keys: `file`, `number` (of the flow in its file), `flow`, `path`, `agent`, and either `why` (it cannot be read) or
    `model`, `summary`, `failure`, `verdicts`, `damage` (a number for each kind). `recorded` is what the report that the
    flow itself holds says of the same, which `compare` takes out.
    """
    recorded = recorded_report(flow)
    if wire_for(flow.request) is None and recorded is None and not is_api_websocket(flow):
        return None
    own = flow_secrets(flow)
    made = {
        "file": path,
        "number": number,
        "flow": flow.id,
        "path": flow.request.path.partition("?")[0],
        "agent": agent_named(lambda name: flow.request.headers.get(name, "")),
    }
    then = None if recorded is None else {key: recorded[key] for key in _COMPARED}
    if then is not None:
        made[_RECORDED] = then
    if isinstance(read, ReplyNotParsed):
        return {**own.value(redacted_value(made)), "why": str(read), "summary": "", "verdicts": []}
    now = read.report
    damage = {one.code: one.count for one in damage_of(now, waits=now["client"] != "text")}
    made |= {"model": now["model"]} | {key: now[key] for key in _COMPARED}
    same = then is not None and then["verdicts"] == now["verdicts"]
    if then is not None and same:  # the longest part is searched once
        del then["verdicts"]
    clean: dict[str, Any] = own.value(redacted_value(made))
    if same:
        clean[_RECORDED]["verdicts"] = clean["verdicts"]
    return clean | {"damage": damage}


def compare(result: dict[str, Any], before: Mapping[str, Any] | None, *, other: bool) -> dict[str, Any]:
    """The result with its `change`: same, changed, new (nothing came before) or unread, and with what it `was`.

    before   the result of another reading; without `other` that of when the reply passed, which the flow itself holds
    """
    recorded = result.pop(_RECORDED, None)
    before = before if other else recorded
    if "why" in result:
        if not other or before is None or "why" in before:
            return result | {"change": UNREAD}
        return result | {"change": "changed", "was": _was(before)}
    if before is None:
        return result | {"change": "new"}
    if "why" in before:
        return result | {"change": "changed", "was": {"summary": f"not read: {before['why']}", "verdicts": []}}
    if same_verdicts(before, result):
        return result | {"change": "same"}
    return result | {"change": "changed", "was": _was(before)}


def _was(before: Mapping[str, Any]) -> dict[str, Any]:
    return {"summary": before.get("summary", ""), "verdicts": before.get("verdicts", [])}
