"""The content view "Tool calls": what became of each call of a reply, and why, above the message itself.

Whoever opens it has an agent that printed a call as text, and wants four answers: did the model write a call, in which
dialect, what did the client get, and which rule said no. So a line for each verdict comes first, where there are
several; then each begins with what the model did, what the client got, and the rule, and what the model wrote and what
became of it follow. After them stand the client's message, when things happened, and why this was done.

It reads the report in the flow's metadata, so it shows what was decided when the reply came, and judges nothing again.
Whatever came from a model or a server is shown with its hidden characters as escapes: mitmproxy's own escaping lets
eight-bit control sequences and bidi controls through.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from mitmproxy import contentviews

from toolcalls.events import CallEnd, CallPiece, CallStart, Finish, Reasoning, Text
from toolcalls.insight.descriptions import (
    describe,
    describe_break,
    describe_briefly,
    describe_change,
    did_you_mean,
    is_changed,
    subject_of,
)
from toolcalls.insight.formatting import counted, duration, token_counts
from toolcalls.insight.report import GUARDED, NO_CALLS, cause_of, is_possible, visible
from toolcalls.insight.turn import is_whole
from toolcalls.insight.vocabulary.reasons import QUOTATIONS, remedy_of, with_sentence
from toolcalls.insight.vocabulary.statuses import POSSIBLY_LOST
from toolcalls.insight.vocabulary.words import NOTES, REPAIRS
from toolcalls.mitm.mitmweb import page_of
from toolcalls.mitm.views.defects import defects
from toolcalls.mitm.views.excerpt import Excerpt, excerpt
from toolcalls.mitm.views.lines import (
    below,
    clipped,
    data,
    folded,
    literal,
    pretty,
    quoted,
    remark,
    shortened,
    title,
    wrapped,
)
from toolcalls.mitm.views.lines import field as named
from toolcalls.mitm.views.message import Latest, Reply, is_ours, latest_of, moment_of, reply_of
from toolcalls.mitm.views.sides import room, side_by_side
from toolcalls.values.usage import Tokens, tokens_of
from toolcalls.wires import Wire

_KINDS = {
    "lift": "calls written as text become native calls",
    "lower": "native calls become text",
    "roundtrip": "calls in the text are read and written again as text",
    "process": "calls stay where they are; the route's rules and filters may change them",
    "observe": "nothing is changed, but what the route mends",
}

_NO_EVIDENCE = "the request declares no tools, and neither its prompt nor its history holds calls as text"

_PASSED = "from there on, the upstream's bytes were forwarded unchanged"

_PARAGRAPH = ("\n\n", "\n```", "\n~~~", "\n-->", "\n</think>")  # what ends one, or the quotation around it
_WRITTEN_LINES = 12  # of what the model wrote for one verdict; the whole of it is in the call or in the message
_WRITTEN_WIDTH = 240  # characters of one such line
_MOST_NOTES = 20  # of what processors say and do
_MOST_VERDICTS = 60  # of one reply; the rest is counted, and is in the report
_MOST_REPLIES = 4  # of one connection that are shown with the answer to its upgrade
_MOST_JSON = 256 * 1024  # characters of arguments that are laid out in one view
_MOST_TEXT = 32 * 1024  # characters of the client's text
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")
_LEGEND = (
    remark("→ a native call   │ a line of a text   ↳ the line above goes on   … something is left out"),
    remark('events and bytes: those of the view "Upstream body", which names calls by their number here, as [1]'),
)


class ToolCallsView(contentviews.Contentview):
    """For replies that the addon has read; the first choice for those, and for nothing else."""

    name = "Tool calls"
    syntax_highlight = "yaml"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """Each call with its verdict, as YAML. Raises ValueError when the addon has not read this message."""
        reply = reply_of(data, metadata)
        latest = latest_of(metadata, _MOST_REPLIES)
        lines = _lines(reply) if latest is None else _of_connection(latest)
        address = page_of(metadata.flow)  # one word, so that it can be copied
        page = [f"  page:      {address}"] if address else []
        return "\n".join(
            line or " " for line in (*lines, *page, *_LEGEND)
        )  # mitmweb gives a line without characters no height

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:  # noqa: ARG002 - mitmproxy's
        """Above every view of mitmproxy's own, where the addon reads the reply."""
        return 2 if is_ours(metadata) else -1


# --- what is said -----------------------------------------------------------------------------------------------------


