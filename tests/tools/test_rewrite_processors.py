"""Processors tried on a recorded reply without a proxy: `toolcalls rewrite --config`; and what the examples promise.

Strategy: the files in `config/examples` are run as they are, over the command, on a reply with calls in its text and on
one with native calls, and what their comments say must have happened.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from support.casefiles import openai_tools
from support.chatclient import received
from support.processorcases import body_of
from support.repository import REPO
from toolcalls import cli

EXAMPLES = REPO / "config" / "examples"
TOOLS = openai_tools(
    {
        "Bash": {"command": "string", "timeout": "integer"},
        "read_file": {"path": "string"},
        "browser_open": {"url": "string"},
    }
)
DECLARED = {"tools": TOOLS, "model": "m"}


class Tried:
    """What the command gave: the body, and the lines on standard error by kind."""

    def __init__(self, status: int, out: bytes, err: str) -> None:
        self.status = status
        self.body = out
        self.err = err
        lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
        self.verdicts = [line for line in lines if "status" in line]
        self.notes = [line for line in lines if "status" not in line]

    @property
    def blocked(self) -> list[str]:
        """The rules that blocked."""
        return [verdict["rule"] for verdict in self.verdicts if verdict["status"] == "blocked"]


class Try:
    """Runs the command on a reply."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[bytes]) -> None:
        self._folder = folder
        self._capture = capture

    def __call__(self, body: bytes, *arguments: str, messages: tuple[Any, ...] = (), **more: Any) -> Tried:
        reply, request = self._folder / "reply", self._folder / "request.json"
        reply.write_bytes(body)
        request.write_text(
            json.dumps({"messages": [{"role": "user", "content": "Go."}, *messages], **DECLARED, **more})
        )
        status = cli.main(["rewrite", "--request", str(request), *arguments, str(reply)])
        out, err = self._capture.readouterr()
        return Tried(status, out, err.decode())


@pytest.fixture
def attempt(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Try:
    return Try(tmp_path, capsysbinary)


def example(name: str) -> tuple[str, str]:
    return "--config", str(EXAMPLES / f"{name}.yaml")


Says = list[Any]


def both(says: Says) -> list[bytes]:
    """The reply with calls in its text, and with native ones."""
    return [body_of(says, "lift", "sse"), body_of(says, "process", "sse")]


# --- the command ------------------------------------------------------------------------------------------------------


def test_without_a_configuration_nothing_is_blocked_or_noted(attempt: Try) -> None:
    tried = attempt(body_of([{"Bash": {"command": "cat .env"}}] * 8, "process", "sse"))
    assert tried.status == 0
    assert {verdict["status"] for verdict in tried.verdicts} == {"native"}
    assert tried.notes == []


def test_a_route_is_found_by_model_or_named(attempt: Try, tmp_path: Path) -> None:
    rule = "access: {rules: [{name: R, action: block, tools: Bash}]}"
    file = tmp_path / "c.yaml"
    file.write_text(
        f"routes:\n- {{name: one, match: {{model: a*}}, {rule.replace('R', 'first')}}}\n"
        f"- {{name: two, match: {{model: b*, host: api.example}}, {rule.replace('R', 'second')}}}\n"
    )
    body = body_of([{"Bash": {"command": "ls"}}], "process", "sse")
    config = ("--config", str(file))
    assert attempt(body, *config, model="alpha").blocked == ["first"]
    assert attempt(body, *config, model="beta").blocked == []  # a recorded body tells no host
    assert attempt(body, *config, "--route", "two", model="beta").blocked == ["second"]
    assert attempt(body, *config, "--route", "default", model="alpha").blocked == []


def test_the_rules_see_the_agent(attempt: Try, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("defaults: {access: {rules: [{name: r, action: block, agent: 'cline/*'}]}}")
    body = body_of([{"Bash": {"command": "ls"}}], "process", "sse")
    assert attempt(body, "--config", str(file)).blocked == []
    assert attempt(body, "--config", str(file), "--agent", "Cline/3").blocked == ["r"]


def test_what_the_command_line_says_counts_more(attempt: Try, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("defaults: {client: native, upstream: native, policy: strict}")
    body = body_of([{"read_file": {"path": "a"}}, "\n\nMore."], "lift", "sse")
    config = ("--config", str(file))
    assert attempt(body, *config).verdicts[0]["status"] == "declined"
    assert attempt(body, *config, "--upstream", "text").verdicts[0]["reason"] == "not_terminal"
    assert attempt(body, *config, "--upstream", "text", "--policy", "standard").verdicts[0]["status"] == "lifted"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--route", "x"), "--route: there is no --config"),
        (("--config", "absent.yaml"), "absent.yaml"),
        ((*example("access-rules"), "--route", "x"), "route: unknown"),
    ],
)
def test_a_configuration_that_cannot_be_used(attempt: Try, arguments: tuple[str, ...], words: str) -> None:
    tried = attempt(b"data: [DONE]\n\n", *arguments)
    assert tried.status == 2
    assert words in tried.err
    assert tried.body == b""


def test_a_broken_reactor_is_told_with_file_and_line(attempt: Try, tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text("def f(call): ...\n\nundefined\n")
    (tmp_path / "c.yaml").write_text("defaults: {reactors: [{file: r.py, function: f}]}")
    tried = attempt(b"", "--config", str(tmp_path / "c.yaml"))
    assert tried.status == 2
    assert "r.py:3: NameError(" in tried.err


def test_jobs_tell_notes_and_may_name_a_route(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    jobs = tmp_path / "jobs"
    job = {"body": body_of(["A sk-0123456789abcdef0123."], "process", "sse").decode(), "request": {"messages": []}}
    jobs.write_text("".join(json.dumps({"id": name, **job, "route": name}) + "\n" for name in ("content-filters", "x")))
    assert cli.main(["rewrite", "--jsonl", *example("content-filters"), str(jobs)]) == 1
    good, bad = (json.loads(line) for line in capsysbinary.readouterr().out.splitlines())
    assert received(good["body"].encode()).choices[0].text == "A [key]."
    assert [note["rule"] for note in good["notes"]] == ["keys"]
    assert bad["error"].startswith("route: unknown")


def test_a_text_client_gets_no_blocked_call_as_text_whatever_its_upstream_speaks(attempt: Try, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        "defaults: {client: text, client_dialect: invoke, upstream: native, "
        "access: {rules: [{name: r, action: block, tools: B.*}]}}"
    )
    for body in both(["So.\n\n", {"Bash": {"command": "rm"}}, {"read_file": {"path": "a"}}]):
        tried = attempt(body, "--config", str(file))
        assert tried.blocked == ["r"]
        text = received(tried.body).choices[0].text
        assert "Bash" not in text.replace("The call of Bash", "")
        assert '<invoke name="read_file">' in text


# --- the examples -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "rule"),
    [
        ("Bash", {"command": "cat .env"}, "no-secrets"),
        ("Bash", {"command": "cat ~/.aws/credentials"}, "no-secrets"),
        ("read_file", {"path": "id_rsa"}, "no-secrets"),
        ("Bash", {"command": "cat .environment"}, None),
        ("read_file", {"path": "/etc/passwd"}, "stay-in-the-project"),
        ("read_file", {"path": "../other"}, "stay-in-the-project"),
        ("read_file", {"path": "~/notes"}, "stay-in-the-project"),
        ("read_file", {"path": "src/a.py"}, None),
        ("read_file", {"path": "/tmp/a"}, None),
        ("Bash", {"command": "git push --force origin main"}, "no-force"),
        ("Bash", {"command": "git push -f"}, "no-force"),
        ("Bash", {"command": "git push"}, None),
        ("browser_open", {"url": "http://a"}, "no-browser"),
    ],
)  # fmt: skip
def test_the_access_rules(attempt: Try, name: str, arguments: dict[str, Any], rule: str | None) -> None:
    for body in both([{name: arguments}, {"read_file": {"path": "README.md"}}]):
        tried = attempt(body, *example("access-rules"))
        assert tried.blocked == ([rule] if rule else [])
        choice = received(tried.body).choices[0]
        assert [call["name"] for call in choice.calls] == ["read_file"] if rule else [name, "read_file"]
        assert ("blocked" in choice.text or "Force pushes" in choice.text) == bool(rule)
        assert choice.finish == "tool_calls"


def test_the_loop_guard(attempt: Try) -> None:
    history: list[Any] = []
    for number in range(4):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}
        history += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": str(number)},
        ]
    for body in both([{"Bash": {"command": "ls"}}]):
        tried = attempt(body, *example("loop-guard"), messages=tuple(history))
        assert tried.blocked == ["same_call"]
        assert [(note["rule"], note["warns"]) for note in tried.notes] == [("same_call", True)]
        choice = received(tried.body).choices[0]
        assert (choice.calls, choice.finish) == ([], "stop")
        assert choice.text.startswith("This is a loop: Bash was called the same way 5 times.")
        assert attempt(body, *example("loop-guard"), messages=tuple(history[2:])).blocked == []
        again = (*history, {"role": "user", "content": "Once more."})
        assert attempt(body, *example("loop-guard"), messages=again).blocked == []


