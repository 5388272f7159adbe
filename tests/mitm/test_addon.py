"""The addon as its users meet it: options, reload, log, flow view, filters, comments and marks."""

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import contentviews, exceptions, http
from mitmproxy.test import taddons, tflow, tutils
from mitmproxy.utils import emoji

from support.addons import summary_in
from support.loopback import (
    CALL,
    MAIN,
    PATH,
    asked,
    streamed,
)
from toolcalls.flows import exchange_plan, flow_metadata
from toolcalls.insight.vocabulary.reasons import remedy_of
from toolcalls.mitm import config_file
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.views.calls import ToolCallsView

TEXT = f"Let me look.\n\n{CALL}"
FENCED = f"Like so:\n\n```\n{CALL}\n```\n"
SECRET = "sk-0123456789"


@pytest.fixture
def context() -> Iterator[tuple[ToolCalls, Any]]:
    addon = ToolCalls()
    with taddons.context(addon) as made:
        made.configure(addon)
        yield addon, made


@pytest.fixture
def addon(context: tuple[ToolCalls, Any]) -> ToolCalls:
    return context[0]


def _exchange(addon: ToolCalls, text: str, **request: Any) -> http.HTTPFlow:
    """A flow that has gone through the addon, with a whole reply that writes `text`."""
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=b"%b?key=%b" % (PATH.encode(), SECRET.encode())), resp=True)
    flow.request.content = asked(**request)
    flow.request.headers["authorization"] = SECRET
    flow.response = http.Response.make(200, b"".join(streamed(text)), {"content-type": "text/event-stream"})
    flow.live = True
    for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
        hook(flow)
    return flow


def _view(flow: http.HTTPFlow) -> str:
    assert flow.response is not None
    return contentviews.prettify_message(flow.response, flow, "tool calls").text


# --- options ----------------------------------------------------------------------------------------------------------

MISTAKES = {
    "toolcalls_config": ("nowhere.yaml", "nowhere.yaml:1: the file cannot be read"),
    "toolcalls_log": ("nowhere/log.jsonl", "toolcalls_log: "),
}


@pytest.mark.parametrize("option", MISTAKES)
def test_a_wrong_option_is_refused(context: tuple[ToolCalls, Any], tmp_path: Path, option: str) -> None:
    value, message = MISTAKES[option]
    addon, made = context
    with pytest.raises(exceptions.OptionsError, match=re.escape(message)):
        made.configure(addon, **{option: str(tmp_path / value)})
    assert getattr(made.options, option) == ""
    assert summary_in(_exchange(addon, TEXT)) == "lifted Bash (invoke)"


def test_the_default_rules_are_those_that_ship() -> None:
    assert config_file.ConfigFile("").path == MAIN.parents[1] / "config" / "toolcalls.yaml"


# --- changes while it runs --------------------------------------------------------------------------------------------


