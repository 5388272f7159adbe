"""The tools of mitmproxy as processes: `Run` has what is used of `subprocess.Popen`, and starts three times as fast."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path


@cache
def _preloaded() -> socket.socket:
    """Where runs are asked for: `preloaded.py` has loaded mitmproxy for all of them."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, str(Path(__file__).with_name("preloaded.py")), str(theirs.fileno())]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        started = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL)

    @atexit.register
    def end() -> None:
        ours.close()
        started.wait(60)

    return ours


class Run:
    """A running tool (`mitmdump`, `mitmweb`). `stdout` has all that it prints."""

    def __init__(
        self, tool: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float
    ) -> None:
        self._told = b""  # two lines: the pid, and the exit status
        output, printed = os.pipe()
        self._fares, told = os.pipe()
        self.stdout = os.fdopen(output, encoding="utf-8")
        try:
            job = {"tool": tool, "arguments": arguments, "folder": str(folder), "environment": dict(environment)}
            socket.send_fds(_preloaded(), [json.dumps(job).encode() + b"\n"], [printed, told])
        finally:
            os.close(printed)
            os.close(told)
        pid = self._line(0, limit)
        assert pid is not None, f"{tool} was not started within {limit} s"
        self.pid = pid

    def __del__(self) -> None:
        os.close(self._fares)

    def _line(self, number: int, limit: float) -> int | None:
        """What a line tells; None when it has not come in time."""
        while self._told.count(b"\n") <= number:
            if not select.select([self._fares], [], [], limit)[0]:
                return None
            data = os.read(self._fares, 64)
            assert data, "what watched the run has ended before it"
            self._told += data
        return int(self._told.split(b"\n")[number])

    def poll(self) -> int | None:
        """The exit status, None as long as it runs."""
        return self._line(1, 0)

    def wait(self, limit: float) -> int:
        """The exit status, as soon as it has ended. Raises subprocess.TimeoutExpired."""
        status = self._line(1, limit)
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", limit)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
