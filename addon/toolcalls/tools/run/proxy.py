"""mitmproxy with the addon, beside an agent: started, waited for, and stopped whatever happens."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from toolcalls.streams import BadInput

_STARTING = 60.0  # seconds without output after which it will not come
_ENDING = 30.0  # seconds that it may take to end; it is killed then
_LINE = re.compile(r"^\[[\d:.]+\] ", re.MULTILINE)


class Proxy:
    """A running mitmproxy whose output goes to a file."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self._process = process
        self._output = output

    @property
    def lines(self) -> list[str]:
        """What it has printed so far, without times."""
        return _LINE.sub("", self._output.read_text("utf-8", "replace")).splitlines()

    def wait_for(self, enough: Callable[[list[str]], bool]) -> None:
        """Wait until it has printed enough. Raises BadInput with what it said where it ends, or says nothing more."""
        seen, since = 0, time.monotonic()
        while not enough(lines := self.lines):
            if self._process.poll() is not None:
                raise BadInput(f"mitmproxy did not start: {_cause(lines)}")
            if len(lines) != seen:
                seen, since = len(lines), time.monotonic()
            elif time.monotonic() - since > _STARTING:
                raise BadInput(f"mitmproxy did not start in {_STARTING:g} s: {_cause(lines)}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it, so that it writes what it still has to."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _cause(lines: Sequence[str]) -> str:
    """The line that says why it ended, which is not always the last."""
    told = [
        line for line in lines if line and not line.startswith(("Loading script", "Error logged", "Try specifying"))
    ]
    return told[-1].removeprefix("toolcalls: ") if told else "it said nothing"


@contextmanager
def running(command: str, options: Sequence[str], output: Path) -> Iterator[Proxy]:
    """`toolcalls COMMAND OPTIONS`, in a session of its own: Ctrl-C is the agent's."""
    # -P: a folder of the agent's project may be called toolcalls.
    words = [sys.executable, "-P", "-m", "toolcalls", command, *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    with output.open("wb") as file:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    proxy = Proxy(process, output)
    try:
        yield proxy
    finally:
        proxy.stop()
