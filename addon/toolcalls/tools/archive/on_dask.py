"""A job on all parts of an archive, on the workers of a Dask scheduler: those of other machines, or two or more here.

The parts of a worker that dies are done again by others. What a job writes (`rows`) is written under a name that its
part alone decides, so doing one twice is doing it once. Workers need this project in the same version, and Python files
that a configuration names at the same paths; the configuration itself goes along with the job.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from toolcalls import __version__
from toolcalls.flows.remote_files import MISSING
from toolcalls.streams import BadInput
from toolcalls.tools.archive.engines import Done, Job, ahead
from toolcalls.tools.archive.parts import File, Part, parts_of

_AHEAD = 3  # parts for each thread of the workers
_RETRIES = 2  # of a part whose job raised: storage may fail for a moment
_WAIT = "30s"  # for a scheduler and its first worker


@contextmanager
def cluster(scheduler: str | None, jobs: int) -> Iterator[Any]:
    """A client of a scheduler, or of a cluster of `jobs` processes on this machine. Raises BadInput."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise BadInput(MISSING) from error
    if scheduler is None:
        local = LocalCluster(
            n_workers=jobs, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
        )
        with local, Client(local) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=_WAIT)
    except (OSError, ValueError) as error:
        raise BadInput(f"--scheduler {scheduler}: no Dask scheduler answers there") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=30)
        except TimeoutError as error:
            raise BadInput(f"--scheduler {scheduler}: it has no workers") from error
        yield client


def on_workers[T](client: Any, job: Job[T], files: Iterable[File], done: Done) -> Iterator[tuple[Part, T | None]]:
    """What the job says of each part, in their order. Files are cut into parts by the workers, too. Raises BadInput."""
    from distributed import KilledWorker

    # A task of its own, and not scattered: it can be made again when all that hold it are gone.
    carried = client.submit(_same, job, pure=False)
    threads = max(1, sum(client.nthreads().values()))

    def submit(part: Part) -> Any:
        if done(part):
            return None
        return client.submit(_work, carried, part, __version__, retries=_RETRIES, pure=False)

    try:
        yield from ahead(_parts(client, files, threads), submit, threads * _AHEAD)
    except KilledWorker as error:
        raise BadInput("several workers died of one part, perhaps for want of memory") from error


def _parts(client: Any, files: Iterable[File], threads: int) -> Iterator[Part]:
    """The parts of all files, with those of some files being sought ahead."""
    cut: deque[Any] = deque()
    for file in files:
        cut.append(client.submit(parts_of, file, retries=_RETRIES, pure=False))
        if len(cut) > threads:
            yield from cut.popleft().result()
    while cut:
        yield from cut.popleft().result()


def _same[T](value: T) -> T:
    return value


def _work(job: Job[Any], part: Part, version: str) -> Any:
    """Do a part on a worker. Raises BadInput where the worker has another version."""
    if version != __version__:
        raise BadInput(f"a worker has version {__version__} of toolcalls, and this is {version}: install the same")
    return job(part)
