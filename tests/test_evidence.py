"""Which clients are recognised by their headers, and what follows: a line of evidence, and a decision by more than it.

Whole requests go through the addon, as mitmproxy hands them over; the words of a header are looked at by themselves.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import contentviews, ctx, http
from mitmproxy.test import tflow, tutils

from addons import addon_with
from live import CALL, PATH, TOOLS, streamed
from toolcalls.mitm import flow_metadata
from toolcalls.requests.evidence import client_pattern
from toolcalls.route import VTC_CLIENT_PATTERNS

HEADERS = ("User-Agent", "X-Title", "HTTP-Referer", "Referer")
TEACHES = f"Call a tool like this:\n\n{CALL}"  # a system prompt that shows what the client speaks
REPLY = b"".join(streamed(f"Let me look.\n\n{CALL}"))

type Exchanged = Callable[..., http.HTTPFlow]


@pytest.fixture
def exchanged(tmp_path: Path) -> Iterator[Exchanged]:
    """A request with headers and its reply, which holds a call as text, through an addon; the flow."""
    with addon_with() as addon:

        def exchange(
            headers: dict[str, str], *, system: str = "Help.", declares: bool = False, config: str = ""
        ) -> http.HTTPFlow:
            if config:
                file = tmp_path / "toolcalls.yaml"
                file.write_text(config, encoding="utf-8")
                ctx.options.update(toolcalls_config=str(file))
            messages = [{"role": "system", "content": system}, {"role": "user", "content": "list the files"}]
            asked = {"model": "m", "stream": True, "messages": messages, **({"tools": TOOLS} if declares else {})}
            flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()))
            flow.request.content = json.dumps(asked).encode()
            flow.request.headers.update(headers)
            flow.response = http.Response.make(200, REPLY, {"content-type": "text/event-stream"})
            for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
                hook(flow)
            return flow

        yield exchange


def report_of(flow: http.HTTPFlow) -> dict[str, Any]:
    return dict(flow.metadata[flow_metadata.REPORT])


def recognised(flow: http.HTTPFlow) -> list[str]:
    return [line for line in report_of(flow)["evidence"] if line.startswith("the client matches ")]


# --- a request with a header ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize(
    ("value", "pattern"),
    [("Cline/3.90.1", "cline"), ("Kilo Code", "kilo"), ("https://roocode.example/RooCode", "roo")],
    ids=("cline", "kilo", "roo"),
)
def test_a_client_is_recognised_by_each_header(exchanged: Exchanged, header: str, value: str, pattern: str) -> None:
    flow = exchanged({header: value})
    line = f"the client matches {pattern} ({header.lower()})"
    assert recognised(flow) == [line]
    assert flow.response is not None
    assert line in contentviews.prettify_message(flow.response, flow, "Tool calls").text


@pytest.mark.parametrize("header", HEADERS)
def test_another_client_is_not_recognised(exchanged: Exchanged, header: str) -> None:
    assert recognised(exchanged({header: "opencode/1.18.33 decline-bot"})) == []


@pytest.mark.parametrize("header", ["Origin", "X-Client-Name", "From"])
def test_no_other_header_is_looked_at(exchanged: Exchanged, header: str) -> None:
    assert recognised(exchanged({header: "Cline/3.90.1"})) == []


def test_the_patterns_are_those_of_the_configuration(exchanged: Exchanged) -> None:
    config = "vtc_client_patterns: [goose]\n"
    assert recognised(exchanged({"User-Agent": "Cline/3.90.1"}, config=config)) == []
    assert recognised(exchanged({"User-Agent": "goose/1.2"}, config=config)) == [
        "the client matches goose (user-agent)"
    ]


# --- what it decides --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, {"User-Agent": "Cline/3.90.1"}], ids=("unknown", "recognised"))
@pytest.mark.parametrize(
    ("asked", "client", "kind"),
    [
        ({}, "unknown", "observe"),
        ({"system": TEACHES}, "text", "roundtrip"),
        ({"declares": True}, "native", "lift"),
        ({"system": TEACHES, "declares": True}, "native", "lift"),
    ],
    ids=("nothing", "a-prompt", "tools", "both"),
)
def test_a_name_alone_decides_nothing(
    exchanged: Exchanged, headers: dict[str, str], asked: dict[str, Any], client: str, kind: str
) -> None:
    """Agents that once wrote calls as text declare tools today and reject text."""
    flow = exchanged(headers, **asked)
    assert (report_of(flow)["client"], report_of(flow)["kind"]) == (client, kind)
    assert bool(recognised(flow)) == bool(headers)
    assert flow.response is not None
    assert (flow.response.content == REPLY) == (kind != "lift")


def test_the_line_stands_between_the_tools_and_the_prompt(exchanged: Exchanged) -> None:
    flow = exchanged({"X-Title": "Cline"}, system=TEACHES, declares=True)
    assert report_of(flow)["evidence"] == [
        "the request declares 1 tool",
        "the client matches cline (x-title)",
        "the system prompt teaches invoke",
    ]


def test_without_patterns_nobody_is_a_text_client(exchanged: Exchanged) -> None:
    flow = exchanged({"User-Agent": "Cline/3.90.1"}, system=TEACHES, config="vtc_client_patterns: []\n")
    assert recognised(flow) == []
    assert (report_of(flow)["client"], report_of(flow)["kind"]) == ("unknown", "observe")


# --- the words of a header --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "patterns", "found"),
    [
        pytest.param("cline", VTC_CLIENT_PATTERNS, "cline", id="the-word-alone"),
        pytest.param("CLINE", VTC_CLIENT_PATTERNS, "cline", id="capitals"),
        pytest.param("my cline fork", VTC_CLIENT_PATTERNS, "cline", id="a-word-among-others"),
        pytest.param("RooCode/3", VTC_CLIENT_PATTERNS, "roo", id="a-word-in-camel-case"),
        pytest.param("kilo4/2", VTC_CLIENT_PATTERNS, "kilo", id="a-word-before-a-digit"),
        pytest.param("codex3/1", ("codex2",), None, id="another-digit"),
        pytest.param("decline-bot", VTC_CLIENT_PATTERNS, None, id="the-end-of-a-word"),
        pytest.param("kilobyte/1", VTC_CLIENT_PATTERNS, None, id="the-beginning-of-a-word"),
        pytest.param("c line", VTC_CLIENT_PATTERNS, "cline", id="a-word-in-two"),
        pytest.param("", VTC_CLIENT_PATTERNS, None, id="an-empty-header"),
        pytest.param("RooCode/3", ("roo code",), "roo code", id="two-words"),
        pytest.param("Roo-Code", ("RooCode",), "RooCode", id="two-words-in-camel-case"),
        pytest.param("Roo/3 the code", ("roo code",), None, id="two-words-apart"),
        pytest.param("agent Roo", ("roo code",), None, id="two-words-cut-off"),
        pytest.param("anything", ("--",), None, id="a-pattern-without-a-word"),
        pytest.param("anything", (), None, id="no-patterns"),
        pytest.param("roo cline", ("cline", "roo"), "cline", id="the-first-pattern"),
        pytest.param("GPTAgent", ("gpt",), "gpt", id="capitals-before-a-word"),
    ],
)
def test_a_pattern_is_whole_words(value: str, patterns: tuple[str, ...], found: str | None) -> None:
    matched = client_pattern({"user-agent": value}, patterns)
    assert matched == (None if found is None else f"{found} (user-agent)")


@pytest.mark.parametrize("first", range(len(HEADERS)))
def test_the_first_header_that_matches_is_named(first: int) -> None:
    names = [name.lower() for name in HEADERS]
    headers = {name: "curl/8" if at < first else "Cline" for at, name in enumerate(names)}
    assert client_pattern(headers, VTC_CLIENT_PATTERNS) == f"cline ({names[first]})"
