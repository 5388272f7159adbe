"""An archive in a store that speaks S3, judged by a Dask scheduler and two workers, one of which is killed."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import s3fs
from distributed import Client

from support import manyflows
from support.loopback import LIMIT
from support.s3store import s3_store
from toolcalls import cli
from toolcalls.tools.archive import on_dask

_FILES = 10


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[s3fs.S3FileSystem]:
    """A bucket `flows` with an archive, one file of which is broken."""
    with s3_store(monkeypatch) as system:
        yield system


def _filled(system: s3fs.S3FileSystem, folder: Path) -> None:
    for number in range(_FILES):
        flows = [*manyflows.session(), *manyflows.others()]
        path = manyflows.write(folder / "one.flow", flows)
        system.put_file(str(path), f"flows/day/{number:02}.flow")
    system.pipe_file("flows/day/99.flow", path.read_bytes()[:40] + b"!" * 40)


@contextmanager
def _python(*arguments: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as file:
        process = subprocess.Popen([sys.executable, "-m", *arguments], stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def scheduler(store: s3fs.S3FileSystem, tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and its two workers, which have the store's address in their environment."""
    assert store.exists("flows")

    file = tmp_path / "scheduler.json"
    local = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard"]
    with ExitStack() as stack:
        stack.enter_context(_python("distributed.cli.dask_scheduler", *local, "--port", "0", log=tmp_path / "log"))
        worker = ["distributed.cli.dask_worker", *local, "--no-nanny", "--nthreads", "1"]
        workers = [
            stack.enter_context(
                _python(*worker, "--local-directory", str(tmp_path / f"{number}"), log=tmp_path / "log")
            )
            for number in range(2)
        ]
        with Client(scheduler_file=str(file), timeout=LIMIT) as client:
            client.wait_for_workers(2, timeout=LIMIT)
            address = str(client.scheduler.address)
        yield address, workers


def _judged(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], list[str]]:
    status = cli.main(["judge", "--jsonl", *arguments])
    out, error = capfd.readouterr()
    return status, out.splitlines(), error.splitlines()


def _rows(system: Any, folder: str) -> list[dict[str, Any]]:
    """The rows of all files, in the order of the archive."""
    tables = [pyarrow.parquet.read_table(system.open(name)) for name in system.glob(f"{folder}/*.parquet")]
    rows = [row for table in tables for row in table.to_pylist()]
    return sorted(rows, key=lambda row: (row["file"], row["number"], row["flow"]))


def test_two_workers_and_a_death_give_what_one_process_gives(
    store: s3fs.S3FileSystem,
    scheduler: tuple[str, list[subprocess.Popen[bytes]]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _filled(store, tmp_path)
    address, workers = scheduler
    here = _judged(capfd, "--jobs", "1", "--parquet", "s3://flows/here", "s3://flows/day")
    again = on_dask.on_workers
    deaths: list[int] = []

    def killing(*arguments: Any) -> Iterator[Any]:
        for one in again(*arguments):
            if not deaths:
                workers[0].send_signal(signal.SIGKILL)
                deaths.append(workers[0].wait())
            yield one

    monkeypatch.setattr(on_dask, "on_workers", killing)
    state = str(tmp_path / "state")
    options = ["--engine", "dask", "--scheduler", address, "--parquet", "s3://flows/there", "--state", state]
    there = _judged(capfd, *options, "s3://flows/day")
    assert deaths == [-signal.SIGKILL]
    assert workers[1].poll() is None
    assert there == here
    status, lines, errors = there
    assert status == 2
    assert errors[0].startswith("toolcalls judge: s3://flows/day/99.flow: flow 1 cannot be read: ")
    assert len(lines) == 1 + 9 * _FILES + 1
    rows = _rows(store, "flows/there")
    assert rows == _rows(store, "flows/here")
    assert len(rows) == 9 * _FILES
    assert {row["change"] for row in rows} == {json.loads(line)["change"] for line in lines[1:-1]} == {"same"}

    # What is done is not done again, by whatever engine, and what is written stays as it is.
    written = {name: store.info(name)["LastModified"] for name in store.glob("flows/there/*")}
    store.invalidate_cache()
    assert _judged(capfd, "--parquet", "s3://flows/there", "--state", state, "s3://flows/day") == here
    assert {name: store.info(name)["LastModified"] for name in store.glob("flows/there/*")} == written
    # Rows of another run are not mixed with those of this one.
    status, _, errors = _judged(capfd, "--parquet", "s3://flows/there", "s3://flows/day")
    assert status == 2
    assert "another run's rows are there" in errors[0]


def test_mistakes_are_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(manyflows.write(tmp_path / "one.flow", manyflows.session()[:1]))
    for arguments, said in (
        (["--engine", "dask", "--scheduler", "nonsense://1", path], "--scheduler nonsense://1: no Dask scheduler"),
        (["--scheduler", "tcp://127.0.0.1:1", path], "--scheduler is for --engine dask"),
        (["nonsense://bucket/key"], "nonsense://bucket/key: Protocol not known: nonsense"),
        ([f"file://{tmp_path}/nothing.flow"], f"file://{tmp_path}/nothing.flow: it cannot be listed: "),
    ):
        status, _, errors = _judged(capfd, *arguments)
        assert status == 2
        assert len(errors) == 1
        assert errors[0].startswith(f"toolcalls judge: {said}")


def test_a_cluster_on_this_machine_is_the_default(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(manyflows.write(tmp_path / "one.flow", manyflows.session()))
    here = _judged(capfd, path)
    assert _judged(capfd, "--engine", "dask", "--jobs", "1", path) == here
    assert "distributed" in sys.modules
    assert [one.name for one in tmp_path.iterdir()] == ["one.flow"]
