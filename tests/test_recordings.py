"""The recordings: read again they give the verdicts and the bytes that they hold, and they hold nothing they must not.

Each flow goes through a new exchange, made from its own request under the configuration that ships with the addon, and
all of them go through one mitmdump. Verdicts and the client's bytes must be those of the day of the recording; where a
change of the addon is meant to change them, `python recordings/make.py` records anew and `git diff` shows it.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from mitmproxy import http

from support.loopback import REPO, flows_in, mitmdump
from toolcalls.config import default_path, load
from toolcalls.dialects import all_dialects
from toolcalls.insight import report
from toolcalls.mitm import flow_metadata
from toolcalls.mitm.content_codings import decoded
from toolcalls.mitm.exchange_plan import plan_for, wire_for
from toolcalls.mitm.reply_forms import form_of
from toolcalls.replies.exchange import Exchange
from toolcalls.wires import all_wires

pytestmark = pytest.mark.whole

FOLDER = REPO / "recordings"
FILES = sorted(FOLDER.glob("*.flow"))
NAMES = [path.stem for path in FILES]

# What each recording is there for: the kind of route, and status, reason and dialect of its verdicts.
LIFTED = ("lifted", None, "invoke")
# Recordings in which one call is lifted from `invoke`, and nothing else is to be said.
ONE_CALL = (
    "choice-ends-twice",
    "lifted-whole",
    "stray-word",
    "usage-with-every-chunk",
    "azure-filters",
    "cloudcode-envelope",
    "gemini-array",
    "gemini-signature",
    "openrouter-comments",
    "stops-for-a-missing-tool",
    "text-in-five-places",
    "thinking-before-a-call",
)
EXPECTED: dict[str, tuple[str, list[tuple[str, str | None, str | None]]]] = {
    "cut-in-a-tag": ("lift", [("truncated", "cut_off", "invoke")]),
    "fenced-example": ("lift", [("declined", "fenced", "invoke")]),
    **dict.fromkeys(ONE_CALL, ("lift", [LIFTED])),
    "gzip-kept": ("observe", [("declined", "no_tools", "invoke")]),
    "lifted-invoke-stream": ("lift", [LIFTED, LIFTED]),
    "lowered-for-a-text-client": ("roundtrip", [("lowered", None, "tagged")]),
    "native-index-minus-one": ("lift", [("native", None, None)]),
    "roundtrip": ("roundtrip", [("lowered", None, "invoke")]),
    "deepseek-reasoning": ("lift", [("lifted", None, "deepseek_dsml")]),
    "gemini-malformed-call": ("lift", []),
    "groq-x-groq": ("lift", [("lifted", None, "functionary_v31")]),
    "llama-cpp-timings": ("lift", [("lifted", None, "hermes")]),
    "lm-studio-v0": ("lift", [("lifted", None, "hermes")]),
    "mistral-parts": ("lift", [("lifted", None, "mistral")]),
    "ollama-thinking": ("lift", [("lifted", None, "qwen3_xml")]),
    "vllm-usage-alone": ("lift", [("lifted", None, "qwen3_xml")]),
}
UNCHANGED = {"fenced-example", "gemini-malformed-call", "gzip-kept", "native-index-minus-one"}

SECRET = re.compile(rb"\bsk-|Bearer|[A-Za-z0-9+/]{40}")
MACHINE = re.compile(rb"/home/|/Users/|[A-Z]:\\\\|x-stainless")
PLACES = [REPO, Path.home(), Path(gettempdir())]


@cache
def flow_of(name: str) -> http.HTTPFlow:
    (flow,) = flows_in(FOLDER / f"{name}.flow")
    return flow


def response_of(flow: http.HTTPFlow) -> http.Response:
    assert flow.response is not None
    return flow.response


def exchange_of(flow: http.HTTPFlow) -> Exchange:
    """A new reading of a flow's reply."""
    wire = wire_for(flow.request)
    form = form_of(wire, flow.request, response_of(flow)) if wire else None
    assert wire is not None
    assert form is not None
    config = load(default_path(), list(all_dialects()), list(all_wires()))
    return plan_for(wire, flow.request, config).exchange(form)


def bodies_of(flow: http.HTTPFlow) -> tuple[bytes, bytes]:
    """What the upstream sent and what the client got, both without content coding."""
    response = response_of(flow)
    client = decoded(response.raw_content or b"", response.headers.get("content-encoding", ""))
    upstream: bytes = flow.metadata.get(flow_metadata.UPSTREAM, client)
    return upstream, client


def through(flow: http.HTTPFlow, pieces: Iterator[bytes]) -> tuple[bytes, list[dict[str, Any]]]:
    """What a client gets now, and the verdicts."""
    exchange = exchange_of(flow)
    out = b"".join([exchange.feed(piece) for piece in pieces])
    if flow.error is None:
        out += exchange.close()
    else:
        exchange.abort()  # what it held then reached nobody
    assert exchange.failure is None
    verdicts: list[dict[str, Any]] = flow_metadata.writable(report.make_report(exchange))["verdicts"]
    return out, verdicts


