#!/usr/bin/env python3
"""Restarts one worker behind HAProxy without breaking a stream.

    reload.py [--socket PATH] [--backend NAME] [--wait SECONDS] WORKER COMMAND…
    reload.py w1 systemctl restart toolcalls@1

The worker gets no more requests (`drain`, https://docs.haproxy.org/2.6/management.html#9.3-set%20server). When its last
stream has ended, COMMAND runs, which must come back when the old process is gone. When the new one answers the health
check, and HAProxy has seen that, the worker gets requests again. Exit status 0: done. 1: streams were still open when
the time was over, or the worker does not answer; the line that is printed says which, and whether the worker gets
requests now.

Needs nothing but Python's standard library and the right to write to HAProxy's socket.
"""

import argparse
import csv
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

PAUSE = 0.2  # seconds between two looks
ANSWERS = 60.0  # seconds that a new process has to answer


class NotReloaded(Exception):
    """Why not."""


class HAProxy:
    """HAProxy, by its admin socket. Raises OSError where nobody listens there."""

    def __init__(self, path: str, backend: str) -> None:
        self.path = path
        self.backend = backend

    def say(self, command: str) -> str:
        """The answer to a command."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(self.path)
            connection.sendall(f"{command}\n".encode())
            answer = b""
            while data := connection.recv(65536):
                answer += data
        return answer.decode()

    def set_state(self, worker: str, state: str) -> None:
        """`ready`, or `drain` for no new requests. Raises NotReloaded for a worker that HAProxy does not know."""
        if said := self.say(f"set server {self.backend}/{worker} state {state}").strip():
            raise NotReloaded(f"{worker}: HAProxy says: {said}")

    def _row(self, command: str, separator: str, worker: str) -> dict[str, str]:
        lines = [line.removeprefix("# ") for line in self.say(command).splitlines() if line not in ("", "1")]
        for row in csv.DictReader(lines, delimiter=separator):
            name = row.get("svname") or row.get("srv_name")
            backend = row.get("pxname") or row.get("be_name")
            if (backend, name) == (self.backend, worker):
                return row
        raise NotReloaded(f"{worker}: HAProxy has no such server in {self.backend}")

    def streams(self, worker: str) -> int:
        """How many requests a worker is answering, WebSockets among them."""
        return int(self._row("show stat", ",", worker)["scur"])

    def is_up(self, worker: str) -> bool:
        """Whether HAProxy gives the worker requests: it has seen that it is there, or does not look."""
        return self._row("show stat", ",", worker)["status"].startswith(("UP", "no check"))

    def health(self, worker: str) -> str:
        """The address that HAProxy asks whether the worker is there."""
        row = self._row("show servers state", " ", worker)
        port = int(row["srv_check_port"]) or int(row["srv_port"])
        return f"http://{row['srv_addr']}:{port}/"


def reload(haproxy: HAProxy, worker: str, command: list[str], wait: float) -> None:
    """Raises NotReloaded."""
    haproxy.set_state(worker, "drain")
    until = time.monotonic() + wait
    while streams := haproxy.streams(worker):
        if time.monotonic() > until:
            haproxy.set_state(worker, "ready")
            raise NotReloaded(f"{worker}: {streams} streams are still open after {wait:g} s; it gets requests again")
        time.sleep(PAUSE)
    status = subprocess.run(command, check=False).returncode
    if status:
        raise NotReloaded(f"{worker}: the command ended with status {status}; it gets no requests")
    address, until = haproxy.health(worker), time.monotonic() + ANSWERS
    while not answers(address):
        if time.monotonic() > until:
            raise NotReloaded(f"{worker}: {address} does not answer; it gets no requests")
        time.sleep(PAUSE)
    haproxy.set_state(worker, "ready")
    until = time.monotonic() + ANSWERS
    while not haproxy.is_up(worker):  # its next check finds a worker that was away for long
        if time.monotonic() > until:
            raise NotReloaded(f"{worker}: it answers, but HAProxy takes it for down; it gets no requests")
        time.sleep(PAUSE)


def answers(address: str) -> bool:
    """Whether a health check gets a 200."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=5) as reply:
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Restart one worker behind HAProxy without breaking a stream.")
    parser.add_argument("--socket", default="/run/haproxy/admin.sock", help="HAProxy's admin socket")
    parser.add_argument("--backend", default="workers", help="the backend in haproxy.cfg")
    parser.add_argument("--wait", type=float, default=3600.0, help="seconds that open streams may take to end")
    parser.add_argument("worker", help="the server's name in haproxy.cfg")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what restarts it")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("COMMAND is missing: systemctl restart toolcalls@1")
    try:
        reload(HAProxy(arguments.socket, arguments.backend), arguments.worker, arguments.command, arguments.wait)
    except (NotReloaded, OSError) as error:
        print(f"reload: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.worker} is restarted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
