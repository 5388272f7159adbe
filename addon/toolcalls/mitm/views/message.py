"""The reply that a view is asked for: its report, both of its bodies and their times, live or from the flow's metadata.

While a reply streams, its tap has all of this and the flow has no report yet; so an open view shows the reply as far as
it came. Whatever is in metadata may come from a file, so nothing of it is trusted to have the right type.

Over WebSocket a reply is shown with the message that ends it, while it comes with its latest one: all messages of a
connection are on the screen at once. mitmweb shows the first of them only, so the latest replies are shown with the
answer to the upgrade, too (`latest_of`).

A few lines over 300: live and recorded, HTTP and WebSocket, end in the same `Reply`.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import contentviews, ctx, hooks, http

from toolcalls.flows.flow_metadata import REPORT, TIMES, UPSTREAM, answered_status
from toolcalls.flows.reply_forms import form_of
from toolcalls.flows.websocket.turns import END_TYPES, Turn, TurnReader, turn_reports, type_and_stream
from toolcalls.insight import report as reports
from toolcalls.mitm.in_progress import progress_of, replies_in_progress, tap_of
from toolcalls.replies.exchange import Exchange
from toolcalls.wires import Wire, all_wires
from toolcalls.wires.frames import Form

# When the pieces of a body came, in microseconds, and their sizes.
type Times = tuple[list[int], list[int]]

_MESSAGES = 1000  # of a connection that are read at once, and the seconds until the next
_REST = 0.01
_MOST_PIECES = 500_000  # a body in more pieces is shown without times


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that the addon has read, or reads now (`live`). `client` and `upstream` are without content coding.

    progress   what a reply that is live does at the moment
    replied   seconds from the request's beginning to the reply's headers, from which the times count
    error     the status of the error that the upstream sent, whose body is `upstream`; None where it sent none
    """

    report: Mapping[str, Any]
    wire: Wire | None
    form: Form
    client: bytes
    upstream: bytes
    client_times: Times | None
    upstream_times: Times | None
    live: bool
    progress: str = ""
    replied: float | None = None
    error: int | None = None

    @property
    def changed(self) -> bool:
        """Whether the client got something else than the upstream sent."""
        return self.client is not self.upstream


def is_ours(metadata: contentviews.Metadata) -> bool:
    """Whether the message that is shown is a reply which the addon has read, or reads."""
    if metadata.websocket_message is not None:
        return _turn_of(metadata) is not None
    flow, message = metadata.flow, metadata.http_message
    if not isinstance(flow, http.HTTPFlow) or flow.response is None or message is not flow.response:
        return False
    return isinstance(flow.metadata.get(REPORT), dict) or tap_of(flow) is not None or bool(replies_in_progress(flow))


def report_of(flow: http.HTTPFlow) -> Mapping[str, Any] | None:
    """A flow's report, of a reply that streams as far as it came; None for a flow that the addon has not read."""
    report = flow.metadata.get(REPORT)
    if isinstance(report, dict):
        return report
    tap = tap_of(flow)
    coming = [exchange for _, exchange in replies_in_progress(flow)] if tap is None else [tap.exchange]
    return reports.make_report(coming[-1], model=coming[-1].call_policy.request.model) if coming else None


def reply_of(data: bytes, metadata: contentviews.Metadata) -> Reply:
    """The reply that is shown. Raises ValueError when the addon has not read this message.

    data   what mitmproxy shows: the client's body, without its coding
    """
    flow = metadata.flow
    if not is_ours(metadata) or not isinstance(flow, http.HTTPFlow) or flow.response is None:
        raise ValueError("the addon has not read this message")
    if (found := _turn_of(metadata) or next(iter(_turns_of(flow)[::-1]), None)) is not None:
        return _of_turn(found)
    report = report_of(flow) or {}
    wire = all_wires().get(str(report.get("wire")))
    form = form_of(wire, flow.request, flow.response, guarded=True) if wire else None  # it was read, whatever it says
    tap = tap_of(flow)
    mine: Times | None
    theirs: Times | None
    live = tap is not None and REPORT not in flow.metadata
    if live:
        left, came = tap.bodies.client(), tap.bodies.upstream
        client, upstream = left.content(), came.content()
        same = left is came or tap.encoded
        mine, theirs = (left.microseconds, left.sizes), (came.microseconds, came.sizes)
    else:
        client, upstream = data, flow.metadata.get(UPSTREAM)
        same = not isinstance(upstream, bytes)
        theirs = _recorded(flow.metadata.get(TIMES), "upstream")
        mine = _recorded(flow.metadata.get(TIMES), "client")
    upstream = upstream if isinstance(upstream, bytes) else data
    client = upstream if same else client if isinstance(client, bytes) else data
    return Reply(
        report,
        wire,
        form or "whole",
        client,
        upstream,
        _fitting(theirs if same else mine, client),
        _fitting(theirs, upstream),
        live=live,
        progress=progress_of(tap.exchange) if live else "",
        replied=_replied(flow.request.timestamp_start, flow.response.timestamp_start),
        error=answered_status(flow),
    )


@dataclass(frozen=True, slots=True)
class _Shown:
    """A reply over WebSocket with its report; `progress` is what one that is coming does, None for one that ended."""

    turn: Turn
    report: Mapping[str, Any]
    progress: str | None = None


class _Looking:
    """What is known of a connection while it is looked at, since every message of it is shown.

    state   how many messages and reports there were
    unread  how many messages are still to be read, which goes on between the proxy's other work
    turns   the replies in the order of their requests
    shown   the same by the ids of the messages that show them: these live as long as their flow
    """

    def __init__(self) -> None:
        self.reading = TurnReader()
        self.state = (0, 0)
        self.unread = 0
        self.timer: asyncio.TimerHandle | None = None
        self.turns: list[_Shown] = []
        self.shown: dict[int, _Shown] = {}


