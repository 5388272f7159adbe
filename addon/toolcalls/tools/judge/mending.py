"""`toolcalls judge --mend KINDS FILE…`: what mending would have changed in recordings, by flow and in total.

Each reply is read twice by today's configuration, once with nothing mended and once with these kinds on all routes.
What is said is the difference. Nothing is written.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mitmproxy import http

from toolcalls.flows import flow_metadata
from toolcalls.flows.exchange_plan import ReplyNotParsed, wire_for
from toolcalls.flows.flow_redaction import flow_secrets
from toolcalls.flows.judging import Recorded, replies
from toolcalls.flows.websocket.upgrade import is_api_websocket
from toolcalls.insight import report as reports
from toolcalls.insight.damage import IN_TEXT, damage_of
from toolcalls.insight.formatting import counted
from toolcalls.insight.redaction import redacted_value
from toolcalls.route import Config, Mended
from toolcalls.streams import as_json, encode, write_finding
from toolcalls.tools.archive.progress import Progress
from toolcalls.tools.options import MENDED, mended_of

_ALL = "all"


@dataclass(frozen=True, slots=True)
class _Mending:
    """What mending does to one reply: how often which kind of damage is mended, and left; whether bytes differ.

    verdicts, notes   those with mending, without secrets
    """

    mended: Counter[str]
    left: Counter[str]
    changed: bool
    verdicts: list[dict[str, Any]]
    notes: list[dict[str, Any]]


def show_mending(files: Sequence[str], config: Config, kinds: str, *, as_data: bool) -> int:
    """The command's exit status: 1 when something would be changed. Raises BadInput."""
    mend = MENDED if kinds == _ALL else mended_of([kind.strip() for kind in kinds.split(",") if kind.strip()])
    found: list[dict[str, Any]] = []
    mended: Counter[str] = Counter()
    left: Counter[str] = Counter()
    unread = 0
    with Progress(files) as progress:
        for path, _, flow in progress.exchanges():
            if wire_for(flow.request) is None and not is_api_websocket(flow):
                continue
            try:
                made = [*_of_flow(flow, config, mend)]
            except ReplyNotParsed:
                unread += 1
                continue
            about = {"file": path, "flow": flow.id, "path": flow.request.path.partition("?")[0]}
            for one in made:
                mended.update(one.mended)
                left.update(one.left)
                counts = {"changed": one.changed, "mended": dict(one.mended), "left": dict(one.left)}
                found.append({**about, **counts, "verdicts": one.verdicts, "notes": one.notes})
    changed = sum(one["changed"] for one in found)
    total = {"replies": len(found), "unread": unread, "changed": changed, "mended": dict(mended), "left": dict(left)}
    if as_data:
        data = {"version": 1, "mend": list(mend), "flows": found, "sum": total}
        write_finding(encode(as_json(data, pretty=sys.stdout.isatty()) + "\n"))
    else:
        write_finding(encode("".join(f"{reports.visible(line)}\n" for line in _lines(found, total))))
    return 1 if changed else 0


def _of_flow(flow: http.HTTPFlow, config: Config, mend: tuple[Mended, ...]) -> Iterator[_Mending]:
    """Each reply of a flow. Raises ReplyNotParsed."""
    own = flow_secrets(flow)
    with_none, with_these = (replies(flow, _with(config, kinds)) for kinds in ((), mend))
    for (_, bare), (_, mending) in zip(with_none, with_these, strict=True):
        _, before = _given(bare)
        data, after = _given(mending)
        waits = data["client"] != "text"
        mended: Counter[str] = Counter()
        left: Counter[str] = Counter()
        for one in damage_of(data, waits=waits):
            if one.code != IN_TEXT:
                mended[one.code] += one.mended
                left[one.code] += one.count - one.mended
        clean = own.value(redacted_value(flow_metadata.writable(data)))
        yield _Mending(+mended, +left, before != after, clean["verdicts"], clean["notes"])


def _with(config: Config, mend: tuple[Mended, ...]) -> Config:
    """The configuration with these kinds on all routes."""
    routes = tuple(replace(route, mend=mend) for route in config.routes)
    return replace(config, routes=routes, default=replace(config.default, mend=mend))


def _given(reply: Recorded) -> tuple[dict[str, Any], bytes]:
    exchange, body = reply.given()
    return reports.make_report(exchange, model=reply.plan.model), body


def _lines(found: Sequence[Mapping[str, Any]], total: Mapping[str, Any]) -> Iterator[str]:
    """A line for each reply that is damaged, then the sum."""
    for one in found:
        if one["changed"] or one["left"]:
            word = "mended" if one["changed"] else "left"
            yield f"{word:8} {one['file']} {one['flow']}: {_counts(one)}"
    replies_ = counted(total["replies"], "reply")
    unread = f", {total['unread']} unread" if total["unread"] else ""
    yield f"{total['changed']} of {replies_} would have been changed{unread}; {_counts(total)}"


def _counts(one: Mapping[str, Any]) -> str:
    parts = [f"{code} ×{count}" if count > 1 else code for code, count in one["mended"].items()]
    left = [f"{code} ×{count}" if count > 1 else code for code, count in one["left"].items()]
    said = [f"mended {', '.join(parts)}"] if parts else ["nothing mended"]
    return "; ".join([*said, *([f"left {', '.join(left)}"] if left else [])])
