"""The addon in a real mitmdump: options, reload, log and files, as a user meets them."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import flowfilter
from mitmproxy.test import taddons

from support.loopback import (
    CALL,
    LIMIT,
    MAIN,
    Dump,
    Reply,
    asked,
    calls_in,
    flows_in,
    host,
    mitmdump,
    post,
    streamed,
    upstream,
)
from toolcalls.flows import flow_metadata
from toolcalls.mitm.hooks import ToolCalls

TEXT = f"Let me look.\n\n{CALL}"
FENCED = f"Like so:\n\n```\n{CALL}\n```\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mitmproxy")


@pytest.fixture
def context() -> Iterator[tuple[ToolCalls, Any]]:
    addon = ToolCalls()
    with taddons.context(addon) as made:
        made.configure(addon)
        yield addon, made


@pytest.fixture
def addon(context: tuple[ToolCalls, Any]) -> ToolCalls:
    return context[0]


MISTAKES = {
    "toolcalls_config": ("nowhere.yaml", "nowhere.yaml:1: the file cannot be read"),
    "toolcalls_log": ("nowhere/log.jsonl", "toolcalls_log: "),
}


@pytest.mark.parametrize("option", MISTAKES)
def test_mitmdump_does_not_start_with_a_wrong_option(folder: Path, tmp_path: Path, option: str) -> None:
    value, message = MISTAKES[option]
    with mitmdump(folder, "-n", "--set", f"{option}={tmp_path / value}") as dump:
        assert dump.ended() == 2
    assert [line for line in dump.lines if message in line and line.startswith("toolcalls: ")]
    assert "Traceback" not in dump.output


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("toolcalls_log=", "toolcalls_log="), "toolcalls: --set toolcalls_log is given 2 times"),
        (("toolcalls_confg=a.yaml",), "toolcalls: --set toolcalls_confg: there is no such option; "),
    ],
    ids=["twice", "misspelt"],
)
def test_an_option_that_mitmproxy_would_pass_over_stops_the_start(
    folder: Path, given: tuple[str, ...], message: str
) -> None:
    """mitmproxy leaves an addon half loaded whose option is given twice, and drops one that nobody declares."""
    with mitmdump(folder, "-n", *(word for one in given for word in ("--set", one))) as dump:
        assert dump.ended() == 2
    assert [line for line in dump.lines if line.startswith(message)]


def test_an_old_mitmproxy_is_refused_in_one_line(folder: Path) -> None:
    start = (
        "from mitmproxy import version; version.VERSION = '11.0.2'; from mitmproxy.tools.main import mitmdump as m; m()"
    )
    command = [sys.executable, "-c", start, "-n", "-s", str(MAIN), "--set", f"confdir={folder}"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=LIMIT, check=False)
    assert done.returncode == 1
    assert "toolcalls: needs mitmproxy 12.2.2 or newer, this is 11.0.2" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_it_loads_from_any_directory_and_before_an_installed_package(folder: Path, tmp_path: Path) -> None:
    """The package that lies in the working directory and on the path is another one."""
    other = tmp_path / "toolcalls"
    other.mkdir()
    (other / "__init__.py").write_text("raise ImportError('the wrong package')\n")
    with (
        upstream(Reply(streamed(TEXT))) as server,
        mitmdump(folder, "--set", f"toolcalls_log={tmp_path / 'log'}", to=server.url, cwd=tmp_path) as dump,
    ):
        assert len(calls_in(post(dump.url, asked()).body)) == 1


def test_hot_reload_takes_new_code_and_keeps_running_replies(folder: Path, tmp_path: Path) -> None:
    """mitmproxy reloads main.py only; a reply that is under way goes on, and the new addon settles it."""
    copy = tmp_path / "copy"
    shutil.copytree(MAIN.parent, copy / "addon")
    shutil.copytree(MAIN.parents[1] / "config", copy / "config")
    report = copy / "addon" / "toolcalls" / "insight" / "report.py"
    out = tmp_path / "out.flow"
    reply = Reply(streamed(TEXT, 2), gates={20: (go := threading.Event())})
    with (
        upstream(reply) as server,
        mitmdump(folder, "-s", str(copy / "addon" / "main.py"), "-w", str(out), addon=False, to=server.url) as dump,
    ):
        client = threading.Thread(target=post, args=(dump.url, asked()))
        client.start()
        dump.wait_for("Streaming response")
        report.write_text(report.read_text(encoding="utf-8").replace('f"{status} {', 'f"NEW {status} {'), "utf-8")
        later = (copy / "addon" / "main.py").stat().st_mtime + 5
        os.utime(copy / "addon" / "main.py", (later, later))
        dump.wait_for("Loading script", count=2)
        go.set()
        client.join(LIMIT)
        assert sum("Loading script" in line for line in dump.lines) == 2
        server.replies = [Reply(streamed(TEXT))]
        assert len(calls_in(post(dump.url, asked()).body)) == 1
        dump.wait_for("NEW lifted Bash")
    assert [flow.metadata[flow_metadata.REPORT]["worst"] for flow in flows_in(out)] == ["lifted", "lifted"]
    assert "rror" not in dump.output


_RELOADS = """
import runpy, sys
main, folder = sys.argv[1:]
sys.path[:0] = ["", folder, folder + "/."]
for _ in range(3):
    sys.path.insert(0, folder)  # as mitmproxy does
    runpy.run_path(main)
    print(len(sys.path), sys.path.index(folder), sys.path.count(folder))
"""


def test_a_reload_does_not_make_the_path_longer() -> None:
    command = [sys.executable, "-c", _RELOADS, str(MAIN), str(MAIN.parent)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=LIMIT, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert len(set(lines)) == 1
    assert lines[0].endswith(" 0 1")


@pytest.fixture(scope="module")
def two_flows(folder: Path) -> tuple[Dump, Path, str]:
    """What mitmdump showed of a fenced call and one that was lifted, the recording, and the id of the latter."""
    with host(folder, "--set", "flow_detail=3") as running:
        running.ask(Reply(streamed(FENCED)))
        _, lifted = running.ask(Reply(streamed(TEXT)))
    return running.dump, running.recording, lifted.id


@pytest.mark.parametrize(
    "expression", ["~comment ^lifted", "~marker wrench", "~meta status:lifted", "~meta 'status.: .lifted'"]
)
def test_filters_find_it(two_flows: tuple[Dump, Path, str], expression: str) -> None:
    """What `mitmdump -nr FILE -w FILE EXPRESSION` asks of each flow."""
    _, recording, lifted = two_flows
    matches = flowfilter.parse(expression)
    assert [flow.id for flow in flows_in(recording) if matches(flow)] == [lifted]


def test_the_view_in_mitmdump(two_flows: tuple[Dump, Path, str]) -> None:
    dump, _, _ = two_flows
    assert "CLIENT GOT, finish tool_calls" in dump.output
    assert "    LIFTED  Bash:" in dump.lines
