"""`toolcalls cases`: the cases as lines for other parsers, and parsers that are run on them."""

import json
import select
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from support.casefiles import dialect_cases
from toolcalls import cli
from toolcalls.dialects import all_dialects
from toolcalls.flows.cases.dialect_cases import pieces
from toolcalls.tools import line_program
from toolcalls.tools.cases.command import LINE

CASE = """
tools: {Bash: {command: string}}
cases:
- title: one call
  text: '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>'
  calls: [{name: Bash, arguments: {command: ls}}]
  cuts: [3, 9]
- title: text
  text: Nothing.
- title: in another dialect
  text: <invoke name="Bash"><parameter name="command">ls</parameter></invoke>
  calls: [{name: Bash, arguments: {command: ls}}]
  verdicts: [lifted Bash (invoke)]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "hermes.yaml"
    path.write_text(CASE)
    return str(path)


def written(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    status = cli.main(["cases", *arguments])
    return status, capfd.readouterr().out.splitlines()


def test_each_case_is_a_line_by_the_schema(capfd: pytest.CaptureFixture[str]) -> None:
    names = [*all_dialects()][::8]
    status, lines = written([option for name in names for option in ("--dialect", name)], capfd)
    found = [json.loads(line) for line in lines]
    assert status == 0
    Draft202012Validator.check_schema(LINE)
    validator = Draft202012Validator(LINE)
    for one in found[::10]:
        validator.validate(one)
    for one in found:
        assert all("".join(pieces(one["text"], cuts)) == one["text"] for cuts in one["cuts"])
    expected = {f"{name}/{case.title}": case for name in names for case in dialect_cases(name)}
    assert [one["id"] for one in found] == list(expected)
    for one in found:
        case = expected[one["id"]]
        assert (one["text"], one["expected"]["text"]) == (case.text, case.shown)
        assert [call["name"] for call in one["expected"]["calls"]] == [name for name, _, _ in case.calls]
        assert one["source"] == str(case.place)


def test_the_cuts_of_a_case_are_among_its_ways(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, lines = written([file], capfd)
    first = json.loads(lines[0])
    assert status == 0
    assert first["cuts"][:2] == [[], [3, 9]]
    assert first["cuts"][2] == [*range(1, len(first["text"]))]
    assert [json.loads(line)["scope"] for line in lines] == ["any", "any", "toolcalls"]


# --- run --------------------------------------------------------------------------------------------------------------

# A parser that finds each call that is written in JSON between tags and forgets to look at anything else.
PARSER = """
import json, re, sys
for line in sys.stdin:
    case = json.loads(line)
    assert "expected" not in case
    text = case["text"] if "text" in case else "".join(case["chunks"])
    found = re.findall("<tool_call>(.*?)</tool_call>", text)
    {then}
    calls = [{{"name": json.loads(one)["name"], "arguments": json.loads(one)["arguments"]}} for one in found]
    print(json.dumps({{"id": case["id"], "calls": calls, "text": "" if found else text}}), flush=True)
