"""The Responses API from end to end: the official SDK, a real mitmdump with the addon, a scripted upstream, loopback.

One mitmdump for SSE and whole replies, one for WebSocket. What the SDK hands to an agent is checked, in three ways:
`whole` is a reply as one, `stream` iterates over events, `helper` uses the SDK's own accumulator.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from mitmproxy import http

from support.addons import summary_in
from support.fiveroutes import BLOCK, INVOKE, MEANT, TAGGED, TEXT
from support.fiveroutes import CONFIG as FIVE_ROUTES
from support.loopback import EVENTS, Dump, Growing, Host, Reply, assert_no_fault, mitmdump
from support.responsesclient import framed, stream, understood
from support.responsesclient import whole as body_of
from support.responsesscene import CREATE, NATIVE, TOOLS, meant, pieces
from support.sdk import client
from support.sockets import Refused, Upstream, connected, upstream
from toolcalls.flows import flow_metadata

CONFIG = f"""{FIVE_ROUTES}\
  - {{name: refuse, match: {{path: "/refuse/*"}}, client: native, upstream: text, refuse_websocket: true}}
"""

type Way = Literal["whole", "stream", "helper"]
WAYS: tuple[Way, ...] = ("whole", "stream", "helper")


# By route: what the upstream says, and what the client gets: its text, its calls, the verdicts.
KINDS: dict[str, tuple[list[Any], str, list[tuple[str, dict[str, str]]], str]] = {
    "lift": ([pieces(TEXT.format(*INVOKE))], TEXT.format("", ""), MEANT, "lifted"),
    "lower": ([pieces("Let me look."), *NATIVE], f"Let me look.\n\n{BLOCK}", [], "lowered"),
    "same": ([pieces(TEXT.format(*INVOKE))], TEXT.format(*INVOKE), [], "lowered"),
    "other": ([pieces(TEXT.format(*INVOKE))], TEXT.format(*TAGGED), [], "lowered"),
    "observe": ([pieces("Let me look."), *NATIVE], "Let me look.", MEANT, "native"),
}


_numbers = iter(range(1, 10_000))


def ask(running: Host, route: str, way: Way, events: list[dict[str, Any]], **given: Any) -> tuple[Any, str]:
    """One request: what the SDK makes of its reply, and the path."""
    path = f"/{route}/{next(_numbers)}/v1"
    if way == "whole":
        running.upstream.replies = [Reply([body_of(events)], {"content-type": "application/json"}, framing="length")]
    else:
        running.upstream.replies = [Reply([framed(event) for event in events], dict(EVENTS))]
    tools: Any = TOOLS
    request: Any = {"model": "m", "input": "go", "tools": tools, **given}
    with client(f"{running.dump.url}{path}") as sdk:
        if way == "whole":
            return sdk.responses.create(**request), f"{path}/responses"
        if way == "helper":
            with sdk.responses.stream(**request) as told:
                return told.get_final_response(), f"{path}/responses"
        last = None
        for event in sdk.responses.create(stream=True, **request):
            last = event
        return last.response if last is not None else None, f"{path}/responses"


def verdicts(flow: http.HTTPFlow) -> list[tuple[str, str | None]]:
    return [(verdict["status"], verdict["reason"]) for verdict in flow.metadata[flow_metadata.REPORT]["verdicts"]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("route", KINDS)
def test_each_kind_of_route(running: Host, route: str, way: Way) -> None:
    said, text, calls, status = KINDS[route]
    events = stream(said)
    response, path = ask(running, route, way, events)
    assert response.output_text == text
    assert meant(response) == calls
    assert response.status == "completed"
    assert response.usage.total_tokens == 3
    flow = running.flow(path)
    assert [name for name, _ in verdicts(flow)] == [status, status]
    got = flow.response.raw_content if flow.response else b""
    if route in {"same", "observe"}:  # untouched is identical
        assert got == (body_of(events) if way == "whole" else b"".join(map(framed, events)))


def test_every_event_reaches_an_agent_that_reads_them_one_by_one(running: Host) -> None:
    """Codex takes its calls from `output_item.done`, Zed from `function_call_arguments.done`."""
    events = stream([pieces(TEXT.format(*INVOKE))])
    running.upstream.replies = [Reply([framed(event) for event in events], dict(EVENTS))]
    tools: Any = TOOLS
    with client(f"{running.dump.url}/lift/events/v1") as sdk:
        told = [event.to_dict() for event in sdk.responses.create(model="m", input="go", tools=tools, stream=True)]
    reply = understood(told)
    assert reply.order == "tctct"
    assert [(call["name"], json.loads(call["arguments"])) for call in reply.calls] == MEANT


@pytest.mark.parametrize("way", WAYS)
def test_a_conversation_goes_on_with_the_result(running: Host, way: Way) -> None:
    """The SDK's own items go back as they are, and the tool's result holds a call, which the model then quotes."""
    first, _ = ask(running, "lift", way, stream([INVOKE[0]]))
    (call,) = first.output
    said = f"It says:\n{INVOKE[1]}"
    result = {"type": "function_call_output", "call_id": call.call_id, "output": said}
    second, path = ask(running, "lift", way, stream([said]), input=[call.to_dict(), result])
    assert (second.output_text, meant(second)) == (said, [])
    assert verdicts(running.flow(path)) == [("declined", "echo")]


def test_a_call_that_broke_off(running: Host) -> None:
    cut = TEXT.format(*INVOKE).partition(" 😀.md")[0]
    response, path = ask(running, "lift", "stream", stream([pieces(cut)]))
    assert response.status == "incomplete"
    call = response.output[-1]
    assert (call.type, call.status) == ("function_call", "incomplete")
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.arguments)
    assert verdicts(running.flow(path)) == [("truncated", "unclosed")]


def test_an_error_event_passes(running: Host) -> None:
    events = stream([pieces("Let me <inv")], "broken")
    error = {"type": "error", "code": "x", "message": "the model is overloaded", "param": None, "sequence_number": 7}
    running.upstream.replies = [Reply([framed(event) for event in [*events, error]], dict(EVENTS))]
    tools: Any = TOOLS
    with client(f"{running.dump.url}/lift/error/v1") as sdk:
        told = [event.to_dict() for event in sdk.responses.create(model="m", input="go", tools=tools, stream=True)]
    assert told == [*events, error]


# --- WebSocket --------------------------------------------------------------------------------------------------------


class Line:
    """A mitmdump in front of a WebSocket upstream."""

    def __init__(self, server: Upstream, dump: Dump, recording: Growing) -> None:
        self.server = server
        self.dump = dump
        self.recording = recording


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    folder = tmp_path_factory.mktemp("sockets")
    config = folder / "toolcalls.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    recording = folder / "sockets.flow"
    with (
        upstream() as server,
        mitmdump(folder, "-w", str(recording), "--set", f"toolcalls_config={config}", to=server.url) as dump,
    ):
        yield Line(server, dump, Growing(recording))
        assert_no_fault(dump)


def path_of(route: str) -> str:
    return f"/{route}/{next(_numbers)}/v1/responses"


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in one write"])
@pytest.mark.parametrize("deflate", [False, True], ids=["plain", "deflate"])
@pytest.mark.parametrize("route", KINDS)
def test_each_kind_of_route_over_websocket(line: Line, route: str, deflate: bool, together: bool) -> None:
    said, text, calls, _ = KINDS[route]
    events = stream(said)
    line.server.replies = [[events] if together else [[event] for event in events]]
    with connected(line.dump.port, path_of(route), deflate=deflate) as socket:
        told = socket.ask(CREATE)
    reply = understood(told)
    assert reply.text == text
    assert [(call["name"], json.loads(call["arguments"])) for call in reply.calls] == calls
    if route in {"same", "observe"}:
        assert told == events
    assert line.server.asked[-1] == CREATE


def test_turns_of_one_connection(line: Line) -> None:
    """Each turn has its own calls and ids; what an earlier one has sent is still known to be quoted."""
    path = path_of("lift")
    quoted = f"It says:\n{INVOKE[1]}"
    line.server.replies = [
        [stream([INVOKE[0]])],
        [stream(["Well."])],
        [stream([quoted])],
        [stream([f"Go.\n{INVOKE[0]}"])],
    ]
    output = {"type": "function_call_output", "call_id": "c", "output": quoted}
    with connected(line.dump.port, path) as socket:
        turns = [socket.ask(CREATE)]
        for given in ([output], "and?", "now?"):
            turns.append(socket.ask({**CREATE, "input": given, "previous_response_id": "resp_1"}))
    replies = [understood(turn) for turn in turns]
    assert [len(reply.calls) for reply in replies] == [1, 0, 0, 1]
    assert replies[2].text == quoted
    line.dump.wait_for("lifted read_file")


def test_two_replies_side_by_side(line: Line) -> None:
    one = [{**event, "stream_id": "a"} for event in stream([pieces(f"A\n{INVOKE[0]}\nz")])]
    two = [{**event, "stream_id": "b"} for event in stream([pieces(f"B\n{INVOKE[1]}\nz")])]
    mixed = [event for pair in zip(one, two, strict=False) for event in pair]
    mixed += one[len(two) :] or two[len(one) :]
    line.server.replies = [[], [mixed]]
    with connected(line.dump.port, path_of("lift")) as socket:
        socket.send({**CREATE, "stream_id": "a"})
        told = socket.ask({**CREATE, "stream_id": "b"}, ends=2)
    for stream_id, call in (("a", "read_file"), ("b", "now")):
        reply = understood([event for event in told if event["stream_id"] == stream_id])
        assert [one["name"] for one in reply.calls] == [call]
        assert reply.text == f"{stream_id.upper()}\n\nz"


def test_long_messages_keep_their_characters(line: Line) -> None:
    """mitmproxy cuts what has changed every 4000 bytes, and would replace characters that it cuts."""
    long = "größe 日本 😀 " * 1500
    line.server.replies = [[stream([[f"{long}\n", INVOKE[1], long]])]]
    with connected(line.dump.port, path_of("lift")) as socket:
        reply = understood(socket.ask(CREATE))
    assert reply.text == f"{long}\n{long}"
    assert [call["name"] for call in reply.calls] == ["now"]


def test_what_is_no_request_and_no_event_passes(line: Line) -> None:
    odd = [
        {"type": "session.created"},
        {"type": 1, "no": "type"},
        {"type": "error", "error": {"code": "x"}, "status": 400},
    ]
    line.server.replies = [[odd]]
    with connected(line.dump.port, path_of("lift")) as socket:
        assert socket.ask({"type": "response.steer", "input": "x"}) == odd


def test_a_connection_that_closes_at_once_gets_everything(line: Line) -> None:
    line.server.replies = [[stream([[f"a\n{INVOKE[1]}"]])]]
    line.server.closes = True
    try:
        with connected(line.dump.port, path_of("lift")) as socket:
            assert [call["name"] for call in understood(socket.ask(CREATE)).calls] == ["now"]
            with pytest.raises(EOFError):
                socket.message()
    finally:
        line.server.closes = False


def test_what_is_held_when_a_connection_closes_is_lost_and_said_to_be(line: Line) -> None:
    line.server.replies = [[stream([["a", "\n<inv"]], "broken")[:6]]]
    line.server.closes = True
    try:
        with connected(line.dump.port, path_of("lift")) as socket, pytest.raises(EOFError):
            socket.ask(CREATE)
        line.dump.wait_for("1 messages were held")
    finally:
        line.server.closes = False


def test_a_refused_websocket_is_answered_with_426(line: Line) -> None:
    with pytest.raises(Refused) as refused, connected(line.dump.port, path_of("refuse")):
        pass
    assert refused.value.status == 426
    assert refused.value.headers["upgrade"] == "HTTP/1.1"
    assert json.loads(refused.value.body)["error"]["type"] == "websocket_refused"
    line.dump.wait_for("refused to speak WebSocket")


def test_the_flow_says_what_became_of_all_turns(line: Line) -> None:
    path = path_of("lift")
    line.server.replies = [[stream([INVOKE[0]])], [stream([f"```\n{INVOKE[1]}\n```"])]]
    with connected(line.dump.port, path) as socket:
        socket.ask(CREATE)
        socket.ask(CREATE)
    flows = line.recording.wait_for(lambda flows: any(flow.request.path == path for flow in flows))
    (flow,) = [flow for flow in flows if flow.request.path == path]
    assert verdicts(flow) == [("lifted", None), ("declined", "fenced")]
    assert summary_in(flow) == "lifted read_file (invoke) · 1 possibly lost: fenced"
