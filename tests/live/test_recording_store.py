"""Recordings of several workers: in folders or in a store, they come together by session."""

import fcntl
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet
import pytest
from mitmproxy import exceptions, http

from support import manyflows
from support.addons import addon_with
from support.loopback import LIMIT
from support.s3store import s3_store
from support.waiting import seen
from toolcalls import cli
from toolcalls.insight.sessions import Sessions
from toolcalls.mitm.recording import recorder
from toolcalls.mitm.recording import store as stores
from toolcalls.mitm.recording.limits import Limits
from toolcalls.mitm.recording.recorder import Recorder
from toolcalls.mitm.recording.store import RecordingStore
from toolcalls.tools.archive.parts import files_of
from toolcalls.tools.report.turns import turns_of


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_CLOSE_SECONDS", LIMIT)


def two_workers(folder: Path, store: str = "", limits: Limits | None = None) -> list[http.HTTPFlow]:
    """Two workers record the turns of one session in turn, and those of some others; what they record."""
    flows = [*manyflows.session(), *manyflows.others()]
    workers = [Recorder(folder / name, limits, store) for name in ("one", "two")]
    for number, flow in enumerate(flows):
        workers[number % 2].add(flow)
    for worker in workers:
        worker.close()
    return flows


def sessions_of(tmp_path: Path, paths: Iterable[str]) -> dict[str, list[str]]:
    """The flows of each session by their beginning."""
    assert cli.main(["judge", "--parquet", str(tmp_path / "rows"), *paths]) in (0, 1)
    rows = pyarrow.parquet.read_table(tmp_path / "rows").to_pylist()
    found: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda one: one["started"]):
        found.setdefault(row["session"], []).append(row["flow"])
    return found


def expected(tmp_path: Path, flows: list[http.HTTPFlow]) -> dict[str, list[str]]:
    """The sessions of one worker that has seen everything."""
    (tmp_path / "whole").mkdir()
    return sessions_of(tmp_path / "whole", [str(manyflows.write(tmp_path / "whole.flow", flows))])


def test_folders_of_two_workers_are_one_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    flows = two_workers(tmp_path)
    paths = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert sessions_of(tmp_path, paths) == expected(tmp_path, flows)
    assert cli.main(["report", "-o", str(tmp_path / "both.html"), *paths]) == 0
    assert cli.main(["report", "-o", str(tmp_path / "whole.html"), str(tmp_path / "whole.flow")]) == 0
    counts = [line.partition(": ")[2] for line in capfd.readouterr().out.splitlines()[-2:]]
    assert counts[0] == counts[1]
    assert cli.main(["record", "ls", *paths]) == 0

    sessions = Sessions()
    for made in turns_of(files_of(paths), manyflows.CONFIG, 1):
        for turn in made.turns:
            sessions.put(turn)
    ids = [flow.id for flow in manyflows.session()]
    assert [turn.id for one in sessions.all() for turn in one.turns if turn.id in ids] == ids
    assert len({turn.session for one in sessions.all() for turn in one.turns if turn.id in ids}) == 1


