"""Nothing leaks: what a request and a reply hold of secrets is in none of our own outputs (T2, K00 to K13).

Strategy: one exchange with canaries in every header, in the URL, in both bodies and in a fault's own words goes through
the hooks; then all that the addon has written (log lines of every level, journal, comment, mark, report, the view) is
searched for them, and what the upstream gets is compared with what the client sent. Then the files: who may read them,
and what happens where a link lies in their place (R03, R08); names and configurations that attack (R00 to R02, R04).
"""

import ast
import json
import logging
import os
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from mitmproxy import contentviews, http
from mitmproxy.addons.proxyauth import ProxyAuth
from mitmproxy.io import FlowReader, FlowWriter
from mitmproxy.test import taddons

from support import canaries
from support.addons import summary_in
from support.canaries import CANARY, QUERY
from support.loopback import CALL, LIMIT, PATH, streamed, text_in
from support.repository import REPO, shared_path
from support.secretflows import body_of, flow_of, goes_through
from toolcalls.cli import main
from toolcalls.config import ConfigError, load
from toolcalls.dialects import all_dialects
from toolcalls.flows import flow_metadata
from toolcalls.insight.exports import FORMATS
from toolcalls.insight.report import visible
from toolcalls.mitm.exposed_listeners import exposed_modes
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.wires import all_wires

HEADERS = canaries.HEADERS | {
    "proxy-authorization": "Basic CANARY06",
    "referer": "https://example.invalid/?token=CANARY10",
    "x-title": "cline CANARY11",
}


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


def told(flow: http.HTTPFlow, log: pytest.LogCaptureFixture, journal: Path) -> str:
    """All that the addon says outside the bodies: the arguments of calls are the bodies' own."""
    report = dict(flow.metadata.get(flow_metadata.REPORT) or {})
    report["verdicts"] = [{**verdict, "arguments": None} for verdict in report.get("verdicts", ())]
    written = journal.read_text(encoding="utf-8") if journal.exists() else ""
    return "\n".join([log.text, written, flow.comment, flow.marked, repr(report)])


def test_no_header_and_no_query_is_told(addon: ToolCalls, log: pytest.LogCaptureFixture, journal: Path) -> None:
    flow = flow_of(PATH + QUERY, HEADERS, body_of())
    sent = flow.request.copy()
    out = goes_through(addon, flow, streamed(f"It is CANARY30.\n\n{CALL}"))
    assert "CANARY30" in text_in(out)
    said = told(flow, log, journal)
    assert "lifted Bash" in said
    assert "lifted" in journal.read_text(encoding="utf-8")
    assert CANARY not in said
    # Nothing of the traffic is altered but the coding that is asked for.
    assert flow.request.path == sent.path
    assert flow.request.raw_content == sent.raw_content
    was = {name: value for name, value in sent.headers.items(multi=True) if name.lower() != "accept-encoding"}
    now = {name: value for name, value in flow.request.headers.items(multi=True) if name.lower() != "accept-encoding"}
    assert now == was


def test_rows_of_secrets(addon: ToolCalls, log: pytest.LogCaptureFixture, journal: Path) -> None:
    """K00 to K13, each in a request of its own."""
    lines = shared_path("suites/threats.jsonl").read_bytes().splitlines()
    rows = [row for row in map(json.loads, lines) if row["category"] == "secrets"]
    assert rows
    for row in rows:
        header = dict(row["header"])
        path = header.pop(":path", "")
        path = PATH + ("?" + path.partition("?")[2] if path else "")
        text = header.pop("body", "")
        set_cookie = header.pop("set-cookie", None)
        flow = flow_of(path, header, body_of(user=text))
        assert flow.response is not None
        if set_cookie:
            flow.response.headers["set-cookie"] = set_cookie
        goes_through(addon, flow, streamed(CALL))
        said = told(flow, log, journal)
        assert CANARY not in said, row["id"]
        assert "Q0FOQVJZ" not in said, row["id"]  # the word in base64
        for name, value in header.items():
            assert flow.request.headers[name] == value


