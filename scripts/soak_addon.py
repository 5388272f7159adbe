"""Loaded into mitmweb beside the addon by `make soak`: drops the flows as the button "Clear all" does, and says what is
left.

A request to `/soak/clear` is answered with {"blocks": …, "stores": {…}}: how many blocks Python has allocated, and how
much each store of the addon holds, by class. What nobody uses is collected first and given back to the system, so that
the memory of the process is what is in use.
"""

import ctypes
import gc
import json
import sys
from collections.abc import Iterator

from mitmproxy import ctx, http

CLEAR = "/soak/clear"
_STORES = ("CallMemory", "ClientMemory", "PageState", "Sessions", "_ToolMemory", "Scorecard", "Live", "EchoIndex")
_ALIVE = ("HTTPFlow", "ResponseTap", "Exchange", "RequestText")


def request(flow: http.HTTPFlow) -> None:
    """Answer the request that clears."""
    if flow.request.path.partition("?")[0] != CLEAR:
        return
    ctx.master.commands.call("view.clear")
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    flow.response = http.Response.make(
        200,
        json.dumps({"blocks": sys.getallocatedblocks(), "stores": dict(_stores())}),
        {"content-type": "application/json"},
    )


def _stores() -> Iterator[tuple[str, int]]:
    """What the addon's stores hold, and how many objects of a reply are alive."""
    for one in gc.get_objects():
        name = type(one).__name__
        if name in _STORES and type(one).__module__.startswith("toolcalls."):
            for key, held in getattr(one, "__dict__", {}).items():
                if hasattr(held, "__len__"):
                    yield f"{name}.{key}", len(held)
    alive = [type(one).__name__ for one in gc.get_objects()]
    yield from ((name, alive.count(name)) for name in _ALIVE)
