"""WebSocket connections from a file: judged again, reported, exported and shown as replies over HTTP are.

Strategy: one real mitmdump in front of a scripted upstream records a few connections; all that is asked here is asked
of that file. What was recorded is known, so is what must be found: by the same rules the same, by others others.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import contentviews, http
from mitmproxy.test import taddons

from support.addons import summary_in
from support.fiveroutes import INVOKE
from support.loopback import Growing, flows_in, mitmdump
from support.responsesclient import stream, understood
from support.responsesscene import CREATE, NATIVE, pieces
from support.sockets import connected, upstream
from support.waiting import until
from toolcalls import cli
from toolcalls.flows import flow_metadata
from toolcalls.flows.flow_records import records_of
from toolcalls.flows.flow_redaction import redacted
from toolcalls.flows.recorded_verdicts import as_recorded
from toolcalls.flows.reports import Reading, all_of, reading_of
from toolcalls.flows.websocket.connection import replay
from toolcalls.flows.websocket.turns import (
    MESSAGES_KEY,
    TURNS_KEY,
    original_messages,
    store_original,
    store_report,
    turn_reports,
    turns_of,
)
from toolcalls.insight.turn import turn_of
from toolcalls.mitm.commands.explain import ExplainCommands
from toolcalls.mitm.commands.rejudge import JudgeCommands
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.views import add_views
from toolcalls.mitm.views import message as looked_at
from toolcalls.mitm.views.bodies import ClientBodyView, UpstreamBodyView
from toolcalls.mitm.views.calls import ToolCallsView
from toolcalls.mitm.views.conversation import ConversationView
from toolcalls.route import Config
from toolcalls.tools.options import configuration

CONFIG = """
routes:
  - {name: lift, match: {path: "/lift/*"}, client: native, upstream: text}
  - {name: lower, match: {path: "/lower/*"}, client: invoke, upstream: native}
  - {name: block, match: {path: "/block/*"}, access: {message: "No.", rules: [{name: n, action: block, tools: now}]}}
"""
STRICT = CONFIG.replace("upstream: text}", "upstream: text, policy: strict}")
LIFT, LOWER, BLOCK = ("/lift/v1/responses", "/lower/v1/responses", "/block/v1/responses")


class Recording:
    """The file, the configuration that it was made with, and what the clients were told."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "sockets.flow"
        self.config = folder / "toolcalls.yaml"
        self.config.write_text(CONFIG, encoding="utf-8")
        self.strict = folder / "strict.yaml"
        self.strict.write_text(STRICT, encoding="utf-8")
        self.turn_of: dict[str, list[list[dict[str, Any]]]] = {}

    def flow(self, path: str) -> http.HTTPFlow:
        (flow,) = [flow for flow in flows_in(self.path) if flow.request.path == path]
        return flow


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("recorded")
    made = Recording(folder)
    first, second = [INVOKE[0]], ["Let me look.\n", *pieces(f"{INVOKE[1]}\nThat is all.")]
    replies = {
        LIFT: [stream([first]), stream([second], response_id="resp_2")],
        LOWER: [stream([["Look."], *NATIVE])],
        BLOCK: [stream([["Look."], *NATIVE])],
    }
    with (
        upstream() as server,
        mitmdump(folder, "-w", str(made.path), "--set", f"toolcalls_config={made.config}", to=server.url) as dump,
    ):
        for path, events in replies.items():
            server.replies = [[[event] for event in one] for one in events]
            with connected(dump.port, path) as socket:
                made.turn_of[path] = [socket.ask({**CREATE, "input": f"go {number}"}) for number in range(len(events))]
        Growing(made.path).wait_for(lambda flows: len(flows) == len(replies))
    return made


def statuses(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(verdict["status"], verdict["name"]) for verdict in report["verdicts"]]


RECORDED = {
    LIFT: [("lifted", "read_file"), ("lifted", "now")],
    LOWER: [("lowered", "read_file"), ("lowered", "now")],
    BLOCK: [("native", "read_file"), ("blocked", "now")],
}


@pytest.mark.parametrize("path", RECORDED)
def test_what_is_recorded(recording: Recording, path: str) -> None:
    flow = recording.flow(path)
    assert sorted(statuses(flow.metadata[flow_metadata.REPORT])) == sorted(RECORDED[path])
    assert [one["number"] for one in turn_reports(flow)] == list(range(len(recording.turn_of[path])))