@pytest.mark.parametrize("place", ["feed", "close"])
def test_a_fault_is_told_without_its_own_words(
    addon: ToolCalls, log: pytest.LogCaptureFixture, journal: Path, place: str
) -> None:
    """An exception's text may hold what was being read; also at the debug level only places in our code are told."""
    flow = flow_of(PATH, {}, body_of())

    words = "cannot read " + CANARY  # not in the line that raises, which is code and is told

    def fails(*_: object) -> bytes:
        raise ValueError(words)

    for hook in (addon.requestheaders, addon.request, addon.responseheaders):
        hook(flow)
    assert flow.response is not None
    tap: Any = flow.response.stream
    with patch.object(tap.exchange, place, fails):
        for piece in [*streamed("hello"), b""]:
            tap(piece)
    addon.response(flow)
    said = told(flow, log, journal)
    assert "failed" in said
    assert "ValueError in test_leaks.py" in said
    assert CANARY not in said


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": CANARY50}',
        b'{"messages": "\xff CANARY50"}',
        b'{"messages": 1, "tools": "CANARY50"}',
        b"\x00CANARY50",
        b'{"messages": [], "stream": CANARY50',
    ],
)
def test_a_request_that_cannot_be_read_is_told_without_its_words(
    addon: ToolCalls, log: pytest.LogCaptureFixture, journal: Path, body: bytes
) -> None:
    flow = flow_of(PATH + QUERY, HEADERS, body)
    for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
        hook(flow)
    assert CANARY not in told(flow, log, journal)


