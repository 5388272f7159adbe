"""Processors in the configuration: what each key means, a mistake is one line with its place; and in the host."""

import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from support.casefiles import openai_tools
from support.processorcases import body_of
from support.repository import REPO
from toolcalls.config import ConfigError, load, parse
from toolcalls.dialects import all_dialects
from toolcalls.flows.exchange_plan import ExchangePlan, plan_for, wire_for
from toolcalls.insight import report
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.route import Access, AccessRule, Condition, Config, Filter, Loops, Reactor
from toolcalls.wires import all_wires

REACTORS = REPO / "config" / "examples" / "reactors.py"


def read(text: str, source: str = "c.yaml") -> Config:
    return parse(text, source, all_dialects(), all_wires())


GOOD: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("{}", {"access": None, "loops": Loops(message=0)}),
    "null": ("{access: null, loops: null}", {"access": None, "loops": None}),
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
    "steering": ("{steering: request, rewrite_request: true}", {"steering": "request"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "settings"), GOOD.values(), ids=GOOD.keys())
def test_what_a_key_means(text: str, settings: dict[str, Any]) -> None:
    route = read(f"defaults: {text}").default
    assert {key: getattr(route, key) for key in settings} == settings
    guarded = route.loops is not None and route.loops.takes_part
    assert route.processes == (guarded or any(settings.get(key) for key in ("access", "filters")))


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
    "a long time limit": (
        f"reactors: [{{file: {REACTORS}, function: relative_paths, time_limit: 60.5}}]",
        "at most 60",
    ),
    "a time limit that is no number": (
        f"reactors: [{{file: {REACTORS}, function: relative_paths, time_limit: true}}]",
        "a number of seconds",
    ),
    "where steering goes": ("steering: both", "reply, request"),
    "steering in requests that nobody rewrites": ("steering: request", "needs rewrite_request: true"),
    **{
        f"a rule of the addon's own name, {name}": (
            f"access: {{rules: [{{name: {name}, action: block}}]}}",
            "a word of the addon's own",
        )
        for name in ("default", "same_call", "same_result", "cycle", "message")
    },
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_a_mistake_is_one_line_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(f"version: 1\ndefaults:\n  {text}\n")
    (line,) = caught.value.errors
    assert line.startswith("c.yaml:3: ")
    assert words in line


STEERED = [
    "defaults: {rewrite_request: true, steering: request}\nroutes: [{name: a, access: {default: deny}}]",
    "defaults: {steering: request}\nroutes: [{name: a, rewrite_request: true, access: {default: deny}}]",
    "defaults: {rewrite_request: true, steering: request}\nroutes: [{name: a, rewrite_request: false}]",
    "routes: [{name: a, rewrite_request: true, steering: request, loops: {action: stop}}]",
]


@pytest.mark.parametrize("text", STEERED)
def test_steering_that_says_something(text: str) -> None:
    assert read(text).warnings == ()


def test_a_route_that_rewrites_nothing_cannot_steer_by_what_the_defaults_say() -> None:
    route = "{access: {default: deny}, rewrite_request: false}"
    text = f"defaults: {{rewrite_request: true, steering: request}}\nroutes:\n- {route}"
    with pytest.raises(ConfigError, match=r"^c\.yaml:3: routes\[0\]\.steering: request needs rewrite_request"):
        read(text)


