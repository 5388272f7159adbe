"""The reply that a view is asked for: its report, both of its bodies and their times, live or from the flow's metadata.

While a reply streams, its tap has all of this and the flow has no report yet; so an open view shows the reply as far as
it came. Whatever stands in metadata may come from a file, so nothing of it is trusted to have the right type.

Over WebSocket a reply is shown with the message that ends it: all messages of a connection are on the screen at once.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import contentviews, http

from toolcalls import report as reports
from toolcalls.frames import Form
from toolcalls.mitm.connection import ENDS, Turn, about, reports_of, turns_of
from toolcalls.mitm.store import REPORT, TIMES, UPSTREAM
from toolcalls.mitm.telling import telling
from toolcalls.wires import Wire, all_wires

# When the pieces of a body came, in microseconds, and their sizes.
type Times = tuple[list[int], list[int]]

_MOST_PIECES = 500_000  # a body in more pieces is shown without times


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that the addon has read, or reads now (`live`). `client` and `upstream` are without content coding.

    telling   what a reply that is live does at the moment
    replied   seconds from the request's beginning to the reply's headers, from which the times count
    """

    report: Mapping[str, Any]
    wire: Wire | None
    form: Form
    client: bytes
    upstream: bytes
    client_times: Times | None
    upstream_times: Times | None
    live: bool
    telling: str = ""
    replied: float | None = None

    @property
    def changed(self) -> bool:
        """Whether the client got something else than the upstream sent."""
        return self.client is not self.upstream


def tap_of(flow: http.HTTPFlow) -> Any:
    """The tap that reads a flow's reply now, None for no such. Also one that an older load of the addon made."""
    stream: Any = flow.response.stream if flow.response is not None else None
    return stream if getattr(stream, "is_toolcalls_tap", False) else None


def is_ours(metadata: contentviews.Metadata) -> bool:
    """Whether the message that is shown is a reply which the addon has read, or reads."""
    if metadata.websocket_message is not None:
        return _turn_of(metadata) is not None
    flow, message = metadata.flow, metadata.http_message
    if not isinstance(flow, http.HTTPFlow) or flow.response is None or message is not flow.response:
        return False
    return isinstance(flow.metadata.get(REPORT), dict) or tap_of(flow) is not None


def report_of(flow: http.HTTPFlow) -> Mapping[str, Any] | None:
    """A flow's report, of a reply that streams as far as it came; None for a flow that the addon has not read."""
    report = flow.metadata.get(REPORT)
    if isinstance(report, dict):
        return report
    tap = tap_of(flow)
    return None if tap is None else reports.of(tap.exchange, model=tap.exchange.terms.request.model)


def reply_of(data: bytes, metadata: contentviews.Metadata) -> Reply:
    """The reply that is shown. Raises ValueError when the addon has not read this message.

    data   what mitmproxy shows: the client's body, without its coding
    """
    flow = metadata.flow
    if not is_ours(metadata) or not isinstance(flow, http.HTTPFlow) or flow.response is None:
        raise ValueError("the addon has not read this message")
    if (found := _turn_of(metadata)) is not None:
        return _of_turn(*found)
    report = report_of(flow) or {}
    wire = all_wires().get(str(report.get("wire")))
    form = wire.form(flow.request.path, flow.response.headers.get("content-type", "")) if wire else None
    tap = tap_of(flow)
    mine: Times | None
    theirs: Times | None
    live = tap is not None and REPORT not in flow.metadata
    if live:
        client, upstream = tap.client.whole(), tap.upstream.whole()
        same = tap.client is tap.upstream or tap.encoded
        mine = (tap.client.microseconds, tap.client.sizes)
        theirs = (tap.upstream.microseconds, tap.upstream.sizes)
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
        telling=telling(tap.exchange) if live else "",
        replied=_replied(flow.request.timestamp_start, flow.response.timestamp_start),
    )


# The turns of a connection with so many messages and reports, as every message of it is shown.
_turns: WeakKeyDictionary[http.HTTPFlow, tuple[tuple[int, int], dict[int, tuple[Turn, Mapping[str, Any]]]]]
_turns = WeakKeyDictionary()


def _turn_of(metadata: contentviews.Metadata) -> tuple[Turn, Mapping[str, Any]] | None:
    """The turn that the message shown ends, and its report; None for any other message."""
    flow, message = metadata.flow, metadata.websocket_message
    if message is None or message.from_client or not isinstance(flow, http.HTTPFlow) or flow.websocket is None:
        return None
    if about(message.content)[0] not in ENDS:
        return None
    reports = {one.get("number"): one for one in reports_of(flow)}
    state = len(flow.websocket.messages), len(reports)
    if (known := _turns.get(flow)) is None or known[0] != state:
        ended = [turn for turn in turns_of(flow) if turn.ended is not None and turn.number in reports]
        known = _turns[flow] = state, {turn.messages[-1]: (turn, reports[turn.number]) for turn in ended}
    place = next((place for place, one in enumerate(flow.websocket.messages) if one is message), -1)
    return known[1].get(place)


def _of_turn(turn: Turn, report: Mapping[str, Any]) -> Reply:
    """A reply over WebSocket. Its times count from the request."""
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
        live=False,
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
