"""`make reliability`: all groups over all processors, one table, and every failure by name.

    python -m reliability.run [--fraction F] [--seed N] [--only GROUP ...] [--jobs N] [--part I/N] [--into FILE]

All of it takes long. `--part 1/10` to `--part 10/10` are together all inputs, each once; with `--into` they are added
up in a file, and the table is that of all parts so far.

Exit status 1 when a goal is missed: 99.99 % of generated faults, 100 % of everything else, and no byte lost or altered,
no call invented, no secret written, no hang.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from random import Random

from reliability.jobs import Job
from reliability.rows import Row, merged, table
from reliability.sums import Sum

# In the order of the table. Those that have `jobs` are spread over processes; the rest runs by itself at the end.
GROUPS = (
    *("recordings", "quoting", "rules", "blocks", "echoes", "reasoning", "halves"),
    *("values", "roundtrips", "sse", "jsons", "xml", "naughty", "cuts", "generated", "live"),
)
GENERATED = 0.9999  # of generated faults, which must survive; of everything else, all

type Part = tuple[int, int]  # which one, from 1, of how many


def main(arguments: list[str] | None = None) -> int:
    """Run, print the table, list the failures. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make reliability", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--fraction", type=float, default=1.0, help="the part of all inputs that is tried, 0 to 1")
    parser.add_argument("--seed", type=int, default=1, help="chooses that part, and what the faults do")
    parser.add_argument("--only", action="append", choices=GROUPS, help="a group; may come more than once")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--part", type=_part, default=(1, 1), help="I/N: the I-th of N parts, which together are all")
    parser.add_argument("--into", type=Path, help="a file in which the parts of a run are added up")
    asked = parser.parse_args(arguments)
    began = time.monotonic()
    names = tuple(name for name in GROUPS if not asked.only or name in asked.only)
    told = f"fraction {asked.fraction:g}, seed {asked.seed}"
    number, of = asked.part
    common = {"fraction": asked.fraction, "seed": asked.seed, "groups": list(names), "parts": of}
    try:
        into = Sum(asked.into, common, number) if asked.into is not None else None
    except (OSError, ValueError) as error:
        print(f"nothing is tried: {error}", file=sys.stderr)
        return 1
    rows = merged(done(names, asked.fraction, asked.seed, asked.jobs, asked.part))
    if into is not None:
        rows = merged(into.add(rows))
        told += f", parts {', '.join(map(str, into.parts))} of {of}"
    elif of > 1:
        told += f", part {number} of {of}"
    rows.sort(key=lambda row: _place(row, names))
    print(table(rows))
    for row in rows:
        for failure in row.failures:
            print(f"{row.group}: {failure}")
    missed = [row.group for row in rows if not reached(row)]
    print(f"\n{time.monotonic() - began:.0f} s, {told}")
    if missed or not rows:
        print(f"missed: {', '.join(missed) or 'nothing was tried'}", file=sys.stderr)
        return 1
    return 0


def _part(text: str) -> Part:
    """`I/N`. Raises ValueError, of which argparse makes a message."""
    number, _, of = text.partition("/")
    part = int(number), int(of)
    if not 1 <= part[0] <= part[1]:
        raise ValueError(text)
    return part


_order: dict[str, int] = {}  # of a row's group: the number of the module that it came from


def _place(row: Row, names: tuple[str, ...]) -> tuple[int, str]:
    return _order.get(row.group, len(names)), row.group


def reached(row: Row) -> bool:
    """Whether a group reached its goal."""
    wanted = GENERATED if row.group.startswith("faults: ") else 1
    return row.survived >= row.n * wanted and not (row.secrets or row.hangs) and (wanted < 1 or row.clean)


def done(names: Iterable[str], fraction: float, seed: int, processes: int, part: Part = (1, 1)) -> Iterator[Row]:
    """The rows of these groups, as they come. What runs by itself is in the first part."""
    alone: list[str] = []
    jobs: list[tuple[str, Job]] = []
    for name in names:
        module = import_module(f"reliability.{name}")
        if hasattr(module, "jobs"):
            jobs += [(name, job) for job in module.jobs(fraction, seed)]
        else:
            alone.append(name)
    Random(seed).shuffle(jobs)  # long ones and short ones side by side
    number, of = part
    # Not forks of this process, which may have threads: in a test it has those of others.
    with ProcessPoolExecutor(processes, get_context("forkserver")) as pool:
        running = {pool.submit(job): name for name, job in jobs[number - 1 :: of]}
        for count, future in enumerate(as_completed(running), 1):
            if sys.stderr.isatty():
                print(f"\r{count} of {len(running)} parts", end="\n" * (count == len(running)), file=sys.stderr)
            for row in future.result():
                _order.setdefault(row.group, GROUPS.index(running[future]))
                yield row
    for name in alone if number == 1 else ():
        for row in import_module(f"reliability.{name}").rows(fraction, seed):
            _order.setdefault(row.group, GROUPS.index(name))
            yield row


if __name__ == "__main__":
    sys.exit(main())
