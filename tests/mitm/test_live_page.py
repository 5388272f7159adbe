"""The page of a running mitmweb without a browser: replies that are awaited and coming, and what of the page is new."""

import asyncio
import itertools
import json
import zlib
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from mitmproxy import contentviews, http
from mitmproxy.addons.export import Export
from mitmproxy.addons.view import View
from mitmproxy.flow import Error
from mitmproxy.test import taddons, tflow, tutils
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

from support import manyflows, responsesclient
from support.addons import summary_in
from support.loopback import CALL, LIMIT, PATH, TOOLS, asked, streamed
from support.spoken import SPOKEN, exchange
from toolcalls.flows import flow_metadata, flow_records
from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.flows.flow_records import record_of
from toolcalls.flows.recorded_verdicts import joined
from toolcalls.flows.websocket import turns as turns_module
from toolcalls.flows.websocket.turns import TurnReader, store_original, turns_of
from toolcalls.insight.page import Changes, live_overview, live_session, live_why
from toolcalls.insight.report import make_report
from toolcalls.insight.session_page import Block
from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import turn_of
from toolcalls.mitm import live, websocket_hooks
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.page import ended_flows
from toolcalls.mitm.page import state as page_state
from toolcalls.mitm.page.state import PageState
from toolcalls.mitm.views.calls import ToolCallsView
from toolcalls.mitm.views.message import is_ours

CREATE = {
    "type": "response.create",
    "model": "m",
    "input": "go",
    "prompt_cache_key": "s7",
    "tools": [{"type": "function", **one["function"]} for one in TOOLS],
}
TEXT = f"Let me look.\n\n{CALL}\n"


@contextmanager
def _proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ToolCalls, PageState]]:
    """An addon, and a page that tells all that is new at each look, also a reply that is coming.

    No timer looks at the list: the tests do.
    """
    monkeypatch.setattr(page_state, "_REST_FACTOR", 0)
    monkeypatch.setattr(page_state, "_REFRESH_SECONDS", LIMIT)
    monkeypatch.setattr(live, "INTERVAL", LIMIT)
    addon = ToolCalls()
    with taddons.context(addon, Export()) as context:
        context.configure(addon)
        yield addon, PageState(lambda: ConfigFile(""))


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


def test_a_request_that_failed_is_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that stands still mostly does so after an error of the server's."""

    async def work() -> None:
        with _proxy(monkeypatch) as (addon, page):
            refused, broken = _flow(), _flow()
            for flow in (refused, broken):
                addon.request(flow)
                await page.refresh([refused, broken])
            said = json.dumps({"error": {"message": f"overloaded {manyflows.SECRET} <b>"}}).encode()
            refused.response = http.Response.make(529, said, {"content-type": "application/json"})
            addon.responseheaders(refused)
            addon.response(refused)
            broken.error = Error("peer closed connection")
            addon.error(broken)
            await page.refresh([refused, broken])
            html = "".join(block.html for block in live_session(page.sessions.one("s1")))
            assert "HTTP 529" in html
            assert "overloaded &lt;redacted&gt; &lt;b&gt;" in html
            assert "no reply" in html
            assert "peer closed connection" in html
            assert "waiting for the reply" not in html
            revision = page.sessions.revision
            await page.refresh([refused, broken])
            assert page.sessions.revision == revision, "it is told once"

    _run(work)


def test_a_reply_that_costs_much_is_told_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with _proxy(monkeypatch) as (addon, page):
            monkeypatch.setattr(page_state, "_REST_FACTOR", 1e9)
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
                return await page.rendered("s1", lambda: live_session(page.sessions.one("s1")))

            await page.refresh(flows[:200])
            before = (await view()).revision
            await page.refresh(flows)
            sent = [key for key, html in (await view()).since(before) if html is not None]
            assert sent == ["head", "pages", f"turn {manyflows.flow_of('200', [], []).id}"]

    _run(work)


def test_a_flow_that_cannot_be_shown_is_told_once_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    flows = manyflows.session()[:3]
    fails = flows[1].id
    monkeypatch.setattr(ended_flows, "turn_of", lambda one, known: 1 / 0 if one.id == fails else turn_of(one, known))

    async def work() -> None:
        page = PageState()
        for _ in range(3):
            await page.refresh([*flows])
        assert [turn.id for turn in page.sessions.turns()] == [flows[0].id, flows[2].id]

    _run(work)
    assert caplog.text.count(f"flow {fails} is not shown on the page: ZeroDivisionError") == 1


