"""The recordings: read again they give the verdicts and the bytes that they hold, and they hold nothing they must not.

Each flow goes through a new exchange, made from its own request under the configuration that it was recorded under, and
all of them go through mitmdump. Verdicts and the client's bytes must be those of the day of the recording, and those
that `recordings/library.yaml` names; where a change of the addon is meant to change them, `python recordings/make.py`
records anew and `git diff` shows it.
"""

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import Any, get_args

import pytest
from mitmproxy import http

from support.library import (
    FOLDER,
    MENDED,
    bodies_of,
    config_of,
    entries,
    flow_of,
    names,
    note_in_short,
    report_of,
    verdict_in_short,
)
from support.loopback import REPO, flows_in, mitmdump
from toolcalls.events import Reason, ReplyDefect
from toolcalls.flows import flow_metadata
from toolcalls.flows.error_replies import answered
from toolcalls.flows.judging import Recorded, replies
from toolcalls.insight import report
from toolcalls.replies.exchange import Exchange
from toolcalls.tools.serve.matching import masked
from toolcalls.tools.serve.playable import recordings_of
from toolcalls.tools.serve.recording import Asked
from toolcalls.wires import all_wires

from making import agents, damage, sound  # isort: skip - beside the recordings, found through support.library
from making.quirks import QUIRKS  # isort: skip
from making.shapes import QUESTION  # isort: skip

NAMES = names()
LIBRARY = entries()
SOCKETS = {"lifted-over-websocket", "lowered-over-websocket"}
STREAMS = sorted(set(NAMES) - SOCKETS)

SECRET = re.compile(rb"\bsk-|Bearer|[A-Za-z0-9+/]{40}")
CHUNK = re.compile(rb'"bytes":"([A-Za-z0-9+/=]+)"')  # of a stream of Bedrock's
MACHINE = re.compile(rb"/home/|/Users/|[A-Z]:\\\\|x-stainless")
PLACES = [REPO, Path.home(), Path(gettempdir())]


def recorded_of(name: str) -> list[Recorded]:
    """The replies of a flow, to be read anew."""
    return [reply for _, reply in replies(flow_of(name), config_of(name))]


def read(reply: Recorded, pieces: Iterable[bytes]) -> tuple[Exchange, bytes]:
    """A reply read in pieces, and what a client gets now."""
    exchange = reply.plan.exchange(reply.form)
    out = b"".join([exchange.feed(piece) for piece in pieces])
    out += b"" if reply.cut else exchange.close()
    if reply.cut:
        exchange.abort()  # what it held then reached nobody
    assert exchange.failure is None
    return exchange, out


def cut_up(body: bytes, size: int | None) -> list[bytes]:
    step = size or len(body) or 1
    return [body[at : at + step] for at in range(0, len(body), step)]


def verdicts_of(exchange: Exchange) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = flow_metadata.writable(report.make_report(exchange))["verdicts"]
    return found


