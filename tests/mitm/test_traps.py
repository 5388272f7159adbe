"""What mitmproxy does to an addon that is not careful: one test for each trap, named after it.

What only the host can show runs in a real mitmdump on loopback, most of it in one that all tests share; the rest calls
the hooks directly.
"""

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow, tutils

from support.addons import addon_with, summary_in, tap_on
from support.loopback import (
    CALL,
    EVENTS,
    PATH,
    TOOLS,
    asked,
    calls_in,
    encoded,
    flows_in,
    streamed,
    text_in,
    whole,
)
from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import CodingError, decoder_of
from toolcalls.flows.exchange_plan import plan_for, wire_for
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.route import Config

TEXT = f"Let me look.\n\n{CALL}"
MADE = [("Bash", '{"command":"ls -la"}')]
CODINGS = ["gzip", "deflate", "deflate-raw", "br", "zstd"]


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


def test_response_and_error_settle_once(addon: ToolCalls, caplog: pytest.LogCaptureFixture) -> None:
    """For a truncated flow from a file both hooks come."""
    caplog.set_level("INFO", "toolcalls")
    flow = _flow(b"".join(streamed(TEXT[:-12], reason=None)), live=False)
    flow.error = tflow.terr()
    for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response, addon.error):
        hook(flow)
    assert [status for status, _ in _statuses(flow)] == ["truncated"]
    assert sum("1 truncated" in record.message for record in caplog.records) == 1


# --- headers ----------------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr("toolcalls.flows.timed_bodies.MAX_KEPT", 1000)
    flow = _flow()
    tap = tap_on(addon, flow)
    returned = [tap(piece) for piece in [*streamed(TEXT), b""]]
    addon.response(flow)
    assert calls_in(b"".join(out for out in returned if isinstance(out, bytes))) == MADE
    assert flow.response is not None
    assert flow.response.raw_content is None
    assert flow_metadata.UPSTREAM not in flow.metadata
    assert summary_in(flow) == "lifted Bash (invoke)"


# --- what is kept -----------------------------------------------------------------------------------------------------


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
    assert flow not in addon.exchanges()._plans


# --- replay -----------------------------------------------------------------------------------------------------------


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
