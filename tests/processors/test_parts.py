"""The processors one by one: arguments as they arrive, paths, circles, filters, reactors; what a request becomes."""

import json
import random
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.casefiles import openai_tools
from support.chatclient import HEAD, chunk, ending, event, received
from support.processorcases import body_of, exchange_for, got, native, no_reactors, route_of, run
from support.processorcases import frames as framed
from support.repository import REPO, shared_path
from support.strategies import law
from toolcalls.config import load
from toolcalls.dialects import all_dialects
from toolcalls.processors import Answer, Call, Drop, EarlierCall, Edit, Keep, Say, reactor_runner
from toolcalls.processors.access import Gate, Refusal
from toolcalls.processors.arguments import Arguments, canonical
from toolcalls.processors.filters import Filters, head_of
from toolcalls.processors.loops import CallLoops, TextLoops
from toolcalls.processors.paths import lies_in
from toolcalls.processors.reactor_runner import Broken, Runner
from toolcalls.processors.reactors import Failed, Reactors
from toolcalls.processors.steering import notice
from toolcalls.requests.conversation import conversation_of
from toolcalls.requests.evidence import Decision
from toolcalls.requests.processing import processors_for, with_steering_texts, without_blocked_tools
from toolcalls.requests.spoken_dialects import used_in
from toolcalls.route import Access, AccessRule, Condition, Config, Filter, Loops, Reactor, Route
from toolcalls.text.patterns import Work
from toolcalls.values.conversion import members
from toolcalls.wires import all_wires
from toolcalls.writing.prompting import result as told_as

CHAT = partial(conversation_of, "openai_chat")

# --- arguments --------------------------------------------------------------------------------------------------------

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@law
@given(st.data(), st.dictionaries(st.text(max_size=4), _json, max_size=4), st.sampled_from([None, 1]))
def test_arguments_are_the_members_however_they_are_cut(data: st.DataObject, value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    arguments, found, at = Arguments(), [], 0
    while at < len(text):
        size = data.draw(st.integers(1, 6))
        found += arguments.feed(text[at : at + size])
        at += size
    assert arguments.whole
    assert not arguments.broken
    assert [(key, raw.strip()) for key, raw in found] == members(text)


@pytest.mark.parametrize(
    "text", ["[]", "1", '"{', "{} x", "{}{}", '{"a" 1}', '{"a":1,}', '{"a":tru}', "x{}", '{"a":1}]', '{,"a":1}']
)
def test_what_is_no_object_is_broken_or_never_whole(text: str) -> None:
    arguments = Arguments()
    arguments.feed(text)
    assert arguments.broken or not arguments.whole


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ('{"a": 1, "b": "x"}', '{"b":"\\u0078","a":1}', True),
        ('{"a": 1}', '{"a": 1.0}', False),
        ('{"a": 1}', '{"a": "1"}', False),
        ("{", "{", True),
    ],
)
def test_what_counts_as_the_same_call(left: str, right: str, same: bool) -> None:
    assert (canonical(left) == canonical(right)) == same


# --- access -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/project/a", True),
        ("/project", True),
        ("a/b", True),
        ("./a/../b", True),
        ("//project/a", True),
        ("file:///project/a", True),
        ("/project/../etc/passwd", False),
        ("../x", False),
        ("a/../../x", False),
        ("/projects/a", False),
        ("~/x", None),
        ("$HOME/x", None),
        ("%TEMP%/x", None),
        ("routes/$id.tsx", True),
        ("C:\\x", None),
        ("..\\x", None),  # a name on one machine, the folder above on another
        ("src\\a.py", True),
        ("/etc\\..\\..\\project/a", None),
        (" /etc/passwd", False),
        ("file:///project/%2e%2e/etc", False),
        ("http://host/project/a", False),
        ("/project/a\0/../..", None),
    ],
)
def test_paths_are_judged_by_their_letters(path: str, inside: bool | None) -> None:
    assert lies_in(path, "/project") is inside


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("c:/w/a", True),
        ("C:\\W\\a", True),
        ("C:\\w\\..\\x", False),
        ("C:/wide", False),
        ("D:/w/a", False),
        ("a", True),
        ("..\\x", False),
        ("C:a", None),
        ("\\w\\a", None),
        ("\\\\server\\share", None),
    ],
)
def test_paths_of_windows(path: str, inside: bool | None) -> None:
    assert lies_in(path, "C:\\w") is inside


@pytest.mark.parametrize(
    ("path", "inside"),
    [("src/a", True), ("./src", True), ("lib/a", False), ("srcs/a", False), ("src/../lib", False), ("/src/a", None)],
)
def test_a_relative_folder_stands_beside_relative_paths(path: str, inside: bool | None) -> None:
    assert lies_in(path, "src") is inside
    assert lies_in(path, ".") is (None if path.startswith("/") else True)
    assert lies_in(f"../{path.lstrip('/')}", ".") is False


def judged(rule: AccessRule, arguments: str, default: Any = "allow") -> bool:
    """Whether a call with these arguments is let through."""
    judgement = gate(rule, default=default).judge("x")
    for key, raw in members(arguments):
        judgement.learn(key, raw)
    judgement.end(whole=True)
    return judgement.refusal is None


OUTSIDE = AccessRule("r", "block", arguments=(Condition("path", outside=("/p",)),))
WITHIN = AccessRule("r", "block", arguments=(Condition("path", inside=("/p/.git",)),))
ONLY = AccessRule("r", "allow", arguments=(Condition("path", inside=("/p",)),))
NOT = AccessRule("r", "allow", arguments=(Condition("path", outside=("/p/.git",)),))


@pytest.mark.parametrize(
    ("arguments", "outside", "within", "only", "apart"),
    [
        ({"path": "/p/a"}, True, True, True, True),
        ({"path": "/etc"}, False, True, False, True),
        ({"path": "/p/.git/config"}, True, False, True, False),
        ({"path": "~/a"}, False, False, False, False),  # nobody can tell: no rule is the way through
        ({"path": ["/p/a", "/etc"]}, False, True, False, True),
        ({"path": ["/p/a", {"x": "/p/.git/x"}]}, True, False, True, False),
        ({"path": {"/etc/passwd": 1}}, False, False, False, False),  # the 1 is a relative path
        ({"files": [{"path": "/etc"}]}, False, True, False, False),
        ({"files": [{"path": "/p/.git"}]}, True, False, False, False),
        ({"PATH": "/etc"}, False, True, False, False),
        ({"path\u200b": "/etc"}, False, True, False, False),
        ({" path": "/p/.git"}, True, False, False, False),
        ({"path": "&#47;etc"}, False, False, True, False),  # to a client that decodes entities in its markup
        ({"path": "/p/&#46;git"}, True, False, True, True),
        ({"options": {"path": "/p/a"}, "path": "/etc"}, False, True, False, True),
        ({"other": 1}, True, True, False, False),
    ],
    ids=str,
)
def test_an_argument_is_found_wherever_it_stands(
    arguments: Any, outside: bool, within: bool, only: bool, apart: bool
) -> None:
    text = json.dumps(arguments)
    assert judged(OUTSIDE, text) == outside
    assert judged(WITHIN, text) == within
    assert judged(ONLY, text, "deny") == only
    assert judged(NOT, text, "deny") == apart


