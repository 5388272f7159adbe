"""The commands, called as mitmproxy calls them: with words that it parses by their types, on flows of its list."""

import asyncio
import json
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyperclip
import pytest
from mitmproxy import contentviews, exceptions, http
from mitmproxy.addons.view import View
from mitmproxy.log import ALERT
from mitmproxy.test import taddons, tflow, tutils
from mitmproxy.tools.console import defaultkeys, overlay
from mitmproxy.tools.console.keymap import Keymap

from support.addons import summary_in
from support.loopback import CALL, LIMIT, PATH, REPO, asked, chunk, streamed, whole
from support.waiting import until
from toolcalls.dialects import all_dialects
from toolcalls.flows import flow_metadata
from toolcalls.flows.judging import Recorded
from toolcalls.insight.exports import FORMATS, jsonl
from toolcalls.mitm.commands import explain, export, rejudge
from toolcalls.mitm.commands.keys import CONTEXTS, KEYS
from toolcalls.mitm.hooks import ToolCalls

TEXT = f"Let me look.\n\n{CALL}"
FENCED = f"Like so:\n\n```\n{CALL}\n```\n"
NATIVE = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "Bash", "arguments": '{"command":"ls -la"}'},
}
HOSTILE = "\x1b[31mred \x9b2J \u202edlrow\n<script>"
NAMES = ("why", "stats", "judge", "policy", "policies", "copy", "copy.forms", "export", "export.formats")


class Desk:
    """An addon beside mitmproxy's own list of flows."""

    def __init__(self, addon: ToolCalls, view: View, context: Any) -> None:
        self.addon = addon
        self._view = view
        self.context = context

    def flow(
        self, text: str, *, body: bytes | None = None, kind: str = "text/event-stream", **request: Any
    ) -> http.HTTPFlow:
        """A flow in the list, whose reply writes `text`."""
        flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()), resp=True)
        flow.request.content = asked(**request)
        reply = b"".join(streamed(text)) if body is None else body
        flow.response = http.Response.make(200, reply, {"content-type": kind})
        flow.live = True
        for hook in (self.addon.requestheaders, self.addon.request, self.addon.responseheaders, self.addon.response):
            hook(flow)
        self._view.add([flow])
        self._view.focus.flow = flow
        return flow

    def run(self, command: str) -> Any:
        """What a person types."""
        return self.context.master.commands.execute(command)


@pytest.fixture
def desk() -> Iterator[Desk]:
    addon, view = ToolCalls(), View()
    with taddons.context(addon, view) as context:
        context.configure(addon)
        yield Desk(addon, view, context)


@pytest.fixture
def alerts(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(ALERT, "toolcalls.mitm.commands")
    return caplog


# --- names, types and keys --------------------------------------------------------------------------------------------


def test_each_command_is_known_and_explained(desk: Desk) -> None:
    known = desk.context.master.commands.commands
    assert {name for name in known if name.startswith("toolcalls.")} == {f"toolcalls.{name}" for name in NAMES}
    page = (REPO / "docs" / "commands.md").read_text(encoding="utf-8")
    for name in NAMES:
        made = known[f"toolcalls.{name}"]
        assert made.help
        assert made.signature_help()
        assert f"`toolcalls.{name}" in page


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("toolcalls.policy @focus ", {"standard", "strict", "lenient", "file"}),
        ("toolcalls.copy @focus ", {"json", *all_dialects()}),
        ("toolcalls.export ", set(FORMATS)),
    ],
)
def test_arguments_are_completed(desk: Desk, typed: str, wanted: set[str]) -> None:
    _, wanting = desk.context.master.commands.parse_partial(typed)
    kind = wanting[0].type
    offered = set(desk.run(kind.options_command))
    assert wanted <= offered
    desk.flow(TEXT)
    with pytest.raises(exceptions.CommandError):
        desk.run(f"{typed}nonsense @all /dev/null" if typed.endswith("export ") else f"{typed}nonsense")


class _Console:
    """What a key map needs of a console."""

    def __init__(self) -> None:
        self.keymap = Keymap(self)
        self.commands = None


