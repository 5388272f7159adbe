"""Requests rewritten: what the upstream is sent instead, turn by turn, and the laws that hold for all of them.

Strategy: whole Chat requests go through format and rewriting as the addon does it; what is in the new body is read
back by hand. Laws: the same bytes every time, nothing to do the second time, an earlier turn never changes when a later
one is added, and what is unknown survives.
"""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from support import rewritings
from support.rewritings import LIFT, LOWER, MEND
from toolcalls.requests.conversation import conversation_of
from toolcalls.requests.rewriting import NATIVELY, NOT_EXECUTED
from toolcalls.route import Route
from toolcalls.shapes import Unwritable
from toolcalls.wires import all_wires

FORMAT = partial(conversation_of, "openai_chat")
WIRE = all_wires()["openai_chat"]
READ = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
CLINE = """You are Cline.

# Tools

## read_file
Description: Reads a file.
Parameters:
- path: (required) The path.

## list_files
Description: Lists files.
Parameters:
- path: (required) The path.
- recursive: (optional) All below.
"""
OPENHANDS = """You are OpenHands agent.

---- BEGIN FUNCTION #1: terminal ----
Description: Runs.
Parameters:
  (1) command (string, required): The command.
  (2) timeout (number, optional): Seconds.
---- END FUNCTION #1 ----

<function=example_function_name>
<parameter=example_parameter_1>value_1</parameter>
</function>
"""

sent, through = partial(rewritings.sent, "openai_chat"), partial(rewritings.through, "openai_chat")


def call(id_: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": "d:"}}]},
    {"role": "assistant", "content": None, "tool_calls": [call("a", "read_file", '{"path": "x"}'), call("b", "l", "")]},
    {"role": "tool", "tool_call_id": "a", "content": "one"},
    {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "two", "cache_control": {"type": "e"}}]},
    {"role": "assistant", "content": "Done."},
]  # fmt: skip


def test_a_native_request_for_a_text_upstream() -> None:
    body = {
        "model": "m", "temperature": 0.10, "x": {"y": 12345678901234567890}, "messages": HISTORY, "tools": [READ],
        "tool_choice": "required", "parallel_tool_calls": False,
    }  # fmt: skip
    made, notes = sent(body, LOWER)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(made)
    assert (made["model"], made["temperature"], made["x"]) == ("m", 0.10, {"y": 12345678901234567890})
    system, user, past, results, done = made["messages"]
    assert system["content"].startswith("Be brief.\n\n# Tools\n")
    assert '"name": "read_file"' in system["content"]
    assert "must call at least one tool" in system["content"]
    assert "at most one tool" in system["content"]
    assert user == HISTORY[1]
    assert past == {
        "role": "assistant",
        "content": '<tool_call>\n{"name": "read_file", "arguments": {"path": "x"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "l", "arguments": {}}\n</tool_call>',
    }
    assert results["role"] == "user"
    assert [part["text"] for part in results["content"]] == [
        "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"
    ]
    assert results["content"][0]["cache_control"] == {"type": "e"}
    assert done == HISTORY[5]
    assert notes == ("1 tool into the prompt (hermes)", "2 past calls to hermes", "2 results to hermes")


def test_the_prompt_alone_where_there_is_no_history() -> None:
    made, notes = sent({"messages": [{"role": "user", "content": "Hi"}], "tools": [READ]}, LOWER)
    assert [message["role"] for message in made["messages"]] == ["system", "user"]
    assert notes == ("1 tool into the prompt (hermes)",)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("none", "Call no tool"),
        ("required", "at least one"),
        ({"type": "function", "function": {"name": "read_file"}}, "call the tool read_file"),
    ],
    ids=["none", "required", "named"],
)
def test_the_choice_is_said_in_the_prompt(choice: object, words: str) -> None:
    made, _ = sent({"messages": [{"role": "user", "content": "Hi"}], "tools": [READ], "tool_choice": choice}, LOWER)
    assert words in made["messages"][0]["content"]


def test_an_earlier_turn_never_changes() -> None:
    earlier: list[dict[str, Any]] = []
    for end in (2, 5, 6):
        made, _ = sent({"messages": HISTORY[:end], "tools": [READ]}, LOWER)
        assert made["messages"][: len(earlier)] == earlier
        earlier = made["messages"]


