"""How a recording is cut into files, how much of it is kept, and the index beside each file."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from support import manyflows
from support.loopback import flows_in
from toolcalls.config.amounts import bytes_of, seconds_of
from toolcalls.flows.flow_files import flow_of_record, serialized
from toolcalls.flows.flow_index import Index, entries_of, index_path
from toolcalls.flows.flow_redaction import redacted
from toolcalls.mitm.recording import folder as folders
from toolcalls.mitm.recording.folder import RecordingFolder
from toolcalls.mitm.recording.limits import Limits

FLOWS = [redacted(one) for one in (*manyflows.session(), *manyflows.others())]


class Clock:
    """A time that goes on when it is told to."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def began(tmp_path: Path, clock: Clock) -> Callable[..., RecordingFolder]:
    """Begins a recording; names of its files follow each other in time."""

    def begin(**limits: Any) -> RecordingFolder:
        return RecordingFolder(tmp_path, Limits(**limits), clock)

    return begin


def add(recording: RecordingFolder, flow: http.HTTPFlow, session: str | None = None) -> bool:
    entries = entries_of(flow)
    if session is not None:
        entries = [{**one, "session": session} for one in entries]
    return recording.add(serialized(flow), entries)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.flow"))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in index_path(path).read_text().splitlines()]


def test_a_line_says_where_its_exchange_stands_and_what_became_of_it(
    began: Callable[..., RecordingFolder], tmp_path: Path
) -> None:
    recording = began()
    for one in FLOWS:
        assert add(recording, one)
    recording.close("the test")
    (path,) = files(tmp_path)
    *entries, end = lines(path)
    assert [one["id"] for one in entries] == [one.id for one in FLOWS]
    for entry, flow in zip(entries, FLOWS, strict=True):
        found = flow_of_record(path.read_bytes()[entry["offset"] :][: entry["length"]])
        assert isinstance(found, http.HTTPFlow)
        assert found.get_state()["request"] == flow.get_state()["request"]
        report = flow.metadata["toolcalls"]
        assert (entry["model"], entry["wire"], entry["worst"]) == (report["model"], report["wire"], report["worst"])
        assert [one["status"] for one in entry["verdicts"]] == [one["status"] for one in report["verdicts"]]
        assert entry["sizes"]["client"] == len((flow.response and flow.response.raw_content) or b"")
    assert {one["agent"] for one in entries} > {"Claude Code"}
    assert end["exchanges"] == len(FLOWS)
    assert end["why"] == "the test"


def test_a_file_ends_at_its_size_and_at_its_age(
    began: Callable[..., RecordingFolder], clock: Clock, tmp_path: Path
) -> None:
    size = len(serialized(FLOWS[0]))
    recording = began(file_size=2 * size, file_age=100)
    for _ in range(3):
        add(recording, FLOWS[0])
    clock.now += 99
    recording.close_old()
    clock.now += 1
    recording.close_old()
    clock.now += 1
    add(recording, FLOWS[0])
    recording.close("the test")
    ends = [lines(path)[-1] for path in files(tmp_path)]
    assert sorted((one["exchanges"], one["why"]) for one in ends) == [
        (1, "it is as old as a file may be"),
        (1, "the test"),
        (2, "it is as large as a file may be"),
    ]


def test_a_session_has_its_own_file(began: Callable[..., RecordingFolder], tmp_path: Path) -> None:
    recording = began(split="session")
    for number in range(6):
        add(recording, FLOWS[number], ("one", "two", "three")[number % 3])
    recording.close("the test")
    assert len(files(tmp_path)) == 3
    for path in files(tmp_path):
        *entries, _ = lines(path)
        assert len(entries) == 2
        assert len({one["session"] for one in entries}) == 1