def _lines(reply: Reply) -> Iterator[str]:
    sent = _read(reply.wire, excerpt(reply.upstream, reply.form), streamed=reply.form != "whole")
    got = sent
    if reply.changed:
        got = _read(reply.wire, excerpt(reply.client, reply.form), streamed=reply.form != "whole")
    yield from _head(reply)
    yield from _verdicts(reply.report, sent)
    yield from _error(reply)
    yield from _messages(got, live=reply.live)
    yield from _exchange(reply, got, sent)


def _of_connection(latest: Latest) -> Iterator[str]:
    """A WebSocket: a line for each of its replies, then the latest ones, that one first."""
    said = latest.said
    listed = list(enumerate(said, 1))
    yield remark(f"{counted(len(said), 'reply')} over this WebSocket, the latest first")
    if latest.unread:
        yield remark(f"the last {counted(latest.unread, 'message')} are being read; look again in a moment")
    yield ""
    for number, summary in listed[: -_MOST_VERDICTS - 1 : -1]:
        yield remark(f" {number:>4} {clipped(summary, 200) or 'no tool calls'}")
    if len(said) > _MOST_VERDICTS:
        yield remark(f" … {counted(len(said) - _MOST_VERDICTS, 'earlier reply')} …")
    for number, reply in zip(range(len(said), 0, -1), latest.replies, strict=False):
        yield ""
        yield title(f"REPLY {number}")
        yield from _lines(reply)


def _head(reply: Reply) -> Iterator[str]:
    report = reply.report
    summary = visible(report["summary"])
    if reply.live:
        yield from summed_up(f"the reply is still coming{': ' if reply.progress else ''}{reply.progress}")
    else:
        yield from summed_up(summary or f"{NO_CALLS} in this reply")
    yield ""
    if report["failure"] or report.get("judged") or report.get("current") or report.get("notes"):
        yield title("NOTES")
    if report["failure"]:
        yield from named("failed", f"{report['failure']}; {GUARDED if report.get('guarded') else _PASSED}")
    if report.get("judged"):
        yield from named("judged", f"{report['judged']}, by the configuration in use then; the bodies are as recorded")
        if recorded := report.get("recorded"):
            yield from named("recorded", recorded["summary"] or NO_CALLS)
    if current := report.get("current"):
        yield from named("recorded", "the verdicts are those of when the reply passed")
        yield from named("current", f"by the current configuration: {current['summary'] or NO_CALLS}")
    for note in islice(report.get("notes", ()), _MOST_NOTES):
        label = "perhaps" if is_possible(note["rule"]) else "warning" if note["warns"] else "noted"
        lost = f"{POSSIBLY_LOST}: " if is_possible(note["rule"]) else ""
        yield from named(label, f"{lost}{note['rule']}: {note['text']}")
        if (known := NOTES.get(note["rule"])) is not None:
            yield from named("means", known.sentence)
            yield from named("remedy", known.remedy)
    if report["failure"] or report.get("judged") or current or report.get("notes"):
        yield ""
    if len(report["verdicts"]) > 1:
        yield from _overview(report)


def summed_up(text: str) -> Iterator[str]:
    """The line at the top of a view, which says it all in short."""
    yield f"SUMMARY: {quoted(visible(text))}"


def _overview(report: Mapping[str, Any]) -> Iterator[str]:
    """A line for each verdict, so that many are seen at once."""
    yield title("CALLS")
    for number, verdict in enumerate(islice(report["verdicts"], _MOST_VERDICTS), 1):
        name = clipped(subject_of(verdict["name"], verdict["reason"]), 30)
        why = f" ({cause_of(verdict)})" if verdict["reason"] is not None else ""
        value = visible(f"{name}  {describe_briefly(verdict, report)}{why}")
        yield f"  {title(f'{number} {verdict["status"]}'):<13} {quoted(value)}"
    yield ""


def _exchange(reply: Reply, got: "_Message", sent: "_Message") -> Iterator[str]:
    """When it happened, what it cost, and what was done to the exchange for which reason."""
    yield title("EXCHANGE")
    times = [f"{name} {duration(moment)}" for name, moment in _times(reply, got, sent)]
    if times:
        yield from named("times", " · ".join(times) + ", since the request began")
    if said := token_counts(sent.tokens):
        yield from named("tokens", said)
    yield from what_is_done(reply.report)


