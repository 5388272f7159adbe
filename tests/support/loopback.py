"""A real mitmdump on loopback, a scripted upstream after it, and what a client sees: for tests from end to end.

An upstream answers every request with the next of its replies; a reply is a row of pieces, each its own write, so a
test says where the bytes are cut. Everything has a time limit and is stopped at the end of its `with` block.

Nothing here is in time because a moment has passed: a client, an upstream and mitmdump wait for what the others have
done. What mitmdump prints or writes may come long after the end of a reply that its client sees, so it is waited for,
too: `Dump.wait_for` for a line, `Growing` for a flow.
"""

import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import StreamEnded
from mitmproxy import http
from mitmproxy.exceptions import FlowReadException
from mitmproxy.io import FlowReader

from support.mitmtools import Run
from support.repository import REPO
from support.tlsclient import serving

MAIN = REPO / "addon" / "main.py"
LIMIT = 180.0  # seconds for anything, on a machine that does much else; it costs time only where something fails

PATH = "/v1/chat/completions"
EVENTS = {"content-type": "text/event-stream"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "Bash",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
        },
    }
]
CALL = '<invoke name="Bash">\n<parameter name="command">ls -la</parameter>\n</invoke>'


# --- what is asked and answered ---------------------------------------------------------------------------------------


def asked(*, tools: bool = True, stream: bool = True, user: str = "list the files") -> bytes:
    """A request's body."""
    body: dict[str, Any] = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": user}]}
    return json.dumps(body | ({"tools": TOOLS} if tools else {})).encode()


def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    """One event of a streamed reply."""
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({"id": "c1", "model": "m", "choices": [choice]}).encode() + b"\n\n"


def streamed(text: str, size: int = 7, *, reason: str | None = "stop") -> list[bytes]:
    """The events of a reply that writes `text`, `size` characters each; without a reason it does not end."""
    pieces = [chunk({"role": "assistant", "content": ""})]
    pieces += [chunk({"content": text[start : start + size]}) for start in range(0, len(text), size)]
    return pieces if reason is None else [*pieces, chunk({}, reason), b"data: [DONE]\n\n"]