@pytest.mark.parametrize("path", RECORDED)
def test_each_turn_has_both_sides(recording: Recording, path: str) -> None:
    turns = turns_of(recording.flow(path))
    assert [json.loads(turn.asked)["input"] for turn in turns] == [f"go {n}" for n in range(len(turns))]
    for turn, events in zip(turns, recording.turn_of[path], strict=True):
        assert [json.loads(line) for line in turn.client.body.splitlines()] == events
        came = [json.loads(line) for line in turn.upstream.body.splitlines()]
        assert understood(came).status == "completed"
        assert came != events
        assert turn.ended is not None
        assert turn.upstream.microseconds == sorted(turn.upstream.microseconds)


def test_the_upstreams_own_messages_are_kept(recording: Recording) -> None:
    (turn,) = turns_of(recording.flow(LOWER))
    assert [json.loads(line) for line in turn.upstream.body.splitlines()] == stream([["Look."], *NATIVE])


@pytest.mark.parametrize("path", RECORDED)
def test_it_is_read_again_from_what_came(recording: Recording, path: str) -> None:
    flow = recording.flow(path)
    before = [(message.content, message.dropped) for message in flow.websocket.messages] if flow.websocket else []
    found = replay(flow, configuration(str(recording.config)))
    again = [(one.status, one.name) for _, exchange in found for _, one in exchange.verdicts]
    assert sorted(again) == sorted(RECORDED[path])
    assert [(message.content, message.dropped) for message in flow.websocket.messages] == before


def test_judge_finds_the_same_and_by_other_rules_others(
    recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["judge", str(recording.path), "--config", str(recording.config)]) == 0
    assert capsys.readouterr().out == "3 same\n"
    assert cli.main(["judge", str(recording.path), "--config", str(recording.strict)]) == 1
    turn_of = capsys.readouterr().out
    assert "1 changed, 2 same" in turn_of
    assert "not_terminal" in turn_of


NOW = "lifted read_file (invoke) · 1 declined: not_terminal"


@pytest.mark.parametrize("rejudge", [False, True], ids=["as it was", "on request"])
def test_other_rules_judge_a_file_only_on_request(recording: Recording, tmp_path: Path, *, rejudge: bool) -> None:
    out = tmp_path / "again.flow"
    journal = tmp_path / "log.jsonl"
    options = [
        "-n", "-r", str(recording.path), "-w", str(out),
        "--set", f"toolcalls_config={recording.strict}", "--set", f"toolcalls_log={journal}",
        "--set", f"toolcalls_rejudge={str(rejudge).lower()}",
    ]  # fmt: skip
    with mitmdump(tmp_path, *options) as dump:
        assert dump.ended() == 0
    (flow,) = [flow for flow in flows_in(out) if flow.request.path == LIFT]
    then = recording.flow(LIFT).metadata[flow_metadata.REPORT]
    report = flow.metadata[flow_metadata.REPORT]
    if rejudge:
        assert statuses(report) == [("lifted", "read_file"), ("declined", "now")]
        assert summary_in(flow) == NOW
        assert report["judged"]
        assert [as_recorded(one) is not None for one in turn_reports(flow)] == [True, True]
    else:
        assert report["verdicts"] == then["verdicts"]
        assert summary_in(flow) == then["summary"]
        assert report["current"]["summary"] == NOW
    old = recording.flow(LIFT)
    assert [message.content for message in flow.websocket.messages] == [
        message.content for message in old.websocket.messages
    ]
    names = [json.loads(line)["name"] for line in journal.read_text(encoding="utf-8").splitlines()]
    assert sorted(names) == ["now", "now", "now", "read_file", "read_file", "read_file"]


# --- views ------------------------------------------------------------------------------------------------------------


def shown(flow: http.HTTPFlow, view: contentviews.Contentview) -> list[str]:
    """What a view says of each message for which it is the first choice."""
    found = []
    for message in flow.websocket.messages if flow.websocket else ():
        metadata = contentviews.Metadata(flow=flow, websocket_message=message)
        if view.render_priority(message.content, metadata) > 0:
            found.append(view.prettify(message.content, metadata))
    return found