@pytest.mark.parametrize("size", [None, 1, 7], ids=["whole", "1", "7"])
@pytest.mark.parametrize("name", NAMES)
def test_read_again_it_is_the_same(name: str, size: int | None) -> None:
    flow, found = flow_of(name), recorded_of(name)
    if found[0].error is not None:  # it comes whole, and is read when all of it is there
        made = answered(found[0].plan, flow, found[0].body)
        assert made is not None
        given = [made]
    else:
        given = [read(one, cut_up(one.body, size)) for one in found]
    assert [one for exchange, _ in given for one in verdicts_of(exchange)] == report_of(flow)["verdicts"]
    out = b"".join(out for _, out in given)
    if size:  # the LF of a CRLF that was cut stays where its frame goes, and says nothing
        out = re.sub(rb"(\r\n\r\n)\n+", rb"\1", out)
    if flow.websocket is None:
        assert out == bodies_of(flow)[1]
    else:
        sent = [one.content for one in flow.websocket.messages if not one.from_client and not one.dropped]
        assert out.splitlines() == sent


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mended", [False, True], ids=["shipped", "mended"])
def test_mitmdump_reads_all_of_them_the_same(tmp_path: Path, *, mended: bool) -> None:
    joined, again = tmp_path / "all.flow", tmp_path / "again.flow"
    chosen = [name for name in NAMES if name.startswith("mended/") == mended]
    joined.write_bytes(b"".join((FOLDER / f"{name}.flow").read_bytes() for name in chosen))
    options = ["--set", f"toolcalls_config={MENDED}"] if mended else []
    with mitmdump(tmp_path, "-nr", str(joined), "-w", str(again), *options) as dump:
        assert dump.ended() == 0
    now = {flow.id: flow for flow in flows_in(again)}
    assert len(now) == len(chosen)
    for name in chosen:
        was = flow_of(name)
        made = now[was.id]
        assert report_of(made)["verdicts"] == report_of(was)["verdicts"], name
        assert "current" not in report_of(made), name
        assert made.metadata.get(flow_metadata.UPSTREAM) == was.metadata.get(flow_metadata.UPSTREAM), name
        assert response_of(made).raw_content == response_of(was).raw_content, name
        assert made.marked == was.marked, name


def response_of(flow: http.HTTPFlow) -> http.Response:
    assert flow.response is not None
    return flow.response


# --- the library ------------------------------------------------------------------------------------------------------


def test_each_recording_has_its_row_and_each_row_its_recording() -> None:
    assert sorted(LIBRARY) == NAMES
    assert len(NAMES) >= 40
    makers = (
        set(sound.SOUND)
        | set(QUIRKS)
        | set(damage.DAMAGE)
        | set(agents.AGENTS)
        | {f"mended/{name}" for name in damage.MENDED}
    )
    assert makers == set(NAMES)


@pytest.mark.whole
@pytest.mark.parametrize("name", NAMES)
def test_it_is_what_its_row_says(name: str) -> None:
    data, entry = report_of(flow_of(name)), LIBRARY[name]
    assert data["kind"] == entry.kind
    assert [verdict_in_short(verdict) for verdict in data["verdicts"]] == list(entry.verdicts)
    assert [note_in_short(note) for note in data["notes"]] == list(entry.notes)


@pytest.mark.parametrize("name", STREAMS)
def test_only_what_should_change_has_changed(name: str) -> None:
    upstream, client = bodies_of(flow_of(name))
    assert (upstream == client) == LIBRARY[name].unchanged


@pytest.mark.whole
@pytest.mark.parametrize("name", NAMES)
def test_a_row_says_what_is_odd_and_where_that_comes_from(name: str) -> None:
    entry = LIBRARY[name]
    assert re.fullmatch(r"[A-Z][^|\n]{30,250}\.", entry.shows)
    for source in entry.sources:
        assert re.fullmatch(r"https://[^\s|]+|made after [^|\n]+", source)


def test_every_api_and_both_directions_are_there() -> None:
    found = {(report_of(flow_of(name))["wire"], report_of(flow_of(name))["kind"]) for name in NAMES}
    without_calls = {"mistral_fim", "ollama_generate", "openai_completions"}
    assert {wire for wire, _ in found} == set(all_wires())
    for wire in set(all_wires()) - without_calls:
        assert {(wire, "lift"), (wire, "roundtrip")} <= found
    lowered = {(report_of(flow_of(name))["wire"], one.split()[1]) for name in NAMES for one in LIBRARY[name].verdicts
               if one.startswith("lowered")}  # fmt: skip
    assert {wire for wire, dialect in lowered if dialect == "(tagged)"} == set(all_wires()) - without_calls
    assert {wire for wire, dialect in lowered if dialect != "(tagged)"} == set(all_wires()) - without_calls


