"""Files that the addon writes while it runs: whole records, its owner's alone, and a disk that fails stops nothing.

The recording (`toolcalls_record`) and the log (`toolcalls_log`) share `AppendFile`; what is in them is looked at in
test_leaks.py too. How recordings are cut, bounded and indexed is tested without the process that writes them in
test_recording_folder.py.
"""

import json
import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import taddons

from support import manyflows
from support.loopback import LIMIT, flows_in
from support.waiting import seen
from toolcalls.flows import flow_metadata
from toolcalls.flows.flow_files import flows
from toolcalls.flows.flow_redaction import redacted
from toolcalls.mitm.append_file import WRITE, AppendFile, OpenFile
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.recording import protocol, recorder
from toolcalls.mitm.recording.recorder import Recorder
from toolcalls.streams import BadInput


@pytest.fixture
def flow() -> http.HTTPFlow:
    return manyflows.session()[0]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is written at the end, however slow the machine is."""
    monkeypatch.setattr(recorder, "_CLOSE_SECONDS", LIMIT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "recordings"


@pytest.fixture
def recording(folder: Path) -> Iterator[Recorder]:
    made = Recorder(folder)
    yield made
    made.close()


def opened(path: Path) -> Callable[[], OpenFile]:
    return lambda: OpenFile(path, os.open(path, WRITE | os.O_CREAT, 0o600))


def recorded_in(folder: Path) -> list[http.HTTPFlow]:
    return [one for path in sorted(folder.glob("*.flow")) for one in flows_in(path)]


def last_line(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("*.index.jsonl")
    found: dict[str, Any] = json.loads(path.read_text().splitlines()[-1])
    return found


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(OSError, match="is a link; name the folder itself"):
        Recorder(tmp_path / "link")
    assert list((tmp_path / "there").iterdir()) == []


def test_a_folder_that_others_may_look_into_is_said(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.mkdir()
    folder.chmod(0o750)
    Recorder(folder).close()
    assert "other users can read" in caplog.text


# --- records ----------------------------------------------------------------------------------------------------------


def test_what_was_given_is_written_at_the_end_and_without_secrets(
    recording: Recorder, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """At once, however little time there was: what becomes of a flow afterwards is not recorded."""
    given = [*manyflows.session(), *manyflows.others()]
    clean = [redacted(one) for one in given]
    for one in given:
        recording.add(one)
        one.request.path, one.comment = "/another", "another"
        one.metadata.clear()
    recording.close()
    found = recorded_in(folder)
    assert [one.id for one in found] == [one.id for one in given]
    for one, expected in zip(found, clean, strict=True):
        assert one.request.path == expected.request.path
        assert one.request.raw_content == expected.request.raw_content
        assert one.response is None or one.response.data == (expected.response and expected.response.data)
        assert one.metadata[flow_metadata.REPORT] == expected.metadata[flow_metadata.REPORT]
    for path in folder.iterdir():
        assert b"CANARY" not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "other users can read" not in caplog.text
    end = last_line(folder)
    assert (end["exchanges"], end["missing"], end["why"]) == (len(given), 0, "mitmproxy ended")


def test_what_waits_is_bounded_and_what_is_left_out_is_counted(
    recording: Recorder, folder: Path, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    assert recording.pid is not None
    os.kill(recording.pid, signal.SIGSTOP)
    monkeypatch.setattr(recorder, "MAX_WAITING", len(protocol.frame({"flow": protocol.flow_data(flow)})) * 2)
    for _ in range(5):
        recording.add(flow)
    os.kill(recording.pid, signal.SIGCONT)
    recording.close()
    assert len(recorded_in(folder)) == 2
    assert last_line(folder)["reasons"] == {"flows come faster than they can be written": 3}
    assert "3 records are missing" in caplog.text


def test_a_process_that_is_killed_is_replaced_and_what_it_had_is_counted(
    recording: Recorder, folder: Path, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "_RESTART_SECONDS", 0.0)
    first = recording.pid
    assert first is not None
    recording.add(flow)
    seen(lambda: list(folder.glob("*.index.jsonl")) and recorded_in(folder))
    os.kill(first, signal.SIGSTOP)
    recording.add(flow)
    seen(lambda: recording._process is not None and recording._process.sent_flows == 2)
    os.kill(first, signal.SIGKILL)

    def another() -> bool:
        recording.add(flow)
        return recording.pid not in {None, first}

    seen(another)
    recording.close()
    ends = [json.loads(path.read_text().splitlines()[-1]) for path in folder.glob("*.index.jsonl")]
    (end,) = [one for one in ends if "ended" in one]
    assert end["reasons"]["the process that writes them was killed"] >= 1
    assert len(recorded_in(folder)) == 1 + end["exchanges"]


def test_a_body_that_is_too_large_is_left_out_of_its_flow(
    recording: Recorder, folder: Path, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert flow.response is not None
    calls = flow.metadata[flow_metadata.REPORT]["verdicts"]
    monkeypatch.setattr(protocol, "MAX_BODY", len(flow.request.raw_content or b""))
    flow.response.raw_content = b"x" * (protocol.MAX_BODY + 1)
    flow.metadata[flow_metadata.UPSTREAM] = flow.response.raw_content
    calls[0]["arguments"] = "x" * (protocol.MAX_BODY + 1)
    recording.add(flow)
    assert len(calls[0]["arguments"]) > protocol.MAX_BODY  # the flow itself keeps all
    recording.close()
    (found,) = recorded_in(folder)
    assert found.response is not None
    assert found.request.raw_content
    assert found.response.raw_content is None
    assert flow_metadata.UPSTREAM not in found.metadata
    assert [verdict["arguments"] for verdict in found.metadata[flow_metadata.REPORT]["verdicts"][:1]] == [None]
    (path,) = folder.glob("*.index.jsonl")
    assert json.loads(path.read_text().splitlines()[0])["left_out"] == ["response", "upstream", "arguments"]


def test_the_end_waits_for_so_long_and_then_the_process_goes_on_alone(
    folder: Path, flow: http.HTTPFlow, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorder, "_CLOSE_SECONDS", 0.0)
    monkeypatch.setattr(recorder, "_QUIET_SECONDS", 0.0)
    made = Recorder(folder)
    process = made._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    made.add(flow)
    made.close()
    assert "is still writing recordings" in caplog.text
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(LIMIT)
    assert len(recorded_in(folder)) == 1


def test_what_no_process_can_be_told_is_counted(recording: Recorder, folder: Path, flow: http.HTTPFlow) -> None:
    flow.metadata[flow_metadata.UPSTREAM] = object()
    recording.add(flow)
    recording.close()
    assert last_line(folder)["missing"] == 1


def test_the_addon_records_what_it_reads_and_nothing_else(folder: Path) -> None:
    """Each flow once, also where `response` is followed by `error`; flows from a file not at all."""
    addon = ToolCalls()
    with taddons.context(addon) as context:
        context.configure(addon, toolcalls_record=str(folder))
        live, other, file = manyflows.session()[:3]
        other.request.path = "/somewhere/else"
        live.live, other.live, file.live = True, True, False
        for one in (live, other, file):
            for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response, addon.error):
                hook(one)
        context.configure(addon, toolcalls_record="")
    assert [one.id for one in recorded_in(folder)] == [live.id]


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


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("file_size", "large", "a size like 100m"),
        ("file_age", "1 day", "a time like 24h"),
        ("total", "0", "a size like"),
    ],
)
def test_a_limit_that_is_none_is_said(option: str, value: str, expected: str) -> None:
    addon: Any = ToolCalls()
    name = f"toolcalls_record_{option}"
    with taddons.context(addon) as context, pytest.raises(Exception, match=f"{name}: expected {expected}.*, found"):
        context.configure(addon, **{name: value})
