"""Processors in the configuration: what each key means, a mistake is one line with its place; and in the host."""

import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from casefiles import openai_tools
from conftest import REPO
from test_processors import body_of
from toolcalls import report
from toolcalls.config import ConfigError, load, parse
from toolcalls.dialects import all_dialects
from toolcalls.mitm.plan import Plan, plan_for, wire_for
from toolcalls.mitm.rules import Rules
from toolcalls.mitm.tap import Tap
from toolcalls.route import Access, AccessRule, Condition, Config, Filter, Loops, Reactor
from toolcalls.wires import all_wires

REACTORS = REPO / "config" / "examples" / "reactors.py"


def read(text: str, source: str = "c.yaml") -> Config:
    return parse(text, source, all_dialects(), all_wires())


GOOD: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("{}", {}),
    "null": ("{access: null, loops: null}", {}),
    "an empty section": ("{access: {}, loops: {}}", {"access": Access(), "loops": Loops()}),
    "a rule": (
        "{access: {default: deny, rules: [{name: a, action: allow, tools: [x, y.*], priority: 2, message: m}]}}",
        {"access": Access((AccessRule("a", "allow", ("x", "y.*"), priority=2, message="m"),), "deny")},
    ),
    "conditions": (
        "{access: {rules: [{name: a, action: block, arguments: {c: rm, p: {outside: /p}, "
        "q: {inside: [a, b], matches: x}}}]}}",
        {
            "access": Access(
                (
                    AccessRule(
                        "a",
                        "block",
                        arguments=(
                            Condition("c", "rm"),
                            Condition("p", outside=("/p",)),
                            Condition("q", "x", inside=("a", "b")),
                        ),
                    ),
                )
            )
        },
    ),
    "loops": ("{loops: {action: stop, same_call: 0, cycle: 2}}", {"loops": Loops("stop", same_call=0, cycle=2)}),
    "filters": (
        r"{filters: [{name: a, literal: x}, {name: b, pattern: '(y)', replace: '\1', max_length: 5, calls: true}]}",
        {"filters": (Filter("a", "x"), Filter("b", pattern="(y)", replace=r"\1", max_length=5, calls=True))},
    ),
    "steering": ("{steering: request}", {"steering": "request"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "settings"), GOOD.values(), ids=GOOD.keys())
def test_what_a_key_means(text: str, settings: dict[str, Any]) -> None:
    route = read(f"defaults: {text}").default
    assert {key: getattr(route, key) for key in settings} == settings
    assert route.processes == any(settings.get(key) for key in ("access", "loops", "filters"))


BAD = {
    "a pattern that is none": ("access: {rules: [{name: a, action: block, tools: '('}]}", "regular expression"),
    "no name": ("access: {rules: [{action: block}]}", 'expected the key "name"'),
    "no action": ("access: {rules: [{name: a}]}", 'expected the key "action"'),
    "an action that is none": ("access: {rules: [{name: a, action: deny}]}", "expected one of allow, block"),
    "a name twice": (
        "access: {rules: [{name: a, action: block}, {name: a, action: allow}]}",
        'the name "a" is taken already',
    ),
    "no tools": ("access: {rules: [{name: a, action: block, tools: []}]}", "at least one regular expression"),
    "a condition that says nothing": (
        "access: {rules: [{name: a, action: block, arguments: {p: {}}}]}",
        "matches, out",
    ),
    "a condition's pattern": ("access: {rules: [{name: a, action: block, arguments: {p: '['}}]}", "regular expression"),
    "an unknown key of a rule": ("access: {rules: [{name: a, action: block, tool: x}]}", 'did you mean "tools"?'),
    "once is no loop": ("loops: {same_call: 1}", "0 for never, or a whole number from 2"),
    "an action for loops": ("loops: {action: halt}", "observe, warn, replace, stop"),
    "a filter without a place": ("filters: [{name: a}]", "either literal or pattern"),
    "a filter with both": ("filters: [{name: a, literal: x, pattern: y}]", "either literal or pattern"),
    "an empty literal": ("filters: [{name: a, literal: ''}]", "at least one character"),
    "a group that is not there": (r"filters: [{name: a, pattern: x, replace: '\1'}]", "groups that the pattern has"),
    "a reactor without a function": ("reactors: [{file: x.py}]", 'expected the key "function"'),
    "a reactor's file": ("reactors: [{file: absent.py, function: f}]", "cannot be read"),
    "a time limit": (f"reactors: [{{file: {REACTORS}, function: relative_paths, time_limit: 0}}]", "more than 0"),
    "where steering goes": ("steering: both", "reply, request"),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_a_mistake_is_one_line_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(f"version: 1\ndefaults:\n  {text}\n")
    (line,) = caught.value.errors
    assert line.startswith("c.yaml:3: ")
    assert words in line


@pytest.mark.parametrize(
    ("source", "words"),
    [("def g(call): ...", "function in the file"), ("def f(:", "is not Python"), ("f = 1", "function in the file")],
)
def test_a_reactors_file_is_looked_at(tmp_path: Path, source: str, words: str) -> None:
    (tmp_path / "r.py").write_text(source)
    with pytest.raises(ConfigError, match=words):
        read("defaults: {reactors: [{file: r.py, function: f}]}", str(tmp_path / "c.yaml"))


def test_a_reactors_file_is_found_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text("def f(call): ...")
    config = read("defaults: {reactors: [{file: r.py, function: f}]}", str(tmp_path / "c.yaml"))
    assert config.default.reactors == (Reactor(str(tmp_path / "r.py"), "f"),)


def test_a_reactors_file_that_does_not_run_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text("import no_such_module\ndef f(call): ...")
    (tmp_path / "c.yaml").write_text("defaults: {reactors: [{file: r.py, function: f}]}")
    with pytest.raises(ConfigError, match="no_such_module"):
        Rules(str(tmp_path / "c.yaml"))


# --- in the host ------------------------------------------------------------------------------------------------------

TOOLS = openai_tools({"Bash": {"command": "string", "timeout": "integer"}, "browser_open": {"url": "string"}})


def planned(example: str, messages: list[Any], **more: Any) -> Plan:
    body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS, **more}).encode()
    request = http.Request.make("POST", "http://127.0.0.1/v1/chat/completions", body, {"user-agent": "test/1"})
    wire = wire_for(request)
    assert wire is not None
    return plan_for(wire, request, load(REPO / "config" / "examples" / f"{example}.yaml", all_dialects(), all_wires()))