# The forms that are reported most, by their place in public reports and the traffic of the models that write them.
MOST_REPORTED = {
    "qwen3_xml", "invoke", "deepseek_dsml", "glm_xml", "minimax_m2", "kimi_k2",
    "hermes", "harmony", "tagged", "gemma4", "mistral", "hy_v3",
}  # fmt: skip


def test_the_dialects_that_are_reported_most_are_there() -> None:
    lifted = {one.split()[1].strip("()") for entry in LIBRARY.values() for one in entry.verdicts if "lifted (" in one}
    assert lifted >= MOST_REPORTED


def test_every_kind_of_damage_is_there() -> None:
    reasons = get_args(Reason)
    damages = set(reasons[reasons.index("wrong_type") :]) | {"bad_arguments", "missing_argument", "undeclared"}
    verdicts = {word for entry in LIBRARY.values() for one in entry.verdicts for word in one.split()}
    assert damages <= verdicts
    assert {note.rstrip("*") for entry in LIBRARY.values() for note in entry.notes} == set(get_args(ReplyDefect)) - {
        "likely_meant"
    }
    assert {"truncated", "dropped_result"} <= verdicts


MENDS = {"json", "types", "names", "reasoning", "errors"}


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("mended/")])
def test_what_is_mended_by_choice_stays_without_it(name: str) -> None:
    config = config_of(name)
    assert set(config.default.mend) == {"protocol", *MENDS}
    found = replies(flow_of(name), replace(config, default=replace(config.default, mend=("protocol",))))
    if name.endswith("-dropped"):  # another setting does that
        return
    assert [one.given()[1] for _, one in found] == [one.body for _, one in found]


# --- what is odd about them -------------------------------------------------------------------------------------------


def test_the_one_that_was_cut_is_the_only_one_with_an_error() -> None:
    assert [name for name in NAMES if flow_of(name).error is not None] == ["cut-in-a-tag"]
    upstream, client = bodies_of(flow_of("cut-in-a-tag"))
    assert b"[DONE]" not in upstream
    assert b'"finish_reason":"' not in client.replace(b" ", b"")


def test_the_oddities_are_there() -> None:
    """The recordings would be no use if somebody smoothed them."""
    upstream = {name: bodies_of(flow_of(name))[0] for name in STREAMS}
    client = {name: bodies_of(flow_of(name))[1] for name in STREAMS}
    assert upstream["native-index-minus-one"].count(b'"index":-1') == 1
    assert upstream["usage-with-every-chunk"].count(b'"usage"') == upstream["usage-with-every-chunk"].count(b"data: {")
    assert response_of(flow_of("gzip-kept")).headers["content-encoding"] == "gzip"
    length = int(response_of(flow_of("lifted-whole")).headers.get("content-length", 0))
    assert length in {0, len(client["lifted-whole"])}
    before = flow_metadata.original_request_body(flow_of("mended/leaked-in-the-history"))
    assert before is not None
    assert b"tool_use" not in before
    assert b"tool_use" in (flow_of("mended/leaked-in-the-history").request.content or b"")


# --- what they must not hold ------------------------------------------------------------------------------------------


@pytest.mark.whole
@pytest.mark.parametrize("name", NAMES)
def test_no_secret_and_nothing_of_the_machine(name: str) -> None:
    flow = flow_of(name)
    for header in ("authorization", "x-api-key", "x-goog-api-key"):
        assert flow.request.headers.get(header, "<redacted>") == "<redacted>"
    stored = (FOLDER / f"{name}.flow").read_bytes()
    for header in ("cookie", "set-cookie", "api-key", "openai-organization", "x-goog-api-client"):
        assert header not in flow.request.headers
        assert header not in response_of(flow).headers
    plain = CHUNK.sub(lambda found: base64.b64decode(found[1]), stored)
    assert SECRET.search(plain) is None
    assert MACHINE.search(stored) is None
    assert not any(f"{place}/".encode() in stored for place in PLACES if place.name)
    assert len(stored) < 32_768


