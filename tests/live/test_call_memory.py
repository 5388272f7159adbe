"""The calls of earlier replies that a server keeps, through a real mitmdump: HTTP and WebSocket."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from support.fiveroutes import INVOKE
from support.keptconversations import ASKED, PREVIOUS, ids_in, lifted_ids, output
from support.loopback import EVENTS, Dump, Host, Reply, mitmdump, post
from support.responsesclient import framed, stream
from support.sockets import Upstream, connected, upstream
from toolcalls.flows import flow_metadata

CONFIG = """
routes:
  - {name: mend, match: {path: "/mend/*"}, rewrite_request: true}
  - {name: text, match: {path: "/text/*"}, client: native, upstream: text, dialects: [hermes], rewrite_request: true}
  - {name: plain, match: {path: "/plain/*"}}
  - {name: native, match: {path: "/native/*"}, client: native, upstream: native}
"""
ERROR = {"type": "invalid_request_error", "code": None, "message": "No tool call found", "param": "input"}
REFUSAL = {"type": "error", "status": 400, "error": ERROR}


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
    ids = lifted_ids(running.upstream, running.dump.url, path, f"Go.\n{INVOKE[0]}\n{INVOKE[1]}")
    asked, evidence = next_turn(running, path, ids)
    kinds = [(item["type"], item["call_id"]) for item in asked["input"]]
    calls = [("function_call", id_) for id_ in ids]
    assert kinds == [*calls, *(("function_call_output", id_) for id_ in ids)]
    assert [item["name"] for item in asked["input"][:2]] == ["read_file", "now"]
    assert any(line.startswith("request: 2 calls in front of the results") for line in evidence)


def test_a_route_that_does_not_says_what_the_server_misses(running: Host) -> None:
    path = "/plain/v1/responses"
    ids = lifted_ids(running.upstream, running.dump.url, path, f"Go.\n{INVOKE[0]}\n{INVOKE[1]}")
    asked, evidence = next_turn(running, path, ids)
    assert asked["input"] == [output(id_) for id_ in ids]
    said = "the server may refuse the request: it holds a result of read_file, now"
    assert any(line.startswith(said) and "rewrite_request" in line for line in evidence)
    running.dump.wait_for(said)


def test_a_flow_that_was_refused_says_why(running: Host) -> None:
    path = "/plain/refused/v1/responses"
    ids = lifted_ids(running.upstream, running.dump.url, path, f"Go.\n{INVOKE[0]}")
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
    ids = lifted_ids(
        running.upstream, running.dump.url, path, '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    )
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
    line[1].wait_for("the client is asked to send the whole conversation again")


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
