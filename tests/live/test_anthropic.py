"""The Messages API from end to end: the official SDK, a real mitmdump with the addon, a scripted upstream, loopback.

One mitmdump serves all tests; its configuration has a route for each kind, chosen by the first part of the path. What
the SDK hands to an agent is checked, in three ways: `whole` is a reply as one, `stream` iterates over events, `helper`
uses the SDK's own accumulator (`client.messages.stream`), which counts blocks and reads the JSON of calls as it comes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import anthropic
import pytest
from mitmproxy import http

from support import anthropicclient as upstream
from support.anthropicclient import USAGE, stream, written
from support.anthropicclient import whole as body_of
from support.fiveroutes import BLOCK, INVOKE, MEANT, TAGGED, TEXT
from support.fiveroutes import CONFIG as FIVE_ROUTES
from support.loopback import EVENTS, LIMIT, Host, Reply
from toolcalls.flows import flow_metadata

type Way = Literal["whole", "stream", "helper"]
WAYS: tuple[Way, ...] = ("whole", "stream", "helper")


def tool(name: str, *parameters: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    return {"name": name, "input_schema": {"type": "object", "properties": properties, "required": [*parameters]}}


CONFIG = FIVE_ROUTES
TOOLS = [tool("read_file", "path"), tool("now")]
CUT = TEXT.format(*INVOKE).partition(" 😀.md")[0]  # inside the first argument


def text(said: str, size: int = 5) -> list[dict[str, Any]]:
    return upstream.text(*(said[at : at + size] for at in range(0, len(said), size)))


NATIVE = [
    text("Let me look."),
    upstream.call("toolu_a", "read_file", "", '{"path": "größe/', '日本 😀.md"}'),
    upstream.call("toolu_b", "now"),
]

# By route: what the upstream says and why it stops, and what the client gets: text, calls, stop reason, verdicts.
KINDS: dict[str, tuple[list[Any], str, str, list[tuple[str, dict[str, str]]], str, str]] = {
    "lift": ([text(TEXT.format(*INVOKE))], "end_turn", TEXT.format("", ""), MEANT, "tool_use", "lifted"),
    "lower": (NATIVE, "tool_use", f"Let me look.\n\n{BLOCK}", [], "end_turn", "lowered"),
    "same": ([text(TEXT.format(*INVOKE))], "end_turn", TEXT.format(*INVOKE), [], "end_turn", "lowered"),
    "other": ([text(TEXT.format(*INVOKE))], "end_turn", TEXT.format(*TAGGED), [], "end_turn", "lowered"),
    "observe": (NATIVE, "tool_use", "Let me look.", MEANT, "tool_use", "native"),
}


@contextmanager
def client(url: str) -> Iterator[anthropic.Anthropic]:
    """An SDK client for a base URL."""
    transport = anthropic.DefaultHttpxClient(trust_env=False, timeout=LIMIT, verify=False)  # no TLS
    with anthropic.Anthropic(base_url=url, api_key="made-up", max_retries=0, http_client=transport) as made:
        yield made


_numbers = iter(range(1, 10_000))


def ask(running: Host, route: str, way: Way, events: Sequence[dict[str, Any]], **given: Any) -> tuple[Any, str]:
    """One request: what the SDK makes of its reply, and the path."""
    base = f"/{route}/{next(_numbers)}"
    path = f"{base}/v1/messages"
    if way == "whole":
        running.upstream.replies = [Reply([body_of(events)], {"content-type": "application/json"}, framing="length")]
    else:
        running.upstream.replies = [Reply([written([event]) for event in events], dict(EVENTS))]
    request: dict[str, Any] = {"model": "m", "max_tokens": 100, "tools": TOOLS, **given}
    request.setdefault("messages", [{"role": "user", "content": "go"}])
    with client(running.dump.url + base) as sdk:
        if way == "whole":
            return sdk.messages.create(**request), path
        if way == "helper":
            with sdk.messages.stream(**request) as told:
                return told.get_final_message(), path
        seen = [event.to_dict() for event in sdk.messages.create(stream=True, **request)]
    reply = upstream.received(written(seen))  # a client that is stricter than the SDK
    return anthropic.types.Message(
        id="msg_1", type="message", role="assistant", model="m", stop_sequence=None,
        content=[_block(block) for block in reply.blocks],
        stop_reason=reply.stop, usage=anthropic.types.Usage(**reply.usage),
    ), path  # fmt: skip


def _block(block: dict[str, Any]) -> Any:
    made = {"text": anthropic.types.TextBlock, "tool_use": anthropic.types.ToolUseBlock}[block["type"]]
    return made(**block)


def said(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def meant(message: Any) -> list[tuple[str, Any]]:
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def verdicts(flow: http.HTTPFlow) -> list[tuple[str, str | None]]:
    return [(verdict["status"], verdict["reason"]) for verdict in flow.metadata[flow_metadata.REPORT]["verdicts"]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("route", KINDS)
def test_each_kind_of_route(running: Host, route: str, way: Way) -> None:
    blocks, stop, shown, calls, stopped, status = KINDS[route]
    events = stream(blocks, stop)
    message, path = ask(running, route, way, events)
    assert said(message) == shown
    assert meant(message) == calls
    assert message.stop_reason == stopped
    assert message.usage.output_tokens == USAGE["output_tokens"]
    assert all(block.text for block in message.content if block.type == "text"), "an empty text"
    flow = running.flow(path)
    assert [name for name, _ in verdicts(flow)] == [status, status]
    got = flow.response.raw_content if flow.response else b""
    if route in {"same", "observe"}:  # untouched is identical
        assert got == (body_of(events) if way == "whole" else written(events))


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_that_is_nothing_but_a_call(running: Host, way: Way) -> None:
    message, _ = ask(running, "lift", way, stream([text(INVOKE[0])]))
    assert [block.type for block in message.content] == ["tool_use"]
    assert re.fullmatch(r"toolu_[0-9a-f]{24}", message.content[0].id)
    assert meant(message) == MEANT[:1]


@pytest.mark.parametrize("way", WAYS)
def test_a_file_keeps_its_last_line_end(running: Host, way: Way) -> None:
    """Claude Code's Write, as Claude leaks it: values on the lines of their tags."""
    says = (
        '<invoke name="Write">\n<parameter name="file_path">/tmp/a.py</parameter>\n'
        '<parameter name="content">import os\n\nprint(os.name)\n</parameter>\n</invoke>'
    )
    tools = [tool("Write", "file_path", "content")]
    message, _ = ask(running, "lift", way, stream([text(says)]), tools=tools)
    assert meant(message) == [("Write", {"file_path": "/tmp/a.py", "content": "import os\n\nprint(os.name)\n"})]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lead", [("\n\n",), ("\n", "\n"), ("\n", "\ncourt\n")], ids=["one", "two", "stray"])
