"""The completion of shells, asked of a real bash, zsh and fish where there is one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.loopback import LIMIT
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
        ["bash", "-c", ASK, "bash", script, before, begun], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.stdout.split() == completed, done.stderr


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
@pytest.mark.parametrize(
    ("line", "completed"),
    [("toolcalls par", "parse"), ("toolcalls do", "doctor"), ("toolcalls parse --dia", "--dialect")],
)
def test_fish_completes(line: str, completed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "fish"]) == 0
    script = tmp_path / "toolcalls.fish"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    command = ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"]
    home = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=home)
    assert [one.split("\t")[0] for one in done.stdout.splitlines()] == [completed], done.stderr


# A terminal of its own in which somebody types: completion needs one. It is read until what is wanted is there.
TYPE = r"""
zmodload zsh/zpty; zpty z zsh -f -i
zpty -w z "PS1='% '; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $1/dump; print ready\$((1+1))"
while zpty -r z line; do [[ $line == *ready2* ]] && break; done
zpty -w -n z "$2"$'\t'
zpty -r -m z line "*$3*" && print found
zpty -d z
"""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
@pytest.mark.parametrize(
    ("begun", "completed"), [("toolcalls rewr", "toolcalls rewrite"), ("toolcalls doct", "doctor")]
)
def test_zsh_completes(begun: str, completed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "zsh"]) == 0
    (tmp_path / "_toolcalls").write_text(capsys.readouterr().out, encoding="utf-8")
    command = ["zsh", "-f", "-c", TYPE, "zsh", str(tmp_path), begun, completed]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.stdout == "found\n", done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in ("web", "doctor", "parse", "check-config", "redact"))
