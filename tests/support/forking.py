"""`python forking.py`: the command line, loaded once for many runs, each in a process that is a fork of this one.

To load it takes most of the time of a short run. It is told of a run by a line of JSON, `[arguments, folder]`, and
answers with a line, the exit status. The folder holds what the run reads (`in`) and gets what it writes (`out`, `err`).
It ends with its standard input.
"""

import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

from toolcalls import cli

FILES = (("in", os.O_RDONLY), ("out", os.O_WRONLY | os.O_CREAT), ("err", os.O_WRONLY | os.O_CREAT))
# What makes the commands load what they load when they run.
WARM = (["parse", os.devnull], ["rewrite", os.devnull], ["write", os.devnull], ["dialects"], ["check-config"])


def serve() -> None:
    """Every run, one after the other."""
    shown = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with redirect_stdout(shown), redirect_stderr(shown):
        for arguments in WARM:
            cli.main(arguments)
    jobs, answers = os.fdopen(os.dup(0), encoding="ascii"), os.fdopen(os.dup(1), "w", encoding="ascii")
    for job in jobs:
        arguments, folder = json.loads(job)
        child = os.fork()
        if not child:
            status = 70
            try:
                status = run(arguments, folder)
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def run(arguments: Sequence[str], folder: str) -> int:
    """One run, as `python -m toolcalls` makes it where the locale knows only ASCII; its exit status."""
    for descriptor, (name, flags) in enumerate(FILES):
        os.dup2(os.open(os.path.join(folder, name), flags, 0o600), descriptor)  # noqa: PTH118
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), "ascii")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w")), "ascii")
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w")), "ascii", "backslashreplace")
    try:
        status = cli.main(arguments)
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0
    except Exception:  # noqa: BLE001 - as the interpreter does at its end
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    serve()
