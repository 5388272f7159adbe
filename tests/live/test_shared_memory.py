"""What one worker has learnt, and another one knows: two real mitmdumps and a real Redis."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.fiveroutes import INVOKE
from support.keptconversations import ASKED, PREVIOUS, lifted_ids, output
from support.loopback import (
    EVENTS,
    MAIN,
    PATH,
    Dump,
    Growing,
    Reply,
    Upstream,
    asked,
    mitmdump,
    post,
    streamed,
    upstream,
)
from support.redisserver import PASSWORD, missing, redis_server, until_kept
from support.responsesclient import framed, stream
from support.screens import reserved_port
from support.sockets import connected
from support.sockets import upstream as socket_upstream
from toolcalls.flows import flow_metadata

needs_redis = pytest.mark.skipif(missing() is not None, reason=str(missing()))
CONFIG = """
vtc_client_patterns: [cline]
routes:
  - {name: mend, match: {path: "/mend/*"}, rewrite_request: true}
"""
RESPONSES = "/mend/v1/responses"
WELL = Reply([framed(event) for event in stream([["Well."]])], dict(EVENTS))


@contextmanager
def two_workers(folder: Path, url: str, to: str, *options: str) -> Iterator[tuple[Dump, Dump]]:
    config = folder / "toolcalls.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    given = ("--set", f"toolcalls_config={config}", "--set", f"toolcalls_memory={url}", *options)
    first_file, second_file = str(folder / "first.flow"), str(folder / "second.flow")
    with (
        mitmdump(folder, *given, "-w", first_file, to=to) as first,
        mitmdump(folder, *given, "-w", second_file, to=to) as second,
    ):
        yield first, second
        for dump in (first, second):
            assert "Traceback" not in dump.output, dump.output
            assert PASSWORD not in dump.output


def next_turn(server: Upstream, url: str, ids: list[str]) -> list[str]:
    """What kinds of items the upstream is asked with, when a client has sent nothing but results."""
    server.replies = [WELL]
    body = json.dumps({**ASKED, **PREVIOUS, "input": [*map(output, ids)]}).encode()
    assert post(url, body, path=RESPONSES).status == 200
    return [item["type"] for item in json.loads(server.asked[-1].body)["input"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("team")


@pytest.fixture(scope="module")
def team(folder: Path) -> Iterator[tuple[Upstream, Dump, Dump, str]]:
    with (
        redis_server(folder) as url,
        upstream(Reply([])) as server,
        two_workers(folder, url, server.url) as (first, second),
    ):
        yield server, first, second, url


@needs_redis
def test_what_one_worker_lifts_another_one_knows(team: tuple[Upstream, Dump, Dump, str]) -> None:
    server, first, second, url = team
    ids = lifted_ids(server, first.url, RESPONSES, f"Go.\n{INVOKE[0]}\n{INVOKE[1]}")
    until_kept(url, "call", 2)
    kinds = ["function_call"] * 2 + ["function_call_output"] * 2
    assert next_turn(server, second.url, ids) == kinds
    assert next_turn(server, second.url, ["call_of_nobody"]) == ["function_call_output"]


@needs_redis
def test_a_client_that_one_worker_knows_stays_what_it_is(team: tuple[Upstream, Dump, Dump, str], folder: Path) -> None:
    """Its second request shows nothing of its kind."""
    server, first, second, url = team
    server.replies = [Reply(streamed("Well."))]
    session = {"x-session-id": "a text client's"}
    post(first.url, asked(tools=False), {**session, "user-agent": "cline/3"})
    until_kept(url, "client")
    for headers, kind in ((session, "text"), ({"x-session-id": "another"}, "native")):
        path = f"/{kind}{PATH}"
        post(second.url, asked(tools=False), headers, path=path)
        flows = Growing(folder / "second.flow").wait_for(
            lambda flows, path=path: flows and flows[-1].request.path == path
        )
        report = flows[-1].metadata[flow_metadata.REPORT]
        assert ("cline (user-agent)" in str(report["evidence"])) == (kind == "text"), report


@needs_redis
def test_a_conversation_over_websocket_goes_on_at_another_worker(tmp_path: Path) -> None:
    with redis_server(tmp_path) as url, upstream(Reply([])) as server, socket_upstream() as sockets:
        with two_workers(tmp_path, url, server.url) as (first, _):
            ids = lifted_ids(server, first.url, RESPONSES, f"Go.\n{INVOKE[1]}")
            until_kept(url, "call")
        with two_workers(tmp_path, url, sockets.url) as (_, second), connected(second.port, RESPONSES) as socket_:
            sockets.replies = [[stream([["Well."]])]]
            socket_.ask({"type": "response.create", **ASKED, **PREVIOUS, "input": [*map(output, ids)]})
            assert [item["type"] for item in sockets.asked[-1]["input"]] == ["function_call", "function_call_output"]


def test_a_store_that_is_not_there_does_no_harm(tmp_path: Path) -> None:
    with reserved_port() as port, upstream(Reply([])) as server:
        url = f"redis://:{PASSWORD}@127.0.0.1:{port}/0"
        with two_workers(tmp_path, url, server.url) as (first, _):
            ids = lifted_ids(server, first.url, RESPONSES, f"Go.\n{INVOKE[1]}")
            assert next_turn(server, first.url, ids) == ["function_call", "function_call_output"]
            assert next_turn(server, first.url, ["call_of_nobody"]) == ["function_call_output"]
            line = first.wait_for("the shared memory at", "does not answer")
            assert f"127.0.0.1:{port}" in line
        assert first.output.count("does not answer") == 1


def test_a_store_that_says_nothing_holds_up_nobody_for_long(tmp_path: Path) -> None:
    """It takes connections, and never answers. While one request waits for it, others are answered."""
    with socket.create_server(("127.0.0.1", 0)) as silent, upstream(Reply(streamed("Well."))) as server:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        with two_workers(tmp_path, url, server.url) as (first, _):
            assert post(first.url, asked(), {"x-session-id": "one"}).ended
            first.wait_for("does not answer (TimeoutError)")


def test_what_is_no_address_is_said_without_its_password(tmp_path: Path) -> None:
    dump = Dump(["-n", "-s", str(MAIN), "--set", f"toolcalls_memory=http://:{PASSWORD}@x"], tmp_path)
    assert dump.ended() == 2
    assert "toolcalls_memory: expected an address as in redis://127.0.0.1:6379/0" in dump.output
    assert PASSWORD not in dump.output
