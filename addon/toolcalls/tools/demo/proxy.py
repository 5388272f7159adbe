"""The demo's mitmdump: started with the addon, stopped whatever happens, and what it prints."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolcalls.tools.demo.observations import DemoError, wait_for

_ENDING = 30.0  # seconds that it may take to end; it is killed then
_LISTENING = re.compile(r"listening at \S*?:(\d+)\.?\s")


@contextmanager
def mitmdump(folder: Path, main: Path, name: str, options: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """mitmdump with the addon and without the user's own settings; it is stopped when the block ends.

    Its output (`output_of`) and the addon's log, `<name>.jsonl`, are in `folder`.
    """
    beside = Path(sys.executable).with_name("mitmdump")
    program = str(beside) if beside.is_file() else shutil.which("mitmdump")
    if program is None:
        raise DemoError("there is no mitmdump beside this Python; pip install mitmproxy")
    settings = [f"confdir={folder / 'conf'}", f"toolcalls_log={folder / name}.jsonl", "flow_detail=0"]
    command = [program, "-s", str(main), *options, *(part for setting in settings for part in ("--set", setting))]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # its output is read while it runs
    with (folder / "output.txt").open("wb") as output:
        process: subprocess.Popen[bytes] | None = None
        try:
            with _signals_deferred():
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
                )
            yield process
        finally:
            if process is not None:
                with _signals_deferred():
                    _stop(process)


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Defer SIGINT and SIGTERM to the end of the block, so that no process is started and then forgotten."""
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: received.append(number)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        for first in received[:1]:
            signal.raise_signal(first)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def output_of(folder: Path) -> str:
    """What mitmdump printed, on one line."""
    return " ".join((folder / "output.txt").read_text(encoding="utf-8", errors="replace").split())


def port_of(process: subprocess.Popen[bytes], folder: Path) -> int:
    """The port that mitmdump listens at, which it prints once it does."""

    def port() -> str:
        if process.poll() is not None:
            raise DemoError(f"mitmdump ended: {output_of(folder)[-300:]}")
        found = _LISTENING.search(output_of(folder) + " ")
        return found[1] if found else ""

    return int(wait_for(folder, port, "mitmdump did not start"))
