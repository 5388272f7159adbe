"""Commands that may take long show how far they have come, on a terminal and nowhere else."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tqdm import tqdm

from support import manyflows
from support.repository import REPO
from toolcalls import cli

HERMES = REPO / "tests" / "cases" / "dialects" / "hermes.yaml"
PARSER = f"{sys.executable} -P -m toolcalls parse --jsonl"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Eager(tqdm):  # type: ignore[type-arg]
    """A bar that shows each step, and starts no thread."""

    monitor_interval = 0

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, mininterval=0, miniters=1)


COMMANDS: dict[str, tuple[Callable[[str, Path], list[str]], tuple[str, ...]]] = {
    "redact": (lambda path, to: ["redact", path, str(to / "out.flow")], ("B/s", "flows", "100%")),
    "merge": (lambda path, to: ["record", "merge", path, "-o", str(to / "out.flow")], ("B/s", "flows", "100%")),
    "split": (lambda path, to: ["record", "split", path, "-o", str(to / "made")], ("B/s", "flows", "100%")),
    "minimise": (
        lambda path, to: ["minimise", path, "--time", "60", "-o", str(to / "made.yaml")],
        ("of at most 60 s", "s |"),
    ),
    "cases": (lambda _, __: ["cases", str(HERMES), "--run", PARSER], ("case/s", "100%")),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_has_a_bar(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fenced = manyflows.streamed(f"```xml\n{manyflows.written('Bash', command='ls')}\n```\n")
    flows = [*manyflows.session(), manyflows.flow_of("fenced", [manyflows.user("go")], fenced)]
    path = manyflows.write(tmp_path / "many.flow", flows)
    words, says = COMMANDS[command]
    monkeypatch.setenv("PYTHONPATH", str(REPO / "addon"))
    monkeypatch.setattr("toolcalls.tools.progress_bar.tqdm", Eager)
    for terminal in (True, False):
        shown = Terminal()
        monkeypatch.setattr(shown, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr("sys.stderr", shown)
        folder = tmp_path / str(terminal)
        folder.mkdir()
        assert cli.main(words(str(path), folder)) == 0
        found = shown.getvalue()
        assert [word for word in says if word in found] == (list(says) if terminal else [])
        assert ("\r" in found) is terminal