def test_flows_are_read_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_state, "_REFRESH_SECONDS", 60.0)  # on a busy machine, too
    read: list[int] = []
    turns_of = ended_flows.turns_of
    monkeypatch.setattr(page_state, "turns_of", lambda flows, known: read.append(len(flows)) or turns_of(flows, known))
    head = {"x-session-id": "s1"}
    said = [manyflows.system("Be brief. " * 100)]
    flows = [manyflows.flow_of(str(n), said, manyflows.streamed("ok"), headers=head, at=float(n)) for n in range(20)]

    async def work() -> None:
        page = PageState()
        await page.refresh([*flows])
        assert [turn.id for turn in page.sessions.turns()] == [flow.id for flow in flows]
        messages = [turn.request.messages[0] for turn in page.sessions.turns()]
        assert all(message is messages[0] for message in messages)
        await page.refresh([*flows])
        monkeypatch.setattr(ended_flows, "_LARGE", 0)
        await PageState().refresh([*flows[:3]])

    _run(work)
    assert read == [8, 8, 4, 1, 1, 1], "a large one waits for no others"


def test_a_flow_that_no_session_takes_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    flows = manyflows.session()[:3]
    fails = flows[1].id
    put = Sessions.put
    monkeypatch.setattr(Sessions, "put", lambda self, one: 1 / 0 if one.id == fails else put(self, one))

    async def work() -> None:
        page = PageState()
        assert await page.refresh([*flows]) == []
        assert [turn.id for turn in page.sessions.turns()] == [flows[0].id, flows[2].id]

    _run(work)
    assert caplog.text.count(f"flow {fails} is not shown on the page: ZeroDivisionError") == 1


def test_a_message_that_was_just_read_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    packed: list[bytes] = []
    compress = zlib.compress
    monkeypatch.setattr(zlib, "compress", lambda data, level: packed.append(data) or compress(data, level))
    said = [manyflows.system("Be brief. " * 100)]
    flows = [manyflows.flow_of(str(n), said, manyflows.streamed("ok"), headers={}, at=float(n)) for n in range(5)]
    ended = [ended_flows.EndedFlow(flow, flow.metadata[flow_metadata.REPORT], frozenset(), None) for flow in flows]
    assert [len(turns) for turns in ended_flows.turns_of(ended, {}) if isinstance(turns, list)] == [1] * 5
    assert len(packed) == 1


def test_of_a_connection_only_what_is_new_counts_as_large() -> None:
    """Else each reply of a long connection would be read alone, and its size reckoned from the first message on."""
    flow = tflow.twebsocketflow()
    said = WebSocketMessage(Opcode.TEXT, False, b"{}" + b" " * 100_000, 1.0)
    flow.websocket.messages = [said] * 5
    reader = TurnReader()
    ended = ended_flows.EndedFlow(flow, {}, frozenset(), reader)
    assert ended_flows.are_enough([ended])
    reader.read(*reader.new_messages(flow))
    flow.websocket.messages.append(said)
    assert not ended_flows.are_enough([ended])
    flow.websocket.messages += [said] * 3
    assert ended_flows.are_enough([ended])


def test_revisions_of_another_run_count_for_nothing() -> None:
    page, other = PageState(), PageState()
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
            assert '<tr class="failed"><td>4  it is not quoted</td><td>FAILED: fenced: it is in a fenced' in shown
            assert await page.why(fenced) is blocks, "it is worked out once"
            flow_metadata.annotate(fenced, dict(fenced.metadata[flow_metadata.REPORT]))
            assert await page.why(fenced) is not blocks
            for nothing in (None, tflow.tflow(resp=True), tflow.ttcpflow()):
                assert await page.why(nothing) == live_why(None, [])

    _run(work)


def test_hostile_text_is_text_in_why() -> None:
    (_, head) = live_why(manyflows.MARKUP, [["1", manyflows.MARKUP, "\u202e"]])
    assert "<script" not in head.html
    assert "<img" not in head.html
    assert "\\u202e" in head.html


