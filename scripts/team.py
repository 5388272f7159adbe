"""What a team's proxy does and costs: HAProxy in front of workers, many streams at once, all on loopback.

    .venv/bin/python scripts/team.py [--workers 1,2,4] [--streams 400] [--rate 5] [--no-scene]

First each number of workers answers all streams at once, each of which brings so many events a second, and once there
is no proxy at all. Printed are the CPU and the memory of the workers and of HAProxy, and how much later an event of
prose comes to its client than it does without a proxy: upstream, clients and workers share the machine, so that without
any proxy it has some delay, too. Then the largest number of workers goes through what `tests/support/teamscenes.py`
says: one is killed, another one is restarted under its streams. Exits 1 where a stream broke that should not, or a call
was lost or came twice. Needs HAProxy; CPU and memory come from psutil.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

import psutil

REPO = Path(__file__).parents[1]
sys.path[:0] = [str(REPO / "addon"), str(REPO / "tests")]

from support.team import PacedUpstream, Stream, haproxy, read_stream, team  # noqa: E402 - only now they are on the path
from support.teamscenes import kill_and_reload  # noqa: E402

EVENTS = 40  # of prose in each stream
SPREAD = 2.0  # seconds over which the streams begin


@dataclass(frozen=True)
class Load:
    """What one number of workers did. CPU is seconds, memory megabytes, of all workers and of HAProxy."""

    seconds: float
    whole: int
    worker_cpu: float
    balancer_cpu: float
    worker_memory: float
    latencies: Sequence[float]


async def streams_at_once(port: int, count: int) -> tuple[float, list[Stream]]:
    """All streams, begun over a while; how long that took."""
    begun = time.monotonic()

    async def one(number: int) -> Stream:
        await asyncio.sleep(SPREAD * number / count)
        return await read_stream(Stream(f"load{number}"), port)

    read = await asyncio.gather(*map(one, range(count)))
    return time.monotonic() - begun, list(read)


def _load(taken: float, read: list[Stream], cpu: tuple[float, float] = (0, 0), memory: float = 0) -> Load:
    expected = [f'{{"command":"ls {one.name}"}}' for one in read]
    whole = sum(one.ended and (not cpu[0] or one.calls == [call]) for one, call in zip(read, expected, strict=True))
    return Load(taken, whole, *cpu, memory, [seconds for one in read for seconds in one.latencies])


async def measured(workers: int, streams: int, rate: float) -> Load:
    """The load of so many workers, of none where the number is 0."""
    async with PacedUpstream(EVENTS, 1 / rate) as upstream:
        upstream.gate.set()
        if not workers:
            return _load(*await streams_at_once(int(upstream.url.rpartition(":")[2]), streams))
        with tempfile.TemporaryDirectory() as folder, team(Path(folder), workers, upstream.url) as made:
            for worker in made.workers:  # what is loaded with the first request is loaded
                await streams_at_once(worker.port, 4)
            processes = [psutil.Process(one.pid) for one in made.workers]
            balancer = psutil.Process(made.haproxy.pid)
            before = [_cpu(one) for one in (*processes, balancer)]
            taken, read = await streams_at_once(made.port, streams)
            spent = [_cpu(one) - was for one, was in zip((*processes, balancer), before, strict=True)]
            memory = sum(one.memory_info().rss for one in processes) / 1e6
            return _load(taken, read, (sum(spent[:-1]), spent[-1]), memory)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _delays(latencies: Sequence[float]) -> tuple[float, float]:
    cut = quantiles(latencies, n=100)
    return cut[49] * 1000, cut[98] * 1000


async def print_loads(workers: Sequence[int], streams: int, rate: float) -> bool:
    """Print a row for each number of workers. Whether every stream was whole."""
    print(f"{streams} streams at once, {EVENTS} events of prose and a call in each, {rate:g} events a second")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before; upstream and clients run on them, too")
    heads = ("whole", "seconds", "workers' CPU", "HAProxy's CPU", "memory", "p50", "p99", "added p50", "added p99")
    print(f"{'workers':12}" + "".join(f"{head:>14}" for head in heads))
    base, good = (0.0, 0.0), True
    for number in (0, *workers):
        load = await measured(number, streams, rate)
        middle, late = _delays(load.latencies)
        base = base if number else (middle, late)
        good = good and load.whole == streams
        figures = f"{load.whole:14}{load.seconds:14.1f}{load.worker_cpu:13.1f}s{load.balancer_cpu:13.1f}s"
        figures += f"{load.worker_memory:11.0f} MB{middle:11.1f} ms{late:11.1f} ms"
        added = f"{middle - base[0]:11.1f} ms{late - base[1]:11.1f} ms" if number else ""
        print(f"{number or 'no proxy':<12}{figures}{added}", flush=True)
    return good


async def print_scene(workers: int, streams: int) -> bool:
    """Print what became of the streams. Whether all are as they should be."""
    async with PacedUpstream() as upstream:
        with tempfile.TemporaryDirectory() as folder, team(Path(folder), workers, upstream.url) as made:
            outcome = await kill_and_reload(made, upstream, streams)
    print(f"{workers} workers, {streams} streams; one worker is killed, another one is restarted")
    print(f"  {len(outcome.killed):4} streams of the killed worker broke, and were asked for again")
    print(f"  {len(outcome.others):4} streams of the others went on")
    print(
        f"  {len(outcome.late):4} streams began while a worker was emptied, {len(outcome.after)} after it was restarted"
    )
    print(f"  {sum(outcome.asked.values()):4} requests reached the upstream")
    found = outcome.mistakes()
    for line in found:
        print(f"  {line}")
    print("  no other stream broke, no call was lost or came twice" if not found else "  this should not be")
    return not found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Measure HAProxy in front of workers, and take workers away.")
    parser.add_argument("--workers", default="1,2,4", help="numbers of workers (default: %(default)s)")
    parser.add_argument("--streams", type=int, default=400, help="streams at once (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=5.0, help="events a second in each (default: %(default)s)")
    parser.add_argument("--no-scene", action="store_true", help="measure only")
    arguments = parser.parse_args()
    if haproxy() is None:
        print("team: HAProxy is not installed", file=sys.stderr)
        return 2
    workers = [int(one) for one in arguments.workers.split(",")]
    good = asyncio.run(print_loads(workers, arguments.streams, arguments.rate))
    if not arguments.no_scene:
        good = asyncio.run(print_scene(max(workers), arguments.streams)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
