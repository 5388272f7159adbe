"""What mitmproxy does to an addon that is not careful: one test for each trap, named after it.

What only the host can show runs in a real mitmdump on loopback, most of it in one that all tests share; the rest calls
the hooks directly. Over 300 lines: it is one list of short tests, and they share the proxy.
"""

import gc
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
from mitmproxy.test import tflow, tutils

from addons import addon_with, tap_on
from live import (
    CALL,
    EVENTS,
    LIMIT,
    PATH,
    TOOLS,
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
from toolcalls.mitm import flow_metadata
from toolcalls.mitm.addon import ToolCalls
from toolcalls.mitm.content_codings import CodingError, decoder_of
from toolcalls.mitm.exchange_plan import plan_for, wire_for
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.route import Config

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


@pytest.fixture
def addon() -> Iterator[ToolCalls]:
    with addon_with() as made:
        yield made


def _flow(body: bytes = b"", headers: dict[str, str] | None = None, *, live: bool = True) -> http.HTTPFlow:
    """A flow whose request is ours; `body` is its reply's, b"" for one that is still to come."""
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode(), content=asked()), resp=True)
    flow.live = live
    flow.response = http.Response.make(200, body, headers or EVENTS)
    if not body:
        flow.response.raw_content = None
    return flow


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


def _tap(*, tools: bool = True, coding: str = "", form: Any = "sse") -> ResponseTap:
    request = http.Request.make("POST", f"http://127.0.0.1{PATH}", asked(tools=tools))
    wire = wire_for(request)
    assert wire is not None
    plan = plan_for(wire, request, Config())
    return ResponseTap(plan.exchange(form), form=form, decoder=decoder_of(coding), changes=plan.may_change)


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


def _pieces(body: bytes, size: int) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)]


# --- what the callable returns ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 64, 10_000])
def test_never_empty_bytes_and_one_piece_per_call(size: int) -> None:
    """b"" in the middle ends a chunked body, each item of a list is a write of its own, a coroutine is not awaited."""
    tap = _tap()
    body = b"".join(streamed(TEXT))
    returned = [tap(piece) for piece in [*_pieces(body, size), b""]]
    assert all(out == [] or (isinstance(out, bytes) and out) for out in returned)
    assert calls_in(b"".join(out for out in returned if isinstance(out, bytes))) == MADE


def test_withholding_does_not_end_a_chunked_body(proxy: Host) -> None:
    """The opener comes a character at a time, and nothing leaves while it does."""
    got, _ = proxy.ask(Reply(streamed(TEXT, 1)))
    assert got.ended
    assert calls_in(got.body) == MADE


def _fails(_data: bytes = b"") -> bytes:
    raise ZeroDivisionError


@pytest.mark.parametrize("broken", ["feed", "close"])
@pytest.mark.parametrize("after", [0, 3, 5])
def test_never_raises(monkeypatch: pytest.MonkeyPatch, broken: str, after: int) -> None:
    """What raises loses its piece, and at the end it hangs the client. From our fault on, all passes as it came."""
    tap = _tap()
    pieces = streamed("nothing to lift here: a < b")
    out = [tap(piece) for piece in pieces[:after]]
    monkeypatch.setattr(tap.exchange, broken, _fails)
    out += [tap(piece) for piece in [*pieces[after:], b""]]
    assert b"".join(b"".join([one] if isinstance(one, bytes) else one) for one in out) == b"".join(pieces)
    assert isinstance(tap.exchange.failure, ZeroDivisionError)


def test_a_fault_gives_back_what_was_held(monkeypatch: pytest.MonkeyPatch) -> None:
    tap = _tap()
    pieces = streamed(TEXT)
    held = next(number for number in range(len(pieces)) if tap(pieces[number]) == []) + 1
    monkeypatch.setattr(tap.exchange, "feed", _fails)
    out = tap(pieces[held])
    assert isinstance(out, bytes)
    assert text_in(out).startswith("<invoke")


