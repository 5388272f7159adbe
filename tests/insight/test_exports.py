"""Exports: JSON lines as documented, HAR by its specification, OpenTelemetry spans to memory and to a collector."""

import json
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mitmproxy.io import FlowReader

from support import manyflows
from support.loopback import streamed
from support.repository import REPO
from toolcalls import cli
from toolcalls.flows.flow_records import record_of, reported_records
from toolcalls.insight.exports import har, jsonl
from toolcalls.insight.exports.pieces import pieces_of
from toolcalls.insight.exports.schema import json_schema
from toolcalls.insight.vocabulary.fields import EXCHANGE_FIELDS, FIELDS
from toolcalls.route import Price
from toolcalls.tools.options import configuration

otel = pytest.importorskip("toolcalls.insight.exports.otel", reason="the extra `otel` is not installed")
collector = pytest.importorskip("support.collector").collector

DOCS = REPO / "docs" / "exports.md"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    flows = [*manyflows.session(), *manyflows.others()]
    return manyflows.write(tmp_path_factory.mktemp("flows") / "many.flow", flows)


def _export(recording: Path, format_: str, output: str, *more: str) -> int:
    return cli.main(["export", str(recording), "--format", format_, "-o", output, *more])


# --- JSON lines -------------------------------------------------------------------------------------------------------


def _paths(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield f"{path}{key}"
            yield from _paths(member, f"{path}{key}.")
    elif isinstance(value, list):
        for member in value:
            yield from _paths(member, path.removesuffix(".") + "[].")


def test_every_field_of_a_line_is_documented_and_the_other_way_round(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert _export(recording, "jsonl", str(out), "--content") == 0
    table = DOCS.read_text("utf-8").partition("## JSON lines")[2].partition("\n## ")[0]
    documented = set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))
    found = {path for line in out.read_text("ascii").splitlines() for path in _paths(json.loads(line))}
    assert found == documented


def _schema_paths(schema: Any, path: str = "") -> Iterator[str]:
    for key, member in schema.get("properties", {}).items():
        yield f"{path}{key}"
        yield from _schema_paths(member, f"{path}{key}.")
    if isinstance(schema.get("items"), dict):
        yield from _schema_paths(schema["items"], path.removesuffix(".") + "[].")


def test_a_request_that_failed_is_a_line_without_what_the_server_said(tmp_path: Path) -> None:
    flow = manyflows.flow_of("refused", [manyflows.user("hi")], [b"{}"], told=False)
    assert flow.response is not None
    flow.response.status_code, flow.response.text = 429, '{"error": "no more of: hi"}'
    out = tmp_path / "out.jsonl"
    assert _export(manyflows.write(tmp_path / "one.flow", [flow]), "jsonl", str(out)) == 0
    line = json.loads(out.read_text("utf-8"))
    assert (line["status"], line["wire"], line["verdicts"], line["error"]) == (429, "openai_chat", [], None)
    assert "no more of" not in out.read_text("utf-8")
    assert not list(jsonschema.Draft202012Validator(json_schema()).iter_errors(line))
    (chat,) = [
        span for span in otel.spans_of([record_of(flow, {"wire": "openai_chat"})]) if span.name.startswith("chat")
    ]
    assert (chat.status.status_code.name, chat.status.description) == ("ERROR", None)
    assert chat.attributes["error.type"] == "429"


@pytest.mark.parametrize(
    ("format_", "found"),
    [("jsonl", r'"cost": ([\d.e-]+)'), ("har", r'"cost": ([\d.e-]+)'),
     ("otel", r'"toolcalls\.cost", "value": \{"doubleValue": ([\d.e-]+)')],
)  # fmt: skip
def test_a_cost_is_written_where_the_configuration_has_prices(
    recording: Path, tmp_path: Path, format_: Any, found: str
) -> None:
    config, out = tmp_path / "rules.yaml", tmp_path / "out"
    config.write_text("prices: [{model: 'qwen*', input: 100, output: 1000}]\n")
    prices = configuration(str(config)).prices
    for arguments, costs in (([], []), (["--config", str(config)], [0.1222, 0.158])):
        assert _export(recording, format_, str(out), *arguments) == 0
        assert sorted(map(float, re.findall(found, out.read_text("utf-8")))) == pytest.approx(costs)
    assert re.findall(
        found, b"".join(pieces_of(format_, reported_records(manyflows.session()), prices=prices)).decode()
    )


