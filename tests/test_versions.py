"""Which environments `make test-versions` runs (`scripts/versions.py`)."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.repository import REPO

sys.path.insert(0, str(REPO / "scripts"))

import versions


def test_a_lower_bound_is_pinned() -> None:
    found = versions.lower_bounds(["msgspec>=0.19", "httpx[http2]>=0.28.1", "mypy>=2.4,<2.5", "zstandard"])
    assert list(found) == ["msgspec==0.19", "httpx==0.28.1", "mypy==2.4"]


def test_every_python_and_every_lower_bound_has_its_environment() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = {one.name: one for one in versions.environments(project)}
    assert list(known) == ["3.12", "3.13", "mitmproxy-oldest", "lower-bounds"]
    assert [pin.partition("==")[0] for pin in known["mitmproxy-oldest"].pins] == ["mitmproxy"]
    bounded = [one for one in (*project["dependencies"], *project["optional-dependencies"]["dev"]) if ">=" in one]
    assert len(known["lower-bounds"].pins) == len(bounded)


def test_a_python_that_is_missing_is_named_and_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert versions.run(versions.Environment("1.0", "1.0"), []) is None
    assert "1.0               Python 1.0  not run: Python 1.0 is not installed" in capsys.readouterr().out


def test_a_shim_that_refuses_to_run_is_passed_over(tmp_path: Path) -> None:
    for name, script in {"python3.13": "exit 127", "python3.12": f'exec "{sys.executable}" "$@"'}.items():
        shim = tmp_path / "bin" / name
        shim.parent.mkdir(exist_ok=True)
        shim.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        shim.chmod(0o755)
    shutil.copy(REPO / "Makefile", tmp_path)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    shown = subprocess.run(
        ["make", "-n", "test-versions", "PYTHON="],
        cwd=tmp_path,
        # Without what the make that runs these tests hands on: under it, this one would name the folder first.
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.startswith("python3.12 ")