@pytest.mark.parametrize(
    ("command", "passes"),
    [
        (["git", "push", "--force"], False),
        (["bash", "-lc", "git push --force"], False),
        ([["git"], {"then": "push"}, "--force"], True),
        ({"git": ["push", "--force"]}, False),
        (["git", "push"], True),
        ("git push --force", False),
    ],
    ids=str,
)
def test_the_words_of_a_command_are_one_line(command: Any, passes: bool) -> None:
    rule = AccessRule("r", "block", arguments=(Condition("command", matches=r"git\s+push\b.*--force"),))
    assert judged(rule, json.dumps({"command": command})) == passes
    assert judged(rule, json.dumps({"action": {"command": command}})) == passes


@pytest.mark.parametrize(
    "name",
    [
        "BASH", "functions.bash", "functions.Bash", "default_api:bash", "mcp__shell__bash", "shell/bash", "a.b.bash",
        " bash", "bash:0", "functions.bash:12", "bash<|channel|>commentary", "\uff42ash", "ba\u200bsh", "\ufeffbash",
        "`bash`", '"bash"', "bash()", "bash\0", "<bash>", "bash\n", "\u0412ash", "b\u0430sh",
        "functions.b\u0430\u0455h",
    ],
)  # fmt: skip
def test_no_spelling_of_a_name_evades_a_rule_that_blocks(name: str) -> None:
    assert gate(AccessRule("r", "block", ("Bash",))).refuses_always(name) is not None
    assert gate(AccessRule("r", "allow", ("bash",)), default="deny").refuses_always(name) is not None


@pytest.mark.parametrize(
    "name", ["run-command", "Run_Command", "run command", "mcp__x-y__run-command", "x-y.run_command"]
)
@pytest.mark.parametrize("tool", ["run_command", "run-command"])
def test_words_of_a_name_are_parted_by_any_sign(name: str, tool: str) -> None:
    """Clients that mend names take these for each other."""
    assert gate(AccessRule("r", "block", (tool,))).refuses_always(name) is not None
    assert gate(AccessRule("r", "block", ("mcp__x_y__.*",))).refuses_always("mcp__x-y__run-command") is not None
    assert gate(AccessRule("r", "block", ("mcp-x",))).refuses_always("mcp__x") is None
    assert gate(AccessRule("r", "allow", ("run_command",)), default="deny").refuses_always("run-command") is not None


DECLARED = ("run_command", "read_file", "terminal", "terminal_tool", "web_search")


@pytest.mark.parametrize(
    "name",
    [
        "RunCommand", "runCommand", "run_command_tool", "RunCommandTool", "run-command-tool", "run_comand",
        "run_commands", "mcp_run_command", 'run_command" x="y', "run_command<x", "functions.RunCommand", "RUN_COMAND",
    ],
)  # fmt: skip
@pytest.mark.parametrize("declared", [DECLARED, DECLARED[1:], ()], ids=["declared", "unknown", "no tools"])
def test_a_name_that_agents_repair_evades_no_rule_that_blocks(name: str, declared: tuple[str, ...]) -> None:
    """What only comes close to a tool is known where the tool is."""
    ruled = gate(AccessRule("r", "block", ("run_command",)), declared=declared)
    close = name.casefold() in {"run_comand", "run_commands", "mcp_run_command"}
    assert (ruled.refuses_always(name) is not None) == (not close or "run_command" in declared)


def test_a_tool_that_is_declared_is_no_other_one() -> None:
    for name in ("terminal_tool", "read_file"):
        assert (
            gate(AccessRule("r", "block", ("terminal", "read_files")), declared=DECLARED).refuses_always(name) is None
        )
    assert gate(AccessRule("r", "block", ("terminal",)), declared=DECLARED[:3]).refuses_always("terminal_tool")
    assert gate(AccessRule("r", "block", ("terminal",)), declared=DECLARED).refuses_always("web_fetch") is None


def test_names_past_the_limit_of_work_are_blocked() -> None:
    ruled = gate(AccessRule("r", "block", ("run_command",)), declared=DECLARED, work=Work(characters=100_000))
    assert ruled.refuses_always("something else") is None
    refusals = [ruled.refuses_always(f"something {number}") for number in range(100)]
    assert refusals[-1] is not None
    assert refusals[-1].reason == "undecided"


def test_a_line_end_hides_nothing_from_a_rule_that_blocks() -> None:
    assert gate(AccessRule("r", "block", (".*",))).refuses_always("x\ny") is not None
    rule = AccessRule("r", "block", arguments=(Condition("command", matches="git push.*--force"),))
    assert not judged(rule, json.dumps({"command": "git push \\\n --force"}))
    rule = AccessRule("r", "allow", arguments=(Condition("command", matches="ls .*"),))
    assert judged(rule, json.dumps({"command": "ls -l"}), "deny")
    assert not judged(rule, json.dumps({"command": "ls -l\nrm x"}), "deny")


@pytest.mark.parametrize(
    ("arguments", "passes"),
    [
        ({"tool_name": "read", "arguments": '{"path": "/etc"}'}, False),
        ({"Arguments": '{"path": "/etc"}'}, False),
        ({"tool_uses": [{"name": "read", "parameters": '{"path": "/etc"}'}]}, False),
        ({"input": json.dumps(json.dumps({"args": json.dumps([{"path": "/etc"}])}))}, False),
        ({"input": '{"path": "/p/a"}'}, True),
        ({"input": '{"path": /etc'}, True),
        ({"content": '{"path": "/etc"}'}, True),
        ({"input": "read /etc"}, True),
    ],
    ids=str,
)
def test_an_argument_is_found_in_the_arguments_that_one_carries_as_json(arguments: Any, passes: bool) -> None:
    assert judged(OUTSIDE, json.dumps(arguments)) == passes


