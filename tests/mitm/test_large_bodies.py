"""Large bodies that come whole are read beside the loop, with the same result as in it.

Strategy: the same exchange goes through the hooks twice, as in a proxy (a loop runs, and what a hook returns is
awaited) and without a loop, where all is done in place. A spy notes the threads in which bodies are read, so no clock
is needed to see that the loop goes on meanwhile.
"""

import asyncio
import json
from collections.abc import Iterator
from threading import get_ident
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow, tutils

from support.addons import addon_with
from support.loopback import CALL, PATH, TOOLS
from toolcalls.flows import flow_metadata
from toolcalls.mitm import response_tap
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.replies.exchange import Exchange

LARGE = "Nothing is called here: a < b.\n" * 6000  # characters, past what is read at once


@pytest.fixture
def addon() -> Iterator[ToolCalls]:
    with addon_with() as made:
        yield made


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads in which replies were read to their end."""
    found: list[int] = []
    close = Exchange.close

    def spied(self: Exchange) -> bytes:
        found.append(get_ident())
        return close(self)

    monkeypatch.setattr(Exchange, "close", spied)
    return found


def _body(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    ).encode()


def _flow(body: bytes, *, tools: bool = True, live: bool = True) -> http.HTTPFlow:
    """An exchange whose reply has sent its headers, or which comes from a file."""
    asked = {"model": "m", "messages": [{"role": "user", "content": "go"}]} | ({"tools": TOOLS} if tools else {})
    request = tutils.treq(method=b"POST", path=PATH.encode(), content=json.dumps(asked).encode())
    flow = tflow.tflow(req=request, resp=True)
    assert flow.response is not None
    flow.live = live
    flow.response.headers = http.Headers(content_type="application/json", content_length=str(len(body)))
    flow.response.headers["content-digest"] = "sha-256=:of the body:"
    flow.response.raw_content = None if live else body
    return flow


def _sent(addon: ToolCalls, flow: http.HTTPFlow, body: bytes) -> Iterator[Any]:
    """The exchange as mitmproxy drives it; yields what the hooks return."""
    assert flow.response is not None
    addon.requestheaders(flow)
    addon.request(flow)
    yield addon.responseheaders(flow)
    stream: Any = flow.response.stream
    if callable(stream):
        left = b"".join(piece or b"" for piece in (stream(body[:70_000]), stream(body[70_000:]), stream(b"")))
        assert left == body or len(body) < len(LARGE)  # a large one passes as it comes
    elif flow.live:
        flow.response.raw_content = body
    yield addon.response(flow)


def _in_loop(addon: ToolCalls, flow: http.HTTPFlow, body: bytes) -> int:
    """Run it in a loop; how many of the hooks had to be awaited."""

    async def run() -> int:
        awaited = 0
        for returned in _sent(addon, flow, body):
            if returned is not None:
                awaited += 1
                await returned
        return awaited

    return asyncio.run(run())


def _shown(flow: http.HTTPFlow) -> list[Any]:
    assert flow.response is not None
    kept = {name: value for name, value in flow.metadata.items() if name != flow_metadata.TIMES}
    return [flow.response.raw_content, list(flow.response.headers.fields), flow.comment, flow.marked, kept]


@pytest.mark.parametrize("text", [LARGE, f"{LARGE}\n{CALL}"], ids=["prose", "call"])
@pytest.mark.parametrize("tools", [True, False], ids=["may change", "only read"])
@pytest.mark.parametrize("live", [True, False], ids=["live", "from a file"])
def test_a_large_body_is_read_beside_the_loop_with_the_same_result(
    addon: ToolCalls, threads: list[int], text: str, tools: bool, live: bool
) -> None:
    body = _body(text)
    beside, in_place = (_flow(body, tools=tools, live=live) for _ in range(2))
    assert _in_loop(addon, beside, body) == 1
    assert len(threads) == 1
    assert get_ident() not in threads
    assert [returned for returned in _sent(addon, in_place, body) if returned is not None] == []
    assert threads[1:] == [get_ident()]
    assert flow_metadata.REPORT in beside.metadata
    assert _shown(beside) == _shown(in_place)
    assert beside.response is not None
    headers = beside.response.headers
    if live and tools and CALL in text:
        assert b'"tool_calls"' in (beside.response.raw_content or b"")
        assert headers["content-length"] == str(len(beside.response.raw_content or b""))
        assert "content-digest" not in headers
    else:
        assert beside.response.raw_content == body
        assert headers["content-digest"]


def test_a_small_body_is_read_in_place(addon: ToolCalls, threads: list[int]) -> None:
    body = _body(CALL)
    assert _in_loop(addon, _flow(body), body) == 0
    assert threads == [get_ident()]


def test_where_mitmproxy_streams_by_its_options_the_tap_stays(addon: ToolCalls) -> None:
    """Its answer has left before the hook for the end comes."""
    body = _body(LARGE)
    flow = _flow(body)
    assert flow.response is not None
    flow.response.stream = True
    addon.request(flow)
    addon.responseheaders(flow)
    assert callable(flow.response.stream)


def test_a_large_body_that_breaks_off_is_left_to_mitmproxy(addon: ToolCalls) -> None:
    flow = _flow(_body(LARGE))
    addon.request(flow)
    addon.responseheaders(flow)
    flow.error = tflow.terr()
    addon.error(flow)
    assert flow.response is not None
    assert flow.response.raw_content is None
    assert flow_metadata.REPORT in flow.metadata
    assert len(addon.exchanges()._gathered) == 0


def test_what_is_large_is_more_than_the_limit() -> None:
    assert len(LARGE) > response_tap.AT_ONCE
