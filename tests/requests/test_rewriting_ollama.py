"""Requests of Ollama's chat rewritten: what the upstream is sent instead, and the laws of `test_rewriting`.

Strategy: as there, with messages whose arguments are objects and whose calls have no ids.
"""

import json
from functools import partial
from typing import Any

import pytest

from support import rewritings
from support.casefiles import openai_tools
from support.repository import shared_path
from support.rewritings import CLINE, LIFT, LOWER, MEND
from toolcalls.requests.conversation import conversation_of
from toolcalls.requests.rewriting import NOT_EXECUTED
from toolcalls.wires import all_wires

FORMAT = partial(conversation_of, "ollama")
WIRE = all_wires()["ollama"]
TOOLS = openai_tools({"read_file": {"path": "string"}})

sent, through = partial(rewritings.sent, "ollama"), partial(rewritings.through, "ollama")


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look.", "images": ["aGk="]},
    {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call("read_file", path="x"), call("ls")]},
    {"role": "tool", "tool_name": "ls", "content": "two"},
    {"role": "tool", "content": "one"},
    {"role": "assistant", "content": "Done."},
]


def test_a_native_request_for_a_text_upstream() -> None:
    body = {"model": "m", "messages": HISTORY, "tools": TOOLS, "options": {"x": 0.10}, "keep_alive": -1}
    made, notes = sent(body, LOWER)
    assert "tools" not in made
    assert (made["model"], made["options"], made["keep_alive"]) == ("m", {"x": 0.10}, -1)
    system, user, past, results, done = made["messages"]
    assert system["content"].startswith("Be brief.\n\n# Tools\n")
    assert user == HISTORY[1]
    assert past == {
        "role": "assistant",
        "content": '<tool_call>\n{"name": "read_file", "arguments": {"path": "x"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>',
        "thinking": "hm",
    }
    assert results == {  # in the calls' order, since the dialect's results name none
        "role": "user",
        "content": "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>",
    }
    assert done == HISTORY[5]
    assert notes == ("1 tool into the prompt (hermes)", "2 past calls to hermes", "2 results to hermes")


def test_an_earlier_turn_never_changes() -> None:
    earlier: list[dict[str, Any]] = []
    for end in (2, 5, 6):
        made, _ = sent({"messages": HISTORY[:end], "tools": TOOLS}, LOWER)
        assert made["messages"][: len(earlier)] == earlier
        earlier = made["messages"]


def test_leaked_calls_in_the_history_are_mended() -> None:
    leaked = 'Let me look.\n<invoke name="read_file">\n<parameter name="path">x</parameter>\n</invoke>'
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": leaked, "thinking": "hm"},
        {"role": "user", "content": "?"},
    ]
    made, notes = sent({"messages": messages, "tools": TOOLS}, MEND)
    _, past, result, user = made["messages"]
    assert past == {
        "role": "assistant", "content": "Let me look.", "thinking": "hm", "tool_calls": [call("read_file", path="x")],
    }  # fmt: skip
    assert result == {"role": "tool", "tool_name": "read_file", "content": NOT_EXECUTED}
    assert user == messages[2]
    assert notes == ("1 leaked call to native",)


def test_what_is_no_leak_stays() -> None:
    body = {"messages": [{"role": "assistant", "content": 'Use `<invoke name="read_file"></invoke>`.'}], "tools": TOOLS}
    assert sent(body, MEND) == (body, ())


def test_a_text_request_for_a_native_upstream() -> None:
    messages = [
        {"role": "system", "content": CLINE},
        {"role": "assistant", "content": "I read.\n<read_file>\n<path>a.txt</path>\n</read_file>"},
        {"role": "user", "content": "[read_file for 'a.txt'] Result:\nline 1\nline 2"},
    ]
    made, _ = sent({"model": "m", "messages": messages}, LIFT)
    assert [tool["function"]["name"] for tool in made["tools"]] == ["read_file"]
    _, past, result = made["messages"]
    assert past == {"role": "assistant", "content": "I read.", "tool_calls": [call("read_file", path="a.txt")]}
    assert result == {"role": "tool", "tool_name": "read_file", "content": "line 1\nline 2"}


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"messages":[]}', b"\xff"])
def test_what_is_no_request_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"the request body (?:is not|has no)"):
        FORMAT(body).written()


def test_messages_of_odd_shapes_survive() -> None:
    odd: list[Any] = [None, 3, {"role": "critic", "content": "x"}, {"role": "assistant", "tool_calls": [None, {}]}]
    body = json.dumps({"messages": odd, "tools": TOOLS}).encode()
    assert json.loads(FORMAT(body).written())["messages"] == odd
    assert json.loads(through(body, LOWER)[0])["messages"][1:] == odd


def test_fewer_tools_are_written() -> None:
    body = json.dumps({"messages": [{}], "tools": [*TOOLS, *openai_tools({"ls": {}})]}).encode()
    read = FORMAT(body)
    assert json.loads(read.changed(tools=read.tools[1:]).written())["tools"] == openai_tools({"ls": {}})


def test_recorded_requests_survive() -> None:
    """Whatever real clients send: read and written it is the same; lowered it loses nothing but the tools."""
    lines = shared_path("suites/streams/ollama.jsonl").read_text(encoding="utf-8").splitlines()
    for request in filter(None, (json.loads(line)["request"] for line in lines)):
        body = json.dumps(request).encode()
        assert json.loads(FORMAT(body).written()) == request
        made, _ = sent(request, LOWER)
        assert {key: made[key] for key in set(made) - {"messages"}} == {
            key: request[key] for key in set(request) - {"messages", "tools"}
        }
        assert not any("tool_calls" in message for message in made["messages"])
