"""`toolcalls judge --against-python`: the same files judged by what is installed in another Python."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support import manyflows
from support.repository import REPO
from toolcalls import cli
from toolcalls.flows.cases.dialect_cases import cases_in


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return manyflows.write(tmp_path / "many.flow", [*manyflows.session(), *manyflows.others()])


def test_the_other_version_judges_by_its_own_configuration(
    recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lenient = tmp_path / "lenient.yaml"
    lenient.write_text("defaults: {policy: lenient}\n")
    options = [str(recording), "--against-python", sys.executable]
    assert cli.main(["judge", *options, "--against", str(lenient)]) == 1
    *lines, last = capfd.readouterr().out.splitlines()
    assert any("lifted Bash (invoke) → 1 declined: inline" in line for line in lines)
    assert last.endswith("same")


def test_the_smallest_text_that_another_version_reads_in_another_way(tmp_path: Path) -> None:
    """The other version is this one, after a pipe, whose `parse` takes every call in code for one."""
    other = with_members(tmp_path / "python", {"policy": "lenient"})
    text = f"So:\n```\n{manyflows.written('Bash', command='ls')}\n```\n"
    flow = manyflows.flow_of("f", [], manyflows.streamed(text), tools=manyflows.TOOLS[2:3])
    path = tmp_path / "invoke.yaml"
    arguments = [str(manyflows.write(tmp_path / "f.flow", [flow])), "--against-python", other, "-o", str(path)]
    assert cli.main(["minimise", *arguments]) == 0
    (case,) = cases_in(path)
    assert case.text == '```\n<invoke name="tool"></invoke>'
    assert case.verdicts == ("declined fenced tool",)


def test_the_smallest_native_call_that_another_version_reads_in_another_way(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The other version mends nothing, so an id that comes twice stays; no text shows that."""
    other, path = with_members(tmp_path / "python", {"mend": []}), tmp_path / "job.jsonl"
    recording, issue = REPO / "recordings" / "id-for-two-calls.flow", tmp_path / "issue.md"
    options = ["--against-python", other, "-o", str(path), "--issue", str(issue)]
    assert cli.main(["minimise", str(recording), *options]) == 0
    theirs = "native (repeated_id) in a native call"
    ours = f"{theirs}, repaired: repeated_id"
    assert issue.read_text().startswith(f"{ours}; the other version says {theirs}.\n")
    job = json.loads(path.read_text())
    assert len(job["body"]) < 700
    capfd.readouterr()
    path.write_text("".join(f"{json.dumps(job | more)}\n" for more in ({}, {"mend": []})))
    assert cli.main(["rewrite", "--jsonl", str(path)]) == 0
    mended, left = (json.loads(line)["verdicts"] for line in capfd.readouterr().out.splitlines())
    assert [one["repairs"] for one in mended if one["reason"] == "repeated_id"] == [["repeated_id"]]
    assert [one["repairs"] for one in left if one["reason"] == "repeated_id"] == [[]]


def with_members(path: Path, members: dict[str, Any]) -> str:
    """A Python whose `toolcalls` is this one, but that these members are added to each job."""
    return written(
        path,
        f"""exec {sys.executable} -uc '
import json, subprocess, sys
pipes = {{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}}
with subprocess.Popen(["{sys.executable}", *sys.argv[1:]], **pipes) as real:
    for line in sys.stdin:
        real.stdin.write(json.dumps(json.loads(line) | {json.dumps(members)}) + "\\n")
        real.stdin.flush()
        print(real.stdout.readline(), end="")
' "$@\"""",
    )


def written(path: Path, script: str) -> str:
    """A Python that is none: whatever it is asked, it does this."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("""echo '{"version": 99, "toolcalls": "9.0"}'""", "has toolcalls 9.0, which writes version 99 of the lines"),
        ("echo '/usr/bin/python3: No module named toolcalls' >&2; exit 1", "toolcalls is not installed there"),
        ("echo 'unrecognized arguments: --jsonl' >&2; exit 2", "its toolcalls is too old for this"),
        (
            """echo '{"version": 1, "toolcalls": "0.1"}'; echo 'judge: out of luck' >&2; exit 3""",
            "its `toolcalls judge` ended with status 3: judge: out of luck",
        ),
        ("echo hello", "wrote a line that is no JSON"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    script: str, message: str, recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = written(tmp_path / "python", script)
    assert cli.main(["judge", str(recording), "--against-python", other]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"toolcalls judge: --against-python: {other}")
    assert message in line


def test_a_python_that_is_not_there(recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["judge", str(recording), "--against-python", str(tmp_path)]) == 2
    assert f"{tmp_path}/bin/python: No such file or directory" in capfd.readouterr().err
