"""The page of a running mitmweb without a browser: replies that are awaited and coming, and what of the page is new."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import taddons, tflow, tutils
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

import manyflows
from live import CALL, PATH, asked, streamed
from toolcalls.insight.page import Changes, live_overview, live_session, live_why
from toolcalls.insight.passage import Block
from toolcalls.insight.turn import told
from toolcalls.mitm import page as page_module
from toolcalls.mitm import store
from toolcalls.mitm.addon import ToolCalls
from toolcalls.mitm.page import Page
from toolcalls.mitm.rules import Rules
from toolcalls.mitm.seen import seen

TEXT = f"Let me look.\n\n{CALL}\n"


@contextmanager
def _proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ToolCalls, Page]]:
    """An addon, and a page that tells a reply that is coming anew at each look."""
    monkeypatch.setattr(page_module, "_SHARE", 0)
    addon = ToolCalls()
    with taddons.context(addon) as context:
        context.configure(addon)
        yield addon, Page(lambda: Rules(""))


def _flow() -> http.HTTPFlow:
    request = tutils.treq(
        method=b"POST", path=PATH.encode(), content=asked(), headers=http.Headers([(b"x-session-id", b"s1")])
    )
    flow = tflow.tflow(req=request)
    flow.live = True
    return flow


def _run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


def test_a_turn_is_there_from_its_request_on_and_grows_with_its_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with _proxy(monkeypatch) as (addon, page):
            flow = _flow()

            async def shown() -> str:
                await page.refresh([flow])
                return "".join(block.html for block in live_session(page.sessions.one("s1")))

            addon.requestheaders(flow)
            addon.request(flow)
            assert "waiting for the reply" in await shown()
            assert "1 reply coming now" in live_overview(page.sessions)[0].html

            flow.response = http.Response.make(200, b"", {"content-type": "text/event-stream"})
            flow.response.raw_content = None
            addon.responseheaders(flow)
            tap: Any = flow.response.stream
            pieces = streamed(TEXT, 5)
            for piece in pieces[:14]:
                tap(piece)
            html = await shown()
            assert "the reply is coming" in html
            assert "… lifting Bash (invoke)" in html
            assert "so far" in html
            revision = page.sessions.revision
            await page.refresh([flow])
            assert page.sessions.revision == revision, "nothing more came, so nothing is told anew"
            for piece in pieces[14:-2]:
                tap(piece)
            assert "first argument byte" in await shown()

            for piece in (*pieces[-2:], b""):
                tap(piece)
            addon.response(flow)
            html = await shown()
            assert "the model wrote this call as text (invoke); the client got a native call" in html
            assert "coming" not in html
            assert "finish: tool_calls" in html
            assert page.sessions.scorecard.total.counts == {"success": 1}

    _run(work)


def test_a_request_whose_reply_is_not_read_goes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with _proxy(monkeypatch) as (addon, page):
            flow = _flow()
            addon.request(flow)
            await page.refresh([flow])
            assert len(page.sessions) == 1
            flow.response = http.Response.make(200, b"no reply", {"content-type": "text/plain"})
            addon.responseheaders(flow)
            addon.response(flow)
            await page.refresh([flow])
            assert len(page.sessions) == 0

    _run(work)


def test_a_reply_that_costs_much_is_told_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with _proxy(monkeypatch) as (addon, page):
            monkeypatch.setattr(page_module, "_SHARE", 1e9)
            flow = _flow()
            addon.request(flow)
            flow.response = http.Response.make(200, b"", {"content-type": "text/event-stream"})
            flow.response.raw_content = None
            addon.responseheaders(flow)
            tap: Any = flow.response.stream
            revisions = []
            for piece in streamed(TEXT, 5)[:6]:
                tap(piece)
                await page.refresh([flow])
                revisions.append(page.sessions.revision)
            assert revisions == [1] * 6

    _run(work)


def test_only_what_is_new_is_sent() -> None:
    changes = Changes()
    changes.put([Block("a", "<p>1</p>"), Block("b", "<p>2</p>")])
    assert changes.revision == 1
    assert changes.since(0) == [["a", "<p>1</p>"], ["b", "<p>2</p>"]]
    changes.put([Block("a", "<p>1</p>"), Block("b", "<p>2</p>")])
    assert changes.revision == 1
    changes.put([Block("a", "<p>1</p>"), Block("b", "<p>3</p>"), Block("c", "<p>4</p>")])
    assert changes.since(1) == [["a", None], ["b", "<p>3</p>"], ["c", "<p>4</p>"]]
    changes.put([Block("c", "<p>4</p>")])
    assert (changes.revision, changes.since(2)) == (3, [["c", None]])


def test_of_two_hundred_turns_the_one_that_is_new_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with _proxy(monkeypatch) as (_, page):
            said = [manyflows.system("s"), manyflows.user("u")]
            head = {"x-session-id": "s1"}
            flows: list[object] = [
                manyflows.flow_of(str(n), said, manyflows.streamed("ok"), headers=head, at=float(n)) for n in range(201)
            ]

            async def view() -> Changes:
                return await page.drawn("s1", lambda: live_session(page.sessions.one("s1")))

            while len(page.sessions) < 200:
                await page.refresh(flows[:200])
            before = (await view()).revision
            await page.refresh(flows)
            sent = [key for key, html in (await view()).since(before) if html is not None]
            assert sent == ["head", f"turn {manyflows.flow_of('200', [], []).id}"]

    _run(work)


def test_revisions_of_another_run_count_for_nothing() -> None:
    page, other = Page(), Page()
    view = Changes()
    view.put([Block("a", "<p>1</p>")])
    assert page.known(view, page.revision(view)) == 1
    assert page.known(view, other.revision(view)) == 0
    assert [page.known(view, word) for word in ("", "1", "x.y.z", f"{page.revision(view)}x")] == [0, 0, 0, 0]


def test_why_on_the_page_is_what_the_command_says(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with _proxy(monkeypatch) as (_, page):
            fenced = manyflows.session()[2]
            blocks = await page.why(fenced)
            shown = "".join(block.html for block in blocks)
            assert '<tr class="failed"><td>4  it is not quoted</td><td>FAILED: fenced: it stands in' in shown
            assert await page.why(fenced) is blocks, "it is worked out once"
            store.annotate(fenced, dict(fenced.metadata[store.REPORT]))
            assert await page.why(fenced) is not blocks
            for nothing in (None, tflow.tflow(resp=True), tflow.ttcpflow()):
                assert await page.why(nothing) == live_why(None, [])

    _run(work)


def test_hostile_text_is_text_in_why() -> None:
    (_, head) = live_why(manyflows.MARKUP, [["1", manyflows.MARKUP, "\u202e"]])
    assert "<script" not in head.html
    assert "<img" not in head.html
    assert "\\u202e" in head.html


def test_a_websocket_is_told_as_its_latest_reply() -> None:
    flow = tflow.twebsocketflow()
    flow.request.path = "/v1/responses"
    assert flow.response is not None
    assert flow.websocket is not None
    flow.request.timestamp_start, flow.response.timestamp_start = 100.0, 101.0
    usage = {"input_tokens": 9, "output_tokens": 2}
    said = [
        (True, {"type": "response.create", "model": "m1", "input": "first", "tools": []}),
        (False, {"type": "response.completed", "response": {"id": "r1", "usage": usage}}),
        (True, {"type": "response.create", "model": "m2", "input": "second", "prompt_cache_key": "s7"}),
        (False, {"type": "response.output_text.delta", "item_id": "i", "content_index": 0, "delta": "Hello\nyou"}),
        (True, {"type": "other"}),
        (False, {"type": "response.completed", "response": {"id": "r2", "usage": usage | {"input_tokens": 11}}}),
    ]
    flow.websocket.messages = [
        WebSocketMessage(Opcode.TEXT, mine, json.dumps(one, indent=1).encode(), 102.0 + number)
        for number, (mine, one) in enumerate(said)
    ]
    store.annotate(flow, {"wire": "openai_responses", "summary": "", "worst": None, "verdicts": [], "model": "m2"})
    turn = told(seen(flow))
    assert (turn.session, turn.model, turn.text) == ("s7", "m2", "Hello\nyou")
    assert [message.excerpt for message in turn.asked.messages] == ["second"]
    assert (turn.tokens.input, turn.tokens.output) == (11, 2)
    assert turn.marks()["first byte"] == pytest.approx(5.0)
    assert turn.seconds == pytest.approx(7.0)
    assert turn.status == 200
    flow.websocket.messages = []
    assert told(seen(flow)).asked.unread
