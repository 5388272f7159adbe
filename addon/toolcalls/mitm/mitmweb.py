"""What is known of mitmweb: where the page is in it, and which flow somebody looks at, so that `@focus` in its command
bar means that one.

mitmweb keeps the selection in the browser and sends nothing of it with a command; its own `@focus` stays at the first
flow. But when a flow is opened, its browser asks for the message's text, and for it every content view is asked how
much it has to say. So the flow that was opened last has the focus, in whichever browser.
"""

from typing import Any

from mitmproxy import contentviews, ctx, http

PATH = "/toolcalls"  # of the page


def page_of(flow: object) -> str:
    """The address of the page about a flow, as mitmweb's user reaches it; "" where there is no such page."""
    master: Any = getattr(ctx, "master", None)
    if getattr(master, "app", None) is None or not isinstance(flow, http.HTTPFlow):
        return ""
    address = str(getattr(master, "web_url", "")).partition("?")[0]
    return f"{address.rstrip('/')}{PATH}/turn?id={flow.id}"


def follow(metadata: contentviews.Metadata) -> None:
    """Give the focus to the flow of a message that mitmweb shows. The console has a focus of its own."""
    master: Any = getattr(ctx, "master", None)
    flow = metadata.flow
    if getattr(master, "app", None) is None or not isinstance(flow, http.HTTPFlow):
        return
    view: Any = master.addons.get("view")
    if view is not None and view.focus.flow is not flow and flow in view:
        view.focus.flow = flow
