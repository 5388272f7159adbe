"""The completion of shells, asked of a real bash where there is one."""

import shutil
import subprocess

import pytest

from toolcalls import cli

ASK = """
eval "$1"; COMP_WORDS=($2 ''); COMP_WORDS[-1]=$3; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p toolcalls | sed 's/.*-F \\([^ ]*\\) .*/\\1/'); printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("before", "begun", "completed"),
    [("toolcalls", "par", ["parse"]), ("toolcalls", "do", ["doctor"]), ("toolcalls parse", "--dia", ["--dialect"])],
)
def test_bash_completes(before: str, begun: str, completed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", script, before, begun], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == completed, done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in ("web", "doctor", "parse", "check-config", "redact"))