@pytest.mark.parametrize("name", ["bashful", "rebash", "mcp__bash__read", "bash_read", "functions.read"])
def test_another_name_is_another_name(name: str) -> None:
    assert gate(AccessRule("r", "block", ("Bash",))).refuses_always(name) is None


def test_a_pattern_that_says_what_a_name_is_not_looks_at_the_whole_name() -> None:
    rule = AccessRule("r", "block", ("(?!mcp__git__).*",))
    assert gate(rule).refuses_always("mcp__git__status") is None
    assert gate(rule).refuses_always("mcp__web__get") is not None


def test_a_higher_priority_comes_first_and_equal_ones_stand_in_order() -> None:
    rules = [
        AccessRule("first", "block", ("a.*",)),
        AccessRule("second", "allow", ("a.*",)),
        AccessRule("high", "allow", ("ab",), priority=1),
        AccessRule("low", "block", priority=-1),
    ]
    made = gate(*rules)
    assert [(made.refuses_always(name) or Refusal("", "", "")).rule for name in ("a", "ab", "c")] == [
        "first",
        "",
        "low",
    ]


def gate(*rules: AccessRule, declared: Sequence[str] = (), work: Work | None = None, **settings: Any) -> Gate:
    work = work or Work(seconds=0.05)
    return Gate(Access(rules, **settings), model="m", agent="a", work=work, declared=declared)


@pytest.mark.parametrize(
    ("tools", "name", "blocked"),
    [
        ("read_file", "unread_file_and_delete", False),
        ("list_.*", "delete_list_x", False),
        ("bash", "Bash", True),
        ("Bash", "bash", True),
    ],
)
def test_a_name_is_matched_whole(tools: str, name: str, blocked: bool) -> None:
    assert (gate(AccessRule("r", "block", (tools,))).refuses_always(name) is not None) == blocked


def test_a_rule_that_allows_minds_upper_and_lower_case() -> None:
    assert gate(AccessRule("r", "allow", ("bash",)), default="deny").refuses_always("Bash") is not None


def test_a_tool_that_some_arguments_let_through_is_offered() -> None:
    rule = AccessRule("r", "allow", arguments=(Condition("path", inside=("/p",)),))
    assert gate(rule, default="deny").refuses_always("read_file") is None


def test_a_rule_that_allows_must_find_a_doubled_argument_good_each_time() -> None:
    rule = AccessRule("r", "allow", arguments=(Condition("path", inside=("/p",)),))
    judgement = gate(rule, default="deny").judge("x")
    judgement.learn("path", '"/p/a"')
    assert judgement.decided
    assert judgement.refusal is None
    judgement.learn("path", '"/etc"')
    assert judgement.refusal is not None


def test_escapes_hide_nothing() -> None:
    judgement = gate(AccessRule("r", "block", arguments=(Condition("*", matches="secret"),))).judge("x")
    judgement.learn("deep", '{"a": ["\\u0073ecret"]}')
    assert judgement.refusal is not None


def test_what_goes_wrong_in_a_rule_blocks() -> None:
    judgement = gate(AccessRule("r", "block", arguments=(Condition("*", matches="x"),))).judge("x")
    judgement.learn("deep", "[" * 100_000)
    assert judgement.refusal is not None
    assert judgement.refusal.reason == "undecided"


ENDLESS = r"(a|aa)+(?!.)b?"  # tries for years on forty letters


def test_a_pattern_that_tries_without_end_blocks_in_time() -> None:
    value = json.dumps("a" * 60 + "b")
    judgement = gate(AccessRule("r", "block", arguments=(Condition("c", matches=ENDLESS),))).judge("x")
    judgement.learn("c", value)
    assert judgement.refusal == Refusal(
        "r", "undecided", Access().message.replace("{tool}", "x").replace("{rule}", "r")
    )
    allowing = gate(AccessRule("r", "allow", arguments=(Condition("*", matches=ENDLESS),)), default="deny").judge("x")
    for key in ("c", "d"):
        allowing.learn(key, value)
    allowing.end(whole=True)
    assert allowing.refusal is not None
    by_name = gate(AccessRule("r", "block", tools=(ENDLESS,))).judge("a" * 60 + "b")
    assert by_name.refusal is not None
    assert by_name.refusal.reason == "undecided"
    denied = gate(AccessRule("r", "allow", tools=(ENDLESS,)), default="deny").judge("a" * 60 + "b")
    assert denied.refusal is not None
    assert denied.refusal.rule == "default"


def test_a_filter_that_tries_without_end_is_left_out_and_the_view_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcalls.processors.exchange_processors.Work", lambda: Work(seconds=0.05))
    slow = Filter("slow", pattern=r"(a|aa)+c", replace="x")
    route = Route(filters=(slow, Filter("quick", literal="secret", replace="[..]")))
    for kind in ("process", "roundtrip"):
        exchange = exchange_for(route, kind)
        out = run(exchange, body_of(["a" * 60 + "b secret " * 3], kind, "sse"))
        assert got(out, kind, "sse").text == "a" * 60 + "b [..] " * 3
        assert [(note.rule, note.warns) for _, note in exchange.notes] == [("quick", False), ("slow", True)]


# --- loops ------------------------------------------------------------------------------------------------------------

SENTENCE = "I will now check the file again. "


def told(text: str, step: int = 5) -> int | None:
    passages = TextLoops(8)
    for at in range(0, len(text), step):
        found = passages.feed(text[at : at + step])
        if found is not None:
            return at + found
    return None


@pytest.mark.parametrize(
    "text",
    [
        "```\n" + "aaa bbb ccc ddd\n" * 200 + "```\n",
        "| a | b |\n" * 200,
        "0, 0, 0, " * 200,
        "-" * 3000,
        "\n" * 3000,
        " ".join(f"Step {number} is done." for number in range(400)),
        SENTENCE * 5,
        "12 34 56 a\n" * 200,
    ],
    ids=["fence", "table", "zeros", "dashes", "lines", "numbered", "few", "numbers"],
)
def test_what_repeats_by_nature_is_no_circle(text: str) -> None:
    assert told(text) is None


@pytest.mark.parametrize("text", [SENTENCE * 80, "Before. " * 2 + SENTENCE * 80, (SENTENCE + "\n") * 80])
def test_a_passage_that_repeats_is_found_at_the_same_place_however_it_is_cut(text: str) -> None:
    at = told(text, len(text))
    assert at is not None
    assert at < 500
    assert {told(text, step) for step in (1, 3, 50)} == {at}