def what_is_done(report: Mapping[str, Any], label: str = "reply") -> Iterator[str]:
    """What is done to an exchange, and why: the lines that the reply's and the request's view have in common."""
    yield from named("does", f"{report['kind']}: {_KINDS.get(report['kind'], 'no such kind is known here')}")
    yield from named("because", *(report["evidence"] or [_NO_EVIDENCE]))
    speaks = f"client {report['client']}, upstream {report['upstream']}"
    written = f", calls written as {report['dialect']}" if report["dialect"] else ""
    yield from named("route", f"{report['route']}: policy {report['policy']}, {speaks}{written}")
    yield from named(label, report["wire"] + (f", model {report['model']}" if report["model"] else ""))


def _times(reply: Reply, got: "_Message", sent: "_Message") -> Iterator[tuple[str, float]]:
    """The four moments of a reply, those that are known. A client that got text has its calls' times from upstream."""
    mine, theirs = reply.client_times, reply.upstream_times
    if mine is None or not mine[0] or reply.replied is None:
        return
    native, calls = (mine, got) if got.first_argument is not None or theirs is None else (theirs, sent)
    moments = {
        "first byte": mine[0][0],
        "first argument byte": moment_of(native, calls.first_argument),
        "call complete": moment_of(native, calls.call_complete) if is_whole(reply.report) else None,
        "so far" if reply.live else "end": mine[0][-1],
    }
    for name, moment in moments.items():
        if moment is not None:
            yield name, reply.replied + moment / 1e6


def _verdicts(report: Mapping[str, Any], sent: "_Message") -> Iterator[str]:
    verdicts = report["verdicts"]
    current = report.get("current", {}).get("verdicts", [])
    budget = _MOST_JSON
    width = room()
    for number, verdict in enumerate(islice(verdicts, _MOST_VERDICTS), 1):
        counted_ = f"{number} " if len(verdicts) > 1 else ""
        name = "" if verdict["name"] is None else f"  {verdict['name'][:200]}"
        yield title(f"{counted_}{verdict['status'].upper()}{name}")
        model, client = describe(verdict, report)
        yield from named("model", model)
        yield from named("client", client)
        reason = verdict["reason"]
        if reason is not None:
            rule = f"{verdict['rule']}, " if verdict.get("rule") else ""
            yield from named("rule", f"{rule}{with_sentence(reason, unknown='no such reason is known here')}")
            if guess := did_you_mean(verdict):
                yield from named("nearest", guess)
            if verdict.get("likely_meant"):
                yield from named("perhaps", f"{POSSIBLY_LOST}: {NOTES['likely_meant'].sentence}")
            if (unless := remedy_of(reason)) and not is_changed(verdict):
                yield from named("unless", unless)
        if where := describe_break(verdict):
            yield from named("broke", where)
        yield from defects(verdict)
        for change in islice(verdict.get("changes", ()), _MOST_NOTES):
            yield from _change(change)
        for repair in verdict["repairs"]:
            known = REPAIRS.get(repair)
            yield from named("repaired", f"{repair}: {known.sentence if known else 'no such repair is known here'}")
        arguments = verdict["arguments"]
        budget -= len(arguments or "")
        got = None if arguments is None else pretty(arguments) if budget >= 0 else folded(arguments, size=1024)
        if verdict["end"] and got is not None and width:
            yield from literal("call", side_by_side(_written(sent, verdict), got, width), width=width)
        else:
            if verdict["end"]:
                yield from literal("written", _written(sent, verdict))
            if got is not None:
                yield from data("call", got)
        if verdict["id"]:
            yield from named("id", verdict["id"])
        if verdict["end"]:
            place = f"characters {verdict['start']} to {verdict['end']} of the model's text"
            yield from named("where", place + _events(sent, verdict))
        for other in current[number - 1 : number]:
            if set(other["differs"]) - {"start", "end"}:
                yield from named("current", _in_short(other, report))
        yield ""
    if len(verdicts) > _MOST_VERDICTS:
        yield remark(f"… {counted(len(verdicts) - _MOST_VERDICTS, 'more verdict')} in the flow's report …")
        yield ""
    new = current[len(verdicts) :][:_MOST_VERDICTS]
    if new:
        yield title("BY THE CURRENT CONFIGURATION")
    for other in new:
        yield from named("current", f"and {_in_short(other, report)}")
        yield ""


