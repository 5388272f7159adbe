"""What the addon keeps of the replies that have passed: a few stores of a stated size each, whatever the replies held.

300 replies go through the hooks, with long calls and sessions of their own; the page looks now and then. Their flows go
as in mitmweb when somebody clears them. `make soak` measures the same in a real mitmweb.
"""

import asyncio
import gc
import json
from weakref import ref

import pytest
from mitmproxy import http

from support.loopback import CALL, PATH, TOOLS, streamed
from support.secretflows import flow_of, goes_through
from toolcalls.insight import sessions
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.page.state import PageState
from toolcalls.requests import call_memory, client_memory

REPLIES = 300
LONG = 60_000  # characters of a call; more than may be remembered of all
PAGE = "overview"


def _body(number: int) -> bytes:
    messages = [{"role": "user", "content": f"Session {number // 3}: go on."}]
    return json.dumps({"model": "m", "stream": True, "messages": messages, "tools": TOOLS}).encode()


def _reply(number: int) -> list[bytes]:
    value = f"echo {number}" if number % 2 else f"echo {number} {'x' * LONG}"
    return streamed(f"So:\n\n{CALL.replace('ls -la', value)}", 4000)


def _passed(addon: ToolCalls, numbers: range) -> list[http.HTTPFlow]:
    flows = []
    for number in numbers:
        headers = {"x-session-id": f"s{number // 3}", "user-agent": "cline"}
        flows.append(flow_of(PATH, headers, _body(number)))
        goes_through(addon, flows[-1], _reply(number))
    return flows


@pytest.mark.sampled(0)
def test_what_is_kept_of_replies_is_bounded(addon: ToolCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_memory, "_CALLS", 100)
    monkeypatch.setattr(call_memory, "_CHARS", 5 * LONG)
    monkeypatch.setattr(client_memory, "_SESSIONS", 20)
    exchanges = addon.exchanges()
    calls, page = exchanges._reporter.memory.calls, PageState()
    calls._free_chars = 5 * LONG
    page.sessions._limit = 40
    gone = []
    for first in range(0, REPLIES, 50):
        flows = _passed(addon, range(first, first + 50))
        asyncio.run(page.refresh([*flows]))
        asyncio.run(page.rendered(PAGE, list, "stamp"))
        assert 0 < len(page.sessions) <= 40
        assert sum(len(call.arguments) for call in calls._calls.values()) <= 5 * LONG
        assert 0 < len(calls._calls) <= 100
        assert 0 < len(exchanges._reporter.memory.clients._matched) <= 20
        gone += [ref(flow) for flow in flows]
        flows.clear()
    asyncio.run(page.refresh([]))
    gc.collect()
    assert [flow() for flow in gone if flow() is not None] == []
    assert (len(page.sessions), len(page._ended), len(page._in_progress)) == (0, 0, 0)
    assert (len(exchanges._plans), len(exchanges._reported), len(exchanges._live._shown)) == (0, 0, 0)
    assert len(calls._running) == 0


def test_the_stores_have_the_sizes_that_the_docs_state() -> None:
    assert (call_memory._CALLS, call_memory._CHARS) == (4096, 8_000_000)
    assert (call_memory._REPLIES, call_memory._TOOL_CHARS) == (1024, 8_000_000)
    assert (client_memory._SESSIONS, sessions.TURNS) == (4096, 10_000)