@pytest.mark.parametrize("kind", ["lift", "roundtrip", "process"])
@pytest.mark.parametrize("form", ["sse", "whole"])
def test_a_reply_in_circles_is_stopped(kind: Any, form: Any) -> None:
    route = route_of({"loops": {"action": "stop", "text": "Stop."}})
    exchange = exchange_for(route, kind, form)
    body = body_of(["Well. " + SENTENCE * 60, {"Bash": {"command": "ls"}}], "lift", form)
    choice = got(run(exchange, body), kind, form)
    assert choice.text.endswith("\n\nStop.")
    assert len(choice.text) < 500
    assert (choice.calls, choice.finish) == ([], "stop")
    assert [note.rule for _, note in exchange.notes] == ["message"]


def test_the_row_of_calls_is_bounded() -> None:
    circles = CallLoops(Loops(), tuple(EarlierCall("a", "{}") for _ in range(10_000)))
    for _ in range(1000):
        circles.add("a", "{}")
    assert len(circles._row) <= 64


# --- filters ----------------------------------------------------------------------------------------------------------

FILTERS = (
    Filter("literal", literal="secret", replace="[..]"),
    Filter("overlap", literal="sec", replace="S"),
    Filter("keys", pattern=r"sk-[a-z0-9]{3,8}\b", replace="[key]", max_length=12),
    Filter("any", pattern=r"(?i)\bpass(word)?=(\w+)", replace=r"pass=\2?", max_length=20),
)


def filtered(pieces: list[str], filters: tuple[Filter, ...] = FILTERS) -> tuple[str, str]:
    """What is shown, and what went in as the outcomes tell it."""
    made = Filters(filters, {})
    outcomes = [outcome for piece in pieces for outcome in made.feed(piece)] + made.flush()
    shown = "".join(
        outcome if isinstance(outcome, str) else outcome.text
        for outcome in outcomes
        if isinstance(outcome, str) or type(outcome).__name__ == "Text"
    )
    return shown, "".join(outcome.text for outcome in outcomes if not isinstance(outcome, str))


_words = st.sampled_from(["secret", "sec", "re", "sk-abc", "1", " ", "pass", "word=", "\n", "PASS="])