# --- how a reply ends -------------------------------------------------------------------------------------------------


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
    proxy.upstream.gone.clear()
    pieces = streamed(TEXT * 40, 3)
    proxy.upstream.replies = [Reply(pieces, gates={len(pieces) // 2: Event()})]
    path = proxy.path()
    with asking(proxy.dump.port, path) as client:
        arrived(client, b"data:")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    flow = proxy.flow(path)
    assert flow.error is not None
    assert flow.response is not None
    assert flow.response.raw_content is not None
    assert 0 < len(flow.response.raw_content) < len(b"".join(pieces))
    assert proxy.upstream.gone.wait(LIMIT)


def test_response_and_error_settle_once(addon: ToolCalls, caplog: pytest.LogCaptureFixture) -> None:
    """For a truncated flow from a file both hooks come."""
    caplog.set_level("INFO", "toolcalls")
    flow = _flow(b"".join(streamed(TEXT[:-12], reason=None)), live=False)
    flow.error = tflow.terr()
    for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response, addon.error):
        hook(flow)
    assert [status for status, _ in _statuses(flow)] == ["truncated"]
    assert sum("1 truncated" in record.message for record in caplog.records) == 1


def test_a_reply_without_a_body(proxy: Host) -> None:
    """The callable is never called."""
    got, flow = proxy.ask(Reply([], framing="length"))
    assert (got.body, got.ended) == (b"", True)
    assert flow.metadata[flow_metadata.REPORT]["verdicts"] == []


def test_sigterm_marks_what_it_cuts(folder: Path, tmp_path: Path) -> None:
    """mitmproxy writes the running flows without an error, as though they were whole."""
    out = tmp_path / "stopped.flow"
    reply = Reply(streamed(TEXT[:-20], 4, reason=None), hold=3 * LIMIT)
    with (
        upstream(reply) as server,
        mitmdump(folder, "-w", str(out), to=server.url) as dump,
        asking(dump.port, PATH) as client,
    ):
        arrived(client, b"command")
        assert dump.stop() == 0
    (flow,) = flows_in(out)
    assert flow.error is not None
    assert flow.response is not None
    assert flow.response.raw_content
    assert [status for status, _ in _statuses(flow)] == ["truncated"]


# --- headers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"".join(streamed(TEXT, 400)), whole(TEXT)], ids=["sse", "whole"])
def test_content_length_growth(proxy: Host, body: bytes) -> None:
    """A longer body behind the old length is cut without a word."""
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


def test_chunked_is_not_for_http_2(folder: Path) -> None:
    """Towards an HTTP/2 client it is a protocol error, and the request is dead."""
    framings: list[Any] = ["length", "chunked"]
    # Connected to the upstream already, mitmproxy would offer the client what the upstream speaks.
    with host(folder, "--set", "connection_strategy=lazy") as running, _http2_client() as client:
        running.upstream.replies = [Reply(streamed(TEXT), framing=framing) for framing in framings]
        for _ in framings:
            reply = client.post(f"https://127.0.0.1:{running.dump.port}{PATH}", content=asked())
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


@pytest.mark.parametrize("size", [1, 5, 10_000])
@pytest.mark.parametrize("coding", CODINGS)
def test_codings_are_decoded_wherever_they_are_cut(coding: str, size: int) -> None:
    decoder = decoder_of(coding.removesuffix("-raw"))
    assert decoder is not None
    body = b"".join(encoded([b"some ", b"text " * 99, b"\xff\x00"], coding))
    assert b"".join(decoder.feed(piece) for piece in _pieces(body, size)) == b"some " + b"text " * 99 + b"\xff\x00"


@pytest.mark.parametrize("coding", CODINGS)
def test_an_event_is_decoded_when_it_comes(coding: str) -> None:
    decoder = decoder_of(coding.removesuffix("-raw"))
    assert decoder is not None
    pieces = streamed(TEXT)
    assert [decoder.feed(piece) for piece in encoded(pieces, coding)][: len(pieces)] == pieces


@pytest.mark.parametrize("coding", CODINGS)
def test_bytes_in_no_coding_are_one_kind_of_fault(coding: str) -> None:
    decoder = decoder_of(coding.removesuffix("-raw"))
    assert decoder is not None
    with pytest.raises(CodingError):
        decoder.feed(b"\xff" * 99)


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
    assert _statuses(flow) == [("declined", "observed")]


def test_a_coding_that_is_broken(proxy: Host) -> None:
    """The headers are gone, so what cannot be decoded passes raw; the verdict says that we failed."""
    good = encoded(streamed("Hello.", reason=None), "gzip")[:-1]
    got, flow = proxy.ask(Reply([*good, b"\xff\xff\xff broken"], EVENTS | {"content-encoding": "gzip"}))
    assert got.ended
    assert got.body == b"".join(streamed("Hello.", reason=None)) + b"\xff\xff\xff broken"
    assert flow.metadata[flow_metadata.REPORT]["worst"] == "failed"
    assert flow.marked == ":x:"
    proxy.dump.wait_for("failed")
    assert sum("failed" in line for line in proxy.dump.lines) == 1


def test_a_coding_that_nobody_knows(proxy: Host) -> None:
    reply = Reply([b"abc"], EVENTS | {"content-encoding": "snappy"}, framing="length")
    got, flow = proxy.ask(reply)
    assert got.body == b"abc"
    assert got.headers["content-encoding"] == "snappy"
    assert flow_metadata.REPORT not in flow.metadata


def test_a_small_body_that_decodes_to_a_huge_one() -> None:
    tap = _tap(coding="gzip", form="whole")
    bomb = b"".join(encoded([bytes(80 * 1024 * 1024)], "gzip"))
    out = tap(bomb)
    assert out == bomb
    assert tap.exchange.failure is not None


@pytest.mark.parametrize("tools", [True, False], ids=["changing", "observing"])
def test_a_whole_reply_that_is_too_large_to_wait_for(monkeypatch: pytest.MonkeyPatch, tools: bool) -> None:
    monkeypatch.setattr("toolcalls.mitm.response_tap.MAX_WHOLE", 1000)
    tap = _tap(form="whole", tools=tools)
    body = whole("x" * 2000 + TEXT)
    returned = [tap(piece) for piece in [*_pieces(body, 300), b""]]
    assert b"".join(out for out in returned if isinstance(out, bytes)) == body
    assert isinstance(tap.exchange.failure, OverflowError)


def test_a_body_that_is_too_large_to_keep_passes_all_the_same(
    addon: ToolCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcalls.mitm.response_tap.MAX_KEPT", 1000)
    flow = _flow()
    tap = tap_on(addon, flow)
    returned = [tap(piece) for piece in [*streamed(TEXT), b""]]
    addon.response(flow)
    assert calls_in(b"".join(out for out in returned if isinstance(out, bytes))) == MADE
    assert flow.response is not None
    assert flow.response.raw_content is None
    assert flow_metadata.UPSTREAM not in flow.metadata
    assert flow.comment == "lifted Bash (invoke)"


# --- what is kept -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["true", "false"])
def test_own_storage(folder: Path, option: str) -> None:
    """A streamed body is kept by mitmproxy only if an option says so, and never after an error."""
    with host(folder, "--set", f"store_streamed_bodies={option}") as running:
        got, flow = running.ask(Reply(streamed(TEXT)))
    assert flow.response is not None
    assert flow.response.raw_content == got.body
    assert flow.metadata[flow_metadata.UPSTREAM] == b"".join(streamed(TEXT))


def test_a_limit_for_large_bodies_does_not_take_the_reply_away(folder: Path) -> None:
    """`stream_large_bodies` decides before `responseheaders`; a request over the limit has gone unread."""
    with host(folder, "--set", "stream_large_bodies=1k") as running:
        got, _ = running.ask(Reply([b"".join(streamed(TEXT))], framing="length"))
        assert calls_in(got.body) == MADE
        got, flow = running.ask(Reply(streamed(TEXT)), asked(user="x" * 5000))
        assert got.body == b"".join(streamed(TEXT))
        assert flow_metadata.REPORT not in flow.metadata
        running.dump.wait_for("the reply passes unread: the request was streamed")


def test_what_passes_unchanged_is_stored_once(proxy: Host) -> None:
    got, flow = proxy.ask(Reply(streamed("hello")))
    assert got.body == b"".join(streamed("hello"))
    assert flow.response is not None
    assert flow.response.raw_content == got.body
    assert flow_metadata.UPSTREAM not in flow.metadata


def test_times_are_those_of_the_pieces(proxy: Host) -> None:
    """The last pieces come when the client has had the first ones for a while."""
    pieces = streamed(TEXT, 9)
    last = len(pieces) - 2
    proxy.upstream.replies = [Reply(pieces, gates={last: (go := Event())})]
    path = proxy.path()
    with asking(proxy.dump.port, path) as client:
        got = arrived(client, b"command")
        time.sleep(0.05)
        go.set()
        got += arrived(client, b"\r\n0\r\n\r\n")
    flow = proxy.flow(path)
    came, left = flow.metadata[flow_metadata.TIMES]["upstream"], flow.metadata[flow_metadata.TIMES]["client"]
    assert came["bytes"] == [len(piece) for piece in pieces]
    assert flow.response is not None
    assert sum(left["bytes"]) == len(flow.response.raw_content or b"")
    for times in (came["microseconds"], left["microseconds"]):
        assert times == sorted(times)
    assert came["microseconds"][last] - came["microseconds"][0] > 40_000


def test_metadata_can_always_be_written(addon: ToolCalls, tmp_path: Path) -> None:
    r"""A lone surrogate or any object makes `Save` lose the flow. JSON's \ud800 is a lone surrogate."""
    text = '<invoke name="Bash">\n<parameter name="command">\\ud800</parameter>\n</invoke>'
    body = b"".join(streamed(text, 1000)).replace(b"\\\\ud800", b"\\ud800")
    flow = _flow(body)
    addon.request(flow)
    addon.responseheaders(flow)
    with (tmp_path / "out.flow").open("wb") as file:
        FlowWriter(file).add(flow)
    (read,) = flows_in(tmp_path / "out.flow")
    assert len(_verdicts(read)) == 1
    json.dumps(flow.metadata[flow_metadata.REPORT])


def test_bodies_have_a_short_repr_and_are_written_as_bytes(addon: ToolCalls, tmp_path: Path) -> None:
    flow = _flow(b"".join(streamed(TEXT)))
    addon.request(flow)
    addon.responseheaders(flow)
    assert len(repr(flow.metadata[flow_metadata.UPSTREAM])) < 30
    assert len(repr(flow.metadata[flow_metadata.TIMES])) < 200
    with (tmp_path / "out.flow").open("wb") as file:
        FlowWriter(file).add(flow)
    (read,) = flows_in(tmp_path / "out.flow")
    assert type(read.metadata[flow_metadata.UPSTREAM]) is bytes
    assert read.metadata[flow_metadata.UPSTREAM] == flow.metadata[flow_metadata.UPSTREAM]


def _reaches(start: object, wanted: object) -> bool:
    """Whether an object can be reached from another one, modules and types left out."""
    seen: set[int] = set()
    todo = [start]
    while todo:
        one = todo.pop()
        if one is wanted:
            return True
        if id(one) not in seen and not isinstance(one, type | type(gc)):
            seen.add(id(one))
            todo += [each for each in gc.get_referents(one) if not _is_globals(each)]
    return False


def _is_globals(one: object) -> bool:
    return isinstance(one, dict) and "__builtins__" in one


def test_the_tap_does_not_hold_its_flow(addon: ToolCalls) -> None:
    """A cycle keeps both bodies alive until the collector comes by."""
    flow = _flow()
    tap = tap_on(addon, flow)
    assert _reaches(flow, tap)
    assert not _reaches(tap, flow)
    addon.response(flow)
    assert not _reaches(flow, tap)
    assert flow not in addon._plans


def test_latency_of_events_is_kept(proxy: Host) -> None:
    """Each piece leaves when it comes, also inside a call, and not with the reply's end: nobody here waits so long."""
    proxy.upstream.replies = [Reply(streamed(TEXT[: TEXT.index(" -la")], 7, reason=None), hold=3 * LIMIT)]
    with asking(proxy.dump.port, proxy.path()) as client:
        arrived(client, b"command")


# --- replay -----------------------------------------------------------------------------------------------------------

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
            flow.comment = "my own" if case == "lifted" else flow.comment
            FlowWriter(file).add(flow)
    recorded["server"].replies = [CASES[case] for case, _ in flows]
    with mitmdump(folder, "-n", "-C", str(path), "-w", str(out)) as dump:
        assert dump.ended() == 0
    again = _cases(out)
    assert [case for case, _ in again] == [case for case, _ in flows]
    comments = {"lifted": "my own", "declined": "1 declined: fenced"}
    for case, flow in again:
        assert _verdicts(flow) == recorded["verdicts"][case]
        assert flow.comment == comments.get(case, flow.comment)
        assert flow.marked == ":wrench:" or case != "lifted"


# --- the traffic of others --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"path": "/v1/models"}, id="another-path"),
        pytest.param({"method": "GET"}, id="another-method"),
        pytest.param({"content": b"no json"}, id="no-json"),
        pytest.param({"content": json.dumps({"tools": TOOLS}).encode()}, id="no-messages"),
    ],
)
def test_what_is_not_ours_is_not_touched(addon: ToolCalls, change: dict[str, Any]) -> None:
    flow = _flow()
    for name, value in change.items():
        setattr(flow.request, name, value)
    before = flow.request.copy().get_state()
    addon.request(flow)
    addon.responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is False
    assert flow.request.get_state() == before
    addon.response(flow)
    assert flow.metadata == {}


@pytest.mark.parametrize(
    ("status", "headers"),
    [(500, EVENTS), (200, {"content-type": "text/html"}), (101, EVENTS), (200, {})],
    ids=["error", "html", "websocket", "untyped"],
)
def test_replies_that_are_not_ours_are_not_touched(addon: ToolCalls, status: int, headers: dict[str, str]) -> None:
    flow = _flow()
    assert flow.response is not None
    flow.response.status_code = status
    flow.response.headers.clear()
    flow.response.headers.update(headers)
    addon.request(flow)
    addon.responseheaders(flow)
    addon.response(flow)
    assert flow.response.stream is False
    assert flow.metadata == {}


def test_another_addon_that_streams_keeps_its_stream(addon: ToolCalls) -> None:
    flow = _flow()
    assert flow.response is not None
    theirs = flow.response.stream = lambda data: data
    addon.request(flow)
    addon.responseheaders(flow)
    addon.response(flow)
    assert flow.response.stream is theirs