def test_white_space_before_a_call_is_no_block(running: Host, way: Way, lead: tuple[str, ...]) -> None:
    """Agents send blocks back, and the API refuses one of white space: `text content blocks must contain
    non-whitespace text`.
    """
    message, _ = ask(running, "lift", way, stream([upstream.text(*lead, INVOKE[0])]))
    assert [block.type for block in message.content] == ["tool_use"]
    assert meant(message) == MEANT[:1]


def test_blocks_that_the_message_begins_with(running: Host) -> None:
    """The SDK's helper takes them from `message_start`."""
    events = upstream.at_once(stream([text(TEXT.format(*INVOKE))]))
    message, path = ask(running, "lift", "helper", events)
    assert (said(message), meant(message), message.stop_reason) == (TEXT.format("", ""), MEANT, "tool_use")
    assert [name for name, _ in verdicts(running.flow(path))] == ["lifted", "lifted"]


@pytest.mark.parametrize("way", WAYS)
def test_a_conversation_goes_on_with_the_result(running: Host, way: Way) -> None:
    """The SDK's own blocks go back as they are, and the tool's result holds a call, which the model then quotes."""
    first, _ = ask(running, "lift", way, stream([text(INVOKE[0])]))
    (call,) = first.content
    quoted = f"It says:\n{INVOKE[1]}"
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call.to_dict()]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": quoted}]},
    ]
    second, path = ask(running, "lift", way, stream([text(quoted)]), messages=messages)
    assert (said(second), meant(second)) == (quoted, [])
    assert verdicts(running.flow(path)) == [("declined", "echo")]
    third, _ = ask(running, "lift", way, stream([text(INVOKE[0])]), messages=messages)
    assert third.content[0].id != call.id


@pytest.mark.parametrize("way", ["whole", "helper"])
def test_thinking_passes_in_front_of_a_call(running: Host, way: Way) -> None:
    message, _ = ask(running, "lift", way, stream([upstream.thinking("hm"), text(INVOKE[1])]))
    thought, call = message.content
    assert (thought.thinking, thought.signature) == ("hm", "s==")
    assert call.name == "now"


@pytest.mark.parametrize("way", ["stream", "helper"])
def test_max_tokens_inside_an_argument(running: Host, way: Way) -> None:
    """The limit stays to be seen. The SDK's accumulator reads unfinished JSON as far as it goes."""
    events = stream([text(CUT)], "max_tokens")
    running.upstream.replies = [Reply([written([event]) for event in events], dict(EVENTS))]
    base = f"/lift/{next(_numbers)}"
    with client(running.dump.url + base) as sdk:
        asked: Any = {"model": "m", "max_tokens": 9, "tools": TOOLS, "messages": [{"role": "user", "content": "go"}]}
        if way == "helper":
            with sdk.messages.stream(**asked) as told:
                assert told.get_final_message().stop_reason == "max_tokens"
        else:
            reply = upstream.received(written([event.to_dict() for event in sdk.messages.create(stream=True, **asked)]))
            ((name, arguments),) = [(call["name"], call["arguments"]) for call in reply.open]
            assert (name, reply.stop, reply.calls) == ("read_file", "max_tokens", [])
            with pytest.raises(json.JSONDecodeError):
                json.loads(arguments)
    assert verdicts(running.flow(f"{base}/v1/messages")) == [("truncated", "cut_off")]


def test_max_tokens_in_a_whole_reply(running: Host) -> None:
    """Its input would have to be an object, so what broke off stays text."""
    message, path = ask(running, "lift", "whole", stream([text(CUT)], "max_tokens"))
    assert (said(message), meant(message), message.stop_reason) == (CUT, [], "max_tokens")
    assert verdicts(running.flow(path)) == [("truncated", "cut_off")]


@pytest.mark.parametrize("way", ["stream", "helper"])
@pytest.mark.parametrize("after", ["Let me look.", "<inv", CUT], ids=["text", "opener", "argument"])
def test_an_error_event_passes(running: Host, way: Way, after: str) -> None:
    """What the SDK says is the upstream's own message, wherever it came."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(anthropic.APIError, match="Overloaded"):
        ask(running, "lift", way, [*stream([text(after)], None)[:-1], error])
