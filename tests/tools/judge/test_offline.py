"""`toolcalls judge` and `toolcalls redact`: recorded flows read again, and flows without secrets."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from support import manyflows
from support.addons import summary_in
from support.loopback import flows_in
from support.repository import REPO
from toolcalls import cli
from toolcalls.flows import flow_metadata
from toolcalls.insight.redaction import REDACTED

RECORDINGS = sorted((REPO / "recordings").glob("*.flow"))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return manyflows.write(tmp_path / "many.flow", [*manyflows.session(), *manyflows.others()])


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    path = tmp_path / "lenient.yaml"
    path.write_text("defaults: {policy: lenient}\n")
    return path


# --- judge ------------------------------------------------------------------------------------------------------------


def test_recordings_are_judged_as_they_were(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["judge", *map(str, RECORDINGS)]) == 0
    assert capfd.readouterr().out == f"{len(RECORDINGS)} same\n"


def test_changed_verdicts_are_told_and_give_status_1(
    recording: Path, strict: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["judge", str(recording), "--config", str(strict)]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert any("1 declined: inline → lifted Bash (invoke)" in line for line in lines)
    assert any("± lifted Bash (invoke): status declined → lifted; reason inline → none" in line for line in lines)
    assert lines[-1].endswith("same")
    assert all(line.isprintable() for line in lines)


def test_json_is_a_baseline(recording: Path, strict: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["judge", str(recording), "--config", str(strict), "--json"]) == 1
    data = capfd.readouterr().out
    found = json.loads(data)
    assert found["version"] == 1
    assert {flow["change"] for flow in found["flows"]} == {"same", "changed"}
    baseline = tmp_path / "baseline.json"
    baseline.write_text(data)
    assert cli.main(["judge", str(recording), "--config", str(strict), "--baseline", str(baseline)]) == 0
    assert cli.main(["judge", str(recording), "--baseline", str(baseline)]) == 1


def test_a_flow_without_earlier_verdicts_is_new(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bare = manyflows.flow_of("bare", [], manyflows.streamed(manyflows.written("Bash", command="ls")), told=False)
    other = tflow.tflow(resp=True)
    path = manyflows.write(tmp_path / "bare.flow", [bare, other, tflow.ttcpflow()])
    assert cli.main(["judge", str(path)]) == 0
    assert capfd.readouterr().out.splitlines() == [f"new      {path} {bare.id}: lifted Bash (invoke)", "1 new"]


def test_a_reply_that_cannot_be_read_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bare = manyflows.flow_of("bare", [], manyflows.streamed("hello"), told=False)
    assert bare.response is not None
    bare.response.status_code = 500
    assert cli.main(["judge", str(manyflows.write(tmp_path / "bare.flow", [bare]))]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "1 unread"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.flow"], "nowhere.flow: the file cannot be read: No such file or directory"),
        (["broken.flow"], "broken.flow: flow 1 cannot be read: "),
        (["ok.flow", "--baseline", "ok.json"], "ok.json: this is not an output of `toolcalls judge --json`"),
        (["ok.flow", "--config", "wrong.yaml"], "wrong.yaml:1: "),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.flow").write_bytes(b"12:xx")
    Path("ok.flow").write_bytes(b"")
    Path("ok.json").write_text('{"flows": [1]}')
    Path("wrong.yaml").write_text("polisy: 1\n")
    assert cli.main(["judge", *arguments]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"toolcalls judge: {message}")


# --- redact -----------------------------------------------------------------------------------------------------------


def test_nothing_of_a_secret_is_left_and_the_verdicts_stay(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "clean.flow"
    assert b"CANARY" in recording.read_bytes()
    assert cli.main(["redact", str(recording), str(out)]) == 0
    assert b"CANARY" not in out.read_bytes()
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    flows = flows_in(out)
    assert [summary_in(flow) for flow in flows] == [summary_in(flow) for flow in flows_in(recording)]
    assert flows[0].request.headers["authorization"] == REDACTED
    assert flows[0].request.headers["x-session-id"] == "ses_7f3a"
    assert flow_metadata.TIMES in flows[0].metadata
    assert cli.main(["judge", str(out)]) in {0, 1}  # spans of what was redacted are others


def test_a_flow_without_secrets_keeps_its_bodies_and_is_judged_the_same(tmp_path: Path) -> None:
    path = manyflows.write(tmp_path / "in.flow", manyflows.session())
    assert cli.main(["redact", str(path), str(tmp_path / "out.flow")]) == 0
    assert cli.main(["judge", str(tmp_path / "out.flow")]) == 0
    for before, after in zip(flows_in(path), flows_in(tmp_path / "out.flow"), strict=True):
        assert before.response is not None
        assert after.response is not None
        assert before.response.raw_content == after.response.raw_content
        assert before.metadata == after.metadata


def test_what_nobody_thought_of_stays_behind(tmp_path: Path) -> None:
    flow = manyflows.session()[0]
    secret = manyflows.SECRET
    flow.metadata["proxyauth"] = ("user", secret)
    flow.comment = secret
    flow.backup()
    flow.request.headers["x-new"] = secret
    flow.request.path += f"?key={secret}"
    flow.request.trailers = http.Headers([(b"x-token", secret.encode())])
    flow.request.authority = f"user:{secret}@gpu-box"
    flow.client_conn.sni = flow.server_conn.sni = secret
    assert flow.response is not None
    flow.response.headers["content-encoding"] = "gzip"
    flow.response.content = f'{{"token": "{secret}"}}'.encode()
    path = manyflows.write(tmp_path / "in.flow", [flow, tflow.ttcpflow()])
    out = tmp_path / "out.flow"
    assert cli.main(["redact", str(path), str(out)]) == 0
    (made,) = flows_in(out)
    assert b"CANARY" not in out.read_bytes()
    assert made.id == flow.id
    assert made.response is not None
    assert made.response.content == f'{{"token":"{REDACTED}"}}'.encode()
    assert not made.modified()


def test_websocket_messages_are_searched(tmp_path: Path) -> None:
    flow = tflow.twebsocketflow()
    assert flow.websocket is not None
    flow.websocket.messages[0].content = json.dumps({"input": manyflows.SECRET}).encode()
    out = tmp_path / "out.flow"
    assert cli.main(["redact", str(manyflows.write(tmp_path / "in.flow", [flow])), str(out)]) == 0
    (made,) = flows_in(out)
    assert made.websocket is not None
    assert made.websocket.messages[0].content == f'{{"input":"{REDACTED}"}}'.encode()
    assert len(made.websocket.messages) == len(flow.websocket.messages)


# --- what is written --------------------------------------------------------------------------------------------------

WRITERS = {
    "report": lambda path, output: ["report", path, "-o", output],
    "export": lambda path, output: ["export", path, "--format", "jsonl", "-o", output],
    "redact": lambda path, output: ["redact", path, output],
}
each_writer = pytest.mark.parametrize("command", WRITERS)


@each_writer
def test_a_file_that_is_read_is_not_written_over(
    command: str, recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    held = recording.read_bytes()
    (tmp_path / "link").symlink_to(recording)
    for output in (recording, tmp_path / "link"):
        assert cli.main(WRITERS[command](str(recording), str(output))) == 2
        assert "this file is read, so it is not written over" in capfd.readouterr().err
    assert recording.read_bytes() == held


@each_writer
def test_a_folder_is_no_file(command: str, recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(WRITERS[command](str(recording), str(tmp_path))) == 2
    assert capfd.readouterr().err.endswith(f"{tmp_path}: this is a folder; name a file in it\n")


@each_writer
def test_a_pipe_is_written_to_and_stays(command: str, recording: Path, tmp_path: Path) -> None:
    plain, pipe = tmp_path / "plain", tmp_path / "pipe"
    assert cli.main(WRITERS[command](str(recording), str(plain))) == 0
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as threads:
        read = threads.submit(pipe.read_bytes)
        assert cli.main(WRITERS[command](str(recording), str(pipe))) == 0
        assert len(read.result()) == len(plain.read_bytes())
    assert pipe.is_fifo()


@pytest.mark.sampled(1)
@each_writer
@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_standard_output_holds_nothing_else(command: str, output: str, recording: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    assert cli.main(WRITERS[command](str(recording), str(plain))) == 0
    run = [sys.executable, "-m", "toolcalls", *WRITERS[command](str(recording), output)]
    env = {**os.environ, "PYTHONPATH": str(REPO / "addon")}
    done = subprocess.run(run, capture_output=True, check=True, env=env, timeout=60, cwd=tmp_path)
    assert len(done.stdout) == len(plain.read_bytes())
    assert done.stderr
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("path", sorted((REPO / "recordings").glob("*bedrock*.flow")), ids=lambda path: path.stem)
def test_a_body_that_is_no_text_is_left_out_of_an_archive(path: Path, tmp_path: Path) -> None:
    assert cli.main(["export", str(path), "--format", "har", "-o", str(tmp_path / "made.har")]) == 0
    entries = json.loads((tmp_path / "made.har").read_text(encoding="utf-8"))["log"]["entries"]
    assert REDACTED in [entry["response"]["content"]["text"] for entry in entries] or "converse" in path.stem


def test_a_file_of_another_kind_is_answered_with_what_can_be_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    assert cli.main(["redact", str(tmp_path / "notes.md"), str(tmp_path / "out.flow")]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("(what can be read: flows of mitmproxy, HAR, captures in JSON lines)")
    assert "flow 1 cannot be read: Invalid data format" in line


def test_a_flow_of_the_baseline_that_is_gone_is_a_change(
    recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["judge", str(recording), "--json"]) == 0
    (tmp_path / "before.json").write_text(capfd.readouterr().out, encoding="utf-8")
    fewer = manyflows.write(tmp_path / "fewer.flow", flows_in(recording)[1:])
    assert cli.main(["judge", str(fewer), "--baseline", str(tmp_path / "before.json")]) == 1
    assert "1 flow of " in capfd.readouterr().err
    assert cli.main(["judge", str(recording), "--baseline", str(tmp_path / "before.json")]) == 0
