"""Where a load balancer asks whether this proxy can take requests (`toolcalls_health`).

mitmproxy's own loop answers, so a proxy that hangs answers nobody. The address is not the proxy's: no upstream has its
path, and no question is among the flows, in a recording or in the log.
"""

from typing import Any

from mitmproxy import ctx
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler


class _Answer(RequestHandler):
    def get(self) -> None:
        """200 while all of the proxy's listeners are open, else 503."""
        ready = _listens()
        self.set_status(200 if ready else 503)
        self.set_header("Content-Type", "text/plain")
        self.finish("ready\n" if ready else "not listening\n")


def _listens() -> bool:
    proxy: Any = ctx.master.addons.get("proxyserver")
    servers = list(proxy.servers) if proxy is not None else []
    return bool(servers) and all(server.is_running for server in servers)


class Health:
    """The answers of one proxy, until `close`. Raises OSError when the address cannot be had."""

    def __init__(self, host: str, port: int) -> None:
        # Without a log function there would be a line for each question.
        self._server = HTTPServer(Application([("/.*", _Answer)], log_function=lambda _: None))
        sockets = bind_sockets(port, host)
        self.port: int = sockets[0].getsockname()[1]
        self._server.add_sockets(sockets)

    def close(self) -> None:
        """Stop the server."""
        self._server.stop()
