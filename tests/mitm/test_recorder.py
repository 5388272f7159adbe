"""Files that the addon writes while it runs: whole records, its owner's alone, and a disk that fails stops nothing.

The recording (`toolcalls_record`) and the log (`toolcalls_log`) share `AppendFile`; what is in them is looked at in
test_leaks.py too.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import taddons

from support import manyflows
from support.loopback import LIMIT, flows_in
from toolcalls.commands.streams import BadInput
from toolcalls.mitm import flow_metadata, recorder
from toolcalls.mitm.addon import ToolCalls
from toolcalls.mitm.append_file import WRITE, AppendFile, OpenFile
from toolcalls.mitm.offline.files import flows
from toolcalls.mitm.offline.redact import redacted
from toolcalls.mitm.recorder import Recorder


@pytest.fixture
def flow() -> http.HTTPFlow:
    return manyflows.session()[0]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is written at the end, however slow the machine is."""
    monkeypatch.setattr(recorder, "_CLOSE_SECONDS", LIMIT)


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recorder]:
    made = Recorder(tmp_path / "recordings")
    yield made
    made.close()


def opened(path: Path) -> Callable[[], OpenFile]:
    return lambda: OpenFile(path, os.open(path, WRITE | os.O_CREAT, 0o600))


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(OSError, match="is a link; name the folder itself"):
        Recorder(tmp_path / "link")
    assert list((tmp_path / "there").iterdir()) == []


@pytest.mark.parametrize(("mode", "warned"), [(0o700, False), (0o750, True), (0o755, True), (0o701, True)])
def test_a_folder_that_others_may_look_into_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    folder.chmod(mode)
    Recorder(folder).close()
    assert any("others may look into" in record.message for record in caplog.records) == warned


# --- records ----------------------------------------------------------------------------------------------------------


def test_a_flow_is_recorded_without_its_secrets(recording: Recorder) -> None:
    recorded = [*manyflows.session(), *manyflows.others()]
    for one in recorded:
        recording.add(one)
    recording.close()
    found = flows_in(recording.file.path)
    assert [one.id for one in found] == [one.id for one in recorded]
    assert b"CANARY" not in recording.file.path.read_bytes()
    for one, was in zip(found, recorded, strict=True):
        clean = redacted(was)
        assert one.request.raw_content == clean.request.raw_content
        assert one.metadata[flow_metadata.REPORT] == clean.metadata[flow_metadata.REPORT]


