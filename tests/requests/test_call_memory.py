"""Results of lifted calls in a conversation that the server keeps: the server has the calls as text.

The Responses API refuses a request with a result of a call that it does not know.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from support.responsesscene import TOOLS, tool
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.requests import call_memory
from toolcalls.requests.call_memory import CallMemory, missing_call_notes, missing_calls, with_missing_calls
from toolcalls.requests.conversation import conversation_of
from toolcalls.requests.evidence import Decision
from toolcalls.route import Route

PREVIOUS = {"previous_response_id": "resp_1"}
ASKED = {"model": "m", "tools": TOOLS, "stream": True}
CALL = {"type": "function_call"}


NOTHING = Request()


@dataclass
class Made:
    """A call of a reply, as an exchange has it."""

    id: str
    name: str
    arguments: str = "{}"
    dialect: str | None = "invoke"
    complete: bool = True


class Said:
    """A reply with some calls."""

    def __init__(self, *calls: Made, kind: Any = "lift", request: Request = NOTHING) -> None:
        self.decision = Decision(kind, "native", "auto", None, ())
        self.call_policy = CallPolicy(Route(), request)
        self.reply_id = "" if request.continues else "resp_1"
        self.client_calls: Sequence[tuple[int, Made]] = [(0, call) for call in calls]


def remembered(*calls: Made) -> CallMemory:
    known = CallMemory()
    known.reply_ended(Said(*calls))
    return known


def output(id_: str, text: str = "done", kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": id_, "output": text}


def made_whole(body: dict[str, Any], known: CallMemory) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    conversation = conversation_of("openai_responses", json.dumps(body).encode())
    made = with_missing_calls("openai_responses", conversation, missing_calls(conversation, known))
    return json.loads(made.conversation.written())["input"], made.notes


# --- what is remembered, and what becomes of a request ----------------------------------------------------------------


def test_calls_stand_in_front_of_their_results() -> None:
    known = remembered(Made("call_a", "read_file", '{"path":"größe"}'), Made("call_b", "now"))
    given = [output("call_b"), output("call_a"), {"type": "message", "role": "user", "content": "and?"}]
    items, notes = made_whole({**ASKED, **PREVIOUS, "input": given}, known)
    assert items == [
        {**CALL, "call_id": "call_b", "name": "now", "arguments": "{}"},
        {**CALL, "call_id": "call_a", "name": "read_file", "arguments": '{"path":"größe"}'},
        *given,
    ]
    assert notes == ("2 calls in front of the results, since the server keeps the conversation and has them as text",)


def test_custom_tools_and_namespaces_keep_their_form() -> None:
    tools = [
        {"type": "custom", "name": "patch"},
        {"type": "namespace", "name": "mcp__x", "tools": [tool("look", "path")]},
    ]
    known = remembered(Made("call_a", "patch", '{"input":"*** Begin"}'), Made("call_b", "look", '{"path":"a"}'))
    given = [output("call_a", kind="custom_tool_call_output"), output("call_b")]
    items, _ = made_whole({**ASKED, "tools": tools, **PREVIOUS, "input": given}, known)
    assert items == [
        {"type": "custom_tool_call", "call_id": "call_a", "name": "patch", "input": "*** Begin"},
        {**CALL, "call_id": "call_b", "name": "look", "arguments": '{"path":"a"}', "namespace": "mcp__x"},
        *given,
    ]


def test_what_needs_no_call_is_left_alone() -> None:
    known = remembered(Made("call_a", "now"))
    whole = [{**CALL, "call_id": "call_a", "name": "now", "arguments": "{}"}, output("call_a")]
    for given in (whole, [output("call_of_the_servers")], [{"role": "user", "content": "call_a"}], "call_a"):
        body = {**ASKED, **PREVIOUS, "input": given}
        assert made_whole(body, known) == (given, ())
        assert (
            missing_call_notes(
                "openai_responses",
                conversation_of("openai_responses", json.dumps(body).encode()),
                known,
                rewrites=False,
            )
            == ()
        )


def test_only_lifted_calls_that_are_whole_are_remembered() -> None:
    known = remembered(Made("a", "now", dialect=None), Made("b", "now", complete=False), Made("c", "now"))
    known.reply_ended(Said(Made("d", "now"), kind="roundtrip"))
    assert [known[id_] is not None for id_ in "abcd"] == [False, False, True, False]


def test_a_call_is_known_while_its_reply_goes_on() -> None:
    known = CallMemory()
    reply = Said(Made("a", "now"))
    known.reply_started(reply)
    assert known["a"] is not None
    del reply  # nobody reads it any more: its flow is gone
    assert known["a"] is None


def test_there_is_an_end_to_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_memory, "_CALLS", 3)
    known = remembered(*(Made(f"c{number}", "now") for number in range(5)))
    assert [known[f"c{number}"] is not None for number in range(5)] == [False, False, True, True, True]
    monkeypatch.setattr(call_memory, "_CHARS", 100)
    known = remembered(Made("a", "now", "x" * 60), Made("b", "now", "x" * 60), Made("b", "now", "x" * 60))
    assert known["a"] is None
    assert known["b"] is not None


def asked_with(*names: str, id_: str = "", size: int = 10) -> Request:
    """A request whose conversation declares tools, and continues a reply."""
    tools = tuple(Tool(name, {"description": "x" * size}) for name in names)
    return Request(tools=tools, conversation_tools=tools, continues=id_)


def tools_of(known: CallMemory, id_: str) -> list[str]:
    return [tool.name for tool in known.with_tools(Request(continues=id_)).tools]


def test_tools_are_remembered_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal ones count once, so those of an agent stay however many replies it gets."""
    monkeypatch.setattr(call_memory, "_TOOL_CHARS", 1000)
    known = CallMemory()
    for number in range(50):
        known.reply_ended(Said(request=asked_with("a", "b", id_=f"r{number}", size=200)))
    assert [tools_of(known, f"r{number}") for number in (0, 49)] == [["a", "b"]] * 2
    assert len(known._tools._tools) == 1
    known.reply_ended(Said(request=asked_with("c", id_="other", size=600)))
    assert tools_of(known, "r49") == tools_of(known, "r0") == []
    assert tools_of(known, "other") == ["c"]
    known.reply_ended(Said(request=asked_with("d", id_="large", size=2000)))
    assert (tools_of(known, "other"), tools_of(known, "large")) == ([], [])
    assert (known._tools._tools, known._tools._by_reply, dict(known._tools._replies)) == ({}, {}, {})


