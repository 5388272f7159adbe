"""Wait in an event loop for something seen."""

import asyncio
from collections.abc import Callable

from support.loopback import LIMIT


async def until(seen: Callable[[], object]) -> None:
    """Let the loop go on until `seen` returns something true. Raises TimeoutError after LIMIT seconds."""
    async with asyncio.timeout(LIMIT):
        while not seen():
            await asyncio.sleep(0.01)
