"""The three parties of the demo: a server that plays a reply, mitmdump, a client. What they see goes into one queue."""

import http.client
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_LISTENING = re.compile(r"listening at \S*?:(\d+)\.?\s")


class Unexpected(Exception):
    """Something was not as it must be; the message is one line."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one side saw. `side` is "upstream" or "client", `what` is "text", "call" or "other"."""

    time: float
    side: str
    what: str
    shown: str


class Sight:
    """What both sides see, in the order of time."""

    def __init__(self) -> None:
        self._seen: queue.Queue[Seen | None] = queue.Queue()
        self._lock = threading.Lock()  # else the other side might be between its look at the clock and its telling

    def tell(self, side: str, what: str, shown: str) -> None:
        """One side sees something now."""
        with self._lock:
            self._seen.put(Seen(time.monotonic(), side, what, shown))

    def end(self) -> None:
        """The client has seen the end."""
        self._seen.put(None)

    def next(self, timeout: float) -> Seen | None:
        """What was seen next, None for the end. Raises queue.Empty after `timeout` seconds."""
        return self._seen.get(timeout=timeout)


@dataclass(slots=True)
class Received:
    """What the client has of the reply."""

    text: str = ""
    finish: str = ""
    calls: list[dict[str, str]] = field(default_factory=list)


def wait[T](look: Callable[[], T], deadline: float, otherwise: str) -> T:
    """What `look` gives as soon as that is something. Raises Unexpected at the deadline."""
    while not (found := look()):
        if time.monotonic() > deadline:
            raise Unexpected(f"{otherwise} in time")
        time.sleep(0.03)
    return found


# The model server


def script(text: str) -> tuple[bytes, list[tuple[float, bytes]]]:
    """A script (`recordings/demo.sse`): the request's body, and each event with the seconds to wait before it."""
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
def upstream(events: list[tuple[float, bytes]], *, pause: bool) -> Iterator[tuple[int, Sight]]:
    """A server on a free port that plays `events` to whoever asks; gives the port, and where it tells what it sends."""
    seen = Sight()

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
                    seen.tell("upstream", *_sent(event))
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                self.close_connection = True  # mitmdump is gone: the demo was interrupted

        def log_message(self, *_: object) -> None:
            """The columns say it all."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield server.server_port, seen
    finally:
        server.shutdown()
        server.socket.close()


def _sent(event: bytes) -> tuple[str, str]:
    """What an event of the server's brings, and how it is shown."""
    data = event.removeprefix(b"data: ").strip()
    choices = json.loads(data)["choices"] if data.startswith(b"{") else []
    parts = [part for choice in choices for part in _parts(choice)] or [("other", "")]
    return parts[0][0], "  ".join(shown for _, shown in parts)


def _parts(choice: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a choice brings, each piece with the word for it."""
    delta = choice.get("delta", {})
    if delta.get("content"):
        yield "text", json.dumps(delta["content"], ensure_ascii=False)
    for call in delta.get("tool_calls", ()):
        name, arguments = call["function"].get("name"), call["function"].get("arguments", "")
        yield "call", f"native call {name} {arguments}" if name else f"            … {arguments}"
    if choice.get("finish_reason"):
        yield "other", f"finish_reason {choice['finish_reason']}"


# mitmdump


@contextmanager
def mitmdump(folder: Path, main: Path, name: str, options: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """mitmdump with the addon and none of the user's own settings, ended at the end.

    `folder` gets what it says (`said`) and the addon's log, `<name>.jsonl`.
    """
    beside = Path(sys.executable).with_name("mitmdump")
    program = str(beside) if beside.is_file() else shutil.which("mitmdump")
    if program is None:
        raise Unexpected("there is no mitmdump beside this Python; pip install mitmproxy")
    settings = [f"confdir={folder / 'conf'}", f"toolcalls_log={folder / name}.jsonl", "flow_detail=0"]
    command = [program, "-s", str(main), *options, *(part for setting in settings for part in ("--set", setting))]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # what it says is read while it runs
    with (folder / "said.txt").open("wb") as output:
        process: subprocess.Popen[bytes] | None = None
        try:
            with _undisturbed():
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
                )
            yield process
        finally:
            if process is not None:
                with _undisturbed():
                    _end(process)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C and a request to terminate wait until the block is done: no process starts that nobody knows of."""
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: came.append(number)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        for first in came[:1]:
            signal.raise_signal(first)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def said(folder: Path) -> str:
    """What mitmdump said, on one line."""
    return " ".join((folder / "said.txt").read_text(encoding="utf-8", errors="replace").split())


def port_of(process: subprocess.Popen[bytes], folder: Path, deadline: float) -> int:
    """The port that mitmdump listens at, which it says when it does."""

    def port() -> str:
        if process.poll() is not None:
            raise Unexpected(f"mitmdump ended: {said(folder)[-300:]}")
        found = _LISTENING.search(said(folder) + " ")
        return found[1] if found else ""

    return int(wait(port, deadline, "mitmdump did not start"))


# The client


@contextmanager
def asking(port: int, request: bytes, seen: Sight, deadline: float) -> Iterator[Received]:
    """A client that asks, and takes what comes as it comes; all of it is there at the end of the block."""
    received = Received()

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=max(1.0, deadline - time.monotonic()))
        try:
            connection.request("POST", "/v1/chat/completions", request, {"content-type": "application/json"})
            response = connection.getresponse()
            while line := response.readline():
                if line.startswith(b"data: {"):
                    _take(received, json.loads(line.removeprefix(b"data: ")), seen)
        except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
            seen.tell("client", "other", f"{type(error).__name__}: {error}")
        finally:
            connection.close()
            seen.end()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    yield received
    thread.join(max(0.0, deadline - time.monotonic()))


def _take(received: Received, chunk: dict[str, Any], seen: Sight) -> None:
    for choice in chunk["choices"]:
        delta = choice["delta"]
        received.text += delta.get("content") or ""
        for call in delta.get("tool_calls", ()):
            function = call["function"]
            if function.get("name"):
                received.calls.append({"name": function["name"], "arguments": ""})
            received.calls[-1]["arguments"] += function.get("arguments", "")
        received.finish = choice.get("finish_reason") or received.finish
        for what, shown in _parts(choice):
            seen.tell("client", what, shown)
