"""The tornado handlers below `/toolcalls` in mitmweb, on its port and with its login.

Subclasses of mitmweb's `RequestHandler` ask for the login in every method. The content security policy is stricter than
mitmweb's: styles and scripts from here, and nothing else. Loaded in mitmweb only.
"""

from typing import Any

from mitmproxy.tools.web.app import RequestHandler

from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.insight import page as pages
from toolcalls.insight.exchange_record import flow_of
from toolcalls.insight.session_page import Block
from toolcalls.mitm.page import PATH
from toolcalls.mitm.page.state import PageState

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def handlers_of(state: PageState) -> list[tuple[Any, ...]]:
    """The page's handlers as tornado takes them: path, class, arguments of `initialize`."""
    own = {"state": state}
    return [
        (PATH + r"/?", OverviewPage, own),
        (PATH + r"/session", SessionPage, own),
        (PATH + r"/why", WhyPage, own),
        (PATH + r"/turn", TurnPlace, own),
        (PATH + r"/exchanges", Rows, own),
        (PATH + r"/copy", Copy, own),
        (PATH + r"/page\.css", Style),
        (PATH + r"/(page|live)\.js", Script),
    ]


class _Handler(RequestHandler):
    """Headers and login of all answers."""

    def set_default_headers(self) -> None:
        """mitmweb's, with a stricter policy."""
        RequestHandler.set_default_headers(self)
        self.set_header("Content-Security-Policy", _POLICY)
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")

    def auth_fail(self, invalid_password: bool) -> None:  # noqa: ARG002 - mitmweb's signature
        """Link to the login."""
        self.write('<!doctype html><title>Tool calls</title><p>Log in at <a href="/">mitmweb</a> first.</p>')


class _LivePage(_Handler):
    """A page that is asked for again with `since`, the revision that a browser has: 204 when that is the latest, else
    the keys of its blocks in order as JSON, each with its HTML if that has changed. `more`: there was no time for all.
    """

    def initialize(self, state: PageState) -> None:
        self.state = state

    def content(self) -> list[Block]:
        """The blocks of the page."""
        raise NotImplementedError

    @property
    def page_key(self) -> str:
        """Which of the pages this is."""
        raise NotImplementedError

    @property
    def stamp(self) -> object:
        """What the content depends on besides the sessions (`PageState.rendered`)."""
        return self.state.prices

    @property
    def shown(self) -> object:
        """What of the sessions the content depends on; None for all of them (`PageState.rendered`)."""
        return None

    async def prepare_content(self) -> bool:
        """Do what must be done before `content`. Returns whether there was no time for all of it."""
        return await self.state.follow(self.view)

    async def get(self) -> None:
        """The page, or what is new of it."""
        more = await self.prepare_content()
        view = await self.state.rendered(self.page_key, self.content, self.stamp, self.shown)
        revision = self.state.revision(view)
        since = self.get_query_argument("since", None)
        if since is None:
            self.write(pages.live_page(view.blocks, revision))
        elif since == revision and not more:
            self.set_status(204)
        else:
            blocks = view.since(self.state.known(view, since))
            self.write({"revision": revision, "blocks": blocks, "more": more})


class OverviewPage(_LivePage):
    """All sessions and the scorecard."""

    page_key = "overview"

    def content(self) -> list[Block]:
        return pages.live_overview(self.state.sessions, self.state.prices)


class SessionPage(_LivePage):
    """One session, by the query parameter `id`; of a long one the turns of a `page`, the latest ones without it."""

    @property
    def page_key(self) -> str:
        return f"session {self.get_query_argument('page', '')} {self.get_query_argument('id', '')}"

    @property
    def shown(self) -> object:
        return self.state.sessions.one(self.get_query_argument("id", ""))

    def content(self) -> list[Block]:
        page = self.get_query_argument("page", "")
        session = self.state.sessions.one(self.get_query_argument("id", ""))
        return pages.live_session(session, self.state.prices, int(page) if page.isdecimal() else None)


class WhyPage(_LivePage):
    """What each condition says of each candidate of one flow, by the query parameter `id`."""

    @property
    def page_key(self) -> str:
        return f"why {self.get_query_argument('id', '')}"

    async def prepare_content(self) -> bool:
        flow = self.view.get_by_id(self.get_query_argument("id", ""))
        try:
            self.blocks = await self.state.why(flow)
        except ReplyNotParsed as reason:
            self.blocks = pages.live_why(None, [["", str(reason), ""]])
        return False

    @property
    def stamp(self) -> object:
        return None  # it is made already

    def content(self) -> list[Block]:
        return self.blocks


class TurnPlace(_Handler):
    """Leads to the last turn of the flow `id` on its session's page; to the list where it is no turn (any more)."""

    def initialize(self, state: PageState) -> None:
        self.state = state

    async def get(self) -> None:
        await self.state.follow(self.view)
        self.redirect(pages.live_turn(self.state.sessions, self.get_query_argument("id", "")))


class Rows(_Handler):
    """What is new in the list of exchanges since the revision `since`, as JSON."""

    def initialize(self, state: PageState) -> None:
        self.state = state

    async def get(self) -> None:
        since = self.get_query_argument("since", "0")
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.write(await self.state.rows(int(since) if since.isdigit() else 0))


class Copy(_Handler):
    """What is copied of the exchange `id`: its request as `curl`, its reply as a dialect `case` or for an `issue`."""

    def initialize(self, state: PageState) -> None:
        self.state = state

    async def get(self) -> None:
        id_ = self.get_query_argument("id", "")
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        try:
            self.write(
                await self.state.copy(self.view.get_by_id(flow_of(id_)), id_, self.get_query_argument("what", ""))
            )
        except (ReplyNotParsed, KeyError) as reason:
            self.set_status(404)
            self.write(str(reason) if isinstance(reason, ReplyNotParsed) else "there is no such exchange")


class Style(_Handler):
    """The style sheet."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/css; charset=utf-8")
        self.write(pages.style())


class Script(_Handler):
    """The scripts."""

    def get(self, name: str) -> None:
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.write(pages.script(f"{name}.js"))