def test_tools_are_remembered_of_so_many_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_memory, "_REPLIES", 3)
    known = CallMemory()
    for number in range(5):
        known.reply_ended(Said(request=asked_with(f"t{number}", id_=f"r{number}")))
    assert [tools_of(known, f"r{number}") for number in range(5)] == [[], [], ["t2"], ["t3"], ["t4"]]
    known.reply_ended(Said(request=asked_with("new", id_="r3")))
    assert tools_of(known, "r3") == ["new"]


def test_a_thread_of_the_messages_api_is_noted_and_never_changed() -> None:
    known = remembered(Made("toolu_a", "now"))
    result = {"type": "tool_result", "tool_use_id": "toolu_a", "content": "12"}
    body = {"model": "m", "messages": [{"role": "user", "content": [result]}], "thread": {"type": "continue"}}
    sent = json.dumps(body).encode()
    said = "the server may refuse the request: it holds a result of now, whose call is text in what the server keeps"
    conversation = conversation_of("anthropic", sent)
    for rewrites in (False, True):
        assert missing_call_notes("anthropic", conversation, known, rewrites=rewrites) == (said,)
    assert with_missing_calls("anthropic", conversation, missing_calls(conversation, known)).notes == ()


# --- through a real mitmdump ------------------------------------------------------------------------------------------