HOSTILE = [
    "\x1b]52;c;ZWNobw==\x07",
    "\x9b31m",
    "x\n[12:00:00] all is well",
    "a\rb",
    "\u202egnp",
    "a\u200bb",
    "\x7f\x00",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_one_record_is_one_line(addon: ToolCalls, log: pytest.LogCaptureFixture, journal: Path, hostile: str) -> None:
    """L00 to L12 in a tool's name, in the model's and in a value: comments, log lines and the journal."""
    call = f"<tool_call>\n{json.dumps({'name': f'No{hostile}', 'arguments': {'command': hostile}})}\n</tool_call>"
    flow = flow_of(PATH, {}, body_of(model=f"m{hostile}"))
    goes_through(addon, flow, streamed(call, 1000))
    lines = [record.getMessage() for record in log.records if record.name.startswith("toolcalls")]
    assert lines
    for line in [*lines, flow.comment, *journal.read_text(encoding="utf-8").splitlines()]:
        assert line == visible(line)
    assert len(journal.read_text(encoding="utf-8").splitlines()) == 1
    assert flow.response is not None
    shown = contentviews.prettify_message(flow.response, flow, "tool calls")
    assert shown.view_name == "Tool calls"
    assert all(line == visible(line) for line in shown.text.replace("\t", " ").split("\n"))


def test_a_name_of_a_megabyte_is_cut(addon: ToolCalls, log: pytest.LogCaptureFixture, journal: Path) -> None:
    """L17."""
    call = f"<tool_call>\n{json.dumps({'name': 'A' * 1_000_000, 'arguments': {}})}\n</tool_call>"
    flow = flow_of(PATH, {}, body_of())
    goes_through(addon, flow, streamed(call, 100_000))
    assert len(summary_in(flow)) < 400
    assert all(len(record.getMessage()) < 1000 for record in log.records if record.name.startswith("toolcalls"))
    assert all(len(line) < 20_000 for line in journal.read_text(encoding="utf-8").splitlines())


# --- all that is written -------------------------------------------------------------------------------------------

# What bodies hold of secrets, in forms that are known: keys, tokens, signed addresses, passwords by their names.
JWT = "eyJhbGciOiJIUzI1NiJ9CANARY.eyJzdWIiOiJDQU5BUlkifQCANARY.c2lnbmF0dXJlCANARY"
SECRETS = [
    "sk-proj-CANARY60aaaaaaaaaaaaaaaaaaaa",
    "sk-ant-api03-CANARY61aaaaaaaaaaaaaaaa",
    "AIzaCANARY62aaaaaaaaaaaaaaaaaaaaaaaaa",
    "ghp_CANARY63aaaaaaaaaaaaaaaaaaaaaaaa",
    "AKIACANARY64AAAAAAAA",
    f"Authorization: Bearer {JWT}",
    JWT,
    "https://user:CANARY65@example.invalid/",
    "refresh_token=CANARY66",
    "https://bucket.example.invalid/x?X-Amz-Signature=CANARY67&key=CANARY68aaaaaaaaaaaa",
    '{"client_secret": "CANARY69"}',
]


def recorded(addon: ToolCalls, path: Path, secret: str) -> Path:
    """A file of one exchange, as `-w` writes it: a secret in every header, in the URL, in both bodies and in a call."""
    call = f"<tool_call>\n{json.dumps({'name': 'Bash', 'arguments': {'command': f'echo {secret}'}})}\n</tool_call>"
    messages = [{"role": "user", "content": f"Use {secret} for it"}]
    headers = HEADERS | {"x-title": "cline"}  # a name that is kept, as flows are grouped by it
    flow = flow_of(PATH + QUERY, headers, body_of(user=secret, messages=messages))
    goes_through(addon, flow, streamed(f"It is {secret}\n\n{call}"))
    with path.open("wb") as file:
        FlowWriter(file).add(flow)  # type: ignore[no-untyped-call] # it has no types
    return path


@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_stands_in_anything_that_is_written(
    addon: ToolCalls,
    log: pytest.LogCaptureFixture,
    journal: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    secret: str,
) -> None:
    """K00 to K13, R08: exports with content, the page, redacted flows, what commands say, log and journal."""
    flows = recorded(addon, tmp_path / "made.flow", secret)
    assert CANARY.encode() in flows.read_bytes()
    out = tmp_path / "out"
    out.mkdir()
    commands = [
        *(["export", "--format", kind, "--content", "-o", str(out / kind), str(flows)] for kind in FORMATS),
        ["report", "-o", str(out / "report.html"), str(flows)],
        ["redact", str(flows), str(out / "redacted.flow")],
        ["judge", str(flows)],
    ]
    before = os.umask(0)
    try:
        for command in commands:
            assert main(command) == 0, command
    finally:
        os.umask(before)
    written = sorted(out.iterdir())
    assert len(written) == len(commands) - 1
    for path in written:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
        assert path.stat().st_size > 500
        assert CANARY.encode() not in path.read_bytes(), path.name
    said = "".join(capfd.readouterr())
    assert "1 same" in said
    assert CANARY not in said
    assert CANARY not in log.text + journal.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["export", "report", "redact"])
def test_a_link_is_replaced_by_what_is_written(addon: ToolCalls, tmp_path: Path, command: str) -> None:
    """R03, for every file that a command writes."""
    flows = recorded(addon, tmp_path / "made.flow", "nothing")
    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.write_text("mine", encoding="utf-8")
    link.symlink_to(precious)
    whole = {
        "export": ["export", "--format", "har", "-o", str(link), str(flows)],
        "report": ["report", "-o", str(link), str(flows)],
        "redact": ["redact", str(flows), str(link)],
    }
    assert main(whole[command]) == 0
    assert precious.read_text(encoding="utf-8") == "mine"
    assert not link.is_symlink()
    assert stat.S_IMODE(link.stat().st_mode) == 0o600


# --- files ------------------------------------------------------------------------------------------------------------


def test_the_journal_is_its_owners_alone(tmp_path: Path) -> None:
    """R08, whatever the umask says, and also where the file was there before."""
    made = ToolCalls()
    with taddons.context(made) as context:
        before = os.umask(0)
        try:
            for name in ("new", "old"):
                path = tmp_path / name
                if name == "old":
                    path.write_text("", encoding="utf-8")
                    path.chmod(0o666)
                context.configure(made, toolcalls_log=str(path))
                assert stat.S_IMODE(path.stat().st_mode) == 0o600
        finally:
            os.umask(before)