@pytest.mark.parametrize("size", [None, 1, 7], ids=["whole", "1", "7"])
@pytest.mark.parametrize("name", NAMES)
def test_read_again_it_is_the_same(name: str, size: int | None) -> None:
    flow = flow_of(name)
    upstream, client = bodies_of(flow)
    step = size or len(upstream)
    out, verdicts = through(flow, (upstream[at : at + step] for at in range(0, len(upstream), step)))
    assert verdicts == flow.metadata[flow_metadata.REPORT]["verdicts"]
    if size:  # the LF of a CRLF that was cut stays where its frame goes, and says nothing
        out = re.sub(rb"(\r\n\r\n)\n+", rb"\1", out)
    assert out == client


def test_mitmdump_reads_all_of_them_the_same(tmp_path: Path) -> None:
    joined, again = tmp_path / "all.flow", tmp_path / "again.flow"
    joined.write_bytes(b"".join(path.read_bytes() for path in FILES))
    with mitmdump(tmp_path, "-nr", str(joined), "-w", str(again)) as dump:
        assert dump.ended() == 0
    now = {flow.id: flow for flow in flows_in(again)}
    assert len(now) == len(FILES)
    for name in NAMES:
        was = flow_of(name)
        report = now[was.id].metadata[flow_metadata.REPORT]
        assert report["verdicts"] == was.metadata[flow_metadata.REPORT]["verdicts"], name
        assert "current" not in report, name
        assert now[was.id].metadata.get(flow_metadata.UPSTREAM) == was.metadata.get(flow_metadata.UPSTREAM), name
        assert response_of(now[was.id]).raw_content == response_of(was).raw_content, name
        assert now[was.id].marked == was.marked, name


def test_each_is_what_its_name_says() -> None:
    found = {}
    for name in NAMES:
        data = flow_of(name).metadata[flow_metadata.REPORT]
        verdicts = [(verdict["status"], verdict["reason"], verdict["dialect"]) for verdict in data["verdicts"]]
        found[name] = (data["kind"], verdicts)
    assert found == EXPECTED


@pytest.mark.parametrize("name", NAMES)
def test_only_what_should_change_has_changed(name: str) -> None:
    upstream, client = bodies_of(flow_of(name))
    assert (upstream == client) == (name in UNCHANGED)


def test_the_one_that_was_cut_is_the_only_one_with_an_error() -> None:
    assert [name for name in NAMES if flow_of(name).error is not None] == ["cut-in-a-tag"]
    upstream, client = bodies_of(flow_of("cut-in-a-tag"))
    assert b"[DONE]" not in upstream
    assert b'"finish_reason":"' not in client.replace(b" ", b"")


def test_the_oddities_are_there() -> None:
    """The recordings would be no use if somebody smoothed them."""
    upstream = {name: bodies_of(flow_of(name))[0] for name in NAMES}
    client = {name: bodies_of(flow_of(name))[1] for name in NAMES}
    assert upstream["native-index-minus-one"].count(b'"index": -1') == 1
    assert upstream["usage-with-every-chunk"].count(b'"usage"') == upstream["usage-with-every-chunk"].count(b"data: {")
    assert upstream["choice-ends-twice"].count(b'"finish_reason": "stop"') == 2
    assert client["choice-ends-twice"].count(b'"finish_reason":"tool_calls"') == 2
    assert client["choice-ends-twice"].startswith(b": OPENROUTER PROCESSING\n\n")
    assert response_of(flow_of("gzip-kept")).headers["content-encoding"] == "gzip"
    length = int(response_of(flow_of("lifted-whole")).headers.get("content-length", 0))
    assert length in {0, len(client["lifted-whole"])}


# --- what stands beside them ------------------------------------------------------------------------------------------


