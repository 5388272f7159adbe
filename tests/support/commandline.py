"""Runs of the command line, each in a process of its own that is forked from one which has loaded all."""

import atexit
import json
import os
import select
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.loopback import LIMIT
from support.repository import REPO

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPO / "addon"), "PYTHONIOENCODING": "ascii"}


@cache
def loaded() -> subprocess.Popen[str]:
    """The command line, which `forking.py` has loaded for all runs."""
    command = [sys.executable, str(Path(__file__).with_name("forking.py"))]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT, text=True)

    @atexit.register
    def end() -> None:
        started.communicate(timeout=LIMIT)

    return started


def toolcalls(*arguments: str, stdin: bytes | str = b"") -> subprocess.CompletedProcess[bytes]:
    """One run of the command line in a process of its own, with a locale that knows only ASCII."""
    server = loaded()
    assert server.stdin is not None
    assert server.stdout is not None
    with TemporaryDirectory() as folder:
        (Path(folder) / "in").write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
        print(json.dumps([arguments, folder]), file=server.stdin, flush=True)
        assert select.select([server.stdout], [], [], LIMIT)[0], f"no end within {LIMIT} s: {arguments}"
        status = int(server.stdout.readline())
        out, err = ((Path(folder) / name).read_bytes() for name in ("out", "err"))
    return subprocess.CompletedProcess(arguments, status, out, err)


def results(command: str, *jobs: dict[str, Any] | bytes, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The results of jobs, a line each."""
    lines = [job if isinstance(job, bytes) else json.dumps(job).encode() for job in jobs]
    run = toolcalls(command, "--jsonl", *options, stdin=b"\n".join(lines) + b"\n")
    made = [json.loads(line) for line in run.stdout.splitlines()]
    failed = sum("error" in one for one in made)
    assert run.returncode == bool(failed)
    assert run.stderr.count(b"\n") == bool(failed)
    assert not failed or f"{failed} of {len(made)} jobs failed".encode() in run.stderr
    return made
