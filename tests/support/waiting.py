"""Wait for something seen, in an event loop or without one."""

import asyncio
import time
from collections.abc import Callable

from support.loopback import LIMIT


async def until(seen: Callable[[], object]) -> None:
    """Let the loop go on until `seen` returns something true. Raises TimeoutError after LIMIT seconds."""
    async with asyncio.timeout(LIMIT):
        while not seen():
            await asyncio.sleep(0.01)


def seen(what: Callable[[], object]) -> None:
    """Wait until `what` returns something true. Raises TimeoutError after LIMIT seconds."""
    end = time.monotonic() + LIMIT
    while not what():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)