def test_the_reactors(attempt: Try) -> None:
    says = [{"read_file": {"path": "/project/src/a.py"}}, {"Bash": {"command": "make", "timeout": 900_000}}]
    for body in both(says):
        tried = attempt(body, *example("reactors"))
        calls = received(tried.body).choices[0].calls
        assert [json.loads(call["arguments"]) for call in calls] == [
            {"path": "src/a.py"},
            {"command": "make", "timeout": 120_000},
        ]
        assert [change["rule"] for verdict in tried.verdicts for change in verdict["changes"]] == [
            "relative_paths",
            "capped_timeout",
        ]


def test_the_content_filters(attempt: Try) -> None:
    says = ["I'll help you with that. Use sk-0123456789abcdef0123.\n\n", {"Bash": {"command": "ssh build-7.internal"}}]
    for body in both(says):
        tried = attempt(body, *example("content-filters"))
        choice = received(tried.body).choices[0]
        assert choice.text.strip() == "Use [key]."
        assert json.loads(choice.calls[0]["arguments"]) == {"command": "ssh build.example"}
        assert sorted(note["rule"] for note in tried.notes) == ["greeting", "host", "keys"]


def test_the_steering(attempt: Try) -> None:
    for body in both([{"Bash": {"command": "echo x > a.py"}}]):
        tried = attempt(body, *example("steering"))
        assert tried.blocked == ["use-the-editor"]
        assert received(tried.body).choices[0].text == "[blocked: use-the-editor]"


def test_rules_know_the_tools_of_the_request(attempt: Try, tmp_path: Path) -> None:
    """A name that agents take for one of them is that one to a rule that blocks."""
    config = tmp_path / "c.yaml"
    config.write_text("routes: [{name: r, access: {rules: [{name: no-files, action: block, tools: read_file}]}}]")
    tried = attempt(body_of([{"read_fiel": {"path": "a"}}], "process", "sse"), "--config", str(config))
    assert (tried.status, tried.blocked) == (0, ["no-files"])
