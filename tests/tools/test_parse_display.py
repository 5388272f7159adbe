"""What `toolcalls parse` shows on a terminal; the JSON of a pipe is tested in tests/test_cli.py."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from support.loopback import LIMIT
from support.repository import REPO
from toolcalls.tools.parse.display import lines_of

VERDICT = {"dialect": "invoke", "name": "ls", "start": 0, "end": 9, "repairs": []}


def test_a_call_its_verdicts_and_the_rest() -> None:
    result = {
        "text": "Look.\n",
        "calls": [{"name": "ls", "arguments": '{"path":"a\\nb","n":10000000000000000001}', "dialect": "invoke"}],
        "verdicts": [
            {**VERDICT, "status": "lifted", "reason": None, "repairs": ["quotes"]},
            {**VERDICT, "status": "declined", "reason": "fenced"},
        ],
    }
    assert list(lines_of(result)) == [
        "call  ls (invoke)",
        "    path:",
        "        a",
        "        b",
        "    n: 10000000000000000001",
        "lifted  ls (invoke), characters 0 to 9 (mended: quotes)",
        "declined  ls (invoke), characters 0 to 9: fenced: it is in a fenced code block; "
        "it is accepted if the route has take: [fenced]",
        "text that is left:",
        "    Look.",
    ]


def test_nothing() -> None:
    assert list(lines_of({"text": "", "calls": [], "verdicts": []})) == ["nothing in this text looks like a call"]


def test_a_terminal_gets_lines(tmp_path: Path) -> None:
    reply = tmp_path / "reply.txt"
    reply.write_text("Only words.\n", encoding="utf-8")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "toolcalls", "parse", str(reply)]
    given = {**os.environ, "PYTHONPATH": str(REPO / "addon")}
    subprocess.run(command, stdout=slave, timeout=LIMIT, check=True, env=given)
    os.close(slave)
    assert os.read(master, 4096).decode().splitlines() == [
        "nothing in this text looks like a call",
        "text that is left:",
        "    Only words.",
    ]
    os.close(master)
