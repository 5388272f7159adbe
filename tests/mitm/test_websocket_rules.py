"""WebSocket where a rule may block calls: a message that is read as part of no reply does not pass with a call."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow
from mitmproxy.test import tflow
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

from support.addons import addon_with
from toolcalls.mitm import websocket_hooks
from toolcalls.mitm.hooks import ToolCalls

type Sent = tuple[bool, Opcode, dict[str, Any]]  # by the client?

RULE = "access: {rules: [{name: no-bash, action: block, tools: Bash, arguments: {command: rm}}]}"
RULES = f"routes: [{{name: r, {RULE}}}]"
FOR_A_MODEL = f"routes: [{{name: r, match: {{model: gpt-*}}, {RULE}}}, {{name: s}}]"
ELSEWHERE = f"routes: [{{name: r, match: {{host: other.example}}, {RULE}}}]"
BEHIND_ALL = f"routes: [{{name: s}}, {{name: r, {RULE}}}]"

TEXT, BINARY = Opcode.TEXT, Opcode.BINARY
TOOL = {"type": "function", "name": "Bash", "parameters": {"type": "object", "properties": {"command": {}}}}


def item(command: str) -> dict[str, Any]:
    arguments = json.dumps({"command": command})
    about = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "Bash"}
    return {**about, "arguments": arguments, "status": "completed"}


def request(opcode: Opcode = TEXT, **more: Any) -> Sent:
    return True, opcode, {"type": "response.create", "model": "gpt-5", "input": [], "tools": [TOOL], **more}


def event(kind: str, opcode: Opcode = TEXT, **more: Any) -> Sent:
    return False, opcode, {"type": kind, **more}


def call(command: str = "rm -rf build", opcode: Opcode = TEXT, **more: Any) -> Sent:
    return event("response.output_item.done", opcode, output_index=0, item=item(command), **more)


def end(*items: dict[str, Any], kind: str = "completed") -> Sent:
    return event(f"response.{kind}", response={"id": "resp_1", "status": kind, "output": [*items]})


ERROR = event("error", error={"code": "x", "message": "A message about input."})
DELTA = event("response.output_text.delta", output_index=0, content_index=0, delta="rm")
UNREAD: dict[str, list[Sent]] = {
    "a binary message": [request(), call(opcode=BINARY), end()],
    "a binary response": [request(), (False, BINARY, end(item("rm"))[2])],
    "an unknown stream": [request(), call(stream_id="other"), end()],
    "a stream that has ended": [request(stream_id="a"), call("ls", stream_id="a"), end(), call()],
    "after the response": [request(), end(), call()],
    "after the response, before the next one": [request(), end(), call(), request(), end()],
    "a second response": [request(), end(), end(item("rm"))],
    "after an error": [request(), ERROR, call()],
    "a response after an error": [request(), ERROR, end(item("rm"), kind="failed")],
    "before the first request": [call(), request(), end()],
    "to a binary request": [request(BINARY), call(), end()],
    "to a request of another form": [(True, TEXT, {"type": "other"}), call(), end()],
    "text of no reply": [DELTA, request(), end()],
    "arguments of no reply": [event("response.function_call_arguments.done", arguments='{"command":"rm"}')],
    "an event without a type": [(False, TEXT, {"item": item("rm")})],
}  # fmt: skip


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[bytes]]]:
    """Plays messages by a configuration; returns what the client gets. `injects`: mitmproxy has a place for it."""

    def played(config: str, sent: list[Sent | bytes], *, injects: bool = True) -> list[bytes]:
        path = tmp_path / "c.yaml"
        path.write_text(config)
        got: list[bytes] = []
        monkeypatch.setattr(websocket_hooks, "injector_for", lambda _: got.append if injects else None)
        with addon_with(toolcalls_config=str(path)) as addon:
            flow = _opened(addon)
            for one in sent:
                mine, opcode, content = (False, TEXT, one) if isinstance(one, bytes) else one
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                message = WebSocketMessage(opcode, mine, body)
                assert flow.websocket is not None
                flow.websocket.messages.append(message)
                addon.websocket_message(flow)
                if not mine and not message.dropped:
                    got.append(message.content)
            addon.websocket_end(flow)
        return got

    return played


def _opened(addon: ToolCalls) -> HTTPFlow:
    flow = tflow.twebsocketflow()
    flow.request.path = "/v1/responses"
    flow.request.headers["upgrade"] = "websocket"
    assert flow.websocket is not None
    flow.websocket.messages.clear()
    flow.live = True
    addon.websocket_start(flow)
    return flow


def _bodies(sent: list[Sent]) -> list[bytes]:
    return [json.dumps(content).encode() for mine, _, content in sent if not mine]


@pytest.mark.parametrize("config", [RULES, FOR_A_MODEL], ids=["all", "one model"])
@pytest.mark.parametrize("case", UNREAD)
def test_what_is_part_of_no_reply_does_not_pass(
    case: str, config: str, play: Callable[..., list[bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert not [one for one in play(config, UNREAD[case]) if b"rm" in one]
    why = "it is binary" if "a binary" in case and "request" not in case else "it belongs to no reply"
    said = f"toolcalls: a WebSocket message was left out, as a rule may block a call in it: {why}"
    assert [one for one in caplog.messages if one.startswith("toolcalls: a WebSocket")] == [said]


@pytest.mark.parametrize("config", ["routes: []", ELSEWHERE, BEHIND_ALL], ids=["no rules", "elsewhere", "never used"])
@pytest.mark.parametrize("case", UNREAD)
def test_without_a_rule_all_passes(case: str, config: str, play: Callable[..., list[bytes]]) -> None:
    assert play(config, UNREAD[case]) == _bodies(UNREAD[case])


@pytest.mark.parametrize(
    "body", [b'{"type":"x","item":{"a":1},"item":null}', b'["x"]', b"x", b'{"type":"x"} {"type":"x"}']
)
def test_what_is_no_event_does_not_pass(body: bytes, play: Callable[..., list[bytes]]) -> None:
    assert play(RULES, [body]) == []


WHOLE = [request(), call("ls"), ERROR, end(item("ls"))]
HARMLESS = {
    "errors": [ERROR, request(), ERROR, ERROR],
    "a failed response after an error": [request(), ERROR, end(kind="failed")],
    "limits": [event("codex.rate_limits", rate_limits={"primary": {"used_percent": 1}}), request(), end()],
    "a session": [event("session.updated", session={"model": "m", "tools": [TOOL], "input": "x"}), request(), end()],
    "an error of an unknown stream": [request(stream_id="a"), event("error", stream_id="b", error={})],
    "the beginning of a response": [event("response.created", response={"id": "r", "output": []}), request(), end()],
    "a reply": [request(), call("ls"), end(item("ls")), request(), call("ls"), end(item("ls"))],
    "replies side by side": [
        request(stream_id="a"), request(stream_id="b"),
        call("ls", stream_id="b"), event("response.completed", stream_id="b", response={"output": [item("ls")]}),
        call("ls", stream_id="a"), event("response.completed", stream_id="a", response={"output": [item("ls")]}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("case", HARMLESS)
def test_what_holds_no_call_or_an_allowed_one_passes_as_it_came(case: str, play: Callable[..., list[bytes]]) -> None:
    assert play(RULES, HARMLESS[case]) == _bodies(HARMLESS[case])


def test_what_a_client_sends_passes(play: Callable[..., list[bytes]]) -> None:
    seen = play(RULES, [request(BINARY), (True, BINARY, {"item": item("rm")}), request(), end()])
    assert seen == _bodies([end()])


def test_where_no_reply_can_be_read_none_passes(
    play: Callable[..., list[bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    """A version of mitmproxy without a place for more messages."""
    with caplog.at_level(logging.WARNING):
        assert play(RULES, WHOLE, injects=False) == _bodies([ERROR])
    assert any("not forwarded, as a rule may block" in one for one in caplog.messages)


def test_where_no_reply_can_be_read_all_passes_without_a_rule(play: Callable[..., list[bytes]]) -> None:
    assert play("routes: []", WHOLE, injects=False) == _bodies(WHOLE)
