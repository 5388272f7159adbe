"""Errors that quote a call, and calls in reasoning, from end to end: a real mitmdump and each official SDK.

What the SDK hands to an agent is a reply with the call, in whatever way it was asked; without the kind it raises what
it always does. The flow keeps the error's status and body, and the report of the file is that of the reply.
"""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from support.agentclient import SDKS, Answer, Line, Way
from support.loopback import EVENTS, Host, Reply
from support.thinkingreplies import FORMS, frames, thinking
from toolcalls.flows import flow_metadata

CONFIG = """
routes:
  - {name: mends, match: {path: "/mends/*"}, mend: [protocol, reasoning, errors]}
  - {name: watches, match: {path: "/watches/*"}, client: native, upstream: native, mend: [reasoning, errors]}
  - {name: stays, match: {path: "/stays/*"}}
  - {name: native, match: {path: "/native/*"}, client: native, upstream: native}
  - {name: looks, match: {path: "/looks/*"}, client: native, upstream: native, mend: []}
  - name: guards
    match: {path: "/guards/*"}
    mend: [errors]
    access: {rules: [{name: no files, action: block, tools: [read_file]}]}
"""

RAW = "I look.\n<tool_call>\n<function=read_file>\n<parameter=path>\na.ts\n</parameter>\n</function>\n</tool_call>"
ERROR = {"error": {"code": 500, "message": f"Failed to parse input at pos 12: {RAW}", "type": "server_error"}}
JSON = {"content-type": "application/json"}
MEANT = [("read_file", {"path": "a.ts"})]
_NUMBERS = count(1)


def failed(error: Any = None, status: int = 500) -> Reply:
    body = json.dumps(ERROR if error is None else error).encode()
    return Reply([body], {"content-type": "application/json", "retry-after": "1"}, status=status, framing="length")


def asked(running: Host, route: str, name: str, way: Way, *replies: Reply) -> tuple[Answer, str]:
    sdk, answer = SDKS[name], Answer()
    base = f"/{route}/{next(_NUMBERS)}"
    running.upstream.replies = list(replies)
    with sdk.client(Line(running.dump.url + base)) as client:
        sdk.ask(client, way, sdk.begun("Go."), answer)
    return answer, base + sdk.path(way)


def every(name: str) -> Sequence[Way]:
    return SDKS[name].ways


ROWS = [(name, way) for name in SDKS for way in every(name)]


@pytest.mark.parametrize(("name", "way"), ROWS)
def test_an_error_becomes_a_reply_with_the_call(running: Host, name: str, way: Way) -> None:
    answer, path = asked(running, "mends", name, way, failed())
    assert [call.meant for call in answer.calls] == MEANT
    assert answer.text == "I look."
    assert answer.finish == SDKS[name].stopped[1]
    flow = running.flow(path)
    assert flow.response is not None
    assert flow.response.status_code == 200
    assert "retry-after" not in flow.response.headers
    assert flow.metadata[flow_metadata.ERROR] == 500
    assert flow.metadata[flow_metadata.UPSTREAM] == json.dumps(ERROR).encode()
    (verdict,) = flow.metadata[flow_metadata.REPORT]["verdicts"]
    assert (verdict["status"], verdict["repairs"]) == ("native", ["call_in_error"])


@pytest.mark.parametrize("name", SDKS)
def test_a_route_that_only_watches_mends_what_it_names(running: Host, name: str) -> None:
    for reply in (failed(), Reply([json.dumps(thinking(name, RAW)["whole"][0]).encode()], JSON, framing="length")):
        answer, _ = asked(running, "watches", name, "whole", reply)
        assert [call.meant for call in answer.calls] == MEANT


@pytest.mark.parametrize(("route", "finish"), [("native", "tool_calls"), ("looks", "stop")])
def test_the_protocol_is_mended_where_nothing_else_is_changed(running: Host, route: str, finish: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.ts"}'}}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None, "tool_calls": [call]},
        "finish_reason": "stop",
    }
    body = {"id": "r1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    answer, _ = asked(
        running, route, "openai_chat", "whole", Reply([json.dumps(body).encode()], JSON, framing="length")
    )
    assert [call.meant for call in answer.calls] == MEANT
    assert answer.finish == finish


@pytest.mark.parametrize("name", SDKS)
def test_without_the_kind_the_error_stays(running: Host, name: str) -> None:
    with pytest.raises(Exception, match="Failed to parse input"):
        asked(running, "stays", name, "whole", failed())


@pytest.mark.parametrize(("name", "way"), ROWS)
def test_a_rule_sees_the_call(running: Host, name: str, way: Way) -> None:
    answer, _ = asked(running, "guards", name, way, failed())
    assert answer.calls == []
    assert "was blocked by the rule no files" in answer.text
    assert answer.finish == SDKS[name].stopped[0]


@pytest.mark.parametrize("status", [401, 429, 503])
def test_an_ordinary_error_stays(running: Host, status: int) -> None:
    sdk = SDKS["openai_chat"]
    with pytest.raises(sdk.fails, match="rate limit"):
        asked(running, "mends", "openai_chat", "whole", failed({"error": {"message": "rate limit"}}, status))


def test_an_error_in_the_middle_of_a_stream(running: Host) -> None:
    """Groq's, after a chunk with a role, as `curl` shows it."""
    role = {"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]}
    begun = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", **role}
    told = {"message": "Failed to call a function.", "code": "tool_use_failed", "status_code": 400}
    error = {"error": {**told, "failed_generation": '<function=read_file>{"path": "a.ts"}</function>'}}
    pieces = [f"data: {json.dumps(begun)}\n\n", f"event: error\ndata: {json.dumps(error)}\n\n", "data: [DONE]\n\n"]
    reply = Reply([piece.encode() for piece in pieces], dict(EVENTS))
    answer, _ = asked(running, "mends", "openai_chat", "helper", reply)
    assert [call.meant for call in answer.calls] == MEANT


@pytest.mark.parametrize(("name", "way"), ROWS)
def test_a_call_in_the_reasoning_of_a_silent_reply(running: Host, name: str, way: Way) -> None:
    payloads = thinking(name, RAW)["whole" if way == "whole" else "streamed"]
    if way == "whole":
        reply = Reply([json.dumps(payloads[0]).encode()], {"content-type": "application/json"}, framing="length")
    else:
        lines = {"content-type": "application/x-ndjson"}
        reply = Reply([frames(name, [one]) for one in payloads], lines if name in FORMS else dict(EVENTS))
    answer, path = asked(running, "mends", name, way, reply)
    assert [call.meant for call in answer.calls] == MEANT
    (verdict,) = running.flow(path).metadata[flow_metadata.REPORT]["verdicts"]
    assert (verdict["status"], verdict["repairs"]) == ("lifted", ["call_in_reasoning"])