def whole(text: str) -> bytes:
    """The body of a reply that comes as one."""
    message = {"role": "assistant", "content": text}
    return json.dumps({"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


def calls_in(body: bytes) -> list[tuple[str, str]]:
    """The native calls that a client reads in a reply, streamed or whole: names and arguments as far as they came."""
    found: dict[int, list[str]] = {}
    for data in _payloads(body):
        for choice in data.get("choices", ()):
            told = choice.get("delta") or choice.get("message") or {}
            for place, call in enumerate(told.get("tool_calls") or ()):
                parts = found.setdefault(call.get("index", place), ["", ""])
                parts[0] += call["function"].get("name") or ""
                parts[1] += call["function"].get("arguments") or ""
    return [(name, arguments) for name, arguments in found.values()]


def text_in(body: bytes) -> str:
    """The text that a client shows of a reply."""
    told = [
        choice.get("delta") or choice.get("message") or {} for data in _payloads(body) for choice in data["choices"]
    ]
    return "".join(one.get("content") or "" for one in told)


def _payloads(body: bytes) -> Iterator[dict[str, Any]]:
    if not body.startswith(b"data:"):
        yield json.loads(body)
        return
    for event in body.split(b"\n\n"):
        if event.startswith(b"data: {"):
            yield json.loads(event.removeprefix(b"data: "))


def encoded(pieces: Iterable[bytes], coding: str) -> list[bytes]:
    """Pieces in a content coding, flushed after each so that every piece can be decoded when it comes."""
    if coding == "br":
        packer = import_module("brotli").Compressor()
        return [packer.process(piece) + packer.flush() for piece in pieces] + [packer.finish()]
    if coding == "zstd":
        packer = _zstd_packer()
        return [packer.compress(piece) + packer.flush(packer.FLUSH_BLOCK) for piece in pieces] + [packer.flush()]
    bits = {"gzip": 31, "deflate": 15, "deflate-raw": -15}[coding]
    zipper = zlib.compressobj(wbits=bits)
    return [zipper.compress(piece) + zipper.flush(zlib.Z_SYNC_FLUSH) for piece in pieces] + [zipper.flush()]


def _zstd_packer() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name).ZstdCompressor()
        except ImportError:
            continue
    zstandard = import_module("zstandard")
    packer = zstandard.ZstdCompressor().compressobj()
    packer_type = type("Packer", (), {"FLUSH_BLOCK": zstandard.COMPRESSOBJ_FLUSH_BLOCK})
    one = packer_type()
    one.compress = packer.compress
    one.flush = packer.flush
    return one


# --- the upstream -----------------------------------------------------------------------------------------------------


type Framing = Literal["chunked", "length", "close"]
type Cut = Literal["fin", "rst"] | None


@dataclass(frozen=True)
class Reply:
    """What the upstream answers.

    framing   chunked, length (content-length), or close (to the end of the connection)
    cut       None for a reply that ends; "fin" or "rst" when the last piece has been read and before its end
    pause     seconds between two pieces
    stays     the reply does not end: after the last piece the connection stays open until the other side hangs up
    gates     by the number of a piece, what it waits for: what must have happened before it comes
    left      set when the other side has hung up before the reply's end
    """

    pieces: Sequence[bytes]
    headers: dict[str, str] = field(default_factory=lambda: dict(EVENTS))
    status: int = 200
    framing: Framing = "chunked"
    cut: Cut = None
    pause: float = 0.0
    stays: bool = False
    gates: Mapping[int, threading.Event] = field(default_factory=dict)
    left: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Asked:
    """What reached the upstream."""

    line: str
    headers: dict[str, str]
    body: bytes


def accepting(listening: socket.socket, answer: Callable[[socket.socket], None]) -> None:
    """Answer each connection in a thread of its own, until the socket is closed."""
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        connection.settimeout(LIMIT)
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


class Upstream:
    """A server on loopback. Its replies are given in turn, the last one again and again.

    others   replies to requests whose first line holds a text, whenever they come: an agent's own probes
    """

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.others: dict[str, Reply] = {}
        self.asked: list[Asked] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._closing = threading.Event()
        self._thread = threading.Thread(target=accepting, args=(self._socket, self._answer), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self._closing.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(LIMIT)

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as received:
            try:
                while self._exchange(connection, received):
                    pass
            except OSError:  # also one that stays idle for too long
                return

    def _exchange(self, connection: socket.socket, received: Any) -> bool:
        """One request and its reply; whether the connection goes on."""
        line = received.readline().decode().strip()
        if not line:
            return False
        headers: dict[str, str] = {}
        while header := received.readline().decode().strip():
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(received.readline(), 16):
                body += received.read(size)
                received.readline()
            received.readline()
        else:
            body = received.read(int(headers.get("content-length", 0)))
        self.asked.append(Asked(line, headers, body))
        reply = next((other for part, other in self.others.items() if part in line), None)
        if reply is None:
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        try:
            return self._send(connection, reply)
        except OSError:
            reply.left.set()
            return False

    def _send(self, connection: socket.socket, reply: Reply) -> bool:
        size = sum(len(piece) for piece in reply.pieces)
        framing = {
            "chunked": {"transfer-encoding": "chunked"},
            "length": {"content-length": str(size + (1 if reply.cut else 0))},
            "close": {},
        }[reply.framing]
        head = [f"HTTP/1.1 {reply.status} OK", *(f"{k}: {v}" for k, v in {**reply.headers, **framing}.items())]
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        chunked = reply.framing == "chunked"
        last = b"0\r\n\r\n" if chunked and not (reply.stays or reply.cut) else b""
        for number, piece in enumerate(reply.pieces):
            time.sleep(reply.pause if number else 0)
            if number in reply.gates and not self._comes(connection, reply, reply.gates[number]):
                return False
            framed = b"%x\r\n%b\r\n" % (len(piece), piece) if piece and chunked else piece
            # In one write with the end: some SDKs hang up when they have read `[DONE]`.
            connection.sendall(framed + last if number == len(reply.pieces) - 1 else framed)
        if not reply.pieces:
            connection.sendall(last)
        if reply.stays:
            self._comes(connection, reply, threading.Event())
            return False
        if reply.cut == "rst":
            until_read(connection)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        return not reply.cut and reply.framing != "close"

    def _comes(self, connection: socket.socket, reply: Reply, event: threading.Event) -> bool:
        """Wait for an event. False when the other side hangs up first, or this upstream is closed."""
        while not event.wait(0.01):
            if self._closing.is_set():
                return False
            if not isinstance(connection, ssl.SSLSocket) and _hung_up(connection):
                reply.left.set()
                return False
        return True


def _hung_up(connection: socket.socket) -> bool:
    return bool(select.select([connection], [], [], 0)[0]) and not connection.recv(1, socket.MSG_PEEK)


def until_read(connection: socket.socket) -> None:
    """Wait until the other side of a connection on this machine has read all that it was sent.

    A reset throws away what it has not read. How much that is Linux tells in `/proc/net/tcp` (proc_pid_net(5)), each
    line a socket: its own address, the other one, the state, bytes not yet taken on as `tx_queue:rx_queue`, in hex.
    Elsewhere a moment has to do.
    """
    table = Path("/proc/net/tcp")
    if not table.exists():
        time.sleep(0.2)
        return
    ours, theirs = (f"{port:04X}" for port in (connection.getsockname()[1], connection.getpeername()[1]))
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        unread = 0
        for _, local, remote, _, queues, *_ in map(str.split, table.read_text("ascii").splitlines()[1:]):
            sent, came = (int(size, 16) for size in queues.split(":"))
            ends = (local.rpartition(":")[2], remote.rpartition(":")[2])
            unread += sent if ends == (ours, theirs) else came if ends == (theirs, ours) else 0
        if not unread:
            return
        time.sleep(0.005)
    raise TimeoutError(f"{unread} bytes were not read within {LIMIT} s")


@contextmanager
def upstream(*replies: Reply) -> Iterator[Upstream]:
    """An upstream for the length of a `with` block."""
    server = Upstream(*replies)
    try:
        yield server
    finally:
        server.close()


# --- mitmdump ---------------------------------------------------------------------------------------------------------


class Dump:
    """A running mitmdump, or another `tool` of mitmproxy. `lines` is what it printed so far.

    prefix   a command that starts it, such as `unshare -rm`, and that does not fork
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        cwd: Path | None = None,
        tool: str = "mitmdump",
        prefix: Sequence[str] = (),
    ) -> None:
        self.lines: list[str] = []
        self.port = 0
        self._printed = threading.Condition()
        self._over = False  # whether `lines` is all that it prints
        given = ["--set", f"confdir={folder}", *arguments]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self._process = (
            _prefixed(prefix, tool, given, cwd or folder, environment)
            if prefix
            else Run(tool, given, cwd or folder, environment, LIMIT)
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                with self._printed:
                    self.lines.append(line.rstrip("\n"))
                    self._printed.notify_all()
        with self._printed:
            self._over = True
            self._printed.notify_all()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_for(self, *texts: str, count: int = 1) -> str:
        """The first line with all the texts in it, or the `count`th, as soon as it is printed."""
        found: list[str] = []
        read = 0

        def enough() -> bool:
            nonlocal read
            found.extend(line for line in self.lines[read:] if all(text in line for text in texts))
            read = len(self.lines)
            return len(found) >= count or self._over

        with self._printed:
            in_time = self._printed.wait_for(enough, LIMIT)
        if len(found) >= count:
            return found[count - 1]
        why = f"within {LIMIT} s" if not in_time else "before it ended"
        raise AssertionError(f"{texts} was not printed {count} times {why}:\n{self.output}")

    def port_of(self, mode: str) -> int:
        """The port of one of several modes, in mitmdump's words: `reverse proxy to`, `HTTP(S) proxy`."""
        line = self.wait_for(f"] {mode} ")
        return int(line.partition("listening at ")[2].split(" ")[0].rstrip(".,").rpartition(":")[2])

    def ended(self) -> int:
        """The exit status, once it has ended by itself."""
        try:
            status = self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._reader.join(LIMIT)
        return status

    def wait_until_over(self) -> None:
        """Wait, for however long, until it prints no more: it has ended."""
        self._reader.join()

    def stop(self) -> int:
        """Ask it to end, as Ctrl-C does; the exit status."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(LIMIT)


def _prefixed(
    prefix: Sequence[str], tool: str, arguments: Sequence[str], folder: Path, environment: dict[str, str]
) -> subprocess.Popen[str]:
    """A tool that another command starts, and that therefore loads mitmproxy itself."""
    start = f"from mitmproxy.tools.main import {tool}; {tool}()"
    return subprocess.Popen(
        [*prefix, sys.executable, "-c", start, *arguments],
        cwd=folder,
        env=environment | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


@contextmanager
def mitmdump(
    folder: Path,
    *arguments: str,
    to: str | None = None,
    addon: bool = True,
    cwd: Path | None = None,
    prefix: Sequence[str] = (),
) -> Iterator[Dump]:
    """A mitmdump in front of the upstream `to`, waited for; without `to` it only runs.

    folder   where its certificates lie, which are slow to make: one folder for many runs
    addon    whether it loads the addon
    prefix   a command that starts it
    """
    given = ["-s", str(MAIN)] if addon else []
    if to is not None:
        given += ["--mode", f"reverse:{to}", "--listen-host", "127.0.0.1", "--listen-port", "0"]
    dump = Dump([*given, *arguments], folder, cwd=cwd, prefix=prefix)
    try:
        if to is not None:
            dump.port = int(dump.wait_for("listening at").rstrip(".").rpartition(":")[2])
        yield dump
        dump.stop()
    except BaseException as error:
        error.add_note(f"what mitmdump printed:\n{dump.output[-5000:]}")
        raise
    finally:
        dump.kill()


def flows_in(path: Path) -> list[http.HTTPFlow]:
    """The flows of a file that nobody writes any more. Raises FlowReadException where one is not whole."""
    with path.open("rb") as file:
        return [flow for flow in FlowReader(file).stream() if isinstance(flow, http.HTTPFlow)]


class Growing:
    """A file of flows that is still being written: its last one may be on its way, or the file may not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._flows: list[http.HTTPFlow] = []
        self._at = 0  # how far it has been read, in bytes

    def flows(self) -> list[http.HTTPFlow]:
        """The flows that are whole by now."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                for flow in FlowReader(file).stream():
                    self._at = file.tell()
                    if isinstance(flow, http.HTTPFlow):
                        self._flows.append(flow)
        except (FlowReadException, OSError):  # somebody is just writing, or has not begun to
            pass
        return self._flows

    def wait_for(self, enough: Callable[[Sequence[http.HTTPFlow]], object]) -> list[http.HTTPFlow]:
        """The flows that are whole, as soon as they are enough."""
        until = time.monotonic() + LIMIT
        while not enough(flows := self.flows()):
            if time.monotonic() > until:
                raise AssertionError(f"not enough in {self.path} within {LIMIT} s: {[f.request.path for f in flows]}")
            time.sleep(0.02)
        return flows


# --- the client -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Got:
    """What a client got: `raw` is everything after the header lines as it came, `ended` whether the body said so."""

    status: int
    headers: dict[str, str]
    raw: bytes
    body: bytes
    ended: bool


def post(
    url: str, body: bytes, headers: dict[str, str] | None = None, *, path: str = PATH, version: str = "1.1"
) -> Got:
    """One request on a connection of its own, and the reply to its end or to that of the connection."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), LIMIT) as connection:
        fields = {"host": f"{host}:{port}", "content-length": str(len(body)), "content-type": "application/json"}
        lines = [f"POST {path} HTTP/{version}", *(f"{k}: {v}" for k, v in {**fields, **(headers or {})}.items())]
        connection.sendall("\r\n".join([*lines, "connection: close", "", ""]).encode() + body)
        received = b""
        try:
            while data := connection.recv(65536):
                received += data
        except ConnectionError:
            pass
    assert received, f"{url} has hung up without a word"
    head, _, raw = received.partition(b"\r\n\r\n")
    status, *rest = head.decode().split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    if fields.get("transfer-encoding") == "chunked":
        unframed, ended = _unchunked(raw)
    elif "content-length" in fields:
        unframed, ended = raw, len(raw) == int(fields["content-length"])
    else:
        unframed, ended = raw, True
    return Got(int(status.split()[1]), fields, raw, unframed, ended)


def _unchunked(raw: bytes) -> tuple[bytes, bool]:
    body = b""
    while raw:
        size, _, raw = raw.partition(b"\r\n")
        if int(size, 16) == 0:
            return body, True
        body, raw = body + raw[: int(size, 16)], raw[int(size, 16) + 2 :]
    return body, False


# --- all three --------------------------------------------------------------------------------------------------------


class Host:
    """One upstream and one mitmdump with the addon, for many exchanges. Each gets a path of its own."""

    def __init__(self, server: Upstream, dump: Dump, recording: Path) -> None:
        self.upstream = server
        self.dump = dump
        self.recording = recording
        self._number = 0
        self._written = Growing(recording)

    def prefix(self) -> str:
        """A new beginning of paths, so that a flow can be told from all others, also when a test runs again."""
        self._number += 1
        return f"/{self._number}"

    def path(self) -> str:
        """A new path, of Chat Completions."""
        return self.prefix() + PATH

    def ask(
        self, reply: Reply, body: bytes | None = None, headers: dict[str, str] | None = None, version: str = "1.1"
    ) -> tuple[Got, http.HTTPFlow]:
        """One exchange: what the client got, and the flow as mitmdump has written it."""
        self.upstream.replies = [reply]
        path = self.path()
        got = post(self.dump.url, asked() if body is None else body, headers, path=path, version=version)
        return got, self.flow(path)

    def flow(self, path: str, *, count: int = 1) -> http.HTTPFlow:
        """The flow of a path, once it is written; of several exchanges the one of this number, counted from 1."""
        return self._nth(count, lambda flow: flow.request.path == path)

    def flow_under(self, prefix: str) -> http.HTTPFlow:
        """The first flow under a path, once it is written."""
        return self._nth(1, lambda flow: flow.request.path.startswith(prefix))

    def _nth(self, count: int, wanted: Callable[[http.HTTPFlow], bool]) -> http.HTTPFlow:
        flows = self._written.wait_for(lambda flows: sum(map(wanted, flows)) >= count)
        return [flow for flow in flows if wanted(flow)][count - 1]


@contextmanager
def host(folder: Path, *arguments: str) -> Iterator[Host]:
    """A host for the length of a `with` block; `arguments` are mitmdump's."""
    recording = folder / f"host-{time.monotonic_ns()}.flow"
    with upstream(Reply([])) as server, mitmdump(folder, "-w", str(recording), *arguments, to=server.url) as dump:
        yield Host(server, dump, recording)


@contextmanager
def configured(folder: Path, config: str) -> Iterator[Host]:
    """A host with this configuration, whose log in the end speaks of no fault."""
    file = folder / "toolcalls.yaml"
    file.write_text(config, encoding="utf-8")
    with host(folder, "--set", f"toolcalls_config={file}") as made:
        yield made
        assert_no_fault(made.dump)


def assert_no_fault(dump: Dump) -> None:
    assert not re.search(r"Traceback|crashed|[Ee]xception|addon error", dump.output), dump.output


# --- HTTP/2 -----------------------------------------------------------------------------------------------------------


@contextmanager
def upstream_h2(reply: Reply, folder: Path) -> Iterator[str]:
    """An HTTP/2 server over TLS that gives `reply` to every request, each piece one DATA frame; its URL.

    mitmproxy's authority in `folder` has signed its certificate.
    """
    context = serving(folder)
    context.set_alpn_protocols(["h2"])
    listening = socket.create_server(("127.0.0.1", 0))

    def answer(plain: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            _serve_h2(connection, reply)

    thread = threading.Thread(target=accepting, args=(listening, answer), daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(LIMIT)


def _serve_h2(connection: ssl.SSLSocket, reply: Reply) -> None:
    state = H2Connection(H2Configuration(client_side=False))
    state.initiate_connection()
    connection.sendall(state.data_to_send())
    while data := connection.recv(65536):
        for event in state.receive_data(data):
            if isinstance(event, StreamEnded):
                state.send_headers(event.stream_id, [(":status", str(reply.status)), *reply.headers.items()])
                for piece in reply.pieces:
                    state.send_data(event.stream_id, piece)
                    connection.sendall(state.data_to_send())
                if reply.cut:
                    state.reset_stream(event.stream_id, ErrorCodes.INTERNAL_ERROR)
                else:
                    state.end_stream(event.stream_id)
        connection.sendall(state.data_to_send())
