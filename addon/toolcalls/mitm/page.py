"""The page inside mitmweb, `/toolcalls`: sessions, their turns and the scorecard of the flows that mitmweb has.

Nothing is done while nobody looks. A look brings the turns up to date with mitmweb's flows: those that are new or have
another report are told, in a thread, so that the loop goes on, and no more at a time than take a moment; the page asks
again every second and gets what has changed. What is shown is bounded as `Sessions` is.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from time import monotonic
from typing import Any

from mitmproxy import ctx, http

from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import told
from toolcalls.mitm import store
from toolcalls.mitm.seen import is_told, seen

logger = logging.getLogger(__name__)

PATH = "/toolcalls"
_MOMENT = 0.5  # seconds that one look may take to tell new turns


class Page:
    """An addon that gives mitmweb its page, and does nothing in mitmdump and in the console."""

    name = "toolcalls_page"  # mitmproxy knows addons by their names

    def __init__(self) -> None:
        self.sessions = Sessions()
        self.streaming = 0
        self._reports: dict[str, Mapping[str, Any]] = {}  # of each flow that was told, the report it had then
        self._lock = asyncio.Lock()
        self._rules: list[Any] = []

    def running(self) -> None:
        """Add the page. Only mitmweb has an application to add it to."""
        app: Any = getattr(ctx.master, "app", None)
        if app is None or self._rules:
            return
        before = list(app.default_router.rules)
        # Only now: it brings mitmweb's modules, which mitmdump has not loaded.
        handlers: Any = import_module("toolcalls.mitm.handlers")
        app.add_handlers(r".*", handlers.of(self))
        self._rules = [rule for rule in app.default_router.rules if rule not in before]
        host = ctx.options.web_host
        shown = f"[{host}]" if ":" in host else host
        logger.info(f"toolcalls: sessions and scorecard at http://{shown}:{ctx.options.web_port}{PATH}")

    def done(self) -> None:
        """Take the page away, so that a reload can bring its own."""
        app: Any = getattr(ctx.master, "app", None)
        for rule in self._rules:
            if app is not None and rule in app.default_router.rules:
                app.default_router.rules.remove(rule)
        self._rules = []

    async def refresh(self, flows: list[object]) -> None:
        """Bring the sessions up to date with mitmweb's flows."""
        async with self._lock:
            here = {flow.id: flow for flow in flows if isinstance(flow, http.HTTPFlow)}
            for gone in self._reports.keys() - here.keys():
                del self._reports[gone]
                self.sessions.discard(gone)
            self.streaming = sum(map(_streams, here.values()))
            until = monotonic() + _MOMENT
            for flow in here.values():
                if not is_told(flow) or self._reports.get(flow.id) is flow.metadata[store.REPORT]:
                    continue
                if monotonic() > until:
                    break
                self._reports[flow.id] = flow.metadata[store.REPORT]
                try:
                    self.sessions.put(await asyncio.to_thread(told, seen(flow)))
                except Exception:  # one flow that cannot be told must not hide the others
                    logger.exception(f"toolcalls: flow {flow.id} is not shown on the page")

    async def drawn(self, content: Callable[[], str]) -> str:
        """What `content` makes of the sessions, in a thread, while they stay as they are."""
        async with self._lock:
            return await asyncio.to_thread(content)

    @property
    def revision(self) -> str:
        """Another text for whatever would be shown otherwise."""
        return f"{self.sessions.revision}.{self.streaming}"


def _streams(flow: http.HTTPFlow) -> bool:
    response = flow.response
    return response is not None and getattr(response.stream, "is_toolcalls_tap", False) and not is_told(flow)
