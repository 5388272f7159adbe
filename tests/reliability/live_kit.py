"""What the live faults share: an upstream and clients for many streams at once, a mitmdump to watch, and the counting.

Upstream and clients run in one asyncio loop, the proxy in its own process (`support/loopback.py`), all on loopback.
Every request carries the canaries of the threat list (K00 to K13) in headers, query and text, and every proxy writes
all that the addon can write (log, journal, recording); when it has ended, all of that is searched for them.
"""

import asyncio
import os
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from mitmproxy import http

from reliability.rows import Row
from support.canaries import CANARY, HEADERS, QUERY
from support.loopback import (
    CALL,
    EVENTS,
    PATH,
    Dump,
    Growing,
    Reply,
    asked,
    calls_in,
    mitmdump,
    streamed,
    text_in,
    until_read,
)

PATIENCE = 120.0  # seconds without a byte after which a stream hangs; 500 at once may have to wait for their first
MEGABYTE = 1024 * 1024

# --- what is said -----------------------------------------------------------------------------------------------------

TRACES = (CANARY.encode(), b"Q0FOQVJZ")  # the word, and its beginning in base64
SECRET = "OPENAI_API_KEY=sk-proj-CANARY14aaaaaaaaaaaaaaaaaaaa"
SENT = asked(user=f"list the files; {SECRET}")
REPLIED = {**EVENTS, "set-cookie": "__cf_bm=CANARY15"}

MADE = [("Bash", '{"command":"ls -la"}')]
PLAIN = 'Größe: a < b, x <y> z 😀\n\n`<invoke name="Bash">` is how it is written.\n'
CALLED = f"Let me look.\n\n{CALL}"
FENCED = f"Like this:\n\n```xml\n{CALL}\n```\n"


@dataclass(frozen=True)
class Said:
    """A reply and what becomes of it. `calls` are those that the client gets; without any the bytes stay the same."""

    name: str
    reply: Reply
    calls: Sequence[tuple[str, str]] = ()
    text: str = ""

    @cached_property
    def body(self) -> bytes:
        """What the upstream sends."""
        return b"".join(self.reply.pieces)


def said(name: str, text: str, size: int = 7, *, calls: Sequence[tuple[str, str]] = (), pause: float = 0.0) -> Said:
    """A stream of `text`, `size` characters an event."""
    return Said(name, Reply(streamed(text, size), dict(REPLIED), pause=pause), calls, text.partition(CALL)[0])


def mixture(pause: float = 0.0) -> list[Said]:
    """What an upstream says most of the time: text, a call, a quoted call."""
    return [
        said("text", PLAIN, pause=pause),
        said("call", CALLED, calls=MADE, pause=pause),
        said("quoted", FENCED, pause=pause),
    ]


# --- counting ---------------------------------------------------------------------------------------------------------

type Problem = tuple[Literal["lost", "invented", "secrets", "hangs", "missed"], str]
"""What went wrong with an input. `missed` is a goal that is not one of the counters: a time, a size, a log line."""


@contextmanager
def collected(problems: list[Problem]) -> Iterator[None]:
    """What raises is a problem like any other: it is told in the row, and the next input still has its turn."""
    try:
        yield
    except TimeoutError as error:
        problems.append(("hangs", str(error) or "no end in sight"))
    except Exception as error:  # noqa: BLE001 - see above
        problems.append(("missed", " ".join(f"{type(error).__name__}: {error}".split())[:600]))


class Tally:
    """Counts the inputs of one group, and turns them into its row."""

    def __init__(self, group: str) -> None:
        self.group = f"live: {group}"
        self._n = 0
        self._survived = 0
        self._counts = dict.fromkeys(("lost", "invented", "secrets", "hangs", "missed"), 0)
        self._failures: list[str] = []

    def add(self, name: str, problems: Sequence[Problem] = ()) -> None:
        """One input."""
        self._n += 1
        self._survived += not problems
        for kind in {kind for kind, _ in problems}:
            self._counts[kind] += 1
        if problems:
            self._failures.append(f"{name}: " + "; ".join(f"{kind}: {why}" for kind, why in problems))

    @contextmanager
    def input(self, name: str) -> Iterator[list[Problem]]:
        """One input, whose problems are collected."""
        problems: list[Problem] = []
        with collected(problems):
            yield problems
        self.add(name, problems)

    def row(self) -> Row:
        """The group's row."""
        counts = self._counts
        return Row(
            self.group,
            self._n,
            self._survived,
            lost=counts["lost"],
            invented=counts["invented"],
            secrets=counts["secrets"],
            hangs=counts["hangs"],
            failures=tuple(self._failures),
        )