def test_each_has_its_sentence_in_the_readme() -> None:
    rows = re.findall(
        r"^\| `([\w-]+)\.flow` \| (.+) \|$", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(name for name, _ in rows) == NAMES
    for name, sentence in rows:
        assert re.fullmatch(r"[A-Z][^|]{30,250}\.", sentence), name


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_and_nothing_of_the_machine(name: str) -> None:
    flow = flow_of(name)
    for header in ("authorization", "x-api-key", "x-goog-api-key"):
        assert flow.request.headers.get(header, "<redacted>") == "<redacted>"
    stored = (FOLDER / f"{name}.flow").read_bytes()
    for header in ("cookie", "set-cookie", "api-key", "openai-organization", "x-goog-api-client"):
        assert header not in flow.request.headers
        assert header not in response_of(flow).headers
    assert SECRET.search(stored) is None
    assert MACHINE.search(stored) is None
    assert not any(f"{place}/".encode() in stored for place in PLACES if place.name)
    assert len(stored) < 32_768


BY_HAND = {"cloudcode-envelope", "gemini-array"}
AGENTS = ("OpenAI/Python ", "Anthropic/Python", "google-genai-sdk/", "ollama-python/")


def test_requests_are_as_the_sdk_sends_them() -> None:
    assert {name for name in NAMES if "user-agent" not in flow_of(name).request.headers} == BY_HAND
    for name in set(NAMES) - BY_HAND:
        assert flow_of(name).request.headers["user-agent"].startswith(AGENTS)


# --- quirks -----------------------------------------------------------------------------------------------------------


def quirks() -> dict[str, Any]:
    """The replies of servers that do something otherwise; they lie beside the recordings."""
    spec = spec_from_file_location("quirks", FOLDER / "quirks.py")
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules.setdefault("quirks", module_from_spec(spec))
    spec.loader.exec_module(made)
    found: dict[str, Any] = made.QUIRKS
    return found


QUIRKS = quirks()
# No call in any dialect, and all that begins like one.
TEXT = 'Größe: a < b && c > d; `<invoke name="x">` is how.\n<inv\n<tool_call\n{"a": [1]}\n'


@pytest.mark.parametrize("size", [0, 1, 11])
@pytest.mark.parametrize("name", QUIRKS)
def test_with_nothing_to_convert_it_leaves_byte_for_byte(name: str, size: int) -> None:
    """Conversion is on: the request declares tools."""
    flow, body = flow_of(name), b"".join(QUIRKS[name].reply(TEXT))
    exchange = exchange_of(flow)
    assert exchange.decision.kind == "lift"
    out = [exchange.feed(body[at : at + (size or len(body))]) for at in range(0, len(body), size or len(body))]
    if name == "stops-for-a-missing-tool":  # there is nothing to convert, and no call
        body = body.replace(b'"stop_reason":"tool_use"', b'"stop_reason":"end_turn"')
    assert b"".join([*out, exchange.close()]) == body
    assert exchange.failure is None
    assert {verdict.status for _, verdict in exchange.verdicts} <= {"declined"}


@pytest.mark.parametrize("name", QUIRKS)
def test_the_recording_holds_what_the_server_is_said_to_send(name: str) -> None:
    upstream, _ = bodies_of(flow_of(name))
    assert upstream == b"".join(QUIRKS[name].reply(QUIRKS[name].text))
    assert flow_of(name).request.path == QUIRKS[name].path


@pytest.mark.parametrize("name", QUIRKS)
def test_neither_host_nor_user_agent_decides(name: str) -> None:
    flow = flow_of(name).copy()
    upstream, client = bodies_of(flow)
    flow.request.host = flow.request.headers["host"] = "other.test"
    flow.request.headers["user-agent"] = "x/1"
    out, verdicts = through(flow, iter([upstream]))
    assert verdicts == flow.metadata[flow_metadata.REPORT]["verdicts"]
    # Ids of calls are made of the request, which names its host.
    ids = re.compile(rb"(?:call|toolu|fc)_[0-9a-f]{24}")
    assert ids.sub(b"", out) == ids.sub(b"", client)


# What is odd about a reply is still there when a call was taken from it: what a client finds in the reply, how often.
KEPT: dict[str, dict[bytes, int]] = {
    "deepseek-reasoning": {b'"reasoning_content":"<invoke name=': 1, b'"usage"': 1, b"\xef\xbd\x9c": 0},
    "openrouter-comments": {b": OPENROUTER PROCESSING\n\n": 5, b"native_finish_reason": 1, b"reasoning_details": 1},
    "mistral-parts": {b'"thinking":[{"type":"text"': 1, b"TOOL_CALLS": 0},
    "groq-x-groq": {b"x_groq": 2, b"queue_time": 1, b"<function": 0},
    "vllm-usage-alone": {b'"choices":[],"usage"': 1, b"stop_reason": 1, b"<tool_call>": 0},
    "llama-cpp-timings": {b"predicted_per_second": 1, b"<tool_call>": 0},
    "lm-studio-v0": {b"time_to_first_token": 1, b"model_info": 1, b"<tool_call>": 0},
    "azure-filters": {b"prompt_filter_results": 1, b"content_filter_offsets": 1, b"<invoke": 0},
    "thinking-before-a-call": {
        b"c2lnbmVk": 1,
        b"aGlkZGVu": 1,
        b"<invoke": 1,
        b'"stop_reason":"tool_use"': 1,
        b"count": 0,
    },
    "stops-for-a-missing-tool": {b'"stop_reason":"tool_use"': 1, b'"type":"tool_use"': 1, b"<invoke": 0},
    "text-in-five-places": {b"aGlkZGVu": 3, b"<invoke": 0, b"Then we": 4, b'"type":"function_call"': 3},
    "gemini-signature": {b"c2lnbmVk": 1, b'"thought":true': 1, b"<invoke": 0},
    "gemini-array": {b"<invoke": 0, b"functionCall": 1},
    "gemini-malformed-call": {b"finishMessage": 1},
    "cloudcode-envelope": {b'"traceId":"made-up"': 3, b"<invoke": 0, b"functionCall": 1},
    "ollama-thinking": {b'"thinking"': 2, b"<tool_call>": 0, b"total_duration": 1, b'"tool_calls"': 1},
}


def test_what_is_odd_is_kept_where_a_call_is_taken() -> None:
    found = {name: {part: bodies_of(flow_of(name))[1].count(part) for part in parts} for name, parts in KEPT.items()}
    assert found == KEPT
    assert set(KEPT) == set(QUIRKS)
