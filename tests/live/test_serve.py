"""`toolcalls serve` as a client and a person see it: one process for all recordings, and raw sockets, on loopback."""

import itertools
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow
from mitmproxy.websocket import WebSocketData, WebSocketMessage
from wsproto.frame_protocol import Opcode

from support import sockets
from support.commandline import ENVIRONMENT, toolcalls
from support.loopback import LIMIT, flows_in
from support.repository import REPO
from toolcalls.flows import flow_metadata
from toolcalls.tools.serve.playable import recordings_of

CREATED, COMPLETED = '{"type": "response.created"}', '{"type":  "response.completed", "é": 1}'


def asks(text: str) -> dict[str, Any]:
    return {"type": "response.create", "model": "m", "input": text}


def websocket_flow() -> http.HTTPFlow:
    """A connection of two turns, whose second one the upstream broke off."""
    flow = tflow.twebsocketflow()
    flow.request.path = "/v1/responses"
    flow.websocket = WebSocketData()
    for number, contents in enumerate(([CREATED, COMPLETED], [CREATED])):
        for content in (json.dumps(asks(f"turn {number}")), *contents):
            from_client = content not in contents
            message = WebSocketMessage(Opcode.TEXT, from_client, content.encode(), 10.0 * number)
            flow.websocket.messages.append(message)
    return flow


