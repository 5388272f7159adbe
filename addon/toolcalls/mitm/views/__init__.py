"""What mitmproxy shows of an exchange: content views for the reply and for the request.

`calls` is the one that people need; `bodies` shows the bytes on either side, with their times; `conversation` the
request. `message` finds out what is to be shown; `excerpt` and `lines` keep it small, as the proxy waits for a view.
"""

from mitmproxy import contentviews

from toolcalls.mitm.views.bodies import ClientBodyView, UpstreamBodyView
from toolcalls.mitm.views.calls import ToolCallsView
from toolcalls.mitm.views.conversation import ConversationView

__all__ = ["ClientBodyView", "ConversationView", "ToolCallsView", "UpstreamBodyView", "add_views"]


def add_views() -> None:
    """Make the views known to mitmproxy; those of an earlier load of the addon are replaced."""
    for view in (ToolCallsView(), UpstreamBodyView(), ClientBodyView(), ConversationView()):
        contentviews.add(view)
