"""Tools that are in the conversation itself (`additional_tools`), as Codex declares them for newer models.

Where the server keeps the conversation they come once, and later requests declare none.
"""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from support.responsesscene import BRINGING, BRINGS, BROUGHT, SAYS, tool
from toolcalls.processors.access import Gate
from toolcalls.request import Request, Tool
from toolcalls.requests import call_memory
from toolcalls.requests.call_memory import CallMemory
from toolcalls.requests.conversation import conversation_of, request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.processing import without_blocked_tools
from toolcalls.requests.rewriting import rewrite
from toolcalls.route import Access, AccessRule, Route
from toolcalls.wires import all_wires

LOWER = Route(client="native", upstream="text", dialects=("hermes",), rewrite_request=True)
WIRE, FORMAT = all_wires()["openai_responses"], partial(conversation_of, "openai_responses")


def asked(body: dict[str, Any]) -> Request:
    return request_of(WIRE, json.dumps(body).encode())


def lowered(body: bytes) -> tuple[bytes, tuple[str, ...]]:
    request = request_of(WIRE, body)
    decision = decide(LOWER, request, {}, ())
    call_policy, _ = call_policy_of(LOWER, request, decision)
    made = rewrite(FORMAT(body), replace(call_policy, route=LOWER), decision)
    return made.conversation.written() if made.notes else body, made.notes


def test_tools_in_items_are_tools() -> None:
    request = asked(BRINGING)
    assert [(one.space, one.name, one.form) for one in request.tools] == [
        ("functions", "exec", "custom_tool_call"),
        ("functions", "now", ""),
        ("clock", "sleep", ""),
    ]
    assert request.conversation_tools == request.tools


def test_what_is_declared_again_is_one_tool() -> None:
    """An item may come again, and say something else of a tool; so may the body."""
    newer = {**BRINGS, "tools": [{"type": "namespace", "name": "clock", "tools": [tool("sleep", "minutes")]}]}
    request = asked({**BRINGING, "tools": [tool("ls")], "input": [BRINGS, SAYS, newer]})
    assert [one.name for one in request.tools] == ["ls", "exec", "now", "sleep"]
    assert list(request.tools[-1].schema["properties"]) == ["minutes"]
    assert [one.name for one in request.conversation_tools] == ["exec", "now", "sleep"]


def test_what_a_search_has_found_may_be_called() -> None:
    found = {"type": "tool_search_output", "call_id": "call_1", "tools": [tool("look")]}
    assert [one.name for one in asked({**BRINGING, "input": [SAYS, found]}).tools] == ["look"]


def test_anthropic_tools_that_a_message_defines() -> None:
    def added(definition: object, kind: str = "tool_definition") -> dict[str, Any]:
        return {"type": "tool_addition", "tool": {"type": kind, "definition": definition}}

    one, newer = ({"name": "ls", "input_schema": {"type": "object", "properties": {key: {}}}} for key in "ab")
    blocks = [added(newer), added({"name": "bash", "type": "bash_20250124"}), added(3), added({"name": "x"}, "other")]
    body = {"model": "m", "tools": [one], "messages": [{"role": "user", "content": [*blocks, "odd"]}]}
    tools = request_of(all_wires()["anthropic"], json.dumps(body).encode()).tools
    assert [(tool.name, list(tool.schema["properties"])) for tool in tools] == [
        ("ls", ["b"]),
        ("bash", ["command", "restart"]),
    ]


def test_they_are_told_to_a_text_upstream_and_go() -> None:
    body = json.dumps(BRINGING).encode()
    made, notes = lowered(body)
    read = json.loads(made)
    assert notes == ("3 tools into the prompt (hermes)",)
    assert [item["type"] for item in read["input"]] == ["message", "message"]
    assert "tool_choice" not in read
    prompt = json.dumps(read["input"][0])
    assert all(name in prompt for name in ("exec", "now", "sleep"))
    assert lowered(made) == (made, ())


def test_a_tool_that_no_rule_lets_through_is_not_offered() -> None:
    body = json.dumps(BRINGING).encode()
    names = [one.name for one in asked(BRINGING).tools]

    def left(*allowed: str) -> list[Any]:
        refused = tuple(name for name in names if name not in allowed)
        rules = (AccessRule("no", "block", tools=refused),) if refused else ()
        gate = Gate(Access(rules), model="", agent="")
        made = json.loads(without_blocked_tools(FORMAT(body), gate).conversation.written())
        return [item.get("tools") for item in made["input"]]

    assert left(*names) == [BROUGHT, None]
    assert left("now", "sleep") == [[{**BROUGHT[0], "tools": [tool("now")]}, BROUGHT[1]], None]
    assert left("sleep") == [[BROUGHT[1]], None]
    assert left() == [None]


def test_nothing_is_changed_where_nothing_is_asked() -> None:
    body = json.dumps(BRINGING).encode()
    assert json.loads(FORMAT(body).written()) == BRINGING


class Said:
    """A reply to a request."""

    client_calls = ()

    def __init__(self, request: Request, reply_id: str) -> None:
        self.decision = decide(Route(), request, {}, ())
        self.call_policy, _ = call_policy_of(Route(), request, self.decision)
        self.reply_id = reply_id


def test_they_are_remembered_by_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_memory, "_REPLIES", 2)
    known = CallMemory()
    request = asked(BRINGING)
    known.reply_ended(Said(request, "resp_1"))
    second = known.with_tools(asked({"input": [SAYS], "previous_response_id": "resp_1"}))
    assert second.tools == second.conversation_tools == request.tools
    known.reply_ended(Said(second, "resp_2"))
    third = known.with_tools(asked({"input": [SAYS], "tools": [tool("now")], "previous_response_id": "resp_2"}))
    assert [one.name for one in third.tools] == ["now", "exec", "sleep"]
    assert known.with_tools(asked({"input": [SAYS], "previous_response_id": "resp_9"})).tools == ()
    assert known.with_tools(Request(tools=(Tool("x"),))).tools == (Tool("x"),)
    known.reply_ended(Said(second, "resp_3"))
    known.reply_ended(Said(second, "resp_4"))
    assert known.with_tools(asked({"input": [SAYS], "previous_response_id": "resp_2"})).tools == ()


# --- through a real mitmdump ------------------------------------------------------------------------------------------
