"""A mitmdump to measure, and replies to send through it.

A scripted upstream sends one event a chunk as fast as it is read; mitmdump runs as its own process and reports its own
CPU time. Everything is on loopback. Only figures of one run are comparable: machines differ, and so does one machine.
"""

import asyncio
import json
import subprocess
import sys
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from socket import create_server
from threading import Thread

HERE = Path(__file__).parent
ADDONS = {
    "identity": [HERE / "identity.py"],
    "toolcalls": [HERE.parent / "addon" / "main.py"],
}

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
REQUEST = {
    "model": "scripted",
    "stream": True,
    "messages": [{"role": "user", "content": "Write the file."}],
    "tools": [{"type": "function", "function": {"name": "write_to_file", "parameters": SCHEMA}}],
}


def chunk(delta, finish=None):
    """One SSE event of a Chat Completions stream."""
    body = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return f"data: {json.dumps(body, separators=(',', ':'))}\n\n".encode()


def reply(text, step=4):
    """A whole reply whose text comes in pieces of `step` characters, an event each."""
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    return [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": piece}) for piece in pieces),
        chunk({}, "stop"),
        b"data: [DONE]\n\n",
    ]


def native(text, step=4):
    """A whole reply with one native call, an event for each piece of its arguments."""
    head = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write_to_file", "arguments": ""}}
    written = json.dumps({"content": text})
    pieces = [written[at : at + step] for at in range(0, len(written), step)]
    return [
        chunk({"role": "assistant", "tool_calls": [head]}),
        *(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces),
        chunk({}, "tool_calls"),
        b"data: [DONE]\n\n",
    ]


def replies(events):
    """The replies that are compared: plain text, and one call with a long argument, as text and natively."""
    prose = "The quick brown fox {} jumps over the lazy dog, and does so again. "  # no sentence comes twice
    text = "".join(prose.format(number) for number in range(4 * events // len(prose) + 1))[: 4 * events]
    call = f'<invoke name="write_to_file">\n<parameter name="content">{text}</parameter>\n</invoke>'
    return {"text": reply(text), "call": reply(call), "native": native(text)}


class Upstream:
    """Serves a reply by the first part of the path, a chunk an event."""

    def __init__(self, served):
        self._served = served
        self._socket = create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        Thread(target=self._run, daemon=True).start()

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._answer, sock=self._socket))
        self._loop.run_forever()

    async def _answer(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            fields = (line.split(b":", 1) for line in head.split(b"\r\n")[1:] if line)
            length = next((int(value) for name, value in fields if name.lower() == b"content-length"), 0)
            await reader.readexactly(length)
            events = self._served[head.split(b"/", 2)[1].decode()]
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for number, event in enumerate(events):
                writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                if number % 64 == 0:
                    await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has left; the bench notices by itself
        finally:
            writer.close()


@contextmanager
def mitmdump(addons, upstream_port, options=()):
    """A mitmdump in front of the upstream; yields its port."""
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        Path(sys.executable).with_name("mitmdump"),
        *("--listen-host", "127.0.0.1", "--listen-port", str(port)),
        *("--mode", f"reverse:http://127.0.0.1:{upstream_port}", "-q", "-s", HERE / "meter.py"),
        *(part for addon in addons for part in ("-s", addon)),
        *options,
    ]
    process = subprocess.Popen(command)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                cpu(port)
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("mitmdump did not start") from None
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(60)


def ask(port, method, path, body=None):
    """One request; the whole answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request(method, path, body, {"content-type": "application/json"})
        return connection.getresponse().read()
    finally:
        connection.close()


def cpu(port):
    """The CPU seconds that mitmdump has used so far."""
    return float(ask(port, "GET", "/bench/cpu"))