@pytest.mark.parametrize("there", [True, False], ids=["a file", "nothing"])
def test_a_link_is_not_followed(tmp_path: Path, there: bool) -> None:
    """R03."""
    target, link = tmp_path / "target", tmp_path / "link"
    if there:
        target.write_text("mine", encoding="utf-8")
    link.symlink_to(target)
    made = ToolCalls()
    with taddons.context(made) as context, pytest.raises(Exception, match="toolcalls_log"):
        context.configure(made, toolcalls_log=str(link))
    assert target.exists() == there
    assert not there or target.read_text(encoding="utf-8") == "mine"


def test_a_configuration_that_anybody_may_write_gets_a_warning(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    """N07."""
    path = tmp_path / "c.yaml"
    path.write_text("version: 1\n", encoding="utf-8")
    made = ToolCalls()
    with taddons.context(made) as context:
        for mode, warned in ((0o600, False), (0o664, False), (0o666, True)):
            log.clear()
            path.chmod(mode)
            context.configure(made, toolcalls_config="")
            context.configure(made, toolcalls_config=str(path))
            assert ("can write" in log.text) == warned, oct(mode)


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['id']",
        "routes: [{name: !!python/name:os.system x}]",
        "defaults: {policy: !!python/object/new:type [x]}",
        "defaults: &a {tools: *a}",
    ],
)
def test_a_configuration_is_data_only(tmp_path: Path, text: str) -> None:
    """R04."""
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        load(path, all_dialects(), all_wires())


def test_no_name_of_a_file_comes_from_traffic(addon: ToolCalls, journal: Path, tmp_path: Path) -> None:
    """R00 to R02: paths in a model's name, a tool's, the URL and a session's make no file anywhere."""
    for name in ("../../../../tmp/escaped", "/etc/cron.d/x", "a\x00" + "b" * 5000):
        path = recorded(addon, tmp_path / "made.flow", name)
        flow = flow_of(f"/{name}{PATH}".replace("\x00", "%00"), {"x-session-id": "../up"}, body_of(model=name))
        goes_through(addon, flow, streamed(CALL))
        out = tmp_path / "out.html"
        assert main(["report", str(path), "-o", str(out)]) == 0
        assert sorted(one.name for one in tmp_path.iterdir()) == sorted(["made.flow", journal.name, "out.html"])


def test_a_header_that_holds_another_stays_one(addon: ToolCalls, tmp_path: Path) -> None:
    """R05: a recording of a stranger's, with line ends inside a header's value."""
    flow = flow_of(PATH, {}, body_of())
    goes_through(addon, flow, streamed(CALL))
    assert flow.response is not None
    flow.response.headers["server"] = "x: y\r\nset-cookie: z=1"
    path, out, clean = tmp_path / "made.flow", tmp_path / "out.har", tmp_path / "clean.flow"
    with path.open("wb") as file:
        FlowWriter(file).add(flow)  # type: ignore[no-untyped-call] # it has no types
    assert main(["export", "--format", "har", "-o", str(out), str(path)]) == 0
    headers = json.loads(out.read_text(encoding="utf-8"))["log"]["entries"][0]["response"]["headers"]
    assert len(headers) == len(flow.response.headers.fields)
    assert main(["redact", str(path), str(clean)]) == 0
    with clean.open("rb") as file:
        (again,) = FlowReader(file).stream()  # type: ignore[no-untyped-call] # it has no types
    assert [name for name, _ in again.response.headers.fields] == [name for name, _ in flow.response.headers.fields]