@law
@given(st.data(), st.lists(_words))
def test_filters_do_the_same_however_the_text_is_cut(data: st.DataObject, words: list[str]) -> None:
    text = "".join(words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[left:right] for left, right in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    shown, told_of = filtered(pieces)
    assert shown == filtered([text])[0]
    assert told_of == text
    # `any` puts back what was after its `=`, and what a filter puts there is not looked at again.
    assert "secret" not in re.sub(r"pass=\w+\?", "", shown)


@pytest.mark.parametrize(
    ("pattern", "head"),
    [
        ("sk-[a-z]+", "sk-"),
        (r"a\.b", "a.b"),
        ("ab*", "a"),
        (r"a\.?", "a"),
        ("ab|cd", ""),
        ("(?i)ab", ""),
        (r"\bab", ""),
        ("ab+", "ab"),
        ("ab{0}", "a"),
    ],
)
def test_what_every_match_begins_with(pattern: str, head: str) -> None:
    assert head_of(pattern) == head


def test_text_that_can_be_no_match_is_not_held() -> None:
    made = Filters((Filter("keys", pattern="sk-[a-z]{3,9}", max_length=12),), {})
    assert [type(outcome).__name__ for outcome in made.feed("a risky thing, so. ")] == ["Text"]
    assert made.feed("s") == []
    assert len(made.feed("o")) == 1


# --- reactors ---------------------------------------------------------------------------------------------------------


def reactors(*functions: Callable[[Call], Any]) -> tuple[Route, Any]:
    table = {function.__name__: function for function in functions}
    route = Route(reactors=tuple(Reactor("x.py", name) for name in table))
    return route, lambda reactor, call: table[reactor.function](call)


def rename(call: Call) -> Edit:
    return Edit(name="read_file" if call.name == "Bash" else None)


def shout(call: Call) -> Edit:
    return Edit(arguments={**call.arguments, "path": "B"})


def dropping(_: Call) -> Drop:
    return Drop("Not now.")


def speaking(_: Call) -> Say:
    return Say("Look:")


def failing(_: Call) -> Keep:
    raise ZeroDivisionError("a value that must stay out of reports")


def keeping(_: Call) -> Keep:
    return Keep()


def modifying(_: Call) -> Edit:
    return Edit(name="modified_tool")


def odd(_: Call) -> Any:
    return {"name": "Bash"}


KINDS = ["lift", "lower", "roundtrip", "process"]


@pytest.mark.parametrize("form", ["sse", "whole"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("functions", "text", "calls", "changed"),
    [
        ((rename, shout), "Now.", [("read_file", {"command": "ls", "path": "B"}), ("read_file", {"path": "B"})], 3),
        ((dropping,), "Now. Not now.", [], 2),
        ((speaking,), "Now. Look:", [("Bash", {"command": "ls"}), ("read_file", {"path": "a"})], 0),
        ((failing, odd), "Now.", [("Bash", {"command": "ls"}), ("read_file", {"path": "a"})], 0),
    ],
    ids=["edit", "drop", "say", "fail"],
)
def test_reactors_in_every_kind_of_exchange(
    functions: Any, text: str, calls: list[tuple[str, Any]], changed: int, kind: Any, form: Any
) -> None:
    route, runner = reactors(*functions)
    exchange = exchange_for(route, kind, form, run=runner)
    body = body_of(["Now.\n\n", {"Bash": {"command": "ls"}}, {"read_file": {"path": "a"}}], kind, form)
    choice = got(run(exchange, body), kind, form)
    assert " ".join(choice.text.split()) == text
    assert [(call["name"], json.loads(call["arguments"])) for call in choice.calls] == calls
    assert sum(len(verdict.changes) for _, verdict in exchange.verdicts) == changed
    failed = [note.text for _, note in exchange.notes]
    assert len(failed) == (4 if failing in functions else 0)
    assert not any("must stay out" in line for line in failed)


def test_the_verdict_of_a_call_that_a_reactor_drops_names_the_function() -> None:
    route, runner = reactors(dropping)
    exchange = exchange_for(route, "lift", run=runner)
    run(exchange, body_of([{"Bash": {"command": "ls"}}], "lift", "sse"))
    ((_, verdict),) = exchange.verdicts
    assert (verdict.status, verdict.reason, verdict.rule) == ("blocked", "dropped", "dropping")


def test_what_a_reactor_changes_goes_through_the_rules_once_more() -> None:
    route, runner = reactors(rename)
    route = Route(reactors=route.reactors, access=Access((AccessRule("r", "block", ("read_file",), message="No."),)))
    exchange = exchange_for(route, "lift", run=runner)
    choice = got(run(exchange, body_of([{"Bash": {"command": "ls"}}], "lift", "sse")), "lift", "sse")
    assert (choice.calls, choice.text) == ([], "No.")
    ((_, verdict),) = exchange.verdicts
    assert [change.rule for change in verdict.changes] == ["rename", "r"]


def test_what_is_not_edited_keeps_its_spelling() -> None:
    route, runner = reactors(shout)
    made = Reactors(route.reactors, runner, model="").react("x", '{"n": 1.10, "big": 1e400, "path": "a"}', None)
    assert made.call == ("x", '{"n":1.10,"big":1e400,"path":"B"}')


@pytest.mark.parametrize("arguments", [{1: 2}, {"a": object()}, {"a": float("nan")}])
def test_an_edit_that_is_no_json_leaves_the_call(arguments: Any) -> None:
    def wrong(_: Call) -> Edit:
        return Edit(arguments=arguments)

    route, runner = reactors(wrong)
    made = Reactors(route.reactors, runner, model="").react("x", "{}", None)
    assert made.call == ("x", "{}")
    assert len(made.failures) == 1


@pytest.mark.parametrize(
    "answer",
    [Edit(name=cast(Any, 5)), Edit(arguments=cast(Any, "ab")), Drop(cast(Any, 5)), Say(cast(Any, b"x"))],
    ids=str,
)
def test_an_answer_that_holds_something_else_leaves_the_call(answer: Answer) -> None:
    def wrong(_: Call) -> Answer:
        return answer

    route, runner = reactors(wrong)
    made = Reactors(route.reactors, runner, model="").react("x", "{}", None)
    assert (made.call, made.changes, made.texts) == (("x", "{}"), (), ())
    ((function, why),) = made.failures
    assert function == "wrong"
    assert why.startswith("gave ")


@pytest.mark.parametrize("does", ["computes", "waits"])
def test_a_reactor_that_hangs_is_ended_and_left_alone(
    tmp_path: Path, does: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine it may begin long after it was started; so here nothing counts before it has begun."""
    body = {"computes": "while True:\n        pass", "waits": "while True:\n        time.sleep(0.01)"}[does]
    file = tmp_path / "r.py"
    file.write_text(f"import time\ncalls = []\ndef slow(call):\n    calls.append(1)\n    {body}\n")
    runner, reactor = Runner(), Reactor(str(file), "slow", time_limit=0.05)
    runner.load(Config(default=Route(reactors=(reactor,))))
    calls = runner._files[str(file)].functions["calls"]
    if does == "computes":
        monkeypatch.setattr(reactor_runner, "_PATIENCE", 10_000)
    else:
        begun = iter([0.0])  # the runner's first question, which may come after the call's beginning
        clock = {**vars(time), "monotonic": lambda: next(begun, 60.0 if calls else 0.0)}
        monkeypatch.setattr(reactor_runner, "time", SimpleNamespace(**clock))
    with pytest.raises(Failed, match=r"took longer than 0\.05 s"):
        runner(reactor, Call("x", {}))
    (thread,) = runner._stuck
    thread.join(60)
    assert not thread.is_alive()
    with pytest.raises(Failed, match="until its file changes"):
        runner(reactor, Call("x", {}))
    assert calls == [1]
    file.write_text("def slow(call):\n    return None\n")
    assert runner(reactor, Call("x", {})) is None


@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="this system does not tell what a thread computes"
)
def test_a_reactor_that_waits_for_the_machine_is_not_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for an event stands for waiting for a processor: in neither does the thread compute."""
    file = tmp_path / "r.py"
    file.write_text("import threading\nfree = threading.Event()\ndef f(call):\n    free.wait(60)\n")
    runner, reactor = Runner(), Reactor(str(file), "f", time_limit=0.05)
    runner.load(Config(default=Route(reactors=(reactor,))))
    free = runner._files[str(file)].functions["free"]
    computed, looks = reactor_runner._computed, []

    def looked(clocks: list[int]) -> float:
        looks.append(1)
        if len(looks) == 3:
            free.set()
        return computed(clocks)

    monkeypatch.setattr(reactor_runner, "_PATIENCE", 1000)
    monkeypatch.setattr(reactor_runner, "_computed", looked)
    assert runner(reactor, Call("x", {})) is None
    assert len(looks) >= 3


def test_reactors_that_cannot_be_ended_are_few(tmp_path: Path) -> None:
    file = tmp_path / "r.py"
    source = "import threading\nfree = threading.Event()\n"
    source += "".join(f"def f{number}(call):\n    free.wait(60)\n" for number in range(12))
    file.write_text(source)
    runner = Runner()
    for number in range(12):
        with pytest.raises(Failed, match="took longer" if number < 8 else "too many reactors hang"):
            runner(Reactor(str(file), f"f{number}", time_limit=0.001), Call("x", {}))
    assert len(runner._stuck) == 8
    runner._files[str(file)].functions["free"].set()
    for thread in runner._stuck:
        thread.join(60)
    assert not any(thread.is_alive() for thread in runner._stuck)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise SystemExit", "raised SystemExit"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
        ("del globals()['f']\n    return 1", "returned int, no Keep, Drop, Edit or Say"),
    ],
)
def test_whatever_a_reactor_does_the_call_stays(tmp_path: Path, body: str, words: str) -> None:
    file = tmp_path / "r.py"
    file.write_text(f"def f(call):\n    {body}\n")
    route = Route(reactors=(Reactor(str(file), "f"),))
    made = Reactors(route.reactors, Runner(), model="").react("x", "{}", None)
    assert made.call == ("x", "{}")
    assert made.failures == (("f", words),)


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "r.py"
    runner, reactor = Runner(), Reactor(str(file), "f")
    for text in ("one", "two", "three"):  # two files of the same size within one second
        file.write_text(f"from toolcalls.processors import Say\ndef f(call):\n    return Say({text!r})\n")
        assert runner(reactor, Call("x", {})) == Say(text)


def test_a_file_may_do_what_modules_do(tmp_path: Path) -> None:
    source = """
from __future__ import annotations
from dataclasses import dataclass
from toolcalls.processors import Call, Say

@dataclass
class Known:
    names: list[str]

KNOWN = Known([])

def f(call: Call) -> Say:
    KNOWN.names.append(call.name)
    return Say(" ".join(KNOWN.names))
"""
    runner = Runner()
    for folder, said in (("a", "x"), ("b", "x"), ("a", "x x")):  # files of one name are two modules
        file = tmp_path / folder / "r.py"
        if not file.exists():
            file.parent.mkdir()
            file.write_text(source)
        assert runner(Reactor(str(file), "f"), Call("x", {})) == Say(said)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("\ndef f(:\n", "r.py:2: invalid syntax"),
        ("ran.append(1)\n", "r.py:1: NameError("),
        ("import sys\n\nsys.exit('x')\n", "r.py:3: SystemExit('x')"),
        ("import absent\n", "r.py:1: ModuleNotFoundError("),
        ("\0", "r.py"),
        ("def g(call): ...\n", "is no longer in its file"),
        (None, "cannot be read"),
    ],
    ids=["syntax", "name", "exit", "import", "nul", "function", "gone"],
)
def test_a_file_that_goes_wrong_is_told_with_its_line(tmp_path: Path, source: str | None, words: str) -> None:
    file = tmp_path / "r.py"
    file.write_text("def f(call):\n    return None\n")
    runner, reactor = Runner(), Reactor(str(file), "f")
    config = Config(routes=(Route(reactors=(reactor,)),))
    runner.load(config)
    if source is None:
        file.unlink()
    else:
        file.write_text(source)
    for _ in range(2):
        made = Reactors((reactor,), runner, model="").react("x", "{}", None)
        assert made.call == ("x", "{}")
        ((name, why),) = made.failures
        assert name == "f"
        assert words in why
    if "no longer" not in words:
        with pytest.raises(Broken):
            runner.load(config)


