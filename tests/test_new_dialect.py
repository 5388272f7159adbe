"""`make dialect`: a known form under new marks becomes a dialect that reads it, a form of its own a failing case."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from newdialect import run
from newdialect.examples import examples, unread, written
from support.casefiles import read_file
from support.caseformat import FORMATS
from toolcalls.dialects import about, all_dialects
from toolcalls.own_dialects.draft import all_tries, read_already, reading
from toolcalls.own_dialects.trial import tools_of
from toolcalls.request import Tool
from toolcalls.shapes import Call

LS = Call("Bash", '{"command": "ls -la"}')

# Replies in made-up dialects, and the shape that fits each.
REPLIES = {
    "MarkedJson": ('<|acme_call|>{"name": "Bash", "arguments": {"command": "ls -la"}}<|end_acme|>', [LS]),
    "MarkedJson in brackets": ('[DO]\n{"name": "Bash", "parameters": {"command": "ls -la"}}\n[/DO]', [LS]),
    "MarkedJson in a wrapper": (
        '<all>\n<do>\n{"name": "Bash", "arguments": {"command": "ls -la"}}\n</do>\n'
        '<do>\n{"name": "Bash", "arguments": {"command": "pwd"}}\n</do>\n</all>',
        [LS, Call("Bash", '{"command": "pwd"}')],
    ),
    "MarkedJson with an array": (
        '<calls_of_acme>[{"name": "Bash", "arguments": {"command": "ls -la"}}]</calls_of_acme>',
        [LS],
    ),
    "NameInTag": ('<do:Bash>{"command": "ls -la"}</do:Bash>', [LS]),
    "TagForm": (
        '<acme:calls>\n<acme:run name="Bash">\n<acme:arg name="command">ls -la</acme:arg>\n</acme:run>\n</acme:calls>',
        [LS],
    ),
    "FunctionTags": (
        "<acme:do>\n<function=Bash>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</acme:do>",
        [LS],
    ),
    "TagForm with other attributes": (
        '<acme:run tool="Bash">\n<acme:arg key="command">ls -la</acme:arg>\n</acme:run>',
        [LS],
    ),
    "FunctionTags of other elements": ("<acme:do>\n<run=Bash>\n<arg=command>ls -la</arg>\n</run>\n</acme:do>", [LS]),
    "PairForm": ("<act>Bash<k>command</k><v>ls -la</v></act>", [LS]),
    "Header": ('<|call|>Bash<|sep|>{"command": "ls -la"}<|stop|>', [LS]),
    "NameInWords": ('{Run the tool: Bash({"command": "ls -la"})}', [LS]),
    "DelimitedObject": ("<|do|>call:Bash{command:<|q|>ls -la<|q|>}<|done|>", [LS]),
    "Pythonic": ('<|py|>[Bash(command="ls -la")]<|yp|>', [LS]),
}


def same(calls: Any, expected: list[Call]) -> bool:
    """Whether calls have these names and values, however their JSON is spelled."""
    return [(call.name, json.loads(call.arguments)) for call in calls] == [
        (call.name, json.loads(call.arguments)) for call in expected
    ]


@pytest.mark.parametrize(("shape", "reply", "calls"), [(shape, *row) for shape, row in REPLIES.items()], ids=REPLIES)
@pytest.mark.parametrize("declared", [True, False], ids=["with tools", "without"])
def test_a_form_that_a_shape_has_is_found(shape: str, reply: str, calls: list[Call], declared: bool) -> None:
    best = all_tries("acme", reply, tools_of(calls) if declared else ())[0]
    assert best.trial.problems == ()
    assert type(best.candidate.dialect).__name__ == shape.partition(" ")[0]
    assert same(best.trial.calls, calls)
    assert best.trial.written in reply or "".join(best.trial.written.split()) == "".join(reply.split())


@pytest.mark.parametrize("name", all_dialects())
def test_the_examples_of_all_dialects_under_new_marks_are_never_read_as_something_else(name: str) -> None:
    """A form that no shape has may be declined; what is read is right."""
    example, call = about(name).example, about(name).call
    kept = rf"{re.escape(call.name)}\b|path\b|function[=>]|parameter[=>]"
    renamed = re.sub(rf"(</?[|｜/]*)(?!{kept})([A-Za-z])", r"\1zq\2", example)
    renamed = re.sub(r"(\[/?)([A-Z]{3})", r"\1ZQ\2", renamed)
    for tools in ((), tools_of([call])):
        fitting = [one for one in all_tries("acme", renamed, tools) if one.trial.fits]
        readings = {reading(one.trial.calls) for one in fitting}
        assert len(readings) != 1 or same(fitting[0].trial.calls, [call]), fitting[0].candidate.code


def test_a_reply_that_a_dialect_reads_already_is_that_dialects() -> None:
    assert read_already(about("longcat").example, ()) == "longcat"
    assert read_already(REPLIES["PairForm"][0], ()) == ""


@pytest.mark.parametrize("reply", ["Please call Bash with ls.", "Bash :: command := ls ;;", '{"a": 1}', "<b>bold</b>"])
def test_what_no_shape_has_is_never_taken_for_one(reply: str) -> None:
    assert [one for one in all_tries("acme", reply, (Tool("Bash"),)) if one.trial.fits] == []


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without dialects, which what is written is written to and read from."""
    for name in ("addon/toolcalls/dialects", "tests/cases/dialects"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(run, "REPO", tmp_path)
    monkeypatch.setattr(run, "DIALECTS", tmp_path / "addon/toolcalls/dialects")
    monkeypatch.setattr(run, "CASES", tmp_path / "tests/cases")
    return tmp_path


def made(folder: Path, reply: str, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    path = folder / "reply.txt"
    path.write_text(reply, encoding="utf-8")
    status = run.main(["acme", str(path), *more])
    printed = capsys.readouterr()
    return status, printed.out + printed.err


@pytest.mark.parametrize(("reply", "calls"), REPLIES.values(), ids=REPLIES)
def test_its_module_and_its_cases_are_sound(reply: str, calls: list[Call]) -> None:
    best = all_tries("acme", reply, tools_of(calls))[0]
    module: dict[str, Any] = {"__name__": "acme"}
    exec(run._module("acme", best.candidate, "<call>"), module)
    assert module["DIALECT"].name == "acme"
    assert module["ABOUT"].written_by == module["ABOUT"].source == ""
    assert module["__doc__"].startswith("`acme`: ")
    cases = [*examples(reply, best.trial), written(best.trial)]
    source = "\n".join([run.header("acme", best.tools), "cases:", *map(str, cases[:-1]), "written:", str(cases[-1])])
    file = read_file(source, "acme.yaml", FORMATS["dialects"], frozenset({"tools"}))
    assert file.mistakes == ()
    assert [case["title"] for case in file.data["cases"]][:4] == [
        "the reply that the dialect was made from",
        "text in front of the call and behind it",
        "a fence quotes it",
        "a reply that is cut off inside a value",
    ]
    cut = file.data["cases"][3]
    assert (cut["finish"], cut["shown"]) == ("length", "I look.\n")


def test_a_form_of_its_own_becomes_a_skeleton_with_a_failing_case(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, printed = made(folder, "Do <<Bash|command|ls>>", capsys)
    assert status == 1
    assert "No shape fits this reply." in printed
    assert "--case tests/cases/dialects/acme.yaml" in printed
    module: dict[str, Any] = {"__name__": "acme"}
    exec((folder / "addon/toolcalls/dialects/acme.py").read_text(encoding="utf-8"), module)
    assert module["DIALECT"].openers(()) == ("<<Bash|command|ls",)
    source = (folder / "tests/cases/dialects/acme.yaml").read_text(encoding="utf-8")
    file = read_file(source, "acme.yaml", FORMATS["dialects"], frozenset({"tools"}))
    assert file.mistakes == ()
    assert not unread("a", "b").lawful(file.data["cases"][0])


def test_two_readings_ask_for_the_tools(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    def tries(*_: object) -> list[Any]:
        return [SimpleNamespace(trial=SimpleNamespace(fits=True, calls=(Call(name, "{}"),))) for name in ("a", "b")]

    monkeypatch.setattr(run, "all_tries", tries)
    status, printed = made(folder, "<do>it</do>", capsys)
    assert status == 2
    assert "give the request's tools (TOOLS=tools.json)" in printed
    assert not list((folder / "addon/toolcalls/dialects").iterdir())


@pytest.mark.parametrize(
    ("name", "reply", "said"),
    [
        ("Acme", "x", "a dialect's name is a word in lower case"),
        ("acme", "", "is empty"),
        ("acme", None, "No such file"),
    ],
)
def test_bad_use_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, reply: str | None, said: str
) -> None:
    path = folder / "reply.txt"
    if reply is not None:
        path.write_text(reply, encoding="utf-8")
    assert run.main([name, str(path)]) == 2
    assert said in capsys.readouterr().err
    assert not list((folder / "addon/toolcalls/dialects").iterdir())


def test_a_dialect_that_exists_is_not_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "addon/toolcalls/dialects/acme.py").write_text("", encoding="utf-8")
    assert made(folder, "<do>it</do>", capsys) == (2, "make dialect: addon/toolcalls/dialects/acme.py exists\n")
