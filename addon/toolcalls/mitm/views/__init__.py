"""What mitmproxy shows of an exchange: content views for the reply and for the request.

`calls` is the one that people need; `bodies` shows the bytes on either side, with their times; `conversation` the
request. `message` finds out what is to be shown; `excerpt` and `lines` keep it small, as the proxy waits for a view.
mitmproxy knows the views by name from its start; each is loaded when somebody first looks at a message.
"""

from importlib import import_module
from typing import Any

from mitmproxy import contentviews
from mitmproxy.contentviews import SyntaxHighlight

from toolcalls.mitm.mitmweb import follow

VIEWS: dict[str, tuple[str, str, SyntaxHighlight]] = {
    "Tool calls": ("calls", "ToolCallsView", "yaml"),
    "Upstream body": ("bodies", "UpstreamBodyView", "javascript"),
    "Client body": ("bodies", "ClientBodyView", "javascript"),
    "Conversation": ("conversation", "ConversationView", "yaml"),
}
"""The views by name: the module of each in this room, its class, and how the console and mitmdump colour it."""


class _View(contentviews.Contentview):
    """A view that is loaded when it is first asked."""

    def __init__(self, name: str, module: str, kind: str, colours: SyntaxHighlight) -> None:
        self._name = name
        self._colours = colours
        self._place = module, kind
        self._view: Any = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def syntax_highlight(self) -> SyntaxHighlight:
        return self._colours

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        shown: str = self._loaded().prettify(data, metadata)
        return shown

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        """As the view's own. mitmweb asks it of every flow that is opened."""
        follow(metadata)
        priority: float = self._loaded().render_priority(data, metadata)
        return priority

    def _loaded(self) -> Any:
        if self._view is None:
            module, kind = self._place
            self._view = getattr(import_module(f"{__name__}.{module}"), kind)()
        return self._view


def add_views() -> None:
    """Make the views known to mitmproxy; those of an earlier load of the addon are replaced."""
    for name, (module, kind, colours) in VIEWS.items():
        contentviews.add(_View(name, module, kind, colours))