def test_results_stand_in_the_order_of_their_calls() -> None:
    """Agents that run calls side by side write down what was done first; the form of a result may have no name."""
    asked = {"role": "assistant", "tool_calls": [call(one, "read_file", '{"path": "x"}') for one in "abc"]}
    marked = {"type": "text", "text": "C", "cache_control": {"type": "ephemeral"}}
    image = {"type": "image_url", "image_url": {"url": "d:"}}
    messages = [
        asked,
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "B"}, image]},
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {"role": "tool", "tool_call_id": "?", "content": "nobody's"},
        {"role": "tool", "tool_call_id": "c", "content": [marked]},
    ]
    made, _ = sent({"messages": [*messages, asked, *messages[1:3]], "tools": [READ]}, LOWER)
    _, _, first, _, second = made["messages"]
    texts = [part.get("text", "an image") for part in first["content"]]
    said = "".join(texts).replace("<tool_response>", "").replace("</tool_response>", "").split()
    assert said == ["A", "B", "an", "image", "C", "nobody's"]
    assert [part.get("cache_control") for part in first["content"]] == [None, None, {"type": "ephemeral"}]
    assert "".join(part.get("text", "") for part in second["content"]).split("\n")[1::3] == ["A", "B"]


@pytest.mark.parametrize(
    ("said", "joins"),
    [
        ({"content": "Stop."}, True),
        ({"content": [{"type": "text", "text": "Stop."}]}, True),
        ({"content": [{"type": "text", "text": "Stop.", "cache_control": {"type": "ephemeral"}}]}, False),
        ({"content": [{"type": "text", "text": "Stop."}, {"type": "image_url", "image_url": {"url": "d:"}}]}, False),
        ({"content": "Stop.", "name": "ann"}, False),
        ({"content": ""}, False),
    ],
)
def test_what_the_user_says_behind_results_joins_them_if_it_is_a_text_alone(said: dict[str, Any], joins: bool) -> None:
    user = {"role": "user", **said}
    made, _ = sent({"messages": [*HISTORY[:4], user, {"role": "user", "content": "Go."}], "tools": [READ]}, LOWER)
    result = "<tool_response>\none\n</tool_response>"
    behind = [{"role": "user", "content": result}, user]
    assert made["messages"][3:-1] == ([{"role": "user", "content": f"{result}\n\nStop."}] if joins else behind)
    assert made["messages"][-1] == {"role": "user", "content": "Go."}


def test_parts_and_marks_of_a_developer_message_survive() -> None:
    part = {"type": "text", "text": "Rules.", "cache_control": {"type": "ephemeral"}}
    made, _ = sent({"messages": [{"role": "developer", "content": [part]}], "tools": [READ]}, LOWER)
    assert made["messages"][0]["role"] == "developer"
    assert made["messages"][0]["content"][0] == part
    assert made["messages"][0]["content"][1]["text"].startswith("\n\n# Tools")


def test_leaked_calls_in_the_history_are_mended() -> None:
    leaked = 'Let me look.\n<invoke name="read_file">\n<parameter name="path">x</parameter>\n</invoke>'
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": leaked},
        {"role": "user", "content": "?"},
    ]
    made, notes = sent({"messages": messages, "tools": [READ]}, MEND)
    _, past, result, user = made["messages"]
    assert past["content"] == "Let me look."
    assert past["tool_calls"][0]["function"] == {"name": "read_file", "arguments": '{"path":"x"}'}
    assert result == {"role": "tool", "tool_call_id": past["tool_calls"][0]["id"], "content": NOT_EXECUTED}
    assert user == messages[2]
    assert notes == ("1 leaked call to native",)


QUOTED = '<invoke name="read_file"></invoke>'


@pytest.mark.parametrize("text", [f"Use `{QUOTED}`.", f"```\n{QUOTED}\n```"], ids=["inline", "fenced"])
def test_what_is_no_leak_stays(text: str) -> None:
    body = {"messages": [{"role": "assistant", "content": text}], "tools": [READ]}
    assert sent(body, MEND) == (body, ())


LEAKED = 'Look.\n<invoke name="read_file">\n<parameter name="path">x</parameter>\n</invoke>'


def test_what_is_quoted_later_does_not_change_an_earlier_turn() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": LEAKED}]
    before, _ = sent({"messages": messages, "tools": [READ]}, MEND)
    later = [{"role": "user", "content": f"You wrote:\n{LEAKED}"}, {"role": "assistant", "content": LEAKED}]
    made, notes = sent({"messages": [*messages, *later], "tools": [READ]}, MEND)
    assert made["messages"][:3] == before["messages"]
    assert made["messages"][3:] == later, "what repeats the user is no leak"
    assert notes == ("1 leaked call to native",)


