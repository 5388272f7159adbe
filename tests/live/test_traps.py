"""What a real mitmdump does to an addon that is not careful: one test for each trap, named after it."""

import json
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from mitmproxy import http
from mitmproxy.io import FlowWriter

from support.addons import addon_with, summary_in
from support.loopback import (
    CALL,
    EVENTS,
    LIMIT,
    PATH,
    Host,
    Reply,
    asked,
    calls_in,
    encoded,
    flows_in,
    host,
    mitmdump,
    post,
    streamed,
    text_in,
    upstream,
    upstream_h2,
    whole,
)
from toolcalls.flows import flow_metadata
from toolcalls.mitm.hooks import ToolCalls

TEXT = f"Let me look.\n\n{CALL}"
MADE = [("Bash", '{"command":"ls -la"}')]
CODINGS = ["gzip", "deflate", "deflate-raw", "br", "zstd"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mitmproxy")


@pytest.fixture(scope="module")
def proxy(folder: Path) -> Iterator[Host]:
    with host(folder) as running:
        yield running


@pytest.fixture(scope="module")
def other_options(folder: Path) -> Iterator[Host]:
    """A host with two options of mitmproxy's, each for one test.

    connection_strategy  connected to the upstream already, mitmproxy would offer a client what the upstream speaks
    stream_large_bodies  bodies over this size are streamed by mitmproxy itself
    """
    options = ("connection_strategy=lazy", "stream_large_bodies=1k")
    with host(folder, *(part for option in options for part in ("--set", option))) as running:
        yield running


@pytest.fixture
def addon() -> Iterator[ToolCalls]:
    with addon_with() as made:
        yield made


@contextmanager
def asking(port: int, path: str) -> Iterator[socket.socket]:
    """A client that has asked and reads by itself."""
    body = asked()
    with socket.create_connection(("127.0.0.1", port), LIMIT) as client:
        client.sendall(b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (path.encode(), len(body)) + body)
        yield client


def arrived(client: socket.socket, sign: bytes) -> bytes:
    """What the client has got as soon as `sign` is in it. Raises TimeoutError where nothing comes for LIMIT seconds."""
    got = b""
    while sign not in got:
        piece = client.recv(65536)
        assert piece, f"the reply ended without {sign!r}: {got!r}"
        got += piece
    return got


def _verdicts(flow: http.HTTPFlow) -> list[dict[str, Any]]:
    return flow.metadata[flow_metadata.REPORT]["verdicts"]


def _statuses(flow: http.HTTPFlow) -> list[tuple[str, str | None]]:
    return [(verdict["status"], verdict["reason"]) for verdict in _verdicts(flow)]


class _OnlyHTTP2(ssl.SSLContext):
    """httpx offers HTTP/1.1 first, and mitmproxy takes a client's first offer."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:  # noqa: ARG002 - httpx calls it
        super().set_alpn_protocols(["h2"])


def _http2_client() -> httpx.Client:
    """A client that speaks HTTP/2 and trusts whoever answers: the certificate is mitmproxy's own."""
    context = _OnlyHTTP2(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return httpx.Client(http2=True, verify=context, timeout=LIMIT)


def test_withholding_does_not_end_a_chunked_body(proxy: Host) -> None:
    """The opener comes a character at a time, and nothing leaves while it does."""
    got, _ = proxy.ask(Reply(streamed(TEXT, 1)))
    assert got.ended
    assert calls_in(got.body) == MADE


@pytest.mark.parametrize("cut", ["fin", "rst"])
@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_upstream_cut_inside_a_tag(proxy: Host, framing: Any, cut: Any) -> None:
    """Only `error` comes, without b"", and nothing can be sent any more: the client keeps what was complete."""
    pieces = streamed('Let me look.\n\n<invoke name="Ba', 4, reason=None)
    got, flow = proxy.ask(Reply(pieces, framing=framing, cut=cut))
    assert not got.ended
    assert calls_in(got.body) == []
    assert text_in(got.body).startswith("Let me look.")
    assert flow.error is not None
    assert flow.response is not None
    assert flow.response.raw_content == got.body
    assert flow.metadata[flow_metadata.UPSTREAM] == b"".join(pieces)
    assert flow.marked == ":warning:"
    assert _statuses(flow) == [("truncated", "cut_off")]


def test_upstream_cut_inside_the_arguments(proxy: Host) -> None:
    """The call has begun to stream; nobody closes its arguments."""
    begun = TEXT[: TEXT.index(" -la")] + " -l"
    got, flow = proxy.ask(Reply(streamed(begun, 4, reason=None), cut="rst"))
    ((name, arguments),) = calls_in(got.body)
    assert name == "Bash"
    with pytest.raises(json.JSONDecodeError):
        json.loads(arguments)
    assert [status for status, _ in _statuses(flow)] == ["truncated"]


def test_a_close_delimited_cut_looks_like_an_end(proxy: Host) -> None:
    """b"" comes as though all were well; what was held is text, and no call."""
    got, flow = proxy.ask(Reply(streamed('Look.\n\n<invoke name="Ba', 4, reason=None), framing="close"))
    assert calls_in(got.body) == []
    assert text_in(got.body) == 'Look.\n\n<invoke name="Ba'
    assert _statuses(flow) == [("truncated", "cut_off")]


def test_a_client_that_leaves(proxy: Host) -> None:
    """`error` ends the exchange, the upstream is let go, and what came until then is kept."""
    pieces = streamed(TEXT * 40, 3)
    reply = Reply(pieces, gates={len(pieces) // 2: Event()})
    proxy.upstream.replies = [reply]
    path = proxy.path()
    with asking(proxy.dump.port, path) as client:
        arrived(client, b"data:")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    flow = proxy.flow(path)
    assert flow.error is not None
    assert flow.response is not None
    assert flow.response.raw_content is not None
    assert 0 < len(flow.response.raw_content) < len(b"".join(pieces))
    assert reply.left.wait(LIMIT)


def test_a_reply_without_a_body(proxy: Host) -> None:
    """The callable is never called."""
    got, flow = proxy.ask(Reply([], framing="length"))
    assert (got.body, got.ended) == (b"", True)
    assert flow.metadata[flow_metadata.REPORT]["verdicts"] == []


def test_sigterm_marks_what_it_cuts(folder: Path, tmp_path: Path) -> None:
    """mitmproxy writes the running flows without an error, as though they were whole. The client's call stays open."""
    out = tmp_path / "stopped.flow"
    reply = Reply(streamed(TEXT[:-20], 4, reason=None), stays=True)
    with (
        upstream(reply) as server,
        mitmdump(folder, "-w", str(out), to=server.url) as dump,
        asking(dump.port, PATH) as client,
    ):
        arrived(client, b"command")
        assert dump.stop() == 0
    (flow,) = flows_in(out)
    assert flow.error is not None
    assert "stopped" in flow.error.msg
    assert flow.response is not None
    assert flow.response.raw_content
    assert _statuses(flow) == [("truncated", "cut_off")]


@pytest.mark.parametrize("body", [b"".join(streamed(TEXT, 400)), whole(TEXT)], ids=["sse", "whole"])
def test_content_length_growth(proxy: Host, body: bytes) -> None:
    """A longer body after the old length is cut without a word."""
    kind = "text/event-stream" if body.startswith(b"data:") else "application/json"
    got, flow = proxy.ask(Reply([body], {"content-type": kind}, framing="length"))
    assert calls_in(got.body) == MADE
    assert got.ended
    assert got.headers.get("transfer-encoding") == "chunked"
    assert "content-length" not in got.headers
    assert flow.response is not None
    assert flow.response.raw_content == got.body


def test_chunked_is_not_for_http_1_0(proxy: Host) -> None:
    got, _ = proxy.ask(Reply([b"".join(streamed(TEXT))], framing="length"), version="1.0")
    assert "transfer-encoding" not in got.headers
    assert calls_in(got.body) == MADE


def test_chunked_is_not_for_http_2(other_options: Host) -> None:
    """Towards an HTTP/2 client it is a protocol error, and the request is dead."""
    framings: list[Any] = ["length", "chunked"]
    with _http2_client() as client:
        other_options.upstream.replies = [Reply(streamed(TEXT), framing=framing) for framing in framings]
        for _ in framings:
            reply = client.post(f"https://127.0.0.1:{other_options.dump.port}{PATH}", content=asked())
            assert reply.http_version == "HTTP/2"
            assert "transfer-encoding" not in reply.headers
            assert calls_in(reply.content) == MADE


@pytest.mark.parametrize("cut", [None, "rst"])
def test_http_2_on_both_sides(proxy: Host, folder: Path, tmp_path: Path, cut: Any) -> None:
    """DATA frames for chunks; a reset stream in place of a cut connection. (The shared proxy has made the CA.)"""
    assert proxy.dump.port
    pieces = streamed(TEXT) if cut is None else streamed(TEXT[:-20], reason=None)
    out = tmp_path / "h2.flow"
    with (
        upstream_h2(Reply(pieces, cut=cut), folder) as url,
        mitmdump(folder, "--ssl-insecure", "-w", str(out), to=url) as dump,
        _http2_client() as client,
    ):
        try:
            assert calls_in(client.post(f"https://127.0.0.1:{dump.port}{PATH}", content=asked()).content) == MADE
        except httpx.RemoteProtocolError:
            assert cut is not None
    (flow,) = flows_in(out)
    assert flow.response is not None
    assert flow.response.http_version == "HTTP/2.0"
    assert [status for status, _ in _statuses(flow)] == ["lifted" if cut is None else "truncated"]


def test_asks_for_identity_only_where_it_may_change_something(proxy: Host) -> None:
    proxy.upstream.asked.clear()
    for tools in (True, False):
        proxy.ask(Reply(streamed("hello")), asked(tools=tools), {"accept-encoding": "gzip, br", "x-kept": "yes"})
    lifting, observing = proxy.upstream.asked
    assert lifting.headers["accept-encoding"] == "identity"
    assert observing.headers["accept-encoding"] == "gzip, br"
    for got, tools in ((lifting, True), (observing, False)):
        assert got.body == asked(tools=tools)
        assert got.headers["x-kept"] == "yes"


@pytest.mark.parametrize("coding", CODINGS)
def test_a_coding_that_comes_all_the_same(proxy: Host, coding: str) -> None:
    """The callable gets compressed bytes; it decodes them as they come, and the client gets identity."""
    pieces = encoded(streamed(TEXT), coding)
    headers = EVENTS | {"content-encoding": coding.removesuffix("-raw")}
    got, flow = proxy.ask(Reply(pieces, headers))
    assert "content-encoding" not in got.headers
    assert calls_in(got.body) == MADE
    assert flow.metadata[flow_metadata.UPSTREAM] == b"".join(streamed(TEXT))


def test_a_coding_stays_where_nothing_can_change(proxy: Host) -> None:
    """The bytes pass as they are, and are read all the same."""
    pieces = encoded(streamed(TEXT), "gzip")
    got, flow = proxy.ask(Reply(pieces, EVENTS | {"content-encoding": "gzip"}, framing="length"), asked(tools=False))
    assert got.body == b"".join(pieces)
    assert got.headers["content-encoding"] == "gzip"
    assert got.headers["content-length"] == str(len(got.body))
    assert flow.response is not None
    assert flow.response.raw_content == got.body
    assert flow_metadata.UPSTREAM not in flow.metadata
    assert _statuses(flow) == [("declined", "no_tools")]


def test_a_coding_that_is_broken(proxy: Host) -> None:
    """The headers are gone, so what cannot be decoded passes raw; the verdict says that we failed."""
    good = encoded(streamed("Hello.", reason=None), "gzip")[:-1]
    got, flow = proxy.ask(Reply([*good, b"\xff\xff\xff broken"], EVENTS | {"content-encoding": "gzip"}))
    assert got.ended
    assert got.body == b"".join(streamed("Hello.", reason=None)) + b"\xff\xff\xff broken"
    assert flow.metadata[flow_metadata.REPORT]["worst"] == "failed"
    assert flow.marked == ":x:"
    line = proxy.dump.wait_for(flow.request.path, "failed")
    _, after = proxy.ask(Reply(streamed(TEXT)))
    proxy.dump.wait_for(after.request.path, "lifted")  # so that all lines of the flow before it are there
    assert [one for one in proxy.dump.lines if flow.request.path in one and "failed" in one] == [line]


def test_a_coding_that_nobody_knows(proxy: Host) -> None:
    reply = Reply([b"abc"], EVENTS | {"content-encoding": "snappy"}, framing="length")
    got, flow = proxy.ask(reply)
    assert got.body == b"abc"
    assert got.headers["content-encoding"] == "snappy"
    assert flow_metadata.REPORT not in flow.metadata


@pytest.mark.parametrize("option", ["true", "false"])
def test_own_storage(proxy: Host, folder: Path, option: str) -> None:
    """mitmproxy keeps a streamed body only if an option says so, not by default, and never after an error."""
    if option == "false":
        got, flow = proxy.ask(Reply(streamed(TEXT)))
    else:
        with host(folder, "--set", "store_streamed_bodies=true") as running:
            got, flow = running.ask(Reply(streamed(TEXT)))
    assert flow.response is not None
    assert flow.response.raw_content == got.body
    assert flow.metadata[flow_metadata.UPSTREAM] == b"".join(streamed(TEXT))


def test_a_limit_for_large_bodies_does_not_take_the_reply_away(other_options: Host) -> None:
    """`stream_large_bodies` decides before `responseheaders`; a request over the limit has gone unread."""
    got, _ = other_options.ask(Reply([b"".join(streamed(TEXT))], framing="length"))
    assert calls_in(got.body) == MADE
    got, flow = other_options.ask(Reply(streamed(TEXT)), asked(user="x" * 5000))
    assert got.body == b"".join(streamed(TEXT))
    assert flow_metadata.REPORT not in flow.metadata
    other_options.dump.wait_for("the reply is forwarded unparsed: the request was streamed")


def test_what_passes_unchanged_is_stored_once(proxy: Host) -> None:
    got, flow = proxy.ask(Reply(streamed("hello")))
    assert got.body == b"".join(streamed("hello"))
    assert flow.response is not None
    assert flow.response.raw_content == got.body
    assert flow_metadata.UPSTREAM not in flow.metadata


def test_times_are_those_of_the_pieces(proxy: Host) -> None:
    """The last pieces come when the client has had the first ones, and when somebody else has been served meanwhile."""
    pieces = streamed(TEXT, 9)
    last = len(pieces) - 2
    proxy.upstream.replies = [Reply(pieces, gates={last: (go := Event())})]
    path = proxy.path()
    with asking(proxy.dump.port, path) as client:
        got = arrived(client, b"command")
        since = time.monotonic_ns()
        proxy.ask(Reply(streamed(TEXT)))
        meanwhile = (time.monotonic_ns() - since) // 1000
        go.set()
        got += arrived(client, b"\r\n0\r\n\r\n")
    flow = proxy.flow(path)
    came, left = flow.metadata[flow_metadata.TIMES]["upstream"], flow.metadata[flow_metadata.TIMES]["client"]
    assert came["bytes"] == [len(piece) for piece in pieces]
    assert flow.response is not None
    assert sum(left["bytes"]) == len(flow.response.raw_content or b"")
    for times in (came["microseconds"], left["microseconds"]):
        assert times == sorted(times)
    assert came["microseconds"][last] - came["microseconds"][0] >= meanwhile
    assert left["microseconds"][-1] - left["microseconds"][0] >= meanwhile


def test_latency_of_events_is_kept(proxy: Host) -> None:
    """Each piece leaves when it comes, also inside a call, and not with the reply's end: nobody here waits so long."""
    proxy.upstream.replies = [Reply(streamed(TEXT[: TEXT.index(" -la")], 7, reason=None), stays=True)]
    with asking(proxy.dump.port, proxy.path()) as client:
        arrived(client, b"command")


CASES = {
    "lifted": Reply(streamed(TEXT)),
    "whole": Reply([whole(TEXT)], {"content-type": "application/json"}, framing="length"),
    "declined": Reply(streamed(f"Like so:\n\n```\n{CALL}\n```\n")),
    "gzip": Reply(encoded(streamed(TEXT), "gzip"), EVENTS | {"content-encoding": "gzip"}),
    "unfinished": Reply(streamed(TEXT[:-20], reason=None), framing="close"),
    "nothing": Reply(streamed("hello")),
}


def _by_case(path: Path) -> dict[str, http.HTTPFlow]:
    return {flow.request.path.split("/")[1]: flow for flow in flows_in(path)}


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Iterator[dict[str, Any]]:
    """All cases, recorded live with the addon and without, and the upstream that still answers the same."""
    found: dict[str, Any] = {}
    with upstream(Reply([])) as server:
        for name, addon in (("with", True), ("without", False)):
            path = folder / f"{name}.flow"
            with mitmdump(folder, "-w", str(path), to=server.url, addon=addon) as dump:
                for case, reply in CASES.items():
                    server.replies = [reply]
                    post(dump.url, asked(), path=f"/{case}{PATH}")
            found[name] = path
        found["server"] = server
        found["verdicts"] = {case: _verdicts(flow) for case, flow in _by_case(found["with"]).items()}
        yield found


def test_the_recorded_cases_are_what_they_say(recorded: dict[str, Any]) -> None:
    found = {case: [one["status"] for one in verdicts] for case, verdicts in recorded["verdicts"].items()}
    lifted = ["lifted"]
    assert found == {
        "lifted": lifted,
        "whole": lifted,
        "declined": ["declined"],
        "gzip": lifted,
        "unfinished": ["truncated"],
        "nothing": [],
    }


def _joined(recorded: dict[str, Any], path: Path) -> list[tuple[str, http.HTTPFlow]]:
    """One file of both recordings at `path`; its flows, each with the case that it is of."""
    path.write_bytes(recorded["with"].read_bytes() + recorded["without"].read_bytes())
    return _cases(path)


def _cases(path: Path) -> list[tuple[str, http.HTTPFlow]]:
    return [(flow.request.path.split("/")[1], flow) for flow in flows_in(path)]


def test_flows_from_a_file_give_the_same_verdicts(recorded: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    """`-nr`: the callable is set but never called. What was recorded stays as it was; a second time changes nothing."""
    was = tmp_path / "both.flow"
    before = _joined(recorded, was)
    assert len(before) == 2 * len(CASES)
    for name in ("once", "twice"):
        now = tmp_path / f"{name}.flow"
        with mitmdump(folder, "-nr", str(was), "-w", str(now)) as dump:
            assert dump.ended() == 0
        after = _cases(now)
        assert [(case, flow.id) for case, flow in after] == [(case, flow.id) for case, flow in before]
        for (case, flow), (_, old) in zip(after, before, strict=True):
            assert _verdicts(flow) == recorded["verdicts"][case]
            assert flow.response is not None
            assert old.response is not None
            assert flow.response.raw_content == old.response.raw_content
            assert flow.response.headers == old.response.headers
            assert flow.metadata.get(flow_metadata.UPSTREAM) == old.metadata.get(flow_metadata.UPSTREAM)
        was = now
    once, twice = ([flow.get_state() for flow in flows_in(tmp_path / f"{name}.flow")] for name in ("once", "twice"))
    assert once == twice


@pytest.mark.parametrize("recording", ["with", "without"])
def test_server_replay_gives_the_same_verdicts(
    recorded: dict[str, Any], folder: Path, tmp_path: Path, recording: str
) -> None:
    """`-S`: the whole body is there at `responseheaders`, the callable is never called, old metadata is not copied."""
    out = tmp_path / "out.flow"
    options = ["-S", str(recorded[recording]), "--set", "keepserving=true", "--set", "connection_strategy=lazy"]
    with mitmdump(folder, *options, "-w", str(out), to=recorded["server"].url) as dump:
        got = {case: post(dump.url, asked(), path=f"/{case}{PATH}") for case in CASES}
    assert {case: _verdicts(flow) for case, flow in _by_case(out).items()} == recorded["verdicts"]
    live = _by_case(recorded["with"])
    for case, reply in got.items():
        response = live[case].response
        assert response is not None
        assert reply.body == response.raw_content
        assert reply.ended


def test_client_replay_gives_the_same_verdicts(recorded: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    """`-C`: the request is sent again; the flow still bears what the first reply left in it."""
    path, out = tmp_path / "in.flow", tmp_path / "out.flow"
    flows = _joined(recorded, tmp_path / "both.flow")
    with path.open("wb") as file:
        for case, flow in flows:
            flow.comment = "my own" if case == "lifted" else summary_in(flow)
            FlowWriter(file).add(flow)
    recorded["server"].replies = [CASES[case] for case, _ in flows]
    with mitmdump(folder, "-n", "-C", str(path), "-w", str(out)) as dump:
        assert dump.ended() == 0
    again = _cases(out)
    assert [case for case, _ in again] == [case for case, _ in flows]
    comments = {"lifted": "my own", "declined": "1 possibly lost: fenced"}
    for case, flow in again:
        assert _verdicts(flow) == recorded["verdicts"][case]
        assert summary_in(flow) == comments.get(case, summary_in(flow))
        assert flow.marked == ":wrench:" or case != "lifted"
