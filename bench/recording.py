"""What recording costs a busy mitmdump: CPU for each reply with `toolcalls_record` and without, as a ratio of one run.

A worker's throughput is bounded by the CPU time of its one process, so that is what is compared, and not replies a
second, which on a shared machine say how busy it is. The CPU of the process that writes the recording is its own and
is printed beside it: to keep up, it must need less of another core than the worker needs for the same reply.

A reply here is one turn of a coding agent: a request with its history, and a call that is streamed in events.
`python bench/recording.py` prints the table; `make bench` does, too.
"""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

import host

REPLIES = 600  # in a round
CLIENTS = 4
HISTORY = 20_000  # characters of the request's messages
EVENTS = 60  # of a reply
_PROSE = "The test fails since `parse_header` strips the value; see src/http/header.py:118 for the loop that does it. "


def body():
    """A request with a history."""
    said = _PROSE * (HISTORY // len(_PROSE) // 10 + 1)
    history = [{"role": ("user", "assistant")[turn % 2], "content": said} for turn in range(9)]
    return json.dumps({**host.REQUEST, "messages": [*history, *host.REQUEST["messages"]]})


def cpu_of(pid):
    """The CPU seconds of a process and its threads, children apart."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid):
    """The processes that a process has started."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def busy(port, path, count):
    """So many replies, by several clients with a connection each."""
    request = body()

    def some(number):
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        for _ in range(number):
            connection.request("POST", path, request, {"content-type": "application/json"})
            connection.getresponse().read()
            connection.close()

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(some, [count // CLIENTS] * CLIENTS))


def measure(replies=REPLIES, rounds=4):
    """For "without" and "with": (ms of the worker's CPU for a reply, of its children, replies a second), the best of
    the rounds, which are interleaved.
    """
    served = {"call": host.replies(EVENTS)["call"]}
    upstream = host.Upstream(served)
    seen = {"without": [], "with": []}
    for _ in range(rounds):
        for name, found in seen.items():
            with TemporaryDirectory() as folder:
                sets = ["--set", f"toolcalls_record={folder}/recording"] if name == "with" else []
                with host.mitmdump(host.ADDONS["toolcalls"], upstream.port, sets) as port:
                    pid = int(host.ask(port, "GET", "/bench/pid"))
                    path = "/call/v1/chat/completions"
                    busy(port, path, 40)  # warm; and the process that writes has begun
                    below = children(pid)
                    before, began = float(host.ask(port, "GET", "/bench/cpu")), time.perf_counter()
                    below_before = sum(map(cpu_of, below))
                    busy(port, path, replies)
                    took = time.perf_counter() - began
                    spent = float(host.ask(port, "GET", "/bench/cpu")) - before
                    while not all(map(_waits, below)):
                        pass
                    after = sum(map(cpu_of, below)) - below_before
                    found.append((spent / replies * 1e3, after / replies * 1e3, replies / took))
    return {
        name: (min(one[0] for one in found), min(one[1] for one in found), max(one[2] for one in found))
        for name, found in seen.items()
    }


def _waits(pid):
    """Whether a process has nothing to do: it used no CPU for a while."""
    before = cpu_of(pid)
    time.sleep(0.5)
    return cpu_of(pid) == before


def main():
    """Print the table."""
    print(f"Recording: ms of CPU for each reply ({EVENTS} events, a request of {len(body()) / 1000:.0f} KB), replies/s")
    costs = measure()
    print(f"{'':28}{'worker':>10}{'writer':>10}{'replies/s':>11}")
    for name, (worker, writer, rate) in costs.items():
        print(f"{name + ' toolcalls_record':28}{worker:10.2f}{writer:10.2f}{rate:11.0f}")
    print(f"{'ratio of the worker':28}{costs['with'][0] / costs['without'][0]:10.3f}")


if __name__ == "__main__":
    sys.exit(main())
