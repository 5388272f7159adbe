"""Requests that are rewritten, through a real mitmdump: what the upstream is asked, and what a replay asks again."""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import CALL, EVENTS, Host, Reply, calls_in, host, streamed
from live import asked as question
from toolcalls.mitm import store

CONFIG = """
routes:
  - {name: lower, client: native, upstream: text, dialects: [hermes, invoke], rewrite_request: true}
"""
LISTED = '<tool_call>{"name": "Bash", "arguments": {"command": "ls -la"}}</tool_call>'


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("requests")
    config = folder / "toolcalls.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    with host(folder, "--set", f"toolcalls_config={config}") as made:
        yield made
        assert "Traceback" not in made.dump.output, made.dump.output


@pytest.mark.parametrize("coding", ["", "gzip"], ids=["plain", "gzip"])
def test_the_upstream_reads_tools_in_its_prompt(running: Host, coding: str) -> None:
    body = question()
    headers = {"content-encoding": coding} if coding else {}
    sent = zlib.compress(body, wbits=31) if coding else body
    got, flow = running.ask(Reply(streamed(LISTED), EVENTS), sent, headers)
    seen = json.loads(running.upstream.asked[-1].body)
    assert "tools" not in seen
    assert '"name": "Bash"' in seen["messages"][0]["content"]
    assert "content-encoding" not in running.upstream.asked[-1].headers
    assert calls_in(got.body) == [("Bash", '{"command": "ls -la"}')]
    assert store.original(flow) == body
    assert "request: 1 tool into the prompt (hermes)" in flow.metadata[store.REPORT]["evidence"]


def test_a_request_that_cannot_be_rewritten_passes_and_says_so(running: Host) -> None:
    body = json.dumps({**json.loads(question()), "messages": [{"role": "user", "content": "\ud800"}]}).encode()
    got, flow = running.ask(Reply(streamed(CALL), EVENTS), body)
    assert running.upstream.asked[-1].body == body
    assert calls_in(got.body) == [("Bash", '{"command":"ls -la"}')]
    assert any(line.startswith("the request passes unchanged:") for line in flow.metadata[store.REPORT]["evidence"])


def test_a_client_replay_asks_the_same_again(running: Host, tmp_path: Path) -> None:
    _, flow = running.ask(Reply(streamed(LISTED), EVENTS))
    first = running.upstream.asked[-1].body
    config = tmp_path / "toolcalls.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    with host(tmp_path, "--set", f"toolcalls_config={config}", "-C", str(running.recording)) as again:
        replayed = again.flow(flow.request.path)
    assert replayed.request.raw_content == first
    assert running.upstream.asked[-1].body == first
    assert store.original(replayed) == question()
