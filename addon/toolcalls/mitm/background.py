"""Commands that take longer than the proxy may wait go on in a task beside mitmproxy's loop.

mitmproxy runs a command in its loop and waits for what it returns. Small work is done at once, so that commands can
follow each other. Large work is started here and does its reading in threads; the log says when it is done.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any

from mitmproxy import exceptions, http
from mitmproxy.utils import asyncio_utils

from toolcalls.flows import flow_metadata

logger = logging.getLogger(__name__)


def loop_is_running() -> bool:
    """Whether there is a loop that a command would block."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def start(work: Coroutine[Any, Any, None], name: str) -> None:
    """Start a task. A CommandError, which a command would have shown, is logged."""

    async def run() -> None:
        try:
            await work
        except exceptions.CommandError as mistake:
            logger.error(str(mistake))

    asyncio_utils.create_task(run(), name=name, keep_ref=True)


def reply_bytes(flow: object) -> int:
    """How many bytes of a flow are read to judge it."""
    if not isinstance(flow, http.HTTPFlow):
        return 0
    if flow.websocket is not None:
        return sum(len(message.content) for message in flow.websocket.messages)
    upstream = flow.metadata.get(flow_metadata.UPSTREAM)
    body = upstream if isinstance(upstream, bytes) else flow.response.raw_content if flow.response else b""
    return len(body or b"")


def exchange_bytes(flows: Iterable[object]) -> int:
    """How many bytes of flows are exported."""
    found = [flow for flow in flows if isinstance(flow, http.HTTPFlow)]
    bodies = [message.raw_content for flow in found for message in (flow.request, flow.response) if message]
    return sum(len(body) for body in bodies if body) + sum(map(reply_bytes, found))
