"""A team's proxy on loopback: HAProxy as the project configures it, workers after it, and many streams at once.

The upstream answers each stream with prose and one call as text whose argument names the stream, so that a call which
is lost or comes twice is seen. It holds each stream after its first events until `gate` is open: streams are open for
as long as the one who tests wants. Each event says in its id when it left, by the clock that all processes share.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.loopback import CALL, LIMIT, MAIN, PATH, TOOLS, Dump, calls_in, chunk
from support.repository import REPO
from support.screens import reserved_port
from support.waiting import seen, until

RELOAD = REPO / "config" / "deploy" / "reload.py"
SHIPPED = REPO / "config" / "deploy" / "haproxy.cfg"
_TELLS = "    http-response set-header x-worker %s\n"  # which worker answered; only here
FIRST = 3  # events in front of the gate


def haproxy() -> str | None:
    """HAProxy's program; None where it is not installed."""
    return shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def haproxy_config(port: int, admin: Path, workers: Sequence[tuple[int, int]]) -> str:
    """The configuration that ships, with these ports: those of the workers and of their answers to health checks."""
    text = SHIPPED.read_text(encoding="utf-8")
    text = text.replace("/run/haproxy/admin.sock mode 660", f"{admin} mode 600")
    text = re.sub(r"(?m)^    bind .*$", f"    bind 127.0.0.1:{port}", text)
    text = re.sub(r"(?m)^    server .*\n", "", text)
    servers = enumerate(workers, 1)
    text += "".join(f"    server w{n} 127.0.0.1:{at} check port {health}\n" for n, (at, health) in servers)
    return text.replace("    default_backend", f"{_TELLS}    default_backend")


class Worker:
    """A mitmdump that is started again whenever it ends, as systemd does it."""

    def __init__(self, name: str, folder: Path, port: int, health: int, to: str, options: Sequence[str]) -> None:
        self.name = name
        self.port = port
        self.health = health
        self.revives = True
        self._folder = folder
        self._arguments = [
            *("-s", str(MAIN), "--mode", f"reverse:{to}", "--listen-host", "127.0.0.1", "--listen-port", str(port)),
            *("--set", "connection_strategy=lazy", "--set", f"toolcalls_health={health}", *options),
        ]
        self.runs: list[Dump] = []
        self._start()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _start(self) -> None:
        self.runs.append(Dump(self._arguments, self._folder))
        self.runs[-1].wait_for("listening at")

    def _watch(self) -> None:
        while True:
            self.runs[-1].wait_until_over()
            if not self.revives:
                return
            self._start()

    @property
    def pid(self) -> int:
        return self.runs[-1].pid

    @property
    def restart(self) -> list[str]:
        """A command that ends it, and comes back when it is gone."""
        return ["sh", "-c", f"kill -TERM {self.pid}; while kill -0 {self.pid} 2>/dev/null; do sleep 0.1; done"]

    def kill(self) -> None:
        """As the system does it to a process that takes too much."""
        self.runs[-1].kill()

    def close(self) -> None:
        self.revives = False
        self.runs[-1].kill()
        self._thread.join(LIMIT)


@dataclass
class Stream:
    """What one client has seen. `latencies` are the seconds that each event of prose took from the upstream."""

    name: str
    worker: str = ""
    events: int = 0
    body: bytes = b""
    ended: bool = False
    latencies: list[float] = field(default_factory=list)

    @property
    def calls(self) -> list[str]:
        """The arguments of its native calls."""
        return [arguments for _, arguments in calls_in(self.body)]


_ID = re.compile(rb'"id": ?"t(\d+)"')