def test_no_key_is_taken_from_mitmproxy() -> None:
    made = _Console()
    defaultkeys.map(made.keymap)
    for key in KEYS:
        for context in (*CONTEXTS, "global", "commonkey"):
            assert made.keymap.get(context, key) is None


def test_keys_of_the_user_stay(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _Console()
    defaultkeys.map(made.keymap)
    made.keymap.add("t", "view.focus.next", ["flowlist"], "mine")
    made.keymap.add("J", "view.focus.next", ["global"], "mine")
    monkeypatch.setattr(desk.context.master, "keymap", made.keymap, raising=False)
    for _ in range(2):  # as after a reload
        desk.addon.running()
    assert made.keymap.get("flowlist", "t").command == "view.focus.next"
    assert made.keymap.get("flowview", "t").command == "toolcalls.stats @shown"
    assert made.keymap.get("flowview", "J") is None
    assert made.keymap.get("flowlist", "Y").help
    page = (REPO / "docs" / "commands.md").read_text(encoding="utf-8")
    assert all(f"| `{key}` |" in page for key in KEYS)


# --- why --------------------------------------------------------------------------------------------------------------


def _why(rows: list[list[str]]) -> dict[str, set[str]]:
    """For each candidate, as `Bash (invoke) lifted`, the numbers of the conditions that failed."""
    found: dict[str, set[str]] = {}
    latest: set[str] = set()
    for number, what, said in rows:
        if number:
            latest = found.setdefault(f"{what} {said}", set())
        elif said.startswith("FAILED"):
            latest.add(what[0])
    return found


_OTHER = CALL.replace("Bash", "Rm")
CONDITIONS: dict[str, tuple[str, dict[str, Any], dict[str, set[str]]]] = {
    "all met": (TEXT, {}, {"Bash (invoke) lifted": set()}),
    "the route": (TEXT, {"tools": False}, {"Bash (invoke) declined: no_tools": {"1", "2"}}),
    "the name": (_OTHER, {}, {"Rm (invoke) declined: undeclared": {"2"}}),
    "the place": (f"So {CALL}", {}, {"Bash (invoke) declined: inline": {"3"}}),
    "the quotation": (FENCED, {}, {"Bash (invoke) declined: fenced": {"4"}}),
    "the name and the quotation": (FENCED.replace("Bash", "Rm"), {}, {"Rm (invoke) declined: undeclared": {"2", "4"}}),
    "the place and the quotation": (f"So `{CALL}`", {}, {"Bash (invoke) declined: inline_code": {"3", "4"}}),
    "an echo": (TEXT, {"user": f"What is {CALL}?"}, {"Bash (invoke) declined: echo": {"5"}}),
    "the end": (TEXT[:70], {}, {"Bash (invoke) truncated: unclosed": {"7"}}),
    "the quotation and the end": ("> " + CALL[:50], {}, {"Bash (invoke) declined: block_quote": {"4", "7"}}),
    "no call": ("\n<invoke nonsense", {}, {"a call (invoke) truncated: unclosed": {"7"}}),
    "two": (f"{CALL}\n{FENCED}", {}, {"Bash (invoke) lifted": set(), "Bash (invoke) declined: fenced": {"4"}}),
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_why_tells_every_condition(desk: Desk, case: str) -> None:
    text, request, wanted = CONDITIONS[case]
    desk.flow(text, **request)
    rows = desk.run("toolcalls.why @focus")
    assert _why(rows) == wanted
    assert len(rows) == len(wanted) * 9


def test_why_tells_of_a_native_twin(desk: Desk) -> None:
    """One that comes after the text is not known to when the text is lifted."""
    reply = json.loads(whole(CALL))
    reply["choices"][0]["message"]["tool_calls"] = [NATIVE]
    desk.flow("", body=json.dumps(reply).encode(), kind="application/json")
    assert _why(desk.run("toolcalls.why @focus")) == {"Bash (invoke) declined: duplicate": {"6"}}
    native = chunk({"tool_calls": [NATIVE]})
    desk.flow("", body=b"".join([native, *streamed(f"\n{CALL}")]))
    assert _why(desk.run("toolcalls.why @focus")) == {"Bash (invoke) declined: duplicate": {"6"}}
    *text, finish, done = streamed(f"{CALL}\n")
    desk.flow("", body=b"".join([*text, native, finish, done]))
    assert _why(desk.run("toolcalls.why @focus")) == {"Bash (invoke) lifted": set()}


def test_why_tells_of_dialects_that_are_not_read_and_of_what_a_policy_asks(desk: Desk, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("defaults: {dialects: [hermes]}\n")
    desk.context.configure(desk.addon, toolcalls_config=str(rules))
    desk.flow(TEXT)
    rows = desk.run("toolcalls.why @focus")
    assert _why(rows) == {"Bash (invoke) declined: observed": {"1"}}
    assert any("the route does not read invoke" in row[2] for row in rows)
    rules.write_text("defaults: {policy: strict}\n")
    desk.context.configure(desk.addon, toolcalls_config=str(rules))
    desk.flow(f"{CALL}\nand more")
    assert _why(desk.run("toolcalls.why @focus")) == {"Bash (invoke) declined: not_terminal": {"+"}}


def test_why_of_nothing(desk: Desk) -> None:
    desk.flow("hello")
    assert desk.run("toolcalls.why @focus")[0][1] == "no call in text"
    flow = desk.flow("hello")
    flow.request.path = "/other"
    with pytest.raises(exceptions.CommandError, match="no exchange with an API"):
        desk.run("toolcalls.why @focus")


def test_in_mitmweb_an_answer_is_a_few_sentences(desk: Desk) -> None:
    """It shows what a command returns as JSON on one line."""
    desk.flow(f"{TEXT}\n\n{FENCED}")
    desk.context.master.app = object()
    which, *said = desk.run("toolcalls.why @focus")
    where = r"POST /v1/chat/completions at ..:..:.. UTC"
    assert re.fullmatch(where + r": lifted Bash \(invoke\), m · 1 declined: fenced", *which)
    assert said == [
        ["1. Bash (invoke) lifted. all conditions are met"],
        ["2. Bash (invoke) declined: fenced. it is not quoted: no, fenced: it is in a fenced code block"],
    ]
    assert desk.run("toolcalls.stats @all") == [
        ["m, invoke: lifted 1, declined 1"],
        ["all: lifted 1, declined 1"],
        ["declined: fenced: 1"],
        ["call_in_text, m at address:22: 100% (1 of 1 reply), 1 mended"],
        ["replies read: 1"],
    ]
    desk.flow("hello")
    which, *said = desk.run("toolcalls.why @focus")
    assert which[0].endswith("UTC: no comment")
    assert said == [["no call in text: nothing in this reply begins as a call does in any dialect"]]


def test_in_mitmweb_the_flow_that_was_opened_last_has_the_focus(desk: Desk) -> None:
    """mitmweb shows a flow's texts by asking the views, and sends nothing of its selection with a command."""
    flows = [desk.flow(CALL), desk.flow(FENCED), desk.flow("hello")]

    def look(flow: http.HTTPFlow) -> None:
        assert flow.response is not None
        contentviews.prettify_message(flow.response, flow)

    look(flows[0])
    assert "no call in text" in str(desk.run("toolcalls.why @focus"))  # the console has a focus of its own
    desk.context.master.app = object()
    desk.context.master.web_url = "http://127.0.0.1:8081/?token=secret"
    for flow, said in zip(flows, ("Bash (invoke) lifted", "fenced", "no call in text"), strict=True):
        look(flow)
        assert said in str(desk.run("toolcalls.why @focus"))
    look(tflow.tflow(resp=True))  # one that the list does not hold, as after a filter
    assert "no call in text" in str(desk.run("toolcalls.why @focus"))
    assert flows[0].response is not None
    shown = contentviews.prettify_message(flows[0].response, flows[0]).text
    assert f"  page:      http://127.0.0.1:8081/toolcalls/turn?id={flows[0].id}" in shown.splitlines()
    assert "secret" not in shown


def test_nothing_hidden_stands_in_a_table(desk: Desk) -> None:
    desk.flow(CALL.replace("Bash", HOSTILE.replace("\n", "")) + f"\n{CALL.replace('ls -la', HOSTILE)}")
    for command in ("toolcalls.why @focus", "toolcalls.stats @all"):
        rows = desk.run(command)
        assert all(cell.isprintable() for row in rows for cell in row)
        assert len({len(row) for row in rows}) == 1
    desk.context.master.app = object()
    for command in ("toolcalls.why @focus", "toolcalls.stats @all"):
        assert all(cell.isprintable() for row in desk.run(command) for cell in row)


# --- counting ---------------------------------------------------------------------------------------------------------


def test_stats_count_by_model_and_dialect_and_by_reason(desk: Desk) -> None:
    for text in (TEXT, TEXT, FENCED, "hello"):
        desk.flow(text)
    desk.flow("", body=b"".join([chunk({"tool_calls": [NATIVE]}), chunk({}, "tool_calls")]))
    rows = [[cell for cell in row if cell] for row in desk.run("toolcalls.stats @all")]
    assert rows == [
        ["model", "dialect", "native", "lifted", "declined"],
        ["m", "(native)", "1"],
        ["m", "invoke", "2", "1"],
        ["all", "1", "2", "1"],
        ["declined: fenced", "1"],
        ["call_in_text, m at address:22", "40% (2 of 5 replies), 2 mended"],
        ["likely_meant, m at address:22", "20% (1 of 5 replies), possibly lost"],
        ["replies read", "5"],
    ]


# --- judging again ----------------------------------------------------------------------------------------------------


def test_judge_reads_what_the_upstream_sent_by_todays_rules(
    desk: Desk, tmp_path: Path, alerts: pytest.LogCaptureFixture
) -> None:
    flow = desk.flow(f"{TEXT}\n\n{FENCED}")
    assert flow.response is not None
    body = flow.response.raw_content
    rules = tmp_path / "rules.yaml"
    rules.write_text("defaults: {allowed_tools: []}\n")
    desk.context.configure(desk.addon, toolcalls_config=str(rules))
    desk.run("toolcalls.judge @focus")
    assert (summary_in(flow), flow.marked) == ("2 declined: not_allowed ×2", ":eyes:")
    assert flow.response.raw_content == body
    assert flow.metadata[flow_metadata.REPORT]["judged"] == "again"
    assert alerts.records[-1].message == "Judged again: 2 declined: not_allowed ×2, m"
    flow.request.path = "/other"
    with pytest.raises(exceptions.CommandError, match="nothing was judged: it is no exchange"):
        desk.run("toolcalls.judge @focus")


def test_a_policy_holds_for_the_session_and_can_be_taken_back(desk: Desk, alerts: pytest.LogCaptureFixture) -> None:
    flows = [desk.flow(FENCED), desk.flow("hello")]
    desk.run("toolcalls.policy @all lenient")
    assert [summary_in(flow) for flow in flows] == ["lifted Bash (invoke)", ""]
    assert flows[0].metadata[flow_metadata.REPORT]["judged"] == "again, by the policy lenient"
    assert alerts.records[-1].message == "Judged 2 of 2 flows again, by the policy lenient: 1 changed."
    assert summary_in(desk.flow(FENCED)) == "lifted Bash (invoke)"
    desk.run("toolcalls.policy @focus file")
    assert summary_in(desk.flow(FENCED)) == "1 possibly lost: fenced"


def test_a_policy_needs_a_flow_of_ours(desk: Desk) -> None:
    desk.flow("hello").request.path = "/other"
    with pytest.raises(exceptions.CommandError, match="none of these flows has a route"):
        desk.run("toolcalls.policy @focus lenient")


# --- taking away ------------------------------------------------------------------------------------------------------


def test_a_call_is_copied_as_json_or_as_text(desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copied: list[str] = []
    monkeypatch.setattr(pyperclip, "copy", copied.append)
    desk.flow(f"{CALL}\n{CALL.replace('ls -la', 'pwd')}")
    desk.run("toolcalls.copy @focus json")
    desk.run("toolcalls.copy @focus tagged 2")
    assert json.loads(copied[0]) == {"name": "Bash", "arguments": {"command": "ls -la"}}
    assert copied[1] == "<Bash>\n<command>pwd</command>\n</Bash>"
    file = tmp_path / "call.txt"
    file.write_text(
        "something else that is longer than the call, which is written over it, and not only at its beginning"
    )
    desk.run(f"toolcalls.copy @focus tagged 1 {file}")
    assert file.read_text() == "<Bash>\n<command>ls -la</command>\n</Bash>"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(copied) == 2


@pytest.mark.parametrize(
    ("text", "command", "message"),
    [
        ("hello", "json", "the reply made no call"),
        (TEXT, "json 2", "the reply made 1 calls; there is no number 2"),
        (TEXT, "json 0", "there is no number 0"),
        (TEXT[:70], "json", "the call was cut off"),
        (TEXT, "json 1 /nowhere/at/all", "there is no folder /nowhere/at; make it first"),
        (CALL.replace("ls -la", "a</command>\n</Bash> b"), "tagged", "tagged cannot hold this call"),
    ],
)
def test_what_cannot_be_copied(desk: Desk, text: str, command: str, message: str) -> None:
    desk.flow(text)
    with pytest.raises(exceptions.CommandError, match=message):
        desk.run(f"toolcalls.copy @focus {command}")


def test_a_machine_without_a_clipboard(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_text: str) -> None:
        raise pyperclip.PyperclipException("\n    Pyperclip could not find a mechanism\n    and more")

    monkeypatch.setattr(pyperclip, "copy", none)
    desk.flow(TEXT)
    with pytest.raises(exceptions.CommandError, match=r"name a file instead: Pyperclip could not find a mechanism$"):
        desk.run("toolcalls.copy @focus json")


@pytest.mark.parametrize("name", ["jsonl", "har"])
def test_flows_are_exported(desk: Desk, tmp_path: Path, name: str) -> None:
    for text in (TEXT, FENCED):
        desk.flow(text)
    file = tmp_path / "out"
    desk.run(f"toolcalls.export {name} @all {file}")
    written = file.read_text(encoding="utf-8")
    assert len(written.splitlines() if name == "jsonl" else json.loads(written)["log"]["entries"]) == 2
    assert "ls -la" in written
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(exceptions.CommandError, match="nowhere"):
        desk.run(f"toolcalls.export {name} @all /nowhere/at/all")


def test_only_our_flows_are_exported(desk: Desk, tmp_path: Path) -> None:
    flow = desk.flow("hello")
    del flow.metadata[flow_metadata.REPORT]
    with pytest.raises(exceptions.CommandError, match="the addon has read none of these flows"):
        desk.run(f"toolcalls.export jsonl @all {tmp_path / 'out'}")


def test_on_a_narrow_screen_an_answer_is_lines(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The console gives each column a few letters there."""
    flow = desk.flow(FENCED)
    size = {"columns": 140}
    ui = SimpleNamespace(get_cols_rows=lambda: (size["columns"], 24))
    monkeypatch.setattr(desk.context.master, "ui", ui, raising=False)
    wide = desk.run("toolcalls.why @focus")
    assert {len(row) for row in wide} == {3}
    size["columns"] = 80
    narrow = desk.run("toolcalls.why @focus")
    assert [len(row) for row in narrow] == [1] * len(wide)
    assert narrow[0] == ["1. Bash (invoke): declined: fenced"]
    assert ["   4  it is not quoted: FAILED: fenced: it is in a fenced code block"] in narrow
    flow.metadata[flow_metadata.REPORT]["model"] = "m"
    assert desk.run("toolcalls.stats @all")[:2] == [["m, invoke: declined 1"], ["all: declined 1"]]


def test_what_is_no_call_is_counted_as_none(desk: Desk) -> None:
    desk.flow(f"{CALL}\n<function_results>\nok\n</function_results>\n")
    rows = desk.run("toolcalls.stats @all")
    assert [row[1] for row in rows[1:3]] == ["(no call)", "invoke"]


# --- beside the loop --------------------------------------------------------------------------------------------------


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every flow is one that takes long."""
    for module in (explain, rejudge, export):
        monkeypatch.setattr(module, "_AT_ONCE", 0)
    monkeypatch.setattr(rejudge, "_FLOWS", 0)


@pytest.mark.usefixtures("large")
def test_what_takes_long_is_done_beside_the_loop(
    desk: Desk, tmp_path: Path, alerts: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is back at once, and nothing of it was done in the loop's own thread."""
    threads: list[int] = []
    turn_of, read = jsonl.turn_of, Recorded.read

    def slow_turn_of(*args: Any) -> Any:
        threads.append(threading.get_ident())
        return turn_of(*args)

    def reading(self: Recorded, *args: Any) -> Any:
        threads.append(threading.get_ident())
        return read(self, *args)

    monkeypatch.setattr(jsonl, "turn_of", slow_turn_of)
    monkeypatch.setattr(Recorded, "read", reading)
    file = tmp_path / "out"

    async def work() -> None:
        flow = desk.flow(FENCED)
        desk.run(f"toolcalls.export jsonl @all {file}")
        await until(lambda: "Exported 1 flows" in alerts.text)
        desk.run("toolcalls.judge @all")
        await until(lambda: "Judged again: 1 possibly lost: fenced" in alerts.text)
        desk.run("toolcalls.policy @all lenient")
        assert summary_in(flow) == "1 possibly lost: fenced"
        await until(lambda: summary_in(flow) == "lifted Bash (invoke)")
        assert flow.metadata[flow_metadata.REPORT]["judged"] == "again, by the policy lenient"

    asyncio.run(work())
    assert json.loads(file.read_text(encoding="utf-8"))["summary"] == "1 possibly lost: fenced"
    assert len(threads) >= 3
    assert threading.get_ident() not in threads


@pytest.mark.usefixtures("large")
def test_a_mistake_that_is_found_beside_the_loop_stands_in_the_log(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        flow = desk.flow(TEXT)
        flow.request.path = "/other"
        desk.run("toolcalls.policy @all lenient")
        await until(lambda: "none of these flows has a route" in caplog.text)
        desk.run("toolcalls.judge @all")
        await until(lambda: "nothing was judged: it is no exchange with an API" in caplog.text)

    asyncio.run(work())


@pytest.mark.usefixtures("large")
def test_an_export_ends_with_mitmproxy(
    desk: Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which would wait for the thread; and what is not whole is not there."""
    turn_of, begun, go_on = jsonl.turn_of, threading.Event(), threading.Event()

    def slow_turn_of(*args: Any) -> Any:
        begun.set()
        assert go_on.wait(LIMIT)
        return turn_of(*args)

    monkeypatch.setattr(jsonl, "turn_of", slow_turn_of)

    async def work() -> None:
        for _ in range(3):
            desk.flow(TEXT)
        desk.run(f"toolcalls.export jsonl @all {tmp_path / 'out'}")
        await until(begun.is_set)
        desk.addon.commands.done()
        go_on.set()
        await until(lambda: "mitmproxy stopped before the export was whole" in caplog.text)

    asyncio.run(work())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("large")
def test_why_of_a_long_reply_is_answered_where_it_can_wait(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(overlay, "DataViewerOverlay", lambda _master, table: table)
    monkeypatch.setattr(desk.context.master, "overlay", lambda table, **_: shown.append(table), raising=False)

    async def work() -> None:
        flow = desk.flow(FENCED)
        assert "takes a moment; the answer comes here" in desk.run("toolcalls.why @focus")[0][0]
        await until(lambda: shown)
        assert ["", "4  it is not quoted", "FAILED: fenced: it is in a fenced code block"] in shown[0]
        monkeypatch.setattr(desk.context.master, "app", object(), raising=False)
        assert desk.run("toolcalls.why @focus")[0][0].endswith(f"/toolcalls/why?id={flow.id}")

    asyncio.run(work())


# --- in the console ---------------------------------------------------------------------------------------------------
