"""`toolcalls minimise`: recorded replies cut down to cases that still show it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from support import manyflows
from support.casefiles import case_of, read_file
from support.caseformat import FORMATS
from support.dialectcases import read as read_case
from support.repository import REPO
from toolcalls import cli
from toolcalls.commands.dialect_cases import cases_in
from toolcalls.events import Verdict
from toolcalls.mitm.offline.minimising.anonymising import anonymised
from toolcalls.mitm.offline.minimising.case_text import as_paste, as_yaml
from toolcalls.mitm.offline.minimising.case_text import case_of as written_case
from toolcalls.mitm.offline.minimising.example import Example, example_of_case, read
from toolcalls.mitm.offline.minimising.reducing import Clock, reduced

CALL = manyflows.written("write_file", path="src/billing/customers.ts", content="export const secretPlan = 42;")
SHORT = manyflows.written("Bash", command="ls")
TEXT = f"Sure, Mr. Smith!\nThis is how I would write it:\n\n```xml\n{CALL}\n```\n\nShall I go on with the invoices?\n"
TOOLS = [*manyflows.TOOLS, manyflows.tool("send_invoice", "customer", "amount"), manyflows.tool("Glob", "pattern")]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A flow whose call is fenced, behind one whose call was lifted."""
    fine = manyflows.flow_of(
        "fine", [manyflows.user("go")], manyflows.streamed(manyflows.written("Bash", command="ls"))
    )
    fenced = manyflows.flow_of("fenced", [manyflows.user("Write the file")], manyflows.streamed(TEXT), tools=TOOLS)
    return manyflows.write(tmp_path / "two.flow", [fine, fenced])


def minimised(arguments: list[str], tmp_path: Path) -> Path:
    """The case that comes out."""
    path = tmp_path / "invoke.yaml"
    assert cli.main(["minimise", *arguments, "-o", str(path)]) == 0
    return path


def verdicts(path: Path) -> tuple[Example, tuple[Verdict, ...]]:
    (case,) = cases_in(path)
    example = example_of_case(case)
    return example, read(example).verdicts


def test_the_case_is_small_says_nothing_and_is_right(recording: Path, tmp_path: Path) -> None:
    """What is written is a case as the project's own, and passes as it stands; no character of it can be spared."""
    path = minimised([str(recording)], tmp_path)
    example, (verdict,) = verdicts(path)
    assert (verdict.status, verdict.reason, verdict.name) == ("declined", "fenced", "tool")
    assert len(example.text) < 60
    assert len(example.tools) == 1
    assert not any(word in path.read_text() for word in ("Smith", "write_file", "billing", "secretPlan", "path"))
    file = read_file(path.read_text(), "tests/cases/dialects/invoke.yaml", FORMATS["dialects"], frozenset({"tools"}))
    assert file.mistakes == ()
    case = case_of(file.data["cases"][0], "invoke", {})
    shown, calls, found, _ = read_case(case, [case.text])
    assert (shown, calls) == (case.shown, ())
    assert [(one.status, one.reason, one.dialect, one.name) for one in found] == [*case.verdicts]
    for place in range(len(example.text)):
        shorter = replace(example, text=example.text[:place] + example.text[place + 1 :])
        assert not any(
            (one.status, one.reason, one.name) == (verdict.status, verdict.reason, verdict.name)
            for one in read(shorter).verdicts
        ), shorter.text


def test_what_is_expected_stands_in_the_case(tmp_path: Path) -> None:
    """More lenient terms make the call of it that should come, so the case knows its arguments."""
    texts = {"other": "`", "fenced": f"```\n{SHORT}\n```\nAnd so on."}
    flows = [manyflows.flow_of(name, [], manyflows.streamed(text), tools=TOOLS[2:3]) for name, text in texts.items()]
    recording = manyflows.write(tmp_path / "two.flow", flows)
    path = minimised([str(recording), "--flow", flows[1].id[:8], "--expect", "lifted"], tmp_path)
    (case,) = cases_in(path)
    assert [name for name, _, _ in case.calls] == ["tool"]
    assert [(one.status, one.reason) for one in read(example_of_case(case)).verdicts] == [("declined", "fenced")]


def test_the_difference_of_two_configurations(tmp_path: Path) -> None:
    lenient = tmp_path / "lenient.yaml"
    lenient.write_text("defaults: {policy: lenient}\n")
    fenced = manyflows.flow_of("f", [], manyflows.streamed(f"So:\n```\n{SHORT}\n```\n"), tools=TOOLS[2:3])
    recording = manyflows.write(tmp_path / "fenced.flow", [fenced])
    issue = tmp_path / "issue.md"
    path = minimised([str(recording), "--against", str(lenient), "--issue", str(issue)], tmp_path)
    example, (ours,) = verdicts(path)
    (theirs,) = read(replace(example, settings=(("policy", "lenient"),))).verdicts
    assert (ours.status, theirs.status) == ("declined", "lifted")
    said = issue.read_text()
    assert said.startswith("declined (fenced) in invoke; the other configuration says lifted in invoke.")
    assert path.read_text() in said.replace("````yaml\n", "")