def test_few_files_are_open_at_a_time(
    began: Callable[..., RecordingFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "OPEN", 2)
    recording = began(split="session")
    for session in ("one", "two", "one", "three", "one"):
        add(recording, FLOWS[0], session)
    assert [lines(path)[-1].get("why") for path in files(tmp_path)].count("others are written") == 1
    recording.close("the test")


def total(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.name.startswith("toolcalls-"))


@pytest.mark.parametrize("split", ["size", "session"])
def test_no_more_is_kept_than_the_total(
    began: Callable[..., RecordingFolder], clock: Clock, tmp_path: Path, split: str
) -> None:
    limit = 12 * len(serialized(FLOWS[0]))
    (tmp_path / "toolcalls-mine.flow").write_bytes(b"x" * limit)  # what is not ours counts for nothing, and stays
    recording = began(split=split, total=limit)
    for number in range(60):
        clock.now += 1
        assert add(recording, FLOWS[0], f"session {number // 7}")
        assert total(tmp_path) - limit <= limit
    recording.close("the test")
    kept = [one["id"] for path in files(tmp_path) if path.name != "toolcalls-mine.flow" for one in lines(path)[:-1]]
    assert 3 <= len(kept) <= 12
    assert (tmp_path / "toolcalls-mine.flow").stat().st_size == limit


def test_what_another_process_writes_is_not_deleted(
    began: Callable[..., RecordingFolder], clock: Clock, tmp_path: Path
) -> None:
    size = len(serialized(FLOWS[0]))
    theirs, free = (tmp_path / f"toolcalls-20200101T000000Z-{name}.flow" for name in ("aaaaaaaa", "bbbbbbbb"))
    for path in (theirs, free):
        path.write_bytes(b"x" * 3 * size)
    descriptor = os.open(theirs, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        recording = began(total=8 * size)
        for _ in range(4):
            clock.now += 1
            add(recording, FLOWS[0])
        recording.close("the test")
    finally:
        os.close(descriptor)
    assert theirs.exists()
    assert not free.exists()


def test_one_that_is_larger_than_the_total_is_counted(began: Callable[..., RecordingFolder], tmp_path: Path) -> None:
    recording = began(total=100)
    assert not add(recording, FLOWS[0])
    recording.close("the test")
    (path,) = files(tmp_path)
    (end,) = lines(path)
    assert end["reasons"] == {"one exchange is larger than toolcalls_record_total": 1}


def test_a_folder_that_is_gone_and_comes_back(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    recording = RecordingFolder(folder, Limits(), clock)
    add(recording, FLOWS[0])
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert [add(recording, FLOWS[0]) for _ in range(2)] == [False, False]
    folder.mkdir()
    assert add(recording, FLOWS[0])
    recording.close("the test")
    assert sum("cannot be written" in one.message for one in caplog.records) == 1
    assert "2 records are missing in" in caplog.text
    (path,) = files(folder)
    assert len(flows_in(path)) == 1
    assert lines(path)[-1]["missing"] == 2


# --- an index that is not whole ---------------------------------------------------------------------------------------


@pytest.fixture
def recorded(began: Callable[..., RecordingFolder], tmp_path: Path) -> Path:
    recording = began()
    for one in FLOWS[:4]:
        add(recording, one)
    recording.close("the test")
    (path,) = files(tmp_path)
    return path


@pytest.mark.parametrize("kept", [[], [0], [0, 1, 2], [2], [0, 3]])
def test_what_has_no_line_is_read_from_the_file(recorded: Path, kept: list[int]) -> None:
    whole = lines(recorded)[:-1]
    index_path(recorded).write_text("".join(json.dumps(whole[number]) + "\n" for number in kept) + '{"id": "to')
    index = Index(recorded)
    assert [(one["id"], one["offset"], one["length"]) for one in index] == [
        (one["id"], one["offset"], one["length"]) for one in whole
    ]
    assert index.made == 4 - len(kept)
    assert index.end is None


def test_an_index_of_another_file_is_not_believed(recorded: Path) -> None:
    entry = lines(recorded)[0]
    index_path(recorded).write_text(json.dumps({**entry, "id": "another", "length": 10**9}) + "\n")
    assert [one["id"] for one in Index(recorded)] == [one.id for one in FLOWS[:4]]


def test_a_torn_end_is_said(recorded: Path) -> None:
    data = recorded.read_bytes()
    recorded.write_bytes(data[:-10])
    index = Index(recorded)
    assert len(list(index)) == 3
    assert index.torn


# --- sizes and times --------------------------------------------------------------------------------------------------


def test_sizes_and_times_are_read() -> None:
    assert [bytes_of(one) for one in ("7", "2k", "100M", "10g")] == [7, 2048, 100 * 1024**2, 10 * 1024**3]
    assert [seconds_of(one) for one in ("90s", "5m", "24h", "7d")] == [90, 300, 86400, 7 * 86400]
    for wrong in ("", "0", "-1", "1.5g", "g", "10 g", "10gb"):
        with pytest.raises(ValueError, match="a size like 100m"):
            bytes_of(wrong)


def test_a_file_takes_a_quarter_of_the_total_at_most() -> None:
    assert Limits(file_size=100, total=1000).largest_file == 100
    assert Limits(file_size=1000, total=1000).largest_file == 250
