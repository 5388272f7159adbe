"""The work of a hook: in place, or for a large body in a thread while mitmproxy awaits the hook.

The work is a coroutine that hands its long steps to what it is given, `asyncio.to_thread` or `in_place`. So there is
one way through a reply's end, and for the usual small reply it needs no loop and no task.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from time import monotonic
from typing import Any

from mitmproxy import http

from toolcalls.mitm import background
from toolcalls.mitm.response_tap import AT_ONCE

_STRETCH = 0.05  # seconds for which flows of a file are read without a pause

type Run = Callable[[Callable[[], Any]], Awaitable[Any]]


def run(
    work: Callable[..., Coroutine[Any, Any, None]], flow: http.HTTPFlow, *given: Any, **how: Any
) -> Awaitable[None] | None:
    """Do the work of a hook: at once, or for a large body in what mitmproxy awaits, with the long steps in a thread."""
    if _size(flow) > AT_ONCE and background.loop_is_running():
        return work(asyncio.to_thread, flow, *given, **how)
    at_once(work(in_place, flow, *given, **how))
    return None


async def in_place(step: Callable[[], object]) -> object:
    """Do a step now."""
    return step()


def at_once(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine whose steps are done in place: it never waits, so it needs no loop."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("a step that is done in place waited")


class Pauses:
    """Pauses between flows of a file, in which mitmproxy's loop does what else there is to do. mitmproxy loads all of a
    file in one go (https://github.com/mitmproxy/mitmproxy/blob/main/mitmproxy/addons/readfile.py), and until then
    answers nobody.
    """

    def __init__(self) -> None:
        self._since = monotonic()

    def next(self) -> Awaitable[None] | None:
        """What mitmproxy awaits between two flows of a file; None for nothing."""
        now = monotonic()
        if now - self._since < _STRETCH or not background.loop_is_running():
            return None
        self._since = now
        return _Pause()


class _Pause:
    """Once around the loop, like `asyncio.sleep(0)`; no coroutine, of which Python warns where nobody awaits it."""

    def __await__(self) -> Generator[None]:
        yield


def _size(flow: http.HTTPFlow) -> int:
    """Bytes of a body that the end of a reply has to read; what was read as it came does not count."""
    if flow.response is None:
        return 0
    tap: Any = flow.response.stream
    unread: int = tap.unread if getattr(tap, "is_toolcalls_tap", False) else 0
    return max(unread, background.reply_bytes(flow))


def is_announced_large(response: http.Response) -> bool:
    """Whether mitmproxy gathers the body, by its options, and its length is known to be large."""
    length = response.headers.get("content-length", "")
    return not response.stream and length.isdecimal() and int(length) > AT_ONCE