def test_a_document_may_be_quoted() -> None:
    quoted = {"type": "document", "source": {"type": "text", "data": LEAKED, "media_type": "text/plain"}}
    messages = [{"role": "user", "content": [quoted]}, {"role": "assistant", "content": LEAKED}]
    assert sent({"messages": messages, "tools": [READ]}, MEND)[1] == ()


def test_a_custom_tools_call_stays_among_the_calls() -> None:
    custom = {"id": "q", "type": "custom", "custom": {"name": "patch", "input": "x"}}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": LEAKED, "tool_calls": [custom]}]
    made, _ = sent({"messages": messages, "tools": [READ]}, MEND)
    past = made["messages"][1]
    assert past["content"] == "Look."
    assert custom in past["tool_calls"]
    assert len(past["tool_calls"]) == 2


@pytest.mark.parametrize("broken", ['{"path": ', "[]", "null", "\\"], ids=["cut", "list", "null", "junk"])
def test_a_past_call_that_broke_off_is_told_in_words(broken: str) -> None:
    """A call that was cut off stays in an agent's history, and must not end the conversation."""
    calls = [call("a", "read_file", '{"path": "x"}'), call("b", "read_file", broken)]
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "So.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "bad arguments"},
    ]
    made, notes = sent({"messages": messages, "tools": [READ]}, LOWER)
    assert notes == ("1 tool into the prompt (hermes)", "2 past calls to hermes", "2 results to hermes")
    said = made["messages"][2]["content"]
    assert said.count("<tool_call>") == 1
    assert said.endswith(f"The call of read_file was not written to its end, so it has no meaning: {broken}")


@pytest.mark.parametrize(
    ("dialect", "words"),
    [("yaml_xml", "The tool l was called with {}"), ("openhands_fn", "</function>\n<function=l>")],
    ids=["no form", "one a message"],
)
def test_past_calls_that_a_dialect_cannot_hold_stand_in_the_history(dialect: str, words: str) -> None:
    route = replace(LOWER, dialects=(dialect,))
    made, notes = sent({"messages": HISTORY, "tools": [READ]}, route)
    assert notes == (f"1 tool into the prompt ({dialect})", f"2 past calls to {dialect}", f"2 results to {dialect}")
    past = made["messages"][2]["content"]
    assert words in past
    assert "read_file" in past


def test_a_choice_of_some_tools_is_no_demand() -> None:
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [READ]}}
    body = {"messages": [{"role": "user", "content": "Hi"}], "tools": [READ], "tool_choice": choice}
    made, _ = sent(body, LOWER)
    assert "must call" not in made["messages"][0]["content"]


