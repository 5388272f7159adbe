"""`toolcalls minimise`: recorded replies cut down to cases that still show it."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from support import manyflows
from support.casefiles import case_of, read_file
from support.caseformat import FORMATS
from support.dialectcases import read as read_case
from support.loopback import flows_in
from support.repository import REPO
from toolcalls import cli
from toolcalls.events import Verdict
from toolcalls.flows.cases.case_text import as_paste, as_yaml
from toolcalls.flows.cases.case_text import case_of as written_case
from toolcalls.flows.cases.dialect_cases import cases_in
from toolcalls.flows.cases.example import Example, example_of_case, read
from toolcalls.flows.judging import Recorded, replies
from toolcalls.tools.minimise.anonymising import anonymised
from toolcalls.tools.minimise.exchange_job import job_of
from toolcalls.tools.minimise.exchange_reducing import anonymised_job, as_text_where_needed, reduced_job
from toolcalls.tools.minimise.reducing import reduced
from toolcalls.tools.minimise.search import Clock
from toolcalls.tools.options import configuration
from toolcalls.wires.frames import EventStream, EventStreamChunks

CALL = manyflows.written("write_file", path="src/billing/customers.ts", content="export const secretPlan = 42;")
SHORT = manyflows.written("Bash", command="ls")
TEXT = f"Sure, Mr. Smith!\nThis is how I would write it:\n\n```xml\n{CALL}\n```\n\nShall I go on with the invoices?\n"
TOOLS = [*manyflows.TOOLS, manyflows.tool("send_invoice", "customer", "amount"), manyflows.tool("Glob", "pattern")]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A flow whose call is fenced, after one whose call was lifted."""
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


# --- native calls and rules -------------------------------------------------------------------------------------------

DAMAGED = {  # recording → status, reason, repairs of the verdict
    "arguments-cut-off": ("truncated", "cut_off", []),
    "name-empty": ("malformed", "no_name", []),
    "id-for-two-calls": ("native", "repeated_id", ["repeated_id"]),
    "name-of-no-tool": ("native", "undeclared", []),
}
RULES = """
routes:
  - name: rules
    access:
      rules: [{name: no-force, action: block, tools: Bash, arguments: {command: "push --force"}}]
"""


