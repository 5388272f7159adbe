"""`toolcalls judge`: what it compares with, its sums, and its output for CI systems and for other programs."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakSet
from xml.etree import ElementTree as ET

import pytest
import yaml

from support import manyflows
from support.loopback import LIMIT
from support.repository import REPO
from toolcalls import cli
from toolcalls.streams import as_json
from toolcalls.tools.judge.output import Output
from toolcalls.tools.judge.summary import Summary


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A session and others. A lenient configuration lifts calls of them that the built-in one leaves."""
    return manyflows.write(tmp_path / "many.flow", [*manyflows.session(), *manyflows.others()])


@pytest.fixture
def lenient(tmp_path: Path) -> Path:
    path = tmp_path / "lenient.yaml"
    path.write_text("defaults: {policy: lenient}\n")
    return path


def judged(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = cli.main(["judge", *arguments])
    return status, capfd.readouterr().out


def test_against_another_configuration(recording: Path, lenient: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What differs is the same whichever of the two is the other one, and says which was before."""
    assert judged([str(recording), "--against", str(lenient), "--config", str(lenient)], capfd)[0] == 0
    status, out = judged([str(recording), "--against", str(lenient)], capfd)
    assert status == 1
    assert "lifted Bash (invoke) → 1 declined: inline" in out
    status, back = judged([str(recording), "--config", str(lenient)], capfd)
    assert status == 1
    assert back.splitlines()[-1] == out.splitlines()[-1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", ["--jsonl", "--json"])
def test_a_reader_that_leaves_early_changes_no_exit_status(form: str, tmp_path: Path, lenient: Path) -> None:
    """`toolcalls judge … | head -1`: all flows are judged (the last alone has changed), and JUnit is written."""
    fine = [manyflows.flow_of(f"fine {number}", [], manyflows.streamed("Hello.")) for number in range(200)]
    fenced = f"```\n{manyflows.written('Bash', command='ls')}\n```\n"
    recording = manyflows.write(
        tmp_path / "many.flow", [*fine, manyflows.flow_of("changes", [], manyflows.streamed(fenced))]
    )
    junit = tmp_path / "junit.xml"
    command = [sys.executable, "-m", "toolcalls", "judge", str(recording), "--against", str(lenient), form]
    with subprocess.Popen(
        [*command, "--junit", str(junit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPO / "addon")},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(LIMIT) == 1
    assert ET.parse(junit).getroot().get("failures") == "1"


def test_a_reply_that_only_the_other_one_reads_has_changed(
    tmp_path: Path, recording: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = json.loads(judged([str(recording), "--json"], capfd)[1])
    flows = [*manyflows.session(), *manyflows.others()]
    assert flows[0].response is not None
    flows[0].response.status_code = 500
    path = manyflows.write(tmp_path / "broken.flow", flows)
    baseline = tmp_path / "before.json"
    baseline.write_text(json.dumps(before))
    status, out = judged([str(path), "--baseline", str(baseline)], capfd)
    assert status == 1
    assert "→ not read: it is an error with status 500" in out
    assert judged([str(path)], capfd)[1].splitlines()[-1].endswith("1 unread")


def test_the_sum_counts_what_the_flows_hold(recording: Path, lenient: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each number can be counted again from the flows of the same output."""
    found = json.loads(judged([str(recording), "--config", str(lenient), "--json"], capfd)[1])
    flows, total = found["flows"], found["summary"]
    assert total["flows"]["changed"] == sum(flow["change"] == "changed" for flow in flows) > 0
    invoke = [flow["change"] for flow in flows for verdict in flow["verdicts"] if verdict["dialect"] == "invoke"]
    assert total["dialect"]["invoke"] == {"count": len(invoke), "changed": invoke.count("changed")}
    assert sum(one["count"] for one in total["model"].values()) == len(flows)
    assert sum(one["count"] for one in total["agent"].values()) == len(flows)
    assert total["defect"]["call_in_text"]["count"] == sum(flow["damage"].get("call_in_text", 0) for flow in flows)
    assert total["reason"]
    halves = Summary()
    for part in (flows[:5], flows[5:]):
        one = Summary()
        for flow in part:
            one.add(flow)
        halves.merge(one)
    assert halves.data() == total
    status, table = judged([str(recording), "--config", str(lenient), "--summary"], capfd)
    assert status == 1
    rows = [line.split() for line in table.splitlines()]
    assert ["invoke", str(len(invoke)), str(invoke.count("changed"))] in rows
    assert ["defect", "times", "changed"] in rows


def test_junit(recording: Path, lenient: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "junit.xml"
    status, out = judged([str(recording), "--config", str(lenient), "--junit", str(path)], capfd)
    assert status == 1
    root = ET.fromstring(path.read_text())
    changed = [case for case in root.iter("testcase") if case.find("failure") is not None]
    assert f"{len(changed)} changed" in out
    assert root.get("failures") == str(len(changed))
    assert root.get("tests") == str(len([*root.iter("testcase")]))
    failures = [case.find("failure") for case in changed]
    assert any("status declined → lifted" in (one.text or "") for one in failures if one is not None)


def test_annotations_of_github(recording: Path, lenient: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One line for each change: line ends of the message are escaped, so that the runner reads it as one."""
    status, out = judged([str(recording), "--config", str(lenient), "--github"], capfd)
    *annotations, last = out.splitlines()
    assert status == 1
    assert f"{len(annotations)} changed" in last
    assert all(line.startswith(f"::error file={recording},title=toolcalls%3A changed") for line in annotations)
    assert any("%0A± lifted Bash (invoke): status declined → lifted" in line for line in annotations)


def test_lines_are_flows_with_a_version_before_and_the_sum_behind(
    recording: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, *flows, last = map(json.loads, judged([str(recording), "--jsonl"], capfd)[1].splitlines())
    whole = json.loads(judged([str(recording), "--json"], capfd)[1])
    assert first["version"] == 1
    assert flows == whole["flows"]
    assert last == {"summary": whole["summary"]}


def test_a_terminal_has_a_bar(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    assert cli.main(["judge", str(recording)]) == 0
    assert "B/s" in shown.getvalue()
    shown.seek(0)
    shown.truncate()
    monkeypatch.setattr(shown, "isatty", lambda: False)
    assert cli.main(["judge", str(recording)]) == 0
    assert shown.getvalue() == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--baseline", "a", "--against", "b"], "--baseline and --against each name what to compare with"),
        (["--mend", "all", "--junit", "a"], "--mend compares with nothing, so it takes no --junit"),
        (["--against", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_options_that_ask_two_things(
    options: list[str], message: str, recording: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["judge", str(recording), *options]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"toolcalls judge: {message}")


def test_the_steps_of_the_page_can_be_run(
    recording: Path, lenient: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The commands of docs/judging.md for GitHub Actions, in a checkout that keeps a configuration and recordings."""
    page = (REPO / "docs" / "judging.md").read_text(encoding="utf-8")
    (workflow,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    steps = yaml.safe_load(workflow)["jobs"]["judge"]["steps"]
    runs = [shlex.split(step["run"]) for step in steps if "run" in step]
    commands = [words[1:] for words in runs if words[0] == "toolcalls"]
    assert [command[0] for command in commands] == ["check-config", "judge"]
    monkeypatch.chdir(tmp_path)
    Path("recordings").mkdir()
    recording.rename("recordings/many.flow")
    for config, status in (("defaults: {}\n", 0), (lenient.read_text(), 1)):
        Path("toolcalls.yaml").write_text(config)
        assert cli.main(commands[0]) == 0
        assert cli.main(commands[1]) == status
        assert ("::error file=recordings/many.flow" in capfd.readouterr().out) == bool(status)
        assert ET.parse("junit.xml").getroot().get("failures") != ("0" if status else "")


class Result(dict[str, Any]):
    """A result that can be referred to weakly."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def results(count: int, live: "WeakSet[Result]") -> Iterator[Result]:
    """Results of three files, a third of them changed, the next unread."""
    verdict = {"status": "lifted", "name": "caf\u00e9", "dialect": "hermes", "reason": None, "note": "a\nb [] <é>"}
    for number in range(count):
        made = Result(file=f"{number % 3}.flow", flow=str(number), path="/v1", model="m", agent="", verdicts=[verdict])
        made |= {"summary": "lifted", "damage": {}, "change": ("changed", "unread", "same")[number * 7 // 2 % 3]}
        made |= {"was": {"summary": "", "verdicts": []}} if made["change"] == "changed" else {}
        made |= {"why": "it <broke>"} if made["change"] == "unread" else {}
        live.add(made)
        yield made


@pytest.mark.parametrize("count", [0, 1, 40])
@pytest.mark.parametrize("pretty", [False, True])
def test_json_and_junit_hold_no_results(
    count: int, pretty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """What is written is what it would be of all results at once."""
    path = tmp_path / "junit.xml"
    live: WeakSet[Result] = WeakSet()
    arguments = Namespace(json=True, jsonl=False, github=False, summary=False, junit=str(path))
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout.isatty", lambda: pretty)
        made = Output(arguments, lambda _: None)
    with made:
        most = 0
        for result in results(count, live):
            made.add(result)
            del result
            most = max(most, len(live))
        made.end()
    assert most <= 1
    every = [*results(count, WeakSet())]
    whole = {"version": 1, "flows": every, "summary": made.summary.data()}
    assert capfdbinary.readouterr().out.decode() == as_json(whole, pretty=pretty) + "\n"
    suites = ET.parse(path).getroot()
    changed, unread = (sum(one["change"] == change for one in every) for change in ("changed", "unread"))
    assert {**suites.attrib} == {
        "name": "toolcalls judge",
        "tests": str(count),
        "failures": str(changed),
        "errors": "0",
        "skipped": str(unread),
    }
    assert [suite.get("name") for suite in suites] == [f"{number}.flow" for number in range(min(3, count))]
    for suite in suites:
        mine = [one for one in every if one["file"] == suite.get("name")]
        assert [case.get("name") for case in suite] == [f"/v1 m {one['flow']}" for one in mine]
        assert [case.find("failure") is not None for case in suite] == [one["change"] == "changed" for one in mine]
        assert [case.find("skipped") is not None for case in suite] == [one["change"] == "unread" for one in mine]
        assert suite.get("failures") == str(sum(one["change"] == "changed" for one in mine))
        assert suite.get("tests") == str(len(mine))