@pytest.mark.parametrize("blocks", ["access: {default: deny}", "loops: {action: replace}", "loops: {action: stop}"])
def test_steering_that_a_route_inherits_is_a_mistake_where_it_begins_to_block(blocks: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(f"defaults: {{steering: request}}\nroutes:\n- name: a\n  {blocks}")
    assert [line.split(": ")[:2] for line in caught.value.errors] == [
        ["c.yaml:1", "defaults.steering"],
        ["c.yaml:4", "routes[0].steering"],
    ]


def test_filters_that_may_match_are_no_warning() -> None:
    patterns = ["sk-[a-z]{40}", "a+", "(x|yy){3,100}", r"\bx*", "(a)(b)?", "x{200}"]
    filters = "".join(f"\n  - {{name: f{i}, pattern: '{pattern}'}}" for i, pattern in enumerate(patterns))
    assert read(f"defaults:\n  filters:{filters}\nroutes: [{{name: a}}]").warnings == ()


VAIN = {
    "rules that all allow": ("access: {rules: [{name: a, action: allow, tools: x}]}", "access does nothing"),
    "a rule behind one that decides everything": (
        "access: {rules: [{name: b, action: block, tools: x}, {name: a, action: block, priority: 1, agent: '*'}]}",
        'access.rules[0] does nothing: the rule "a" before it',
    ),
    "a rule of less than the usual priority behind one that decides everything": (
        "access: {rules: [{name: b, action: block, tools: x, priority: -1}, {name: a, action: block}]}",
        'access.rules[0] does nothing: the rule "a" before it',
    ),
    "a rule that allows what is allowed": (
        "access: {rules: [{name: a, action: block, tools: x}, {name: b, action: allow, tools: y}]}",
        "access.rules[1] does nothing: no rule behind it blocks",
    ),
    "a message that nobody gets": (
        "access: {default: deny, rules: [{name: a, action: allow, tools: x, message: y}]}",
        "access.rules[0].message does nothing",
    ),
    "a guard that counts nothing": (
        "loops: {same_call: 0, same_result: 0, cycle: 0, message: 0}",
        "loops does nothing",
    ),
    "tools without calls": ("loops: {same_call: 0, same_result: 0, cycle: 0, tools: x}", "loops.tools does nothing"),
    "a text that is not shown": ("loops: {action: warn, text: x}", "loops.text does nothing"),
    "the length of a literal": (
        "filters: [{name: a, literal: x, max_length: 9}]",
        "filters[0].max_length does nothing",
    ),
    "a length that no match has": (
        "filters: [{name: a, pattern: 'sk-[a-z]{40}', max_length: 42}]",
        "filters[0] does nothing: a match has 43 characters at least, and max_length is 42",
    ),
    "a length that no match has by default": (
        "filters: [{name: a, pattern: '(?:ab|cde){101,}'}]",
        "filters[0] does nothing: a match has 202 characters at least, and max_length is 200",
    ),
    "a length that some matches do not have": (
        "filters: [{name: a, pattern: 'x{2,300}'}]",
        "filters[0].max_length is too little: a match may have 300 characters, and what goes past max_length (200) is",
    ),
    "a pattern of no character": (
        "filters: [{name: a, pattern: '^(?=x)'}]",
        "filters[0].pattern does nothing: it matches no character",
    ),
    "steering without a rule": ("{rewrite_request: true, steering: request}", "steering does nothing"),
    **{
        f"{setting} where no text is read": (
            f"{{client: native, upstream: native, {setting}}}",
            f"{setting.partition(':')[0]} does nothing",
        )
        for setting in (
            "policy: strict",
            "take: [fenced]",
            "require: [terminal]",
            "allowed_tools: [x]",
            "multiple_calls: false",
        )
    },
    "a dialect for a native client": ("{client: native, client_dialect: hermes}", "client_dialect does nothing"),
}


@pytest.mark.parametrize(("text", "words"), VAIN.values(), ids=VAIN.keys())
def test_what_does_nothing_is_told_with_its_line(text: str, words: str, tmp_path: Path) -> None:
    inside = text.strip("{}") if text.startswith("{") else text
    document = f"routes:\n- {{name: n,\n  {inside}}}\n"
    (warning,) = read(document).warnings
    assert warning.startswith(f"c.yaml:3: routes[0].{words}")
    path = tmp_path / "c.yaml"
    path.write_text(document)
    assert load(path, all_dialects(), all_wires()).warnings == (warning.replace("c.yaml", str(path), 1),)


@pytest.mark.parametrize("counted", ["same_call", "same_result", "cycle"])
def test_a_guard_that_counts_one_kind_of_circle_is_no_warning(counted: str) -> None:
    counts = ", ".join(f"{kind}: {3 * (kind == counted)}" for kind in ("same_call", "same_result", "cycle", "message"))
    assert read(f"routes:\n- {{name: n, loops: {{{counts}, tools: x}}}}\n").warnings == ()


@pytest.mark.parametrize("example", sorted((REPO / "config").rglob("*.yaml")), ids=lambda path: path.name)
def test_our_own_examples_say_nothing_in_vain(example: Path) -> None:
    assert load(example, all_dialects(), all_wires()).warnings == ()


EVERY = f"""
routes:
- name: a
  rewrite_request: true
  steering: request
  access:
    default: deny
    message: m
    rules:
    - name: r
      action: block
      tools: [x, y]
      model: m*
      agent: a*
      priority: 3
      message: n
      arguments:
        c: rm
        d:
          matches: x
          outside: [/p]
          inside: [/q]
  loops:
    action: warn
    same_call: 3
    same_result: 4
    cycle: 5
    progress: false
    message: 6
    tools: [x]
    text: t
  reactors:
  - file: {REACTORS}
    function: relative_paths
    tools: [x]
    time_limit: 2
  filters:
  - name: f
    pattern: (y)
    replace: z
    max_length: 9
    calls: true
"""
# What is wrong for each of them.
WRONG = {
    "rewrite_request": "maybe", "steering": "both",
    "default": "maybe", "message": "[]", "name": "''", "action": "{}", "tools": "['(']",
    "model": "[]", "agent": "[]", "priority": "high", "c": "'['", "matches": "'('", "outside": "[]", "inside": "{}",
    "progress": "7", "same_call": "1", "same_result": "-1", "cycle": "x", "text": "[]",
    "file": "absent.py", "function": "absent", "time_limit": "-1", "pattern": "'('",
    "replace": r"'\2'", "max_length": "0", "calls": "7",
}  # fmt: skip
PLACES = [number for number, line in enumerate(EVERY.splitlines()) if ": " in line]


def test_every_setting_can_be_given() -> None:
    (route,) = read(EVERY).routes
    assert route.access is not None
    assert route.loops is not None
    assert (len(route.access.rules[0].arguments), len(route.reactors), len(route.filters)) == (2, 1, 1)


@pytest.mark.parametrize("seconds", ["0.001", "60"])
def test_the_shortest_and_the_longest_time_limit(seconds: str) -> None:
    (route,) = read(EVERY.replace("time_limit: 2", f"time_limit: {seconds}")).routes
    assert [reactor.time_limit for reactor in route.reactors] == [float(seconds)]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place + 1} {EVERY.splitlines()[place].strip()}")
