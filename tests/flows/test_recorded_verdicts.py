"""Recordings keep the verdicts of when the reply passed; the current configuration's are beside them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import contentviews, http
from mitmproxy.addons.view import View
from mitmproxy.test import taddons, tflow, tutils

from support.addons import summary_in
from support.loopback import CALL, PATH, asked, flows_in, streamed
from support.manyflows import write
from toolcalls import cli
from toolcalls.flows import flow_metadata
from toolcalls.flows.flow_records import record_of
from toolcalls.flows.recorded_verdicts import as_recorded, beside
from toolcalls.insight.turn import turn_of
from toolcalls.mitm.hooks import ToolCalls

BLOCKS = "defaults: {access: {message: No., rules: [{name: no-bash, action: block, tools: Bash}]}}\n"
BLOCKED, LIFTED = "1 blocked: no-bash", "lifted Bash (invoke)"


@contextmanager
def _running(**options: Any) -> Iterator[tuple[ToolCalls, Any]]:
    addon, view = ToolCalls(), View()
    with taddons.context(addon, view) as context:
        context.configure(addon, **options)
        yield addon, context


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A flow whose call was blocked by a rule."""
    rules = tmp_path / "then.yaml"
    rules.write_text(BLOCKS)
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()), resp=True)
    flow.request.content = asked()
    flow.response = http.Response.make(200, b"".join(streamed(CALL)), {"content-type": "text/event-stream"})
    flow.live = True
    with _running(toolcalls_config=str(rules)) as (addon, _):
        for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
            hook(flow)
    assert summary_in(flow) == BLOCKED
    return write(tmp_path / "then.flow", [flow])


def _opened(path: Path, addon: ToolCalls) -> http.HTTPFlow:
    (flow,) = flows_in(path)
    for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
        hook(flow)
    return flow


def _shown(flow: http.HTTPFlow) -> str:
    assert flow.response is not None
    return contentviews.prettify_message(flow.response, flow, "Tool calls").text


def test_a_recording_has_the_verdicts_of_when_it_passed(recording: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with _running(toolcalls_log=str(log)) as (addon, _):
        flow = _opened(recording, addon)
        report = flow.metadata[flow_metadata.REPORT]
        assert (summary_in(flow), report["summary"], report["worst"]) == (BLOCKED, BLOCKED, "blocked")
        assert "status:blocked" in flow.metadata[flow_metadata.FILTER_WORDS]
        assert "status:lifted" not in flow.metadata[flow_metadata.FILTER_WORDS]
        assert json.loads(log.read_text())["status"] == "blocked"
        shown = _shown(flow)
    assert shown.startswith(f"SUMMARY: '{BLOCKED}'")
    assert "recorded:  the verdicts are those of when the reply passed" in shown
    assert f"current:   'by the current configuration: {LIFTED}'" in shown
    assert "current:   lifted Bash, text (invoke) → native call" in shown
    assert "client:    did not get it" in shown
    turn = turn_of(record_of(flow))
    assert (turn.summary, turn.current, turn.judged) == (BLOCKED, LIFTED, "")


def test_what_the_current_configuration_says_the_same_of_is_not_said_twice(recording: Path, tmp_path: Path) -> None:
    with _running(toolcalls_config=str(tmp_path / "then.yaml")) as (addon, _):
        flow = _opened(recording, addon)
        assert "current" not in flow.metadata[flow_metadata.REPORT]
        assert "current" not in _shown(flow)


@pytest.mark.parametrize("how", ["option", "command"])
def test_only_on_request_other_verdicts_replace_them(how: str, recording: Path, tmp_path: Path) -> None:
    with _running(toolcalls_rejudge=how == "option") as (addon, context):
        flow = _opened(recording, addon)
        if how == "command":
            view = context.master.addons.get("view")
            view.add([flow])
            view.focus.flow = flow
            context.master.commands.execute("toolcalls.judge @focus")
        report = flow.metadata[flow_metadata.REPORT]
        assert (summary_in(flow), report["summary"]) == (LIFTED, LIFTED)
        shown = _shown(flow)
        assert "  judged:    " in shown
        assert f"  recorded:  '{BLOCKED}'" in shown
        again = write(tmp_path / "again.flow", [flow])
        copy = tmp_path / "clean.flow"
        assert cli.main(["redact", str(again), str(copy)]) == 0
    for path in (again, copy):  # and they are still there
        with _running() as (addon, _):
            flow = _opened(path, addon)
            assert summary_in(flow) == BLOCKED
            assert flow.metadata[flow_metadata.REPORT]["current"]["summary"] == LIFTED


def test_a_flow_that_nobody_judged_then_says_so(tmp_path: Path) -> None:
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()), resp=True)
    flow.request.content = asked()
    flow.response = http.Response.make(200, b"".join(streamed(CALL)), {"content-type": "text/event-stream"})
    path = write(tmp_path / "bare.flow", [flow])
    with _running() as (addon, _):
        first = _opened(path, addon)
        assert first.metadata[flow_metadata.REPORT]["judged"] == "when it was read from a file"
        assert "  judged:    when it was read from a file, " in _shown(first)
    rules = tmp_path / "now.yaml"
    rules.write_text(BLOCKS)
    with _running(toolcalls_config=str(rules)) as (addon, _):  # what was only read from a file is read again
        assert summary_in(_opened(write(tmp_path / "read.flow", [first]), addon)) == BLOCKED


