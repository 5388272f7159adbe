"""Tools that are in the conversation itself, through a real mitmdump: HTTP and WebSocket."""

import json
from collections.abc import Iterator

import pytest

from support.fiveroutes import INVOKE
from support.loopback import EVENTS, Growing, Host, Reply, host, mitmdump, post
from support.responsesclient import framed, stream, understood
from support.responsesscene import BRINGING, SAYS
from support.sockets import connected, upstream
from toolcalls.flows import flow_metadata, judging
from toolcalls.flows.websocket.connection import replay
from toolcalls.route import Config

NEXT = {"model": "m", "stream": True, "input": [SAYS], "previous_response_id": "resp_1"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with host(tmp_path_factory.mktemp("brought")) as made:
        yield made
        assert "Traceback" not in made.dump.output, made.dump.output


def test_a_later_request_that_declares_none(running: Host) -> None:
    path = "/brought/v1/responses"
    for body in (BRINGING, NEXT):
        running.upstream.replies = [Reply([framed(event) for event in stream([[INVOKE[1]]])], dict(EVENTS))]
        got = post(running.dump.url, json.dumps(body).encode(), path=path)
        assert running.upstream.asked[-1].body == json.dumps(body).encode()
        told = [json.loads(line[6:]) for line in got.body.decode().split("\n") if line.startswith("data: ")]
        (call,) = understood(told).items
        assert (call["type"], call["name"], call["namespace"]) == ("function_call", "now", "functions")
    flow = running.flow(path, count=2)
    assert [verdict["status"] for verdict in flow.metadata[flow_metadata.REPORT]["verdicts"]] == ["lifted"]


def test_over_websocket(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Also where the connection is read again, from its file or to say why."""
    folder = tmp_path_factory.mktemp("brought_ws")
    recording = folder / "sockets.flow"
    with upstream() as server, mitmdump(folder, "-w", str(recording), to=server.url) as dump:
        server.replies = [[stream([[INVOKE[1]]])], [stream([[INVOKE[1]]])]]
        with connected(dump.port, "/v1/responses") as socket:
            for body in (BRINGING, NEXT):
                (call,) = understood(socket.ask({"type": "response.create", **body})).items
                assert (call["type"], call["name"], call["namespace"]) == ("function_call", "now", "functions")
        (flow,) = Growing(recording).wait_for(lambda flows: flows)
    again = [exchange for _, exchange in replay(flow, Config())]
    why = [one.read() for _, one in judging.replies(flow, Config())]
    for exchanges in (again, why):
        assert [verdict.status for exchange in exchanges for _, verdict in exchange.verdicts] == ["lifted", "lifted"]
