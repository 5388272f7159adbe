"""Agents that read calls from text, through a real mitmdump without configuration: what each of them gets."""

import json
from typing import Any

import pytest

from support.casefiles import load
from support.loopback import EVENTS, Host, Reply, chunk, streamed, text_in, whole
from toolcalls.flows import flow_metadata

CONFIG = "version: 1\n"
PROMPTS = {one["title"]: one for one in load("prompts")["prompts"]}
CLINE = {"user-agent": "Cline/3.82.0"}
LEAK = (
    "I list the files.\n\n"
    '<tool_call>\n{"name": "execute_command", "arguments": {"command": "ls -la", "requires_approval": false}}\n'
    "</tool_call>"
)
WRITTEN = (
    "I list the files.\n\n<execute_command>\n<command>ls -la</command>\n"
    "<requires_approval>false</requires_approval>\n</execute_command>"
)

each_form = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def asked(title: str, *, stream: bool) -> bytes:
    messages = [{"role": "system", "content": PROMPTS[title]["system"]}, {"role": "user", "content": "List the files."}]
    return json.dumps({"model": "m", "stream": stream, "messages": messages}).encode()


def reply(text: str, *, stream: bool) -> Reply:
    return Reply(streamed(text), EVENTS) if stream else Reply([whole(text)], {"content-type": "application/json"})


def report(flow: Any) -> dict[str, Any]:
    return dict(flow.metadata[flow_metadata.REPORT])


@each_form
def test_cline_gets_a_leaked_call_in_its_own_form(running: Host, stream: bool) -> None:
    got, flow = running.ask(reply(LEAK, stream=stream), asked("Cline", stream=stream), CLINE)
    assert text_in(got.body) == WRITTEN
    assert [one["status"] for one in report(flow)["verdicts"]] == ["lowered"]


@each_form
@pytest.mark.parametrize("title", [title for title, one in PROMPTS.items() if one["teaches"] != []])
def test_an_agents_own_calls_pass_byte_for_byte(running: Host, title: str, stream: bool) -> None:
    sent = reply(PROMPTS[title]["calls"], stream=stream)
    got, flow = running.ask(sent, asked(title, stream=stream))
    assert got.body == b"".join(sent.pieces)
    assert report(flow)["dialect"] == PROMPTS[title]["teaches"][0]
    assert report(flow)["verdicts"]


def test_cline_gets_the_first_of_two_native_calls(running: Host) -> None:
    functions = [{"name": "read_file", "arguments": json.dumps({"path": path})} for path in ("a.txt", "b.txt")]
    calls = [{"index": n, "id": f"c{n}", "type": "function", "function": one} for n, one in enumerate(functions)]
    pieces = [chunk({"role": "assistant", "tool_calls": [call]}) for call in calls]
    pieces += [chunk({}, "tool_calls"), b"data: [DONE]\n\n"]
    got, flow = running.ask(Reply(pieces, EVENTS), asked("Cline", stream=True), CLINE)
    assert text_in(got.body) == "<read_file>\n<path>a.txt</path>\n</read_file>"
    assert b"b.txt" not in got.body
    assert sorted((one["status"], one["reason"]) for one in report(flow)["verdicts"]) == [
        ("blocked", "multiple_calls"),
        ("lowered", None),
    ]