def test_the_folder_stays_small() -> None:
    """README.md says how large it is."""
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.*") if path.suffix != ".pyc") < 1_000_000


BY_HAND = {"cloudcode-envelope", "gemini-array", "observed-mistral-fim"}
AGENTS = (
    "claude-cli/",
    "codex_exec/",
    "OpenAI/Python ",
    "Anthropic/Python",
    "AnthropicVertex/Python",
    "google-genai-sdk/",
    "GeminiNextGenAPIClient/",
    "cohere/",
    "ollama-python/",
    "Boto3/",
)


@pytest.mark.parametrize("name", agents.AGENTS)
def test_of_a_prompt_nothing_is_kept(name: str) -> None:
    """What an agent was asked, and the names and types of its tools."""
    asked = json.loads(flow_of(name).request.content or b"")
    talk = asked.get("input") or asked.get("messages")
    assert talk == [{"role": "user", "content": QUESTION}]
    assert not {"instructions", "system", "metadata", "client_metadata"} & set(asked)
    assert b'"description": "' not in (flow_of(name).request.content or b"")
    assert {tool["name"] for tool in asked["tools"]} == set(agents.AGENTS[name].tools)


def test_requests_are_as_the_sdk_sends_them() -> None:
    assert {name for name in NAMES if "user-agent" not in flow_of(name).request.headers} == BY_HAND
    for name in set(NAMES) - BY_HAND:
        assert flow_of(name).request.headers["user-agent"].startswith(AGENTS)


# --- quirks -----------------------------------------------------------------------------------------------------------


# No call in any dialect, and all that begins like one.
TEXT = 'Größe: a < b && c > d; `<invoke name="x">` is how.\n<inv\n<tool_call\n{"a": [1]}\n'


@pytest.mark.parametrize("size", [None, 1, 11])
@pytest.mark.parametrize("name", QUIRKS)
def test_with_nothing_to_convert_it_leaves_byte_for_byte(name: str, size: int | None) -> None:
    """Conversion is on: the request declares tools."""
    (reply,) = recorded_of(name)
    body = b"".join(QUIRKS[name].reply(TEXT))
    assert reply.plan.decision.kind == "lift"
    exchange, out = read(reply, cut_up(body, size))
    if name == "stops-for-a-missing-tool":  # there is nothing to convert, and no call
        body = body.replace(b'"stop_reason":"tool_use"', b'"stop_reason":"end_turn"')
    assert out == body
    assert {verdict.status for _, verdict in exchange.verdicts} <= {"declined", "native"}


@pytest.mark.parametrize("name", QUIRKS)
def test_the_recording_holds_what_the_server_is_said_to_send(name: str) -> None:
    upstream, _ = bodies_of(flow_of(name))
    assert upstream == b"".join(QUIRKS[name].reply(QUIRKS[name].text))
    assert flow_of(name).request.path == QUIRKS[name].path


@pytest.mark.parametrize("name", QUIRKS)
def test_neither_host_nor_user_agent_decides(name: str) -> None:
    flow = flow_of(name).copy()
    flow.request.host = flow.request.headers["host"] = "other.test"
    flow.request.headers["user-agent"] = "x/1"
    ((_, reply),) = replies(flow, config_of(name))
    exchange, out = read(reply, [reply.body])
    assert verdicts_of(exchange) == report_of(flow)["verdicts"]
    # Ids of calls are made of the request, which names its host.
    ids = re.compile(rb"(?:call|toolu|fc)_[0-9a-f]{24}")
    assert ids.sub(b"", out) == ids.sub(b"", bodies_of(flow)[1])


