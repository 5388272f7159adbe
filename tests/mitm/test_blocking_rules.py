"""Rules in the host: replies that say little of themselves, or are in a coding that nobody knows; what the log says."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.test import tflow, tutils

from support.addons import addon_with, summary_in
from support.loopback import CALL, PATH, asked, calls_in, streamed, whole
from toolcalls.config import parse
from toolcalls.dialects import all_dialects
from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.flows.judging import recorded
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.wires import all_wires

GEMINI = "/v1beta/models/gemini-pro:generateContent"
RULES = "routes: [{name: r, access: {message: NO., rules: [{name: no-bash, action: block, tools: Bash}]}}]"


@pytest.fixture
def addon(tmp_path: Path) -> Iterator[ToolCalls]:
    path = tmp_path / "c.yaml"
    path.write_text(RULES)
    with addon_with(toolcalls_config=str(path)) as made:
        yield made


def answered(
    addon: ToolCalls, body: bytes, headers: dict[str, str], *, stream: bool, path: str = PATH, request: bytes = b""
) -> tuple[http.HTTPFlow, bytes]:
    """A reply that arrives in pieces, and what the client gets of it."""
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=path.encode()), resp=True)
    flow.request.content = request or asked(stream=stream)
    flow.live = True
    flow.response = http.Response.make(200)
    flow.response.headers = http.Headers(**{name.replace("-", "_"): value for name, value in headers.items()})
    flow.response.raw_content = None
    for hook in (addon.requestheaders, addon.request, addon.responseheaders):
        hook(flow)
    tap = flow.response.stream
    if not callable(tap):
        return flow, body
    out = b""
    for piece in (body[:50], body[50:], b""):
        left = tap(piece)
        out += left if isinstance(left, bytes) else b"".join(left)
    addon.response(flow)
    return flow, out


@pytest.mark.parametrize("type_", ["", "text/plain", "text/plain; charset=utf-8", "application/octet-stream"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_that_does_not_say_what_it_is_is_what_was_asked_for(addon: ToolCalls, type_: str, stream: bool) -> None:
    """`StreamingResponse` of FastAPI names no type, and no client minds."""
    body = b"".join(streamed(CALL)) if stream else whole(CALL)
    flow, out = answered(addon, body, {"content-type": type_} if type_ else {}, stream=stream)
    assert b"NO." in out
    assert b"invoke" not in out
    assert summary_in(flow) == "1 blocked: no-bash"


def test_such_a_reply_is_judged_from_a_file_as_well(addon: ToolCalls) -> None:
    flow, out = answered(addon, b"".join(streamed(CALL)), {}, stream=True)
    assert flow.response is not None
    flow.response.raw_content = out
    config = parse(RULES, "c.yaml", all_dialects(), all_wires())
    assert recorded(flow, config).form == "sse"
    with pytest.raises(ReplyNotParsed):
        recorded(flow, parse("routes: []", "c.yaml", all_dialects(), all_wires()))


def test_ollama_streams_where_nothing_is_said(addon: ToolCalls) -> None:
    call = {"function": {"name": "Bash", "arguments": {"command": "ls"}}}
    lines = [
        {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]
    for request, body in (
        ({}, b"".join(json.dumps(line).encode() + b"\n" for line in lines)),
        ({"stream": False}, json.dumps({**lines[1], "message": lines[0]["message"]}).encode()),
    ):
        asks = json.dumps({"model": "m", "messages": [], "tools": json.loads(asked())["tools"], **request}).encode()
        flow, out = answered(addon, body, {}, stream=True, path="/api/chat", request=asks)
        assert b"Bash" not in out
        assert summary_in(flow) == "1 blocked: no-bash"


TYPES = [
    "text/html", "image/png", "application/vnd.api+json", "text/json; charset=UTF-8", "application/problem+json",
    'application/json; charset="latin-1"', "multipart/mixed; boundary=x", "nonsense",
]  # fmt: skip


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_is_what_was_asked_for_whatever_its_type(addon: ToolCalls, type_: str, stream: bool) -> None:
    """SDKs parse it without looking at the type, or wherever that ends in `json`."""
    body = b"".join(streamed(CALL)) if stream else whole(CALL)
    flow, out = answered(addon, body, {"content-type": type_}, stream=stream)
    assert b"invoke" not in out
    if stream and "json" in type_:
        assert (out, summary_in(flow)) == (b"", "warning: unread")
    else:
        assert b"NO." in out
        assert summary_in(flow) == "1 blocked: no-bash"


@pytest.mark.parametrize("path", [PATH, "/v1/responses", "/v1/messages", GEMINI, "/api/chat"])
def test_a_whole_reply_that_says_that_it_is_a_stream_brings_no_call(addon: ToolCalls, path: str) -> None:
    """google-genai and ollama parse it as JSON all the same."""
    request = json.dumps({"model": "m", "stream": False, "messages": [], "input": [], "contents": []}).encode()
    for body in (native_whole(path), native_whole(path).decode().encode("utf-16")):
        type_ = {"content-type": "text/event-stream"}
        assert answered(addon, body, type_, stream=False, path=path, request=request)[1] == b""


def test_lines_of_json_that_say_they_are_one_value_bring_no_call(addon: ToolCalls) -> None:
    """ollama reads a stream line by line, whatever its type."""
    request = json.dumps({"model": "m", "stream": True, "messages": []}).encode()
    body = native_whole("/api/chat") + b"\n" + native_whole("/api/chat") + b"\n"
    flow, out = answered(
        addon, body, {"content-type": "application/json"}, stream=True, path="/api/chat", request=request
    )
    assert (out, summary_in(flow)) == (b"", "warning: unread")


NO_REPLIES = [b"<html>\n<p>Sign in.</p>\n</html>", b"\x89PNG\r\n\x1a\n\0\0", b"", b"\xff\xfea", b"\0"]


@pytest.mark.parametrize("body", NO_REPLIES)
def test_what_is_no_reply_passes(addon: ToolCalls, body: bytes) -> None:
    assert answered(addon, body, {"content-type": "text/html"}, stream=False)[1] == body


@pytest.mark.parametrize("type_", ["text/html", "image/png", "audio/mpeg"])
def test_without_rules_other_types_are_not_read(type_: str) -> None:
    with addon_with() as other:
        body = whole(CALL)
        assert answered(other, body, {"content-type": type_}, stream=False)[1] == body


ENCODINGS = ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


def native_whole(wire: str) -> bytes:
    """A whole reply with a native call."""
    arguments = {"command": "rm ü"}
    function = {"name": "Bash", "arguments": arguments}
    as_text = {"name": "Bash", "arguments": json.dumps(arguments)}
    bodies: dict[str, dict[str, object]] = {
        PATH: {"choices": [{"index": 0, "message": {"tool_calls": [{"id": "a", "function": as_text}]}}]},
        "/v1/responses": {
            "object": "response", "output": [{"type": "function_call", "id": "f", "call_id": "c", **as_text}],
        },
        "/v1/messages": {
            "type": "message", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": arguments}],
        },
        GEMINI: {"candidates": [
            {"content": {"parts": [{"functionCall": {"name": "Bash", "args": arguments}}]}, "finishReason": "STOP"}
        ]},
        "/api/chat": {
            "message": {"role": "assistant", "content": "", "tool_calls": [{"function": function}]},
            "done": True, "done_reason": "stop",
        },
    }  # fmt: skip
    return json.dumps(bodies[wire]).encode()


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("path", [PATH, "/v1/responses", "/v1/messages", GEMINI, "/api/chat"])
def test_a_whole_reply_is_read_in_every_encoding_of_json(addon: ToolCalls, path: str, encoding: str) -> None:
    """`json.loads` and httpx tell the encoding by the first bytes, and so do the SDKs that are built on them."""
    request = json.dumps({"model": "m", "stream": False, "messages": [], "input": [], "contents": []}).encode()
    body = native_whole(path).decode().encode(encoding)
    type_ = {"content-type": "application/json"}
    out = answered(addon, body, type_, stream=False, path=path, request=request)[1]
    assert "NO." in json.dumps(json.loads(out))
    assert "Bash" not in out.decode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-be"])
@pytest.mark.parametrize("rules", [True, False])
def test_a_reply_that_stays_keeps_its_encoding(addon: ToolCalls, encoding: str, rules: bool) -> None:
    body = whole("größe").decode().encode(encoding)
    headers = {"content-type": "application/json"}
    if rules:
        assert answered(addon, body, headers, stream=False)[1] == body
        return
    with addon_with() as other:
        assert answered(other, body, headers, stream=False)[1] == body
        lifted = answered(other, whole(CALL).decode().encode(encoding), headers, stream=False)[1]
        assert [name for name, _ in calls_in(json.dumps(json.loads(lifted)).encode())] == ["Bash"]
        assert lifted.decode(encoding).encode(encoding) == lifted


@pytest.mark.parametrize(
    ("type_", "stream"),
    [
        ("application/json; charset=utf-7", False),
        ("text/event-stream; charset=utf-16", True),
        ("text/plain; charset=cp037", True),
        ('text/event-stream; Charset="UTF-16LE"', True),
        ("text/event-stream; a=b; charset=shift_jis", True),
    ],
)
def test_nothing_in_a_charset_that_clients_read_otherwise_passes_rules(
    addon: ToolCalls, type_: str, stream: bool
) -> None:
    flow, out = answered(addon, b'{"a": 1}', {"content-type": type_}, stream=stream)
    assert out == b""
    assert summary_in(flow).startswith("failed: nothing was forwarded")
    assert flow.response is not None
    flow.response.raw_content = out
    with pytest.raises(ReplyNotParsed, match="charset"):
        recorded(flow, parse(RULES, "c.yaml", all_dialects(), all_wires()))
    with addon_with() as other:
        assert answered(other, b'{"a": 1}', {"content-type": type_}, stream=stream)[1] == b'{"a": 1}'


@pytest.mark.parametrize("coding", ["gzip, gzip", "x-own"])
def test_nothing_of_a_coding_that_is_not_known_passes_rules(addon: ToolCalls, coding: str) -> None:
    headers = {"content-type": "application/json", "content-encoding": coding}
    flow, out = answered(addon, whole(CALL), headers, stream=False)
    assert out == b""
    assert summary_in(flow).startswith("failed: nothing was forwarded")


def test_without_rules_a_coding_that_is_not_known_passes() -> None:
    with addon_with() as other:
        body = whole(CALL)
        headers = {"content-type": "application/json", "content-encoding": "x-own"}
        assert answered(other, body, headers, stream=False)[1] == body


def test_the_log_says_what_a_warning_is_about(addon: ToolCalls, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "toolcalls")
    call = {"index": 0, "id": "a", "function": {"name": "Bash", "arguments": "{}"}}
    body = b'data: {"choices":[{"index":0,"other":{"tool_calls":[%b]}}]}\n\n' % json.dumps(call).encode()
    answered(addon, body, {"content-type": "text/event-stream"}, stream=True)
    lines = [record.message for record in caplog.records]
    (line,) = [line for line in lines if "warning: unread | " in line]
    assert "| unread: a frame with a call that cannot be read was left out" in line


@pytest.mark.parametrize("stream", [True, False])
def test_a_name_that_comes_close_to_a_declared_tool_is_judged_as_that(addon: ToolCalls, stream: bool) -> None:
    """Agents take the closest tool that they have for one that they have not."""
    function = {"name": "Bashh", "arguments": '{"command":"ls"}'}
    said = {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": function}]}
    choice = {"index": 0, "delta" if stream else "message": said, "finish_reason": "tool_calls"}
    body = json.dumps({"id": "r", "choices": [choice]}).encode()
    kind = "text/event-stream" if stream else "application/json"
    flow, out = answered(addon, b"data: %b\n\n" % body if stream else body, {"content-type": kind}, stream=stream)
    assert b"command" not in out
    assert summary_in(flow).startswith("1 blocked: no-bash")