_looking: WeakKeyDictionary[http.HTTPFlow, _Looking] = WeakKeyDictionary()


def _turn_of(metadata: contentviews.Metadata) -> _Shown | None:
    """The turn that the message shown ends, or is the latest of; None for any other message."""
    flow, message = metadata.flow, metadata.websocket_message
    if message is None or message.from_client or not isinstance(flow, http.HTTPFlow) or flow.websocket is None:
        return None
    if not replies_in_progress(flow) and type_and_stream(message.content)[0] not in END_TYPES:
        return None
    return _look(flow).shown.get(id(message))


def _turns_of(flow: http.HTTPFlow) -> list[_Shown]:
    """The replies of a connection that were read or are coming; [] for any other flow."""
    return [] if flow.websocket is None else _look(flow).turns


@dataclass(frozen=True, slots=True)
class Latest:
    """Of a connection: what each of its replies says in a line, and the latest replies, that one first.

    unread   how many messages after these are not read yet
    """

    said: list[str]
    replies: list[Reply]
    unread: int


def latest_of(metadata: contentviews.Metadata, most: int) -> Latest | None:
    """What is shown with the answer to an upgrade; None for any other message."""
    flow = metadata.flow
    if metadata.websocket_message is not None or not isinstance(flow, http.HTTPFlow) or not _turns_of(flow):
        return None
    known = _look(flow)
    said = [str(one.report["summary"]) if one.progress is None else f"{one.progress} (coming)" for one in known.turns]
    return Latest(said, [_of_turn(one) for one in known.turns[-most:][::-1]], known.unread)


def _look(flow: http.HTTPFlow) -> _Looking:
    """What is known of a connection by now."""
    messages = flow.websocket.messages if flow.websocket is not None else []
    reports = turn_reports(flow)
    known = _looking.setdefault(flow, _Looking())
    state = len(messages), hash(tuple(map(id, reports)))
    if known.state != state and known.timer is None:
        ended = {int(one["number"]): one for one in reports}
        news, kept = known.reading.new_messages(flow)
        at_once = len(news) if _loop() is None else _MESSAGES
        known.reading.read(news[:at_once], kept)
        known.unread = len(news[at_once:])
        places = list(_places(known.reading.turns, ended, dict(replies_in_progress(flow))))
        known.turns = [shown for _, shown in places]
        known.shown = {id(messages[place]): shown for place, shown in places}
        known.state = (0, 0) if known.unread else state
        _read_on(flow, known)
    return known


def _loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _read_on(flow: http.HTTPFlow, known: _Looking) -> None:
    """Read the rest of a long connection in small parts, and then show it once more."""
    loop = _loop()
    if not known.unread or known.timer is not None or loop is None:
        return

    def go_on() -> None:
        known.timer = None
        news, kept = known.reading.new_messages(flow)
        known.reading.read(news[:_MESSAGES], kept)
        known.unread = len(news[_MESSAGES:])
        if known.unread:
            _read_on(flow, known)
        else:
            ctx.master.addons.trigger(hooks.UpdateHook([flow]))

    known.timer = loop.call_later(_REST, go_on)


def _places(
    turns: Iterable[Turn], ended: Mapping[int, Mapping[str, Any]], coming: Mapping[int, Exchange]
) -> Iterator[tuple[int, _Shown]]:
    """The replies with the places of the messages that show them."""
    for turn in turns:
        if turn.ended is not None and turn.number in ended:
            yield turn.messages[-1], _Shown(turn, ended[turn.number])
        elif (exchange := coming.get(turn.number)) is not None and len(turn.messages) > 1:
            report = reports.make_report(exchange, model=exchange.call_policy.request.model)
            yield turn.messages[-1], _Shown(turn, report, progress_of(exchange))


def _of_turn(shown: _Shown) -> Reply:
    """A reply over WebSocket. Its times count from the request."""
    turn, report = shown.turn, shown.report
    upstream, client = turn.upstream.body, turn.client.body
    client = upstream if client == upstream else client
    theirs, mine = (side.microseconds for side in (turn.upstream, turn.client))
    return Reply(
        report,
        all_wires().get(str(report.get("wire"))),
        "ndjson",
        client,
        upstream,
        _fitting((mine, turn.client.sizes), client),
        _fitting((theirs, turn.upstream.sizes), upstream),
        live=shown.progress is not None,
        progress=shown.progress or "",
        replied=0.0,
    )


def moment_of(times: Times, offset: int | None) -> int | None:
    """When the byte before an offset came, in microseconds."""
    if offset is None or not times[0]:
        return None
    return times[0][min(bisect_left(list(accumulate(times[1])), offset), len(times[0]) - 1)]


def _replied(began: float | None, replied: float | None) -> float | None:
    return None if began is None or replied is None else max(0.0, replied - began)


def _recorded(times: Any, side: str) -> Times | None:
    one = times.get(side) if isinstance(times, dict) else None
    if not isinstance(one, dict):
        return None
    moments, sizes = one.get("microseconds"), one.get("bytes")
    return (moments, sizes) if isinstance(moments, list) and isinstance(sizes, list) else None


def _fitting(times: Times | None, body: bytes) -> Times | None:
    """The times if they are this body's."""
    if times is None or len(times[0]) != len(times[1]) or len(times[0]) > _MOST_PIECES:
        return None
    try:
        return times if sum(times[1]) == len(body) else None
    except TypeError:
        return None
