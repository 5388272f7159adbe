"""What an exchange costs as a whole: small ones, large requests, the first byte, many at once, the longest pause.

A mitmdump without work of its own (`identity.py`) and one with the addon are in front of the same scripted upstream,
on loopback, and are asked in turns. CPU is mitmdump's own. What is measured by the clock says something only on a
machine that is idle: it is printed with the ratio to the other mitmdump, which had the same minute.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from socket import create_server
from threading import Thread

import host

BASELINE, OURS = "identity", "toolcalls"
EXCHANGES = 60
LARGE = (1_000_000, 2_000_000)
STREAMS = 500
EVENTS_OF_STREAM = 40
PACED, RATE, SECONDS = 64, 30, 4


class Upstream:
    """Answers requests on connections that stay open. The path says how: `/EVENTS/RATE/…`, RATE 0 for all at once.

    Each event holds the time at which it was sent, by this process' clock.
    """

    def __init__(self):
        self._socket = create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        Thread(target=self._run, daemon=True).start()

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._serve, sock=self._socket))
        self._loop.run_forever()

    async def _serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = (line.split(b":", 1) for line in head.split(b"\r\n")[1:] if line)
                length = next((int(value) for name, value in fields if name.lower() == b"content-length"), 0)
                await reader.readexactly(length)
                _, events, rate, *_ = head.split(b" ")[1].decode().split("/")
                await self._answer(writer, int(events), int(rate))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has left; the bench notices by itself
        finally:
            writer.close()

    async def _answer(self, writer, events, rate):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        due = time.perf_counter()
        for _ in range(events):
            if rate:
                due += 1 / rate
                await asyncio.sleep(max(0, due - time.perf_counter()))
            event = host.chunk({"content": f" {time.perf_counter():.6f}"})
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        for event in (host.chunk({}, "stop"), b"data: [DONE]\n\n"):
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def tools(tag, count=60):
    """The tools of a request, of which no other tag has one."""
    made = [{"name": f"tool_{tag}_{number}", "parameters": host.SCHEMA} for number in range(count)]
    return [{"type": "function", "function": one} for one in made]


def body(tag=0, size=0, turns=150):
    """A request with tools and, where `size` asks for that, a history of so many bytes."""
    messages = [{"role": "user", "content": "Go."}]
    text = "a line of a file that a tool has read\n" * (size // turns // 40)
    for number in range(turns if size else 0):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "write_to_file", "arguments": '{"path":"a"}'},
        }
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} {tag}\n{text}"},
        ]
    return json.dumps({"model": "m", "stream": True, "messages": messages, "tools": tools(tag)}).encode()


def asked(connection, payload, path="/10/0/v1/chat/completions"):
    """Seconds until the first byte of the answer; all of it is read."""
    start = time.perf_counter()
    connection.request("POST", path, payload, {"content-type": "application/json"})
    answer = connection.getresponse()
    answer.read(1)
    first = time.perf_counter() - start
    answer.read()
    return first


def cpu_of(port, payloads):
    """ms of mitmdump's CPU for each of these requests."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        before = host.cpu(port)
        for payload in payloads:
            asked(connection, payload)
        return (host.cpu(port) - before) / len(payloads) * 1e3
    finally:
        connection.close()


def in_turns(ports, work, rounds=3):
    """For each mitmdump the least of some rounds of `work(port, round)`, which are done in turns."""
    seen = {name: [] for name in ports}
    for turn in range(rounds):
        for name, port in ports.items():
            seen[name].append(work(port, turn))
    return {name: min(values) for name, values in seen.items()}


def first_byte(port, _turn, count=40):
    """The median time to the first byte on a connection that stays open, in ms."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        payload = body()
        return statistics.median(asked(connection, payload) for _ in range(count)) * 1e3
    finally:
        connection.close()


async def _stream(port, path, payload, late):
    """One reply; when each event was sent and how late it came is added to `late`, in seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(payload)}\r\n\r\n"
    )
    writer.write(head.encode() + payload)
    try:
        while line := await reader.readline():
            if line.startswith(b"data: {") and b'"content":" ' in line:
                sent = float(line.partition(b'"content":" ')[2].partition(b'"')[0])
                late.append((sent, time.perf_counter() - sent))
            elif line.startswith(b"data: [DONE]"):
                return
        raise SystemExit("a stream broke off")
    finally:
        writer.close()