# --- the upstream -----------------------------------------------------------------------------------------------------


@dataclass
class Server:
    """A running upstream. `asked` counts requests, `left` has the moment at which a path's client hung up early."""

    url: str
    asked: int = 0
    sent: int = 0  # bytes of all bodies
    left: dict[str, float] = field(default_factory=dict)


@asynccontextmanager
async def served(answer: Callable[[str], Reply]) -> AsyncIterator[Server]:
    """An upstream on loopback that answers each path by `answer`, for the length of a `with` block."""
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):  # a client that leaves, noted in `left`
                while await _exchange(server, answer, reader, writer):
                    pass
        finally:
            running.discard(task)
            writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
    host, port = listening.sockets[0].getsockname()
    server = Server(f"http://{host}:{port}")
    try:
        yield server
    finally:
        listening.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _exchange(
    server: Server, answer: Callable[[str], Reply], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """One request and its reply; whether the connection goes on."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    path = head.split(" ", 2)[1].partition("?")[0]
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])}
    await reader.readexactly(int(fields.get("content-length", 0)))
    server.asked += 1
    sending = asyncio.create_task(_send(server, writer, answer(path)))
    gone = asyncio.create_task(reader.read(1))  # nothing comes here while a reply is sent, but the end
    try:
        await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            server.left[path] = time.monotonic()
            return False
        return sending.result()
    except OSError:
        server.left[path] = time.monotonic()
        raise
    finally:
        for task in (sending, gone):
            task.cancel()
        await asyncio.gather(sending, gone, return_exceptions=True)


async def _send(server: Server, writer: asyncio.StreamWriter, reply: Reply) -> bool:
    framing = {"chunked": ["transfer-encoding: chunked"], "close": []}.get(reply.framing)
    if framing is None:
        framing = [f"content-length: {sum(map(len, reply.pieces)) + (1 if reply.cut else 0)}"]
    head = [f"HTTP/1.1 {reply.status} OK", *(f"{name}: {value}" for name, value in reply.headers.items()), *framing]
    writer.write("\r\n".join([*head, "", ""]).encode())
    chunked = reply.framing == "chunked"
    for number, piece in enumerate(reply.pieces):
        if reply.pause and number:
            await asyncio.sleep(reply.pause)
        if number in reply.gates:
            await writer.drain()
            await asyncio.to_thread(reply.gates[number].wait, PATIENCE)
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        server.sent += len(piece)
        if number % 16 == 0 or reply.pause:
            await writer.drain()
    await writer.drain()
    if reply.stays:
        await asyncio.Event().wait()  # until the other side hangs up
    if reply.cut == "rst":
        await asyncio.to_thread(until_read, writer.get_extra_info("socket"))
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    if reply.cut or reply.framing == "close":
        return False
    if chunked:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    # The next request may come at once; a connection for each keeps the two reads apart.
    return False


# --- a client ---------------------------------------------------------------------------------------------------------


@dataclass
class Got:
    """What a client has of a reply. `body` is without framing, `ended` whether the framing said so."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    ended: bool = False


async def ask(
    port: int,
    path: str,
    *,
    body: bytes = SENT,
    version: str = "1.1",
    rate: float = 0.0,
    leave: int = 0,
    until: bytes = b"",
    patience: float = PATIENCE,
    into: Got | None = None,
) -> Got:
    """One request on a connection of its own. Raises TimeoutError when nothing comes for `patience` seconds.

    rate    bytes a second that are read at most, 0 for all that comes
    leave   hang up with a reset after so many bytes of the body, 0 to stay
    until   hang up when the body has this, b"" to stay
    into    what is filled while it comes, and returned
    """
    got = into if into is not None else Got()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=256 * 1024)
    connection: socket.socket = writer.get_extra_info("socket")
    if rate:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    fields = {"host": f"127.0.0.1:{port}", "content-type": "application/json", "content-length": str(len(body))}
    lines = [f"POST {path}{QUERY} HTTP/{version}", *(f"{name}: {value}" for name, value in (fields | HEADERS).items())]
    began = time.monotonic()
    try:
        writer.write("\r\n".join([*lines, "connection: close", "", ""]).encode() + body)
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), patience)).decode().split("\r\n")
        got.status = int(head[0].split()[1])
        got.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        framed = _Framed(got.headers)
        while data := await asyncio.wait_for(reader.read(65536), patience):
            got.body += framed.feed(data)
            if leave and len(got.body) >= leave:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                break
            if until and until in got.body:
                break
            if rate:
                await asyncio.sleep(max(0.0, began + len(got.body) / rate - time.monotonic()))
        got.ended = framed.ended(len(got.body))
    except (ConnectionError, asyncio.IncompleteReadError):
        got.ended = False
    finally:
        writer.close()
    return got