def _in_short(verdict: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """What the current configuration says of a call; `report` is the one that holds it."""
    name = clipped(subject_of(verdict["name"], verdict["reason"]), 30)
    why = f": {cause_of(verdict)}" if verdict["reason"] is not None else ""
    also = ", with other arguments" if "arguments" in verdict["differs"] and "status" not in verdict["differs"] else ""
    return f"{verdict['status']} {name}, {describe_briefly(verdict, report)}{why}{also}"


def _change(change: Mapping[str, Any]) -> Iterator[str]:
    """What a processor did to a call, before and after."""
    name, arguments = change["before"]
    by = f"by {change['rule']}: {describe_change(change)}" if change["after"] else f"taken away by {change['rule']}"
    yield from named("changed", visible(by))
    yield from literal("before", [visible(name[:200]), *folded(arguments, size=1024)])
    if change["after"]:
        name, arguments = change["after"]
        yield from literal("after", [visible(name[:200]), *folded(arguments, size=1024)])


def _events(sent: "_Message", verdict: Mapping[str, Any]) -> str:
    """Which events of "Upstream body" brought a candidate; "" where that is not known, or there is but one."""
    lane = sent.lanes.get(verdict["lane"])
    found = [one for one in (lane.brought if lane else ()) if one.start < verdict["end"] and verdict["start"] < one.end]
    if not found or found[-1].end < verdict["end"]:
        return ""
    first, last = found[0], found[-1]
    events = f"event {first.number}" if first is last else f"events {first.number} to {last.number}"
    return f'; {events} of "Upstream body", bytes {first.begins} to {last.ends}'


def _written(sent: "_Message", verdict: Mapping[str, Any]) -> Iterator[str]:
    """What the model wrote of a candidate. One that was not read to its end is shown to the end of its line, and a
    quoted one, of which nothing was read but its beginning, to the end of its paragraph or code block.
    """
    lane = sent.lanes.get(verdict["lane"])
    text = lane.text if lane else ""
    start, end = verdict["start"], verdict["end"]
    if start >= len(text) and sent.left_out:
        yield "(it is in the part of the body that is not read here)"
        return
    if verdict["status"] in {"declined", "malformed"}:
        stops = _PARAGRAPH if verdict["reason"] in QUOTATIONS else ("\n",)
        end = min(place for place in (*(text.find(stop, end) for stop in stops), len(text)) if place >= 0)
    yield from shortened(text[start:end].rstrip("\n"), _WRITTEN_LINES, _WRITTEN_WIDTH)


def _error(reply: Reply) -> Iterator[str]:
    """The error that the client got a reply instead of."""
    if reply.error is None:
        return
    said = reply.upstream.decode("utf-8", "replace")
    yield from below(title(f"SERVER SENT status {reply.error}"), 4, wrapped(folded(said, lines=40, tail=10, size=8192)))
    yield ""


def _messages(got: "_Message", *, live: bool) -> Iterator[str]:
    """What the client got, per lane: reasoning, text, calls, how it ended and what it cost."""
    for number, lane in got.lanes.items():
        unended = "it is still coming" if live else "it was cut off"
        ended = unended if lane.reason is None else f"finish {lane.reason or '(no reason given)'}"
        which = f" ({got.kind} {number})" if len(got.lanes) > 1 else ""
        yield from below(title(f"CLIENT GOT{which}, {ended}"), 4, _lane(lane))
        yield ""
    if got.left_out:
        yield remark(f"… {counted(got.left_out, 'byte')} in the middle of the body are not read here …")


def _lane(lane: "_Lane") -> Iterator[str]:
    if lane.reasoning:
        reasoning = "".join(lane.reasoning)
        yield f"(reasoning, {counted(len(reasoning), 'character')})"
        yield from (f"│ {line}" for line in wrapped(folded(reasoning, lines=40, tail=10, size=8192)))
    room_left = _MOST_TEXT
    for text, calls in _in_sequence(lane):
        if text.strip():
            yield from wrapped(folded(text, size=max(1024, room_left)))
        room_left -= len(text)
        for name, pieces in calls:
            yield from wrapped([f"→ {clipped(name, 100)} {clipped(''.join(pieces), 240)}"])
    if not lane.text and not lane.calls:
        yield "(no text)"


def _in_sequence(lane: "_Lane") -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """The text in its parts, each with the calls that come after it. The blank lines around calls, between which the
    model had written them, are left out, but for one where text goes on.
    """
    calls = list(islice(lane.calls.items(), _MOST_VERDICTS))
    places = [lane.places.get(index, len(lane.pieces)) for index, _ in calls]
    at = 0
    for number, (place, (_, call)) in enumerate(zip(places, calls, strict=True)):
        if number and place == places[number - 1]:
            continue
        behind = zip(places[number + 1 :], calls[number + 1 :], strict=True)
        beside = [call, *(one for other, (_, one) in behind if other == place)]
        yield _beside_a_call("".join(lane.pieces[at:place]), first=not at, last=False), beside
        at = place
    yield _beside_a_call("".join(lane.pieces[at:]), first=not calls, last=True), []


def _beside_a_call(text: str, *, first: bool, last: bool) -> str:
    if not first and text.strip():
        text = "\n" + _BLANK_LINES.sub("", text, count=1).lstrip("\n")
    return text.rstrip("\n") if last else text.rstrip()


# --- what is read -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Brought:
    """One event's part of a choice's text: characters `start` to `end`. Events count from 1, as in the view of a body.

    begins, ends   its bytes in the body
    """

    number: int
    start: int
    end: int
    begins: int
    ends: int


@dataclass(slots=True)
class _Lane:
    """One choice of a reply. `reason` is None for one that did not end, "" for one that ended without a reason.

    places   how many of `pieces` come before each call
    """

    pieces: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, tuple[str, list[str]]] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    reason: str | None = None
    brought: list[_Brought] = field(default_factory=list)  # by the events of the body's beginning

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True)
class _Message:
    """What a body says. `left_out` bytes in its middle were not read; a lane's text has a line in their place.
    `kind` is what its lanes are.

    first_argument, call_complete   offsets after the events that brought the first and the last byte of arguments;
                                    None where there is none, a call is not whole, or the middle may hold it
    """

    lanes: dict[int, _Lane] = field(default_factory=dict)
    left_out: int = 0
    kind: str = "choice"
    tokens: Tokens = field(default_factory=Tokens)
    first_argument: int | None = None
    call_complete: int | None = None


