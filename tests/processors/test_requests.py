"""What access rules and steering make of a request, on every wire: one table each.

Strategy: the requests are written in each API's own words; the same is expected of all of them. A body is read and
written by the wire's format, as the host does it.
"""

import json
from typing import Any

import pytest

from toolcalls.processors.access import Gate
from toolcalls.requests.conversation import conversation_of
from toolcalls.requests.processing import with_steering_texts, without_blocked_tools
from toolcalls.route import Access, AccessRule, Loops, Route

# --- what is offered --------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {}}


def chat_tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA}}


def chat_allowed(*names: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": tools}}


def responses_tool(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": SCHEMA}


def responses_allowed(*names: str) -> dict[str, Any]:
    tools = [{"type": "function", "name": name} for name in names]
    return {"type": "allowed_tools", "mode": "required", "tools": tools}


def gemini_choice(mode: str, *names: str) -> dict[str, Any]:
    return {"functionCallingConfig": {"mode": mode, **({"allowedFunctionNames": [*names]} if names else {})}}


SAYS: dict[str, dict[str, Any]] = {
    "openai_chat": {"messages": [{"role": "user", "content": "Go."}]},
    "openai_responses": {"input": "Go."},
    "anthropic": {"messages": [{"role": "user", "content": "Go."}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Go."}]}]},
    "ollama": {"model": "m", "messages": [{"role": "user", "content": "Go."}]},
}


def request(wire: str, names: str, choice: Any = None) -> dict[str, Any]:
    """A request that declares a tool for each letter of `names`."""
    body = dict(SAYS[wire])
    if wire == "gemini":
        body["tools"] = [{"functionDeclarations": [{"name": name, "parameters": SCHEMA} for name in names]}]
    elif wire == "anthropic":
        body["tools"] = [{"name": name, "input_schema": SCHEMA} for name in names]
    else:
        body["tools"] = [*map(responses_tool if wire == "openai_responses" else chat_tool, names)]
    if choice is not None:
        body["toolConfig" if wire == "gemini" else "tool_choice"] = choice
    return body


# By wire: a choice, and what it becomes where `a` may not be called and `b` may.
CHOICES: dict[str, list[tuple[Any, Any]]] = {
    "openai_chat": [
        (None, None),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "a"}}, "auto"),
        ({"type": "function", "function": {"name": "b"}}, {"type": "function", "function": {"name": "b"}}),
        (chat_allowed("a", "b"), chat_allowed("b")),
    ],
    "openai_responses": [
        (None, None),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "a"}, "auto"),
        ({"type": "function", "name": "b"}, {"type": "function", "name": "b"}),
        (responses_allowed("a", "b"), responses_allowed("b")),
    ],
    "anthropic": [
        (None, None),
        ({"type": "auto"}, {"type": "auto"}),
        ({"type": "any"}, {"type": "any"}),
        ({"type": "none"}, {"type": "none"}),
        ({"type": "tool", "name": "a"}, {"type": "auto"}),
        ({"type": "tool", "name": "b"}, {"type": "tool", "name": "b"}),
    ],
    "gemini": [
        (None, None),
        (gemini_choice("AUTO"), gemini_choice("AUTO")),
        (gemini_choice("ANY"), gemini_choice("ANY")),
        (gemini_choice("NONE"), gemini_choice("NONE")),
        (gemini_choice("ANY", "a"), gemini_choice("AUTO")),
        (gemini_choice("ANY", "a", "b"), gemini_choice("ANY", "b")),
        (gemini_choice("ANY", "b"), gemini_choice("ANY", "b")),
    ],
    "ollama": [(None, None)],
}
GATE = Gate(Access((AccessRule("no", "block", ("a",)),)), model="", agent="")
NOTHING = Gate(Access(default="deny"), model="", agent="")


def offered(wire: str, body: dict[str, Any], gate: Gate) -> tuple[dict[str, Any], tuple[str, ...]]:
    raw = json.dumps(body).encode()
    made = without_blocked_tools(conversation_of(wire, raw), gate)
    return json.loads(made.conversation.written()), made.notes


@pytest.mark.parametrize(
    ("wire", "choice", "after"), [(wire, *row) for wire, rows in CHOICES.items() for row in rows], ids=str
)
def test_a_tool_that_may_not_be_called_is_not_offered_and_not_chosen(wire: str, choice: Any, after: Any) -> None:
    made, notes = offered(wire, request(wire, "ab", choice), GATE)
    assert made == request(wire, "b", after)
    assert notes == ("a is not offered (no)",)


def test_where_the_only_tool_that_is_allowed_goes_none_is_offered() -> None:
    made, notes = offered("openai_chat", request("openai_chat", "ab", chat_allowed("a")), GATE)
    assert made == SAYS["openai_chat"]
    assert notes == ("a is not offered (no)",)


