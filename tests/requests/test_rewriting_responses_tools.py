"""Requests of the Responses API with calls that are no functions: custom tools, the local shell, patches.

Strategy: one history with each, lowered to text, and leaked calls of a custom tool mended to native ones; what is not
touched keeps its bytes.
"""

import json
from functools import partial
from typing import Any

from support.processorcases import no_reactors
from support.rewritings import LOWER, MEND, sent, through
from toolcalls.requests.conversation import PastCall, Result, conversation_of
from toolcalls.requests.evidence import Decision
from toolcalls.requests.processing import processors_for
from toolcalls.route import Loops, Route

FORMAT = partial(conversation_of, "openai_responses")
PATCH = {"type": "custom", "name": "apply_patch", "description": "Patches."}
GRAMMAR = {**PATCH, "format": {"type": "grammar", "syntax": "lark", "definition": "start: X"}}
LEAKED = 'So.\n<invoke name="apply_patch">\n<parameter name="input">*** Begin "x"</parameter>\n</invoke>'

HISTORY: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": "Go."},
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "apply_patch", "input": "*** \"x\""},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "patched"},
    {
        "type": "local_shell_call", "id": "lsh_1", "call_id": "c2", "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    },
    {"type": "local_shell_call_output", "id": "c2", "output": "a.txt"},
    {"type": "shell_call", "id": "sh_1", "call_id": "c3", "action": {"commands": ["ls", "pwd"]}},
    {
        "type": "shell_call_output", "call_id": "c3",
        "output": [{"stdout": "a", "stderr": "", "outcome": {}}, {"stdout": "/", "stderr": "no"}],
    },
    {"type": "apply_patch_call", "id": "apc_1", "call_id": "c4", "operation": {"type": "delete_file", "path": "a"}},
    {"type": "apply_patch_call_output", "call_id": "c4", "status": "completed", "output": "gone"},
    {"type": "computer_call", "id": "cu_1", "call_id": "c5", "action": {"type": "screenshot"}},
    {"type": "computer_call_output", "call_id": "c5", "output": {"type": "computer_screenshot", "image_url": "x"}},
]  # fmt: skip


def read(items: list[dict[str, Any]]) -> list[PastCall | Result]:
    conversation = FORMAT(json.dumps({"input": items}).encode())
    return [block for turn in conversation.turns for block in turn.blocks if isinstance(block, PastCall | Result)]


def test_past_calls_and_their_results_are_read() -> None:
    calls = [
        (block.id, block.name, json.loads(block.arguments)) for block in read(HISTORY) if isinstance(block, PastCall)
    ]
    assert calls == [
        ("c1", "apply_patch", {"input": '*** "x"'}),
        ("c2", "local_shell", {"type": "exec", "command": ["ls"], "env": {}}),
        ("c3", "shell", {"commands": ["ls", "pwd"]}),
        ("c4", "apply_patch", {"type": "delete_file", "path": "a"}),
    ]
    results = [(block.id, block.text) for block in read(HISTORY) if isinstance(block, Result)]
    assert results == [("c1", "patched"), ("c2", "a.txt"), ("c3", "a\n/\nno"), ("c4", "gone")]


def test_the_loop_guard_knows_them() -> None:
    body = json.dumps({"input": HISTORY}).encode()
    decision = Decision("process", "native", "auto", None, ())
    guarded = Route(loops=Loops())
    guard = processors_for(
        conversation_of("openai_responses", body), guarded, decision, model="m", agent="", run=no_reactors
    )
    assert guard is not None
    assert [(one.name, one.result) for one in guard.history] == [
        ("apply_patch", "patched"), ("local_shell", "a.txt"), ("shell", "a\n/\nno"), ("apply_patch", "gone"),
    ]  # fmt: skip


def test_they_become_text_for_a_text_upstream() -> None:
    made = sent("openai_responses", {"input": HISTORY[:5], "tools": [GRAMMAR]}, LOWER)[0]
    assert "tools" not in made
    system, *items = made["input"]
    assert '"start: X"' not in system["content"]
    assert "start: X" in system["content"]
    assert all(item["type"] == "message" for item in items)
    said = "".join(item["content"] for item in items)
    assert '{"name": "apply_patch", "arguments": {"input":"*** \\"x\\""}}' in said
    assert "patched" in said
    assert '"command":["ls"]' in said.replace(" ", "")


def test_a_tool_that_is_built_in_cannot_be_told_and_is_left_out() -> None:
    body = json.dumps({"input": "Go.", "tools": [PATCH, {"type": "local_shell"}]}).encode()
    made, notes = through("openai_responses", body, LOWER)
    assert "tools" not in json.loads(made)
    assert [note for note in notes if "left out: local_shell, which the request does not describe" in note]


def test_a_leaked_call_of_a_custom_tool_becomes_one() -> None:
    items = [HISTORY[0], {"type": "message", "role": "assistant", "content": LEAKED}, HISTORY[0]]
    made = sent("openai_responses", {"input": items, "tools": [PATCH]}, MEND)[0]["input"]
    assert [item["type"] for item in made] == [
        "message", "message", "custom_tool_call", "custom_tool_call_output", "message",
    ]  # fmt: skip
    assert (made[2]["name"], made[2]["input"]) == ("apply_patch", '*** Begin "x"')
    assert made[3]["call_id"] == made[2]["call_id"]


def test_a_tool_that_is_not_offered_any_more_goes_and_the_choice_with_it() -> None:
    body = {"input": "Go.", "tools": [PATCH, {"type": "function", "name": "f"}], "tool_choice": "auto"}
    conversation = FORMAT(json.dumps(body).encode())
    (f,) = [tool for tool in conversation.tools if tool.name == "f"]
    less = conversation.changed(tools=[f], opaque_tools=[])
    assert json.loads(less.written())["tools"] == [{"type": "function", "name": "f"}]
    named = conversation.changed(tool_choice="apply_patch")
    made = json.loads(named.written())
    assert made["tool_choice"] == {"type": "custom", "name": "apply_patch"}
    assert made["tools"] == body["tools"]


def test_what_nobody_changes_keeps_its_bytes() -> None:
    body = json.dumps({"input": HISTORY, "tools": [GRAMMAR, {"type": "function", "name": "f"}]}).encode()
    assert through("openai_responses", body, MEND) == (body, ())
