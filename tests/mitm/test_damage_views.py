"""What the view, the log and the report show of damaged calls and replies, and of errors that quote a call."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import contentviews, http
from mitmproxy.test import tflow, tutils

from support.addons import addon_with
from support.damagedcalls import CALL, TOOLS, NativeCall, whole
from support.loopback import PATH
from toolcalls.flows import flow_metadata
from toolcalls.flows.flow_redaction import redacted
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.log_line import causes
from toolcalls.mitm.views.calls import ToolCallsView

WRONG = replace(CALL, text='{"path": "a.ts", "edits": "[{}]"}')


@pytest.fixture
def addon() -> Iterator[ToolCalls]:
    with addon_with() as made:
        yield made


def replied(addon: ToolCalls, body: Any, status: int = 200, content_type: str = "application/json") -> http.HTTPFlow:
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()), resp=True)
    declared = [{"type": "function", "function": {"name": tool.name, "parameters": tool.schema}} for tool in TOOLS]
    flow.request.content = json.dumps({"model": "m", "messages": [], "tools": declared}).encode()
    flow.response = http.Response.make(status, json.dumps(body).encode(), {"content-type": content_type})
    flow.live = True
    addon.request(flow)
    addon.responseheaders(flow)
    addon.response(flow)
    return flow


def shown(flow: http.HTTPFlow) -> str:
    assert flow.response is not None
    return ToolCallsView().prettify(
        flow.response.content or b"", contentviews.Metadata(flow=flow, http_message=flow.response)
    )


def test_the_view_shows_the_place_of_a_wrong_value(addon: ToolCalls) -> None:
    lines = shown(replied(addon, whole("openai_chat", [WRONG]))).split("\n")
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("wrong:"))
    assert lines[at].split(None, 1)[1] == "wrong_type at /edits, wanted array, got string that holds"
    (sent,) = [number for number, line in enumerate(lines) if line.strip().startswith("sent:")]
    assert lines[sent + 1][lines[sent + 2].index("^") :].startswith('"[{}]"')


def test_the_view_shows_what_was_mended_before_and_after(tmp_path: Path) -> None:
    config = tmp_path / "mends.yaml"
    config.write_text("defaults: {mend: [types]}\n", encoding="utf-8")
    with addon_with(toolcalls_config=str(config)) as addon:
        flow = replied(addon, whole("openai_chat", [WRONG]))
    lines = shown(flow).split("\n")
    (sent,) = [number for number, line in enumerate(lines) if line.strip().startswith("sent:")]
    (got,) = [number for number, line in enumerate(lines) if line.strip().startswith("got:")]
    assert lines[sent + 1][lines[sent + 2].index("^") :].startswith('"[{}]"')
    assert lines[got + 1][lines[got + 2].index("^") :].startswith("[{}]}")
    assert sent < got < sent + 5
    page = "\n".join(lines)
    assert "got it, mended" in page
    assert "repaired:  'wrong_type: values had another type" in page
    assert "unless:" not in page
    (line,) = causes(flow.metadata[flow_metadata.REPORT])
    assert "mend: edits changed" in line


def test_the_view_shows_where_arguments_were_no_json(tmp_path: Path) -> None:
    config = tmp_path / "mends.yaml"
    config.write_text("defaults: {mend: [json]}\n", encoding="utf-8")
    with addon_with(toolcalls_config=str(config)) as addon:
        flow = replied(addon, whole("openai_chat", [replace(CALL, text='{"path": "a.ts", "all": True}')]))
    lines = shown(flow).split("\n")
    (sent,) = [number for number, line in enumerate(lines) if line.strip().startswith("sent:")]
    (got,) = [number for number, line in enumerate(lines) if line.strip().startswith("got:")]
    assert lines[sent + 1][lines[sent + 2].index("^") :].startswith("True}")
    assert lines[got + 1][lines[got + 2].index("^") :].startswith("true}")


def test_the_log_says_where_and_holds_no_value(addon: ToolCalls) -> None:
    flow = replied(addon, whole("openai_chat", [WRONG]))
    (line,) = causes(flow.metadata[flow_metadata.REPORT])
    assert line.startswith("edit, native → native call. wrong_type: a value has another type")
    assert line.endswith("(wrong_type at /edits, wanted array, got string that holds array)")
    assert "a.ts" not in line


def test_what_says_no_more_than_the_reason_is_not_said_twice(addon: ToolCalls) -> None:
    page = shown(replied(addon, whole("openai_chat", [replace(CALL, id="")])))
    assert "no_id: it has no id" in page
    assert "wrong:" not in page


def test_a_note_comes_with_its_meaning_and_a_remedy(addon: ToolCalls) -> None:
    page = shown(replied(addon, whole("openai_chat")))
    assert "  warning:   'empty: finish stop, 7 output tokens, 0 characters of" in page
    assert "  means:     the reply holds neither text nor a call nor a refusal" in page
    assert "  remedy:    " in page


RAW = '<tool_call>{"name": "edit", "arguments": {}}</tool_call>'


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
def test_an_error_that_quotes_a_call(addon: ToolCalls, content_type: str) -> None:
    error = {"error": {"code": 500, "message": f"Failed to parse input at pos 3: {RAW}"}}
    flow = replied(addon, error, 500, content_type)
    assert flow.response is not None
    assert flow.response.content == json.dumps(error).encode()
    (note,) = flow.metadata[flow_metadata.REPORT]["notes"]
    assert note["rule"] == "call_in_error"
    assert RAW not in json.dumps(flow.metadata[flow_metadata.REPORT])
    assert "call_in_error" in shown(flow)


def test_any_other_error_has_no_report(addon: ToolCalls) -> None:
    flow = replied(addon, {"error": {"message": "overloaded"}}, 529)
    assert flow_metadata.REPORT not in flow.metadata
    assert flow not in addon.exchanges()._plans


def test_an_argument_that_hides_characters_is_shown_with_escapes(addon: ToolCalls) -> None:
    hidden: NativeCall = replace(CALL, text='{"path": "\x7f\u202e", "all": "\u200byes"}')
    page = shown(replied(addon, whole("openai_chat", [hidden])))
    assert "\u202e" not in page
    assert "\u200b" not in page
    assert "wrong_type at /all" in page


@pytest.fixture
def mending(tmp_path: Path) -> Iterator[ToolCalls]:
    config = tmp_path / "c.yaml"
    config.write_text("defaults: {mend: [protocol, errors]}\n", encoding="utf-8")
    with addon_with(toolcalls_config=str(config)) as made:
        yield made


def test_an_error_that_was_answered(mending: ToolCalls) -> None:
    """The client has a sound reply, the flow the error; read again from a file, it says the same."""
    error = {"error": {"code": 500, "message": f"Failed to parse input at pos 3: {RAW}"}}
    flow = replied(mending, error, 500)
    assert flow.response is not None
    assert flow.response.status_code == 200
    body = flow.response.content
    assert flow.response.headers["content-length"] == str(len(body or b""))
    page = shown(flow)
    assert "SERVER SENT status 500: |" in page
    assert "got it, mended" in page
    assert "call_in_error" in page
    report = flow.metadata[flow_metadata.REPORT]
    again = flow.copy()
    again.metadata = dict(flow.metadata)
    again.live = False
    mending.response(again)
    assert again.metadata[flow_metadata.REPORT] == report
    assert (again.response.status_code, again.response.content) == (200, body) if again.response else False
    kept = redacted(flow).metadata
    assert (kept[flow_metadata.ERROR], kept[flow_metadata.UPSTREAM]) == (500, json.dumps(error).encode())
    flow_metadata.clear(flow)
    assert not {flow_metadata.ERROR, flow_metadata.UPSTREAM} & set(flow.metadata)


def test_an_error_in_a_coding_is_answered_without_it(mending: ToolCalls) -> None:
    error = json.dumps({"error": {"message": f"Failed to parse input at pos 3: {RAW}"}}).encode()
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()), resp=True)
    declared = [{"type": "function", "function": {"name": tool.name, "parameters": tool.schema}} for tool in TOOLS]
    flow.request.content = json.dumps({"model": "m", "messages": [], "tools": declared, "stream": True}).encode()
    headers = {"content-type": "application/json", "content-encoding": "gzip", "etag": "x"}
    flow.response = http.Response.make(500, b"", headers)
    flow.response.raw_content = gzip.compress(error)
    for hook in (mending.request, mending.responseheaders, mending.response):
        hook(flow)
    assert "content-encoding" not in flow.response.headers
    assert flow.response.headers["content-type"] == "text/event-stream"
    assert (flow.response.raw_content or b"").startswith(b"data: {")
    assert flow.metadata[flow_metadata.UPSTREAM] == error


@pytest.mark.parametrize("status", [401, 429, 500, 529])
def test_any_other_error_leaves_byte_for_byte(mending: ToolCalls, status: int) -> None:
    error = {"error": {"message": "Rate limit reached", "type": "tokens", "code": "rate_limit_exceeded"}}
    flow = replied(mending, error, status)
    assert flow.response is not None
    assert (flow.response.status_code, flow.response.content) == (status, json.dumps(error).encode())
    assert flow_metadata.ERROR not in flow.metadata
