"""What of `toolcalls run` needs no process: what mitmproxy says, and what is made of it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from toolcalls.tools.addon_path import ADDON
from toolcalls.tools.run.command import _listens, _status_of
from toolcalls.tools.run.proxy import _cause


def test_it_waits_for_every_mode_and_for_the_page() -> None:
    first = ["Loading script x", "reverse proxy to http://a listening at 127.0.0.1:1."]
    assert _listens(first, 1, page=False)
    assert not _listens(first, 2, page=False)
    assert not _listens([*first, "Web server listening at http://x"], 2, page=False)
    assert not _listens(first, 1, page=True)
    assert _listens([*first, "toolcalls: sessions and scorecard at http://x"], 1, page=True)


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (
            ["Loading script x", "toolcalls: f.yaml:1: no such key", "Error logged during startup, exiting..."],
            "f.yaml:1: no such key",
        ),
        ([], "it said nothing"),
        (["[Errno 98] in use", "Try specifying a different port by using `--mode x`."], "[Errno 98] in use"),
    ],
)
def test_why_it_did_not_start(lines: list[str], cause: str) -> None:
    assert _cause(lines) == cause


def test_the_addon_is_a_file_of_the_package() -> None:
    assert ADDON.name == "addon.py"
    assert Path(ADDON).read_text("utf-8").startswith('"""What `mitmdump -s` loads')


class Agent:
    """Ends at the third look."""

    def __init__(self) -> None:
        self.looks: list[float | None] = []

    def wait(self, timeout: float | None = None) -> int:
        self.looks.append(timeout)
        if len(self.looks) < 3:
            raise subprocess.TimeoutExpired("agent", timeout or 0)
        return 3


def test_no_wait_for_the_agents_end_is_without_an_end() -> None:
    """A signal that comes right before the wait is handled after it."""
    agent: Any = Agent()
    assert _status_of(agent) == 3
    assert all(agent.looks)
