"""Every recording through sockets, at its pace: `toolcalls serve` plays it, and mitmdump with the addon is between.

What a client gets must be what it got on the day of the recording. Ids of calls are made of the request, which names
its host, so they differ; so does the time of a reply that stands for an error. The bytes are compared and no times: the
pace is there so that the addon sees a reply in the pieces in which it came.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from mitmproxy import http

from support import sockets
from support.commandline import ENVIRONMENT
from support.library import FOLDER, MENDED, bodies_of, flow_of, names
from support.loopback import LIMIT, mitmdump, post
from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import decoded

SPEED = "4"  # times as fast as recorded
MADE = re.compile(rb'(?:call|toolu|fc|chatcmpl|msg|resp)_?-?[0-9a-f]{24}|"created":\d+|"created_at":"[^"]+"')
HOPS = {"host", "content-length", "connection", "transfer-encoding"}


@contextmanager
def served(files: Sequence[Path]) -> Iterator[str]:
    """The address of a `toolcalls serve`, which must have answered everything when it ends."""
    command = [sys.executable, "-m", "toolcalls", "serve", "--speed", SPEED, *map(str, files)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "at http://127.0.0.1:" in line, line + process.communicate(timeout=LIMIT)[1]
            yield f"http://127.0.0.1:{int(line.partition('http://127.0.0.1:')[2].split()[0])}"
            process.terminate()
            errors = process.communicate(timeout=LIMIT)[1]
            assert ", 0 not;" in errors, errors
        finally:
            process.kill()


def over_http(url: str, flow: http.HTTPFlow) -> None:
    """One request as its client sent it; the reply must be the recorded one."""
    assert flow.response is not None
    sent = flow_metadata.original_request_body(flow) or flow.request.raw_content or b""
    headers = {key: value for key, value in flow.request.headers.items() if key.lower() not in HOPS}
    got = post(url, sent, headers, path=flow.request.path)
    assert got.status == flow.response.status_code
    body = decoded(got.body, got.headers.get("content-encoding", ""))  # what is played is not compressed
    assert MADE.sub(b"", body) == MADE.sub(b"", bodies_of(flow)[1])
    assert got.ended is (flow.error is None)


def over_websocket(port: int, flow: http.HTTPFlow) -> None:
    """All requests of a connection, each when the reply before it has ended."""
    assert flow.websocket is not None
    came = [message.content for message in flow.websocket.messages if not (message.from_client or message.dropped)]
    with sockets.connected(port, flow.request.path) as client:
        asked = [json.loads(message.content) for message in flow.websocket.messages if message.from_client]
        got = [json.dumps(event).encode() for one in asked for event in client.ask(one)]
    assert [MADE.sub(b"", one) for one in got] == [MADE.sub(b"", json.dumps(json.loads(one)).encode()) for one in came]


@pytest.mark.parametrize("mended", [False, True], ids=["shipped", "mended"])
def test_a_client_gets_what_it_got_then(tmp_path: Path, *, mended: bool) -> None:
    chosen = [name for name in names() if name.startswith("mended/") == mended]
    options = ["--set", f"toolcalls_config={MENDED}"] if mended else []
    with (
        served([FOLDER / f"{name}.flow" for name in chosen]) as address,
        mitmdump(tmp_path, *options, to=address) as dump,
    ):
        for name in chosen:
            try:
                if flow_of(name).websocket is None:
                    over_http(dump.url, flow_of(name))
                else:
                    over_websocket(dump.port, flow_of(name))
            except AssertionError as error:
                error.add_note(f"the recording is {name}")
                raise
