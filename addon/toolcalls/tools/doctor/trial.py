"""One call that a model wrote as text, sent through a proxy and back: what `toolcalls doctor` ends with.

The model server is a thread on loopback that always answers the same. A proxy that is already running is asked first
for something harmless: a reverse proxy would hand the trial to somebody else's server.
"""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolcalls.tools.run.proxy import running
from toolcalls.tools.run.routing import HOST, reserved_ports

_SECONDS = 30.0  # for one answer
_PATH = "/v1/chat/completions"
_TOOL = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_REQUEST = {
    "model": "toolcalls-doctor",
    "stream": True,
    "messages": [{"role": "user", "content": "a trial of the proxy"}],
    "tools": [{"type": "function", "function": {"name": "read_file", "parameters": _TOOL}}],
}
_TEXT = '<invoke name="read_file">\n<parameter name="path">README.md</parameter>\n</invoke>'
_WANTED = ("read_file", {"path": "README.md"})


class TrialFailed(Exception):
    """The call did not come back; the text says what came instead."""


class _Model(BaseHTTPRequestHandler):
    """Answers each POST with the text of a call, and each GET with its path."""

    def do_GET(self) -> None:
        self._answer("text/plain", self.path.encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        deltas = [{"role": "assistant", "content": ""}, *({"content": word} for word in _TEXT.splitlines(True)), {}]
        events = [
            {"id": "trial", "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}]}
            for delta in deltas
        ]
        lines = [f"data: {json.dumps(event)}\n\n" for event in events]
        self._answer("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode())

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""


@contextmanager
def _model() -> Iterator[int]:
    """The model server; its port."""
    server = ThreadingHTTPServer((HOST, 0), _Model)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(_SECONDS)


def try_new_proxy() -> None:
    """Start a proxy with the addon in front of the trial's server. Raises TrialFailed, and BadInput where mitmproxy
    does not start.
    """
    with _model() as model, reserved_ports() as free_port, TemporaryDirectory(prefix="toolcalls-doctor-") as folder:
        port = free_port()
        options = ["--mode", f"reverse:http://{HOST}:{model}@{HOST}:{port}", "--set", "flow_detail=0"]
        with running("dump", options, Path(folder) / "mitmproxy.log") as proxy:
            proxy.wait_for(lambda lines: any(" listening at " in line for line in lines))
            _check(port, _PATH)


def try_running_proxy(port: int) -> bool:
    """Send the call through a forward proxy that listens on this machine. False where it is none, and then it was sent
    nothing but a GET. Raises TrialFailed.
    """
    with _model() as model:
        probe = f"/toolcalls-doctor-{model}"
        try:
            came = _asked(port, "GET", f"http://{HOST}:{model}{probe}")
        except (OSError, http.client.HTTPException):
            return False
        if came != probe.encode():
            return False
        _check(port, f"http://{HOST}:{model}{_PATH}")
        return True


def _check(port: int, target: str) -> None:
    try:
        body = _asked(port, "POST", target, json.dumps(_REQUEST).encode())
        call = _call_in(body)
    except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
        raise TrialFailed(f"{type(error).__name__}: {error}") from error
    if call != _WANTED:
        raise TrialFailed("the call came back as the text that it was" if call is None else f"{call} came back")


def _asked(port: int, method: str, target: str, body: bytes | None = None) -> bytes:
    connection = http.client.HTTPConnection(HOST, port, timeout=_SECONDS)
    try:
        connection.request(method, target, body, {"content-type": "application/json"} if body else {})
        return connection.getresponse().read()
    finally:
        connection.close()


def _call_in(body: bytes) -> tuple[str, Any] | None:
    """The native call of a streamed reply; None for none."""
    name, arguments = "", ""
    for line in body.decode().splitlines():
        if line.startswith("data: {"):
            for call in json.loads(line.removeprefix("data: "))["choices"][0]["delta"].get("tool_calls", ()):
                name += call["function"].get("name") or ""
                arguments += call["function"].get("arguments") or ""
    return (name, json.loads(arguments)) if name else None