def test_a_file_that_went_wrong_is_not_run_again_and_again(tmp_path: Path) -> None:
    file, log = tmp_path / "r.py", tmp_path / "log"
    file.write_text(f"open({str(log)!r}, 'a').write('x')\nraise RuntimeError\n")
    runner, reactor = Runner(), Reactor(str(file), "f")
    for _ in range(3):
        with pytest.raises(Failed, match="RuntimeError"):
            runner(reactor, Call("x", {}))
    assert log.read_text() == "x"


def test_a_file_that_hangs_when_it_is_run_does_not_hang_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcalls.processors.reactor_runner._LOADING", 0.05)
    file = tmp_path / "r.py"
    file.write_text("while True:\n    pass\n")
    runner = Runner()
    with pytest.raises(Broken, match="takes longer"):
        runner.load(Config(routes=(Route(reactors=(Reactor(str(file), "f"),)),)))
    runner._stuck[0].join(60)
    assert not runner._stuck[0].is_alive()


@pytest.mark.parametrize(
    ("function", "tool", "arguments", "after"),
    [
        ("relative_paths", "read", {"path": "/project/src/a.py", "n": 1}, {"path": "src/a.py", "n": 1}),
        ("relative_paths", "read", {"path": "/project/../etc"}, None),
        ("relative_paths", "read", {"path": "/etc"}, None),
        ("capped_timeout", "execute_command", {"command": "x", "timeout": 900}, {"command": "x", "timeout": 120}),
        ("capped_timeout", "execute_command", {"command": "x", "timeout": 3600}, {"command": "x", "timeout": 120}),
        ("capped_timeout", "Bash", {"command": "x", "timeout": 600_000}, {"command": "x", "timeout": 120_000}),
        ("capped_timeout", "Bash", {"command": "x", "timeout": 1000}, None),  # a second
        ("capped_timeout", "Bash", {"command": "x", "timeout": True}, None),
    ],
)
def test_the_example_is_useful(
    function: str, tool: str, arguments: dict[str, Any], after: dict[str, Any] | None
) -> None:
    (route,) = load(REPO / "config" / "examples" / "reactors.yaml", all_dialects(), all_wires()).routes
    reactor = next(reactor for reactor in route.reactors if reactor.function == function)
    answer = Runner()(reactor, Call(tool, arguments))
    assert answer == (Keep() if after is None else Edit(arguments=after))


# --- the request ------------------------------------------------------------------------------------------------------

TOOLS = openai_tools({"Bash": {"command": "string"}, "read_file": {"path": "string"}})


def asked(messages: list[Any], **more: Any) -> bytes:
    return json.dumps({"model": "m", "messages": messages, **more}).encode()


@pytest.mark.parametrize(
    ("choice", "after"),
    [("auto", "auto"), ({"type": "function", "function": {"name": "Bash"}}, "auto"), ("required", "required")],
)
def test_a_forbidden_tool_is_not_offered(choice: Any, after: str) -> None:
    search = {"type": "web_search"}
    body = asked([{"role": "user", "content": "x"}], tools=[*TOOLS, search], tool_choice=choice)
    made = without_blocked_tools(CHAT(body), gate(AccessRule("no-shell", "block", ("bash",))))
    assert made.notes == ("Bash is not offered (no-shell)",)
    sent = json.loads(made.conversation.written())
    assert (sent["tools"], sent["tool_choice"]) == ([TOOLS[1], search], after)


def test_what_may_be_called_is_offered_as_it_was() -> None:
    body = asked([{"role": "user", "content": "x"}], tools=TOOLS)
    conversation = CHAT(body)
    assert without_blocked_tools(conversation, gate(AccessRule("x", "block", ("other",)))).conversation is conversation


STEERING = Route(steering="request", access=Access((AccessRule("shell", "block", message="Use the editor."),)))
SAID = {"role": "assistant", "content": "Well.\n\n[blocked: shell]"}


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ([{"role": "user", "content": "Go on."}], ["Use the editor.\n\nGo on."]),
        ([], ["Use the editor."]),
        ([{"role": "tool", "tool_call_id": "a", "content": "r"}], ["r", "Use the editor."]),
        ([{"role": "user", "content": "Use the editor.\n\nGo on."}], ["Use the editor.\n\nGo on."]),
    ],
    ids=["user", "nothing", "tool", "said already"],
)
def test_steering_goes_before_the_turn_that_follows(behind: list[Any], expected: list[str]) -> None:
    body = asked([{"role": "user", "content": "Do."}, SAID, *behind])
    made = with_steering_texts(CHAT(body), STEERING)
    sent = json.loads(made.conversation.written())["messages"]
    assert [message["content"] for message in sent[2:]] == expected
    again = json.dumps({"messages": sent}).encode()
    assert json.loads(with_steering_texts(CHAT(again), STEERING).conversation.written())["messages"] == sent