@pytest.mark.parametrize(
    ("wire", "choice"), [(wire, row[0]) for wire, rows in CHOICES.items() for row in rows], ids=str
)
def test_without_any_tool_nothing_speaks_of_tools(wire: str, choice: Any) -> None:
    made, notes = offered(wire, request(wire, "ab", choice), NOTHING)
    assert made == SAYS[wire]
    assert len(notes) in {1, 2}  # of Responses' allowed tools only those count that are allowed


# What a provider runs itself, and what no request describes: by wire, tools, the rule's pattern, what is left of them.
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
SHELL, MCP = {"type": "local_shell"}, {"type": "mcp", "server_label": "git", "server_url": "u"}
OWN: list[tuple[str, list[Any], str, list[Any]]] = [
    ("anthropic", [SEARCH, {"name": "b", "input_schema": {}}], "web_search", [{"name": "b", "input_schema": {}}]),
    ("anthropic", [SEARCH, {"type": "bash_20250124", "name": "bash"}], "Bash", [SEARCH]),
    ("openai_responses", [{"type": "web_search"}, SHELL, responses_tool("b")], "web_.*", [SHELL, responses_tool("b")]),
    ("openai_responses", [SHELL, MCP], "local_shell", [MCP]),
    ("openai_responses", [SHELL, MCP], "mcp git", [SHELL]),
    ("openai_chat", [{"type": "web_search"}, chat_tool("b")], "web_search", [chat_tool("b")]),
    ("ollama", [{"type": "web_search"}, chat_tool("b")], "web_search", [chat_tool("b")]),
    ("gemini", [{"googleSearch": {}, "codeExecution": {}}, {"urlContext": {}}], "googleSearch|urlContext",
     [{"codeExecution": {}}]),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "tools", "pattern", "left"), OWN, ids=str)
def test_a_tool_that_the_provider_runs_can_only_be_left_out(
    wire: str, tools: list[Any], pattern: str, left: list[Any]
) -> None:
    gate = Gate(Access((AccessRule("no", "block", (pattern,)),)), model="", agent="")
    made, notes = offered(wire, {**SAYS[wire], "tools": tools}, gate)
    assert made == {**SAYS[wire], "tools": left}
    assert notes
    other = Gate(Access((AccessRule("no", "block", ("other",)),)), model="", agent="")
    assert offered(wire, {**SAYS[wire], "tools": tools}, other) == ({**SAYS[wire], "tools": tools}, ())
    assert offered(wire, {**SAYS[wire], "tools": tools}, NOTHING)[0] == SAYS[wire]


def test_a_server_goes_with_its_tools() -> None:
    server = {"type": "url", "url": "u", "name": "git"}
    toolset = {"type": "mcp_toolset", "mcp_server_name": "git"}
    body = {**SAYS["anthropic"], "mcp_servers": [server, {**server, "name": "b"}], "tools": [toolset, SEARCH]}
    gate = Gate(Access((AccessRule("no", "block", ("git",)),)), model="", agent="")
    left = {**SAYS["anthropic"], "mcp_servers": [{**server, "name": "b"}], "tools": [SEARCH]}
    assert offered("anthropic", body, gate) == (left, ("git is not offered (no)",))


@pytest.mark.parametrize("tool", [SHELL, MCP, {"type": "web_search"}], ids=str)
def test_a_choice_of_a_tool_that_is_left_out_goes_with_it(tool: dict[str, Any]) -> None:
    choice = {key: value for key, value in tool.items() if key != "server_url"}
    body = {**SAYS["openai_responses"], "tools": [tool, responses_tool("b")], "tool_choice": choice}
    gate = Gate(Access((AccessRule("no", "block", ("mcp git", "local_shell", "web_search")),)), model="", agent="")
    made, _ = offered("openai_responses", body, gate)
    assert made == {**SAYS["openai_responses"], "tools": [responses_tool("b")], "tool_choice": "auto"}


# --- steering ---------------------------------------------------------------------------------------------------------

