"""Nothing leaks: what a request and a reply hold of secrets stands in none of our own outputs (T2, K00 to K13).

Strategy: one exchange with canaries in every header, in the URL, in both bodies and in a fault's own words goes through
the hooks; then all that the addon has written (log lines of every level, journal, comment, mark, report, the view) is
searched for them, and what the upstream gets is compared with what the client sent. Then the files: who may read them,
and what happens where a link lies in their place (R03, R08); names and configurations that attack (R00 to R02, R04).
"""

import json
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from mitmproxy import contentviews, http
from mitmproxy.addons.proxyauth import ProxyAuth
from mitmproxy.test import taddons, tflow, tutils

from conftest import shared_path
from live import CALL, EVENTS, PATH, TOOLS, streamed, text_in
from toolcalls.config import ConfigError, load
from toolcalls.dialects import all_dialects
from toolcalls.mitm import store
from toolcalls.mitm.addon import ToolCalls
from toolcalls.mitm.listening import reached_by_all
from toolcalls.report import visible
from toolcalls.wires import all_wires

CANARY = "CANARY"
HEADERS = {
    "authorization": "Bearer sk-proj-CANARY01aaaaaaaaaaaaaaaaaaaa",
    "x-api-key": "sk-ant-api03-CANARY02aaaaaaaaaaaaaaaa",
    "api-key": "CANARY03aaaaaaaaaaaaaaaaaaaaaaaa",
    "x-goog-api-key": "AIzaCANARY04aaaaaaaaaaaaaaaaaaaaaaaaa",
    "cookie": "session=CANARY05",
    "proxy-authorization": "Basic CANARY06",
    "x-amz-security-token": "CANARY07",
    "x-vendor-auth-token": "CANARY08",
    "openai-organization": "org-CANARY09",
    "referer": "https://example.invalid/?token=CANARY10",
    "x-title": "cline CANARY11",
}
QUERY = "?alt=sse&key=AIzaCANARY12aaaaaaaaaaaaaaaaaaaaaaaaa&X-Amz-Signature=CANARY13"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


@pytest.fixture
def addon(journal: Path) -> Iterator[ToolCalls]:
    made = ToolCalls()
    with taddons.context(made) as context:
        context.configure(made, toolcalls_log=str(journal))
        yield made


def flow_of(path: str, headers: dict[str, str], body: bytes) -> http.HTTPFlow:
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=path.encode(), content=body), resp=True)
    flow.request.headers.update(headers)
    flow.live = True
    flow.response = http.Response.make(200, b"", {**EVENTS, "set-cookie": "__cf_bm=CANARY14"})
    flow.response.raw_content = None
    return flow


def body_of(**more: Any) -> bytes:
    messages = [
        {"role": "system", "content": "The password is CANARY20."},
        {"role": "user", "content": "refresh_token=CANARY21"},
    ]
    return json.dumps({"model": "m", "stream": True, "messages": messages, "tools": TOOLS, **more}).encode()


def goes_through(addon: ToolCalls, flow: http.HTTPFlow, pieces: list[bytes]) -> bytes:
    """The reply as the client gets it."""
    for hook in (addon.requestheaders, addon.request, addon.responseheaders):
        hook(flow)
    assert flow.response is not None
    tap: Any = flow.response.stream
    out = [tap(piece) for piece in [*pieces, b""]]
    addon.response(flow)
    return b"".join(piece if isinstance(piece, bytes) else b"".join(piece) for piece in out)


def told(flow: http.HTTPFlow, log: pytest.LogCaptureFixture, journal: Path) -> str:
    """All that the addon says outside the bodies: the arguments of calls are the bodies' own."""
    report = dict(flow.metadata.get(store.REPORT) or {})
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
    assert len(flow.comment) < 400
    assert all(len(record.getMessage()) < 1000 for record in log.records if record.name.startswith("toolcalls"))
    assert all(len(line) < 20_000 for line in journal.read_text(encoding="utf-8").splitlines())


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
            assert ("may write" in log.text) == warned, oct(mode)


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
    assert reached_by_all(modes, host) == open_


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
