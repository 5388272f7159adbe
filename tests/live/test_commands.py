"""A command in a real console."""

from pathlib import Path

import pytest

from support.loopback import CALL, Reply, asked, post, streamed, upstream
from support.screens import console, missing_for_console

FENCED = f"Like so:\n\n```\n{CALL}\n```\n"


def test_keys_in_the_console(tmp_path: Path) -> None:
    if missing := missing_for_console():
        pytest.skip(missing)
    folder = tmp_path / "mitmproxy"
    folder.mkdir()
    with upstream(Reply(streamed(FENCED))) as server, console(folder, to=server.url) as shown:
        post(shown.url, asked())
        shown.wait_for("⚠")
        shown.press("Y")
        shown.wait_for("Data viewer", "4  it is not quoted", "FAILED: fenced: it is in a fenced code")
        shown.press("q")
        shown.press("R")
        shown.wait_for("3) lenient")
        shown.press("3")
        shown.wait_for("Judged again, by the policy lenient: lifted Bash (invoke)", "🔧")