class _Framed:
    """A body without its framing."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._chunked = headers.get("transfer-encoding") == "chunked"
        self._length = headers.get("content-length")
        self._rest = b""
        self._done = False

    def feed(self, data: bytes) -> bytes:
        if not self._chunked:
            return data
        data, at, out = self._rest + data, 0, []
        while not self._done and (end := data.find(b"\r\n", at)) >= 0:
            size = int(data[at:end], 16)
            if len(data) < end + 2 + size + 2:
                break
            out.append(data[end + 2 : end + 2 + size])
            self._done = size == 0
            at = end + 2 + size + 2
        self._rest = data[at:]
        return b"".join(out)

    def ended(self, size: int) -> bool:
        if self._chunked:
            return self._done
        return self._length is None or size == int(self._length)


def judged(one: Said, got: Got) -> list[Problem]:
    """What is wrong with a reply that came to its end."""
    problems: list[Problem] = []
    if not got.ended:
        problems.append(("lost", f"the body has no end after {len(got.body)} bytes"))
    if not one.calls:
        if bytes(got.body) != one.body:
            problems.append(("lost", f"{len(got.body)} bytes for {len(one.body)}, not the same"))
        return problems
    calls = calls_in(bytes(got.body)) if got.ended else []
    problems += [("invented", f"the call {call}") for call in calls if call not in one.calls]
    if calls != list(one.calls):
        problems.append(("lost", f"the calls are {calls}"))
    if got.ended and text_in(bytes(got.body)).rstrip() != one.text.rstrip():
        problems.append(("lost", "the text is not the same"))
    return problems


# --- the proxy --------------------------------------------------------------------------------------------------------


class Scene:
    """Where one scenario plays, how much of it, and what is drawn.

    folder    its own
    confdir   mitmproxy's certificates, which all scenes share
    fraction  1 for all inputs
    seed      of what is drawn
    """

    def __init__(self, folder: Path, confdir: Path, fraction: float, seed: int) -> None:
        self.folder = folder
        self.confdir = confdir
        self.fraction = fraction
        self.seed = seed
        self._proxies = 0

    def scaled(self, full: int, least: int) -> int:
        """A number of inputs, or a size: the fraction of a full one."""
        return max(least, round(full * min(self.fraction, 1.0)))

    def path(self, name: str) -> Path:
        """A file of the scenario."""
        return self.folder / name

    @asynccontextmanager
    async def proxy(
        self,
        url: str | None,
        *options: str,
        out: Path | None = None,
        log: str | None = None,
        records: bool = True,
        addon: bool = True,
        prefix: Sequence[str] = (),
    ) -> AsyncIterator["Proxy"]:
        """A mitmdump in front of `url` that writes all that the addon can write, to `out`.

        log      where it writes its log instead
        records  whether it records, which takes more CPU than all else
        prefix   a command that starts it, such as `unshare -rm`; it must not fork
        """
        self._proxies += 1
        out = out or self.path(f"out{self._proxies}")
        out.mkdir(mode=0o700, exist_ok=True)
        record = out / "recordings"
        given = ["--set", "flow_detail=0"]  # at 1 mitmproxy itself prints URLs in clear
        if addon:
            log = log or str(out / "log.jsonl")
            given += ["--set", f"toolcalls_log={log}", *(["--set", f"toolcalls_record={record}"] if records else [])]
        manager = mitmdump(self.confdir, *given, *options, to=url, addon=addon, prefix=prefix)
        dump = await asyncio.to_thread(manager.__enter__)
        try:
            yield Proxy(dump, out, record)
        except BaseException:
            await asyncio.to_thread(dump.kill)
            await asyncio.to_thread(manager.__exit__, *sys.exc_info())
            raise
        await asyncio.to_thread(manager.__exit__, None, None, None)


@dataclass(frozen=True)
class Proxy:
    """A running mitmdump. `out` holds what it writes, `record` is the folder of the recording in it."""

    dump: Dump
    out: Path
    record: Path

    @property
    def port(self) -> int:
        return self.dump.port

    @property
    def pid(self) -> int:
        return self.dump.pid

    def told(self, words: str) -> list[str]:
        """The lines that it printed with these words in them."""
        return [line for line in self.dump.lines if words in line]

    async def tells(self, words: str, count: int = 1) -> list[str]:
        """The same, once it has printed `count` of them: what it says of a flow may come after the flow's end."""
        until = time.monotonic() + PATIENCE
        while len(self.told(words)) < count and time.monotonic() < until:
            await asyncio.sleep(0.02)
        return self.told(words)

    def cpu(self) -> float:
        """Seconds of CPU that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes of RAM that it uses."""
        return _status(self.pid, "VmRSS")

    def forget_peak(self) -> None:
        """From here on `peak` counts anew."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")

    def peak(self) -> int:
        """The most bytes of RAM that it used."""
        return _status(self.pid, "VmHWM")

    def recorded(self) -> list[http.HTTPFlow]:
        """The flows of the addon's own recording that are whole by now."""
        return [flow for path in sorted(self.record.glob("*.flow")) for flow in Growing(path).flows()]

    def leaks(self) -> list[Problem]:
        """The canaries that are in anything that it has printed or written."""
        texts = {"its log": self.dump.output.encode()}
        texts |= {str(path.relative_to(self.out)): path.read_bytes() for path in self.out.rglob("*") if path.is_file()}
        return [
            ("secrets", f"{trace!r} in {name}") for name, text in texts.items() for trace in TRACES if trace in text
        ]


