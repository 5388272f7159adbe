"""A job on all parts of an archive: in this process, or in several on this machine.

A job is a function of a part that can be pickled. What it says comes in the order of the parts, whatever ends first,
and no more than a few parts for each process are under way, so memory does not grow with the archive.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from toolcalls.streams import BadInput
from toolcalls.tools.archive.parts import File, Part

type Job[T] = Callable[[Part], T]
type Done = Callable[[Part], bool]  # whether a part is done already: it is passed by, with None as its result

_SMALL = 32 * 1024 * 1024  # bytes; starting processes for fewer takes longer than it saves
_AHEAD = 2  # parts for each process: one in work, one that waits for it


def cores() -> int:
    """How many processes can work at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes_for(files: Sequence[File], jobs: int | None) -> int:
    """How many processes an archive is worth, where nobody says so. Standard input is one part, and so is for one."""
    sizes = [file.size for file in files]
    if None in sizes:
        return 1
    return jobs or (cores() if sum(size or 0 for size in sizes) > _SMALL else 1)


def in_processes[T](job: Job[T], parts: Iterable[Part], done: Done, count: int) -> Iterator[tuple[Part, T | None]]:
    """`count` parts at a time, each in a process of its own. Raises BadInput when one of them is killed."""
    # Spawned: a fork of a process with threads may hang.
    with ProcessPoolExecutor(count, get_context("spawn"), _start, (job,)) as pool:
        try:
            yield from ahead(parts, lambda part: None if done(part) else pool.submit(_work, part), count * _AHEAD)
        except BrokenProcessPool as error:
            raise BadInput("a process was killed, perhaps for want of memory; fewer --jobs need less of it") from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def ahead(parts: Iterable[Part], submit: Callable[[Part], Any], most: int) -> Iterator[tuple[Part, Any]]:
    """The parts in their order with their results, None where nothing was submitted; `most` of them are under way."""
    waiting: deque[tuple[Part, Any]] = deque()
    try:
        for part in parts:
            waiting.append((part, submit(part)))
            if len(waiting) >= most:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()


def _first(waiting: deque[tuple[Part, Any]]) -> tuple[Part, Any]:
    part, future = waiting[0]
    result = None if future is None else future.result()
    waiting.popleft()
    return part, result


_job: Job[Any] | None = None


def _start(job: Job[Any]) -> None:
    """What each process has once. Ctrl-C is for all of them; one that is asked has nothing to say to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    global _job  # noqa: PLW0603 - the initializer of a pool has no other place
    _job = job


def _work(part: Part) -> Any:
    assert _job is not None
    return _job(part)