def test_what_becomes_of_a_flow_afterwards_is_not_recorded(
    recording: Recorder, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread may come to it late, and somebody may have changed the flow by then."""
    go = Event()
    written = recorder._serialized
    monkeypatch.setattr(recorder, "_serialized", lambda one: go.wait(LIMIT) and written(one))
    before = (flow.request.path, flow.comment)
    recording.add(flow)
    flow.request.path, flow.comment = "/another", "another"
    flow.metadata.clear()
    go.set()
    recording.close()
    (found,) = flows_in(recording.file.path)
    assert (found.request.path, found.comment) == before
    assert flow_metadata.REPORT in found.metadata


def test_only_its_owner_can_read_it_and_its_name_is_ours(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = Recorder(tmp_path / "recordings")
    finally:
        os.umask(before)
    made.close()
    assert stat.S_IMODE((tmp_path / "recordings").stat().st_mode) == 0o700
    assert stat.S_IMODE(made.file.path.stat().st_mode) == 0o600
    assert made.file.path.name.startswith("toolcalls-")
    other = Recorder(tmp_path / "recordings")
    other.close()
    assert other.file.path != made.file.path


def test_a_flow_that_cannot_be_written_does_not_end_the_recording(
    recording: Recorder, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = recorder._serialized
    wrong = iter([True, False])

    def record(one: http.HTTPFlow) -> bytes:
        if next(wrong):
            raise ValueError("CANARY")
        return written(one)

    monkeypatch.setattr(recorder, "_serialized", record)
    recording.add(flow)
    recording.add(flow)
    recording.close()
    assert len(flows_in(recording.file.path)) == 1


def test_what_waits_is_bounded(
    recording: Recorder, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go = Event()
    written = recorder._serialized
    monkeypatch.setattr(recorder, "_serialized", lambda one: go.wait(LIMIT) and written(one))
    monkeypatch.setattr(recorder, "MAX_WAITING", recorder._size(flow) * 2)
    for _ in range(5):
        recording.add(flow)
    assert recording.file.missing == 3
    go.set()
    recording.close()
    assert len(flows_in(recording.file.path)) == 2
    assert sum("cannot be written" in one.message for one in caplog.records) == 1
    assert "3 records are missing" in caplog.text


def test_a_body_that_is_too_large_is_left_out_of_its_flow(
    recording: Recorder, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To take the secrets out of it takes several times its memory."""
    assert flow.response is not None
    body, calls = flow.response.raw_content, flow.metadata[flow_metadata.REPORT]["verdicts"]
    monkeypatch.setattr(recorder, "MAX_BODY", len(flow.request.raw_content or b""))
    flow.response.raw_content = b"x" * (recorder.MAX_BODY + 1)
    flow.metadata[flow_metadata.UPSTREAM] = flow.response.raw_content
    calls[0]["arguments"] = "x" * (recorder.MAX_BODY + 1)
    recording.add(flow)
    assert flow.response.raw_content != body
    assert len(calls[0]["arguments"]) > recorder.MAX_BODY  # the flow itself keeps all
    recording.close()
    (found,) = flows_in(recording.file.path)
    assert found.response is not None
    assert found.request.raw_content
    assert found.response.raw_content is None
    assert flow_metadata.UPSTREAM not in found.metadata
    assert [verdict["arguments"] for verdict in found.metadata[flow_metadata.REPORT]["verdicts"][:1]] == [None]


def test_the_end_does_not_wait_for_long(
    tmp_path: Path, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """SIGTERM must end mitmproxy within two seconds, whatever waits."""
    go = Event()
    monkeypatch.setattr(recorder, "_serialized", lambda _: go.wait(LIMIT) and b"")
    monkeypatch.setattr(recorder, "_CLOSE_SECONDS", 0.01)
    made = Recorder(tmp_path / "recordings")
    made.add(flow)
    made.close()
    go.set()
    assert "1 record is missing" in caplog.text


def test_what_is_ready_after_the_end_is_not_written(
    tmp_path: Path, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was counted as missing; and the file is closed, whose place another one may have by now."""
    go = Event()
    written = recorder._serialized
    monkeypatch.setattr(recorder, "_serialized", lambda one: go.wait(LIMIT) and written(one))
    monkeypatch.setattr(recorder, "_CLOSE_SECONDS", 0.0)
    made = Recorder(tmp_path / "recordings")
    made.add(flow)
    made.add(flow)
    made.close()
    go.set()
    made._thread.join(LIMIT)
    assert list((tmp_path / "recordings").iterdir()) == [made.file.path]
    assert made.file.path.read_bytes() == b""


def test_the_addon_records_what_it_reads_and_nothing_else(tmp_path: Path) -> None:
    """Each flow once, also where `response` is followed by `error`; flows from a file not at all."""
    addon = ToolCalls()
    with taddons.context(addon) as context:
        context.configure(addon, toolcalls_record=str(tmp_path / "recordings"))
        live, other, file = manyflows.session()[:3]
        other.request.path = "/somewhere/else"
        live.live, other.live, file.live = True, True, False
        for one in (live, other, file):
            for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response, addon.error):
                hook(one)
        context.configure(addon, toolcalls_record="")
    (path,) = (tmp_path / "recordings").glob("*.flow")
    assert [one.id for one in flows_in(path)] == [live.id]


# --- a disk that fails ------------------------------------------------------------------------------------------------


def full_after(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that has room for so many bytes more, and takes a part of what does not fit."""
    left = [size]
    write = os.write

    def limited(descriptor: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        written = write(descriptor, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr("toolcalls.mitm.append_file.os.write", limited)


def test_a_record_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = AppendFile(opened(tmp_path / "file"))
    full_after(10, monkeypatch)
    assert [file.append(b"123456\n") for _ in range(3)] == [True, False, False]
    assert (tmp_path / "file").read_bytes() == b"123456\n"
    assert file.missing == 2
    monkeypatch.undo()
    assert file.append(b"abc\n")
    assert (tmp_path / "file").read_bytes() == b"123456\nabc\n"
    file.close()
    assert [one.message.count("No space left") for one in caplog.records] == [1, 0]
    assert "2 records are missing" in caplog.text


def test_what_another_has_written_behind_a_torn_record_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    file = AppendFile(opened(path))
    write = os.write
    calls = iter([3])

    def limited(descriptor: int, data: bytes) -> int:
        size = next(calls, None)
        if size is None:
            with path.open("ab") as other:
                other.write(b"another's\n")
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:size])

    monkeypatch.setattr("toolcalls.mitm.append_file.os.write", limited)
    assert not file.append(b"123456\n")
    assert path.read_bytes() == b"123another's\n"
    file.close()


@pytest.mark.parametrize("how", ["removed", "moved"])
def test_a_file_that_was_taken_away_is_made_anew(tmp_path: Path, how: str) -> None:
    """What a log rotation does; what we still held open nobody would find."""
    path = tmp_path / "file"
    file = AppendFile(opened(path))
    file.append(b"one\n")
    path.unlink() if how == "removed" else path.rename(tmp_path / "old")
    assert file.append(b"two\n")
    assert path.read_bytes() == b"two\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    file.close()
    assert file.missing == 0


def test_a_folder_that_is_gone_and_comes_back(
    recording: Recorder, flow: http.HTTPFlow, caplog: pytest.LogCaptureFixture
) -> None:
    folder = recording.file.path.parent
    recording.file.path.unlink()
    folder.rmdir()
    for _ in range(2):
        recording.add(flow)
    recording._queue.put(None)
    recording._thread.join(LIMIT)
    assert recording.file.missing == 2
    assert sum("cannot be written" in one.message for one in caplog.records) == 1
    folder.mkdir()
    assert recording.file.append(recorder._serialized(flow))
    assert len(flows_in(recording.file.path)) == 1


# --- a writer that was killed -----------------------------------------------------------------------------------------


def test_all_complete_flows_of_a_torn_file_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = manyflows.write(tmp_path / "whole.flow", manyflows.session()[:3])
    data = path.read_bytes()
    ends = [len(manyflows.write(tmp_path / "part.flow", manyflows.session()[:count]).read_bytes()) for count in (1, 2)]
    torn = tmp_path / "torn.flow"
    for size in (*range(ends[0] + 1, len(data), 997), ends[1] + 1, ends[1] + 3, len(data) - 1):
        torn.write_bytes(data[:size])
        assert len(list(flows(str(torn)))) == sum(end <= size for end in ends), size
        assert ("torn off" in capsys.readouterr().err) == (size not in ends)
    torn.write_bytes(data[: ends[0] // 2])
    with pytest.raises(BadInput):
        list(flows(str(torn)))
    torn.write_bytes(data[: ends[0]] + b"garbage" + data[ends[0] :])
    with pytest.raises(BadInput):
        list(flows(str(torn)))


def test_the_addon_says_when_it_cannot_record(tmp_path: Path) -> None:
    addon: Any = ToolCalls()
    (tmp_path / "file").write_text("", encoding="utf-8")
    with taddons.context(addon) as context, pytest.raises(Exception, match="toolcalls_record"):
        context.configure(addon, toolcalls_record=str(tmp_path / "file"))
