"""Which environments `make test-versions` runs (`scripts/versions.py`)."""

import sys
import tomllib

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
