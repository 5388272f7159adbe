"""Several workers behind HAProxy, with the files that ship: sessions stay, and workers come and go under streams."""

import asyncio
import re
import shlex
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from support.loopback import LIMIT, Dump, Reply, mitmdump, upstream
from support.repository import REPO
from support.screens import reserved_port
from support.team import RELOAD, PacedUpstream, Stream, haproxy, read_stream, team
from support.teamscenes import kill_and_reload
from support.waiting import seen
from toolcalls.requests.client_memory import SESSION_HEADERS
from toolcalls.tools.start import mitmproxy_options

needs_haproxy = pytest.mark.skipif(haproxy() is None, reason="HAProxy is not installed")


@needs_haproxy
def test_workers_are_killed_and_restarted_under_streams(tmp_path: Path) -> None:
    async def scene() -> None:
        async with PacedUpstream() as upstream:
            with team(tmp_path, 2, upstream.url) as made:
                outcome = await kill_and_reload(made, upstream, 40)
                assert outcome.mistakes() == []
                assert outcome.killed, "no stream was on the worker that was killed"
                assert {one.worker for one in outcome.late} == {"w1"}, "the worker was not emptied"
                assert {one.worker for one in outcome.after} == {"w1", "w2"}
                again = await asyncio.gather(*(read_stream(Stream(one.name), made.port) for one in outcome.after))
                assert [one.worker for one in again] == [one.worker for one in outcome.after]

    asyncio.run(scene())


@pytest.mark.parametrize("after", [["DOWN 1/1", "DOWN 1/1", "UP"], ["UP"], ["no check"]])
def test_a_restart_is_over_when_the_worker_gets_requests(after: list[str], tmp_path: Path) -> None:
    """HAProxy takes one that was away for long for down, and looks again a while after it answers."""
    said, statuses = list[str](), ["DRAIN", *after]

    def answer(connection: socket.socket) -> bytes:
        said.append(connection.recv(4096).decode().strip())
        if said[-1] == "show stat":
            return f"# pxname,svname,scur,status\nworkers,w1,0,{statuses.pop(0)}\n".encode()
        if said[-1] == "show servers state":
            named = "be_name srv_name srv_addr srv_port srv_check_port"
            return f"1\n# {named}\nworkers w1 127.0.0.1 1 {health.url.rpartition(':')[2]}\n".encode()
        return b"\n"

    def serve() -> None:
        while statuses:
            connection, _ = admin.accept()
            with connection:
                connection.sendall(answer(connection))

    with socket.socket(socket.AF_UNIX) as admin, upstream(Reply([b"ready\n"])) as health:
        admin.settimeout(LIMIT)
        admin.bind(str(tmp_path / "admin.sock"))
        admin.listen()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        arguments = ["--socket", str(tmp_path / "admin.sock"), "w1", sys.executable, "-c", ""]
        done = subprocess.run([sys.executable, str(RELOAD), *arguments], capture_output=True, text=True, check=False)
        thread.join(LIMIT)
    assert (done.returncode, done.stdout) == (0, "w1 is restarted\n"), done.stderr
    states = [line.rpartition(" ")[2] for line in said if line.startswith("set server")]
    assert states == ["drain", "ready"]
    assert not statuses


def test_a_health_check_is_answered_beside_the_traffic(tmp_path: Path) -> None:
    """The proxy's own port has nothing of it: no flow, no line, no connection to an upstream."""
    with (
        reserved_port() as port,
        mitmdump(tmp_path, "--set", f"toolcalls_health={port}", to="http://127.0.0.1:9") as dump,
    ):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=LIMIT) as reply:
            assert (reply.status, reply.read()) == (200, b"ready\n")
        assert not re.search(r"GET|connect|200", dump.output), dump.output


def test_a_proxy_that_does_not_listen_is_not_ready(tmp_path: Path) -> None:
    with reserved_port() as port, mitmdump(tmp_path, "-n", "--set", f"toolcalls_health={port}"):
        seen(lambda: _status(port))
        assert _status(port) == 503


def _status(port: int) -> int:
    """The status of a health check; 0 where nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=LIMIT) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


def test_the_systemd_unit_starts_a_worker(tmp_path: Path) -> None:
    """Its command, with the ports and folders of this test."""
    text = (REPO / "config" / "deploy" / "toolcalls@.service").read_text(encoding="utf-8").replace("\\\n", "")
    (line,) = re.findall(r"(?m)^ExecStart=(.*)$", text)
    program, command, upstream, *options = shlex.split(line)
    assert (Path(program).name, command, upstream) == ("toolcalls", "dump", "${UPSTREAM}")
    with reserved_port() as proxy, reserved_port() as health, reserved_port() as metrics:
        ours = {"900%i": proxy, "910%i": health, "946%i": metrics, "$TOOLCALLS_OPTIONS": ""}
        ours["confdir=/var/lib/toolcalls/worker%i"] = "flow_detail=1"  # `Dump` says where that is
        for theirs, here in ours.items():
            options = [option.replace(theirs, str(here)) for option in options]
        given = mitmproxy_options(["http://127.0.0.1:9", *filter(None, options)])
        dump = Dump(given, tmp_path)
        try:
            dump.wait_for(f"listening at 127.0.0.1:{proxy}")
            seen(lambda: _status(health) == 200)
            with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=LIMIT) as reply:
                assert b"toolcalls_open_replies" in reply.read()
            assert dump.stop() == 0
        finally:
            dump.kill()


def test_haproxy_knows_the_sessions_that_the_addon_knows() -> None:
    shipped = (REPO / "config" / "deploy" / "haproxy.cfg").read_text(encoding="utf-8")
    assert re.findall(r"set-var\(txn\.session\) req\.hdr\(([\w-]+)\)", shipped) == [*SESSION_HEADERS]