def test_replies_of_a_websocket_are_told_while_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a turn from its request on, the list says what it does, and an open view shows its latest message."""

    async def work() -> None:
        monkeypatch.setattr(websocket_hooks, "injector_for", lambda _: lambda _: None)
        with _proxy(monkeypatch) as (addon, page):
            flow = tflow.twebsocketflow()
            flow.request.path, flow.request.method = "/v1/responses", "GET"
            flow.request.headers["upgrade"] = "websocket"
            flow.live = True
            assert flow.websocket is not None
            flow.websocket.messages = messages = []
            monkeypatch.setitem(live.ctx.master.addons.lookup, "view", addon)  # somebody looks at the list
            addon.websocket_start(flow)

            def say(mine: bool, *said: dict[str, Any]) -> None:
                for one in said:
                    at = 102.0 + len(messages)
                    messages.append(WebSocketMessage(Opcode.TEXT, mine, json.dumps(one).encode(), at))
                    addon.websocket_message(flow)

            async def turns() -> list[tuple[str, str, str]]:
                await page.refresh([flow])
                session = page.sessions.one("s7")
                return [(one.id, one.state, one.summary) for one in session.turns] if session else []

            def shown() -> tuple[bool, str]:
                metadata = contentviews.Metadata(flow=flow, websocket_message=messages[-1])
                ours = is_ours(metadata)
                return ours, ToolCallsView().prettify(messages[-1].content, metadata) if ours else ""

            first = [["Look.\n", CALL[:50], CALL[50:55], CALL[55:]]]
            events = responsesclient.stream(first)
            half = next(place for place, one in enumerate(events) if one.get("delta") == CALL[50:55])
            assert await turns() == []
            say(True, CREATE)
            assert await turns() == [(flow.id, "waiting", "")]
            say(False, *events[: half + 1])
            assert await turns() == [(flow.id, "streaming", "… lifting Bash (invoke)")]
            assert "the reply is still coming: … lifting Bash (invoke)" in shown()[1]
            addon.exchanges()._live._look()
            assert summary_in(flow) == "… lifting Bash (invoke)"
            say(False, *events[half + 1 :])
            assert await turns() == [(flow.id, "ended", "lifted Bash (invoke)")]
            assert shown()[1].startswith("SUMMARY: lifted Bash (invoke)")
            assert summary_in(flow) == "lifted Bash (invoke)"

            say(True, CREATE)
            assert await turns() == [
                (flow.id, "ended", "lifted Bash (invoke)"),
                (f"{flow.id}.1", "waiting", ""),
            ]
            say(False, *events[: half + 1])
            assert (await turns())[1] == (f"{flow.id}.1", "streaming", "… lifting Bash (invoke)")
            addon.websocket_end(flow)
            assert [state for _, state, _ in await turns()] == ["ended", "ended"]
            await page.refresh([])
            assert len(page.sessions) == 0

    _run(work)


def test_a_connection_is_read_on_as_it_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where somebody looks between a message's coming and its being changed, dropped, or preceded by ours."""
    flow = tflow.twebsocketflow()
    assert flow.websocket is not None
    flow.websocket.messages = messages = []
    reading = TurnReader()

    def read_on() -> None:
        reading.read(*reading.new_messages(flow))
        assert reading.turns == turns_of(flow)

    for number in range(3):
        for mine, one in [(True, CREATE), *((False, event) for event in responsesclient.stream([["a", "b"]]))]:
            message = WebSocketMessage(Opcode.TEXT, mine, json.dumps(one).encode(), 100.0 + len(messages))
            messages.append(message)
            read_on()
            if one.get("delta") == "a":
                messages.insert(-1, WebSocketMessage(Opcode.TEXT, False, b"{}", message.timestamp, injected=True))
            elif one.get("delta") == "b":
                message.dropped = True
            elif mine:
                place = sum(one.from_client for one in messages) - 1
                store_original(flow, message, place, message.content)
                message.content = b'{"type": "response.create", "rewritten": 1}'
            if number:
                read_on()
    assert [turn.sent is not None for turn in reading.turns] == [True] * 3
    read = []
    monkeypatch.setattr(turns_module, "_boundary_type", lambda content: read.append(content) or ("", ""))
    messages.append(WebSocketMessage(Opcode.TEXT, False, b"{}", 200.0))
    reading.read(*reading.new_messages(flow))
    assert len(read) == 1, "what was read is not read again"