def test_a_mistake_in_any_setting_names_its_line(place: int) -> None:
    lines = EVERY.splitlines()
    begin, _, _ = lines[place].partition(": ")
    key = begin.strip().removeprefix("- ")
    lines[place] = f"{begin}: {WRONG[key]}"
    with pytest.raises(ConfigError) as caught:
        read("\n".join(lines))
    assert [line.split(": ")[0] for line in caught.value.errors] == [f"c.yaml:{place + 1}"]
    lines[place] = f"{begin}x: 1"  # an unknown key; an argument may have any name, but no number for a pattern
    with pytest.raises(ConfigError) as caught:
        read("\n".join(lines))
    assert any(line.startswith(f"c.yaml:{place + 1}: ") for line in caught.value.errors)


@pytest.mark.parametrize(
    ("source", "words"),
    [("def g(call): ...", "function in the file"), ("def f(:", "is not Python"), ("f = 1", "function in the file")],
)
def test_a_reactors_file_is_looked_at(tmp_path: Path, source: str, words: str) -> None:
    (tmp_path / "r.py").write_text(source)
    with pytest.raises(ConfigError, match=words):
        read("defaults: {reactors: [{file: r.py, function: f}]}", str(tmp_path / "c.yaml"))


def test_all_that_is_wrong_in_a_list_is_said() -> None:
    text = f"""
        defaults:
          reactors:
          - file: absent.py
            function: f
          - file: {REACTORS}
            function: relative_paths
          - file: {REACTORS}
            function: relative_path
          - 7
          filters:
          - name: a
          - {{name: b, literal: x}}
          - {{name: b, literal: y}}"""
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert [line.split(": ")[:2] for line in caught.value.errors] == [
        ["c.yaml:4", "defaults.reactors[0].file"],
        ["c.yaml:9", "defaults.reactors[2].function"],
        ["c.yaml:10", "defaults.reactors[3]"],
        ["c.yaml:12", "defaults.filters[0]"],
        ["c.yaml:14", "defaults.filters[2]"],
    ]


