"""The demo's model server: plays a recorded reply at its pace."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from toolcalls.demo.observations import Observations, choice_parts


def read_script(text: str) -> tuple[bytes, list[tuple[float, bytes]]]:
    """Read a script (`recordings/demo.sse`): the request's body, and each event with the seconds to wait before it."""
    request, pace, events = b"", 0.0, []
    for block in text.split("\n\n"):
        sent = []
        for line in block.splitlines():
            if line.startswith(": request "):
                request = line.removeprefix(": request ").encode()
            elif line.startswith(": pace "):
                pace = float(line.removeprefix(": pace ")) / 1000
            elif not line.startswith(":"):
                sent.append(line)
        if sent:
            events.append((pace, ("\n".join(sent) + "\n\n").encode()))
    return request, events


@contextmanager
def model_server(events: list[tuple[float, bytes]], *, pause: bool) -> Iterator[tuple[int, Observations]]:
    """A server on a free port that answers each request with `events`. Gives its port, and what it observes."""
    observed = Observations()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                for seconds, event in events:
                    time.sleep(seconds if pause else 0)
                    observed.add("upstream", *_observation(event))
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                self.close_connection = True  # mitmdump is gone: the demo was interrupted

        def log_message(self, *_: object) -> None:
            """No log: `display` shows what is sent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield server.server_port, observed
    finally:
        server.shutdown()
        server.socket.close()


def _observation(event: bytes) -> tuple[str, str]:
    """The kind of an event that is sent, and how it is shown."""
    data = event.removeprefix(b"data: ").strip()
    choices = json.loads(data)["choices"] if data.startswith(b"{") else []
    parts = [part for choice in choices for part in choice_parts(choice)] or [("other", "")]
    return parts[0][0], "  ".join(shown for _, shown in parts)