def test_a_late_reply_of_a_connection_costs_the_page_what_the_first_ones_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted are the messages that are read and the replies that are made ready to be shown."""
    flow = tflow.twebsocketflow()
    flow.request.path = "/v1/responses"
    assert flow.websocket is not None
    flow.websocket.timestamp_end = None
    flow.websocket.messages = messages = []
    done: list[str] = []
    boundary_type, turn_record = turns_module._boundary_type, flow_records.turn_record
    monkeypatch.setattr(turns_module, "_boundary_type", lambda content: done.append("read") or boundary_type(content))
    monkeypatch.setattr(flow_records, "turn_record", lambda *given: done.append("made") or turn_record(*given))
    costs = []

    async def work() -> PageState:
        page = PageState()
        for number in range(12):
            _reply(flow, messages, number)
            done.clear()
            await page.refresh([flow])
            costs.append((done.count("read"), done.count("made")))
        return page

    page = asyncio.run(work())
    assert len(page.sessions) == 12
    assert costs[0][0] > 0
    assert costs[2:] == [(costs[1][0], 1)] * 10


@pytest.mark.parametrize("again", [range(4), [2]])
def test_replies_of_a_connection_that_are_judged_again_are_shown_anew(again: Sequence[int]) -> None:
    flow = tflow.twebsocketflow()
    flow.request.path = "/v1/responses"
    assert flow.websocket is not None
    flow.websocket.timestamp_end = None
    flow.websocket.messages = messages = []

    async def work() -> list[str]:
        page = PageState()
        for number in range(4):
            _reply(flow, messages, number)
            await page.refresh([flow])
        for number in again:
            report = turns_module.turn_reports(flow)[number]
            turns_module.store_report(flow, number, report | {"summary": f"judged again {number}", "judged": "now"})
        flow_metadata.annotate(flow, joined(turns_module.turn_reports(flow)))
        _reply(flow, messages, 4)
        await page.refresh([flow])
        return [turn.summary for turn in page.sessions.turns()]

    assert asyncio.run(work()) == [f"{'judged again' if number in again else 'reply'} {number}" for number in range(5)]


def _reply(flow: http.HTTPFlow, messages: list[WebSocketMessage], number: int) -> None:
    """One more reply of a connection, and its report."""
    for mine, one in [(True, CREATE), *((False, event) for event in responsesclient.stream([["a", "b"]]))]:
        messages.append(WebSocketMessage(Opcode.TEXT, mine, json.dumps(one).encode(), 100.0 + len(messages)))
    report = make_report(exchange(SPOKEN["openai_responses"], [])) | {"summary": f"reply {number}"}
    turns_module.store_report(flow, number, report)
    flow_metadata.annotate(flow, joined(turns_module.turn_reports(flow)) | {"summary": f"up to {number}"})


def test_the_list_says_what_a_websocket_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the summary of its replies that have ended; a comment of the user's own stays."""
    coming: list[tuple[int, Any]] = []
    monkeypatch.setattr(live, "replies_in_progress", lambda _: coming)
    monkeypatch.setattr(live, "progress_of", lambda said: said)

    async def work() -> None:
        with _proxy(monkeypatch) as (addon, _):
            flow = tflow.twebsocketflow()
            flow_metadata.annotate(flow, {"summary": "lifted Bash (invoke)", "worst": "lifted", "verdicts": []})
            one = live.Live()
            monkeypatch.setitem(live.ctx.master.addons.lookup, "view", addon)
            coming.append((1, "… lifting Bash (invoke)"))
            one.begin(flow)
            one._look()
            assert summary_in(flow) == "lifted Bash (invoke) · … lifting Bash (invoke)"
            one.end(flow)
            assert summary_in(flow) == "lifted Bash (invoke)"
            flow.comment = "mine"
            one.begin(flow)
            one._look()
            one.stop()
            assert summary_in(flow) == "mine"

    _run(work)


