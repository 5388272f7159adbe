"""Amazon Bedrock from end to end: boto3, a real mitmdump with the addon, a scripted upstream, all on loopback.

One mitmdump serves all tests; its configuration has a route for each kind, chosen by the first part of the path. What
boto3 hands to an agent is checked by the strict clients. Requests are signed with made-up keys, or bear a token.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.config import Config

from support import anthropicclient, converseclient, invokeclient
from support.anthropicclient import stream
from support.converseclient import exception
from support.fiveroutes import INVOKE, SCHEMAS, TEXT, WITH_ASK, check_flow, exchanged, statuses, two_calls
from support.loopback import LIMIT, Host, Reply
from toolcalls.flows import flow_metadata

CONFIG = WITH_ASK
MODEL = "us.anthropic.claude-made-up-v1:0"
EVENTS = {"content-type": "application/vnd.amazon.eventstream"}
JSON = {"content-type": "application/json"}


def text(said: str, size: int = 5) -> list[dict[str, Any]]:
    return anthropicclient.text(*(said[at : at + size] for at in range(0, len(said), size)))


NATIVE = [
    text("Let me look."),
    anthropicclient.call("toolu_1", "read_file", "", '{"path": "größe/', '日本 😀.md"}'),
    anthropicclient.call("toolu_2", "now"),
]
KINDS = two_calls(lambda said: [text(said)], NATIVE)
CONVERSE = {
    "messages": [{"role": "user", "content": [{"text": "go"}]}],
    "toolConfig": {
        "tools": [{"toolSpec": {"name": name, "inputSchema": {"json": of}}} for name, of in SCHEMAS.items()]
    },
}
CLAUDE = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "go"}],
    "tools": [{"name": name, "input_schema": of} for name, of in SCHEMAS.items()],
}


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 looks for keys and for regions in many places."""
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


def client(url: str) -> Any:
    """boto3's client for a base URL, which asks once."""
    config = Config(retries={"total_max_attempts": 1}, read_timeout=LIMIT, connect_timeout=LIMIT)
    keys = {"aws_access_key_id": "AKIAMADEUP", "aws_secret_access_key": "made-up"}
    session = boto3.session.Session(region_name="us-east-1", **keys)
    return session.client("bedrock-runtime", endpoint_url=url, config=config)


def _joined(body: Any) -> bytes:
    return b"".join(event["chunk"]["bytes"] for event in body)


@dataclass(frozen=True)
class Way:
    """One of the four operations: what the upstream sends for the events of Messages, and what boto3 makes of it."""

    said: Callable[[Sequence[dict[str, Any]]], list[bytes]]
    asks: Callable[[Any], anthropicclient.Reply]
    headers: dict[str, str]


def _invoked(sdk: Any) -> anthropicclient.Reply:
    reply = sdk.invoke_model(modelId=MODEL, body=json.dumps(CLAUDE))
    return anthropicclient.understood(json.loads(reply["body"].read().replace(b'"toolu_bdrk_', b'"toolu_')))


def _invoked_streamed(sdk: Any) -> anthropicclient.Reply:
    reply = sdk.invoke_model_with_response_stream(modelId=MODEL, body=json.dumps(CLAUDE))
    events = [json.loads(event["chunk"]["bytes"].replace(b'"toolu_bdrk_', b'"toolu_')) for event in reply["body"]]
    return anthropicclient.received(anthropicclient.written(events))


WAYS = {
    "converse": Way(
        lambda events: [converseclient.whole(anthropicclient.whole(events))],
        lambda sdk: converseclient.answered(sdk.converse(modelId=MODEL, **CONVERSE)),
        JSON,
    ),
    "converse_stream": Way(
        lambda events: [converseclient.written([event]) for event in events if event["type"] != "ping"],
        lambda sdk: converseclient.told(sdk.converse_stream(modelId=MODEL, **CONVERSE)["stream"]),
        EVENTS,
    ),
    "invoke": Way(lambda events: [anthropicclient.whole(events)], _invoked, JSON),
    "invoke_stream": Way(lambda events: [invokeclient.written([event]) for event in events], _invoked_streamed, EVENTS),
}


def ask(
    running: Host, route: str, way: Way, events: Sequence[dict[str, Any]], **more: bytes
) -> tuple[anthropicclient.Reply, Any, list[bytes]]:
    """One request: what boto3 makes of its reply, the flow, and what the upstream sent."""
    pieces = [*way.said(events), *more.values()]
    upstream = Reply(pieces, way.headers, framing="length" if way.headers is JSON else "chunked")
    return *exchanged(running, route, upstream, lambda url: way.asks(client(url))), pieces


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("route", KINDS)
def test_each_kind_of_route(running: Host, route: str, way: Way) -> None:
    blocks, shown, calls, stopped, status = KINDS[route]
    reply, flow, pieces = ask(running, route, way, stream(blocks))
    assert reply.text == shown
    assert [(call["name"], json.loads(call["arguments"])) for call in reply.calls] == calls
    assert reply.stop == stopped
    check_flow(flow, route, status, MODEL, pieces)


@pytest.mark.parametrize("way", ["converse_stream", "invoke_stream"])
def test_an_exception_in_the_middle_reaches_the_client(running: Host, way: str) -> None:
    events = stream([text("Go.\n" + INVOKE[0][:-12])], None)
    failed = exception("throttlingException", "Slow down.")
    with pytest.raises(Exception, match="Slow down"):
        ask(running, "lift", WAYS[way], events[:-1], failed=failed)
    flow = running.flow_under(f"/lift/{running._number}/")
    assert statuses(flow) == ["truncated"]
    assert flow.response.raw_content.endswith(failed)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_signed_request_stays_as_it_was_signed(running: Host, way: Way) -> None:
    """A changed one would be refused. The reply's calls are lifted all the same."""
    reply, flow, _ = ask(running, "ask", way, stream([text(TEXT.format(*INVOKE))]))
    assert [call["name"] for call in reply.calls] == ["read_file", "now"]
    (asked,) = running.upstream.asked
    assert json.loads(asked.body) in (CONVERSE, CLAUDE)
    assert asked.headers["authorization"].startswith("AWS4-HMAC-SHA256")
    assert flow_metadata.REQUEST not in flow.metadata
    said = "the request passes unchanged: it is signed (AWS Signature Version 4); a bearer token signs nothing"
    assert said in flow.metadata[flow_metadata.REPORT]["evidence"]
    running.dump.wait_for(said)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_request_with_a_bearer_token_is_rewritten(running: Host, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "made-up")
    reply, _, _ = ask(running, "ask", way, stream([text(TEXT.format(*INVOKE))]))
    assert [call["name"] for call in reply.calls] == ["read_file", "now"]
    (asked,) = running.upstream.asked
    body = json.loads(asked.body)
    assert asked.headers["authorization"] == "Bearer made-up"
    assert not {"tools", "toolConfig"} & set(body)
    assert "read_file" in json.dumps(body["system"])
