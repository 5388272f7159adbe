"""What mitmproxy's list and its open views show while a reply streams.

The way of the bytes knows nothing of it: a timer looks at the replies that are coming, a few times a second, and only
where somebody can see them (mitmweb, the console). For each that grew it puts the body so far and a comment into the
flow and tells mitmproxy that the flow has changed. Copying a body that has grown large takes time, so it is then shown
less often: what a reply costs here stays a small part of a second per second, however long it is.

A comment of the user's own is never touched; ours is taken back before the reply's report brings its summary. On a
connection with several replies (WebSocket) the summary of those that have ended stays in front of what the next does.
"""

import asyncio
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import contentviews, ctx, hooks, http

from toolcalls.flows import flow_metadata
from toolcalls.mitm.in_progress import progress_of, replies_in_progress
from toolcalls.mitm.response_tap import ResponseTap

INTERVAL = 0.3  # seconds between two looks at a reply
_MOST = 8  # replies that are shown at one look; others have their turn at the next
_BYTES_A_SECOND = 8 * 1024 * 1024  # a body is copied and drawn anew no faster than this


class _Shown:
    """What the list shows of one reply, and when it may be looked at again."""

    __slots__ = ("comment", "due", "size")

    def __init__(self) -> None:
        self.comment = ""
        self.size = -1
        self.due = 0.0


class Live:
    """The replies that are coming. Nothing runs while there are none, or while nobody looks."""

    def __init__(self) -> None:
        self._shown: WeakKeyDictionary[http.HTTPFlow, _Shown] = WeakKeyDictionary()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, flow: http.HTTPFlow) -> None:
        """A reply begins to stream through a tap, or is awaited on a connection; it may be said more than once."""
        if flow in self._shown or "view" not in ctx.master.addons.lookup:  # mitmdump: there is no list
            return
        self._shown[flow] = _Shown()
        self._wait()

    def end(self, flow: http.HTTPFlow) -> None:
        """The reply is over; what comes now is its report."""
        shown = self._shown.pop(flow, None)
        if shown is None:
            return
        _take_back(flow, shown)
        asyncio.get_running_loop().call_soon(redraw)

    def stop(self) -> None:
        """The addon goes: nothing of what was shown stays after."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for flow, shown in self._shown.items():
            _take_back(flow, shown)
        self._shown.clear()

    def _wait(self) -> None:
        if self._timer is None and self._shown:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._look)

    def _look(self) -> None:
        self._timer = None
        now = monotonic()
        due = sorted((shown.due, number, flow) for number, (flow, shown) in enumerate(list(self._shown.items())))
        changed = [flow for when, _, flow in due[:_MOST] if when <= now and self._refresh(flow, now)]
        if changed:
            ctx.master.addons.trigger(hooks.UpdateHook(changed))
        self._wait()

    def _refresh(self, flow: http.HTTPFlow, now: float) -> bool:
        """Put what came so far into the flow. Whether there was anything new."""
        if flow.websocket is not None:
            return self._refresh_connection(flow, now)
        shown, response = self._shown[flow], flow.response
        tap: Any = response.stream if response is not None else None
        if response is None or not isinstance(tap, ResponseTap):
            del self._shown[flow]
            return False
        size = tap.bodies.upstream.size
        shown.due = now + max(INTERVAL, size / _BYTES_A_SECOND)
        if size == shown.size:
            return False
        shown.size = size
        body = tap.bodies.client().content()
        if body is not None:
            response.raw_content = body
        _comment(flow, shown, progress_of(tap.exchange))
        return True

    def _refresh_connection(self, flow: http.HTTPFlow, now: float) -> bool:
        """The same for a connection. mitmproxy has its messages already."""
        shown, coming = self._shown[flow], replies_in_progress(flow)
        if not coming:
            del self._shown[flow]
            return False
        shown.due = now + INTERVAL
        size = 0 if flow.websocket is None else len(flow.websocket.messages)
        if size == shown.size:
            return False
        shown.size = size
        parts = [_told(flow), *(progress_of(exchange) for _, exchange in coming)]
        _comment(flow, shown, " · ".join(filter(None, parts)))
        return True


def _told(flow: http.HTTPFlow) -> str:
    """The comment that the flow's report gives; "" where it has none yet."""
    report = flow.metadata.get(flow_metadata.REPORT)
    return flow_metadata.comment_of(report) if isinstance(report, dict) else ""


def _comment(flow: http.HTTPFlow, shown: _Shown, comment: str) -> None:
    if flow.comment in {"", shown.comment, _told(flow)}:
        flow.comment = shown.comment = comment


def _take_back(flow: http.HTTPFlow, shown: _Shown) -> None:
    if shown.comment and flow.comment == shown.comment:
        flow.comment = _told(flow)


def redraw() -> None:
    """Make the console ask its views again: it remembers their text by the body, and a report is not in the body."""
    contentviews.registry.on_change.send(contentviews.registry["tool calls"])
