"""Requests at unknown paths that look like those of an LLM API: said once for each path, with what to do."""

import json
import logging
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow, tutils

from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.unknown_apis import UnknownAPIs

CHAT = {"model": "m", "messages": [{"role": "user", "content": "secret words"}], "tools": [{"name": "ls"}]}


def flow(path: str, body: Any, kind: str = "application/json", method: str = "POST") -> http.HTTPFlow:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = http.Headers(content_type=kind)
    made = tflow.tflow(
        req=tutils.treq(method=method.encode(), path=path.encode(), headers=headers, content=content, host="gate.test")
    )
    made.live = True
    return made


def test_it_is_said_once_for_each_path(caplog: pytest.LogCaptureFixture) -> None:
    known = UnknownAPIs()
    for path in ("/v2/talk?key=sk-1234", "/v2/talk", "/v2/other"):
        known.look(flow(path, CHAT))
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("toolcalls: POST gate.test/v2/talk looks like an LLM API (messages, tools in its JSON)")
    assert "end in /chat/completions or /v1/messages" in first
    assert "/v2/other" in second
    assert "secret words" not in caplog.text
    assert "sk-1234" not in caplog.text


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"input": "a form", "prompt": "x"}, "application/json"),
        ({"messages": "three"}, "application/json"),
        ({"messages": []}, "application/json"),
        (b'{"messages": [', "application/json"),
        ([CHAT], "application/json"),
        (CHAT, "text/plain"),
        (b"", "application/json"),
    ],
)
def test_other_requests_are_none(body: Any, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    UnknownAPIs().look(flow("/api", body, kind))
    assert caplog.records == []


@pytest.mark.parametrize(
    ("path", "method", "said"), [("/v2/talk", "POST", 1), ("/v2/talk", "PUT", 0), ("/v1/chat/completions", "POST", 0)]
)
def test_the_addon_looks(path: str, method: str, said: int, addon: ToolCalls, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "toolcalls")
    addon.request(flow(path, CHAT, method=method))
    assert sum("looks like an LLM API" in record.getMessage() for record in caplog.records) == said