# What is odd about a reply is still there when a call was taken from it: what a client finds in the reply, how often.
KEPT: dict[str, dict[bytes, int]] = {
    "deepseek-reasoning": {b'"reasoning_content":"<invoke name=': 1, b'"usage"': 1, b"\xef\xbd\x9c": 0},
    "openrouter-comments": {b": OPENROUTER PROCESSING\n\n": 3, b"native_finish_reason": 1, b"reasoning_details": 1},
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
    "text-in-five-places": {b"aGlkZGVu": 3, b"<invoke": 0, b"Then we": 5, b'"type":"function_call"': 3},
    "gemini-signature": {b"c2lnbmVk": 1, b'"thought":true': 1, b"<invoke": 0},
    "gemini-array": {b"<invoke": 0, b"functionCall": 1},
    "gemini-malformed-call": {b"finishMessage": 1},
    "cloudcode-envelope": {b'"traceId":"made-up"': 3, b"<invoke": 0, b"functionCall": 1},
    "choice-ends-twice": {b": OPENROUTER PROCESSING\n\n": 1, b'"finish_reason":"tool_calls"': 2, b"<invoke": 0},
    "deepseek-keep-alive": {b": keep-alive\n\n": 3, b"DSML": 0},
    "deepseek-empty-lines": {b'"tool_calls":[': 1, b"DSML": 0},
    "kimi-usage-in-the-choice": {b'"delta":{},"usage":{"prompt_tokens"': 1, b"tool_calls_section": 0},
    "longcat-no-space": {b"data: ": 0, b"data:[DONE]": 1, b"lastOne": 6},
    "minimax-empty-role": {b'"role":""': 5, b'"finish_reason":""': 1},
    "minimax-repeats-the-message": {b'"object":"chat.completion",': 1, b'"message"': 0, b"<invoke": 0},
    "copilot-two-choices": {b'"finish_reason":"tool_calls"': 2, b'"index":1': 1, b"<invoke": 0},
    "openrouter-error-in-the-stream": {b'"finish_reason":"error"': 1, b'"code":502': 1, b"<invoke": 0},
    "gateway-input-at-once": {b'"input":{"path":"README.md"}': 1, b"<invoke": 0},
    "gateway-crlf-and-done": {b"\r\n\r\ndata: [DONE]\r\n\r\n": 1, b"<invoke": 0},
    "openai-keepalive-event": {b"event: keepalive\n": 2, b"<invoke": 0},
    "azure-v1-nulls": {b'"function_call":null': 1, b'"usage":null': 1, b"<invoke": 0},
    "copilot-filter-offsets": {b"content_filter_offsets": 6, b'"object":': 0, b"<invoke": 0},
    "vertex-openapi-signature": {b'"extra_content":{"google":{"thought_signature":"c2lnbmVk"}}': 1, b"<invoke": 0},
    "vertex-claude": {b"msg_vrtx_": 1, b"toolu_vrtx_": 1, b"<invoke": 0},
    "cloudflare-workers-ai": {b"prompt_logprobs": 1, b'"finish_reason":"tool_calls"': 1, b"<tool_call>": 0},
    "ollama-thinking": {b'"thinking"': 2, b"<tool_call>": 0, b"total_duration": 1, b'"tool_calls"': 1},
}


def test_what_is_odd_is_kept_where_a_call_is_taken() -> None:
    found = {name: {part: bodies_of(flow_of(name))[1].count(part) for part in parts} for name, parts in KEPT.items()}
    assert found == KEPT
    assert set(KEPT) == set(QUIRKS)


def test_no_two_recordings_ask_the_same() -> None:
    """So `toolcalls serve` answers each request from its own recording, in whatever order they come."""
    found: dict[Asked, set[str]] = {}
    for path in sorted((REPO / "recordings").rglob("*.flow")):
        for flow in flows_in(path):
            for one in recordings_of(flow, path.stem):
                asked = replace(one.asked, user=masked(one.asked.user), turns=0)
                found.setdefault(asked, set()).add(path.stem)
    assert len(found) > 100
    assert [names for names in found.values() if len(names) > 1] == []