def test_steering_knows_a_rule_with_a_bracket_in_its_name() -> None:
    route = Route(steering="request", access=Access((AccessRule("a[b]c", "block", message="Do not."),)))
    body = asked([{"role": "assistant", "content": f"Well.\n\n{notice('a[b]c')}"}, {"role": "user", "content": "x"}])
    made = with_steering_texts(CHAT(body), route)
    assert json.loads(made.conversation.written())["messages"][1]["content"] == "Do not.\n\nx"


def test_steering_says_nothing_for_a_rule_that_does_not_exist() -> None:
    body = asked([{"role": "assistant", "content": "[blocked: other]"}, {"role": "user", "content": "x"}])
    assert with_steering_texts(CHAT(body), STEERING).notes == ()


def native_history() -> list[Any]:
    call = {"id": "1", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}
    return [
        {"role": "user", "content": "Old."},
        {"role": "assistant", "content": None, "tool_calls": [{**call, "id": "0"}]},
        {"role": "tool", "tool_call_id": "0", "content": "old"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "New."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "a b"},
    ]


def made_so_far(body: bytes, decision: Decision) -> tuple[EarlierCall, ...]:
    """The calls of a request that the loop guard of its reply counts."""
    guarded = Route(loops=Loops())
    processors = processors_for(
        conversation_of("openai_chat", body), guarded, decision, model="m", agent="", run=no_reactors
    )
    assert processors is not None
    return processors.history


def test_the_history_of_native_calls() -> None:
    decision = Decision("process", "native", "native", None, ())
    made = made_so_far(asked(native_history(), tools=TOOLS), decision)
    assert made == (EarlierCall("Bash", '{"command": "ls"}', "a b"),)


CALLED = {"role": "assistant", "content": None, "tool_calls": [native_history()[1]["tool_calls"][0]]}
ANSWERED = {"role": "tool", "tool_call_id": "0", "content": "r"}
TOLD = {"role": "user", "content": "Something."}


@pytest.mark.parametrize(
    ("messages", "count"),
    [
        ([TOLD, CALLED, ANSWERED], 1),
        ([TOLD, CALLED, TOLD], 1),  # the result, in words
        ([TOLD, CALLED, ANSWERED, TOLD], 0),  # the user's own
        ([TOLD, CALLED, TOLD, TOLD], 0),
        ([TOLD, CALLED, ANSWERED, CALLED, ANSWERED], 2),
        ([CALLED, ANSWERED], 1),
        ([CALLED], 1),  # nobody has answered yet
        ([], 0),
    ],
)
def test_what_the_user_says_is_a_new_beginning(messages: list[Any], count: int) -> None:
    decision = Decision("process", "native", "native", None, ())
    assert len(made_so_far(asked(messages, tools=TOOLS), decision)) == count


def test_a_reply_on_its_own_has_no_history() -> None:
    decision = Decision("process", "native", "native", None, ())
    alone = processors_for(None, Route(loops=Loops()), decision, model="m", agent="", run=no_reactors)
    assert alone is not None
    assert alone.history == ()


def test_the_history_of_calls_in_text() -> None:
    text = body_of([{"Bash": {"command": "ls"}}], "lift", "whole")
    content = json.loads(text)["choices"][0]["message"]["content"]
    assert used_in([content], "") == ("invoke",)
    messages = [{"role": "user", "content": "Do."}]
    for result in ("a", "b"):
        answer = told_as("invoke", "Bash", result)
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": answer}]
    decision = Decision("roundtrip", "text", "text", "invoke", ())
    made = made_so_far(asked(messages), decision)
    assert [(call.name, json.loads(call.arguments)) for call in made] == [("Bash", {"command": "ls"})] * 2
    assert [call.result for call in made] == ["a", "b"]


def test_what_a_client_answers_in_a_form_of_its_own_is_the_result() -> None:
    """Else a test that a text client runs again after each edit would be a circle."""

    def written(command: str) -> str:
        return str(
            json.loads(body_of([{"Bash": {"command": command}}], "lift", "whole"))["choices"][0]["message"]["content"]
        )

    messages = [
        {"role": "user", "content": "Do."},
        {"role": "assistant", "content": written("test")},
        {"role": "user", "content": "[Bash] Result:\nfailed"},
        {"role": "assistant", "content": written("edit") + "\n" + written("edit")},
        {"role": "user", "content": "[Bash] Result:\ndone"},
        {"role": "assistant", "content": written("test")},
    ]
    decision = Decision("roundtrip", "text", "text", "invoke", ())
    made = made_so_far(asked(messages, tools=TOOLS), decision)
    assert [(json.loads(call.arguments)["command"], call.result) for call in made] == [
        ("test", "[Bash] Result:\nfailed"),
        ("edit", "[Bash] Result:\ndone"),
        ("edit", "[Bash] Result:\ndone\n1"),
        ("test", None),
    ]
    guard = Loops(same_call=2)
    assert CallLoops(guard, made[:3]).detect("Bash", '{"command":"test"}') is None
    assert CallLoops(guard, made[:1]).detect("Bash", '{"command":"test"}') is not None


# --- the seed's example -----------------------------------------------------------------------------------------------


def seed_example() -> list[str]:
    """The data flow of the first seed document: what the model says, and what the client is given."""
    text = shared_path("seeds/1-virtual-tool-calling.txt").read_text(encoding="utf-8")
    opener, closer = "I will check the files now.\n<", "</function_calls>"
    first = text.index(opener)
    second = text.index(opener, first + 1)
    return [text[at : text.index(closer, at) + len(closer)] for at in (first, second)]


@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_the_data_flow_of_the_seed_byte_for_byte(step: int) -> None:
    said, given = seed_example()
    route, runner = reactors(keeping)
    route = Route(
        access=Access((AccessRule("rm", "block", ("Bash",)),)),
        loops=Loops(action="replace"),
        reactors=route.reactors,
        filters=(Filter("greeting", literal="I'll help you with that. "),),
    )
    exchange = exchange_for(route, "roundtrip", run=runner)
    body = event(chunk(HEAD)) + b"".join(
        event(chunk({"content": said[at : at + step]})) for at in range(0, len(said), step)
    )
    body += ending()
    out = run(exchange, body)
    assert out == body
    assert received(out).choices[0].text == given
    ((_, verdict),) = exchange.verdicts
    assert (verdict.status, verdict.name) == ("lowered", "list_files")
    ((_, record),) = exchange.client_calls
    assert json.loads(record.arguments) == {"path": "/project"}