def test_a_page_that_nothing_has_changed_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks every second, and most of the time nothing is new."""

    async def work() -> None:
        with _proxy(monkeypatch) as (_, page):
            flows: list[object] = list(manyflows.session())
            made = []

            def content() -> list[Block]:
                made.append(page.sessions.revision)
                return live_overview(page.sessions)

            for _ in range(3):
                await page.refresh(flows)
                await page.rendered("overview", content, ())
            assert len(made) == 1
            await page.rendered("overview", content, ("other prices",))
            await page.refresh(flows[:3])
            await page.rendered("overview", content, ("other prices",))
            assert len(made) == 3

    _run(work)


def test_what_a_poll_costs_does_not_depend_on_how_many_exchanges_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many flows only those that changed are looked at, rows of the others are not made again."""

    async def work() -> None:
        with _proxy(monkeypatch) as (_, page):
            said = [manyflows.user("u")]
            flows = [
                manyflows.flow_of(str(n), said, manyflows.streamed("ok"), headers={"x-session-id": str(n)}, at=float(n))
                for n in range(60)
            ]
            view = View()
            view.add(flows[:59])
            looked_at: list[str] = []
            asked = page_state.state_of
            monkeypatch.setattr(page_state, "state_of", lambda flow: looked_at.append(flow.id) or asked(flow))

            async def poll() -> set[str]:
                looked_at.clear()
                await page.follow(view)
                return {*looked_at}

            assert len(await poll()) == 59
            assert await poll() == set()
            revision = page.sessions.revision
            view.add(flows[59:])
            assert await poll() == {flows[59].id}
            news = json.loads(await page.rows(revision))
            assert [row[1] for row in news["rows"]] == [flows[59].id]
            assert (news["all"], news["gone"]) == (False, [])
            assert len(json.loads(await page.rows(0))["rows"]) == 60

            flows[3].metadata[flow_metadata.REPORT] = dict(flows[3].metadata[flow_metadata.REPORT], summary="anew")
            view.update([flows[3]])
            assert await poll() == {flows[3].id}
            turn = page.sessions.turn(flows[3].id)
            assert turn is not None
            assert turn.summary == "anew"
            revision = page.sessions.revision
            view.remove([flows[5]])
            assert await poll() == set()
            assert json.loads(await page.rows(revision))["gone"] == [flows[5].id]
            assert json.loads(await page.rows(10**9))["rows"] == []
            view.clear()
            await poll()
            assert len(page.sessions) == 0

    _run(work)


def test_a_page_is_told_that_there_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It then asks again at once: a day of flows is listed in the time that reading them takes."""

    async def work() -> None:
        with _proxy(monkeypatch) as (_, page):
            flows = [manyflows.flow_of(str(n), [manyflows.user("u")], manyflows.streamed("ok")) for n in range(3)]
            view = View()
            view.add(flows)
            monkeypatch.setattr(page_state, "_REFRESH_SECONDS", 1)  # there is time for one
            moments = itertools.count()
            monkeypatch.setattr(page_state, "monotonic", lambda: next(moments))
            listed = []
            while await page.follow(view):
                listed.append(len(page.sessions))
                assert len(listed) < 5, "it does not end"
            assert listed == [1, 2]
            assert len(page.sessions) == 3
            assert not await page.follow(view)

    _run(work)


def test_a_session_is_not_made_again_for_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with _proxy(monkeypatch) as (_, page):
            made = []
            flows: list[object] = list(manyflows.session())

            async def look() -> None:
                session = page.sessions.one("ses_7f3a")
                await page.rendered("s", lambda: made.append(1) or live_session(session), (), session)

            await page.refresh(flows)
            await look()
            await page.refresh([*flows, manyflows.others()[0]])
            await look()
            assert len(made) == 1
            await page.refresh(flows[1:])
            page._views["s"].due = 0
            await look()
            assert len(made) == 2

    _run(work)


def test_what_is_copied_of_an_exchange_can_be_used_and_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with _proxy(monkeypatch) as (_, page):
            leak = manyflows.session()[3]
            made = {what: await page.copy(leak, leak.id, what) for what in ("curl", "case", "issue")}
            assert "curl" in made["curl"]
            assert "http://gpu-box:8000/v1/chat/completions" in made["curl"]
            assert "You did not run it" not in made["curl"]
            assert "Running it" not in made["curl"], "the request, and not the reply"
            (case,) = yaml.safe_load(made["case"])["cases"]
            assert case["verdicts"] == ["declined inline Bash"]
            assert case["text"].startswith("Running it. <invoke")
            assert "Verdict: declined inline Bash." in made["issue"]
            assert made["case"] in made["issue"]
            assert not [what for what, text in made.items() if manyflows.SECRET in text]
            for id_, flow, what in (("x", None, "curl"), (leak.id, leak, "nonsense")):
                with pytest.raises(KeyError):
                    await page.copy(flow, id_, what)
            with pytest.raises(ReplyNotParsed):
                await page.copy(leak, f"{leak.id}.7", "case")

    _run(work)


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
    flow_metadata.annotate(
        flow, {"wire": "openai_responses", "summary": "", "worst": None, "verdicts": [], "model": "m2"}
    )
    turn = turn_of(record_of(flow))
    assert (turn.session, turn.model, turn.text) == ("s7", "m2", "Hello\nyou")
    assert [message.excerpt for message in turn.request.messages] == ["second"]
    assert (turn.tokens.input, turn.tokens.output) == (11, 2)
    assert turn.marks()["first byte"] == pytest.approx(5.0)
    assert turn.seconds == pytest.approx(7.0)
    assert turn.status == 200
    flow.websocket.messages = []
    assert turn_of(record_of(flow)).request.unread