"""


def parser(tmp_path: Path, then: str = "") -> str:
    path = tmp_path / "parser.py"
    path.write_text(PARSER.format(then=then))
    return f"{sys.executable} -S {path}"


def table(
    file: str, command: str, capfd: pytest.CaptureFixture[str], *more: str
) -> tuple[int, dict[str, Any], list[str]]:
    status = cli.main(["cases", file, "--run", command, "--json", "--differences", *more])
    *lines, last = capfd.readouterr().out.splitlines()
    return status, json.loads(last)["dialects"]["*"], lines


def test_a_parser_is_counted_by_what_it_finds(file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, counts, lines = table(file, parser(tmp_path), capfd)
    assert (status, counts["cases"], counts["right"], lines) == (0, 2, 2, [])
    status, counts, lines = table(file, parser(tmp_path), capfd, "--all")
    assert (status, counts["right"], counts["with_calls"], counts["calls_found"]) == (1, 2, 2, 1)
    assert lines == [f'{file}:10 in another dialect: calls: expected Bash {{"command": "ls"}}, got none']
    assert cli.main(["cases", file, "--run", parser(tmp_path)]) == 0
    out = capfd.readouterr().out.splitlines()
    assert out[1].split() == ["hermes", "2/2", "1/1", "1/1", "2/2", "0"]
    assert out[-1].startswith("1 case not asked")


def test_a_parser_that_streams_is_asked_in_each_way(
    file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One that loses a call where the text comes in pieces is found out by one of the cuts."""
    assert table(file, parser(tmp_path), capfd, "--stream")[0] == 0
    status, counts, _ = table(
        file, parser(tmp_path, "found = found if len(case['chunks']) < 3 else []"), capfd, "--stream"
    )
    assert (status, counts["calls_found"]) == (1, 0)


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("if found: sys.exit('cannot go on')", "failed: it died with status 1: cannot go on"),
        ("if found: print('hello', flush=True); continue", "failed: its answer is no JSON"),
        ("if found: print('{\"id\": 7}', flush=True); continue", "failed: its answer is for '7'"),
        ("if found: print(json.dumps({'error': 'no grammar'}), flush=True); continue", "failed: no grammar"),
        ("if found: print('{}', flush=True); continue", "failed: no answer by the schema (KeyError('calls'))"),
    ],
)
def test_a_case_that_fails_costs_no_other(
    then: str, said: str, file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, counts, lines = table(file, parser(tmp_path, then), capfd)
    assert (status, counts["failed"], counts["right"]) == (1, 1, 1)
    assert said in lines[0]


def test_a_parser_that_is_silent_costs_no_other_case(
    file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is over once it says that it falls silent: to start one may take longer than it may be silent for."""
    silent = tmp_path / "silent"
    waited: list[float] = []

    def waits(*given: Any) -> tuple[list[Any], list[Any], list[Any]]:
        *files, seconds = given
        waited.append(seconds)
        while not any(ready := select.select(*files, 0.01)):
            if silent.exists():
                silent.unlink()
                break
        return ready

    monkeypatch.setattr(line_program, "select", SimpleNamespace(select=waits))
    then = f"if found: import time; open({str(silent)!r}, 'w').close(); time.sleep(600)"
    status, counts, lines = table(file, parser(tmp_path, then), capfd, "--timeout", "7")
    assert (status, counts["failed"], counts["right"]) == (1, 1, 1)
    assert "failed: no answer in 7 seconds" in lines[0]
    assert 0 < max(waited) <= 7


def test_a_parser_that_always_dies_is_given_up(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cases", "--dialect", "hermes", "--run", f"{sys.executable} -S -c 'raise SystemExit(3)'"]) == 2
    assert "has died 10 times in a row (status 3)" in capfd.readouterr().err


def test_what_it_does_not_read_is_left_out(file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    skip = 'if found: print(\'{"skipped": "not mine"}\', flush=True); continue'
    status, counts, _ = table(file, parser(tmp_path, skip), capfd)
    assert (status, counts["skipped"], counts["right"], counts["failed"]) == (0, 1, 1, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cases: [}", ":1: this is no YAML"),
        ("[]", ":1: a case file is a mapping"),
        ("cases:\n- title: a", ":2: this is no case of a dialect (KeyError: 'text')"),
    ],
)
def test_a_file_with_a_mistake(text: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    assert cli.main(["cases", str(path)]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"toolcalls cases: {path}{said}")


def test_our_own_parser_is_right(capfd: pytest.CaptureFixture[str]) -> None:
    command = f"{sys.executable} -m toolcalls parse --jsonl"
    assert cli.main(["cases", "--dialect", "hermes", "--dialect", "olmo3", "--run", command]) == 0
    assert "olmo3" in capfd.readouterr().out
