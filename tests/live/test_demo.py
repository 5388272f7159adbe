"""`toolcalls demo`, as somebody sees it who has just cloned the repository. Real mitmdump, loopback only."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mitmproxy.http import Headers
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow, tutils

from support.loopback import LIMIT
from support.repository import REPO
from toolcalls.tools.demo import observations
from toolcalls.tools.demo.model_server import read_script
from toolcalls.tools.demo.observations import DemoError, Observations, wait_for
from toolcalls.tools.serve.recording import Piece

COMMAND = [sys.executable, "-m", "toolcalls", "demo"]


def environment(folder: Path) -> dict[str, str]:
    """Temporary files in `folder`, to see what is left of them."""
    return {**os.environ, "PYTHONPATH": str(REPO / "addon"), "TMPDIR": str(folder), "COLUMNS": "110"}


def left_running(folder: Path) -> list[str]:
    """The processes that know of `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        if os.fsencode(folder) in command:
            found.append(command.decode(errors="replace"))
    return found


def demo(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A run in this repository. It leaves nothing after in `folder`, and no process."""
    command = [*COMMAND, *options]
    run = subprocess.run(
        command, capture_output=True, text=True, env=environment(folder), cwd=REPO, timeout=LIMIT, check=False
    )
    assert list(folder.iterdir()) == []
    assert left_running(folder) == []
    return run


@pytest.mark.parametrize("options", [(), ("--no-pause",)], ids=["pace", "no-pause"])
def test_demo(tmp_path: Path, options: tuple[str, ...]) -> None:
    run = demo(tmp_path, *options)
    assert (run.returncode, run.stderr) == (0, "")
    assert "\x1b" not in run.stdout  # no terminal, no colours
    assert "native call read_file" in run.stdout
    assert re.search(r"^  declined  .*: it is in a fenced code block$", run.stdout, re.MULTILINE)
    assert re.search(r"^  lifted    read_file \(invoke\)", run.stdout, re.MULTILINE)
    assert re.search(
        r"^  the reply above  .*lifted read_file \(invoke\) · 1 declined: fenced$",
        run.stdout,
        re.MULTILINE,
    )
    assert "The call arrived natively, while the reply was still coming." in run.stdout
    commands = re.findall(r"^    (\S+) (?:run|web) ", run.stdout, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert shutil.which(command if command == "toolcalls" else REPO / command), "the shell does not find it"
    assert run.stdout.splitlines()[-2:] == [
        'Without the addon, the agent would have printed the markup <invoke name="read_file">… and stopped.',
        'With it, read_file(path="src/app.py", limit=20) ran.',
    ]
    assert arrives_early(run.stdout)


def arrives_early(shown: str) -> bool:
    """Whether the client has the call before the model server sends the end, which it does not do earlier."""
    rows = [row for row in shown.splitlines() if re.match(r"  +\d+\.\d\d  ", row)]
    times = [float(row.split()[0]) for row in rows]
    assert times == sorted(times)
    called = next(number for number, row in enumerate(rows) if "native call" in row)
    sent_whole = next(number for number, row in enumerate(rows) if re.match(r" +\S+  finish_reason stop", row))
    return called < sent_whole


@pytest.mark.parametrize(
    ("seen", "early"),
    [
        ([("upstream", "text"), ("client", "call"), ("upstream", "other")], True),
        ([("upstream", "text"), ("upstream", "other"), ("client", "call")], False),
        ([("upstream", "text"), ("client", "text"), ("upstream", "other")], False),
    ],
    ids=["in the middle", "after the end", "never"],
)
def test_a_call_is_early_if_the_upstream_sends_more(seen: list[tuple[str, str]], *, early: bool) -> None:
    observed = Observations()
    for side, kind in seen:
        observed.add(side, kind, "…")
    assert observed.called_early == early


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of what the demo needs, without recordings of flows."""
    ignored = shutil.ignore_patterns(".*", "*.flow")
    for folder in ("addon", "config", "recordings"):
        shutil.copytree(REPO / folder, tmp_path / "clone" / folder, ignore=ignored)
    (tmp_path / "left").mkdir()
    return tmp_path / "clone"


def demo_of(clone: Path) -> subprocess.CompletedProcess[str]:
    """The demo of a clone, as fast as it goes. It leaves nothing after."""
    left = clone.with_name("left")
    inside = {**environment(left), "PYTHONPATH": str(clone / "addon")}
    run = subprocess.run(
        [*COMMAND, "--no-pause"], capture_output=True, text=True, env=inside, timeout=LIMIT, check=False
    )
    assert list(left.iterdir()) == []
    return run


def test_every_recording_beside_it_is_judged(clone: Path) -> None:
    script = read_script((clone / "recordings" / "demo.sse").read_text(encoding="utf-8"))
    for name, count in (("one.flow", 1), ("two.flow", 2), ("three.flow", 1)):
        with (clone / "recordings" / name).open("wb") as file:
            writer = FlowWriter(file)
            for _ in range(count):
                flow = tflow.tflow(
                    req=tutils.treq(method=b"POST", path=b"/v1/chat/completions", content=script.request),
                    resp=tutils.tresp(
                        headers=Headers(content_type="text/event-stream"),
                        content=script.recording.body,
                    ),
                )
                writer.add(flow)
    run = demo_of(clone)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.findall(r"^  the reply above +(.*)$", run.stdout, re.MULTILINE) == [
        "lifted read_file (invoke) · 1 declined: fenced"
    ]
    assert re.findall(r"^  (\d+ recordings?)  +(.*?)  +(.*)$", run.stdout, re.MULTILINE) == [
        ("3 recordings", "declined and lifted", "one, three and 1 more")
    ]


def test_a_recording_that_cannot_be_read_is_a_failure(clone: Path) -> None:
    (clone / "recordings" / "broken.flow").write_bytes(b"no flow")
    run = demo_of(clone)
    assert run.returncode == 1
    assert run.stderr.startswith("toolcalls demo: mitmdump could not read the recordings: ")
    assert run.stderr.count("\n") == 1


def test_a_call_that_does_not_arrive_is_a_failure(clone: Path) -> None:
    sse = clone / "recordings" / "demo.sse"
    sse.write_text(sse.read_text(encoding="utf-8").replace("src/ap", "lib/ap"), encoding="utf-8")
    run = demo_of(clone)
    assert run.returncode == 1
    assert run.stderr.startswith("toolcalls demo: the client should have got ")


@pytest.fixture
def heard() -> Iterator[None]:
    """What was started in the background of a script ignores SIGINT, and so would all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"])
@pytest.mark.parametrize("when", ["$ mitmdump", "the model server sends"], ids=["starting", "streaming"])
def test_nothing_is_left_when_it_is_interrupted(number: int, status: int, when: str, tmp_path: Path) -> None:
    with subprocess.Popen(
        COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(tmp_path)
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if when in line:
                break
        process.send_signal(number)
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == status
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []
    assert left_running(tmp_path) == []


def test_script() -> None:
    text = ': about\n: request {"a": 1}\n\n: pace 20\ndata: x\n\n: until call\nevent: e\ndata: y\n\n'
    text += ": pace 0\n\ndata: [DONE]\n\n"
    script = read_script(text)
    assert script.request == b'{"a": 1}'
    assert script.recording.pieces == (
        Piece(0.02, b"data: x\n\n"),
        Piece(0.04, b"event: e\ndata: y\n\n"),
        Piece(0.04, b"data: [DONE]\n\n"),
    )
    assert script.after_call == {b"event: e\ndata: y\n\n"}


# --- how it waits -----------------------------------------------------------------------------------------------------


def test_it_waits_as_long_as_something_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look takes longer than it waits for something new, and finds something new."""
    monkeypatch.setattr(observations, "PATIENCE", 0.0)
    looks = []

    def look() -> bool:
        (tmp_path / "output").write_text("x" * len(looks), encoding="utf-8")
        looks.append(1)
        return len(looks) == 9

    assert wait_for(tmp_path, look, "nothing came")
    with pytest.raises(DemoError, match="nothing came, and nothing has happened for 0 s"):
        wait_for(tmp_path, lambda: False, "nothing came")


def test_a_call_at_the_client_is_a_call_and_one_at_the_upstream_is_not() -> None:
    observed = Observations()
    observed.add("upstream", "call", "")
    observed.add("client", "text", "")
    assert not observed.called.is_set()
    observed.add("client", "call", "")
    assert observed.called.is_set()
