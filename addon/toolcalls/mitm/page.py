"""The page inside mitmweb, `/toolcalls`: sessions, their turns and the scorecard of the flows that mitmweb has.

It is mitmweb's: its port, its login (every method of a subclass of its `RequestHandler` asks for it), no cookie or
token of its own. The policy that a browser is given is stricter: styles and scripts from here, and nothing else.

Nothing is done while nobody looks. A look brings the turns up to date with mitmweb's flows: those that are new or have
another report are told, in a thread, so that the loop goes on, and no more at a time than take a moment; the page asks
again every second and gets what has changed. What is shown is bounded as `Sessions` is.
"""

import asyncio
import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any

from mitmproxy import ctx, http
from mitmproxy.tools.web.app import RequestHandler

from toolcalls.insight import page
from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import told
from toolcalls.mitm import store
from toolcalls.mitm.seen import is_told, seen

logger = logging.getLogger(__name__)

PATH = "/toolcalls"
_MOMENT = 0.5  # seconds that one look may take to tell new turns
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Page:
    """An addon that gives mitmweb its page, and does nothing in mitmdump and in the console."""

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
        own = {"page": self}
        app.add_handlers(
            r".*",
            [
                (PATH + r"/?", Overview, own),
                (PATH + r"/session", OneSession, own),
                (PATH + r"/page\.css", Style),
                (PATH + r"/live\.js", Script),
            ],
        )
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
                self.sessions.put(await asyncio.to_thread(told, seen(flow)))

    @property
    def revision(self) -> str:
        """Another text for whatever would be shown otherwise."""
        return f"{self.sessions.revision}.{self.streaming}"


def _streams(flow: http.HTTPFlow) -> bool:
    response = flow.response
    return response is not None and getattr(response.stream, "is_toolcalls_tap", False) and not is_told(flow)


class _Handler(RequestHandler):
    """What all of the page's answers have in common."""

    def set_default_headers(self) -> None:
        """mitmweb's, with a stricter policy."""
        super().set_default_headers()
        self.set_header("Content-Security-Policy", _POLICY)
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")

    def auth_fail(self, invalid_password: bool) -> None:  # noqa: ARG002 - mitmweb's signature
        """Who has not logged in is told where."""
        self.write('<!doctype html><title>Tool calls</title><p>Log in at <a href="/">mitmweb</a> first.</p>')


class _Shown(_Handler):
    """A page that is asked for again with `since`: 204 when it would be the same, else its new content as JSON."""

    def initialize(self, page: Page) -> None:
        self.page = page

    def content(self) -> str:
        """What is shown."""
        raise NotImplementedError

    async def get(self) -> None:
        """The page, or what is new of it."""
        await self.page.refresh(list(self.view))
        since = self.get_query_argument("since", None)
        if since is None:
            self.write(page.live_page(self.content(), self.page.revision))
        elif since == self.page.revision:
            self.set_status(204)
        else:
            self.write({"revision": self.page.revision, "html": self.content()})


class Overview(_Shown):
    """All sessions and the scorecard."""

    def content(self) -> str:
        return page.live_overview(self.page.sessions, self.page.streaming)


class OneSession(_Shown):
    """One session, by the query parameter `id`."""

    def content(self) -> str:
        return page.live_session(self.page.sessions.one(self.get_query_argument("id", "")))


class Style(_Handler):
    """The style sheet."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/css; charset=utf-8")
        self.write(page.style())


class Script(_Handler):
    """The script."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.write(page.script())
