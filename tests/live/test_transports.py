"""How bytes reach mitmdump and leave it: HTTP/2, HTTP/3, two mitmdumps in a row, and compressed WebSocket messages.

On each of them a call in text is lifted, and what needs no change leaves byte for byte. Every test starts what it needs
by itself, since what differs are the servers.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.http3 import post_h3, upstream_h3
from support.loopback import (
    CALL,
    LIMIT,
    PATH,
    Dump,
    Reply,
    asked,
    assert_no_fault,
    calls_in,
    flows_in,
    mitmdump,
    streamed,
    text_in,
    upstream,
    upstream_h2,
)
from support.responsesclient import stream
from support.sockets import connected
from support.sockets import upstream as socket_upstream
from support.tlsclient import authority, trusting
from toolcalls.flows import flow_metadata

TEXT = f"Größe: let me look.\n\n{CALL}"
PLAIN = f"Größe: <inv is no call.\n\n```\n{CALL}\n```\n"
MADE = [("Bash", '{"command":"ls -la"}')]
# What is said, what the client reads of it, and the verdicts.
SAID = {"lifted": (TEXT, MADE, ["lifted"]), "untouched": (PLAIN, [], ["declined"])}


def statuses(path: Path) -> list[list[str]]:
    """The verdicts of each flow."""
    reports = [flow.metadata[flow_metadata.REPORT] for flow in flows_in(path)]
    return [[verdict["status"] for verdict in report["verdicts"]] for report in reports]


EXPECTED = [verdicts for _, _, verdicts in SAID.values()]


def check(said: str, body: bytes) -> None:
    """What a client got: the call and no markup, or the very bytes."""
    text, calls, _ = SAID[said]
    assert calls_in(body) == calls
    if said == "untouched":
        assert body == b"".join(streamed(text))
    else:
        assert text_in(body).rstrip() == text.removesuffix(CALL).rstrip()


# --- HTTP/2 and HTTP/3 ------------------------------------------------------------------------------------------------


def trusted(folder: Path) -> tuple[str, str]:
    """An option: the upstream's certificate is one of mitmproxy's own authority."""
    return "--set", f"ssl_verify_upstream_trusted_ca={authority(folder)}"


def test_http_2_on_both_sides(tmp_path: Path) -> None:
    out = tmp_path / "out.flow"
    pieces: list[bytes] = []
    with (
        upstream_h2(Reply(pieces), tmp_path) as url,
        mitmdump(tmp_path, "-w", str(out), *trusted(tmp_path), to=url) as dump,
        httpx.Client(http1=False, http2=True, verify=trusting(tmp_path), timeout=LIMIT, trust_env=False) as client,
    ):
        for said, (text, _, _) in SAID.items():
            pieces[:] = streamed(text)
            reply = client.post(f"https://127.0.0.1:{dump.port}{PATH}", content=asked())
            assert reply.http_version == "HTTP/2"
            check(said, reply.content)
    versions = [(flow.request.http_version, flow.response and flow.response.http_version) for flow in flows_in(out)]
    assert versions == [("HTTP/2.0", "HTTP/2.0")] * 2
    assert statuses(out) == EXPECTED
    assert_no_fault(dump)


def test_http_3_on_both_sides(tmp_path: Path) -> None:
    """QUIC from the client to mitmdump, and from there to the upstream."""
    out = tmp_path / "out.flow"
    pieces: list[bytes] = []
    with (
        upstream_h3(Reply(pieces), tmp_path) as url,
        mitmdump(tmp_path, "-w", str(out), *trusted(tmp_path), to=url) as dump,
    ):
        for said, (text, _, _) in SAID.items():
            pieces[:] = streamed(text)
            got = post_h3(dump.port, PATH, asked(), tmp_path)
            assert "transfer-encoding" not in got.headers
            check(said, got.body)
    versions = [(flow.request.http_version, flow.response and flow.response.http_version) for flow in flows_in(out)]
    assert versions == [("HTTP/3", "HTTP/3")] * 2
    assert statuses(out) == EXPECTED
    assert_no_fault(dump)


# --- two in a row -----------------------------------------------------------------------------------------------------

ADDONS = {"both": (True, True), "the outer one": (True, False), "the inner one": (False, True)}


@contextmanager
def in_a_row(folder: Path, *, outer: bool, inner: bool) -> Iterator[tuple[Dump, Dump]]:
    """A mitmdump whose upstream is the proxy behind it, with the addon in each of them or in one."""
    modes = ("--listen-host", "127.0.0.1", "--listen-port", "0")
    with mitmdump(folder, *modes, "-w", str(folder / "inner.flow"), addon=inner) as second:
        port = second.port_of("HTTP(S) proxy")
        ahead = ("--mode", f"upstream:http://127.0.0.1:{port}")
        with mitmdump(folder, *modes, *ahead, "-w", str(folder / "outer.flow"), addon=outer) as first:
            first.port = first.port_of("HTTP(S) proxy")
            yield first, second


@pytest.mark.parametrize("addons", ADDONS)
def test_two_mitmdumps_in_a_row(tmp_path: Path, addons: str) -> None:
    """Where both have the addon, the outer one sees a native call, and leaves it."""
    outer, inner = ADDONS[addons]
    with upstream() as server, in_a_row(tmp_path, outer=outer, inner=inner) as (first, second):
        server.replies = [Reply(streamed(text)) for text, _, _ in SAID.values()]
        with httpx.Client(proxy=f"http://127.0.0.1:{first.port}", timeout=LIMIT, trust_env=False) as client:
            bodies = [client.post(f"{server.url}{PATH}", content=asked()).content for _ in SAID]
    for said, body in zip(SAID, bodies, strict=True):
        check(said, body)
    if inner:
        assert statuses(tmp_path / "inner.flow") == EXPECTED
    if outer:
        assert statuses(tmp_path / "outer.flow") == ([["native"], *EXPECTED[1:]] if inner else EXPECTED)
    if outer and inner:  # what the inner one has made, the outer one gives on
        made, given = (
            [flow.response and flow.response.raw_content for flow in flows_in(tmp_path / f"{name}.flow")]
            for name in ("inner", "outer")
        )
        assert made == given == bodies
    for dump in (first, second):
        assert_no_fault(dump)


# --- WebSocket, compressed --------------------------------------------------------------------------------------------

TOOL: dict[str, Any] = {"type": "function", "name": "Bash", "parameters": {"type": "object", "properties": {}}}
CREATE = {"type": "response.create", "model": "m", "input": "go", "tools": [TOOL]}


@pytest.mark.parametrize("deflate", [True, False], ids=["deflate", "plain"])
def test_messages_that_need_no_change_stay(tmp_path: Path, *, deflate: bool) -> None:
    """A message leaves as the text that came, after one that was changed, too."""
    out = tmp_path / "out.flow"
    lifted, plain = stream([[f"I look.\n\n{CALL}"]]), stream([["Größe: <inv is no call. 😀\n"]])
    with (
        socket_upstream() as server,
        mitmdump(tmp_path, "-w", str(out), to=server.url) as dump,
        connected(dump.port, "/v1/responses", deflate=deflate) as socket,
    ):
        server.replies = [[plain], [lifted], [[event] for event in plain]]
        turns = [socket.ask(CREATE) for _ in range(3)]
        assert socket.deflates == deflate
    assert [json.dumps(event) for event in turns[0]] == [json.dumps(event) for event in plain]
    assert turns[2] == plain
    assert "<invoke" not in json.dumps(turns[1])
    assert re.search(r'"type": "function_call"', json.dumps(turns[1]))
    (flow,) = flows_in(out)
    assert flow.websocket is not None
    written = [one.content for one in flow.websocket.messages if not one.from_client and not one.dropped]
    sent = [json.dumps(event, ensure_ascii=False).encode() for event in plain]
    assert written[: len(sent)] == written[-len(sent) :] == sent
    assert_no_fault(dump)
