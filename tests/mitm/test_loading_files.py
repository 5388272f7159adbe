"""While mitmproxy loads a file of flows, which it does in one go, there are pauses for others."""

import asyncio
from io import BytesIO

import pytest
from mitmproxy import http, io
from mitmproxy.addons.readfile import ReadFile
from mitmproxy.test import taddons, tflow

from support import archives
from toolcalls.flows import flow_metadata
from toolcalls.mitm import hook_work
from toolcalls.mitm.hook_work import Pauses
from toolcalls.mitm.hooks import ToolCalls


def _file(count: int) -> BytesIO:
    made = BytesIO()
    writer = io.FlowWriter(made)
    for flow in archives.recordings()[:count]:
        writer.add(flow)
    made.seek(0)
    return made


class _Seen:
    """Which flows have been loaded."""

    def __init__(self) -> None:
        self.flows: list[http.HTTPFlow] = []

    def response(self, flow: http.HTTPFlow) -> None:
        self.flows.append(flow)


def _pauses_for_others(count: int) -> tuple[set[int], list[http.HTTPFlow]]:
    """How many flows were loaded whenever another task came to its turn, and the flows."""
    seen, addon = _Seen(), ToolCalls()
    at: set[int] = set()

    async def load() -> None:
        with taddons.context(addon, seen):

            async def other() -> None:
                while True:
                    at.add(len(seen.flows))
                    await asyncio.sleep(0)

            task = asyncio.create_task(other())
            await ReadFile().load_flows(_file(count))
            task.cancel()

    asyncio.run(load())
    return at, seen.flows


def test_there_is_a_pause_after_a_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_work, "_STRETCH", 0)
    at, flows = _pauses_for_others(8)
    assert at >= set(range(8)), "one between any two flows"
    assert all(flow_metadata.REPORT in flow.metadata for flow in flows)


def test_there_is_no_pause_after_each_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_work, "monotonic", lambda: 0.0)
    at, flows = _pauses_for_others(8)
    assert at == set()
    assert len(flows) == 8


def test_where_no_loop_runs_there_is_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_work, "_STRETCH", 0)
    assert Pauses().next() is None


def test_a_live_reply_waits_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_work, "_STRETCH", 0)
    addon = ToolCalls()

    async def answered() -> object:
        with taddons.context(addon):
            flow = tflow.tflow(resp=True)
            flow.live = True
            return addon.response(flow)

    assert asyncio.run(answered()) is None