@pytest.mark.parametrize("more", [(), ("--content",)], ids=["bare", "content"])
def test_lines_are_valid_by_the_schema(recording: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    schema = json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    out = tmp_path / "out.jsonl"
    assert _export(recording, "jsonl", str(out), *more) == 0
    lines = [json.loads(line) for line in out.read_text("ascii").splitlines()]
    assert [error.message for line in lines for error in validator.iter_errors(line)] == []
    assert {path for line in lines for path in _paths(line)} <= set(_schema_paths(schema))
    assert list(validator.iter_errors(lines[0] | {"version": 2})), "a line of another version is none of this schema's"


def test_the_schema_names_what_is_documented() -> None:
    table = DOCS.read_text("utf-8").partition("## JSON lines")[2].partition("\n## ")[0]
    documented = set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))
    deeper = {"verdicts[].changes[].rule", "verdicts[].changes[].before", "verdicts[].changes[].after",
              *(f"verdicts[].broke.{name}" for name in ("line", "column", "after")),
              *(f"verdicts[].defects[].{name}" for name in ("code", "path", "wanted", "got", "at")),
              "notes[].rule", "notes[].text", "notes[].warns", "notes[].lane", "notes[].mended"}  # fmt: skip
    assert set(_schema_paths(json_schema())) == documented | deeper
    assert json_schema()["properties"]["version"]["const"] == jsonl.VERSION


def test_every_format_says_which_declared_tools_come_near(tmp_path: Path) -> None:
    said = streamed('<tool_call>{"name": "Bahs", "arguments": {}}</tool_call>')
    recorded = manyflows.write(tmp_path / "one.flow", [manyflows.flow_of("near", [manyflows.user("hi")], said)])
    out = tmp_path / "out"
    found = {}
    for format_ in ("jsonl", "har", "otel"):
        assert _export(recorded, format_, str(out)) == 0
        found[format_] = json.loads(out.read_text("utf-8"))
    (verdict,) = found["jsonl"]["verdicts"]
    assert (verdict["reason"], verdict["nearest"]) == ("undeclared", ["Bash"])
    (entry,) = found["har"]["log"]["entries"]
    assert entry["_toolcalls"]["verdicts"][0]["nearest"] == ["Bash"]
    assert '{"key": "toolcalls.nearest", "value": {"arrayValue": {"values": [{"stringValue": "Bash"}]}}}' in json.dumps(
        found["otel"]
    )


def test_lines_are_in_order_and_hold_no_content_unless_asked_for(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert _export(recording, "jsonl", str(out)) == 0
    lines = [json.loads(line) for line in out.read_text("ascii").splitlines()]
    assert [line["summary"] for line in lines][:2] == ["lifted read_file (invoke)", "native write_file"]
    assert {(line["schema"], line["version"]) for line in lines} == {(jsonl.SCHEMA, jsonl.VERSION)}
    assert "hello.py" not in out.read_text("ascii")
    assert lines[0]["tokens"] == {"input": 812, "output": 41, "cached": 128, "reasoning": None}
    assert lines[0]["seconds"]["first_byte"] == pytest.approx(0.6)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["jsonl", "har", "otel"])
def test_no_secret_leaves(recording: Path, tmp_path: Path, format_: str) -> None:
    assert b"CANARY" in recording.read_bytes()
    out = tmp_path / "out"
    assert _export(recording, format_, str(out), "--content") == 0
    assert out.stat().st_size > 1000
    assert b"CANARY" not in out.read_bytes()
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def _documents(data: bytes) -> list[Any]:
    """The order of members is not kept in a file of flows."""
    return [json.loads(one) for one in ([data] if data.startswith(b"{\n") else data.splitlines())]