def test_a_store_gets_the_files_of_all_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_store(monkeypatch) as system:
        flows = two_workers(tmp_path, "s3://flows/team", Limits(file_size=20_000))
        names = system.ls("flows/team")
        files = [name for name in names if name.endswith(".flow")]
        assert len(files) > 2, "they come in pieces"
        assert {f"{name.removesuffix('.flow')}.index.jsonl" for name in files} == set(names) - set(files)
        assert [*tmp_path.glob("*/*")] == [], "what is there is not here any more"
        assert sessions_of(tmp_path, ["s3://flows/team"]) == expected(tmp_path, flows)
        assert cli.main(["report", "-o", str(tmp_path / "all.html"), "s3://flows/team"]) == 0
        assert cli.main(["export", "--format", "jsonl", "-o", str(tmp_path / "all.jsonl"), "s3://flows/team"]) == 0
        exported = map(json.loads, (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines())
        assert {one["flow"].partition(".")[0] for one in exported} == {flow.id for flow in flows}
        assert cli.main(["stats", "s3://flows/team/*.flow"]) == 0
        assert cli.main(["redact", f"s3://{files[0]}", str(tmp_path / "one.flow")]) == 0
        assert (tmp_path / "one.flow").stat().st_size > 0
        assert cli.main(["stats", "s3://flows/nobody.flow"]) == 2


def test_recordings_in_a_store_are_listed_shown_and_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with s3_store(monkeypatch) as system:
        flows = two_workers(tmp_path, "s3://flows/team", Limits(file_size=20_000))
        files = sorted(name for name in system.ls("flows/team") if name.endswith(".flow"))
        capfd.readouterr()

        assert cli.main(["record", "ls", "s3://flows/team"]) == 0
        *lines, total = capfd.readouterr().out.splitlines()
        assert [line.split("  ")[-2] for line in lines] == [f"s3://{name}" for name in files]
        assert not any("no index" in line for line in lines)
        assert total.startswith(f"{len(files)} files: ")
        assert cli.main(["record", "ls", "--exchanges", "--json", *(f"s3://{name}" for name in files)]) == 0
        listed = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert {one["id"].partition(".")[0] for one in listed} == {flow.id for flow in flows}

        assert cli.main(["record", "show", flows[0].id, "s3://flows/team"]) == 0
        assert flows[0].id in capfd.readouterr().out
        assert cli.main(["record", "merge", "s3://flows/team", "-o", str(tmp_path / "all.flow")]) == 0
        assert cli.main(["record", "ls", str(tmp_path / "all.flow"), "--json"]) == 0
        assert json.loads(capfd.readouterr().out.splitlines()[-1])["exchanges"] == len(listed)

        index = f"s3://{files[0].removesuffix('.flow')}.index.jsonl"
        for name, said in (
            ("s3://flows/team/nobody.flow", "there is none"),
            ("s3://flows/team/nobody", "there is none"),
            (index, "this is an index"),
        ):
            assert cli.main(["record", "ls", name]) == 2
            assert said in capfd.readouterr().err
    assert cli.main(["record", "ls", "nowhere://flows/team"]) == 2
    assert "Unsupported filesystem" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "upath", None)
    assert cli.main(["record", "ls", "s3://flows/team"]) == 2
    assert "need the extra `dask`" in capfd.readouterr().err


def test_a_store_that_is_not_there_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What stays is moved by the next one, but for a file that another process writes, or has just made."""
    two_workers(tmp_path)
    here = sorted(path.name for path in (tmp_path / "one").iterdir())
    (tmp_path / "target").write_text("a file, where a folder is wanted")
    monkeypatch.setattr(stores, "_LOOKS", 0.01)
    monkeypatch.setattr(stores, "_TRIES", 0.01)
    store = RecordingStore(tmp_path / "one", f"file://{tmp_path}/target/there?key=CANARY")
    seen(lambda: "does not accept files" in caplog.text)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == here
    store.close()
    assert "not yet moved" in caplog.text
    assert caplog.text.count("does not accept files") == 1
    assert "CANARY" not in caplog.text

    written = tmp_path / "one" / "toolcalls-20261123T075452Z-c509d7cd.flow"
    written.write_bytes(b"0:")
    made = written.with_name("toolcalls-20261123T075452Z-c509d7ce.flow")
    made.touch()
    descriptor = os.open(written, os.O_WRONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    RecordingStore(tmp_path / "one", f"file://{tmp_path}/there").close()
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == here
    assert sorted((tmp_path / "one").iterdir()) == [written, made]
    os.close(descriptor)


@pytest.mark.parametrize(
    ("options", "mistake"),
    [
        ({"toolcalls_record_store": "s3://flows"}, "set toolcalls_record as well"),
        ({"toolcalls_record_store": "flows", "toolcalls_record": "x"}, "expected an address"),
    ],
)
def test_a_store_that_cannot_be_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], mistake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(exceptions.OptionsError, match=mistake), addon_with(**options):
        raise AssertionError("it was taken")
