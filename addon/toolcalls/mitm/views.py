"""The content view "Tool calls": what became of each call of a reply, and why, above the message itself.

It reads the report in the flow's metadata, so it shows what was decided when the reply came, and judges nothing again.
Whatever came from a model or a server is shown with its hidden characters as escapes: mitmproxy's own escaping lets
eight-bit control sequences and bidi controls through.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from mitmproxy import contentviews, http

from toolcalls.events import Finish, Text
from toolcalls.frames import SSE
from toolcalls.mitm.store import REPORT
from toolcalls.policy import REASONS
from toolcalls.report import visible
from toolcalls.wires import all_wires

_KINDS = {
    "lift": "calls written as text become native calls",
    "lower": "native calls become text",
    "roundtrip": "calls in the text are read and written again as text",
    "observe": "nothing is changed",
}

_NO_EVIDENCE = "the request declares no tools, and neither its prompt nor its history holds calls as text"


class ToolCallsView(contentviews.Contentview):
    """For replies that the addon has read; the first choice for those, and for nothing else."""

    name = "Tool calls"
    syntax_highlight = "none"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """Raises ValueError when the addon has not read this message."""
        report = _report(metadata)
        if report is None:
            raise ValueError("the addon has not read this message")
        streamed = metadata.content_type == "text/event-stream"
        return "\n".join([*_head(report), "", *_verdicts(report), *_message(str(report["wire"]), data, streamed)])

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:  # noqa: ARG002 - mitmproxy's
        """Above every view of mitmproxy's own, where there is a report."""
        return 2 if _report(metadata) is not None else -1


def _report(metadata: contentviews.Metadata) -> Mapping[str, Any] | None:
    """The report that belongs to the message that is shown."""
    flow, message = metadata.flow, metadata.http_message
    if not isinstance(flow, http.HTTPFlow) or flow.response is None or message is not flow.response:
        return None
    report = flow.metadata.get(REPORT)
    return report if isinstance(report, dict) else None


def _head(report: Mapping[str, Any]) -> Iterator[str]:
    yield visible(report["summary"]) or "no tool calls in this reply"
    yield ""
    yield _field("route", f"{report['route']}, policy {report['policy']}")
    yield _field("done", f"{report['kind']}: {_KINDS[report['kind']]}")
    speaks = f"client {report['client']}, upstream {report['upstream']}"
    yield _field("speaks", speaks + (f", written as {report['dialect']}" if report["dialect"] else ""))
    for number, evidence in enumerate(report["evidence"] or [_NO_EVIDENCE]):
        yield _field("" if number else "because", evidence)
    yield _field("reply", f"{report['wire']}" + (f", {report['model']}" if report["model"] else ""))
    if report["failure"]:
        yield _field("failed", f"{report['failure']}; from there the upstream's bytes passed as they are")


def _verdicts(report: Mapping[str, Any]) -> Iterator[str]:
    for verdict in report["verdicts"]:
        name = "" if verdict["name"] is None else f" {verdict['name']}"
        yield visible(f"{verdict['status'].upper()}{name}" + (f"  {verdict['dialect']}" if verdict["dialect"] else ""))
        reason = verdict["reason"]
        if reason is not None:
            yield _field("why", f"{reason}: {REASONS.get(reason, 'no such reason is known here')}")
        if verdict["repairs"]:
            yield _field("repaired", ", ".join(verdict["repairs"]))
        if verdict["end"]:
            yield _field("where", f"characters {verdict['start']} to {verdict['end']} of the reply's text")
        if verdict["id"]:
            yield _field("id", verdict["id"])
        if verdict["arguments"] is not None:
            yield from ("    " + line for line in _lines(_pretty(verdict["arguments"])))
        yield ""


def _message(wire: str, data: bytes, streamed: bool) -> Iterator[str]:
    """The text and the finish reason that the client got, per lane."""
    codec = all_wires()[wire].codec(streamed=streamed)
    texts: dict[int, list[str]] = {}
    reasons: dict[int, str] = {}
    payloads = [data]
    if streamed:
        frames = SSE()
        payloads = [frame.data for frame in (*frames.feed(data), *frames.flush()) if frame.data is not None]
    for payload in payloads:
        for lane, event in codec.decode(payload):
            texts.setdefault(lane, [])
            if isinstance(event, Text):
                texts[lane].append(event.text)
            elif isinstance(event, Finish):
                reasons[lane] = event.reason
    for lane, pieces in texts.items():
        reason = reasons.get(lane)
        ended = f"finish: {visible(reason)}" if reason else "no finish reason" if lane in reasons else "it was cut off"
        yield f"MESSAGE{f' {lane}' if len(texts) > 1 else ''}  {ended}"
        yield from ("    " + line for line in _lines("".join(pieces) or "(no text)"))
        yield ""


def _field(name: str, value: str) -> str:
    return f"  {name:<9} {visible(value)}"


def _lines(text: str) -> Iterator[str]:
    """Lines that show what they hold. Tabs stay: in code they are seen, and hide nothing."""
    for line in text.split("\n"):
        yield "\t".join(visible(part) for part in line.removesuffix("\r").split("\t"))


def _pretty(arguments: str) -> str:
    """JSON with indentation and nothing else changed, no number and no key; what is not whole stays as it is."""
    try:
        return msgspec.json.format(arguments.encode(), indent=2).decode()
    except (msgspec.MsgspecError, UnicodeError):
        return arguments