@dataclass(frozen=True)
class Served:
    """A running server; what it has said on standard error is there once it has ended."""

    port: int
    process: subprocess.Popen[str]

    def ended(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        out, errors = self.process.communicate(timeout=LIMIT)
        assert (self.process.returncode, out) == (0, "")
        return errors


@contextmanager
def serving(*arguments: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "toolcalls", "serve", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "at http://127.0.0.1:" in line, line + process.communicate(timeout=LIMIT)[1]
            yield Served(int(line.partition("http://127.0.0.1:")[2].split()[0]), process)
        finally:
            process.kill()


def exchanged(port: int, request: http.Request) -> tuple[str, dict[str, str], list[bytes], bool]:
    """Send a request: the status line, the headers, the chunks on the wire, and whether the body ended."""
    body = request.raw_content or b""
    head = f"{request.method} {request.path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
    head += f"content-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), LIMIT) as connection, connection.makefile("rb") as reply:
        connection.sendall(head.encode() + body)
        status = reply.readline().decode().strip()
        headers = {}
        while line := reply.readline().decode().strip():
            name, _, value = line.partition(": ")
            headers[name] = value
        if "content-length" in headers:
            content = reply.read()
            return status, headers, [content], len(content) == int(headers["content-length"])
        chunks = []
        while line := reply.readline():
            if line == b"0\r\n":
                return status, headers, chunks, True
            chunks.append(reply.read(int(line, 16)))
            reply.readline()
        return status, headers, chunks, False


def test_every_recording_is_answered_with_byte_for_byte(tmp_path: Path) -> None:
    """Each in its chunks; where two ask the same, in their order. One that broke off breaks off."""
    files = sorted((REPO / "recordings").glob("*.flow"))
    (tmp_path / "socket.flow").touch()
    with (tmp_path / "socket.flow").open("wb") as file:
        FlowWriter(file).add(websocket_flow())
    known = [(flow, one) for path in files for flow in flows_in(path) for one in recordings_of(flow, path.name)]
    assert len(known) > 20
    with serving("--no-pace", *map(str, files), str(tmp_path / "socket.flow")) as served:
        for flow, one in known:
            if flow.websocket is not None:
                continue
            status, headers, chunks, ended = exchanged(served.port, flow.request)
            assert status.split()[1] == str(one.status)
            assert headers["content-type"] == dict(one.headers)[b"content-type"].decode()
            assert chunks == ([one.body] if one.sized else [piece.data for piece in one.pieces]), one.source
            assert b"".join(chunks) == one.body
            assert ended is not one.cut
        for flow, turns in itertools.groupby(known, key=itemgetter(0)):
            if flow.websocket is None:
                continue
            asking = [one for one in flow.websocket.messages if one.from_client and not one.dropped]
            with sockets.connected(served.port, flow.request.path) as client:
                for said, (_, one) in zip(asking, turns, strict=True):
                    client.send(json.loads(said.content))
                    assert [client.message() for _ in one.pieces] == [json.loads(piece.data) for piece in one.pieces]
        with sockets.connected(served.port, "/v1/responses") as client:
            assert client.ask(asks("turn 0")) == [json.loads(CREATED), json.loads(COMPLETED)]
            client.send(asks("turn 1"))
            assert client.message() == json.loads(CREATED)
            with pytest.raises(EOFError):
                client.message()
        missing = http.Request.make("POST", "http://x/v1/messages", b'{"model": "nobody", "messages": []}')
        assert "400" in exchanged(served.port, missing)[0]
        errors = served.ended()
    assert "no recording matches; the nearest is" in errors
    assert errors.endswith(f"{len(known) + 2} requests answered, 1 not; not asked for: 0 recordings\n")


def test_faults_on_the_wire() -> None:
    path = REPO / "recordings" / "lifted-invoke-stream.flow"
    (flow,) = flows_in(path)
    (one,) = recordings_of(flow, "")
    faults = ("--fault", "1:cut-at-byte=40", "--fault", "2:status=429")
    with serving("--speed", "1000", *faults, str(path)) as served:
        first, second, third = (exchanged(served.port, flow.request) for _ in range(3))
        errors = served.ended()
    assert (b"".join(first[2]), first[3]) == (one.body[:40], False)
    assert (second[0].split()[1], second[3]) == ("429", True)
    assert (b"".join(third[2]), third[3]) == (one.body, True)
    assert "(reply 1; fault: cut-at-byte)" in errors


def test_the_clients_side_is_what_the_client_was_given() -> None:
    (flow,) = flows_in(REPO / "recordings" / "lifted-invoke-stream.flow")
    assert flow.response is not None
    (upstream,), (client,) = (list(recordings_of(flow, "", side)) for side in ("upstream", "client"))
    assert (upstream.body, client.body) == (flow.metadata[flow_metadata.UPSTREAM], flow.response.raw_content)
    assert upstream.body != client.body
    times = flow.metadata[flow_metadata.TIMES]
    assert [len(piece.data) for piece in upstream.pieces] == [size for size in times["upstream"]["bytes"] if size]


def test_a_folder_is_served_with_all_that_is_in_it(tmp_path: Path) -> None:
    names = ["stray-word.flow", "lifted-whole.flow"]
    for folder, name in zip((tmp_path, tmp_path / "below"), names, strict=True):
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes((REPO / "recordings" / name).read_bytes())
    with serving("--no-pace", str(tmp_path)) as served:
        for name in names:
            (flow,) = flows_in(REPO / "recordings" / name)
            (one,) = recordings_of(flow, name)
            assert b"".join(exchanged(served.port, flow.request)[2]) == one.body


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.flow"], "nothing.flow: the file cannot be read"),
        (["--fault", "explode=1", "x.flow"], "--fault: 'explode' is not a kind of fault"),
        (["--ignore", "(", "x.flow"], "--ignore: '(' is no regular expression"),
        (["--port", "70000", "x.flow"], "expected a port from 0 to 65535"),
        (["--speed", "0", "x.flow"], "expected a number from 0.001"),
    ],
)
def test_bad_use_is_one_line(arguments: list[str], said: str) -> None:
    run = toolcalls("serve", *arguments)
    assert (run.returncode, run.stdout) == (2, b"")
    assert said in run.stderr.decode()
    assert run.stderr.count(b"\n") == 1


def test_a_port_that_is_taken_and_files_without_a_reply(tmp_path: Path) -> None:
    unanswered = tflow.tflow(resp=False)
    with (tmp_path / "none.flow").open("wb") as file:
        FlowWriter(file).add(unanswered)
    run = toolcalls("serve", str(tmp_path / "none.flow"))
    assert run.returncode == 2
    assert b"no reply is recorded here" in run.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        run = toolcalls("serve", "--port", port, str(REPO / "recordings" / "stray-word.flow"))
    assert run.returncode == 2
    assert f"--port {port}: ".encode() in run.stderr
