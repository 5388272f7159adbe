"""`toolcalls judge --against-python`: the same files judged by what is installed in another Python."""

import sys
from pathlib import Path

import pytest

from support import manyflows
from toolcalls import cli


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return manyflows.write(tmp_path / "many.flow", [*manyflows.session(), *manyflows.others()])


def test_the_other_version_judges_by_its_own_configuration(
    recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lenient = tmp_path / "lenient.yaml"
    lenient.write_text("defaults: {policy: lenient}\n")
    options = [str(recording), "--against-python", sys.executable]
    assert cli.main(["judge", *options]) == 0
    assert "changed" not in capfd.readouterr().out
    assert cli.main(["judge", *options, "--against", str(lenient)]) == 1
    assert "lifted Bash (invoke) → 1 declined: inline" in capfd.readouterr().out


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