def job_verdicts(path: Path, capfd: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    """What `toolcalls rewrite --jsonl` says of the job that was written."""
    capfd.readouterr()
    assert cli.main(["rewrite", "--jsonl", str(path), *more]) == 0
    (line,) = capfd.readouterr().out.splitlines()
    return list(json.loads(line)["verdicts"])


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_native_call_becomes_a_small_job(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Which says nothing of the recording, and shows the verdict wherever the command runs."""
    recording = REPO / "recordings" / f"{name}.flow"
    path, issue = tmp_path / "job.jsonl", tmp_path / "issue.md"
    assert cli.main(["minimise", str(recording), "-o", str(path), "--issue", str(issue)]) == 0
    said = capfd.readouterr().err
    assert re.search(r"→ \d{2,3} characters, \d+ → [12] frame", said), said
    found = [(one["status"], one["reason"], one["repairs"]) for one in job_verdicts(path, capfd)]
    assert DAMAGED[name] in found
    line = path.read_text()
    assert len(line) < 500
    assert not any(word in line for word in ("get_weather", "read_file", "Bash", "made-up", "call_1"))
    assert line.rstrip("\n") in issue.read_text()
    assert cli.main(["minimise", str(recording), "--expect", "lifted"]) == 2
    assert "--expect is for calls in text" in capfd.readouterr().err


@pytest.mark.sampled(1)
@pytest.mark.parametrize("native", [True, False])
def test_a_call_that_a_rule_blocked_keeps_what_the_rule_looks_for(
    native: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "rules.yaml"
    config.write_text(RULES)
    command = "cd /srv/secret-project && git push --force origin main"
    if native:
        body = manyflows.native("Bash", json.dumps({"command": command, "timeout": 7}), "call_77")
    else:
        body = manyflows.streamed(f"I push.\n{manyflows.written('Bash', command=command)}\n")
    flow = manyflows.flow_of("rule", [manyflows.user("go")], body, tools=TOOLS)
    recording, path = manyflows.write(tmp_path / "rule.flow", [flow]), tmp_path / "job.jsonl"
    assert cli.main(["minimise", str(recording), "--config", str(config), "-o", str(path)]) == 0
    verdicts = job_verdicts(path, capfd, "--config", str(config))
    assert [one.get("rule") for one in verdicts if one["status"] == "blocked"] == ["no-force"]
    line = path.read_text()
    deltas = re.findall(r'"(?:arguments|content)":("(?:[^"\\]|\\.)*")', json.loads(line)["body"])
    assert "push --force" in "".join(map(json.loads, deltas))
    assert not any(word in line for word in ("secret", "origin", "call_77", "write_file"))


def test_json_that_must_stay_as_it_is_written_is_cut_by_characters() -> None:
    raw = '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"{"}}]}}]}'
    flow = manyflows.flow_of("x", [manyflows.user("go")], [f"data: {raw}\n\n".encode()])
    job = job_of(flow, one_reply(flow), None)
    assert job is not None
    assert job.parts[0].is_json
    kept = as_text_where_needed(job, lambda one: not one.parts[0].is_json)
    assert kept.body == f"data: {raw}\n\n"
    shows = Clock(60).counting(lambda one: '"arguments":"{"' in one.body)
    assert reduced_job(kept, shows, Clock(60)).body == '"arguments":"{"'


def test_time_that_is_up_leaves_the_job() -> None:
    flow = manyflows.flow_of("x", [manyflows.user("go")], manyflows.streamed("a b"))
    job = job_of(flow, one_reply(flow), None)
    assert job is not None
    clock = Clock(0)
    assert anonymised_job(reduced_job(job, clock.counting(lambda _: True), clock), lambda _: True, clock) == job


def one_reply(flow: http.HTTPFlow) -> Recorded:
    ((_, reply),) = replies(flow, configuration(None))
    return reply


# --- what is expected of native calls, and where two readings differ --------------------------------------------------

BEDROCK = ("lifted-bedrock", "lifted-bedrock-converse")


def test_a_damaged_native_call_that_should_be_sound(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The job shows the verdict, and none that is expected; the paste says what that is."""
    recording, path = REPO / "recordings" / "id-for-two-calls.flow", tmp_path / "job.jsonl"
    issue = tmp_path / "issue.md"
    options = ["--expect", "native", "-o", str(path), "--issue", str(issue)]
    assert cli.main(["minimise", str(recording), *options]) == 0
    found = [(one["status"], one["reason"]) for one in job_verdicts(path, capfd)]
    assert ("native", "repeated_id") in found
    assert ("native", None) not in found or len(found) > 1  # the call whose id the other one repeats
    assert "in a native call, repaired: repeated_id. Expected: native.\n" in issue.read_text()


def test_a_rule_that_should_have_blocked_a_sound_call(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "rules.yaml"
    config.write_text(RULES.replace("--force", "--mirror"))
    body = manyflows.native("Bash", json.dumps({"command": "git push --force origin main"}), "call_77")
    flow = manyflows.flow_of("rule", [manyflows.user("go")], body, tools=TOOLS)
    recording, path = manyflows.write(tmp_path / "rule.flow", [flow]), tmp_path / "job.jsonl"
    options = [str(recording), "--config", str(config), "-o", str(path)]
    assert cli.main(["minimise", *options, "--expect", "blocked access"]) == 0
    assert [(one["status"], one["reason"]) for one in job_verdicts(path, capfd, "--config", str(config))] == [
        ("native", None)
    ]
    assert not any(word in path.read_text() for word in ("origin", "call_77", "write_file"))
    assert cli.main(["minimise", *options, "--expect", "native"]) == 2
    assert "its 1 native call already are native" in capfd.readouterr().err


@pytest.mark.sampled(0)
def test_two_configurations_that_judge_a_native_call_otherwise(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What differs is a rule, so the job keeps what the rule looks for, and differs there in the same way."""
    config = tmp_path / "rules.yaml"
    config.write_text(RULES)
    body = manyflows.native("Bash", json.dumps({"command": "cd /srv && git push --force", "timeout": 7}), "call_77")
    flow = manyflows.flow_of("rule", [manyflows.user("go")], body, tools=TOOLS)
    recording, path = manyflows.write(tmp_path / "rule.flow", [flow]), tmp_path / "job.jsonl"
    issue = tmp_path / "issue.md"
    options = [str(recording), "--against", str(config), "-o", str(path), "--issue", str(issue)]
    assert cli.main(["minimise", *options]) == 0
    (ours,) = job_verdicts(path, capfd)
    (theirs,) = job_verdicts(path, capfd, "--config", str(config))
    assert (ours["status"], theirs["status"], theirs["rule"]) == ("native", "blocked", "no-force")
    said = "native in a native call; the other configuration says blocked (access, rule no-force) in a native call.\n"
    assert issue.read_text().startswith(said)
    assert not any(word in path.read_text() for word in ("srv", "timeout", "call_77", "write_file"))
    assert cli.main(["minimise", str(recording), "--config", str(config), "--against", str(config)]) == 2
    assert "nothing of it is read in another way" in capfd.readouterr().err


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BEDROCK)
def test_a_body_of_messages_stays_one(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Bedrock's binary events: what is left is still messages with right checksums, which the same command reads."""
    config = tmp_path / "rules.yaml"
    config.write_text(RULES.replace('tools: Bash, arguments: {command: "push --force"}', "tools: .*"))
    recording, path = REPO / "recordings" / f"{name}.flow", tmp_path / "job.jsonl"
    options = [str(recording), "--config", str(config), "-o", str(path), "--time", "20"]
    assert cli.main(["minimise", *options]) == 0
    job = json.loads(path.read_text())
    assert "body" not in job
    frames = EventStream()
    body = base64.b64decode(job["body_base64"])
    assert b"".join(frame.raw for frame in frames.feed(body)) == body
    assert not frames.broken
    (verdict, *_) = job_verdicts(path, capfd, "--config", str(config))
    assert (verdict["status"], verdict["rule"]) == ("blocked", "no-force")
    assert len(body) < len(one_reply(flows_in(recording)[0]).body) / 2


def test_a_message_without_a_payload_stays_and_secrets_in_payloads_go() -> None:
    flow = flows_in(REPO / "recordings" / "lifted-bedrock.flow")[0]
    reply = one_reply(flow)
    job = job_of(flow, replace(reply, body=reply.body + b"no message"), None)
    assert job is not None
    assert job.messages.endswith(b"no message")
    assert job.mapped(lambda text: text).messages == job.messages
    secret = job.mapped(lambda text: f"{text} {manyflows.SECRET}" if len(text) > 9 else text)
    body = base64.b64decode(json.loads(secret.line)["body_base64"])
    assert manyflows.SECRET in payloads(body)
    assert manyflows.SECRET not in payloads(base64.b64decode(json.loads(secret.clean_line)["body_base64"]))


def payloads(body: bytes) -> str:
    return "".join((frame.data or b"").decode() for frame in EventStreamChunks().feed(body))