CALL = "I read.\n<read_file>\n<path>a.txt</path>\n</read_file>"
ANSWERS = {
    "one string": "[read_file for 'a.txt'] Result:\nline 1\nline 2",
    "parts": [
        {"type": "text", "text": "[read_file for 'a.txt'] Result:"},
        {"type": "text", "text": "line 1\nline 2"},
    ],
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_text_request_for_a_native_upstream(answer: object) -> None:
    messages = [
        {"role": "system", "content": CLINE},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": CALL},
        {"role": "user", "content": answer},
    ]
    made, notes = sent({"messages": messages}, LIFT)
    assert [tool["function"]["name"] for tool in made["tools"]] == ["read_file", "list_files"]
    system, user, past, result = made["messages"]
    assert system["content"] == f"{CLINE}\n\n{NATIVELY}"
    assert user == messages[1]
    assert past["content"] == "I read."
    assert past["tool_calls"][0]["function"] == {"name": "read_file", "arguments": '{"path":"a.txt"}'}
    assert result == {
        "role": "tool",
        "tool_call_id": past["tool_calls"][0]["id"],
        "content": "line 1\nline 2",
    }
    assert notes == ("2 tools out of the prompt", "1 past call to native", "1 result to native")


@pytest.mark.parametrize("listed", [False, True])
def test_a_request_of_openhands_for_a_native_upstream(listed: bool) -> None:
    """Its prompt names types, so a past call's numbers are numbers; its contents are texts or lists of them."""

    def content(text: str) -> Any:
        return [{"type": "text", "text": text}] if listed else text

    given = "<parameter=command>\nls &&\nls\n</parameter>\n<parameter=timeout>9</parameter>"
    request = {
        "messages": [
            {"role": "system", "content": content(OPENHANDS)},
            {"role": "user", "content": content("Go.")},
            {"role": "assistant", "content": content(f"I look.\n\n<function=terminal>\n{given}\n</function>")},
            {"role": "user", "content": content("EXECUTION RESULT of [terminal]:\na.txt\n[exit code 0]")},
        ],
        "stop": ["</function", "Bye"],
    }
    made, notes = sent(request, Route(client="auto", upstream="native", rewrite_request=True))
    no_stop = "no stop at </function, with which calls in openhands_fn end"
    assert notes == ("1 tool out of the prompt", "1 past call to native", "1 result to native", no_stop)
    (tool,) = made["tools"]
    assert (tool["function"]["name"], tool["function"]["description"]) == ("terminal", "Runs.")
    assert tool["function"]["parameters"]["properties"]["timeout"] == {"type": "number", "description": "Seconds."}
    _, _, asked, answered = made["messages"]
    (native,) = asked["tool_calls"]
    assert json.loads(native["function"]["arguments"]) == {"command": "ls &&\nls", "timeout": 9}
    assert (answered["role"], answered["tool_call_id"]) == ("tool", native["id"])
    assert answered["content"] == "a.txt\n[exit code 0]"
    assert made["stop"] == ["Bye"]


@pytest.mark.parametrize(
    ("stop", "left"), [("</read_file>", None), ("Bye", "Bye"), (None, None), (["</read_file>"], None)]
)
def test_a_stop_in_a_call_is_left_out_for_a_native_upstream(stop: Any, left: Any) -> None:
    request = {"messages": [{"role": "system", "content": CLINE}, {"role": "user", "content": "Go."}], "stop": stop}
    assert sent(request, LIFT)[0].get("stop") == left


def test_what_the_user_says_behind_an_answer_stays_the_users() -> None:
    answer = "[read_file for 'a.txt'] Result:\nx\n\n<environment_details>\nnow\n</environment_details>"
    messages = [
        {"role": "system", "content": CLINE},
        {"role": "assistant", "content": CALL},
        {"role": "user", "content": answer},
    ]
    made, _ = sent({"messages": messages}, LIFT)
    assert made["messages"][2]["content"] == "x"
    assert made["messages"][3] == {"role": "user", "content": "<environment_details>\nnow\n</environment_details>"}


def test_a_call_without_its_answer_stays_text() -> None:
    messages = [
        {"role": "system", "content": CLINE},
        {"role": "assistant", "content": CALL},
        {"role": "user", "content": "No, stop."},
    ]
    made, _ = sent({"messages": messages}, LIFT)
    assert made["messages"][1:] == messages[1:]


def test_from_one_dialect_to_another() -> None:
    route = Route(client="text", upstream="text", client_dialect="tagged", dialects=("hermes",), rewrite_request=True)
    messages = [
        {"role": "system", "content": CLINE},
        {"role": "assistant", "content": CALL},
        {"role": "user", "content": ANSWERS["one string"]},
    ]
    made, notes = sent({"messages": messages}, route)
    assert made["messages"][1]["content"] == (
        'I read.\n\n<tool_call>\n{"name": "read_file", "arguments": {"path":"a.txt"}}\n</tool_call>'
    )
    assert made["messages"][2]["content"] == "<tool_response>\nline 1\nline 2\n</tool_response>"
    assert notes == ("1 past call from tagged to hermes",)


def test_tools_that_no_prompt_can_tell_are_left_out() -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "tools": [READ, {"type": "web_search"}]}
    made, notes = sent({**body, "tool_choice": {"type": "web_search"}}, LOWER)
    assert notes == (
        "1 tool into the prompt (hermes)",
        "left out: web_search, which only the provider runs",
        "the choice of web_search is left out with it",
    )
    assert not {"tools", "tool_choice"} & set(made)
    assert "must call" not in made["messages"][0]["content"]


CUSTOM = {"type": "custom", "custom": {"name": "patch", "description": "Patches."}}


def test_a_choice_that_names_no_tool_is_left_out() -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "tools": [READ], "tool_choice": {"type": "mcp"}}
    made, notes = sent(body, LOWER)
    assert notes == ("1 tool into the prompt (hermes)", "the choice of mcp is left out since no tool has that name")
    assert "must call" not in made["messages"][0]["content"]


