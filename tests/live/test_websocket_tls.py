"""The Responses API over WebSocket and TLS, through a real mitmdump: in reverse mode, and in forward mode in a tunnel.

Strategy: each way to the upstream takes the same row of turns; what a turn may hold is tested without TLS in
`live/test_openai_responses`. One message becomes several only through the connection that mitmproxy writes to, which
lies at another place after each kind of tunnel, so all that matters here is that it is found.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.loopback import Dump, mitmdump
from support.responsesclient import stream, understood
from support.sockets import Refused, Upstream, connected, upstream
from support.tlsclient import authority, serving, trusting

CONFIG = """
routes:
  - {name: lift, match: {path: "/lift/*"}, client: native, upstream: text}
  - {name: lower, match: {path: "/lower/*"}, client: invoke, upstream: native}
  - {name: refuse, match: {path: "/refuse/*"}, client: native, upstream: text, refuse_websocket: true}
"""
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CREATE = {
    "type": "response.create",
    "model": "m",
    "input": "go",
    "tools": [{"type": "function", "name": "read_file", "parameters": SCHEMA}, {"type": "function", "name": "now"}],
}
INVOKE = '<invoke name="read_file">\n<parameter name="path">größe/日本 😀.md</parameter>\n</invoke>'
MEANT = ("read_file", {"path": "größe/日本 😀.md"})
NATIVE = {"type": "function_call", "call_id": "call_a", "name": MEANT[0], "arguments": json.dumps(MEANT[1])}
WAYS = (
    "reverse",
    "reverse, TLS to the client",
    "reverse, TLS on both sides",
    "forward, a plain tunnel",
    "forward, TLS",
)


@dataclass
class Way:
    """One way to an upstream: whose it is, and how its client connects."""

    server: Upstream
    port: int
    options: dict[str, Any]
    dump: Dump


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Way]]:
    folder: Path = tmp_path_factory.mktemp("websocket")
    config = folder / "toolcalls.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    trusted = f"ssl_verify_upstream_trusted_ca={authority(folder)}"
    given = ("--set", f"toolcalls_config={config}", "--set", trusted)
    secured = serving(folder)
    trust = trusting(folder)
    with (
        upstream() as plain,
        upstream(secured) as secure,
        mitmdump(folder, *given, "--mode", "regular@localhost:0", to=plain.url) as dump,
        mitmdump(folder, *given, to=secure.url) as other,
    ):
        forward = dump.port_of("HTTP(S) proxy")
        reverse = dump.port_of("reverse proxy to")
        yield {
            "reverse": Way(plain, reverse, {}, dump),
            "reverse, TLS to the client": Way(plain, reverse, {"trust": trust}, dump),
            "reverse, TLS on both sides": Way(secure, other.port, {"trust": trust}, other),
            "forward, a plain tunnel": Way(plain, plain.port, {"through": forward}, dump),
            "forward, TLS": Way(secure, secure.port, {"through": forward, "trust": trust}, dump),
        }
        for one in (dump, other):
            assert not re.search(r"Traceback|crashed|[Ee]xception|addon error|unread", one.output), one.output


@pytest.mark.parametrize("deflate", [False, True], ids=["plain", "deflate"])
@pytest.mark.parametrize("name", WAYS)
def test_turns_over_every_way(ways: dict[str, Way], name: str, deflate: bool) -> None:
    """A call of text, a long text around another, and text alone; one message of the upstream's becomes several."""
    way = ways[name]
    long = "größe 日本 😀 " * 800
    way.server.replies = [
        [[event] for event in stream([["I look.\n\n<inv", INVOKE[4:]]])],
        [stream([[f"{long}\n", '<invoke name="now"></invoke>', long]])],
        [stream([["That is", " all."]])],
    ]
    with connected(way.port, "/lift/v1/responses", deflate=deflate, **way.options) as socket:
        turns = [understood(socket.ask(CREATE)) for _ in range(3)]
    assert [reply.text for reply in turns] == ["I look.\n\n", f"{long}\n{long}", "That is all."]
    calls = [[(call["name"], json.loads(call["arguments"])) for call in reply.calls] for reply in turns]
    assert calls == [[MEANT], [("now", {})], []]
    assert [reply.status for reply in turns] == ["completed"] * 3
    assert way.server.asked[-1] == CREATE


@pytest.mark.parametrize("name", WAYS)
def test_native_calls_become_text_over_every_way(ways: dict[str, Way], name: str) -> None:
    way = ways[name]
    way.server.replies = [[stream(["I look.", NATIVE])]]
    with connected(way.port, "/lower/v1/responses", **way.options) as socket:
        reply = understood(socket.ask(CREATE))
    assert (reply.text, reply.calls) == (f"I look.\n\n<function_calls>\n{INVOKE}\n</function_calls>", [])


@pytest.mark.parametrize("name", WAYS)
def test_an_upgrade_is_refused_over_every_way(ways: dict[str, Way], name: str) -> None:
    way = ways[name]
    with pytest.raises(Refused) as refused, connected(way.port, "/refuse/v1/responses", **way.options):
        pass
    assert (refused.value.status, refused.value.headers["upgrade"]) == (426, "HTTP/1.1")