class PacedUpstream:
    """Answers each stream in an event loop. `asked` counts the requests by the name of their stream."""

    def __init__(self, events: int = FIRST + 3, pause: float = 0.0) -> None:
        self.asked: Counter[str] = Counter()
        self.gate = asyncio.Event()
        self._events = events
        self._pause = pause
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> "PacedUpstream":
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self.gate.set()
        self._server.close()
        for writer in self._open:
            writer.close()
        await until(lambda: not self._open)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while head := await _head(reader):
                length = int(re.search(rb"content-length: (\d+)", head.lower())[1])  # type: ignore[index]
                body = json.loads(await reader.readexactly(length))
                await self._stream(str(body["messages"][0]["content"]), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the worker was killed, or has closed the connection
        finally:
            writer.close()
            self._open.discard(writer)

    async def _stream(self, name: str, writer: asyncio.StreamWriter) -> None:
        self.asked[name] += 1
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for number in range(self._events):
            if number == FIRST:
                await self.gate.wait()
            elif number:
                await asyncio.sleep(self._pause)
            await self._send(writer, {"content": f"word {number} of {name}, "})
        for piece in (".\n", *re.findall(r".{1,12}|\n", CALL.replace("ls -la", f"ls {name}")), "\n"):
            await self._send(writer, {"content": piece})
        end = chunk({}, "stop") + b"data: [DONE]\n\n"
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(end), end))
        await writer.drain()

    async def _send(self, writer: asyncio.StreamWriter, delta: dict[str, str]) -> None:
        event = chunk(delta).replace(b'"c1"', b'"t%d"' % time.monotonic_ns(), 1)
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await writer.drain()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def body_of(name: str) -> bytes:
    """The request of a stream."""
    asked = {"model": "m", "stream": True, "tools": TOOLS, "messages": [{"role": "user", "content": name}]}
    return json.dumps(asked).encode()


async def read_stream(stream: Stream, port: int) -> Stream:
    """Ask for a stream, and read it to its end, or to where it breaks."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        body = body_of(stream.name)
        writer.write(
            f"POST {PATH} HTTP/1.1\r\nhost: team\r\ncontent-type: application/json\r\nx-session-id: {stream.name}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
            + body
        )
        head = (await _head(reader)).decode()
        assert head.startswith("HTTP/1.1 200"), head
        found = re.search(r"(?im)^x-worker: (\w+)", head)
        stream.worker = found[1] if found else ""
        while size := int(await reader.readline() or b"-1", 16):
            if size < 0:
                return stream
            data = (await reader.readexactly(size + 2))[:-2]
            now = time.monotonic_ns()
            stream.body += data
            stream.events += data.count(b"data: ")
            if b'"content"' in data and b"word" in data:
                stream.latencies += [(now - int(sent)) / 1e9 for sent in _ID.findall(data)]
        stream.ended = True
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # it broke, and `ended` says so
    finally:
        writer.close()
    return stream


@dataclass(frozen=True)
class Team:
    """HAProxy in front of workers."""

    port: int
    admin: Path
    workers: list[Worker]
    haproxy: subprocess.Popen[bytes]

    def reload(self, worker: Worker, wait: float = LIMIT) -> "subprocess.Popen[str]":
        """Begin to restart a worker by the project's own script, with so many seconds for its streams to end."""
        command = [sys.executable, str(RELOAD), "--socket", str(self.admin), "--wait", str(wait), worker.name]
        return subprocess.Popen(
            [*command, *worker.restart], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
        )

    def states(self) -> dict[str, str]:
        """What HAProxy says of each worker: `UP`, `DOWN`, `DRAIN`, without a count of checks as in `UP 1/3`."""
        made = subprocess.run(
            [sys.executable, "-c", _STATES, str(RELOAD.parent), str(self.admin)], capture_output=True, check=True
        )
        found: dict[str, str] = json.loads(made.stdout)
        return found


_STATES = """
import csv, json, sys
sys.path.insert(0, sys.argv[1])
from reload import HAProxy
lines = HAProxy(sys.argv[2], "workers").say("show stat").removeprefix("# ").splitlines()
rows = [row for row in csv.DictReader(lines) if row["pxname"] == "workers"]
print(json.dumps({row["svname"]: row["status"].split()[0] for row in rows}))
"""


@contextmanager
def team(folder: Path, workers: int, to: str, *options: str) -> Iterator[Team]:
    """So many workers behind HAProxy, all of them there, for the length of a `with` block."""
    program = haproxy()
    assert program is not None
    with ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in range(2 * workers + 1)]
        pairs = list(zip(ports[1::2], ports[2::2], strict=True))
        admin = folder / "admin.sock"
        config = folder / "haproxy.cfg"
        made = []
        for number, (port, health) in enumerate(pairs, 1):
            made.append(Worker(f"w{number}", folder, port, health, to, options))
            stack.callback(made[-1].close)
        config.write_text(haproxy_config(ports[0], admin, pairs), encoding="utf-8")
        balancer = subprocess.Popen([program, "-f", str(config)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(balancer.wait, LIMIT)
        stack.callback(balancer.terminate)
        seen(admin.exists)
        yield Team(ports[0], admin, made, balancer)