def test_a_tool_that_the_dialect_cannot_hold_is_left_out() -> None:
    """The prompt's example is of the first one that it can."""
    odd = {"type": "function", "function": {"name": "my tool", "parameters": {"type": "object", "properties": {}}}}
    named = {"type": "function", "function": {"name": "my tool"}}
    request = {"messages": [{"role": "user", "content": "Go."}], "tools": [odd, READ], "tool_choice": named}
    route = replace(LOWER, dialects=("glm_xml",))
    made, notes = sent(request, route)
    assert notes == (
        "1 tool into the prompt (glm_xml)",
        "left out: my tool, which glm_xml cannot hold",
        "the choice of my tool is left out with it",
    )
    prompt = made["messages"][0]["content"]
    assert "my tool" not in prompt
    assert "<tool_call>read_file<arg_key>" in prompt
    with pytest.raises(Unwritable, match="glm_xml can hold no call of my tool"):
        sent({**request, "tools": [odd]}, route)


def test_a_custom_tools_past_becomes_text() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [
            {"id": "q", "type": "custom", "custom": {"name": "patch", "input": 'a "b"'}}]},
        {"role": "tool", "tool_call_id": "q", "content": "done"},
    ]  # fmt: skip
    made, notes = sent({"messages": messages, "tools": [READ, CUSTOM]}, LOWER)
    assert notes == ("2 tools into the prompt (hermes)", "1 past call to hermes", "1 result to hermes")
    assert made["messages"][2]["content"] == (
        '<tool_call>\n{"name": "patch", "arguments": {"input":"a \\"b\\""}}\n</tool_call>'
    )


def test_a_leaked_call_of_a_custom_tool_is_mended_in_its_form() -> None:
    leaked = '<invoke name="patch">\n<parameter name="input">a "b"</parameter>\n</invoke>'
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": leaked}]
    made, _ = sent({"messages": messages, "tools": [CUSTOM]}, MEND)
    (call,) = made["messages"][1]["tool_calls"]
    assert (call["type"], call["custom"]) == ("custom", {"name": "patch", "input": 'a "b"'})


OLDER = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": None, "function_call": {"name": "read_file", "arguments": '{"path": "x"}'}},
    {"role": "function", "name": "read_file", "content": "one"},
]


def test_the_older_form_becomes_text() -> None:
    body = {"messages": OLDER, "functions": [READ["function"]], "function_call": {"name": "read_file"}}
    made, notes = sent(body, LOWER)
    assert not {"functions", "function_call"} & set(made)
    assert "must call the tool read_file" in made["messages"][0]["content"]
    assert made["messages"][2:] == [
        {"role": "assistant",
         "content": '<tool_call>\n{"name": "read_file", "arguments": {"path": "x"}}\n</tool_call>'},
        {"role": "user", "content": "<tool_response>\none\n</tool_response>"},
    ]  # fmt: skip
    assert notes == ("1 tool into the prompt (hermes)", "1 past call to hermes", "1 result to hermes")


def test_a_leak_in_the_older_form_is_mended_in_it() -> None:
    messages = [*OLDER, {"role": "assistant", "content": LEAKED}, {"role": "user", "content": "?"}]
    made, _ = sent({"messages": messages, "functions": [READ["function"]]}, MEND)
    assert made["messages"][:3] == OLDER
    assert made["messages"][3:] == [
        {"role": "assistant", "content": "Look.", "function_call": {"name": "read_file", "arguments": '{"path":"x"}'}},
        {"role": "function", "name": "read_file", "content": NOT_EXECUTED},
        messages[-1],
    ]
    assert made["functions"] == [READ["function"]]


def test_a_lone_surrogate_stays_as_it_was_written() -> None:
    """Also where its own message is changed, and so that what comes before it is the same bytes with it or without."""
    messages = [{"role": "system", "content": "é\u2028 HERE"}, *HISTORY[1:]]
    body = json.dumps({"messages": messages, "tools": [READ], "x": 1.10}, ensure_ascii=False)
    made, notes = through(body.replace("HERE", "\\ud800").encode(), LOWER)
    assert notes
    assert through(made, LOWER)[0] == made
    assert "\\ud800" in made.decode()
    assert made.replace(b"\\ud800", b"HERE") == through(body.encode(), LOWER)[0]
    last = json.dumps({"role": "user", "content": "\udfff"})
    before, _ = through(body.encode(), LOWER)
    longer, _ = through(body.replace('], "tools"', f', {last}], "tools"').encode(), LOWER)
    assert longer == before.replace(b'],"x"', b"," + last.encode() + b'],"x"')