def test_offline_commands_open_no_connection(
    addon: ToolCalls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """T12, R06: what reads recordings asks nobody. (`-S` with `connection_strategy=lazy` is mitmproxy's own replay.)"""
    flows = recorded(addon, tmp_path / "made.flow", "nothing")

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a connection is opened")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "create_connection", refused)
    for command in (
        ["judge", str(flows)],
        ["export", "--format", "har", "-o", str(tmp_path / "out.har"), str(flows)],
        ["report", "-o", str(tmp_path / "out.html"), str(flows)],
        ["redact", str(flows), str(tmp_path / "out.flow")],
    ):
        assert main(command) == 0
    assert "1 same" in capfd.readouterr().out


_APPENDS = """
import sys
from pathlib import Path
from mitmproxy.test import tflow
from toolcalls.mitm.journal import Journal
journal = Journal(Path(sys.argv[1]))
flow = tflow.tflow(resp=True)
verdict = dict.fromkeys(("status", "reason", "dialect", "name", "start", "end", "repairs", "lane", "index", "id"))
report = {"wire": "w", "route": "r", "kind": "lift", "policy": "p", "model": sys.argv[2] * 300, "failure": None,
          "verdicts": [verdict | {"name": sys.argv[2] * 2000, "status": "lifted"}] * 3}
for _ in range(300):
    journal.write(flow, report)
"""


def test_two_processes_tear_no_line(tmp_path: Path) -> None:
    """R09: two proxies with one journal."""
    path = tmp_path / "both.jsonl"
    environment = os.environ | {"PYTHONPATH": str(REPO / "addon")}
    both = [subprocess.Popen([sys.executable, "-c", _APPENDS, str(path), name], env=environment) for name in "ab"]
    try:
        assert [one.wait(LIMIT) for one in both] == [0, 0]
    finally:
        for one in both:
            one.kill()
    names = [json.loads(line)["name"] for line in path.read_text(encoding="ascii").splitlines()]
    assert sorted(names) == ["a" * 2000] * 900 + ["b" * 2000] * 900


def test_a_torn_record_loses_only_itself(addon: ToolCalls, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """R10: a file that ends inside a flow, as one does whose writer was killed."""
    whole = recorded(addon, tmp_path / "made.flow", "nothing").read_bytes()
    torn = tmp_path / "torn.flow"
    torn.write_bytes(whole + whole[:-7])
    assert main(["judge", str(torn)]) == 0
    said = capfd.readouterr()
    assert "1 same" in said.out
    assert "torn" in said.err


@pytest.mark.parametrize("kind", ["flows", "configuration"])
def test_a_newer_version_is_refused(
    addon: ToolCalls, tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    """R11: in one line, and never half read."""
    path = tmp_path / "newer"
    if kind == "flows":
        data = recorded(addon, tmp_path / "made.flow", "nothing").read_bytes()
        assert data.count(b"7:version;2:21#") == 1
        path.write_bytes(data.replace(b"7:version;2:21#", b"7:version;2:99#"))
        assert main(["judge", str(path)]) == 2
    else:
        path.write_text("version: 999\n", encoding="utf-8")
        assert main(["check-config", str(path)]) in {1, 2}
    said = "".join(capfd.readouterr())
    assert "99" in said
    assert len(said.splitlines()) == 1


def test_nothing_is_evaluated() -> None:
    """N08: no module calls what runs text as code, or unpickles; five rooms start a process, none through a shell."""
    forbidden = {"eval", "exec", "compile", "__import__", "system", "popen", "unsafe_load", "full_load"}
    starts = set()
    for path in sorted((REPO / "addon").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(one.name for one in node.names)]
                assert not {"pickle", "marshal", "shelve"} & {name.partition(".")[0] for name in names}, path
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", None) or (
                    node.func.attr if isinstance(node.func, ast.Attribute) else None
                )
                owner = getattr(node.func.value, "id", "") if isinstance(node.func, ast.Attribute) else ""
                own = owner in {"re", "re2", "regex", "self"}
                own = own or path.name == "reactor_runner.py"  # the user's own files, which a configuration names
                assert own or called not in forbidden, f"{path}: {called}"
                assert not any(word.arg == "shell" for word in node.keywords), path
                if called == "Popen":
                    starts.add(path.parent.name)
    assert starts <= {"demo", "doctor", "judge", "recording", "run", "tools"}


def test_nothing_switches_a_check_off() -> None:
    """N03: certificates are mitmproxy's to check, and no line of ours or of the documentation says otherwise."""
    places = [*(REPO / "addon").rglob("*.py"), *(REPO / "config").rglob("*.yaml"), *(REPO / "docs").glob("*.md")]
    for path in (*places, REPO / "README.md", REPO / "Makefile"):
        text = path.read_text(encoding="utf-8")
        assert "ssl_insecure" not in text, path
        assert "ssl-insecure" not in text, path


def test_a_folder_for_keys_is_its_owners_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """N04, T13: the one folder in which the product lets a CA be made is `demo`'s, and that is gone afterwards."""
    made = []

    class ExchangeRecord(TemporaryDirectory[str]):
        def __enter__(self) -> str:
            made.append(stat.S_IMODE(Path(self.name).stat().st_mode))
            raise OSError("this is as far as it goes")

    monkeypatch.setattr("toolcalls.tools.demo.command.TemporaryDirectory", ExchangeRecord)
    before = os.umask(0)
    try:
        main(["demo"])
    finally:
        os.umask(before)
    assert made == [0o700]


def test_where_a_request_goes_is_never_changed(addon: ToolCalls) -> None:
    """N01, T10: whom to forward to is mitmproxy's mode alone; host, port, scheme and method stay as they were."""
    for host in ("169.254.169.254", "localhost", "example.invalid"):
        flow = flow_of(PATH, HEADERS, body_of(messages=[{"role": "user", "content": "http://169.254.169.254/"}]))
        flow.request.host, flow.request.port = host, 8123
        goes_through(addon, flow, streamed(CALL))
        request = flow.request
        assert (request.scheme, request.host, request.port, request.method) == ("http", host, 8123, "POST")


def test_the_documented_commands_listen_on_loopback() -> None:
    """N00: each command of the documentation that starts a proxy which listens."""
    seen = 0
    for path in (REPO / "README.md", REPO / "CONTRIBUTING.md", *(REPO / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in re.findall(r"^\S*bin/mitm(?:dump|web|proxy) .*", text, re.MULTILINE):
            if "-n" not in line.split() and "-nr" not in line.split():
                assert "--listen-host 127.0.0.1" in line, line
                seen += 1
    assert seen >= 2


# --- who may come in --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modes", "host", "open_"),
    [
        (["regular"], "", ["regular"]),
        (["regular"], "0.0.0.0", ["regular"]),
        (["regular"], "::", ["regular"]),
        (["regular"], "127.0.0.1", []),
        (["regular"], "192.0.2.1", []),
        (["regular@127.0.0.1:8080"], "", []),
        (["regular@0.0.0.0:8080"], "127.0.0.1", ["regular"]),
        (["reverse:http://127.0.0.1:1@8080", "socks5"], "", ["reverse", "socks5"]),
        (["local:curl", "wireguard"], "", []),
        (["no such mode"], "", []),
    ],
)
def test_which_listeners_the_network_reaches(modes: list[str], host: str, open_: list[str]) -> None:
    """N00."""
    assert exposed_modes(modes, host) == open_


@pytest.mark.parametrize(
    ("options", "warned"),
    [({}, True), ({"listen_host": "127.0.0.1"}, False), ({"server": False}, False), ({"proxyauth": "a:b"}, False)],
)
def test_a_listener_without_a_password_gets_a_warning(
    log: pytest.LogCaptureFixture, options: dict[str, Any], warned: bool
) -> None:
    made = ToolCalls()
    with taddons.context(ProxyAuth(), made) as context:
        context.configure(made, **{name: value for name, value in options.items() if name != "proxyauth"})
        if "proxyauth" in options:
            context.options.update(proxyauth=options["proxyauth"])
        made.running()
    assert ("listens on all interfaces" in log.text) == warned
