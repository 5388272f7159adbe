"""What is said in a mitmproxy that the addon cannot run in: one line, and nothing is loaded."""

import logging
import re
import tomllib
from pathlib import Path

import pytest
from mitmproxy import version

from support.repository import REPO
from toolcalls.mitm import requirements


def told(caplog: pytest.LogCaptureFixture) -> str:
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    return record.getMessage()


def test_here_it_runs(caplog: pytest.LogCaptureFixture) -> None:
    assert requirements.is_usable()
    assert caplog.records == []


@pytest.mark.parametrize("old", ["12.2.1", "9.0.1", "12.2"])
def test_an_old_mitmproxy(old: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(version, "VERSION", old)
    assert not requirements.is_usable()
    assert told(caplog) == f"toolcalls: needs mitmproxy {requirements.OLDEST} or newer, this is {old}"


@pytest.mark.parametrize("new", ["12.2.2", "12.2.3.dev", "12.10.0", "13.0"])
def test_a_new_mitmproxy(new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "VERSION", new)
    assert requirements.is_usable()


def test_a_mitmproxy_without_what_we_import(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(requirements, "find_spec", lambda module: None if module in ("msgspec", "yaml") else object())
    assert not requirements.is_usable()
    assert "has no msgspec, pyyaml; start the one in .venv/bin" in told(caplog)


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("pipx_metadata.json", "`pipx inject mitmproxy "),
        ("uv-receipt.toml", "`uv tool install --with "),
        (None, "the one in .venv/bin of the repository"),
    ],
)
def test_the_remedy_is_that_of_the_installation(marker: str | None, said: str, tmp_path: Path) -> None:
    prefix = tmp_path / "mitmproxy"
    prefix.mkdir()
    if marker:
        (prefix / marker).touch()
    assert said in requirements.remedy(str(prefix))


def test_nothing_can_be_added_to_homebrews() -> None:
    assert "`pipx install" in requirements.remedy("/opt/homebrew/Cellar/mitmproxy/12.2.3/libexec")


def test_what_is_borrowed_is_imported_to_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that another Python's site-packages holds is found, and cannot be imported."""

    def refused(module: str) -> object:
        if module == "msgspec":
            raise ImportError
        return object()

    monkeypatch.setattr(requirements, "import_module", refused)
    assert requirements.missing_packages(borrowed=True) == ["msgspec"]
    assert requirements.missing_packages() == []


def test_it_knows_what_the_project_needs() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = dict(re.match(r"([\w-]+)>=(\S+)", line).groups() for line in project["dependencies"])
    assert needed.pop("mitmproxy") == requirements.OLDEST
    assert needed.pop("shtab")  # of the command line only
    assert set(needed) == set(requirements.NEEDED.values())
