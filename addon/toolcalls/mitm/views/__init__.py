"""What mitmproxy shows of an exchange: content views for the reply and for the request.

`calls` is the one that people need; `bodies` shows the bytes on either side, with their times; `conversation` the
request. `message` finds out what is to be shown; `excerpt` and `lines` keep it small, as the proxy waits for a view.
mitmproxy knows the views by name from its start; each is loaded when somebody first looks at a message.
"""

from importlib import import_module
from typing import Any

from mitmproxy import contentviews

VIEWS = {
    "Tool calls": ("calls", "ToolCallsView"),
    "Upstream body": ("bodies", "UpstreamBodyView"),
    "Client body": ("bodies", "ClientBodyView"),
    "Conversation": ("conversation", "ConversationView"),
}
"""The views by name: the module of each in this room, and its class."""


class _View(contentviews.Contentview):
    """A view that is loaded when it is first asked."""

    syntax_highlight = "none"

    def __init__(self, name: str, module: str, kind: str) -> None:
        self._name = name
        self._place = module, kind
        self._view: Any = None

    @property
    def name(self) -> str:
        """As the view's own."""
        return self._name

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """As the view's own."""
        shown: str = self._loaded().prettify(data, metadata)
        return shown

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        """As the view's own."""
        priority: float = self._loaded().render_priority(data, metadata)
        return priority

    def _loaded(self) -> Any:
        if self._view is None:
            module, kind = self._place
            self._view = getattr(import_module(f"{__name__}.{module}"), kind)()
        return self._view


def add_views() -> None:
    """Make the views known to mitmproxy; those of an earlier load of the addon are replaced."""
    for name, (module, kind) in VIEWS.items():
        contentviews.add(_View(name, module, kind))
