"""Results of lifted calls in a conversation that the server keeps: the server has the calls as text.

The Responses API refuses a request with a result of a call that it does not know.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from fiveroutes import INVOKE
from live import EVENTS, Dump, Host, Reply, configured, mitmdump, post
from responsesclient import framed, stream, understood
from responsesscene import TOOLS, tool
from sockets import Upstream, connected, upstream
from toolcalls.mitm import flow_metadata
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request
from toolcalls.requests import call_memory
from toolcalls.requests.call_memory import CallMemory, missing_call_notes, missing_calls, with_missing_calls
from toolcalls.requests.evidence import Decision
from toolcalls.requests.turns import formats
from toolcalls.route import Route

CONFIG = """
routes:
  - {name: mend, match: {path: "/mend/*"}, rewrite_request: true}
  - {name: text, match: {path: "/text/*"}, client: native, upstream: text, dialects: [hermes], rewrite_request: true}
  - {name: plain, match: {path: "/plain/*"}}
  - {name: native, match: {path: "/native/*"}, client: native, upstream: native}
"""
PREVIOUS = {"previous_response_id": "resp_1"}
ASKED = {"model": "m", "tools": TOOLS, "stream": True}
ERROR = {"type": "invalid_request_error", "code": None, "message": "No tool call found", "param": "input"}
CALL = {"type": "function_call"}
REFUSAL = {"type": "error", "status": 400, "error": ERROR}


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

    def __init__(self, *calls: Made, kind: Any = "lift") -> None:
        self.decision = Decision(kind, "native", "auto", None, ())
        self.call_policy = CallPolicy(Route(), Request())
        self.reply_id = "resp_1"
        self.client_calls: Sequence[tuple[int, Made]] = [(0, call) for call in calls]


def remembered(*calls: Made) -> CallMemory:
    known = CallMemory()
    known.reply_ended(Said(*calls))
    return known


def output(id_: str, text: str = "done", kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": id_, "output": text}


def made_whole(body: dict[str, Any], known: CallMemory) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    format_ = formats()["openai_responses"]
    sent = json.dumps(body).encode()
    conversation = format_.read(sent)
    made = with_missing_calls("openai_responses", conversation, missing_calls(conversation, known))
    return json.loads(format_.write(sent, made.conversation))["input"], made.notes


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
        assert missing_call_notes("openai_responses", json.dumps(body).encode(), known, rewrites=False) == ()


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


def test_a_thread_of_the_messages_api_is_noted_and_never_changed() -> None:
    known = remembered(Made("toolu_a", "now"))
    result = {"type": "tool_result", "tool_use_id": "toolu_a", "content": "12"}
    body = {"model": "m", "messages": [{"role": "user", "content": [result]}], "thread": {"type": "continue"}}
    sent = json.dumps(body).encode()
    said = "the server may refuse the request: it holds a result of now, whose call is text in what the server keeps"
    for rewrites in (False, True):
        assert missing_call_notes("anthropic", sent, known, rewrites=rewrites) == (said,)
    conversation = formats()["anthropic"].read(sent)
    assert with_missing_calls("anthropic", conversation, missing_calls(conversation, known)).notes == ()


# --- through a real mitmdump ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with configured(tmp_path_factory.mktemp("recalled_calls"), CONFIG) as made:
        yield made


def ids_in(events: Sequence[dict[str, Any]]) -> list[str]:
    return [item["call_id"] for item in understood(events).items if item["type"] == "function_call"]


def lifted_ids(running: Host, path: str, text: str) -> list[str]:
    """The ids of the calls of a first turn, in which the model says `text`."""
    running.upstream.replies = [Reply([framed(event) for event in stream([[text]])], dict(EVENTS))]
    got = post(running.dump.url, json.dumps({**ASKED, "input": "go"}).encode(), path=path)
    lines = got.body.decode().split("\n")
    return ids_in([json.loads(line[6:]) for line in lines if line.startswith("data: ")])


def next_turn(
    running: Host, path: str, ids: list[str], said: Sequence[dict[str, Any]] = ()
) -> tuple[dict[str, Any], list[str]]:
    """What the upstream is asked in the second turn, and the evidence of its flow."""
    running.upstream.replies = [Reply([framed(event) for event in stream([["Well."]])], dict(EVENTS))]
    body = json.dumps({**ASKED, **PREVIOUS, "input": [*said, *map(output, ids)]}).encode()
    post(running.dump.url, body, path=path)
    flow = running.flow(path, count=2)
    return json.loads(running.upstream.asked[-1].body), flow.metadata[flow_metadata.REPORT]["evidence"]


def test_a_route_that_rewrites_puts_the_calls_back(running: Host) -> None:
    path = "/mend/v1/responses"
    ids = lifted_ids(running, path, f"Go.\n{INVOKE[0]}\n{INVOKE[1]}")
    asked, evidence = next_turn(running, path, ids)
    kinds = [(item["type"], item["call_id"]) for item in asked["input"]]
    calls = [("function_call", id_) for id_ in ids]
    assert kinds == [*calls, *(("function_call_output", id_) for id_ in ids)]
    assert [item["name"] for item in asked["input"][:2]] == ["read_file", "now"]
    assert any(line.startswith("request: 2 calls in front of the results") for line in evidence)


def test_a_route_that_does_not_says_what_the_server_misses(running: Host) -> None:
    path = "/plain/v1/responses"
    ids = lifted_ids(running, path, f"Go.\n{INVOKE[0]}\n{INVOKE[1]}")
    asked, evidence = next_turn(running, path, ids)
    assert asked["input"] == [output(id_) for id_ in ids]
    said = "the server may refuse the request: it holds a result of read_file, now"
    assert any(line.startswith(said) and "rewrite_request" in line for line in evidence)
    running.dump.wait_for(said)


def test_a_flow_that_was_refused_says_why(running: Host) -> None:
    path = "/plain/refused/v1/responses"
    ids = lifted_ids(running, path, f"Go.\n{INVOKE[0]}")
    body = json.dumps({"error": ERROR}).encode()
    running.upstream.replies = [Reply([body], {"content-type": "application/json"}, status=400, framing="length")]
    got = post(
        running.dump.url, json.dumps({**ASKED, **PREVIOUS, "input": [output(id_) for id_ in ids]}).encode(), path=path
    )
    assert (got.status, got.body) == (400, body)
    flow = running.flow(path, count=2)
    assert flow.comment.startswith("the server may refuse the request: it holds a result of read_file")
    assert flow.marked == ":warning:"


def test_a_text_upstream_reads_whose_results_they_are(running: Host) -> None:
    """It has the calls as the text that they were, and gets the tools in what no turn keeps."""
    path = "/text/v1/responses"
    ids = lifted_ids(running, path, '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>')
    for said in ([], [{"type": "message", "role": "developer", "content": "Be kind."}]):
        asked, _ = next_turn(running, path, ids, said=said)
        *before, message = asked["input"]
        assert before == said
        assert message["role"] == "user"
        assert "done" in message["content"]
        assert '"name": "read_file"' in asked["instructions"]


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Upstream, Dump]]:
    folder = tmp_path_factory.mktemp("recalled_sockets")
    config = folder / "toolcalls.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    with upstream() as server, mitmdump(folder, "--set", f"toolcalls_config={config}", to=server.url) as dump:
        yield server, dump
        assert "Traceback" not in dump.output, dump.output


CREATE = {"type": "response.create", **ASKED}


def two_turns(line: tuple[Upstream, Dump], route: str, error: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the upstream is asked in the second turn, and what the client gets."""
    server, dump = line
    server.replies = [[stream([[f"Go.\n{INVOKE[1]}"]])], [[error]]]
    with connected(dump.port, f"/{route}/v1/responses") as socket:
        (id_, *_) = [*ids_in(socket.ask({**CREATE, "input": "go"})), "call_that_was_text"]
        (told,) = socket.ask({**CREATE, **PREVIOUS, "input": [output(id_)]})
    return server.asked[-1], told


def test_over_websocket_a_refusal_asks_for_the_whole_conversation(line: tuple[Upstream, Dump]) -> None:
    asked, told = two_turns(line, "plain", REFUSAL)
    assert [item["type"] for item in asked["input"]] == ["function_call_output"]
    new = {**ERROR, "code": "previous_response_not_found", "param": "previous_response_id"}
    assert told == {**REFUSAL, "error": new}
    line[1].wait_for("the client is asked for everything again")


def test_over_websocket_the_calls_are_put_back(line: tuple[Upstream, Dump]) -> None:
    asked, told = two_turns(line, "mend", REFUSAL)
    assert [item["type"] for item in asked["input"]] == ["function_call", "function_call_output"]
    assert told == REFUSAL  # which is of something else


@pytest.mark.parametrize(
    ("route", "error"),
    [
        pytest.param("plain", {**REFUSAL, "status": 500}, id="the server's fault"),
        pytest.param("plain", {"type": "error", "status": 400}, id="an error without words"),
        pytest.param("native", REFUSAL, id="nothing was lifted"),
    ],
)
def test_over_websocket_other_errors_pass(line: tuple[Upstream, Dump], route: str, error: dict[str, Any]) -> None:
    assert two_turns(line, route, error)[1] == error