def test_a_reactors_file_is_found_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text("def f(call): ...")
    config = read("defaults: {reactors: [{file: r.py, function: f}]}", str(tmp_path / "c.yaml"))
    assert config.default.reactors == (Reactor(str(tmp_path / "r.py"), "f"),)


def test_a_reactors_file_that_does_not_run_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text("import no_such_module\ndef f(call): ...")
    (tmp_path / "c.yaml").write_text("defaults: {reactors: [{file: r.py, function: f}]}")
    with pytest.raises(ConfigError, match="no_such_module"):
        ConfigFile(str(tmp_path / "c.yaml"))


# --- in the host ------------------------------------------------------------------------------------------------------

TOOLS = openai_tools({"Bash": {"command": "string", "timeout": "integer"}, "browser_open": {"url": "string"}})


def planned(example: str, messages: list[Any], **more: Any) -> ExchangePlan:
    body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS, **more}).encode()
    request = http.Request.make("POST", "http://127.0.0.1/v1/chat/completions", body, {"user-agent": "test/1"})
    wire = wire_for(request)
    assert wire is not None
    return plan_for(wire, request, load(REPO / "config" / "examples" / f"{example}.yaml", all_dialects(), all_wires()))


def said(plan: ExchangePlan, says: list[Any]) -> dict[str, Any]:
    exchange = plan.exchange("sse")
    exchange.feed(body_of(says, "process", "sse"))
    exchange.close()
    assert exchange.failure is None
    return report.make_report(exchange)


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
    data = said(planned("loop-guard", in_circles(4)), [LS])
    assert data["summary"] == "1 blocked: same_call · warning: same_call"


def in_circles(count: int, name: str = "Bash") -> list[Any]:
    """A conversation in which the same call was made `count` times, and answered each time otherwise."""
    messages: list[Any] = [USER]
    for number in range(count):
        calls = [{"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": '{"command": "ls"}'}}]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"c{number}", "content": str(number)},
        ]
    return messages


def unguided(text: str, messages: list[Any], says: list[Any]) -> tuple[ExchangePlan, dict[str, Any]]:
    """A plan by a configuration, and the report of a reply that left as it came."""
    body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS}).encode()
    request = http.Request.make("POST", "http://127.0.0.1/v1/chat/completions", body, {"user-agent": "test/1"})
    wire = wire_for(request)
    assert wire is not None
    plan = plan_for(wire, request, read(f"defaults: {text}"))
    exchange = plan.exchange("sse")
    sent = body_of(says, "process", "sse")
    assert exchange.feed(sent) + exchange.close() == sent
    assert exchange.failure is None
    return plan, report.make_report(exchange)


LS = {"Bash": {"command": "ls"}}


@pytest.mark.parametrize("upstream", ["auto", "native"])
def test_without_a_word_of_it_calls_in_circles_are_noted_and_nothing_else(upstream: str) -> None:
    plan, data = unguided(f"{{upstream: {upstream}}}", in_circles(6), [LS])
    assert plan.processors is None
    assert data["summary"] == "native Bash"
    assert [(note["rule"], note["text"], note["warns"]) for note in data["notes"]] == [
        ("same_call", "Bash was called the same way 7 times", False)
    ]


@pytest.mark.parametrize(
    ("text", "count", "says", "noted"),
    [
        ("{}", 5, [LS], []),
        ("{}", 6, ["No call."], []),
        ("{}", 6, [{"Bash": {"command": "pwd"}}], []),
        ("{}", 0, [LS] * 8, ["same_call"]),
        ("{loops: null}", 6, [LS], []),
        ("{loops: {message: 0, same_call: 3}}", 2, [LS], ["same_call"]),
        ("{loops: {message: 0, action: warn}}", 6, [LS], ["same_call"]),
        ("{loops: {message: 0, tools: other}}", 6, [LS], []),
        ("{loops: {message: 0, same_call: 0, same_result: 0, cycle: 0}}", 9, [LS], []),
    ],
)
def test_what_a_guard_that_looks_on_notes(text: str, count: int, says: list[Any], noted: list[str]) -> None:
    plan, data = unguided(text, in_circles(count), says)
    assert plan.processors is None
    assert [note["rule"] for note in data["notes"]] == noted
    assert ("warning" in data["summary"]) == ("warn" in text)


