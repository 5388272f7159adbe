"""What answers under `/toolcalls` in mitmweb: its port and its login, no cookie or token of our own.

Every method of a subclass of mitmweb's `RequestHandler` asks for the login. The policy that a browser is given is
stricter than mitmweb's: styles and scripts from here, and nothing else. Loaded in mitmweb only.
"""

from typing import Any

from mitmproxy.tools.web.app import RequestHandler

from toolcalls.insight import page as pages
from toolcalls.mitm.page import PATH, Page

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def of(page: Page) -> list[tuple[Any, ...]]:
    """The handlers of a page, as tornado wants them."""
    own = {"page": page}
    return [
        (PATH + r"/?", Overview, own),
        (PATH + r"/session", OneSession, own),
        (PATH + r"/page\.css", Style),
        (PATH + r"/live\.js", Script),
    ]


class _Handler(RequestHandler):
    """What all of the page's answers have in common."""

    def set_default_headers(self) -> None:
        """mitmweb's, with a stricter policy."""
        RequestHandler.set_default_headers(self)
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
            revision = self.page.revision  # before the drawing: what comes meanwhile is asked for once more
            self.write(pages.live_page(await self.page.drawn(self.content), revision))
        elif since == self.page.revision:
            self.set_status(204)
        else:
            revision = self.page.revision
            self.write({"revision": revision, "html": await self.page.drawn(self.content)})


class Overview(_Shown):
    """All sessions and the scorecard."""

    def content(self) -> str:
        return pages.live_overview(self.page.sessions, self.page.streaming)


class OneSession(_Shown):
    """One session, by the query parameter `id`."""

    def content(self) -> str:
        return pages.live_session(self.page.sessions.one(self.get_query_argument("id", "")))


class Style(_Handler):
    """The style sheet."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/css; charset=utf-8")
        self.write(pages.style())


class Script(_Handler):
    """The script."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.write(pages.script())
