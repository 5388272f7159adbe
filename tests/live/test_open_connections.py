"""Upstreams that never end a reply: a finish reason, and then the connection stays open, without `[DONE]`.

Through a real mitmdump, the client of every API has all of the reply by then: a raw socket, and the OpenAI SDK. Over
WebSocket a connection always stays open after a reply, and a turn has all that it holds by its terminal message.
"""

import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from support import fiveroutes, responsesclient
from support.agentclient import SDKS, TOOLS, Native
from support.fiveroutes import INVOKE, MEANT, TAGGED, TEXT
from support.loopback import LIMIT, Host, Reply, mitmdump
from support.sdk import TOOLS as CHAT_TOOLS
from support.sdk import Answer, client, take
from support.sockets import Upstream, connected, upstream
from support.wirecases import (
    anthropic_request,
    chat_request,
    gemini_request,
    responses_request,
)

CONFIG = fiveroutes.CONFIG  # of `running`
DONE = b"data: [DONE]\n\n"
DECLARED = [{"type": "function", "function": {"name": tool.name, "parameters": tool.schema}} for tool in TOOLS]
# By API: the body of a request, and what is in the last frame of a reply.
ASKED: Mapping[str, tuple[Callable[[Any], dict[str, Any]], bytes]] = {
    "openai_chat": (chat_request, b'"finish_reason":"'),
    "openai_responses": (responses_request, b'"type":"response.completed"'),
    "anthropic": (anthropic_request, b'"type":"message_stop"'),
    "gemini": (gemini_request, b'"finishReason":"'),
    "ollama": (chat_request, b'"done":true'),
}
# By route: what the model says, and what is in what the client gets.
SAID: Mapping[str, tuple[str, Sequence[Native], Sequence[str]]] = {
    "lift": (TEXT.format(*INVOKE), (), ["read_file", "now", "That is all."]),
    "lower": ("Let me look.", MEANT, ["function_calls>", "read_file"]),
    "same": (TEXT.format(*INVOKE), (), ["</invoke>", "That is all."]),
    "other": (TEXT.format(*INVOKE), (), [TAGGED[0].partition("\n")[0], "That is all."]),
    "observe": ("Let me look.", MEANT, ["Let me look.", "read_file", "now"]),
}


def unended(reply: Reply) -> Reply:
    """A reply whose last frame comes, and nothing after it."""
    return replace(reply, pieces=[piece.removesuffix(DONE) for piece in reply.pieces], stays=True)


def received(running: Host, path: str, body: dict[str, Any], last: bytes) -> str:
    """What a client has of a reply when its last frame has come. Raises TimeoutError where that never comes."""
    sent = json.dumps({**body, "model": "m", "stream": True}).encode()
    with socket.create_connection(("127.0.0.1", running.dump.port), LIMIT) as connection:
        head = (
            f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(sent)}\r\n\r\n"
        )
        connection.sendall(head.encode() + sent)
        got = b""
        while last not in got.replace(b'": ', b'":'):
            piece = connection.recv(65536)
            assert piece, f"the connection ended behind {got[-200:]!r}"
            got += piece
    return got.decode()


@pytest.mark.parametrize("route", SAID)
@pytest.mark.parametrize("name", SDKS)
def test_a_raw_client_has_all_of_a_reply(running: Host, name: str, route: str) -> None:
    sdk, (request, last) = SDKS[name], ASKED[name]
    text, natives, shown = SAID[route]
    running.upstream.replies = [unended(sdk.said("stream", text, natives, size=4000))]
    got = received(running, f"/{route}{running.prefix()}{sdk.path('stream')}", request(DECLARED), last)
    assert [one for one in shown if one not in got] == []


@pytest.mark.parametrize("size", [3, 4000])
def test_the_openai_sdk_has_the_reason_and_its_calls(running: Host, size: int) -> None:
    """With a size of 4000, all of the text comes in one chunk."""
    text = f"I look.\n\n{INVOKE[0]}\n"
    running.upstream.replies = [unended(SDKS["openai_chat"].said("stream", text, size=size))]
    request: Any = {"model": "m", "messages": [{"role": "user", "content": "Look."}], "tools": CHAT_TOOLS}
    answer = Answer()
    with client(f"{running.dump.url}/lift{running.prefix()}/v1") as sdk:
        stream = sdk.chat.completions.create(stream=True, **request)
        for chunk in stream:
            take(answer, chunk)
            if answer.choices and answer.only.finish:
                break
        stream.close()
    assert (answer.only.finish, answer.only.meant) == ("tool_calls", MEANT[:1])


@pytest.fixture(scope="module")
def over_sockets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Upstream, int]]:
    """An upstream over WebSocket that never closes, and the port of a proxy in front of it."""
    folder = tmp_path_factory.mktemp("sockets")
    config = folder / "toolcalls.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    with (
        upstream() as server,
        mitmdump(folder, "--set", f"toolcalls_config={config}", to=server.url) as dump,
    ):
        yield server, dump.port


@pytest.mark.parametrize("at_once", [True, False], ids=["in one write", "one by one"])
@pytest.mark.parametrize("route", SAID)
def test_a_turn_over_websocket_has_all_of_a_reply(
    over_sockets: tuple[Upstream, int], route: str, *, at_once: bool
) -> None:
    server, port = over_sockets
    text, natives, shown = SAID[route]
    calls = [
        {"type": "function_call", "call_id": f"call_{name}", "name": name, "arguments": json.dumps(given)}
        for name, given in natives
    ]
    # The text ends in the middle of what may be a call of its own.
    events = responsesclient.stream([[text[:9], text[9:], "\n<inv"], *calls])
    server.replies = [[events] if at_once else [[event] for event in events]] * 2
    create = {**responses_request(DECLARED), "type": "response.create", "model": "m", "input": "go"}
    with connected(port, f"/{route}/v1/responses") as socket:
        for _ in range(2):  # each turn by itself
            got = json.dumps(socket.ask(create), ensure_ascii=False)
            assert [one for one in (*shown, "<inv") if json.dumps(one)[1:-1] not in got] == []