@pytest.mark.parametrize("format_", ["jsonl", "har", "otel"])
def test_flows_in_memory_give_the_same(recording: Path, tmp_path: Path, format_: Any) -> None:
    out = tmp_path / "out"
    assert _export(recording, format_, str(out)) == 0
    data = b"".join(pieces_of(format_, reported_records([*manyflows.session(), *manyflows.others()])))
    assert _documents(data) == _documents(out.read_bytes())


def test_a_flow_that_was_recorded_without_the_addon_is_judged(tmp_path: Path) -> None:
    bare = manyflows.flow_of("bare", [], manyflows.streamed(manyflows.written("Bash", command="ls")), told=False)
    out = tmp_path / "out.jsonl"
    assert _export(manyflows.write(tmp_path / "bare.flow", [bare]), "jsonl", str(out)) == 0
    assert json.loads(out.read_text())["summary"] == "lifted Bash (invoke)"


def test_a_link_is_replaced_and_not_followed(recording: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("stays")
    (tmp_path / "out").symlink_to(precious)
    assert _export(recording, "jsonl", str(tmp_path / "out")) == 0
    assert precious.read_text() == "stays"
    assert not (tmp_path / "out").is_symlink()


def test_a_broken_file_is_one_line_and_leaves_no_output(
    recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.flow"
    whole = recording.read_bytes()
    broken.write_bytes(whole[:100] + b"!!!!" + whole[100:])
    assert _export(broken, "har", str(tmp_path / "out.har")) == 2
    assert re.fullmatch(r"toolcalls export: .*broken.flow: flow \d+ cannot be read: .*\n", capfd.readouterr().err)
    assert [path.name for path in tmp_path.iterdir()] == ["broken.flow"]


# --- HAR --------------------------------------------------------------------------------------------------------------

# http://www.softwareishard.com/blog/har-12-spec/: the members that must be there, and their types.
_NUMBER = (int, float)
_HAR: dict[str, dict[str, Any]] = {
    "log": {"version": str, "creator": dict, "entries": list},
    "creator": {"name": str, "version": str},
    "entry": {"startedDateTime": str, "time": _NUMBER, "request": dict, "response": dict, "cache": dict,
              "timings": dict},
    "request": {"method": str, "url": str, "httpVersion": str, "cookies": list, "headers": list, "queryString": list,
                "headersSize": int, "bodySize": int},
    "postData": {"mimeType": str, "text": str},
    "response": {"status": int, "statusText": str, "httpVersion": str, "cookies": list, "headers": list,
                 "content": dict, "redirectURL": str, "headersSize": int, "bodySize": int},
    "content": {"size": int, "mimeType": str},
    "pair": {"name": str, "value": str},
    "timings": {"send": _NUMBER, "wait": _NUMBER, "receive": _NUMBER},
}  # fmt: skip
_OPTIONAL = {
    "log": {"pages", "comment", "browser"},
    "entry": {"pageref", "serverIPAddress", "connection", "comment"},
    "request": {"postData", "comment"},
    "postData": {"params", "comment"},
    "content": {"compression", "text", "encoding", "comment"},
}


def _valid(kind: str, value: dict[str, Any]) -> None:
    for name, type_ in _HAR[kind].items():
        assert isinstance(value[name], type_), f"{kind}.{name}"
    more = {name for name in value if not name.startswith("_")} - set(_HAR[kind])
    assert more <= _OPTIONAL.get(kind, set()), f"{kind}: {more}"


def test_a_har_is_valid_and_keeps_both_bodies_and_the_verdicts(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.har"
    assert _export(recording, "har", str(out)) == 0
    log = json.loads(out.read_text("utf-8"))["log"]
    _valid("log", log)
    _valid("creator", log["creator"])
    assert log["version"] == "1.2"
    assert len(log["entries"]) == 9
    for entry in log["entries"]:
        _valid("entry", entry)
        _valid("request", entry["request"])
        _valid("postData", entry["request"]["postData"])
        _valid("response", entry["response"])
        _valid("content", entry["response"]["content"])
        _valid("timings", entry["timings"])
        for pair in (*entry["request"]["headers"], *entry["response"]["headers"], *entry["request"]["queryString"]):
            _valid("pair", pair)
        assert datetime.fromisoformat(entry["startedDateTime"]).tzinfo is not None
        assert entry["time"] == pytest.approx(sum(entry["timings"].values()))
    first = log["entries"][0]
    assert "tool_calls" not in first["response"]["_upstreamContent"]["text"]
    assert "tool_calls" in first["response"]["content"]["text"]
    assert first["_toolcalls"]["verdicts"][0]["arguments"] == '{"path":"hello.py"}'
    assert first["comment"] == "lifted read_file (invoke)"


def _holds(entry: Any, path: str) -> bool:
    """Whether an entry has what is at `path`, in all items of its lists."""
    name, _, rest = path.partition(".")
    value = entry[name.removesuffix("[]")]
    return all(_holds(one, rest) for one in (value if isinstance(value, list) else [value])) if rest else True


def test_an_entry_has_the_declared_fields_where_they_should_be() -> None:
    entry = har.entry(record_of(manyflows.session()[0]))
    assert all(_holds(entry, field.har) for field in FIELDS if field.har)
    found = {f"_toolcalls.{path}" for path in _paths(entry["_toolcalls"])}
    inside = re.compile(r"_toolcalls\.(?:notes|verdicts\[\]\.changes)\[\]\.|_toolcalls\.(?:version|guarded)")
    assert {path for path in found if not inside.match(path)} == {
        field.har for field in FIELDS if field.har.startswith("_toolcalls.")
    }


def test_mitmproxy_reads_the_har(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.har"
    assert _export(recording, "har", str(out)) == 0
    with out.open("rb") as file:
        flows = list(FlowReader(file).stream())
    assert len(flows) == 9


def test_a_rewritten_request_keeps_both_sides() -> None:
    flow = manyflows.session()[0]
    flow.metadata["toolcalls_request"] = b'{"came": 1}'
    entry = har.entry(record_of(flow))
    assert entry["request"]["postData"]["text"] == '{"came": 1}'
    assert json.loads(entry["request"]["_upstreamPostData"]["text"])["model"] == "qwen3-coder"


# --- OpenTelemetry ----------------------------------------------------------------------------------------------------


def _spans(**settings: Any) -> list[Any]:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

    exporter = InMemorySpanExporter()
    otel.send(otel.spans_of(map(record_of, manyflows.session()), **settings), exporter)
    return list(exporter.get_finished_spans())


def test_attributes_of_our_own_are_declared() -> None:
    """`toolcalls.result_seen` is of no field: it says whether a span has a length."""
    made = _spans(content=True, prices=[Price("*", 1.0, 1.0)])
    names = {name for span in made for one in (span, *span.events) for name in one.attributes}
    own = {name for name in names if name.startswith("toolcalls.")}
    declared_own = {field.otel for field in FIELDS if field.otel.startswith("toolcalls.")}
    in_none_of_these = {
        "toolcalls.verdict",
        "toolcalls.repairs",
        "toolcalls.nearest",
        "toolcalls.defects",
    }  # the event's name; no such call
    assert own - {"toolcalls.result_seen"} == declared_own - in_none_of_these
    declared = {field.otel for field in FIELDS if field.otel.startswith("gen_ai.")}
    assert declared <= names | {"gen_ai.usage.reasoning.output_tokens"}
    assert {event.name for span in made for event in span.events} == {EXCHANGE_FIELDS["verdicts"].otel}


def test_a_session_is_a_trace() -> None:
    spans = _spans()
    assert len({span.context.trace_id for span in spans}) == 1
    assert len({span.context.span_id for span in spans}) == len(spans)
    names = [span.name for span in sorted(spans, key=lambda span: (span.start_time, span.name))]
    assert names == [
        "chat qwen3-coder",
        "invoke_agent opencode",
        "execute_tool read_file",
        "chat gpt-oss-120b",
        "execute_tool write_file",
        *["chat qwen3-coder"] * 3,
    ]
    (root,) = [span for span in spans if span.parent is None]
    assert root.name == "invoke_agent opencode"
    assert {span.parent.span_id for span in spans if span is not root} == {root.context.span_id}
    assert all(root.start_time <= span.start_time <= span.end_time <= root.end_time for span in spans)


def test_attributes_follow_the_conventions() -> None:
    spans = _spans()
    chat = next(span for span in spans if span.name == "chat qwen3-coder")
    assert chat.kind.name == "CLIENT"
    assert {key: value for key, value in chat.attributes.items() if key.startswith(("gen_ai.", "server."))} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "qwen3-coder",
        "gen_ai.response.model": "m",
        "gen_ai.response.id": "c1",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 812,
        "gen_ai.usage.output_tokens": 41,
        "gen_ai.usage.cache_read.input_tokens": 128,
        "gen_ai.request.stream": True,
        "gen_ai.response.time_to_first_chunk": pytest.approx(0.6),
        "gen_ai.conversation.id": "ses_7f3a",
        "server.address": "gpu-box",
        "server.port": 8000,
    }
    tool = next(span for span in spans if span.name == "execute_tool read_file")
    assert tool.kind.name == "INTERNAL"
    assert tool.attributes["gen_ai.tool.call.id"].startswith("call_")
    assert tool.attributes["toolcalls.result_seen"] is True
    assert tool.end_time == round(manyflows.BEGAN + 4) * 10**9, "the request that brings the result"
    cut = max((span for span in spans if span.name.startswith("chat")), key=lambda span: span.start_time)
    assert (cut.status.status_code.name, cut.attributes["error.type"]) == ("ERROR", "connection")
    assert [event.attributes["toolcalls.status"] for event in cut.events] == ["truncated"]


def test_attributes_are_names_that_the_conventions_have() -> None:
    known = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    names = {value for value in vars(known).values() if isinstance(value, str)}
    names -= {"gen_ai.system", "gen_ai.prompt", "gen_ai.completion"}  # deprecated
    used = {key for span in _spans(content=True) for key in span.attributes if key.startswith("gen_ai.")}
    assert used <= names


def test_messages_are_written_only_when_asked_for() -> None:
    content = {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments"}
    assert not any(content & set(span.attributes) for span in _spans())
    spans = _spans(content=True)
    chat = next(span for span in spans if span.name == "chat qwen3-coder")
    assert json.loads(chat.attributes["gen_ai.input.messages"])[1]["parts"][0]["content"].startswith("Make hello.py")
    (output,) = json.loads(chat.attributes["gen_ai.output.messages"])
    assert [part["type"] for part in output["parts"]] == ["text", "tool_call"]
    assert output["finish_reason"] == "tool_calls"


def test_the_same_flows_give_the_same_spans() -> None:
    assert [span.to_json() for span in _spans()] == [span.to_json() for span in _spans()]


def test_a_file_is_otlp_json(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "spans.json"
    assert _export(recording, "otel", str(out)) == 0
    (line,) = out.read_text("utf-8").splitlines()
    groups = json.loads(line)["resourceSpans"]
    spans = [span for group in groups for one in group["scopeSpans"] for span in one["spans"]]
    assert all(re.fullmatch("[0-9a-f]{32}", span["traceId"]) for span in spans)
    assert all(re.fullmatch("[0-9a-f]{16}", span["spanId"]) for span in spans)
    assert {span["kind"] for span in spans} == {1, 3}
    assert len({span["traceId"] for span in spans}) == 4


@pytest.mark.parametrize("path", ["", "/", "/v1/traces"])
def test_a_collector_gets_the_spans(recording: Path, path: str) -> None:
    with collector() as (url, got):
        assert _export(recording, "otel", url + path) == 0
    ((where, request),) = got
    assert where == "/v1/traces"
    (group,) = request.resource_spans
    names = [span.name for scope in group.scope_spans for span in scope.spans]
    assert names.count("chat qwen3-coder") == 7
    assert "execute_tool write_file" in names
    assert "CANARY" not in str(request)


def test_a_collector_that_refuses_is_one_line(recording: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with collector(400) as (url, _):
        assert _export(recording, "otel", url) == 2
    assert f"toolcalls export: {url}: the collector did not take the spans\n" in capfd.readouterr().err