STEERING = Route(steering="request", access=Access((AccessRule("shell", "block", message="Use the editor."),)))
NOTICE, TEXT = "[blocked: shell]", "Use the editor."
CHAT_CALL = {"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}

# By wire: the member that holds the turns; the reply with the notice, alone and with a call beside it; what the tool
# answered; the model's next words; the user's next words, bare and after the text.
TURNS: dict[str, dict[str, Any]] = {
    "openai_chat": {
        "key": "messages",
        "reply": {"role": "assistant", "content": f"So.\n\n{NOTICE}"},
        "called": [{"role": "assistant", "content": NOTICE, "tool_calls": [CHAT_CALL]}],
        "answer": {"role": "tool", "tool_call_id": "c", "content": "r"},
        "text": {"role": "user", "content": TEXT},
        "next": {"role": "assistant", "content": "Yes."},
        "user": [{"role": "user", "content": f"{text}And?"} for text in ("", f"{TEXT}\n\n")],
    },
    "openai_responses": {
        "key": "input",
        "reply": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": NOTICE}]},
        "called": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": NOTICE}]},
            {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"},
        ],
        "answer": {"type": "function_call_output", "call_id": "c", "output": "r"},
        "text": {"type": "message", "role": "user", "content": TEXT},
        "next": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        "user": [{"role": "user", "content": f"{text}And?"} for text in ("", f"{TEXT}\n\n")],
    },
    "anthropic": {
        "key": "messages",
        "reply": {"role": "assistant", "content": [{"type": "text", "text": NOTICE}]},
        "called": [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": NOTICE},
                    {"type": "tool_use", "id": "c", "name": "x", "input": {}},
                ],
            }
        ],
        "answer": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r"}]},
        "text": {"type": "text", "text": TEXT},
        "next": {"role": "assistant", "content": "Yes."},
        "user": [{"role": "user", "content": f"{text}And?"} for text in ("", f"{TEXT}\n\n")],
    },
    "gemini": {
        "key": "contents",
        "reply": {"role": "model", "parts": [{"text": NOTICE}]},
        "called": [{"role": "model", "parts": [{"text": NOTICE}, {"functionCall": {"name": "x", "args": {}}}]}],
        "answer": {"role": "user", "parts": [{"functionResponse": {"name": "x", "response": {"r": 1}}}]},
        "text": {"text": TEXT},
        "next": {"role": "model", "parts": [{"text": "Yes."}]},
        "user": [{"role": "user", "parts": [{"text": f"{text}And?"}]} for text in ("", f"{TEXT}\n\n")],
    },
    "ollama": {
        "key": "messages",
        "reply": {"role": "assistant", "content": NOTICE},
        "called": [
            {"role": "assistant", "content": NOTICE, "tool_calls": [{"function": {"name": "x", "arguments": {}}}]}
        ],
        "answer": {"role": "tool", "tool_name": "x", "content": "r"},
        "text": {"role": "user", "content": TEXT},
        "next": {"role": "assistant", "content": "Yes."},
        "user": [{"role": "user", "content": f"{text}And?"} for text in ("", f"{TEXT}\n\n")],
    },
}
FIRST = {
    "openai_responses": {"role": "user", "content": "Go."},
    "gemini": {"role": "user", "parts": [{"text": "Go."}]},
}


def told(wire: str, turns: list[Any], route: Route = STEERING) -> tuple[list[Any], tuple[str, ...]]:
    """The turns after the first as they are sent, and what is noted."""
    first = FIRST.get(wire, {"role": "user", "content": "Go."})
    raw = json.dumps({"model": "m", TURNS[wire]["key"]: [first, *turns]}).encode()
    results = []
    for _ in "12":  # the same request becomes the same bytes
        made = with_steering_texts(conversation_of(wire, raw), route)
        results.append(made.conversation.written())
    assert results[0] == results[1]
    return json.loads(results[0])[TURNS[wire]["key"]][1:], made.notes


@pytest.mark.parametrize("wire", TURNS)
def test_the_text_stands_before_what_the_user_says_next(wire: str) -> None:
    row = TURNS[wire]
    bare, steered_ = row["user"]
    assert told(wire, [row["reply"], bare]) == ([row["reply"], steered_], ("steering text for shell",))
    # In a later request it is where it stood, and nowhere else; what it says is never said twice.
    assert told(wire, [row["reply"], bare, row["next"], bare])[0] == [row["reply"], steered_, row["next"], bare]
    assert told(wire, [row["reply"], steered_])[0] == [row["reply"], steered_]


@pytest.mark.parametrize("wire", TURNS)
def test_the_text_stands_behind_what_a_tool_answered(wire: str) -> None:
    row = TURNS[wire]
    made, notes = told(wire, [*row["called"], row["answer"]])
    answer = row["answer"]
    inside = next((key for key in ("content", "parts") if isinstance(answer.get(key), list)), None)
    if inside is None:
        expected = [*row["called"], answer, row["text"]]
    else:  # the answer is a part of the user's turn, and comes first in it
        expected = [*row["called"], {**answer, inside: [*answer[inside], row["text"]]}]
    assert (made, notes) == (expected, ("steering text for shell",))
    later = told(wire, [*row["called"], row["answer"], row["next"], row["user"][0]])[0]
    assert later == [*expected, row["next"], row["user"][0]]


@pytest.mark.parametrize("wire", TURNS)
def test_the_reply_that_holds_the_notice_stays_as_it_was_and_so_does_a_request_without_one(wire: str) -> None:
    row = TURNS[wire]
    for route, turns in ((Route(access=STEERING.access), [row["reply"]]), (STEERING, [row["next"], row["user"][0]])):
        assert told(wire, turns, route) == (turns, ())


def test_a_text_is_said_once_for_a_reply_and_for_each_rule_that_is_known() -> None:
    reply = {"role": "assistant", "content": f"{NOTICE}\n{NOTICE}\n[blocked: same_call]\n[blocked: never heard of]"}
    route = Route(steering="request", access=STEERING.access, loops=Loops(action="replace", text="A loop."))
    made, notes = told("openai_chat", [reply, {"role": "user", "content": "And?"}], route)
    assert made[1]["content"] == f"{TEXT}\n\nA loop.\n\nAnd?"
    assert notes == ("steering text for shell", "steering text for same_call")
