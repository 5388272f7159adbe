"""The tutorials, run as their readers run them: every command, in one shell, in an empty folder.

A block of ```text behind a block of commands says what these print: each line of it is found in that order, and `…`
stands for anything. Only ports are others than in the page, and mitmweb opens no browser.
"""

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from support.loopback import LIMIT
from support.repository import REPO
from support.screens import reserved_port

TUTORIALS = sorted((REPO / "docs").glob("tutorial-*.md"))
_BLOCK = re.compile(r"^```(text)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "--- a block of commands has ended ---"
_AGENT = re.compile(r"^toolcalls run .*$", re.MULTILINE)  # it would need an agent


def _steps(page: str) -> list[tuple[str, str]]:
    """The blocks of commands, each with what it should print."""
    steps: list[tuple[str, str]] = []
    for text, body in _BLOCK.findall(page):
        if text:
            steps[-1] = steps[-1][0], body
        else:
            steps.append((_AGENT.sub("", body), ""))
    return steps


def _missing(expected: str, printed: str) -> str:
    """The first line of what should be printed that is not, "" where all are there."""
    at = 0
    for line in expected.splitlines():
        pattern = ".*?".join(re.escape(part) for part in line.split("…"))
        found = re.compile(pattern, re.DOTALL).search(printed, at)
        if found is None:
            return line
        at = found.end()
    return ""


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_its_commands_print_what_it_says(tutorial: Path, tmp_path: Path) -> None:
    steps = _steps(tutorial.read_text(encoding="utf-8"))
    script = "".join(f"{commands}\necho; echo '{_MARK}'\n" for commands, _ in steps)
    with ExitStack() as ports:
        model, proxy, page = (str(ports.enter_context(reserved_port())) for _ in range(3))
        script = script.replace("8000", model).replace("8080", proxy)
        script = re.sub(r"(toolcalls dump \S+)", rf"\1 --listen-port {proxy}", script)
        web = f"--listen-port {proxy} --no-web-open-browser --web-port {page}"
        script = re.sub(r"(toolcalls web \S+)", rf"\1 {web}", script)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    log = tmp_path / "printed.txt"
    folder = tmp_path / "empty"
    folder.mkdir()
    with log.open("wb") as printed:
        shell = subprocess.Popen(
            ["bash", "-e"],
            stdin=subprocess.PIPE,
            stdout=printed,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "PATH": path, "HOME": str(folder), "PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1"},
            start_new_session=True,
        )
        try:
            shell.communicate(script.encode(), timeout=LIMIT)
        finally:
            with suppress(ProcessLookupError):  # nothing is left running
                os.killpg(shell.pid, signal.SIGKILL)
    text = log.read_text(encoding="utf-8", errors="replace")
    assert shell.returncode == 0, text
    for (commands, expected), said in zip(steps, text.split(_MARK), strict=False):
        assert not _missing(expected, said), f"{_missing(expected, said)!r} is not printed by\n{commands}\nbut\n{said}"


def test_what_is_not_printed_is_missing() -> None:
    assert _missing("a…c\nd\n", "xabc\nd") == ""
    assert _missing("d\na\n", "a\nd") == "a"


def test_each_tutorial_says_what_its_commands_print() -> None:
    assert len(TUTORIALS) == 3
    for tutorial in TUTORIALS:
        assert sum(bool(expected) for _, expected in _steps(tutorial.read_text(encoding="utf-8"))) >= 2, tutorial.name
