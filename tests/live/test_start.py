"""The banner, and the ways in which mitmproxy is started with the addon: real processes on loopback."""

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from support.loopback import LIMIT, Reply, asked, calls_in, mitmdump, post, streamed, upstream
from support.repository import REPO
from toolcalls import __version__
from toolcalls.tools.addon_path import ADDON


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the certificates of mitmdump lie: they are slow to make."""
    return tmp_path_factory.mktemp("certificates")


TEXT = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'


def test_the_packages_own_file_loads_the_addon_and_says_so(folder: Path) -> None:
    with (
        upstream(Reply(streamed(TEXT))) as server,
        mitmdump(folder, "-s", str(ADDON), addon=False, to=server.url) as dump,
    ):
        assert f"toolcalls {__version__} in mitmproxy" in dump.wait_for("in mitmproxy")
        assert "openai_chat" in dump.wait_for("reads the APIs")
        line = dump.wait_for("base URL for your agent")
        assert f"{dump.url}/v1 (OpenAI)" in line
        assert f"in place of {server.url}" in line
        assert calls_in(post(dump.url, asked()).body) == [("Bash", '{"command":"ls"}')]


def test_nothing_is_announced_where_nothing_listens(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.flow").touch()
    with mitmdump(folder, "-n", "-r", str(tmp_path / "empty.flow")) as dump:
        dump.stop()
    assert "in mitmproxy" not in dump.output


@pytest.mark.parametrize("command", ["dump", "web"])
def test_toolcalls_starts_mitmproxy(command: str, tmp_path: Path) -> None:
    """The command listens on loopback and says where; the page's address opens without a login."""
    options = ["-p", "0", "--set", f"confdir={tmp_path}"]
    if command == "web":
        from support.screens import reserved_port  # noqa: PLC0415 - only here

        with reserved_port() as port:
            _run([command, *options, "--set", f"web_port={port}", "--no-web-open-browser"], web=True)
    else:
        _run([command, "http://127.0.0.1:9/v1", *options], web=False)


def _run(arguments: list[str], *, web: bool) -> None:
    environment = os.environ | {"PYTHONPATH": str(REPO / "addon"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "toolcalls", *arguments], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        seen = ""
        wanted = "sessions and scorecard at " if web else "base URL for your agent: "
        for line in process.stdout:
            seen += line
            if wanted in line:
                break
        try:
            assert "listening at 127.0.0.1:" in seen
            assert wanted in seen, seen
            if web:
                address = seen.rstrip().rpartition(" ")[2]
                with urllib.request.urlopen(address, timeout=LIMIT) as answer:
                    assert b"Tool calls" in answer.read()
        finally:
            process.terminate()
            process.communicate(timeout=LIMIT)
    assert process.returncode == 0