def test_the_data_flow_of_the_seed_from_native_calls() -> None:
    _, given = seed_example()
    text, _, block = given.partition("\n")
    body = event(chunk(HEAD)) + event(chunk({"content": text}))
    body += b"".join(framed(*native(0, "list_files", '{"path": ', '"/project"}'))) + ending("tool_calls")
    choice = received(run(exchange_for(Route(loops=Loops(action="replace")), "lower"), body)).choices[0]
    assert choice.text == f"{text}\n\n{block}"  # `newline_count` of the same document: 2


def second_only(call: Call) -> Edit | None:
    """Edits one of several calls."""
    return Edit(arguments={**call.arguments, "command": "make"}) if call.arguments.get("command") == "two" else None


@pytest.mark.parametrize("step", [1, 9, 10_000])
def test_where_one_call_changes_the_rest_stays_byte_for_byte(step: int) -> None:
    open_, close = "<function_calls>", "</function_calls>"
    parameter = '<parameter name="command">{}</parameter>'.format
    odd_one = f'{open_}\n  <invoke name="Bash" >\n{parameter("one")}\n</invoke>\n{close}'
    before = f'{open_}<invoke name="Bash">\n\n{parameter("two")}</invoke>{close}'
    odd_three = f'{open_}\n<invoke name="Bash">\n{parameter("three  ")}\n\n</invoke>{close}'
    after = f'{open_}\n<invoke name="Bash">\n{parameter("make")}\n</invoke>\n{close}'
    says = [f"A.\n\n{odd_one}\n\nB <b>.\n\n", before, f"\n\nC.\n\n{odd_three}\nD."]
    frames = [[event(chunk({"content": text[at : at + step]})) for at in range(0, len(text), step)] for text in says]
    route, runner = reactors(second_only)
    exchange = exchange_for(route, "roundtrip", run=runner)
    body = b"".join([event(chunk(HEAD)), *frames[0], *frames[1], *frames[2], ending()])
    out = run(exchange, body)
    assert received(out).choices[0].text == says[0] + after + says[2]
    untouched = slice(2, -1) if step == 1 else slice(0, 0) if step > 9 else slice(2, -3)  # line ends are decided later
    for part in (frames[0][:-2], frames[2][untouched]):
        assert b"".join(part) in out


def test_a_core_processor_renames_and_the_text_shows_it() -> None:
    said, given = seed_example()
    route, runner = reactors(modifying)
    out = run(exchange_for(route, "roundtrip", run=runner), event(chunk({**HEAD, "content": said}, "stop")))
    assert received(out, ends=False).choices[0].text == given.replace("list_files", "modified_tool").replace(
        "\n", "\n\n", 1
    )


# --- nothing raises, nothing depends on how it came -------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(15))
def test_any_mixture_is_the_same_however_it_is_cut(kind: Any, seed: int) -> None:
    chance = random.Random(seed)
    route, runner = reactors(rename)
    route = Route(
        access=Access((AccessRule("rm", "block", arguments=(Condition("command", matches="rm"),)),)),
        loops=Loops(action="replace", same_call=3),
        reactors=route.reactors if seed % 2 else (),
        filters=FILTERS,
    )
    choices: list[Any] = [
        "A secret. ", "\n\n", "sk-abc123 ", {"Bash": {"command": "rm"}}, {"Bash": {"command": "ls"}},
        {"read_file": {"path": "a"}}, {"list_files": {"path": "x\ny"}},
    ]  # fmt: skip
    says = [chance.choice(choices) for _ in range(chance.randint(1, 8))]
    body = body_of(says, kind, "sse", step=chance.randint(1, 9))
    expected = exchange_for(route, kind, run=runner)
    out = run(expected, body)
    got(out, kind, "sse")
    for step in (1, chance.randint(2, 60)):
        again = exchange_for(route, kind, run=runner)
        assert run(again, body, step) == out
        assert (again.verdicts, again.notes) == (expected.verdicts, expected.notes)
    broken = exchange_for(route, kind, run=runner)
    for at in range(0, len(body) * 2 // 3, 40):
        broken.feed(body[at : at + 40])
    broken.abort()
    assert broken.failure is None


def test_of_a_blocked_call_no_more_is_kept_than_is_shown() -> None:
    """Its verdict shows it as it was, but a call of any size must not be kept for that."""
    route = route_of({"access": {"message": "No.", "rules": [{"name": "r", "action": "block", "tools": "Bash"}]}})
    exchange = exchange_for(route, "process")
    command = "x" * 100_000 + "y" * 100_000
    out = run(exchange, body_of([{"Bash": {"command": command}}], "process", "sse", step=1000))
    assert got(out, "process", "sse").calls == []
    ((_, verdict),) = exchange.verdicts
    ((_, shown),) = (change.before for change in verdict.changes)
    assert json.dumps({"command": command}).startswith(shown)
    assert 1000 < len(shown) < 80_000


def test_a_call_that_is_not_all_kept_closes_no_circle() -> None:
    route = route_of({"loops": {"same_call": 2}, "max_call_chars": 2000})
    for size, notes in ((500, 1), (5000, 0)):
        call = {"Bash": {"command": "x" * size}}
        exchange = exchange_for(route, "process")
        body = body_of([call, call], "process", "sse", step=100)
        assert run(exchange, body) == body
        assert len(exchange.notes) == notes


def test_an_error_in_a_reactor_is_told_with_its_line_and_without_its_words(tmp_path: Path) -> None:
    deeper = "def deeper(call):\n    raise ValueError(call.arguments['command'])\n"
    (tmp_path / "r.py").write_text(f"{deeper}\n\ndef f(call):\n    return deeper(call)\n")
    reactor = Reactor(str(tmp_path / "r.py"), "f")
    reacted = Reactors((reactor,), Runner(), model="m").react("Bash", '{"command":"secret"}', None)
    assert reacted.failures == (("f", "raised ValueError in line 2"),)


def test_what_a_file_cannot_open_is_told_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text("import json\njson.load(open('nowhere.json'))\ndef f(call): ...\n")
    config = Config(routes=(Route(reactors=(Reactor(str(tmp_path / "r.py"), "f"),)),))
    with pytest.raises(Broken, match=r"r\.py:2: FileNotFoundError"):
        Runner().load(config)
    (tmp_path / "r.py").write_bytes(b"\0")
    with pytest.raises(Broken, match=r"r\.py: source code string"):
        Runner().load(config)
