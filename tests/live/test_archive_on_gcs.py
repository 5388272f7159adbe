"""An archive in a store that speaks Google's API: read, judged by two Dask workers, and written as rows."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from gcp_storage_emulator.server import create_server

from support import manyflows
from support.loopback import LIMIT
from support.repository import REPO

_FILES = 3
# gcsfs asks what kind of bucket it is over gRPC and TLS, which the store here does not speak.
_REST = {"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, dict[str, str]]]:
    """A bucket `flows`, and the environment in which it is found."""
    for name, value in _REST.items():
        monkeypatch.setenv(name, value)
    import gcsfs  # noqa: PLC0415 - it reads the environment when it is loaded

    server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="flows")
    server.start()
    try:
        url = f"http://127.0.0.1:{server._api._httpd.server_address[1]}"
        environment = {**_REST, "FSSPEC_GS_TOKEN": "anon", "FSSPEC_GS_ENDPOINT_URL": url}
        yield gcsfs.GCSFileSystem(token="anon", endpoint_url=url, skip_instance_cache=True), environment
    finally:
        server.stop()


def _judged(environment: dict[str, str], *arguments: str) -> tuple[int, list[str], list[str]]:
    run = subprocess.run(
        [sys.executable, "-m", "toolcalls", "judge", "--jsonl", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment, "PYTHONPATH": str(REPO / "addon")},
        timeout=LIMIT,
        check=False,
    )
    return run.returncode, run.stdout.splitlines(), run.stderr.splitlines()


def _rows(system: Any, folder: str) -> list[dict[str, Any]]:
    system.invalidate_cache()
    tables = [pyarrow.parquet.read_table(system.open(name)) for name in system.glob(f"{folder}/*.parquet")]
    rows = [row for table in tables for row in table.to_pylist()]
    return sorted(rows, key=lambda row: (row["file"], row["number"], row["flow"]))


def test_two_workers_give_what_one_process_gives(store: tuple[Any, dict[str, str]], tmp_path: Path) -> None:
    system, environment = store
    path = manyflows.write(tmp_path / "one.flow", [*manyflows.session(), *manyflows.others()])
    for number in range(_FILES):
        system.pipe_file(f"flows/day/{number:02}.flow", path.read_bytes())
    system.pipe_file("flows/day/99.flow", path.read_bytes()[:40] + b"!" * 40)

    here = _judged(environment, "--jobs", "1", "--parquet", "gs://flows/here", "gs://flows/day")
    options = ["--engine", "dask", "--jobs", "2", "--parquet", "gs://flows/there"]
    assert _judged(environment, *options, "gs://flows/day") == here

    status, lines, errors = here
    assert status == 2
    assert errors[0].startswith("toolcalls judge: gs://flows/day/99.flow: flow 1 cannot be read: ")
    _, *alone, _ = map(json.loads, _judged({}, str(path))[1])
    assert [json.loads(line)["verdicts"] for line in lines[1:-1]] == [one["verdicts"] for one in alone] * _FILES
    rows = _rows(system, "flows/there")
    assert len(rows) == len(alone) * _FILES
    assert rows == _rows(system, "flows/here")


def test_what_is_not_there_is_one_line(store: tuple[Any, dict[str, str]]) -> None:
    status, _, errors = _judged(store[1], "gs://flows/nothing.flow")
    assert status == 2
    assert len(errors) == 1
    assert errors[0].startswith("toolcalls judge: gs://flows/nothing.flow: it cannot be listed: ")
