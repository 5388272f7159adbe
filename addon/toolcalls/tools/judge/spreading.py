"""How the parts of an archive are shared out: by the engine that is asked for, going on where an earlier run ended."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, Literal

from toolcalls.streams import BadInput
from toolcalls.tools.archive import on_dask
from toolcalls.tools.archive.engines import cores, in_processes, processes_for
from toolcalls.tools.archive.parts import PART, File, Part, parts_of
from toolcalls.tools.judge import rows
from toolcalls.tools.judge.job import Judged, Judging
from toolcalls.tools.judge.state import State, state


@dataclass(frozen=True, slots=True)
class Spreading:
    """Who does the work.

    engine      `local` is this machine
    jobs        processes on this machine; None for as many as there are cores, and one for a small archive
    scheduler   the address of a Dask scheduler; None for a cluster on this machine
    state       the file that says what is done; None for none
    asked       what results depend on, which the state file holds
    """

    engine: Literal["local", "dask"] = "local"
    jobs: int | None = None
    scheduler: str | None = None
    state: str | None = None
    asked: Mapping[str, Any] | None = None

    def judged(self, files: Sequence[File], job: Judging) -> Generator[Judged]:
        """What is said of the archive, in its order. Raises BadInput."""
        with ExitStack() as stack:
            known = None if self.state is None else stack.enter_context(state(self.state, self.asked or {}))
            old = set() if job.parquet is None else _checked(job.parquet, known)
            size = PART if job.parquet is not None or self.engine == "dask" else PART // 4  # so that the bar moves
            parts = (part for file in files for part in parts_of(file, size))
            jobs = processes_for(files, self.jobs)
            found: Iterator[tuple[Part, Judged | None]]
            if self.engine == "dask":
                client = stack.enter_context(on_dask.cluster(self.scheduler, self.jobs or cores()))
                found = on_dask.on_workers(client, job, files, _Done(known))
            elif jobs > 1:
                found = in_processes(job, parts, _Done(known), jobs)
            elif known is None:
                found = ((part, one) for part in parts for one in job.each(part))
            else:
                found = ((part, None if known.has(part) else job(part)) for part in parts)
            for part, one in found:
                old.discard(rows.name_of(part))
                if known is not None and one is not None:
                    known.add(part, asdict(one))
                if one is not None:
                    yield one
                elif known is not None:
                    yield _again(known.result(part))
            for name in old:  # of files that are no longer there, or shorter
                rows.remove(str(job.parquet), name)


@dataclass(frozen=True, slots=True)
class _Done:
    state: State | None

    def __call__(self, part: Part) -> bool:
        return self.state is not None and self.state.has(part)


def _again(data: dict[str, Any]) -> Judged:
    """What was said of a part, from the state file."""
    return Judged(
        [(result, other) for result, other in data["results"]],
        data["flows"],
        data["size"],
        [(file, said, torn) for file, said, torn in data["broken"]],
    )


def _checked(folder: str, known: State | None) -> set[str]:
    """The files of rows in the folder, which must be of the run that goes on. Raises BadInput."""
    rows.pyarrow()
    there = rows.names_in(folder)
    own = set() if known is None else {rows.name_at(path, start) for path, start in known.parts()}
    if there - own:
        why = "another run's rows are there; name an empty folder, or the state file of that run (--state)"
        raise BadInput(f"{folder}: {why}")
    return there