def test_the_message_that_ends_a_reply_shows_what_became_of_it(recording: Recording) -> None:
    first, second = shown(recording.flow(LIFT), ToolCallsView())
    assert "lifted read_file (invoke)" in first
    assert "now" not in first.splitlines()[0]
    assert "lifted now (invoke)" in second
    assert "Let me look." in second
    (lowered,) = shown(recording.flow(LOWER), ToolCallsView())
    assert "lowered" in lowered


def test_the_answer_to_the_upgrade_shows_the_latest_replies(recording: Recording) -> None:
    """mitmweb shows the first messages of a connection only, and so never the last reply of a long one."""
    flow = recording.flow(LIFT)
    metadata = contentviews.Metadata(flow=flow, http_message=flow.response)
    view = ToolCallsView()
    assert view.render_priority(b"", metadata) > 1
    latest, *_ = view.prettify(b"", metadata).split("REPLY 1:")
    listed, reply = latest.split("REPLY 2:\n")
    assert listed.splitlines()[0] == "# 2 replies over this WebSocket, the latest first"
    assert [line.split()[1] for line in listed.splitlines()[2:] if line.strip()] == ["2", "1"]
    assert reply.startswith("SUMMARY: lifted now (invoke)")
    assert '      <invoke name="now">' in reply
    assert "    Let me look." in reply
    assert "begins: now" in ClientBodyView().prettify(b"", metadata)
    (number,) = {one["number"] for one in turn_reports(flow)[1:]}
    store_report(flow, number, {**turn_reports(flow)[1], "summary": "judged anew"})
    assert "judged anew" in view.prettify(b"", metadata)