def _read(wire: Wire | None, body: Excerpt, *, streamed: bool) -> _Message:
    message = _Message(left_out=body.left_out)
    if wire is None:
        return message
    message.kind = "block" if wire.sequential_lanes else "choice"
    codec = wire.decoder(streamed=streamed)
    offsets: list[tuple[int, int]] = []
    if not streamed and body.frames and body.frames[0].data is None:
        message.left_out = len(body.frames[0].raw)
    counted_events = 0
    for number, frame in enumerate(body.frames):
        counted_events += bool(frame.raw.strip(b"\r\n"))
        if number == len(body.head):
            for lane in message.lanes.values():
                lane.pieces.append(f"\n… {counted(body.left_out, 'byte')} of the body are not read here …\n")
        if frame.data is None:
            continue
        for place, event in codec.decode(frame.data):
            lane = message.lanes.setdefault(place, _Lane())
            if isinstance(event, Text):
                if streamed and number < len(body.head):
                    start, begins = lane.brought[-1].end if lane.brought else 0, body.starts[number]
                    end = start + len(event.text)
                    lane.brought.append(_Brought(counted_events, start, end, begins, begins + len(frame.raw)))
                lane.pieces.append(event.text)
            elif isinstance(event, Reasoning):
                lane.reasoning.append(event.text)
            elif isinstance(event, CallStart):
                lane.calls[event.index] = (event.name, [])
                lane.places[event.index] = len(lane.pieces)
            elif isinstance(event, CallPiece):
                lane.calls.setdefault(event.index, ("", []))[1].append(event.json)
                if event.json:
                    offsets.append((number, body.starts[number] + len(frame.raw)))
            elif isinstance(event, CallEnd):
                lane.ended.add(event.index)
            elif isinstance(event, Finish):
                lane.reason = event.reason
    speak = body.frames if len(body.frames) <= 12 else (*body.frames[:4], *body.frames[-8:])
    message.tokens = tokens_of([frame.data for frame in speak if frame.data is not None])
    if offsets:
        (first, begun), (last, complete) = offsets[0], offsets[-1]
        whole = all(lane.ended >= lane.calls.keys() for lane in message.lanes.values())
        message.first_argument = begun if not body.left_out or first < len(body.head) else None
        message.call_complete = complete if whole and (not body.left_out or last >= len(body.head)) else None
    return message
