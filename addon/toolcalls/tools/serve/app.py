"""The ASGI application: a request in, the recorded reply out, piece by piece.

Each piece is one `send`, which uvicorn writes as one chunk. While a piece is waited for, the client is watched: where
it hangs up, nothing more is sent. A reply that is cut ends by returning before its end, on which uvicorn closes the
connection without the last chunk, or without a close frame.

What is sent is decided before the first byte, so a request never meets a fault of ours in the middle of its reply. An
error of ours is reported and raised again; uvicorn answers it with a status of 500.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from toolcalls.insight.report import visible
from toolcalls.tools.serve.errors import NO_MATCH, error_plan
from toolcalls.tools.serve.faults import LOST, Fault, faulty
from toolcalls.tools.serve.matching import Library, Miss, asked
from toolcalls.tools.serve.pacing import Plan, plan_of
from toolcalls.tools.serve.recording import WEBSOCKET, Asked
from toolcalls.wires import wire_of

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]

_ASKS = "response.create"  # the type of a message that asks for a reply
_NO_WEBSOCKET = 426  # on which clients go on without one


class ClientLeft(Exception):
    """The client has hung up."""


class Playback:
    """The application.

    speed    how many times faster than recorded; None for without waiting
    report   is given each line that people should see
    before   is awaited in front of each piece of a reply, with the piece
    verbose  report each answer, too
    """

    def __init__(
        self,
        library: Library,
        *,
        speed: float | None = 1.0,
        faults: Sequence[Fault] = (),
        report: Callable[[str], None],
        before: Callable[[bytes], Awaitable[None]] | None = None,
        verbose: bool = False,
    ) -> None:
        self.library = library
        self.answered = 0
        self.unmatched = 0
        self._replies = 0  # of models, for faults that name one
        self._speed = speed
        self._faults = tuple(faults)
        self._report = report
        self._before = before
        self._verbose = verbose

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or the messages of a connection."""
        try:
            if scope["type"] == "http":
                await self._http(scope, receive, send)
            elif scope["type"] == "websocket":
                await self._websocket(scope, receive, send)
        except ClientLeft:
            return
        except Exception as error:
            self._report(f"a fault of toolcalls: {type(error).__name__}: {visible(str(error))}")
            raise

    def plan(self, wanted: Asked) -> Plan:
        """What a request is answered with."""
        label = f"{wanted.method} {wanted.path or wanted.wire}"
        found = self.library.find(wanted)
        if isinstance(found, Miss):
            self.unmatched += 1
            lines = _told(found)
            self._report("\n".join([f"{label}: {lines[0]}", *(f"  {visible(line)}" for line in lines[1:])]))
            return error_plan(wanted, NO_MATCH, "\n".join(["toolcalls serve: " + lines[0], *lines[1:]]))
        self.answered += 1
        plan = plan_of(found.recording, self._speed)
        kinds: tuple[str, ...] = ()
        if wanted.wire:
            self._replies += 1
            plan, kinds = faulty(plan, self._faults, self._replies, wanted)
            if LOST.intersection(kinds):
                self.library.take_back(found)
        if self._verbose or kinds or found.again:
            about = [f"reply {self._replies}"] if wanted.wire else []
            about += ["given before"] if found.again else []
            about += [f"fault: {', '.join(kinds)}"] if kinds else []
            self._report(f"{label}: {visible(found.recording.source)} ({'; '.join(about) or 'given'})")
        return plan

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        plan = self.plan(asked(scope["method"], _target(scope), bytes(body)))
        clock = _Clock(asyncio.ensure_future(_left(receive)))
        try:
            await clock.until(plan.begin)
            await send({"type": "http.response.start", "status": plan.status, "headers": list(plan.headers)})
            for piece in plan.pieces:
                await clock.until(piece.moment)
                await self._ready(piece.data)
                await send({"type": "http.response.body", "body": piece.data, "more_body": True})
            await clock.until(plan.end)
            if not plan.cut:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            clock.left.cancel()

    async def _websocket(self, scope: Message, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        known = self.library.recordings
        wire = wire_of(_target(scope))
        if wire is None or not any((one.asked.method, one.asked.wire) == (WEBSOCKET, wire.name) for one in known):
            self._report(
                f"{WEBSOCKET} {scope['path']}: no recording has a WebSocket for it; refused with {_NO_WEBSOCKET}"
            )
            headers = [(b"content-length", b"0"), (b"upgrade", b"HTTP/1.1"), (b"connection", b"upgrade")]
            await send({"type": "websocket.http.response.start", "status": _NO_WEBSOCKET, "headers": headers})
            await send({"type": "websocket.http.response.body", "body": b""})
            return
        await send({"type": "websocket.accept"})
        came: asyncio.Queue[bytes] = asyncio.Queue()
        clock = _Clock(asyncio.ensure_future(_collected(receive, came)))
        try:
            while True:
                content = await clock.first(came)
                plan = self.plan(asked(WEBSOCKET, _target(scope), content))
                clock.restart()
                for piece in plan.pieces:
                    await clock.until(piece.moment)
                    await self._ready(piece.data)
                    await send({"type": "websocket.send", "text": piece.data.decode("utf-8", "replace")})
                await clock.until(plan.end)
                if plan.cut:
                    return
        finally:
            clock.left.cancel()

    async def _ready(self, piece: bytes) -> None:
        if self._before is not None:
            await self._before(piece)


class _Clock:
    """Waits for moments of a reply, as long as the client is there.

    left   is done when the client has hung up
    """

    def __init__(self, left: asyncio.Future[None]) -> None:
        self.left = left
        self.restart()

    def restart(self) -> None:
        """Moments count from now."""
        self._began = asyncio.get_running_loop().time()

    async def until(self, moment: float) -> None:
        """Wait for a moment of the reply. Raises ClientLeft."""
        wait = self._began + moment - asyncio.get_running_loop().time()
        if wait > 0:
            await asyncio.wait([self.left], timeout=wait)
        if self.left.done():
            raise ClientLeft

    async def first(self, came: asyncio.Queue[bytes]) -> bytes:
        """The next message that asks for a reply. Raises ClientLeft."""
        coming: asyncio.Future[Any] = asyncio.ensure_future(came.get())
        waiting: asyncio.Future[Any] = self.left
        try:
            await asyncio.wait([coming, waiting], return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                raise ClientLeft
            return bytes(coming.result())
        finally:
            coming.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _collected(receive: Receive, came: asyncio.Queue[bytes]) -> None:
    """Put messages that ask for a reply into the queue until the client hangs up. No other needs an answer."""
    while (message := await receive())["type"] != "websocket.disconnect":
        text = message.get("text")
        content = text.encode("utf-8", "surrogatepass") if text is not None else message.get("bytes") or b""
        if _ASKS.encode() in content:
            came.put_nowait(content)


def _target(scope: Message) -> str:
    """The path and the query of a request."""
    path = scope["raw_path"].decode("ascii", "replace")
    query = scope["query_string"].decode("ascii", "replace")
    return f"{path}?{query}" if query else path


def _told(miss: Miss) -> list[str]:
    """What is said of a request that no recording answers; the first line is alone."""
    if miss.nearest is None:
        return ["no recording matches, and none is of this API or path"]
    return [
        f"no recording matches; the nearest is {visible(miss.nearest.source)} (- recorded, + asked)",
        *miss.differences,
    ]