def test_a_long_connection_is_read_in_small_parts(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens it sees that more comes, and then the latest reply; the proxy's loop goes on meanwhile."""
    monkeypatch.setattr(looked_at, "_MESSAGES", 3)
    flow = recording.flow(LIFT)
    metadata = contentviews.Metadata(flow=flow, http_message=flow.response)
    whole = ToolCallsView().prettify(b"", metadata)
    again = recording.flow(LIFT)
    metadata = contentviews.Metadata(flow=again, http_message=again.response)
    updates: list[Any] = []

    async def work() -> None:
        with taddons.context() as context:
            monkeypatch.setattr(context.master.addons, "trigger", updates.append)
            shown_ = ToolCallsView().prettify(b"", metadata)
            assert shown_ != whole
            await until(lambda: updates)
            assert ToolCallsView().prettify(b"", metadata) == whole

    asyncio.run(work())
    assert [update.flows for update in updates] == [[again]]


def test_both_sides_are_shown_with_their_times(recording: Recording) -> None:
    flow = recording.flow(LIFT)
    upstream, client = (shown(flow, view)[1] for view in (UpstreamBodyView(), ClientBodyView()))
    assert "response.output_text.delta" in upstream or "<invoke" in upstream
    assert "function_call" in client
    assert "function_call" not in upstream
    assert " ms" in client or " s" in client


def test_a_request_shows_the_conversation(recording: Recording) -> None:
    first, second = shown(recording.flow(LIFT), ConversationView())
    assert "go 0" in first
    assert "read_file" in first
    assert "go 1" in second


def test_other_messages_have_no_view_of_ours(recording: Recording) -> None:
    flow = recording.flow(LIFT)
    assert flow.websocket is not None
    delta = next(message for message in flow.websocket.messages if b"output_text.delta" in message.content)
    metadata = contentviews.Metadata(flow=flow, websocket_message=delta)
    for view in (ToolCallsView(), UpstreamBodyView(), ClientBodyView(), ConversationView()):
        assert view.render_priority(delta.content, metadata) < 0
        with pytest.raises(ValueError, match="addon"):
            view.prettify(delta.content, metadata)


# --- sessions and exports ---------------------------------------------------------------------------------------------


def test_each_turn_is_an_exchange_of_its_own(recording: Recording, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    given = ["export", str(recording.path), "--config", str(recording.config), "--content", "-o", str(out)]
    assert cli.main([*given, "--format", "jsonl"]) == 0
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    id_ = recording.flow(LIFT).id
    mine = [line for line in lines if line["flow"].partition(".")[0] == id_]
    assert [line["flow"] for line in mine] == [id_, f"{id_}.1"]
    assert [[verdict["name"] for verdict in line["verdicts"]] for line in mine] == [["read_file"], ["now"]]
    assert len(lines) == 4
    har = tmp_path / "out.har"
    assert (
        cli.main(["export", str(recording.path), "--config", str(recording.config), "--format", "har", "-o", str(har)])
        == 0
    )
    assert len(json.loads(har.read_text(encoding="utf-8"))["log"]["entries"]) == 4


def test_the_page_shows_each_turn(recording: Recording, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    assert cli.main(["report", str(recording.path), "--config", str(recording.config), "-o", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    id_ = recording.flow(LIFT).id
    assert f"flow {id_}<" in page or f"flow {id_} " in page or id_ in page
    assert f"{id_}.1" in page


def test_turns_know_when_what_came(recording: Recording) -> None:
    first, second = records_of(recording.flow(LIFT))
    assert second.started > first.started
    for one in (first, second):
        turn = turn_of(one)
        moments = turn.moments
        assert moments.first_byte is not None
        assert moments.call_complete is not None
        assert moments.end is not None
        assert 0 <= moments.first_byte <= moments.call_complete <= moments.end
        assert one.request_body != one.upstream_body
        assert [verdict.status for verdict in turn.verdicts] == ["lifted"]


def read_again(flow: http.HTTPFlow, config: Config) -> dict[str, Any]:
    found = reading_of(flow, config)
    assert isinstance(found, Reading)
    return found.report


def test_a_recording_without_our_marks_is_read_as_it_is(recording: Recording) -> None:
    """One that was made without the addon, or by an older one."""
    flow = recording.flow(BLOCK)
    flow.metadata.clear()
    config = configuration(str(recording.strict))
    report = read_again(flow, config)
    assert sorted(statuses(report)) == sorted(RECORDED[BLOCK])
    (one,) = all_of(flow, config)
    assert one.report["verdicts"] == report["verdicts"]
    odd = {
        MESSAGES_KEY: [1, [True], [False, "x", b""], [0, 0, "text"]],
        TURNS_KEY: ["x", {"number": []}],
    }
    flow.metadata.update(odd)
    assert read_again(flow, config)["verdicts"] == report["verdicts"]
    assert turn_reports(flow) == []
    assert [one.report["verdicts"] for one in all_of(flow, config)] == [report["verdicts"]]


# --- commands ---------------------------------------------------------------------------------------------------------


def test_commands_look_at_every_turn(recording: Recording) -> None:
    flow = recording.flow(LIFT)
    add_views()
    with taddons.context() as context:
        config_file = ConfigFile(str(recording.strict))
        explaining, judging = ExplainCommands(lambda: config_file), JudgeCommands(lambda: config_file)
        context.master.addons.add(explaining, judging)
        rows = "\n".join(" ".join(map(str, row)) for row in explaining.why(flow))
        assert "read_file" in rows
        assert "now" in rows
        judging.judge([flow])
    assert statuses(flow.metadata[flow_metadata.REPORT]) == [("lifted", "read_file"), ("declined", "now")]
    assert [one["number"] for one in turn_reports(flow)] == [0, 1]
    assert [[verdict["status"] for verdict in one.report["verdicts"]] for one in records_of(flow)] == [
        ["lifted"], ["declined"],
    ]  # fmt: skip


def test_what_is_redacted_is_judged_as_before(
    recording: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Secrets go from the messages as they came, too."""
    secret = "sk-ant-api03-" + "a" * 40
    flow = recording.flow(LIFT)
    (side, number), content = next(iter(original_messages(flow).items()))
    store_original(flow, flow.websocket.messages[0], 99, content + secret.encode())
    clean = redacted(flow)
    assert (side, number) in original_messages(clean)
    assert secret.encode() not in b"".join(original_messages(clean).values())
    out = tmp_path / "clean.flow"
    assert cli.main(["redact", str(recording.path), str(out)]) == 0
    capsys.readouterr()
    assert cli.main(["judge", str(out), "--config", str(recording.config)]) == 0
    assert capsys.readouterr().out == "3 same\n"
