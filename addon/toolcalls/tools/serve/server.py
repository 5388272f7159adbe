"""uvicorn around the application: on 127.0.0.1 and nowhere else, in the main thread or in one of its own.

uvicorn with h11 and wsproto, because both are pure Python and come with mitmproxy, and because each piece that the
application sends becomes one chunk. It adds no headers of its own, pings nobody and logs nothing: what a client gets is
what was recorded. (hypercorn would do as well, with more that is not needed here.)
"""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from toolcalls.tools.serve.app import Playback

HOST = "127.0.0.1"
_IDLE = 3600  # seconds that a connection may be without a request
_LARGEST = 256 * 1024 * 1024  # bytes of a message


def listening(port: int = 0) -> socket.socket:
    """A socket on loopback; 0 for any free port. Raises OSError for a port that is taken."""
    return socket.create_server((HOST, port))


def server_for(playback: Playback) -> uvicorn.Server:
    """A server that is not running yet: `server.run(sockets=[…])` ends on SIGINT and SIGTERM."""
    return uvicorn.Server(
        uvicorn.Config(
            playback,
            http="h11",
            ws="wsproto",
            loop="asyncio",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",  # a reply that is cut on purpose is an error to it
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            ws_max_size=_LARGEST,
            ws_ping_interval=None,
            ws_per_message_deflate=False,
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=0,
        )
    )


@contextmanager
def playing(playback: Playback, port: int = 0) -> Iterator[int]:
    """A server in a thread for the length of a `with` block; gives its port."""
    bound = listening(port)
    server = server_for(playback)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[bound])), daemon=True)
    thread.start()
    try:
        yield int(bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
