"""The mitmproxy addon that adds the page to mitmweb. It does nothing in mitmdump and in the console."""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

from mitmproxy import ctx

from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.page import PATH

logger = logging.getLogger(__name__)


class PageAddon:
    """Adds the page when mitmweb runs. `rules` gives the configuration, None before the addon is configured."""

    name = "toolcalls_page"  # mitmproxy knows addons by their names

    def __init__(self, rules: Callable[[], ConfigFile | None] = lambda: None) -> None:
        self._rules = rules
        self._added: list[Any] = []  # tornado's rules

    def running(self) -> None:
        """Add the page. Only mitmweb has an application to add it to."""
        app: Any = getattr(ctx.master, "app", None)
        if app is None or self._added:
            return
        before = list(app.default_router.rules)
        # Imported here because it imports mitmweb's modules, which mitmdump has not loaded.
        handlers: Any = import_module("toolcalls.mitm.page.handlers")
        app.add_handlers(r".*", handlers.handlers_of(handlers.PageState(self._rules)))
        self._added = [rule for rule in app.default_router.rules if rule not in before]
        # mitmweb's own address, which carries the token of its login unless the user chose a password.
        address, _, token = str(getattr(ctx.master, "web_url", "")).partition("?")
        logger.info(f"toolcalls: sessions and scorecard at {address.rstrip('/')}{PATH}{'?' if token else ''}{token}")

    def done(self) -> None:
        """Remove the page, so that a reload can add its own."""
        app: Any = getattr(ctx.master, "app", None)
        for rule in self._added:
            if app is not None and rule in app.default_router.rules:
                app.default_router.rules.remove(rule)
        self._added = []