def streams(port, count, events, rate):
    """So many replies at once: seconds by the clock, and of each event when it was sent, from the start, and how late
    it came.
    """
    late = []
    payload = json.dumps(host.REQUEST).encode()

    async def all_of_them():
        path = f"/{events}/{rate}/v1/chat/completions"
        await asyncio.gather(*(_stream(port, path, payload, late) for _ in range(count)))

    start = time.perf_counter()
    asyncio.run(all_of_them())
    return time.perf_counter() - start, [(sent - start, waited) for sent, waited in late]


def percentile(values, share):
    """The value below which this share of all is."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def started(addons, rounds=3):
    """Seconds by the clock from the start of mitmdump until it listens: the median of some."""
    seen = []
    for _ in range(rounds):
        with create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        scripts = [part for addon in addons for part in ("-s", addon)]
        command = [
            Path(sys.executable).with_name("mitmdump"),
            "--listen-host",
            "127.0.0.1",
            "-p",
            str(port),
            "-q",
            *scripts,
        ]
        start = time.perf_counter()
        process = subprocess.Popen(command)
        try:
            while True:
                try:
                    HTTPConnection("127.0.0.1", port, timeout=5).connect()
                    break
                except OSError:
                    if time.perf_counter() - start > 30:
                        raise SystemExit("mitmdump did not start") from None
                    time.sleep(0.005)
            seen.append(time.perf_counter() - start)
        finally:
            process.terminate()
            process.wait(60)
    return statistics.median(seen)


def row(name, unit, costs, digits=2):
    """A line: what it is, of both mitmdumps, the difference and the ratio."""
    none, ours = costs[BASELINE], costs[OURS]
    print(
        f"{name:58}{none:10.{digits}f}{ours:10.{digits}f}{ours - none:10.{digits}f}{ours / none:8.2f}  {unit}",
        flush=True,
    )


def main():
    """Print the table."""
    print("Exchanges through mitmdump: with an addon that does nothing, with this one, the difference and the ratio")
    print(f"{'':58}{'identity':>10}{'toolcalls':>10}{'minus':>10}{'ratio':>8}")
    row("until it listens", "s", {name: started(host.ADDONS[name]) for name in (BASELINE, OURS)})
    upstream = Upstream()
    with ExitStack() as running:
        ports = {
            name: running.enter_context(host.mitmdump(host.ADDONS[name], upstream.port)) for name in (BASELINE, OURS)
        }
        for port in ports.values():  # what is loaded after the start
            cpu_of(port, [body()] * 10)
        known = [body()] * EXCHANGES
        row("CPU of a small exchange, 60 tools seen before", "ms", in_turns(ports, lambda port, _: cpu_of(port, known)))
        row(
            "CPU of a small exchange, 60 new tools",
            "ms",
            in_turns(ports, lambda port, turn: cpu_of(port, [body(f"{turn}x{one}") for one in range(20)])),
        )
        for size in LARGE:
            large = [body(one, size) for one in range(5)]
            row(
                f"CPU of a request of {len(large[0]) / 1e6:.1f} MB",
                "ms",
                in_turns(ports, lambda port, _, large=large: cpu_of(port, large)),
            )
        row("first byte, median on one connection, by the clock", "ms", in_turns(ports, first_byte), 3)
        row(
            f"{STREAMS} streams at once, by the clock",
            "s",
            in_turns(ports, lambda port, _: streams(port, STREAMS, EVENTS_OF_STREAM, 0)[0], 3),
        )
        late = {name: [] for name in ports}
        for _ in range(3):
            for name, port in ports.items():
                late[name] += streams(port, PACED, RATE * SECONDS, RATE)[1]
        for share, since, shown in ((0.5, 0, "p50"), (0.99, 0, "p99"), (0.99, 1, "p99 from 1 s on")):
            row(
                f"added to an event, {PACED} streams at {RATE}/s, {shown}",
                "ms",
                {
                    name: percentile([waited for sent, waited in values if sent >= since], share) * 1e3
                    for name, values in late.items()
                },
                3,
            )
        pauses = {name: float(host.ask(port, "GET", "/bench/pause")) for name, port in ports.items()}
        for name, port in ports.items():
            cpu_of(port, [body(f"p{one}") for one in range(100)])
            cpu_of(port, [body(f"q{one}", LARGE[0]) for one in range(5)])
            streams(port, STREAMS, EVENTS_OF_STREAM, 0)
            pauses[name] = float(host.ask(port, "GET", "/bench/pause")) * 1e3
        row("longest pause of the loop, in all of that again", "ms", pauses, 1)


if __name__ == "__main__":
    main()
