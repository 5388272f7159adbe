"""Nothing breaks out of what is shown: hostile strings in every place of an exchange, searched for in all our outputs.

Strategy: one exchange goes through the addon with the same hostile string as model, tool, argument, header, query and
finish reason, in words before a call and in one that is declined. Then everything that the product can say of it is
made (views, comment, log, journal, tables, commands, exports, page), and looked at: no character that commands a
terminal, hides or turns text, and one record is one line. What a command writes to a terminal goes through a real one.
"""

import json
import logging
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import contentviews
from mitmproxy.io import FlowWriter

from support.loopback import LIMIT, PATH, chunk
from support.repository import REPO
from support.secretflows import body_of, flow_of, goes_through
from toolcalls.cli import main
from toolcalls.mitm.hooks import ToolCalls

HOSTILE = {
    "colour": "\x1b[31mred",
    "clear": "\x1b[2J\x1b[H",
    "clipboard": "\x1b]52;c;ZWNobw==\x07",
    "link": "\x1b]8;;http://example.invalid\x07click\x1b]8;;\x07",
    "8-bit sequence": "\x9b31mred",
    "8-bit title": "\x9d0;t\x9c",
    "override": "\u202egnp.exe",
    "isolate": "\u2066x\u2069",
    "overwriting": "safe\rFAKE OK",
    "a line of a log": "x\n[12:00:00] all is well",
    "separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "zero width": "a\u200b\u2060\ufeffb",
    "tags": "a\U000e0041\ufe0fb",
    "NUL and DEL": "a\x00b\x7f",
}
# What may be in no output: C0 but line end and tab, C1, bidirectional, zero-width and tag characters, separators.
UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")


def text_of(hostile: str) -> str:
    calls = [
        f"<tool_call>\n{json.dumps({'name': name, 'arguments': {'command': hostile, hostile: hostile}})}\n</tool_call>"
        for name in (f"No{hostile}", "Bash")
    ]
    return f"I say {hostile!r}.\n\n" + "\n".join(calls)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_nothing_hidden_stands_in_any_output(
    addon: ToolCalls,
    journal: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    hostile: str,
) -> None:
    """T7, L00 to L12."""
    caplog.set_level(logging.DEBUG)
    path = f"{PATH}?x={hostile.encode().hex()}"
    flow = flow_of(path, {"x-title": hostile.replace("\n", " ").replace("\r", " ")}, body_of(model=f"m{hostile}"))
    flow.request.path += "".join(one for one in hostile if one not in "\r\n")
    content = text_of(hostile)
    pieces = [chunk({"content": content[at : at + 50]}) for at in range(0, len(content), 50)]
    goes_through(addon, flow, [*pieces, chunk({}, f"stop{hostile}"), b"data: [DONE]\n\n"])
    assert flow.response is not None
    outputs: dict[str, str] = {"comment": flow.comment, "mark": flow.marked}
    outputs["log"] = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("toolcalls"))
    lines = len(outputs["log"].splitlines())
    assert lines == sum(record.name.startswith("toolcalls") for record in caplog.records)
    outputs["journal"] = journal.read_text(encoding="utf-8")
    assert len(outputs["journal"].splitlines()) == 2
    for name in ("Tool calls", "Upstream body", "Client body"):
        outputs[name] = contentviews.prettify_message(flow.response, flow, name).text
    outputs["Conversation"] = contentviews.prettify_message(flow.request, flow, "Conversation").text
    commands = addon.commands
    outputs["why"] = "\n".join(cell for row in commands.why(flow) for cell in row)
    outputs["stats"] = "\n".join(cell for row in commands.stats([flow]) for cell in row)
    assert "Bash" in outputs["why"]
    made = tmp_path / "made.flow"
    with made.open("wb") as file:
        FlowWriter(file).add(flow)  # type: ignore[no-untyped-call] # it has no types
    out = tmp_path / "out"
    for name, command in {
        "jsonl": ["export", "--format", "jsonl", "--content", "-o", str(out), str(made)],
        "har": ["export", "--format", "har", "-o", str(out), str(made)],
        "otel": ["export", "--format", "otel", "--content", "-o", str(out), str(made)],
        "page": ["report", "-o", str(out), str(made)],
    }.items():
        assert main(command) == 0
        outputs[name] = out.read_bytes().decode()
    assert len(outputs["jsonl"].splitlines()) == 1
    capfd.readouterr()
    assert main(["judge", str(made)]) == 0
    assert main(["judge", "--json", str(made)]) == 0
    request = tmp_path / "request.json"
    request.write_bytes(flow.request.content or b"")
    reply = tmp_path / "reply.txt"
    reply.write_text(content, encoding="utf-8", newline="")
    assert main(["parse", str(reply), "--policy", "lenient"]) == 0
    outputs["commands"] = "".join(capfd.readouterr())
    for name, shown in outputs.items():
        found = UNSHOWN.search(shown)
        assert found is None, f"{name}: {shown[max(0, found.start() - 60) : found.end() + 20]!r}"


def on_a_terminal(arguments: list[str], given: bytes) -> bytes:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    try:
        running = subprocess.Popen(
            [sys.executable, "-m", "toolcalls", *arguments],
            stdin=subprocess.PIPE,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"PYTHONPATH": str(REPO / "addon")},
        )
        os.close(theirs)
        assert running.stdin is not None
        running.stdin.write(given)
        running.stdin.close()
        out = b""
        try:
            while piece := os.read(ours, 65536):
                out += piece
        except OSError:  # a terminal that nobody holds any more ends so
            pass
        assert running.wait(LIMIT) == 0
    finally:
        os.close(ours)
    return out


ALL = "".join(one for hostile in HOSTILE.values() for one in hostile if one != "\n")
TERMINAL: dict[str, tuple[list[str], bytes]] = {
    "parse": (["parse", "--policy", "lenient"], text_of(ALL).encode()),
    "parse --jsonl": (["parse", "--jsonl", "--policy", "lenient"], json.dumps({"id": ALL, "text": ALL}).encode()),
    "write": (
        ["write", "--dialect", "invoke"],
        json.dumps({"calls": [{"name": "Bash", "arguments": {"command": ALL}}]}).encode(),
    ),
    "rewrite": (["rewrite"], chunk({"content": ALL}) + b": \x1b[31m \xc2\x9b31m\n\ndata: [DONE]\n\n"),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("arguments", "given"), TERMINAL.values(), ids=TERMINAL)
def test_nothing_commands_a_terminal(arguments: list[str], given: bytes) -> None:
    shown = on_a_terminal(arguments, given).decode().replace("\r\n", "\n")
    assert "red" in shown
    found = UNSHOWN.search(shown)
    assert found is None, repr(shown[max(0, found.start() - 60) : found.end() + 20])


def test_what_is_no_terminal_gets_json_that_means_the_same(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Escapes are taken back by whoever reads the JSON."""
    path = tmp_path / "reply.txt"
    path.write_text(ALL + "\u00e9\u4f60", encoding="utf-8", newline="")
    assert main(["parse", str(path)]) == 0
    out = capfd.readouterr().out
    found: dict[str, Any] = json.loads(out)
    assert found["text"] == ALL + "\u00e9\u4f60"
    assert "\u4f60" in out
    assert not UNSHOWN.search(out)
