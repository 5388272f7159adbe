"""Spans that a collector gets from a real mitmdump as replies end."""

import json
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.loopback import CALL, TOOLS, Dump, Reply, Upstream, asked, mitmdump, post, streamed, upstream
from support.screens import reserved_port
from support.waiting import seen

pytest.importorskip("toolcalls.insight.exports.otel", reason="the extra `otel` is not installed")
from support.collector import collector

SESSION = {"x-session-id": "s1"}
AGENT_TRACE, AGENT_SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Spans:
    """What a collector got, by the names of the spans."""

    def __init__(self, got: Sequence[tuple[str, Any]]) -> None:
        self._got = got

    def all(self) -> list[Any]:
        groups = [group for _, request in list(self._got) for group in request.resource_spans]
        return [span for group in groups for scope in group.scope_spans for span in scope.spans]

    def named(self, name: str, count: int = 1) -> list[Any]:
        """The spans of a name, as soon as there are so many."""
        seen(lambda: sum(span.name == name for span in self.all()) >= count)
        return [span for span in self.all() if span.name == name]


def attributes(span: Any) -> dict[str, str]:
    return {one.key: str(one.value).strip() for one in span.attributes}


@contextmanager
def traced(folder: Path, url: str, *options: str) -> Iterator[tuple[Upstream, Dump]]:
    with (
        upstream(Reply(streamed(CALL))) as server,
        mitmdump(folder, "--set", f"toolcalls_otel={url}", *options, to=server.url) as dump,
    ):
        yield server, dump
    assert "Traceback" not in dump.output, dump.output


def call_id(body: bytes) -> str:
    events = [json.loads(line[6:]) for line in body.decode().split("\n") if line.startswith("data: {")]
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    return str(next(call["id"] for delta in deltas for call in delta.get("tool_calls", ()) if call.get("id")))


def with_result(id_: str) -> bytes:
    """The request that brings the result of a call."""
    call = {"id": id_, "type": "function", "function": {"name": "Bash", "arguments": '{"command": "ls -la"}'}}
    messages = [
        {"role": "user", "content": "list the files"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id_, "content": "a.txt"},
    ]
    return json.dumps({"model": "m", "stream": True, "tools": TOOLS, "messages": messages}).encode()


def test_a_session_is_a_trace_as_it_goes_on(tmp_path: Path) -> None:
    with collector() as (url, got), traced(tmp_path, url) as (server, dump):
        spans = Spans(got)
        first = post(dump.url, asked(), SESSION)
        (chat,) = spans.named("chat m")
        assert [event.name for event in chat.events] == ["toolcalls.verdict"]
        assert "gen_ai.conversation.id" in attributes(chat)
        assert not spans_named(spans, "execute_tool Bash"), "no result has come"
        server.replies = [Reply(streamed("Well."))]
        post(dump.url, with_result(call_id(first.body)), SESSION)
        (tool,) = spans.named("execute_tool Bash")
        chats = spans.named("chat m", 2)
        assert {span.trace_id for span in chats} == {tool.trace_id}
        assert tool.parent_span_id == chat.span_id
        assert tool.start_time_unix_nano >= chat.end_time_unix_nano - 1000
        assert tool.end_time_unix_nano == max(span.start_time_unix_nano for span in chats)
        assert "true" in attributes(tool)["toolcalls.result_seen"]

        traceparent = {"traceparent": f"00-{AGENT_TRACE}-{AGENT_SPAN}-01"}
        server.replies = [Reply(streamed(CALL))]
        post(dump.url, asked(), {**SESSION, **traceparent})
        below = spans.named("chat m", 3)[-1]
        assert (below.trace_id.hex(), below.parent_span_id.hex()) == (AGENT_TRACE, AGENT_SPAN)
        post(dump.url, asked(), {**SESSION, "traceparent": f"00-{AGENT_TRACE}-{AGENT_SPAN}-00"})

        said = str(got)
        assert "list the files" not in said
        assert "ls -la" not in said
    (_, unanswered) = spans.named("execute_tool Bash", 2)
    assert "false" in attributes(unanswered)["toolcalls.result_seen"], "it ended with mitmdump"
    assert len(spans_named(spans, "chat m")) == 3, "an agent that does not sample gets no spans"


def spans_named(spans: Spans, name: str) -> list[Any]:
    return [span for span in spans.all() if span.name == name]


def test_content_comes_where_it_is_asked_for(tmp_path: Path) -> None:
    options = ("--set", "toolcalls_otel_content=true")
    with collector() as (url, got), traced(tmp_path, url, *options) as (_, dump):
        post(dump.url, asked(), SESSION)
        (chat,) = Spans(got).named("chat m")
        assert "list the files" in attributes(chat)["gen_ai.input.messages"]


def _absent(stack: Callable[[Any], Any]) -> str:
    return f"http://127.0.0.1:{stack(reserved_port())}"


def _refusing(stack: Callable[[Any], Any]) -> str:
    return str(stack(collector(503))[0])


@pytest.mark.parametrize("kind", [_absent, _refusing])
def test_a_collector_that_is_down_does_no_harm(tmp_path: Path, kind: Callable[..., str]) -> None:
    with ExitStack() as stack, traced(tmp_path, kind(stack.enter_context)) as (_, dump):
        replies = [post(dump.url, asked(), SESSION) for _ in range(3)]
        assert all(reply.ended for reply in replies)
        dump.wait_for("does not accept spans; traffic is not affected")
        post(dump.url, asked(), SESSION)
    assert dump.output.count("does not accept spans") == 1
    assert re.search(r"the collector did not get (\d+) of \1 spans", dump.output)
    assert "opentelemetry" not in dump.output


def test_a_collector_that_says_nothing_does_not_keep_mitmdump(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        traced(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}") as (_, dump),
    ):
        assert post(dump.url, asked(), SESSION).ended
        assert dump.stop() == 0
