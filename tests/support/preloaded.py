"""`python preloaded.py DESCRIPTOR`: mitmproxy, loaded once for many runs, each in a process that is a fork of this one.

To load it takes two thirds of what a start of mitmdump costs. A run is asked for on the socket DESCRIPTOR, by a line
of JSON, `{"tool", "arguments", "folder", "environment"}`, with two descriptors: what the run prints to, and what gets
its pid, on a line, and its exit status, on another one, when it has ended. It ends when nobody can ask any more.
"""

import gc
import io
import json
import os
import signal
import socket
import sys
from importlib import import_module
from typing import Any, NoReturn

# What a run loads anyhow. The addon is not among it: each run loads its own.
MODULES = (
    *("mitmproxy.tools.main", "mitmproxy.tools.dump", "mitmproxy.tools.web.master", "mitmproxy.addons.onboarding"),
    *("lxml.etree", "msgspec", "pygal", "regex", "yaml"),
)


def serve(asked: socket.socket) -> None:
    """Every run."""
    sys.path[0] = ""  # as with `python -c`
    for name in MODULES:
        import_module(name)
    gc.freeze()  # a collection in a fork would copy all that is loaded here
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch a run
    while True:
        job, descriptors = b"", []
        while not job.endswith(b"\n"):
            data, more, _, _ = socket.recv_fds(asked, 65536, 2)
            if not data:
                return
            job, descriptors = job + data, descriptors + more
        if not os.fork():
            asked.close()
            watch(json.loads(job), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def watch(job: dict[str, Any], output: int, status: int) -> NoReturn:
    """Start a run, and tell how it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if not pid:
        os.close(status)
        run(job, output)
    os.close(output)
    os.write(status, b"%d\n" % pid)
    _, ended = os.waitpid(pid, 0)
    try:
        os.write(status, b"%d\n" % os.waitstatus_to_exitcode(ended))
    except BrokenPipeError:  # whoever asked for it has ended
        os._exit(1)
    os._exit(0)


def run(job: dict[str, Any], output: int) -> NoReturn:
    """The run itself, as if it had been started with `python -c`."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    # As with PYTHONUNBUFFERED. What there was before this takes its descriptor for a file.
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True
    )
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.argv = [job["tool"], *job["arguments"]]
    sys.exit(getattr(import_module("mitmproxy.tools.main"), job["tool"])())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
