"""The demo's model server: plays a recorded reply at its pace."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from toolcalls.demo.observations import PATIENCE, Observations, choice_parts


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a script. It is sent `pause` seconds after the one before, and not before the client has a call."""

    pause: float
    data: bytes
    after_call: bool = False


def read_script(text: str) -> tuple[bytes, list[Event]]:
    """Read a script (`recordings/demo.sse`): the request's body and the events."""
    request, pace, events = b"", 0.0, []
    for block in text.split("\n\n"):
        sent, after_call = [], False
        for line in block.splitlines():
            if line.startswith(": request "):
                request = line.removeprefix(": request ").encode()
            elif line.startswith(": pace "):
                pace = float(line.removeprefix(": pace ")) / 1000
            elif line == ": until call":
                after_call = True
            elif not line.startswith(":"):
                sent.append(line)
        if sent:
            events.append(Event(pace, ("\n".join(sent) + "\n\n").encode(), after_call))
    return request, events


@contextmanager
def model_server(events: list[Event], *, pause: bool) -> Iterator[tuple[int, Observations]]:
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
                for event in events:
                    time.sleep(event.pause if pause else 0)
                    if event.after_call and not observed.called.wait(PATIENCE):
                        return  # the demo gives up by itself
                    observed.add("upstream", *_observation(event.data))
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(event.data), event.data))
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