@pytest.fixture
def changing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of rules that lifts nothing, and no waiting between two looks at it."""
    monkeypatch.setattr(config_file, "_INTERVAL", 0)
    path = tmp_path / "rules.yaml"
    path.write_text("defaults: {upstream: native}\n")
    return path


def test_rules_are_read_again_when_they_change(context: tuple[ToolCalls, Any], changing: Path) -> None:
    addon, made = context
    made.configure(addon, toolcalls_config=str(changing))
    assert summary_in(_exchange(addon, TEXT)) == "1 declined: observed"
    changing.write_text("defaults: {upstream: text, policy: strict}\n")
    assert summary_in(_exchange(addon, TEXT)) == "lifted Bash (invoke)"


def test_wrong_rules_leave_the_old_ones_with_one_line(
    context: tuple[ToolCalls, Any], changing: Path, caplog: pytest.LogCaptureFixture
) -> None:
    addon, made = context
    made.configure(addon, toolcalls_config=str(changing))
    for wrong in ("polisy: standard\nroutes: 1\n", None):
        caplog.clear()
        if wrong is None:
            changing.unlink()
        else:
            changing.write_text(wrong)
        for _ in range(3):
            assert summary_in(_exchange(addon, TEXT)) == "1 declined: observed"
        (line,) = [record.message for record in caplog.records if "the old configuration stays" in record.message]
        assert "\n" not in line
        assert "rules.yaml:1: " in line


def test_the_file_is_looked_at_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("version: 1\n")
    now = [100.0]
    monkeypatch.setattr("toolcalls.mitm.config_file.time.monotonic", lambda: now[0])
    read = config_file.ConfigFile(str(path))
    path.write_text("defaults: {policy: strict}\n")
    now[0] += 0.9
    assert read.current().default.policy == "standard"
    now[0] += 0.2
    assert read.current().default.policy == "strict"


# --- log --------------------------------------------------------------------------------------------------------------


def test_the_log_has_a_line_for_each_verdict_and_no_secret(context: tuple[ToolCalls, Any], tmp_path: Path) -> None:
    addon, made = context
    path = tmp_path / "log.jsonl"
    made.configure(addon, toolcalls_log=str(path))
    _exchange(addon, f"{CALL}\n\nAnd then:\n\n{FENCED}")
    _exchange(addon, "hello")
    made.configure(addon, toolcalls_log="")
    _exchange(addon, TEXT)
    lines = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
    assert [(line["status"], line["reason"], line["name"]) for line in lines] == [
        ("lifted", None, "Bash"),
        ("declined", "fenced", "Bash"),
    ]
    assert {line["path"] for line in lines} == {PATH}
    assert SECRET not in path.read_text(encoding="ascii")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_disk_stops_the_log_and_nothing_else(
    context: tuple[ToolCalls, Any], caplog: pytest.LogCaptureFixture
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    addon, made = context
    before = Path("/dev/full").stat().st_mode
    made.configure(addon, toolcalls_log="/dev/full")
    assert Path("/dev/full").stat().st_mode == before
    for _ in range(2):
        assert summary_in(_exchange(addon, TEXT)) == "lifted Bash (invoke)"
    assert sum("cannot be written" in record.message for record in caplog.records) == 1


def test_what_is_printed_says_why_and_holds_no_secret_and_no_control(
    addon: ToolCalls, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "toolcalls")
    _exchange(addon, CALL.replace("Bash", "Ba\x1b]52;c;x\x07\u202esh"), tools=False)
    _exchange(addon, FENCED)
    _exchange(addon, "hello")
    lines = [record.message for record in caplog.records if record.name.startswith("toolcalls")]
    assert lines[-1] == (
        f"toolcalls: POST {PATH} (m): 1 possibly lost: fenced | Bash, text (invoke) → stays as it is. "
        "possibly lost: fenced: it is in a fenced code block; it is accepted if the route has take: [fenced]"
    )
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"content": b"{"}, "the request cannot be read: the request body is not JSON"),
        ({"raw_content": None}, "the request was streamed"),
        ({"content": b"[" * 200}, "the request is larger than 100 bytes"),
    ],
    ids=["no-json", "streamed", "large"],
)
def test_why_a_reply_passes_unread(
    addon: ToolCalls,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    reason: str,
) -> None:
    caplog.set_level("INFO", "toolcalls")
    monkeypatch.setattr(exchange_plan, "MAX_REQUEST", 100)
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()), resp=True)
    flow.live = True
    for name, value in change.items():
        setattr(flow.request, name, value)
    flow.response = http.Response.make(200, b"".join(streamed(TEXT)), {"content-type": "text/event-stream"})
    for hook in (addon.request, addon.responseheaders, addon.response):
        hook(flow)
    assert flow.response.raw_content == b"".join(streamed(TEXT))
    assert [reason in record.message for record in caplog.records] == [True]


# --- remedies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "request_", "reason", "after"),
    [
        ("{}", {"tools": False}, "no_tools", "{client: native, take: [undeclared]}"),
        ("{}", {"tools": False}, "no_tools", "{client: native, tools: [{name: Bash}]}"),
        ("{client: native}", {"tools": False}, "no_tools", "{client: native, take: [undeclared]}"),
        ("{upstream: native}", {}, "observed", "{upstream: text}"),
    ],
)
def test_the_remedy_of_a_reason_takes_the_call(
    context: tuple[ToolCalls, Any], tmp_path: Path, before: str, request_: dict[str, Any], reason: str, after: str
) -> None:
    addon, made = context
    for number, (defaults, comment) in enumerate(((before, f"1 declined: {reason}"), (after, "lifted Bash (invoke)"))):
        path = tmp_path / f"{number}.yaml"
        path.write_text(f"defaults: {defaults}\n")
        made.configure(addon, toolcalls_config=str(path))
        assert summary_in(_exchange(addon, TEXT, **request_)) == comment
    words = remedy_of(reason)
    assert all(key in words for key in re.findall(r"client|tools|take|upstream", after))


# --- comment and mark -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "request_", "comment", "mark"),
    [
        (TEXT, {}, "lifted Bash (invoke)", ":wrench:"),
        (FENCED, {}, "1 possibly lost: fenced", ":warning:"),
        (f"{FENCED}\nSo it is done.", {}, "1 declined: fenced", ":eyes:"),
        (TEXT, {"tools": False}, "1 declined: no_tools", ":eyes:"),
        ("hello", {}, "", ""),
    ],
    ids=["lifted", "possibly lost", "declined", "no tools", "nothing"],
)
def test_comment_and_mark(addon: ToolCalls, text: str, request_: dict[str, Any], comment: str, mark: str) -> None:
    flow = _exchange(addon, text, **request_)
    assert (summary_in(flow), flow.marked) == (comment, mark)


def test_every_mark_is_an_emoji() -> None:
    assert set(flow_metadata.MARKS.values()) <= set(emoji.emoji)


def test_native_calls_bear_no_mark(addon: ToolCalls) -> None:
    flow = _exchange(addon, "")
    flow_metadata.annotate(flow, {"summary": "native Bash", "worst": "native"})
    assert (summary_in(flow), flow.marked) == ("native Bash", "")


def test_a_users_own_comment_and_mark_stay() -> None:
    flow = tflow.tflow(resp=True)
    flow.comment, flow.marked = "look at this", ":pig:"
    flow_metadata.annotate(flow, {"summary": "lifted Bash", "worst": "lifted"})
    flow_metadata.annotate(flow, {"summary": "", "worst": None})
    assert (summary_in(flow), flow.marked) == ("look at this", ":pig:")


def test_our_own_comment_and_mark_are_replaced() -> None:
    flow = tflow.tflow(resp=True)
    flow_metadata.annotate(flow, {"summary": "lifted Bash", "worst": "lifted"})
    flow_metadata.annotate(flow, {"summary": "1 declined: fenced", "worst": "declined"})
    assert (summary_in(flow), flow.marked) == ("1 declined: fenced", ":eyes:")
    flow_metadata.clear(flow)
    assert (summary_in(flow), flow.marked, flow.metadata) == ("", "", {})


# --- the view ---------------------------------------------------------------------------------------------------------


def test_the_view_says_first_what_became_of_the_call(addon: ToolCalls) -> None:
    shown = _view(_exchange(addon, f"{TEXT}\n\nAnd then:\n\n{FENCED}")).splitlines()
    assert shown[0] == "SUMMARY: 'lifted Bash (invoke) · 1 declined: fenced'"
    assert "  because:   the request declares 1 tool" in shown
    lifted, declined, got = (
        next(number for number, line in enumerate(shown) if line.startswith(word))
        for word in ("1 LIFTED  Bash", "2 DECLINED  Bash", "CLIENT GOT, finish tool_calls")
    )
    assert lifted < declined < got
    assert shown[lifted + 1 : lifted + 3] == [
        "  model:     wrote this call as text (invoke)",
        "  client:    got a native call",
    ]
    assert '      <invoke name="Bash">' in shown[lifted:declined]
    assert '               "command": "ls -la"' in shown[lifted:declined]
    assert "  client:    got the text as the model wrote it" in shown[declined:got]
    assert "  rule:      'fenced: it is in a fenced code block'" in shown[declined:got]
    assert "    Let me look." in shown[got:]


def test_the_view_shows_what_is_hidden(addon: ToolCalls) -> None:
    shown = _view(_exchange(addon, "one\ttwo\r\nthree \x1b[2J \u202e \x9b \u200b \xad \u3164 \U000e0041 é\u3000漢"))
    assert "    one\ttwo\n    three \\x1b[2J \\u202e \\x9b \\u200b \\xad \\u3164 \\U000e0041 é\u3000漢" in shown
    assert all(character.isprintable() or character in "\n\t\u3000" for character in shown)


def test_arguments_are_shown_as_they_are(addon: ToolCalls) -> None:
    """No number is rounded and no key is dropped; what was cut off is shown as far as it came."""
    flow = _exchange(addon, TEXT)
    verdict = flow.metadata[flow_metadata.REPORT]["verdicts"][0]
    verdict["arguments"] = '{"a":12345678901234567890.10,"a":1e400}'
    assert '  "a": 12345678901234567890.10,\n               "a": 1e400\n' in _view(flow)
    verdict["arguments"] = r'{"a":"one\r\n\ttwo \u202e\n","b":["\\n","x\ny"]}'
    shown = [line.strip(" ") for line in _view(flow).splitlines()]
    start = shown.index('"a":')
    assert shown[start : start + 4] == ['"a":', "│ one\\x0d", "│ \ttwo \\u202e", "│"]
    assert shown[start + 4 : start + 9] == ['"b": [', '"\\\\n",', "-", "│ x", "│ y"]
    verdict["arguments"] = "[" * 100_000
    assert "  call:      |\n      [[" in _view(flow)
    verdict["arguments"] = '{"a":"b'
    assert '  call:      |\n      {"a":"b\n' in _view(flow)


def test_the_view_is_the_first_choice_for_our_replies_only(addon: ToolCalls) -> None:
    ours, theirs = _exchange(addon, TEXT), tflow.tflow(resp=True)
    assert ours.response is not None
    assert theirs.response is not None
    assert contentviews.prettify_message(ours.response, ours).view_name == "Tool calls"
    assert contentviews.prettify_message(ours.request, ours).view_name != "Tool calls"
    assert contentviews.prettify_message(theirs.response, theirs).view_name != "Tool calls"
    with pytest.raises(ValueError, match="has not read"):
        ToolCallsView().prettify(b"", contentviews.Metadata(flow=theirs))


def test_a_text_clients_own_call_is_not_called_lowered(addon: ToolCalls, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing of it was changed."""
    caplog.set_level("INFO", "toolcalls.mitm.reporting")
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()), resp=True)
    teaches = {"role": "system", "content": f"Call a tool like this:\n\n{CALL}"}
    flow.request.content = json.dumps({"model": "m", "stream": True, "messages": [teaches]}).encode()
    flow.response = http.Response.make(200, b"".join(streamed(TEXT)), {"content-type": "text/event-stream"})
    for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
        hook(flow)
    assert flow.response is not None
    assert flow.response.content == b"".join(streamed(TEXT))
    assert summary_in(flow) == "unchanged Bash (invoke)"
    assert "lowered" not in caplog.text
    assert caplog.records[-1].message.endswith("unchanged Bash (invoke)")
    assert "got the text as the model wrote it" in _view(flow)


def test_a_call_in_json_beside_prose_has_a_line_in_the_log(addon: ToolCalls, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "toolcalls.mitm.reporting")
    call = '```json\n{"name": "Bash", "arguments": {"command": "ls"}}\n```'
    flow = _exchange(addon, f"Let me look.\n\n{call}\n")
    assert (summary_in(flow), flow.marked) == ("1 declined: not_alone", ":eyes:")
    assert "Bash, text (fenced_json) → stays as it is. not_alone: other text is beside it" in caplog.text
    assert "no tool calls in this reply" not in _view(flow)
    assert "unless:    'the route has take: [inline]'" in _view(flow)
