"""The content view "Tool calls": what became of each call of a reply, and why, above the message itself.

Whoever opens it has an agent that printed a call as text, and wants four answers: did the model write a call, in which
dialect, what did the client get, and which rule said no. So each verdict begins with a line for what the model did, one
for what the client got, and the rule; then what the model wrote, and what became of it. The client's text comes last.

It reads the report in the flow's metadata, so it shows what was decided when the reply came, and judges nothing again.
Whatever came from a model or a server is shown with its hidden characters as escapes: mitmproxy's own escaping lets
eight-bit control sequences and bidi controls through.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

import msgspec
from mitmproxy import contentviews, http

from toolcalls.events import Finish, Text
from toolcalls.frames import SSE
from toolcalls.mitm.store import REPORT, UPSTREAM
from toolcalls.policy import REASONS, REPAIRS
from toolcalls.report import visible
from toolcalls.wires import all_wires

_KINDS = {
    "lift": "calls written as text become native calls",
    "lower": "native calls become text",
    "roundtrip": "calls in the text are read and written again as text",
    "observe": "nothing is changed",
}

_NO_EVIDENCE = "the request declares no tools, and neither its prompt nor its history holds calls as text"

_WIDTH = 60  # characters of a field's value in one line
_WRITTEN_LINES = 12  # of what the model wrote for one verdict; the whole of it stands in the call or in the message
_WRITTEN_WIDTH = 240  # characters of one such line

# A line of indented JSON that is a member or an item with a string in it: what comes before, the string, a comma.
_STRING_LINE = re.compile(r'( *+(?:"(?:[^"\\]|\\.)*+": )?+)("(?:[^"\\]|\\.)*+")(,?)')


class ToolCallsView(contentviews.Contentview):
    """For replies that the addon has read; the first choice for those, and for nothing else."""

    name = "Tool calls"
    syntax_highlight = "none"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """Raises ValueError when the addon has not read this message."""
        report = _report(metadata)
        if report is None or metadata.flow is None:
            raise ValueError("the addon has not read this message")
        streamed = metadata.content_type == "text/event-stream"
        wire, upstream = str(report["wire"]), metadata.flow.metadata.get(UPSTREAM)
        got = _lanes(wire, data, streamed)
        sent = _lanes(wire, upstream, streamed) if isinstance(upstream, bytes) else got
        lines = [*_head(report), "", *_verdicts(report, sent), *_messages(got)]
        return "\n".join(line or " " for line in lines)  # mitmweb gives a line without characters no height

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


# --- what is said -----------------------------------------------------------------------------------------------------


def _head(report: Mapping[str, Any]) -> Iterator[str]:
    yield visible(report["summary"]) or "no tool calls in this reply"
    yield ""
    if report["failure"]:
        yield from _field("failed", f"{report['failure']}; from there the upstream's bytes passed as they are")
    yield from _field("does", f"{report['kind']}: {_KINDS[report['kind']]}")
    for number, evidence in enumerate(report["evidence"] or [_NO_EVIDENCE]):
        yield from _field("" if number else "because", evidence)
    speaks = f"client {report['client']}, upstream {report['upstream']}"
    written = f", calls written as {report['dialect']}" if report["dialect"] else ""
    yield from _field("route", f"{report['route']}: policy {report['policy']}, {speaks}{written}")
    yield from _field("reply", report["wire"] + (f", model {report['model']}" if report["model"] else ""))


def _verdicts(report: Mapping[str, Any], sent: Mapping[int, "_Lane"]) -> Iterator[str]:
    for verdict in report["verdicts"]:
        yield visible(verdict["status"].upper() + ("" if verdict["name"] is None else f"  {verdict['name']}"))
        model, client = _story(verdict, report)
        yield from _field("model", model)
        yield from _field("client", client)
        reason = verdict["reason"]
        if reason is not None:
            yield from _field("rule", f"{reason}: {REASONS.get(reason, 'no such reason is known here')}")
        for repair in verdict["repairs"]:
            yield from _field("repaired", f"{repair}: {REPAIRS.get(repair, 'no such repair is known here')}")
        if verdict["end"]:
            lane = sent.get(verdict["lane"])
            yield from _block("written", _shortened(_written(lane.text, verdict) if lane else ""))
        if verdict["arguments"] is not None:
            yield from _block("call", _arguments(verdict["arguments"]))
        if verdict["id"]:
            yield from _field("id", verdict["id"])
        if verdict["end"]:
            yield from _field("where", f"characters {verdict['start']} to {verdict['end']} of the model's text")
        yield ""


def _story(verdict: Mapping[str, Any], report: Mapping[str, Any]) -> tuple[str, str]:
    """What the model did, and what the client got."""
    dialect, status = verdict["dialect"], verdict["status"]
    if dialect is None or (status == "lowered" and not verdict["end"]):
        made = {"truncated": "began a native call and did not end it", "malformed": "made a native call with a fault"}
        got = f"got it as text ({dialect})" if status == "lowered" else "got it as the model made it"
        model = made.get(status, "made a native call")
    else:
        wrote = {
            "truncated": f"began a call as text ({dialect}) and did not end it",
            "malformed": f"wrote what begins like a call ({dialect}) and is none",
        }
        model = wrote.get(status, f"wrote this call as text ({dialect})")
        got = "got the text as the model wrote it"
        if status == "lifted":
            got = "got a native call"
        elif status == "lowered" and dialect != report["dialect"]:
            got = f"got it as text in another dialect ({report['dialect']})"
        elif verdict["index"] is not None and report["kind"] == "lift":
            got = "got the beginning of a native call; the finish reason says that it is not whole"
        elif status == "truncated":
            got = "got no call"
    return model, "did not get it" if status == "blocked" else got


def _messages(lanes: Mapping[int, "_Lane"]) -> Iterator[str]:
    """The text and the finish reason that the client got, per lane."""
    for number, lane in lanes.items():
        ended = "it was cut off" if lane.reason is None else f"finish: {visible(lane.reason) or 'no reason given'}"
        yield f"CLIENT GOT{f' (choice {number})' if len(lanes) > 1 else ''}  {ended}"
        yield from ("    " + line for line in _lines(lane.text or "(no text)"))
        yield ""


# --- what is read -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Lane:
    """One choice of a reply. `reason` is None for one that did not end, "" for one that ended without a word."""

    pieces: list[str] = field(default_factory=list)
    reason: str | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def _lanes(wire: str, data: bytes, streamed: bool) -> dict[int, _Lane]:
    """What a body says, per lane."""
    codec = all_wires()[wire].codec(streamed=streamed)
    lanes: dict[int, _Lane] = {}
    payloads = [data]
    if streamed:
        frames = SSE()
        payloads = [frame.data for frame in (*frames.feed(data), *frames.flush()) if frame.data is not None]
    for payload in payloads:
        for number, event in codec.decode(payload):
            lane = lanes.setdefault(number, _Lane())
            if isinstance(event, Text):
                lane.pieces.append(event.text)
            elif isinstance(event, Finish):
                lane.reason = event.reason
    return lanes


# --- lines ------------------------------------------------------------------------------------------------------------


def _field(name: str, value: str) -> Iterator[str]:
    """A few words with their name in front, in lines that fit half a browser's window, where nothing is wrapped."""
    return _block(name, wrap(visible(value), _WIDTH) or [""])