def said(plan: Plan, says: list[Any]) -> dict[str, Any]:
    exchange = plan.exchange("sse")
    exchange.feed(body_of(says, "process", "sse"))
    exchange.close()
    assert exchange.failure is None
    return report.of(exchange)


USER = {"role": "user", "content": "Do it."}


def test_access_rules_in_the_host() -> None:
    plan = planned("access-rules", [USER])
    assert "request: browser_open is not offered (no-browser)" in plan.decision.evidence
    assert plan.request is not None
    assert [tool["function"]["name"] for tool in json.loads(plan.request[1])["tools"]] == ["Bash"]
    data = said(plan, [{"Bash": {"command": "cat .env"}}, {"Bash": {"command": "ls"}}])
    assert data["summary"] == "native Bash · 1 blocked: no-secrets"
    assert data["worst"] == "blocked"


def test_a_loop_in_the_history_of_the_request() -> None:
    messages: list[Any] = [USER]
    for number in range(4):
        function = {"name": "Bash", "arguments": '{"command": "ls"}'}
        calls = [{"id": f"c{number}", "type": "function", "function": function}]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"c{number}", "content": str(number)},
        ]
    data = said(planned("loop-guard", messages), [{"Bash": {"command": "ls"}}])
    assert data["summary"] == "1 blocked: same_call · warning: same_call"


def test_reactors_in_the_host() -> None:
    data = said(planned("reactors", [USER]), [{"Bash": {"command": "make", "timeout": 900}}])
    assert data["summary"] == "native Bash · 1 changed: capped_timeout"
    ((change),) = data["verdicts"][0]["changes"]
    assert json.loads(change["before"][1])["timeout"] == 900
    assert json.loads(change["after"][1])["timeout"] == 120
    json.dumps(data)


def test_steering_in_the_host() -> None:
    notice = {"role": "assistant", "content": "[blocked: use-the-editor]"}
    plan = planned("steering", [USER, notice, {"role": "user", "content": "And?"}])
    assert "request: steering text for use-the-editor" in plan.decision.evidence
    assert plan.request is not None
    last = json.loads(plan.request[1])["messages"][-1]["content"]
    assert last.startswith("Your last command wrote a file")
    assert last.endswith("\n\nAnd?")
    assert planned("steering", [USER, notice, {"role": "user", "content": "And?"}]).request == plan.request


def test_a_reply_that_is_too_large_to_be_read_does_not_pass_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcalls.mitm.tap.MAX_WHOLE", 10)
    plan = planned("access-rules", [USER])
    tap = Tap(plan.exchange("whole"), form="whole", decoder=None, changes=plan.changes)
    body = body_of([{"Bash": {"command": "cat .env"}}], "process", "whole")
    assert [tap(body), tap(body), tap(b"")] == [[], [], []]
    assert tap.exchange.failure is not None