def test_a_guard_that_looks_on_does_not_read_a_request_that_names_no_tool_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no(*_: object) -> None:
        raise AssertionError("the history was read")

    monkeypatch.setattr("toolcalls.requests.processing._recent_turns", no)
    unguided("{}", in_circles(1), [LS])  # the name is in it twice: in the call and where the tool is declared
    with pytest.raises(AssertionError, match="the history was read"):
        unguided("{}", in_circles(3), [LS])


SENTENCE = "I will now check the file once more, and then I will say what is in it. "


@pytest.mark.parametrize(
    ("count", "between", "stopped"),
    [(8, [], True), (3, [], False), (8, [USER], False)],
    ids=["over the history", "too few", "the user spoke"],
)
def test_a_passage_that_a_model_says_turn_after_turn(count: int, between: list[Any], stopped: bool) -> None:
    """Each turn says it once, and calls something else."""
    messages: list[Any] = [USER]
    for number in range(count):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "Bash", "arguments": f'{{"n": {number}}}'}}
        messages += [
            {"role": "assistant", "content": SENTENCE, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": str(number)},
        ]
    body = json.dumps({"model": "m", "messages": [*messages, *between], "tools": TOOLS}).encode()
    request = http.Request.make("POST", "http://127.0.0.1/v1/chat/completions", body)
    wire = wire_for(request)
    assert wire is not None
    plan = plan_for(wire, request, read("defaults: {loops: {action: stop}}"))
    data = said(plan, [SENTENCE, {"Bash": {"n": 99}}])
    assert [note["rule"] for note in data["notes"]] == (["message"] if stopped else [])
    assert [verdict["status"] for verdict in data["verdicts"]] == ["blocked" if stopped else "native"]


def test_reactors_in_the_host() -> None:
    data = said(planned("reactors", [USER]), [{"Bash": {"command": "make", "timeout": 900_000}}])
    assert data["summary"] == "native Bash · 1 changed: capped_timeout"
    ((change),) = data["verdicts"][0]["changes"]
    assert json.loads(change["before"][1])["timeout"] == 900_000
    assert json.loads(change["after"][1])["timeout"] == 120_000
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
    monkeypatch.setattr("toolcalls.mitm.response_tap.MAX_WHOLE", 10)
    plan = planned("access-rules", [USER])
    tap = ResponseTap(plan.exchange("whole"), form="whole", decoder=None, changes=plan.may_change)
    body = body_of([{"Bash": {"command": "cat .env"}}], "process", "whole")
    assert [tap(body), tap(body), tap(b"")] == [[], [], []]
    assert tap.exchange.failure is not None


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        ("async def f(call): ...", r"f \(r\.py:1\) is async"),
        ("def f(): ...", r"f \(r\.py:1\) cannot be called with a call alone"),
        ("\ndef f(call, flow): ...", r"f \(r\.py:2\) cannot be called with a call alone"),
        ("def f(call, *, flow): ...", r"f \(r\.py:1\) cannot be called with a call alone"),
        ("def f(call, flow=None, *more, deep=False, **rest): ...", ""),
        ("def f(*calls): ...", ""),
        ("def f(call, /): ...", ""),
    ],
)
def test_a_reactor_is_a_plain_function_of_one_call(function: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text(function)
    (tmp_path / "c.yaml").write_text("routes:\n- name: n\n  reactors:\n  - file: r.py\n    function: f\n")
    if not fault:
        assert load(tmp_path / "c.yaml", all_dialects(), all_wires()).routes[0].reactors[0].function == "f"
        return
    with pytest.raises(ConfigError, match=rf"c\.yaml:5: .*expected a plain function of one call; {fault}"):
        load(tmp_path / "c.yaml", all_dialects(), all_wires())
