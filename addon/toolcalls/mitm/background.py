"""Work that a command begins and that takes longer than the proxy may stand still: it is done in a thread.

mitmproxy runs a command in its loop and waits for what it returns. What is small is done there and then, so that
commands can follow each other; what is large goes on beside the loop (`start`), and says in the log when it is done.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any

from mitmproxy import exceptions, http
from mitmproxy.utils import asyncio_utils

from toolcalls.mitm import flow_metadata

logger = logging.getLogger(__name__)


def loop_is_running() -> bool:
    """Whether there is a loop that would stand still."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def start(work: Coroutine[Any, Any, None], name: str) -> None:
    """Go on with this; what a command would have said of a mistake stands in the log."""

    async def told() -> None:
        try:
            await work
        except exceptions.CommandError as mistake:
            logger.error(str(mistake))

    asyncio_utils.create_task(told(), name=name, keep_ref=True)


def reply_bytes(flow: object) -> int:
    """How much of a flow is read to judge it."""
    if not isinstance(flow, http.HTTPFlow):
        return 0
    if flow.websocket is not None:
        return sum(len(message.content) for message in flow.websocket.messages)
    upstream = flow.metadata.get(flow_metadata.UPSTREAM)
    body = upstream if isinstance(upstream, bytes) else flow.response.raw_content if flow.response else b""
    return len(body or b"")


def exchange_bytes(flows: Iterable[object]) -> int:
    """How much of flows is written to export them."""
    found = [flow for flow in flows if isinstance(flow, http.HTTPFlow)]
    bodies = [message.raw_content for flow in found for message in (flow.request, flow.response) if message]
    return sum(len(body) for body in bodies if body) + sum(map(reply_bytes, found))
