"""The addon: mitmproxy's hooks, its options, commands and views.

Start here for when things happen, and in `exchanges` for what is done to a request and its reply. A proxy that starts
must listen soon, so this module loads only what a start needs: the options, the configuration, and what mitmproxy shows
of commands and views. What reads replies is loaded right after the start (`loading`), or by the first flow that comes
before that; a command, a view or the page is loaded when somebody first uses it.
"""

import logging
from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING, Any

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader

from toolcalls.mitm import loading
from toolcalls.mitm.commands.declared import Commands
from toolcalls.mitm.commands.keys import bind_keys
from toolcalls.mitm.console_status import Focus
from toolcalls.mitm.exposed_listeners import exposed_modes
from toolcalls.mitm.options import Options
from toolcalls.mitm.page.addon import PageAddon
from toolcalls.mitm.views import add_views

if TYPE_CHECKING:
    from toolcalls.mitm.exchanges import Exchanges

logger = logging.getLogger(__name__)

_END = object()


class ToolCalls:
    """mitmproxy calls the methods, each named as its event (https://docs.mitmproxy.org/stable/api/events.html)."""

    def __init__(self) -> None:
        self._options = Options()
        self._exchanges: Exchanges | None = None
        self._focus = Focus()
        self.commands = Commands(lambda: self._options.config_file)
        # mitmproxy finds their commands and hooks here.
        self.addons = [self.commands, PageAddon(lambda: self._options.config_file)]

    def exchanges(self) -> "Exchanges":
        """What is done to requests and replies. A method, since mitmproxy reads every attribute to find commands."""
        if self._exchanges is None:
            from toolcalls.mitm.exchanges import Exchanges  # noqa: PLC0415 - see above

            self._exchanges = Exchanges(self._options)
        return self._exchanges

    # The addon itself

    def load(self, loader: Loader) -> None:
        """Declare the options and add the views."""
        self._options.declare(loader)
        add_views()

    def configure(self, updated: set[str]) -> None:
        """Read the options. Raises OptionsError."""
        self._options.configure(updated)

    def running(self) -> None:
        """Log the banner, and show the comments: in mitmweb's list, which has a column for them, and in the console
        those of the flow in focus. The user's own columns and keys stay.
        """
        bind_keys()
        self._focus.start()
        options: Any = ctx.options  # its methods have no types
        self._warn_of_exposed_listeners(options)
        if "web_columns" in options and not options.has_changed("web_columns"):
            options.update(web_columns=[*options.web_columns, "comment"])
        self._load_next(self._slices())

    def _slices(self) -> Iterator[None]:
        """Load what the first flow needs, and log the banner as soon as the APIs that it names are there."""
        yield
        yield from loading.apis()
        self._log_banner()
        yield from loading.reading()
        loading.tables()
        yield
        self.exchanges()
        view: Any = ctx.master.addons.get("view")
        if view is None or not view.store_count():  # flows come and go
            loading.exempt_from_collection()

    def _load_next(self, slices: Iterator[None]) -> None:
        """Load one slice now, and the next when the loop has done what has come meanwhile.

        Without its modules the addon would let through what its rules may forbid, so mitmproxy ends.
        """
        try:
            is_more = next(slices, _END) is None
        except Exception:
            logger.exception("toolcalls: the addon cannot be loaded, so mitmproxy ends")
            ctx.master.shutdown()
            return
        if is_more:
            ctx.master.event_loop.call_soon(self._load_next, slices)

    def _log_banner(self) -> None:
        from toolcalls.mitm.banner import banner  # noqa: PLC0415 - it names the APIs

        if self._options.config_file is not None:
            for line in banner(self._options.config_file):
                logger.info(line)
        if self._options.metrics is not None:
            logger.info(f"toolcalls: metrics for Prometheus: {self._options.metrics.url}")

    @staticmethod
    def _warn_of_exposed_listeners(options: Any) -> None:
        if not options.server or getattr(options, "proxyauth", None):
            return
        for mode in exposed_modes(options.mode, options.listen_host):
            logger.warning(
                f"toolcalls: the {mode} proxy listens on all interfaces without a password; "
                "--listen-host 127.0.0.1 or --proxyauth prevents that"
            )

    def done(self) -> None:
        """mitmproxy stops, or reloads the addon."""
        loading.end_exemption()
        self._focus.stop()
        if self._exchanges is not None:
            self._exchanges.done()
        self._options.close()

    # Requests and replies

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """The headers of a request are there."""
        self.exchanges().requestheaders(flow)

    def request(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """A request is there as a whole. What is returned, mitmproxy awaits."""
        return self.exchanges().request(flow)

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        """A connection is open."""
        self.exchanges().websocket_start(flow)

    def websocket_message(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """The next message, of either side. What is returned, mitmproxy awaits."""
        return self.exchanges().websocket_message(flow)

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        """The connection is closed, or comes from a file."""
        self.exchanges().websocket_end(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """The headers of a reply are there. What is returned, mitmproxy awaits."""
        return self.exchanges().responseheaders(flow)

    def response(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """The reply has ended as it should, or the flow comes from a file. What is returned, mitmproxy awaits."""
        return self.exchanges().response(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        """The reply broke off: the upstream or the client disconnected."""
        self.exchanges().error(flow)