def test_exports_and_reports_have_them_too(recording: Path, tmp_path: Path) -> None:
    lines, har, page = (tmp_path / name for name in ("out.jsonl", "out.har", "out.html"))
    assert cli.main(["export", str(recording), "--format", "jsonl", "-o", str(lines)]) == 0
    assert cli.main(["export", str(recording), "--format", "har", "-o", str(har)]) == 0
    assert cli.main(["report", str(recording), "-o", str(page)]) == 0
    one = json.loads(lines.read_text())
    assert (one["summary"], one["judged"]) == (BLOCKED, None)
    (entry,) = json.loads(har.read_text())["log"]["entries"]
    assert (entry["comment"], entry["_toolcalls"]["summary"]) == (BLOCKED, BLOCKED)
    assert f"The current configuration gives: {LIFTED}" in page.read_text()


def test_judging_compares_with_the_verdicts_of_when_it_passed(
    recording: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["judge", str(recording)]) == 1
    assert f"{BLOCKED} → {LIFTED}" in capfd.readouterr().out


@pytest.mark.parametrize(
    "held",
    [
        None,
        7,
        {},
        {"verdicts": [1]},
        {"judged": "again"},
        {"judged": "again", "recorded": {"verdicts": {}}},
        {"judged": "again", "recorded": {"judged": "again"}},
    ],
)
def test_a_report_that_is_none_is_no_recorded_one(held: object, recording: Path) -> None:
    assert as_recorded(held) is None
    (flow,) = flows_in(recording)
    whole = as_recorded(flow.metadata[flow_metadata.REPORT])
    assert whole is not None
    flow.metadata[flow_metadata.REPORT] = held
    with _running() as (addon, _):
        for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
            hook(flow)
        assert flow.metadata[flow_metadata.REPORT]["judged"] == "when it was read from a file"


def test_places_alone_make_no_other_verdicts(recording: Path) -> None:
    """A recording without secrets has a text of another length."""
    (flow,) = flows_in(recording)
    report = as_recorded(flow.metadata[flow_metadata.REPORT])
    assert report is not None
    moved = {**report, "verdicts": [{**one, "start": one["start"] + 1} for one in report["verdicts"]]}
    assert "current" not in beside(report, moved)
    fewer = {**report, "verdicts": []}
    assert beside(report, fewer)["current"]["verdicts"] == []
    assert beside(fewer, report)["current"]["verdicts"][0]["differs"]
