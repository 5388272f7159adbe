"""`toolcalls record ls|show|merge|split`, and files of other programs that are read where flow files are."""

import json
import stat
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from support import manyflows
from support.loopback import CALL, TOOLS, flows_in, streamed
from toolcalls import cli
from toolcalls.flows.flow_files import flows, serialized
from toolcalls.flows.flow_index import entries_of, index_path
from toolcalls.flows.flow_redaction import redacted
from toolcalls.mitm.recording.folder import RecordingFolder
from toolcalls.mitm.recording.limits import Limits

FLOWS = [redacted(one) for one in (*manyflows.session(), *manyflows.others())]


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Two files of a recording; three exchanges are in both."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    for part in (FLOWS[:5], FLOWS[2:]):
        recording = RecordingFolder(folder, Limits())
        for one in part:
            recording.add(serialized(one), entries_of(one))
        recording.close("the test")
    return folder


def said(capfd: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert cli.main([*arguments]) == status
    return capfd.readouterr().out


def refused(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main([*arguments]) == 2
    err = capfd.readouterr().err
    assert len(err.splitlines()) == 1
    return err


# --- ls and show ------------------------------------------------------------------------------------------------------


def test_files_are_listed_with_what_is_missing(recordings: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = min(recordings.glob("*.flow"))
    end = {"ended": "now", "why": "mitmproxy ended", "exchanges": 5, "missing": 7, "reasons": {"the disk is full": 7}}
    lines = index_path(path).read_text().splitlines()[:-1]
    index_path(path).write_text("\n".join([*lines, json.dumps(end)]) + "\n")
    shown = said(capfd, "record", "ls", str(recordings)).splitlines()
    assert "mitmproxy ended; 7 records missing: the disk is full" in shown[0]
    assert "(the test)" in shown[1]
    assert shown[-1].startswith(f"2 files: {len(FLOWS) + 3} exchanges, ")


def test_exchanges_are_listed_without_reading_the_files(
    recordings: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcalls.flows.flow_index.flow_of_record", None)
    verdict = FLOWS[0].metadata["toolcalls"]["verdicts"][0]
    out = said(capfd, "record", "ls", str(recordings), "--verdict", verdict["status"], "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert FLOWS[0].id in {one["id"] for one in found}
    assert all(verdict["status"] in {each["status"] for each in one["verdicts"]} for one in found)
    assert said(capfd, "record", "ls", str(recordings), "--model", "no such model", status=1) == "no exchange\n"
    mistaken = said(capfd, "record", "ls", str(recordings), "--verdict", "declind", status=1)
    assert mistaken == 'no exchange: no verdict has the status or reason "declind"; did you mean "declined"?\n'
    none = said(capfd, "record", "ls", str(recordings), "--verdict", "overflow", "--model", "none such", status=1)
    assert none == "no exchange\n"


def test_an_exchange_is_shown(recordings: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wanted = FLOWS[0]
    shown = said(capfd, "record", "show", wanted.id[:13], str(recordings))
    assert f"exchange  {wanted.id}" in shown
    assert f"verdict   {wanted.metadata['toolcalls']['verdicts'][0]['status']}" in shown
    assert wanted.response is not None
    body = said(capfd, "record", "show", wanted.id, str(recordings), "--body", "client")
    assert body.encode() == wanted.response.raw_content
    out = tmp_path / "one.flow"
    said(capfd, "record", "show", wanted.id, str(recordings), "-o", str(out))
    assert [one.id for one in flows_in(out)] == [wanted.id]
    assert "no exchange has an id that begins with zz" in refused(capfd, "record", "show", "zz", str(recordings))


@pytest.mark.parametrize("name", ["nothing", "empty", "index"])
def test_what_is_no_recording_is_said(
    recordings: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "empty").mkdir()
    places = {"nothing": tmp_path / "no", "empty": tmp_path / "empty", "index": next(recordings.glob("*.index.jsonl"))}
    assert str(places[name]) in refused(capfd, "record", "ls", str(places[name]))


# --- merge and split --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.flows", "a.mitm", "A.FLOW"])
def test_a_folder_has_what_mitmproxy_s_files_are_called(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    manyflows.write(tmp_path / name, manyflows.session())
    assert name in said(capfd, "record", "ls", str(tmp_path))


def test_files_are_merged_by_time_each_flow_once(
    recordings: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "both.flow"
    said(capfd, "record", "merge", str(recordings), "-o", str(out))
    merged = flows_in(out)
    assert sorted(one.id for one in merged) == sorted(one.id for one in FLOWS)
    starts = [one.request.timestamp_start for one in merged]
    assert starts == sorted(starts)
    by_id = {one.id: serialized(one) for one in FLOWS}
    assert out.read_bytes() == b"".join(by_id[one.id] for one in merged)
    *lines, end = map(json.loads, index_path(out).read_text().splitlines())
    assert [one["id"] for one in lines] == [one.id for one in merged]
    assert end["exchanges"] == len(merged)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (out, index_path(out))} == {0o600}


@pytest.mark.parametrize("by", ["session", "model", "agent", "day", "size"])
def test_files_are_split(recordings: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], by: str) -> None:
    folder = tmp_path / "parts"
    said(capfd, "record", "split", str(recordings), "--by", by, "--size", "20k", "-o", str(folder))
    parts = [[one.id for one in flows_in(path)] for path in sorted(folder.glob("part-*.flow"))]
    assert sorted(id_ for part in parts for id_ in part) == sorted(one.id for one in FLOWS)
    for path in folder.glob("part-*.flow"):
        *entries, _ = map(json.loads, index_path(path).read_text().splitlines())
        key = {"day": lambda one: one["time"][:10], "size": lambda _: ""}.get(by, lambda one: one[by])
        assert len({key(one) for one in entries}) == 1
    if by == "size":
        assert all(path.stat().st_size <= 20 * 1024 or len(flows_in(path)) == 1 for path in folder.glob("*.flow"))
    assert "is there already" in refused(capfd, "record", "split", str(recordings), "--by", by, "-o", str(folder))


# --- files of other programs ------------------------------------------------------------------------------------------

ASKED = {"model": "m", "messages": [{"role": "user", "content": "list the files"}], "tools": TOOLS, "stream": True}
URL = "https://api.example.com/v1/chat/completions"
STREAM = b"".join(streamed(CALL)).decode()
WHOLE = {
    "id": "c1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": CALL}, "finish_reason": "stop"}],
}


def har_entry(**response: Any) -> dict[str, Any]:
    """As Chrome writes it: HTTP/2's pseudo-headers, and a coding that the text has no more."""
    return {
        "startedDateTime": "2026-11-23T07:00:00.000Z",
        "time": 1500.5,
        "timings": {"receive": 500.5},
        "request": {
            "method": "POST",
            "url": URL,
            "httpVersion": "h2",
            "headers": [{"name": ":method", "value": "POST"}, {"name": "content-type", "value": "application/json"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(ASKED)},
        },
        "response": {
            "status": 200,
            "statusText": "",
            "httpVersion": "h2",
            "headers": [
                {"name": "content-type", "value": "text/event-stream"},
                {"name": "content-encoding", "value": "br"},
            ],
            "content": {"size": 1, "mimeType": "text/event-stream", "text": STREAM},
            **response,
        },
    }


def har(*entries: dict[str, Any]) -> str:
    return json.dumps({"log": {"version": "1.2", "entries": entries}}, indent=1)


CAPTURES = {
    "browser.har": har(har_entry()),
    "base64.har": har(har_entry(content={"encoding": "base64", "text": b64encode(STREAM.encode()).decode()})),
    "bom.har": "\ufeff" + har(har_entry()),
    "claude-trace.jsonl": json.dumps(
        {
            "request": {"timestamp": 1_800_000_000.5, "method": "POST", "url": URL, "headers": {}, "body": ASKED},
            "response": {
                "timestamp": 1_800_000_001.5,
                "status_code": 200,
                "headers": {"content-type": "text/event-stream", "content-encoding": "gzip"},
                "body_raw": STREAM,
            },
            "logged_at": "2026-11-23T07:00:00.000Z",
        }
    ),
    "litellm.jsonl": json.dumps(
        {
            "id": "x",
            "call_type": "acompletion",
            "status": "success",
            "model": "m",
            "api_base": "https://api.example.com",
            "startTime": 1_800_000_000.5,
            "endTime": 1_800_000_001.5,
            "messages": ASKED["messages"],
            "model_parameters": {"tools": TOOLS, "stream": True},
            "response": WHOLE,
        }
    ),
    "openpipe.jsonl": json.dumps({"input": ASKED, "output": WHOLE, "tags": {}}),
}


@pytest.mark.parametrize("name", CAPTURES)
def test_what_other_programs_captured_is_read_by_every_command(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(CAPTURES[name] + "\n", encoding="utf-8")
    judged = json.loads(said(capfd, "judge", "--json", str(path)))
    (one,) = judged["flows"]
    assert [(each["status"], each["name"]) for each in one["verdicts"]] == [("lifted", "Bash")]
    again = json.loads(said(capfd, "judge", "--json", str(path)))
    assert again["flows"][0]["flow"] == one["flow"]
    assert "m at " in said(capfd, "stats", str(path))
    out = tmp_path / "out"
    said(capfd, "report", str(path), "-o", str(out))
    assert "1 exchange, 1 call\n" in said(capfd, "report", str(path), "-o", str(out))
    said(capfd, "export", str(path), "--format", "jsonl", "-o", str(out))
    assert json.loads(out.read_text().splitlines()[0])["model"] == "m"
    said(capfd, "record", "merge", str(path), "-o", str(tmp_path / "made.flow"))
    assert [flow.id for flow in flows_in(tmp_path / "made.flow")] == [one["flow"]]
    listed = json.loads(said(capfd, "record", "ls", "-x", "--json", str(tmp_path / "made.flow")))
    assert (listed["id"], listed["wire"], listed["model"]) == (one["flow"], "openai_chat", "m")


def test_a_request_of_a_browser_that_got_no_reply_is_one_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "failed.har"
    path.write_text(har(har_entry(status=0, statusText="net::ERR_FAILED", content={})))
    (flow,) = flows_in_capture(path)
    assert flow.response is None
    assert flow.error is not None
    assert flow.error.msg == "net::ERR_FAILED"


def test_the_messages_of_a_websocket_and_the_times_are_read(tmp_path: Path) -> None:
    path = tmp_path / "socket.har"
    messages = [
        {"type": "send", "time": 1_800_000_000.0, "opcode": 1, "data": '{"type": "response.create"}'},
        {"type": "receive", "time": 1_800_000_001.0, "opcode": 2, "data": b64encode(b"\x00\x01").decode()},
    ]
    path.write_text(har({**har_entry(), "_webSocketMessages": messages}))
    (flow,) = flows_in_capture(path)
    assert flow.websocket is not None
    assert [(one.from_client, one.content) for one in flow.websocket.messages] == [
        (True, b'{"type": "response.create"}'),
        (False, b"\x00\x01"),
    ]
    assert flow.response.timestamp_start - flow.request.timestamp_start == pytest.approx(1.0, abs=0.001)
    assert flow.response.timestamp_end - flow.request.timestamp_start == pytest.approx(1.5005, abs=0.001)


def flows_in_capture(path: Path) -> list[Any]:
    return list(flows(str(path)))


@pytest.mark.parametrize("created", [1_702_666_185, 1_702_666_185_703])
def test_a_line_of_openpipe_says_when_it_was_answered_and_what_failed(created: int, tmp_path: Path) -> None:
    path = tmp_path / "openpipe.jsonl"
    failed = {"error": {"message": "rate limited"}}
    answers = [{**WHOLE, "created": created}, failed, "no answer"]
    lines = [json.dumps({"input": ASKED, "output": answer, "tags": {"prompt_id": "test"}}) for answer in answers]
    path.write_text("\n".join(lines), encoding="utf-8")
    told, error, other = flows_in_capture(path)
    assert told.request.timestamp_start == pytest.approx(1_702_666_185, abs=1)
    assert [one.response.status_code for one in (told, error, other)] == [200, 500, 500]
    assert json.loads(error.response.content) == failed
    assert json.loads(other.response.content) == {"error": "no answer"}


def test_a_line_that_cannot_be_read_is_named_and_left_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.jsonl"
    good = CAPTURES["openpipe.jsonl"]
    path.write_text(f'{good}\n{{"input": 1}}\n{good}\n', encoding="utf-8")
    assert len(flows_in_capture(path)) == 2
    assert f"{path}: line 2 cannot be read and is left out" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["{}", '{"a": 1}\n{"b": 2}\n', '{\n "log": 3\n}', "{not json"])
def test_json_that_is_no_capture_is_one_line(text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.json"
    path.write_text(text, encoding="utf-8")
    assert f"{path}" in refused(capfd, "stats", str(path))