def _block(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines, already visible, with a name in front of the first."""
    for number, line in enumerate(lines):
        yield f"  {'' if number else name:<9} {line}".rstrip(" ")


def _lines(text: str) -> Iterator[str]:
    """Lines that show what they hold. Tabs stay: in code they are seen, and hide nothing."""
    for line in text.split("\n"):
        yield "\t".join(visible(part) for part in line.removesuffix("\r").split("\t"))


def _written(text: str, verdict: Mapping[str, Any]) -> str:
    """What the model wrote of a candidate. One that was not read to its end is shown to the end of its line."""
    start, end = verdict["start"], verdict["end"]
    if verdict["status"] in {"declined", "malformed"}:
        line_end = text.find("\n", end)
        end = len(text) if line_end < 0 else line_end
    return text[start:end]


def _shortened(text: str) -> Iterator[str]:
    """The beginning of what the model wrote, and how much more there is."""
    lines = text.split("\n", _WRITTEN_LINES)
    for line in _lines("\n".join(lines[:_WRITTEN_LINES])):
        yield line if len(line) <= _WRITTEN_WIDTH else f"{line[:_WRITTEN_WIDTH]} … {len(line) - _WRITTEN_WIDTH} more"
    if len(lines) > _WRITTEN_LINES:
        yield f"… {lines[-1].count(chr(10)) + 1} more lines"


def _arguments(arguments: str) -> list[str]:
    """JSON with indentation and nothing else changed, no number and no key; what is not whole stays as it is.

    A string of more than one line, as of a file's content, is shown as these lines, each behind a bar.
    """
    try:
        pretty = msgspec.json.format(arguments.encode(), indent=2).decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return list(_lines(arguments))
    shown: list[str] = []
    for line in pretty.split("\n"):
        found = _STRING_LINE.fullmatch(line)
        if found is None or "\\n" not in found[2] or "\n" not in (value := str(json.loads(found[2]))):
            shown += _lines(line)
            continue
        before = found[1].rstrip(" ") or found[1] + "-"
        bar = " " * (len(found[1]) - len(found[1].lstrip(" ")) + 2) + "│ "
        shown.append(visible(before))
        shown += [bar + "\t".join(visible(part) for part in one.split("\t")) for one in value.split("\n")]
    return shown