def test_a_reply_that_was_cut_off_says_how(tmp_path: Path) -> None:
    text = "I look.\n" + manyflows.written("Bash", command="cat /etc/hosts")[:-20]
    cut = manyflows.flow_of("cut", [manyflows.user("go")], manyflows.streamed(text)[:-2], cut=True)
    path = minimised([str(manyflows.write(tmp_path / "cut.flow", [cut]))], tmp_path)
    (case,) = cases_in(path)
    assert case.finish == "broken"
    example, (verdict,) = verdicts(path)
    assert verdict.status == "truncated"
    assert read(example).shown == case.shown


def test_an_echo_keeps_what_it_repeats(tmp_path: Path) -> None:
    """The message that is repeated stays, and gets shorter with the reply."""
    asked = [manyflows.user("Hello"), manyflows.user(f"Why?\n{SHORT}\n")]
    flow = manyflows.flow_of("echo", asked, manyflows.streamed(f"{SHORT}\n"), tools=TOOLS[2:3])
    example, (verdict, *_) = verdicts(minimised([str(manyflows.write(tmp_path / "e.flow", [flow]))], tmp_path))
    assert verdict.reason == "echo"
    assert len(example.messages) == 1
    assert "Hello" not in str(example.messages)
    assert len(example.text) < len(SHORT)


def test_secrets_are_not_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = f"```\n{manyflows.written('Bash', command=f'curl -H {manyflows.SECRET}')}\n```\n"
    flow = manyflows.flow_of("secret", [manyflows.user("go")], manyflows.streamed(text))
    path = manyflows.write(tmp_path / "s.flow", [flow])
    assert cli.main(["minimise", str(path), "--time", "1"]) == 0
    assert "CANARY" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--flow", "zzz"], "no HTTP flow of it has the id zzz"),
        (["--expect", "lovely"], "--expect: expected a verdict as cases have it"),
        (["--expect", "declined fenced"], "2 flows, and nothing to show: the candidate already is declined fenced"),
        (["--candidate", "7"], "nothing to show: its 1 candidate became calls"),
        (["--expect", "lifted", "--against", "a"], "--expect names what should come"),
    ],
)
def test_mistakes_are_one_line(
    options: list[str], message: str, recording: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["minimise", str(recording), *options]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert message in line


# --- its parts --------------------------------------------------------------------------------------------------------

WHOLE = Example("two no\nthree four\n", (("Bash", None),), (("user", "hi"),), cuts=(3, 6, 11))


def shown_by(question: Callable[[Example], bool], example: Example = WHOLE) -> Example:
    assert question(example)
    return reduced(example, question, Clock(60))


def test_cuts_stay_where_they_matter() -> None:
    """One cut inside a word is all that is left of four; a question that does not look at them loses them all."""
    found = shown_by(lambda one: any(a.endswith("o") and b.startswith(" ") for a, b in pairwise(one.pieces)))
    assert (found.pieces, found.tools, found.messages) == (["o", " "], (), ())
    assert shown_by(lambda one: "three" in one.text).pieces == ["three"]


def test_time_that_is_up_leaves_what_was_found() -> None:
    clock = Clock(0)
    assert reduced(WHOLE, clock.counting(lambda _: True), clock) == WHOLE
    assert clock.readings == 0


def test_names_that_matter_stay() -> None:
    example = Example("call Bash now 37 times", (("Bash", {"type": "object", "properties": {"command": {}}}),))
    found = anonymised(example, lambda one: "now" in one.text, Clock(60))
    assert found.text == "x tool now 1 x"
    assert found.tools == (("tool", {"type": "object", "properties": {"a": {}}}),)


def test_a_text_that_holds_fences_is_pasted_whole() -> None:
    example = Example("a\n````\nb\r\n`", ())
    case = as_yaml(written_case(example, read(example), "t", "hermes"))
    paste = as_paste(case, example, ["what"], "hermes")
    fence = "`````"
    assert paste.count(f"\n{fence}") == 4
    assert case.rstrip("\n") in paste


def test_a_case_of_each_kind_is_written_as_it_is(tmp_path: Path) -> None:
    """Cases of the project, written again and read back, are what they were."""
    for name in ("hermes", "pythonic", "harmony"):
        for case in [*cases_in(REPO / "tests" / "cases" / "dialects" / f"{name}.yaml")][::5]:
            if case.request:
                continue
            example = example_of_case(case)
            path = tmp_path / f"{name}.yaml"
            path.write_bytes(as_yaml(written_case(example, read(example), case.title, name)).encode())
            (back,) = cases_in(path)
            assert read(example_of_case(back)) == read(example), case.title
            assert (back.text, back.shown, back.finish) == (case.text, case.shown, case.finish)
