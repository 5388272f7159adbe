"""An archive in parts: what is read is what mitmproxy reads, and the result is the same however the work is shared."""

import json
import os
import signal
import stat
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.io import tnetstring
from mitmproxy.test import tflow

from support import manyflows
from support.loopback import flows_in
from support.sampling import examples
from toolcalls import cli
from toolcalls.flows.frames import NotAFrame, dictionary, next_frame
from toolcalls.insight import conversation
from toolcalls.insight.conversation import Message
from toolcalls.tools.archive import engines
from toolcalls.tools.archive import parts as archive_parts
from toolcalls.tools.archive.parts import Part, files_of, parts_of
from toolcalls.tools.archive.reading import Broken, Found, flows_of
from toolcalls.tools.options import configuration
from toolcalls.tools.report import turns as archive_turns
from toolcalls.tools.report.turns import turns_of

_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
_KEYS = st.text(max_size=3)
_VALUES = st.recursive(
    _LEAVES,
    lambda inside: st.lists(inside, max_size=3) | st.lists(st.integers(), max_size=3) | st.dictionaries(_KEYS, inside),
    max_leaves=6,
)


@pytest.fixture
def flow_file(tmp_path: Path) -> Path:
    flows = [*manyflows.session(), tflow.ttcpflow(), *manyflows.others()]
    return manyflows.write(tmp_path / "many.flow", flows)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of one or two flows."""
    whole = archive_parts.parts_of
    monkeypatch.setattr("toolcalls.tools.judge.spreading.parts_of", lambda file, _: whole(file, 8000))


# --- reading ----------------------------------------------------------------------------------------------------------


@examples(40)
@given(st.dictionaries(_KEYS, _VALUES))
def test_values_are_those_that_the_host_reads(value: dict[str, Any]) -> None:
    data = tnetstring.dumps(value)
    source = BytesIO(data + b"rest")
    frame = next_frame(source)
    assert frame is not None
    assert dictionary(frame) == tnetstring.loads(data) == value
    assert source.read() == b"rest"


@examples(40)
@given(st.dictionaries(_KEYS, _VALUES, min_size=1), st.data())
def test_damaged_bytes_raise_nothing_else(value: dict[str, Any], data: st.DataObject) -> None:
    whole = tnetstring.dumps(value)
    at = data.draw(st.integers(0, len(whole) - 1))
    cut = whole[:at]
    other = whole[:at] + bytes([data.draw(st.integers(0, 255))]) + whole[at + 1 :]
    for damaged in (cut, other):
        try:
            frame = next_frame(BytesIO(damaged))
            assert frame is None or isinstance(dictionary(frame), dict)
        except ValueError:
            pass
    if cut:
        with pytest.raises(NotAFrame) as torn:
            next_frame(BytesIO(cut))
        assert torn.value.torn


@pytest.mark.parametrize("size", [1, 9000, 1 << 30])
def test_parts_hold_each_flow_once(flow_file: Path, size: int) -> None:
    (file,) = files_of([str(flow_file)])
    parts = parts_of(file, size)
    assert {1: 10, 9000: 5, 1 << 30: 1}[size] == len(parts)
    assert sum(part.size for part in parts) == flow_file.stat().st_size
    found = [one for part in parts for one in flows_of(part)]
    assert [one.number for one in found if isinstance(one, Found)] == [1, 2, 3, 4, 5, 7, 8, 9, 10]
    states = [one.flow.get_state() for one in found if isinstance(one, Found)]
    assert states == [flow.get_state() for flow in flows_in(flow_file)]


def test_what_is_broken_is_named_and_the_rest_is_read(flow_file: Path) -> None:
    data = flow_file.read_bytes()
    second = len(_frames(data)[0])
    inside = data.index(b"4:host", second)  # in the second flow, whose length stays right
    flow_file.write_bytes(data[:inside] + b"x" + data[inside + 1 :] + b"77:torn")
    found = [*flows_of(Part(*files_of([str(flow_file)])))]
    assert [one.number for one in found if isinstance(one, Found)] == [1, 3, 4, 5, 7, 8, 9, 10]
    broken = [one for one in found if isinstance(one, Broken)]
    assert [one.torn for one in broken] == [False, True]
    assert broken[0].said.startswith(f"{flow_file}: flow 2 cannot be read: ")
    assert broken[1].said == f"{flow_file}: flow 11 is torn off and left out"


def _frames(data: bytes) -> list[bytes]:
    """The bytes of each flow."""
    found, at = [], 0
    while at < len(data):
        colon = data.index(b":", at)
        end = colon + 2 + int(data[at:colon])
        found.append(data[at:end])
        at = end
    return found


# --- judge ------------------------------------------------------------------------------------------------------------


def _judged(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], list[str]]:
    """The status, and the lines of both outputs."""
    status = cli.main(["judge", "--jsonl", *arguments])
    out, error = capfd.readouterr()
    return status, out.splitlines(), error.splitlines()


@pytest.fixture
def lenient(tmp_path: Path) -> str:
    path = tmp_path / "lenient.yaml"
    path.write_text("defaults: {policy: lenient}\n")
    return str(path)


@pytest.mark.usefixtures("small_parts")
def test_a_folder_gives_the_same_in_one_process_and_in_two(
    tmp_path: Path, lenient: str, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "archive"
    (folder / "deep").mkdir(parents=True)
    manyflows.write(folder / "b.flow", manyflows.session())
    manyflows.write(folder / "deep" / "c.flow", manyflows.others())
    (folder / "a.flow").write_bytes(b"12:xx")
    (folder / "notes.txt").write_text("not a flow")
    names = [str(folder / name) for name in ("a.flow", "b.flow", "deep/c.flow")]
    one = _judged(capfd, "--jobs", "1", "--config", lenient, *names)
    two = _judged(capfd, "--jobs", "2", "--config", lenient, str(folder))
    assert one == two
    status, lines, errors = one
    assert status == 2
    assert errors[0].startswith(f"toolcalls judge: {folder / 'a.flow'}: flow 1 cannot be read: ")
    assert errors[1:] == ["toolcalls judge: 1 of 3 files cannot be read as a whole"]
    flows = [json.loads(line) for line in lines[1:-1]]
    assert [(Path(one["file"]).name, one["number"]) for one in flows] == [
        *(("b.flow", number) for number in range(1, 6)),
        *(("c.flow", number) for number in range(1, 5)),
    ]
    assert {one["change"] for one in flows} == {"same", "changed"}


def test_a_folder_without_flows_is_a_mistake(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, errors = _judged(capfd, str(tmp_path))
    assert status == 2
    assert errors == [f"toolcalls judge: {tmp_path}: no file in this folder ends in .flow, .flows, .mitm, .har"]


@pytest.mark.usefixtures("small_parts")
def test_a_run_goes_on_where_another_one_ended(
    flow_file: Path, tmp_path: Path, lenient: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    options = ["--state", str(state), "--config", lenient, str(flow_file)]
    whole = _judged(capfd, *options)
    assert whole[0] == 1
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    lines = state.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 5
    state.write_bytes(b"".join(lines[:3]) + lines[3][:50])  # killed in its third part
    read: list[int] = []
    flows_of_ = flows_of
    monkeypatch.setattr(
        "toolcalls.tools.judge.job.flows_of", lambda part: (read.append(part.first), flows_of_(part))[1]
    )
    assert _judged(capfd, *options) == whole
    assert state.read_bytes() == b"".join(lines)
    assert len(read) == 3
    os.utime(flow_file, ns=(0, 0))  # another file
    assert _judged(capfd, *options) == whole
    assert len(read) == 3 + 5
    other = _judged(capfd, *options[:2], str(flow_file))
    assert other[::2] == (
        2, [f"toolcalls judge: {state}: it was begun with something else (config); name another one, or remove it"],
    )  # fmt: skip


def test_a_file_of_another_kind_is_no_state(flow_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = flow_file.read_bytes()
    status, _, errors = _judged(capfd, "--state", str(flow_file), str(flow_file))
    assert status == 2
    assert errors == [f"toolcalls judge: {flow_file}: this is no state file; name another one"]
    assert flow_file.read_bytes() == before


def test_a_process_that_is_killed_is_told(
    flow_file: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcalls.tools.archive.engines._start", os._exit)  # of a job: it raises at once
    status, _, errors = _judged(capfd, "--jobs", "2", str(flow_file))
    assert status == 2
    assert "a process was killed, perhaps for want of memory" in errors[-1]


# --- report -----------------------------------------------------------------------------------------------------------


def test_messages_of_earlier_parts_are_not_made_anew(flow_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session goes on in the next part; what is kept of its messages is bounded."""
    config = configuration(None)
    (file,) = files_of([str(flow_file)])
    alone = [turns.turns for turns in turns_of([file], config, 1)]
    monkeypatch.setattr(archive_turns, "parts_of", lambda one, _: parts_of(one, 8000))
    made: list[tuple[str, str]] = []

    def message(role: str, digest: str, *more: Any) -> Message:
        made.append((role, digest))
        return Message(role, digest, *more)

    monkeypatch.setattr(conversation, "Message", message)
    parts = [turns.turns for turns in turns_of([file], config, 1)]
    assert len(parts) > 2
    assert [turn for turns in parts for turn in turns] == [turn for turns in alone for turn in turns]
    assert len(made) == len(set(made)) > 0
    made.clear()
    monkeypatch.setattr(archive_turns, "_REMEMBERED", 0)
    assert [turns.turns for turns in turns_of([file], config, 1)] == parts
    assert len(made) > len(set(made))


def test_ctrl_c_ends_a_process_without_a_word() -> None:
    """A terminal sends it to all of them, and Python's own answer would be a traceback from each."""
    before = signal.getsignal(signal.SIGINT)
    try:
        engines._start(flows_of)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)
