"""What Prometheus finds at the address of `toolcalls_metrics`, read with the official client's own parser."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import exceptions, http
from mitmproxy.test import taddons, tflow, tutils
from prometheus_client.parser import text_string_to_metric_families

from support.addons import addon_with, tap_on
from support.loopback import CALL, LIMIT, PATH, asked, chunk, streamed
from support.repository import REPO
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.metrics import names
from toolcalls.mitm.metrics.counts import _VALUES, OTHER, Metrics

DASHBOARD = REPO / "config" / "grafana-dashboard.json"
_NAMES = re.compile(r"\b(?:toolcalls|process)_\w+")
_BY = re.compile(r"\bby \(([^)]*)\)")
SAMPLES = ("", "_bucket", "_sum", "_count", "_created")  # after a metric's name


@pytest.fixture
def addon() -> Iterator[ToolCalls]:
    with addon_with(toolcalls_metrics="0") as made:
        yield made


def _metrics(addon: ToolCalls) -> Metrics:
    metrics = addon.exchanges()._options.metrics
    assert metrics is not None
    return metrics


def _scraped(url: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    with urllib.request.urlopen(url, timeout=LIMIT) as reply:
        text = reply.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _value(addon: ToolCalls, name: str, **labels: str) -> float | None:
    return _scraped(_metrics(addon).url).get((name, frozenset(labels.items())))


def _flow(model: str = "m") -> http.HTTPFlow:
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()), resp=True)
    flow.request.content = json.dumps(json.loads(asked()) | {"model": model}).encode()
    flow.request.headers["user-agent"] = "codex_cli_rs/1.0"
    flow.response = http.Response.make(200, b"", {"content-type": "text/event-stream"})
    flow.response.raw_content = None
    flow.live = True
    return flow


def _exchange(addon: ToolCalls, pieces: list[bytes], model: str = "m") -> None:
    flow = _flow(model)
    tap = tap_on(addon, flow)
    for piece in [*pieces, b""]:
        tap(piece)
    addon.response(flow)


def test_a_reply_is_counted_by_what_became_of_its_calls(addon: ToolCalls) -> None:
    _exchange(addon, streamed(CALL))
    labels = {"status": "lifted", "reason": "", "dialect": "invoke", "model": "m"}
    assert _value(addon, "toolcalls_calls_total", **labels) == 1
    assert _value(addon, "toolcalls_replies_total", api="openai_chat", model="m", agent="Codex", outcome="lifted") == 1
    assert _value(addon, "toolcalls_damage_total", kind="call_in_text", mended="true", model="m") == 1
    assert _value(addon, "toolcalls_added_seconds_count", stage="request") == 1
    assert _value(addon, "toolcalls_added_seconds_count", stage="reply") == len(streamed(CALL)) + 1
    assert _value(addon, "toolcalls_first_byte_delay_seconds_count") == 1
    assert _value(addon, "toolcalls_body_bytes_total", side="upstream") == len(b"".join(streamed(CALL)))


def test_a_declined_call_says_its_reason(addon: ToolCalls) -> None:
    _exchange(addon, streamed(f"```\n{CALL}\n```\n"))
    labels = {"status": "declined", "reason": "fenced", "dialect": "invoke", "model": "m"}
    assert _value(addon, "toolcalls_calls_total", **labels) == 1


def test_open_replies_and_what_they_hold_go_up_and_down(addon: ToolCalls) -> None:
    flow = _flow()
    tap = tap_on(addon, flow)
    tap(chunk({"role": "assistant", "content": ""}))
    opener = chunk({"content": "<invo"})
    tap(opener)
    assert _value(addon, "toolcalls_open_replies") == 1
    assert _value(addon, "toolcalls_held_bytes") == len(opener)
    tap(chunk({"content": "ice of March"}))
    tap(b"data: [DO")
    assert _value(addon, "toolcalls_held_bytes") == len(b"data: [DO")
    addon.error(flow)
    assert _value(addon, "toolcalls_open_replies") == 0
    assert _value(addon, "toolcalls_held_bytes") == 0


def test_a_large_body_that_came_whole_is_no_open_reply_any_more(addon: ToolCalls) -> None:
    tap = tap_on(addon, _flow())
    tap.whole(b"".join(streamed(CALL)))
    assert _value(addon, "toolcalls_open_replies") == 0


def test_what_failed_is_counted_by_status(addon: ToolCalls) -> None:
    refused, broken = _flow(), _flow()
    assert refused.response is not None
    refused.response = http.Response.make(429, b"{}")
    addon.request(refused)
    addon.response(refused)
    broken.response = None
    addon.request(broken)
    addon.error(broken)
    assert _value(addon, "toolcalls_failed_requests_total", status="429") == 1
    assert _value(addon, "toolcalls_failed_requests_total", status="none") == 1


def test_a_fault_of_the_addon_is_counted(addon: ToolCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = _flow()
    tap = tap_on(addon, flow)

    def fails(_: bytes) -> bytes:
        raise RuntimeError

    monkeypatch.setattr(tap.exchange, "feed", fails)
    tap(chunk({"content": "x"}))
    addon.response(flow)
    assert _value(addon, "toolcalls_faults_total") == 1


def test_labels_are_bounded_and_hold_no_secrets(addon: ToolCalls) -> None:
    for number in range(_VALUES + 3):
        _exchange(addon, streamed("hello"), model="sk-ant-0123456789abcdef0123456789" if not number else f"m{number}")
    models = {dict(labels).get("model") for _, labels in _scraped(_metrics(addon).url)} - {None}
    assert len(models) == _VALUES + 1
    assert OTHER in models
    assert not any("0123456789" in str(model) for model in models)


def test_every_metric_of_the_table_is_exposed(addon: ToolCalls) -> None:
    _exchange(addon, streamed(CALL))
    with urllib.request.urlopen(_metrics(addon).url, timeout=LIMIT) as reply:
        text = reply.read().decode()
    for metric in names.METRICS:
        assert f"# TYPE {metric.exposed} {metric.kind}\n" in text
        assert f"# HELP {metric.exposed} {metric.says}\n" in text
    assert "process_resident_memory_bytes" in text


def test_the_address_is_free_behind_the_addon() -> None:
    with addon_with(toolcalls_metrics="0") as addon:
        url = _metrics(addon).url
        assert url.startswith("http://127.0.0.1:")
        addon.done()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=LIMIT)


@pytest.mark.parametrize("address", ["x", "127.0.0.1", "127.0.0.1:", ":-1", "70000", "٣"])
def test_a_wrong_address_is_refused(address: str) -> None:
    _assert_refused(address, "expected a port, or an address as in 127.0.0.1:9464")


def test_a_taken_address_is_refused(addon: ToolCalls) -> None:
    _assert_refused(_metrics(addon).url.split("/")[2], "Address already in use")


def test_a_missing_client_is_said_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "toolcalls.mitm.metrics.counts")
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    _assert_refused("0", "pip install prometheus-client")


def _assert_refused(address: str, why: str) -> None:
    addon = ToolCalls()
    with taddons.context(addon) as made:
        made.configure(addon)
        with pytest.raises(exceptions.OptionsError, match=why):
            made.configure(addon, toolcalls_metrics=address)


WORKER = """
import sys
from mitmproxy.test import tflow
from toolcalls.mitm.metrics.counts import Metrics
metrics = Metrics("127.0.0.1", 0)
metrics.ended(tflow.tflow(err=True))
print(metrics.url, flush=True)
sys.stdin.read()
metrics.close()
"""


def test_each_of_many_processes_answers_for_all(tmp_path: Path) -> None:
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "PYTHONPATH": str(REPO / "addon")}
    how: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": environment, "text": True}
    workers = [subprocess.Popen([sys.executable, "-c", WORKER], **how) for _ in range(2)]
    try:
        urls = [worker.stdout.readline().strip() for worker in workers if worker.stdout is not None]
        for url in urls:
            assert _scraped(url)["toolcalls_failed_requests_total", frozenset({("status", "none")})] == 2
    finally:
        for worker in workers:
            worker.communicate(timeout=LIMIT)
    assert [worker.returncode for worker in workers] == [0, 0]


def test_the_dashboard_asks_for_metrics_and_labels_that_exist() -> None:
    asked_for = [
        target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel.get("targets", ())
    ]
    known = {metric.exposed + suffix: metric.labels for metric in names.METRICS for suffix in SAMPLES}
    assert asked_for
    for expression in asked_for:
        found = set(_NAMES.findall(expression))
        assert found
        assert found <= known.keys() | {"process_resident_memory_bytes", "process_cpu_seconds_total"}
        labels = {label for name in found & known.keys() for label in known[name]} | {"le", "instance"}
        for group in _BY.findall(expression):
            assert set(group.replace(" ", "").split(",")) <= labels, expression