def _status(pid: int, name: str) -> int:
    """A size of a process in bytes, from Linux's /proc."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


def measures() -> bool:
    """Whether CPU and memory of another process can be measured here (Linux)."""
    return Path("/proc/self/clear_refs").exists()


async def many(
    proxy: Proxy, saying: Sequence[Said], count: int, at_once: int, then: Callable[[int], Awaitable[None]] | None = None
) -> list[tuple[str, list[Problem]]]:
    """Ask for replies of all kinds in turn, `at_once` at a time: each one's name and problems.

    The upstream has to answer the path `/KIND/…` with the kind. `then` is awaited with the number of each that ended.
    """
    gate = asyncio.Semaphore(at_once)

    async def one(number: int) -> tuple[str, list[Problem]]:
        what = saying[number % len(saying)]
        problems: list[Problem] = []
        async with gate:
            with collected(problems):
                problems += judged(what, await ask(proxy.port, f"/{what.name}/{number}{PATH}"))
            if then is not None:
                await then(number)
        return f"{what.name} {number}", problems

    return await asyncio.gather(*(one(number) for number in range(count)))


def answering(saying: Sequence[Said]) -> Callable[[str], Reply]:
    """Answers `/KIND/…` with the kind's reply."""
    replies = {what.name: what.reply for what in saying}
    return lambda path: replies[path.split("/")[1]]
